package hostile

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"runtime"
	"sync"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestHalfClose ends one half with data outstanding, in TCP mode and in the byte stream. Everything
// written before is delivered, then the end. A Write after it fails, and the other half can
// continue. Messages have no half-close, and their Close delivers everything written before.
func TestHalfClose(t *testing.T) {
	pairs := newSocketPairs(t)
	goroutines := runtime.NumGoroutine()
	random := seeded(t)
	for _, mode := range []string{"TCP mode", "byte stream", "byte stream with rendezvous", "messages"} {
		for _, initiator := range []bool{true, false} {
			for range testmode.Count(20, 3) {
				n := 1 + random.IntN(4<<20)
				t.Run(fmt.Sprintf("%s, Initiator %t, %d octets", mode, initiator, n), func(t *testing.T) {
					cfg := &extsock.Config{Messages: mode == "messages", Crossover: -1}
					if mode == "byte stream with rendezvous" {
						cfg.Crossover = 64 << 10
					}
					a, b, err := pairs.pair()
					if err != nil {
						t.Fatal(err)
					}
					c, d := extsock.NewConn(a, initiator, cfg), extsock.NewConn(b, !initiator, cfg)
					defer d.Close()
					defer c.Close()
					if mode != "TCP mode" {
						switched := make(chan error, 1)
						go func() { switched <- d.EnableDDP(t.Context(), nil) }()
						if err := errors.Join(c.EnableDDP(t.Context(), nil), <-switched); err != nil {
							t.Fatal(err)
						}
					}
					c.SetDeadline(prototest.Deadline(t))
					d.SetDeadline(prototest.Deadline(t))
					halfClose(t, c, d, n, cfg.Messages)
				})
			}
		}
	}
	settled(t, goroutines)
}

func halfClose(t *testing.T, c, d *extsock.Conn, n int, messages bool) {
	want := scenario.Pattern(scenario.InLong, n)
	var wg sync.WaitGroup
	wg.Go(func() {
		for p := want; len(p) > 0; {
			m := min(len(p), 60_000)
			if _, err := c.Write(p[:m]); err != nil {
				t.Error(err)
				return
			}
			p = p[m:]
		}
		if messages {
			if err := c.CloseWrite(); !errors.Is(err, errors.ErrUnsupported) {
				t.Errorf("CloseWrite of messages: %v", err)
			}
			if err := c.Close(); err != nil {
				t.Error(err)
			}
			return
		}
		if err := c.CloseWrite(); err != nil {
			t.Error(err)
		}
		if _, err := c.Write([]byte("x")); kindOf(err) != "reset" { // EPIPE
			t.Errorf("Write after CloseWrite: %v", err)
		}
	})
	got, err := io.ReadAll(d)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d octets, %v, want %d and the end", len(got), err, n)
	}
	wg.Wait()
	if messages {
		return
	}
	wg.Go(func() { // the other half
		if _, err := d.Write(want); err != nil {
			t.Error(err)
		}
		if err := d.CloseWrite(); err != nil {
			t.Error(err)
		}
	})
	if got, err = io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
		t.Errorf("back: %d octets, %v, want %d and the end", len(got), err, n)
	}
	wg.Wait()
}
