package ping

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestServerMemory: clients that make the server fetch long data, and then fall silent, use no more
// than the memory for all clients. Short pings still work, and a client's memory is released at its
// end.
func TestServerMemory(t *testing.T) {
	const limit = 1 << 20
	backend := simtoe.New(simtoe.Config{})
	failed := make(chan error, 8)
	cfg := &Config{Socket: extsock.Config{Backend: backend}, Persistent: true, Size: limit, Failed: func(_ net.Addr, err error) { failed <- err }}
	s, err := Listen("server:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	if n := serverMemory(cfg); n != minMemory {
		t.Errorf("the server has memory for %d bytes", n)
	}
	s.memory = accept.NewMemory(4 * limit)
	ctx, cancel := context.WithCancel(t.Context())
	served := make(chan error, 1)
	go func() { served <- s.Serve(ctx) }()
	source := make([]byte, limit)
	var clients []*extsock.Conn
	for range 3 {
		socket := &extsock.Config{Backend: backend, Messages: true}
		c, err := (&extsock.Dialer{Config: socket}).DialDDP(t.Context(), "tcp", s.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		clients = append(clients, c)
		r, err := c.Register(source, ddp.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: r.Handle().AppendTo(nil)}); err != nil {
			t.Fatal(err)
		}
		if len(clients) < 3 {
			if _, err := c.Read(make([]byte, messageLen)); err != nil { // the go-ahead: the server has the data
				t.Fatal(err)
			}
		}
	}
	if err := <-failed; !errors.Is(err, ErrNoMemory) {
		t.Errorf("the third client's error is %v, want ErrNoMemory", err)
	}
	if n := s.memory.Taken(); n != 2*(limit-freeData) {
		t.Errorf("%d bytes are taken", n)
	}
	if sum, err := Client(t.Context(), s.Addr().String(), &Config{Socket: extsock.Config{Backend: backend}, Count: 1, Size: freeData}); sum.Pings != 1 || err != nil {
		t.Errorf("%d short pings, %v", sum.Pings, err)
	}
	for _, c := range clients {
		c.Close()
	}
	prototest.Wait(t, "the server has its memory back", func() bool { return s.memory.Taken() == 0 })
	cancel()
	if err := <-served; err != nil {
		t.Error(err)
	}
}
