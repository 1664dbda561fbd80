package device

import (
	"errors"
	"io"
	"net"
	"testing"

	"github.com/rddp/rddp/extsock/internal/wait"
)

// TestReadAtClose: a Read that comes to the Engine after the program has called Close finds that, and not
// an end of the peer's bytes. After CloseRead it finds such an end.
func TestReadAtClose(t *testing.T) {
	e := New(Config{Device: lostDevice{}, RecvDepth: 4, RecvSize: 512, SendDepth: 2, SendSize: 512})
	qp := newLostQP()
	if err := e.Prepare(qp); err != nil {
		t.Fatal(err)
	}
	var closed wait.Latch
	closed.Init()
	e.Begin(Link{QP: qp, Messages: true, Closed: &closed})
	e.CloseRead()
	if n, err := e.ReadMessage(make([]byte, 1), nil, nil); n != 0 || err != io.EOF { //nolint:errorlint // as Read returns it
		t.Errorf("ReadMessage after CloseRead = %d, %v, want io.EOF", n, err)
	}
	closed.Set()
	e.mu.Lock()
	e.m.close()
	e.unlock()
	if n, err := e.ReadMessage(make([]byte, 1), nil, nil); n != 0 || !errors.Is(err, net.ErrClosed) {
		t.Errorf("ReadMessage after Close = %d, %v, want net.ErrClosed", n, err)
	}
}
