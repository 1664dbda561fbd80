package proxy

import (
	"context"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeEnd is one whose peer holds the other end of a net.Pipe.
type fakeEnd struct {
	net.Conn
	writeErr error // what Write fails with, if not nil
	ended    bool  // CloseWrite was called
	aborted  atomic.Bool
}

func (e *fakeEnd) Write(p []byte) (int, error) {
	if e.writeErr != nil {
		return 0, e.writeErr
	}
	return e.Conn.Write(p)
}

func (e *fakeEnd) CloseWrite() error { e.ended = true; return nil }
func (e *fakeEnd) orderly() bool     { return true }
func (e *fakeEnd) abort()            { e.aborted.Store(true); e.Conn.Close() }

// pipeOf gives a pipe between two fakes, and their peers.
func pipeOf() (p *pipe, from, to *fakeEnd, client, service net.Conn) {
	a, client := net.Pipe()
	b, service := net.Pipe()
	from, to = &fakeEnd{Conn: a}, &fakeEnd{Conn: b}
	return newPipe(side{from, "the client"}, side{to, "the service"}, &directions{}, func() {}), from, to, client, service
}

// A connection is idle when nothing has moved in either direction for so long, and not before.
func TestIdleTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const idle = time.Minute
		p, from, to, client, service := pipeOf()
		begin := time.Now()
		go io.Copy(io.Discard, client)
		go io.Copy(io.Discard, service)
		go func() {
			for i := range 10 {
				time.Sleep(idle - time.Second)
				[]net.Conn{client, service}[i%2].Write([]byte("x"))
			}
		}()
		err := p.run(t.Context(), idle)
		if want := 10*(idle-time.Second) + idle; !errors.Is(err, ErrIdle) || time.Since(begin) != want {
			t.Errorf("%v after %v, want ErrIdle after %v", err, time.Since(begin), want)
		}
		if !from.aborted.Load() || !to.aborted.Load() || from.ended || to.ended {
			t.Errorf("aborted %v and %v, ended %v and %v", from.aborted.Load(), to.aborted.Load(), from.ended, to.ended)
		}
	})
}

// What takes no more may still say something, but not for ever.
func TestDrain(t *testing.T) {
	broken := errors.New("broken")
	t.Run("says something", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, from, to, client, service := pipeOf()
			to.writeErr = broken
			go func() {
				client.Write([]byte("x"))
				time.Sleep(drainTimeout - time.Second)
				io.WriteString(service, "too much")
				service.Close()
			}()
			got := make(chan []byte)
			go func() {
				b, _ := io.ReadAll(client)
				got <- b
			}()
			err := p.run(t.Context(), 0)
			if s := <-got; !errors.Is(err, broken) || string(s) != "too much" {
				t.Errorf("the client got %q; %v", s, err)
			}
			if !from.aborted.Load() || !to.aborted.Load() {
				t.Errorf("aborted %v and %v, ended %v and %v", from.aborted.Load(), to.aborted.Load(), from.ended, to.ended)
			}
		})
	})
	t.Run("is silent", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, from, to, client, _ := pipeOf()
			to.writeErr = broken
			begin := time.Now()
			go client.Write([]byte("x"))
			if err := p.run(t.Context(), 0); !errors.Is(err, broken) || time.Since(begin) != drainTimeout {
				t.Errorf("%v after %v, want it after %v", err, time.Since(begin), drainTimeout)
			}
			if !from.aborted.Load() || !to.aborted.Load() || from.ended {
				t.Errorf("aborted %v and %v, ended %v and %v", from.aborted.Load(), to.aborted.Load(), from.ended, to.ended)
			}
		})
	})
	t.Run("and nobody reads", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			p, _, to, client, service := pipeOf()
			to.writeErr = broken
			begin := time.Now()
			go client.Write([]byte("x"))
			go io.WriteString(service, "too much")
			if err := p.run(t.Context(), 0); !errors.Is(err, broken) || time.Since(begin) != drainTimeout {
				t.Errorf("%v after %v, want it after %v", err, time.Since(begin), drainTimeout)
			}
		})
	})
}

// A context that is done ends a pipe with its cause.
func TestPipeInterrupted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p, from, to, _, _ := pipeOf()
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, ErrGrace)
		defer cancel()
		if err := p.run(ctx, time.Hour); !errors.Is(err, ErrGrace) || !from.aborted.Load() || !to.aborted.Load() {
			t.Errorf("%v, aborted %v and %v", err, from.aborted.Load(), to.aborted.Load())
		}
	})
}
