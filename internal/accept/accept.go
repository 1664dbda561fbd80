// Package accept is the loop of a server with a bound on its connections.
package accept

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"
)

// A Loop says what becomes of connections. C is what the listener gives.
type Loop[C any] struct {
	Accept func() (C, error)
	// Serve is called in a goroutine of its own for each connection, for at most Most at a time.
	Serve func(C)
	Most  int
	// Refuse ends a connection that is not served. log, nil where the server ends, is to be told why.
	Refuse func(c C, log *slog.Logger)
	// Go runs a function in a goroutine, as sync.WaitGroup.Go does.
	Go  func(func())
	Log *slog.Logger
}

// PauseTime is how long to wait where accepting fails: there are too many open files, for instance, which passes.
const PauseTime = 100 * time.Millisecond

// Run accepts until ctx is done, and then returns nil, or until the listener is closed, and then returns net.ErrClosed. To
// end its wait for a connection when ctx is done is the caller's: by closing the listener.
func (l *Loop[C]) Run(ctx context.Context) error {
	places := make(chan struct{}, l.Most)
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				l.Refuse(c, nil)
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			l.Log.Warn("accept", "err", err)
			if !Pause(ctx, PauseTime) {
				return nil
			}
			continue
		}
		select {
		case places <- struct{}{}:
			l.Go(func() {
				defer func() { <-places }()
				l.Serve(c)
			})
		default:
			l.Refuse(c, l.Log)
		}
	}
}

// Pause waits for d and reports whether ctx is still not done.
func Pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
