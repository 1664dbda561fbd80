package device

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe/rnic"
)

// TestReadAtClose: a Read that reaches the Engine after the program has called Close returns
// net.ErrClosed, not io.EOF. After CloseRead it returns io.EOF.
func TestReadAtClose(t *testing.T) {
	e := New(Config{Device: lostDevice{}, RecvDepth: 4, RecvSize: 512, SendDepth: 2, SendSize: 512})
	qp := newLostQP()
	if err := e.Prepare(qp); err != nil {
		t.Fatal(err)
	}
	var closed wait.Latch
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

// An endingQP ends while a receive is being posted to it.
type endingQP struct {
	lostQP
	end func() error // nil: not yet
}

func (q *endingQP) PostReceive(id uint64, to ...rnic.Segment) error {
	if q.end == nil {
		return q.lostQP.PostReceive(id, to...)
	}
	return q.end()
}

// TestUnreadAtTheEnd: the connection ends while a Read gives its buffer back to the device. The
// next Reads still get the messages behind that buffer, and then the end, whether the Read or the
// Wait for completions sees the end first.
func TestUnreadAtTheEnd(t *testing.T) {
	broken := errors.New("the device has failed")
	for _, tt := range []struct {
		desc         string
		waited, post error // what Wait returns, before the error of PostReceive; nil: it returns later
		want         error
	}{
		{"by the peer", rnic.ErrDisconnected, os.ErrClosed, io.EOF},
		{"by the device, which Wait sees first", broken, broken, broken},
		{"by the device, which the Read sees first", nil, broken, broken},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			e := New(Config{Device: lostDevice{}, RecvDepth: 4, RecvSize: 512, SendDepth: 2, SendSize: 512})
			qp := &endingQP{lostQP: newLostQP()}
			if err := e.Prepare(qp); err != nil {
				t.Fatal(err)
			}
			var closed wait.Latch
			e.Begin(Link{QP: qp, Messages: true, Closed: &closed})
			e.mu.Lock()
			for id := range uint64(2) {
				e.m.completed(&rnic.Completion{ID: id, Op: rnic.OpReceive, Len: 5}, e.memory)
			}
			e.unlock()
			qp.end = func() error {
				if tt.waited != nil {
					e.mu.Lock()
					e.m.disconnected(tt.waited)
					e.unlock()
				}
				return tt.post
			}
			for i := range 2 {
				if n, err := e.ReadMessage(make([]byte, 8), nil, nil); n != 5 || err != nil {
					t.Errorf("message %d = %d bytes, %v, want 5", i, n, err)
				}
			}
			if n, err := e.ReadMessage(make([]byte, 8), nil, nil); n != 0 || err != tt.want { //nolint:errorlint // as Read returns it
				t.Errorf("behind the messages: %d, %v, want %v", n, err, tt.want)
			}
		})
	}
}
