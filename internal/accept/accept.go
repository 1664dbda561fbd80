// Package accept provides the accept loop of a server that limits its number of connections, and
// the time that they have when the server ends.
//
// A limit alone lets a few peers keep everyone out, so a [Loop] counts connections in an
// [admission.Limiter]. A connection counts only after the Loop's Serve function has called Enter. A
// silent peer can lose its place to a newcomer, and so can a peer whose source has more places than
// its share.
//
// The Loop does not limit connections that have not entered. A server with MPA startup calls Enter
// when it has the peer's MPA Request; until then extsock.Config.MaxHalfOpen limits them, by the
// same rules.
package accept

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"time"

	"github.com/rddp/rddp/internal/admission"
	"github.com/rddp/rddp/internal/retry"
)

// A Place is the place of one connection among those that a Loop counts.
type Place = admission.Place

// ErrDisplaced is the reason for the end of a connection that has lost its place to a newer one.
var ErrDisplaced = admission.ErrDisplaced

// A Loop accepts connections and serves each one in a goroutine. C is the type of a connection.
type Loop[C any] struct {
	// Accept waits for the next connection, like net.Listener's Accept.
	Accept func() (C, error)
	// Serve serves a connection to its end and closes it. The Loop calls Serve in a separate
	// goroutine for each connection. ctx is derived from Context; it is done when the connection is
	// displaced, and its cause then matches ErrDisplaced. Unless EnterAtOnce is set, the connection
	// does not count toward any limit until Serve calls Enter of its Place.
	Serve func(ctx context.Context, c C, p *Place)
	// Context is the parent of the connections' contexts.
	Context context.Context //nolint:containedctx // lives as long as the call of Run
	// Most is the maximum number of connections whose peer has been heard. One source can keep at
	// most half of these places.
	Most int
	// MostQuiet is the maximum number of connections that have entered and whose peer has not been
	// heard. Zero means that Most is the maximum of quiet and heard connections together.
	MostQuiet int
	// EnterAtOnce makes Run call Enter for each accepted connection, in order. It is for servers
	// whose peers need not do anything before they are served.
	EnterAtOnce bool
	// From returns the source of a connection; see the function Source. Nil means that all
	// connections have the same source.
	From func(C) admission.Source
	// Refuse closes a connection that is not served: because there is no place for it with
	// EnterAtOnce, because the Loop is ending, or because Serve has panicked. In the last two cases
	// ending is true.
	Refuse func(c C, ending bool)
	// Go runs a function in a goroutine, like sync.WaitGroup.Go.
	Go func(func())
	// Log receives a warning when Accept fails, and Debug records when it fails repeatedly.
	Log *slog.Logger
}

// From returns a Loop's Accept for l, whose connections are all of type C.
func From[C net.Conn](l net.Listener) func() (C, error) {
	return func() (c C, err error) {
		nc, err := l.Accept()
		if err != nil {
			return c, err
		}
		return nc.(C), nil
	}
}

// Source returns the source of the peer's address. It can be used as Loop.From.
func Source[C net.Conn](c C) admission.Source { return admission.SourceOf(c.RemoteAddr()) }

// Run accepts connections until ctx is done, and then returns nil, or until the listener is closed,
// and then returns net.ErrClosed. Run does not interrupt Accept when ctx is done; the caller must
// close the listener. Run does not wait for the connections to end.
func (l *Loop[C]) Run(ctx context.Context) error {
	all := admission.New(l.Most, l.MostQuiet)
	var again retry.Wait
	for {
		c, err := l.Accept()
		switch {
		case ctx.Err() != nil:
			if err == nil {
				l.Refuse(c, true)
			}
			return nil
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			if !Failed(ctx, l.Log, err, &again) {
				return nil
			}
			continue
		}
		again.Reset()
		var from admission.Source
		if l.From != nil {
			from = l.From(c)
		}
		conn, displace := context.WithCancelCause(l.Context)
		p := all.New(from, displace)
		if l.EnterAtOnce && !p.Enter() {
			displace(nil)
			l.Refuse(c, false)
			continue
		}
		l.Go(func() {
			defer displace(nil)
			defer p.Leave()
			defer l.recovered(c)
			l.Serve(conn, c, p)
		})
	}
}

// recovered closes a connection whose Serve has panicked, so that the server continues for other
// clients. It does not recover panics in goroutines that Serve has started.
func (l *Loop[C]) recovered(c C) {
	if value := recover(); value != nil {
		l.Log.Error("panic", "value", fmt.Sprint(value), "stack", string(debug.Stack()))
		l.Refuse(c, true)
	}
}

// Failed logs a failure of Accept, and waits. Most such failures are temporary, for example when
// too many files are open. It logs a warning only for the first of consecutive failures. It returns
// false if ctx is done.
func Failed(ctx context.Context, log *slog.Logger, err error, again *retry.Wait) bool {
	level := slog.LevelWarn
	if again.HasBegun() {
		level = slog.LevelDebug
	}
	log.Log(ctx, level, "accept", "err", err)
	return again.Pause(ctx)
}

// Each calls serve in a separate goroutine for each connection of l, until l is closed or ctx is
// done. After a failure of Accept it logs as [Failed] does, pauses and continues. Each does not
// interrupt Accept when ctx is done.
func Each[C any](ctx context.Context, log *slog.Logger, l interface{ Accept() (C, error) }, serve func(C)) {
	var again retry.Wait
	for {
		c, err := l.Accept()
		switch {
		case err == nil:
			again.Reset()
			go serve(c)
		case errors.Is(err, net.ErrClosed), ctx.Err() != nil, !Failed(ctx, log, err, &again):
			return
		}
	}
}

// Graceful returns a context for the connections of a server that ends when ctx is done. It is done
// the time grace later, with this cause, or when cancel is called.
func Graceful(ctx context.Context, grace time.Duration, cause error) (late context.Context, cancel context.CancelFunc) {
	late, end := context.WithCancelCause(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, func() {
		t := time.AfterFunc(grace, func() { end(cause) })
		context.AfterFunc(late, func() { t.Stop() })
	})
	return late, func() {
		stop()
		end(nil)
	}
}
