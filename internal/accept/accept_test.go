package accept

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestLoop: connections beyond the most are refused, one that has ended makes place, a passing error costs a pause, and
// what comes when the server ends is refused without a word.
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
			Serve:  func(c string) { note("serve " + c); <-end },
			Most:   2,
			Refuse: func(c string, log *slog.Logger) {
				if log != nil {
					c += " aloud"
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
		come("b", nil)
		come("c", nil)
		end <- struct{}{}
		synctest.Wait()
		come("d", nil)
		come("", errors.New("too many open files"))
		begin := time.Now()
		comes <- accepted{"e", nil}
		if d := time.Since(begin); d != PauseTime {
			t.Errorf("the next connection was accepted %v after an error, want %v", d, PauseTime)
		}
		synctest.Wait()
		cancel()
		come("f", nil)
		if err := <-ran; err != nil {
			t.Errorf("Run = %v", err)
		}
		close(end)
		served.Wait()
		if want := []string{"serve a", "serve b", "refuse c aloud", "serve d", "refuse e aloud", "refuse f"}; !slices.Equal(events, want) {
			t.Errorf("%q, want %q", events, want)
		}
		go func() { ran <- l.Run(t.Context()) }()
		come("", net.ErrClosed)
		if err := <-ran; !errors.Is(err, net.ErrClosed) {
			t.Errorf("Run of a closed listener = %v", err)
		}
	})
}

// TestPauseEnds: a server that ends does not wait.
func TestPauseEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if Pause(ctx, time.Hour) {
		t.Error("Pause says that there is time")
	}
}
