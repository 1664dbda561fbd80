package accept

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/retry"
)

// TestLoop: each connection is served, a temporary error causes a pause, and a connection that
// arrives when the server ends is refused.
func TestLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, s)
		}
		type accepted struct {
			name string
			err  error
		}
		comes := make(chan accepted)
		end := make(chan struct{})
		var served sync.WaitGroup
		l := Loop[string]{
			Accept: func() (string, error) { a := <-comes; return a.name, a.err },
			Serve:  func(_ context.Context, c string, _ *Place) { note("serve " + c); <-end },
			Most:   1, Context: t.Context(),
			Refuse: func(c string, ending bool) {
				if !ending {
					c += " for want of room"
				}
				note("refuse " + c)
			},
			Go: served.Go, Log: slog.New(slog.NewTextHandler(io.Discard, nil)),
		}
		ctx, cancel := context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- l.Run(ctx) }()
		come := func(name string, err error) {
			comes <- accepted{name, err}
			synctest.Wait()
		}
		come("a", nil)
		come("b", nil) // it does not count as long as it has not entered
		come("", errors.New("too many open files"))
		begin := time.Now()
		comes <- accepted{"c", nil}
		if d := time.Since(begin); d != retry.First {
			t.Errorf("the next connection was accepted %v after an error, want %v", d, retry.First)
		}
		synctest.Wait()
		cancel()
		come("d", nil)
		if err := <-ran; err != nil {
			t.Errorf("Run = %v", err)
		}
		close(end)
		served.Wait()
		if want := []string{"serve a", "serve b", "serve c", "refuse d"}; !slices.Equal(events, want) {
			t.Errorf("%q, want %q", events, want)
		}
		go func() { ran <- l.Run(t.Context()) }()
		come("", net.ErrClosed)
		if err := <-ran; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Run of a closed listener = %v", err)
		}
	})
}

// TestFailures: a server logs a warning for the first of consecutive failures of Accept, and
// retries at growing intervals.
func TestFailures(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		calls, begin := 0, time.Now()
		l := Loop[string]{
			Accept: func() (string, error) {
				switch calls++; {
				case calls == 8:
					return "one", nil
				case time.Since(begin) >= time.Minute:
					return "", net.ErrClosed
				}
				return "", errors.New("too many open files")
			},
			Serve: func(context.Context, string, *Place) {}, Go: func(f func()) { f() },
			Context: t.Context(), Log: slog.New(slog.NewTextHandler(&log, nil)),
		}
		if err := l.Run(t.Context()); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Run = %v", err)
		}
		if n := strings.Count(log.String(), "level=WARN"); n != 2 || calls < 60 || calls > 80 {
			t.Errorf("%d calls of Accept in a minute, with %d warnings before and after one that did not fail, want one for each", calls, n)
		}
	})
}

// TestEnterAtOnce: connections enter in the order in which they were accepted. A newcomer displaces
// the oldest quiet connection, whose context has the cause, and is refused if there is none.
func TestEnterAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var events []string
		note := func(s string) {
			mu.Lock()
			defer mu.Unlock()
			events = append(events, s)
		}
		comes := make(chan string)
		closed := make(chan struct{})
		var served sync.WaitGroup
		l := Loop[string]{
			Accept: func() (string, error) {
				select {
				case c := <-comes:
					return c, nil
				case <-closed:
					return "", net.ErrClosed
				}
			},
			Serve: func(ctx context.Context, c string, p *Place) {
				if c == "loud" {
					p.Heard()
				}
				<-ctx.Done()
				if errors.Is(context.Cause(ctx), ErrDisplaced) {
					note(c + " is displaced")
				}
			},
			Most: 2, EnterAtOnce: true,
			Refuse: func(c string, ending bool) { note(fmt.Sprintf("%s is refused, ending: %t", c, ending)) },
			Go:     served.Go,
		}
		var cancel context.CancelFunc
		l.Context, cancel = context.WithCancel(t.Context())
		ran := make(chan error, 1)
		go func() { ran <- l.Run(t.Context()) }()
		for _, c := range []string{"a", "b", "c", "loud", "d", "loud", "e"} {
			comes <- c
			synctest.Wait()
		}
		close(closed)
		if err := <-ran; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Run = %v", err)
		}
		cancel()
		served.Wait()
		want := []string{"a is displaced", "b is displaced", "c is displaced", "d is displaced", "e is refused, ending: false"}
		if !slices.Equal(events, want) {
			t.Errorf("%q, want %q", events, want)
		}
	})
}

