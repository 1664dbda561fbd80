package proxy

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A fakeEnd is an end of a net.Pipe; its peer has the other.
type fakeEnd struct {
	net.Conn
	writeErr error // the error of Write
	endErr   error // the error of CloseWrite
	ended    bool  // CloseWrite was called
	aborted  atomic.Bool
}

func (e *fakeEnd) Write(p []byte) (int, error) {
	if e.writeErr != nil {
		return 0, e.writeErr
	}
	return e.Conn.Write(p)
}

func (e *fakeEnd) CloseWrite() error { e.ended = true; return e.endErr }
func (e *fakeEnd) orderly() bool     { return true }
func (e *fakeEnd) abort()            { e.aborted.Store(true); e.Conn.Close() }

// A stutterer is an end whose first Reads return 0 and no error.
type stutterer struct {
	end
	empty int
}

func (s *stutterer) Read(p []byte) (int, error) {
	if s.empty > 0 {
		s.empty--
		return 0, nil
	}
	return s.end.Read(p)
}

// heard is called when a byte or the end of its direction arrives from the accepted side, but not
// for bytes from the other side or for empty Reads.
func TestHeard(t *testing.T) {
	for _, ends := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			p, _, _, client, service := pipeOf()
			p.from.end = &stutterer{p.from.end, 3}
			var heard atomic.Int64
			p.heard = func() { heard.Add(1) }
			ran := make(chan error)
			go func() { ran <- p.run(t.Context(), 0) }()
			go io.Copy(io.Discard, client)
			go io.Copy(io.Discard, service)
			service.Write([]byte("who is there?"))
			synctest.Wait()
			if heard.Load() != 0 {
				t.Error("heard, though only the service has spoken")
			}
			if ends {
				client.Close()
			} else {
				client.Write([]byte("I"))
				client.Write([]byte("am"))
			}
			synctest.Wait()
			if n := heard.Load(); n != 1 {
				t.Errorf("heard %d times, want once", n)
			}
			client.Close()
			service.Close()
			<-ran
		})
	}
}

// pipeOf returns a pipe between two fakes, and their peers.
func pipeOf() (p *pipe, from, to *fakeEnd, client, service net.Conn) {
	a, client := net.Pipe()
	b, service := net.Pipe()
	from, to = &fakeEnd{Conn: a}, &fakeEnd{Conn: b}
	return newPipe(side{from, "the client"}, side{to, "the service"}, &directions{}, func() {}), from, to, client, service
}

// A connection is idle when no byte has moved in either direction for the idle time, and not
// before.
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

// The idle time counts from the last byte: if the timer fires too early, it is set again.
func TestIdleTimeFromTheLastByte(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	rnd := rand.New(rand.NewPCG(seed, 0))
	for range 20 {
		synctest.Test(t, func(t *testing.T) {
			const idle = time.Minute
			p, _, _, client, service := pipeOf()
			begin := time.Now()
			go io.Copy(io.Discard, client)
			go io.Copy(io.Discard, service)
			last := make(chan time.Time, 1)
			go func() {
				for range 30 {
					time.Sleep(time.Duration(rnd.Int64N(int64(idle))))
					[]net.Conn{client, service}[rnd.IntN(2)].Write([]byte("x"))
				}
				last <- time.Now()
			}()
			err := p.run(t.Context(), idle)
			over := time.Now()
			select {
			case at := <-last:
				if !errors.Is(err, ErrIdle) || over.Sub(at) != idle {
					t.Errorf("%v at %v, %v after the last byte; want ErrIdle %v after it", err, over.Sub(begin), over.Sub(at), idle)
				}
			default:
				t.Errorf("%v at %v, while bytes move", err, over.Sub(begin))
			}
		})
	}
}

// If the end of a direction cannot be passed on, the pipe ends with that error. Bytes from the
// other side still arrive.
func TestHalfCloseFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		p, from, to, client, service := pipeOf()
		to.endErr = broken
		p.from.end = ends{from}
		go func() {
			time.Sleep(drainTimeout - time.Second)
			io.WriteString(service, "an answer")
			service.Close()
		}()
		got := make(chan []byte)
		go func() {
			b, _ := io.ReadAll(client)
			got <- b
		}()
		err := p.run(t.Context(), 0)
		if s := <-got; !errors.Is(err, broken) || string(s) != "an answer" {
			t.Errorf("the client got %q; %v, want %v", s, err, broken)
		}
		if !to.ended || !from.aborted.Load() || !to.aborted.Load() {
			t.Errorf("ended %v, aborted %v and %v", to.ended, from.aborted.Load(), to.aborted.Load())
		}
	})
}

// An ends is an end whose peer has ended its direction.
type ends struct{ end }

func (ends) Read([]byte) (int, error) { return 0, io.EOF }

// A side that accepts no more bytes may still send some, but not forever.
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

// A done context ends a pipe with its cause.
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
