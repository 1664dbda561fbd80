//go:build unix

package proxy

import (
	"context"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestRing: two proxies with few places that dial each other come to rest.
func TestRing(t *testing.T) {
	over := make(chan struct{})
	t.Cleanup(func() { close(over) }) // runs after both proxies have ended
	exit := start(t, "rddp://127.0.0.1:0", "127.0.0.1:1", Config{MaxConns: 8})
	entrance := start(t, "127.0.0.1:0", exit.Addr().String(), Config{MaxConns: 8})
	if err := exit.Retarget(entrance.Addr()); err != nil {
		t.Fatal(err)
	}
	for _, p := range []*running{entrance, exit} {
		go func() {
			for {
				select {
				case <-p.ended: // as many as it takes
				case <-over:
					return
				}
			}
		}()
	}
	c, err := net.Dial("tcp", entrance.Addr().Address)
	if err == nil {
		defer c.Close()
	} else if !errors.Is(err, syscall.ECONNRESET) { // it may already have been displaced
		t.Fatal(err)
	}
	prototest.Wait(t, "the ring is at rest", func() bool {
		return entrance.Stats().Ended > 0 && entrance.Stats().Open == 0 && exit.Stats().Open == 0
	})
}

// TestGone: a Proxy does not dial for a peer that has closed its connection before the Proxy
// accepts it.
func TestGone(t *testing.T) {
	for name, tt := range map[string]struct{ listen, to, says string }{
		"entrance": {"127.0.0.1:0", "rddp://", ""},
		"exit":     {"rddp://127.0.0.1:0", "", "MPA ID Req Frame\x40\x01\x00\x00"},
	} {
		t.Run(name, func(t *testing.T) {
			target, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			target.Close() // a Proxy that dials it would fail differently
			r := &running{ended: make(chan Summary, 1)}
			cfg := Config{Grace: -1, Ended: func(s Summary) { r.ended <- s }}
			p, err := Listen(t.Context(), address(t, tt.listen), address(t, tt.to+target.Addr().String()), &cfg)
			if err != nil {
				t.Fatal(err)
			}
			c, err := net.Dial("tcp", p.Addr().Address)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := c.Write([]byte(tt.says)); err != nil {
				t.Fatal(err)
			}
			if tt.says == "" { // or the end could be that of one direction
				err = c.(*net.TCPConn).SetLinger(0)
			}
			if err := errors.Join(err, c.Close()); err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			served := make(chan error)
			go func() { served <- p.Serve(ctx) }()
			defer func() {
				cancel()
				if err := <-served; err != nil {
					t.Error(err)
				}
			}()
			if s := r.next(t); !errors.Is(s.Err, ErrGone) {
				t.Errorf("the connection ends with %v, want ErrGone", s.Err)
			}
		})
	}
}
