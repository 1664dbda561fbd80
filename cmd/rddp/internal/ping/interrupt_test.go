package ping

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// slow returns a network on which a ping takes some time, so that it can be interrupted.
func slow() extsock.Config {
	return extsock.Config{Backend: simtoe.New(simtoe.Config{Seed: 1, Delay: 50 * time.Millisecond})}
}

// An interrupt is success for a client without a count. The current ping ends, so that the server
// sees an orderly end too.
func TestInterruptedClient(t *testing.T) {
	for _, count := range []int{0, 1000} {
		synctest.Test(t, func(t *testing.T) {
			socket := slow()
			addr, end := serve(t.Context(), t, "server:1", &Config{Socket: socket})
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			sum, err := Client(ctx, addr, &Config{Socket: socket, Count: count})
			if sum.Pings == 0 || sum.Pings >= 1000 {
				t.Errorf("count %d: %d pings in ten seconds", count, sum.Pings)
			}
			if want := count != 0; errors.Is(err, ErrInterrupted) != want || !want && err != nil {
				t.Errorf("count %d: error %v", count, err)
			}
			if err := end(); err != nil {
				t.Errorf("count %d: the server: %v", count, err)
			}
		})
	}
}

// A client begins a ping at each interval, and an interrupt ends the pause before the next one.
func TestInterval(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		socket := slow()
		addr, end := serve(t.Context(), t, "server:1", &Config{Socket: socket})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last time.Time
		cfg := &Config{Socket: socket, Interval: time.Second, Pinged: func(n, size int, rtt time.Duration) {
			begun := time.Now().Add(-rtt)
			if n > 0 && begun.Sub(last) != time.Second || size != defaultSize {
				t.Errorf("ping %d of %d bytes begins %v after the one before", n, size, begun.Sub(last))
			}
			if last = begun; n == 4 {
				time.AfterFunc(time.Second/2, cancel)
			}
		}}
		sum, err := Client(ctx, addr, cfg)
		if err != nil || sum.Pings != 5 {
			t.Errorf("%v, %v", sum, err)
		}
		if took := time.Since(last); took >= time.Second {
			t.Errorf("the client ends %v after its last ping", took)
		}
		if err := end(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
}

// After a ping that takes longer than the interval, the next one begins at once.
func TestIntervalPassed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		socket := slow()
		addr, end := serve(t.Context(), t, "server:1", &Config{Socket: socket})
		var last time.Time
		cfg := &Config{Socket: socket, Count: 5, Interval: time.Millisecond, Pinged: func(n, _ int, rtt time.Duration) {
			if begun := time.Now().Add(-rtt); n > 0 && begun != last {
				t.Errorf("ping %d begins %v after the one before has ended", n, begun.Sub(last))
			}
			last = time.Now()
		}}
		if sum, err := Client(t.Context(), addr, cfg); err != nil || sum.Pings != 5 {
			t.Errorf("%v, %v", sum, err)
		}
		if err := end(); err != nil {
			t.Errorf("the server: %v", err)
		}
	})
}

// With a peer that falls silent during a ping, the end comes after the grace period.
func TestInterruptedInPing(t *testing.T) {
	const timeout = time.Hour
	t.Run("client", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			socket := slow()
			addr, end := silentServer(t, socket)
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			begin := time.Now()
			_, err := Client(ctx, addr, &Config{Socket: socket, Count: 1, Timeout: timeout})
			if !errors.Is(err, ErrInterrupted) {
				t.Errorf("error %v, want ErrInterrupted", err)
			}
			if took := time.Since(begin); took > 10*time.Second+grace+maxClose {
				t.Errorf("the client ends after %v", took)
			}
			end()
		})
	})
	t.Run("server", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			socket := slow()
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			defer cancel()
			addr, end := serve(ctx, t, "server:1", &Config{Socket: socket, Timeout: timeout})
			s, err := dial(t.Context(), addr, &Config{Socket: socket, Timeout: timeout})
			if err != nil {
				t.Fatal(err)
			}
			c := &client{session: s}
			if err := c.register(64); err != nil {
				t.Fatal(err)
			}
			c.offer(t.Context(), "source", c.source)
			c.receive(t.Context()) // the go-ahead
			if _, err := c.receive(t.Context()); !isClosed(err) {
				t.Errorf("the client gets %v, want the server's close", err)
			}
			s.conn.Close()
			if err := end(); err != nil {
				t.Errorf("Serve = %v, want nil: its context was done", err)
			}
		})
	})
}

// silentServer runs the startup of one connection and nothing else. end waits for its end.
func silentServer(t *testing.T, socket extsock.Config) (addr string, end func()) {
	l, err := extsock.Listen("tcp", "server:1", (&Config{Socket: socket}).socket())
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer l.Close()
		conn, err := acceptConn(l)
		if err != nil {
			t.Error(err)
			return
		}
		s, err := newSession(conn, &Config{Timeout: time.Hour})
		if err != nil {
			t.Error(err)
			return
		}
		if err := s.start(t.Context(), s.conn.EnableDDP); err != nil {
			t.Error(err)
		}
		s.receive(t.Context())
		s.receive(t.Context())
		conn.Close()
	}()
	return l.Addr().String(), func() { <-done }
}

// An atClose is a connection that calls before at the beginning of its Close.
type atClose struct {
	net.Conn
	before func()
}

func (c atClose) Close() error {
	c.before()
	return c.Conn.Close()
}

// TestServerInterruptedAfterFailure: an interrupt does not hide an earlier failure of a connection,
// even if the server is still closing that connection. A failure after the interrupt is a
// consequence of it, and is not reported.
func TestServerInterruptedAfterFailure(t *testing.T) {
	refused := errors.New("no startup")
	for _, tt := range []struct {
		interruptedFirst bool
		want             error
	}{{true, nil}, {false, refused}} {
		ctx, interrupt := context.WithCancel(t.Context())
		near, far := net.Pipe()
		c := extsock.NewConn(atClose{near, interrupt}, false, nil)
		startup := func(context.Context, []byte) error {
			if tt.interruptedFirst {
				interrupt()
			}
			return refused
		}
		if _, err := answerConn(ctx, c, startup, nil, nil, new(Config)); !errors.Is(err, tt.want) {
			t.Errorf("interrupted first: %t: %v, want %v", tt.interruptedFirst, err, tt.want)
		}
		if ctx.Err() == nil {
			t.Error("the connection is not closed")
		}
		interrupt()
		far.Close()
	}
}
