package startup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/rddp/rddp/internal/panics"
)

// A bound says whether bounded runs, and whether cut has ended its reads and writes.
type bound uint8

const (
	unbound bound = iota
	boundSet
	boundCut
)

// bounded runs f. The reads and writes of f on the stream fail when ctx is done, or after timeout;
// the error then names what f waited for. The stream has no deadline afterwards.
//
// The stream's own deadline costs less than a context with a timer and a hook. The deadline of ctx
// is not used for the stream, because callers look at ctx after an error, and then ctx must be
// done.
func (h *Handshake) bounded(ctx context.Context, timeout time.Duration, waited string, f func() error) (err error) {
	if err := ctx.Err(); err != nil {
		return err
	}
	until := time.Now().Add(timeout)
	if !h.stream.Capabilities().Deadlines {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, until)
		defer cancel()
	}
	half := h.setBound(until)
	if half != nil {
		half.whenEvicted(h.cut)
	}
	unhook := h.cutWhenDone(ctx)
	defer func() { // after a panic of the Tap, too
		unhook()
		half.whenEvicted(nil)
		isCut := h.removeBound()
		switch {
		case err == nil:
		case half.isEvicted():
			err = ErrHalfOpen
		case !isCut && !errors.Is(err, os.ErrDeadlineExceeded):
		case ctx.Err() != nil:
			err = fmt.Errorf("%w, waiting for %s", ctx.Err(), waited)
		default:
			err = fmt.Errorf("%w, waiting for %s", context.DeadlineExceeded, waited)
		}
	}()
	return f()
}

// guard calls f in a goroutine of this package. f calls the program's Stream, and guard ignores a
// panic there.
func guard(f func()) { _ = panics.Guard(func() error { f(); return nil }) }

// cutWhenDone calls cut when ctx is done. When unhook returns, cut will not be called any more, and
// is not running.
func (h *Handshake) cutWhenDone(ctx context.Context) (unhook func()) {
	if ctx.Done() == nil {
		return func() {}
	}
	fired := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(fired)
		guard(h.cut)
	})
	return func() {
		if !stop() {
			<-fired
		}
	}
}

// setBound bounds all reads and writes on the stream. It returns the connection's place among the
// half-open connections.
func (h *Handshake) setBound(until time.Time) *halfOpen {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.bound = boundSet
	h.stream.SetDeadline(until) // an error is that of a closed stream, and comes again
	return h.half
}

// cut ends the reads and writes of bounded, if it runs.
func (h *Handshake) cut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.bound == unbound {
		return
	}
	h.bound = boundCut
	if err := panics.Guard(func() error { return h.stream.SetDeadline(past) }); err != nil {
		h.stream.Close() // a stream without deadlines, or whose SetDeadline has panicked
	}
}

// removeBound undoes setBound. It reports whether cut has come before.
func (h *Handshake) removeBound() (isCut bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	isCut = h.bound == boundCut
	h.bound = unbound
	h.stream.SetDeadline(time.Time{}) // an error is that of a closed stream, and comes again
	return isCut
}