// TestEndFreesPlace: a connection that has ended leaves its place to the next one.
func TestEndFreesPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		comes := make(chan int)
		var served sync.WaitGroup
		l := Loop[int]{
			Accept: func() (int, error) {
				if c, ok := <-comes; ok {
					return c, nil
				}
				return 0, net.ErrClosed
			},
			Serve: func(_ context.Context, c int, p *Place) {
				if !p.Heard() {
					t.Errorf("there is no room for %d", c)
				}
			},
			Most: 1, EnterAtOnce: true, Context: t.Context(), Go: served.Go,
			Refuse: func(c int, _ bool) { t.Errorf("%d is refused", c) },
		}
		ran := make(chan error, 1)
		go func() { ran <- l.Run(t.Context()) }()
		for c := range 3 {
			comes <- c
			synctest.Wait()
		}
		close(comes)
		if err := <-ran; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Run = %v", err)
		}
		served.Wait()
	})
}

// TestServePanics: a connection whose Serve panics is closed and frees its place, and other
// connections are still served.
func TestServePanics(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		comes := make(chan int)
		var served sync.WaitGroup
		var heard, refused []int
		var log strings.Builder
		l := Loop[int]{
			Accept: func() (int, error) {
				if c, ok := <-comes; ok {
					return c, nil
				}
				return 0, net.ErrClosed
			},
			Serve: func(_ context.Context, c int, p *Place) {
				if p.Heard() {
					heard = append(heard, c)
				}
				if c == 0 {
					panic("a bug of the server")
				}
			},
			Most: 1, EnterAtOnce: true, Context: t.Context(), Go: served.Go,
			Refuse: func(c int, _ bool) { refused = append(refused, c) },
			Log:    slog.New(slog.NewTextHandler(&log, nil)),
		}
		ran := make(chan error, 1)
		go func() { ran <- l.Run(t.Context()) }()
		for c := range 2 {
			comes <- c
			synctest.Wait()
		}
		close(comes)
		if err := <-ran; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Run = %v", err)
		}
		served.Wait()
		if !slices.Equal(heard, []int{0, 1}) || !slices.Equal(refused, []int{0}) {
			t.Errorf("%v had a place and %v were closed", heard, refused)
		}
		if !strings.Contains(log.String(), "a bug of the server") {
			t.Errorf("the log is %q", log.String())
		}
	})
}

// TestEach: each connection is served, also after a failed Accept, until the listener is closed or
// ctx is done.
func TestEach(t *testing.T) {
	for _, canceled := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := &given{comes: make(chan net.Conn), fails: make(chan error)}
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			over, served := make(chan struct{}), make(chan net.Conn)
			go func() { Each(ctx, slog.New(slog.DiscardHandler), l, func(c net.Conn) { served <- c }); close(over) }()
			for range 2 {
				l.fails <- errors.New("too many open files")
				near, far := net.Pipe()
				l.comes <- far
				if c := <-served; c != far {
					t.Error("another connection is served")
				}
				near.Close()
				far.Close()
			}
			if canceled {
				cancel()
				l.fails <- errors.New("too many open files")
			} else {
				l.fails <- net.ErrClosed
			}
			<-over
		})
	}
}

// A given is a listener that accepts the connections sent to comes.
type given struct {
	net.Listener
	comes chan net.Conn
	fails chan error
}

func (g *given) Accept() (net.Conn, error) {
	select {
	case c := <-g.comes:
		return c, nil
	case err := <-g.fails:
		return nil, err
	}
}
