package driver

import (
	"errors"
	"io"
	"net"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// An ending knows whether a connection ends, and why, from its life, its queue pair, and the
// program's calls. It carries nothing out; the Driver does that (ending.go). Any goroutine may call
// its methods. Methods that change something take the lock of life.
type ending struct {
	life   life
	silent wait.Latch  // nothing more will arrive; goroutines wait on it for intakeOver
	closed *wait.Latch // Conn.Close sets it

	timeout time.Duration // Config.CloseTimeout

	qp      *rdmap.QP
	badSTag func() // Config.BadSTag

	recovery // of panics
}

func (e *ending) init(cfg *Config, count *counters.Counters) {
	e.recovery = recovery{count: count, on: cfg.Recover, trace: cfg.Trace}
	e.timeout = cfg.CloseTimeout
	e.qp, e.closed, e.badSTag = cfg.QP, cfg.Closed, cfg.BadSTag
	if e.closed == nil {
		e.closed = new(wait.Latch)
	}
}

// setReason notes why the connection ends, if no reason was noted before. See life.end.
func (e *ending) setReason(err error) {
	if e.life.end(err) {
		e.claim(err)
		e.penalize(err)
		e.traceEnd(err)
	}
}

// penalize calls Config.BadSTag if err, which ends the connection, shows that the peer may be
// trying STags.
func (e *ending) penalize(err error) {
	if e.badSTag != nil && guessed(err) {
		e.badSTag()
	}
}

// guessed reports whether err, which ends a connection, says that the peer used memory to which it
// has no right. A peer that tries STags causes such errors. It does not cause the error of an
// access that needs no right: this end's own, to the Region of an answer to a request that was
// right when it came. A Send with Invalidate, which accesses no bytes, needs none either, but may
// well be a try.
func guessed(err error) bool {
	var access *ddp.AccessError
	return errors.As(err, &access) && (access.Need != 0 || access.N == 0)
}

// closing reports whether the connection has been closed or has failed, so that nothing new will be
// sent.
func (e *ending) closing() bool { return !e.qp.IsReady() }

// isUnderWay reports whether the connection ends, or the program has called Close.
func (e *ending) isUnderWay() bool {
	return e.life.state() != lifeOpen || e.closed.IsSet() || e.closing()
}

// abortDue reports whether the holder of the token must flush the queues, because of Kill. fin does
// so once, because finDue is then true, and fin finishes the way out.
func (e *ending) abortDue() bool { return e.life.state() == lifeKilled }

// peerLeft reports whether the connection ends, so far, only because the peer has closed it in
// order.
func (e *ending) peerLeft() bool {
	return e.life.state() == lifeEnding && e.life.why() == io.EOF //nolint:errorlint // as peerEnded notes it
}

// endsReads reports whether a Read must not wait, because nothing more will arrive, or the program
// has called Close.
func (e *ending) endsReads() bool { return e.silent.IsSet() || e.closed.IsSet() }

// err returns why the connection has ended: io.EOF if the peer closed it in order, net.ErrClosed if
// the program did, and otherwise the failure. It returns nil while the connection has not ended.
func (e *ending) err() error {
	err := e.life.why()
	if err == nil && e.silent.IsSet() {
		return net.ErrClosed
	}
	if err == io.EOF && e.closed.IsSet() { //nolint:errorlint // set by the driver as it is
		return net.ErrClosed
	}
	return err
}

// hasFailed reports whether the connection has ended, or ends, for another reason than that the
// peer or the program has closed it.
func (e *ending) hasFailed() bool {
	switch e.life.why() { //nolint:errorlint // as the driver notes them
	case nil, io.EOF, net.ErrClosed:
		return false
	}
	return true
}

// readError says why no more bytes will arrive. If framed is set, the connection is a byte stream,
// whose proper end comes before the end of TCP.
func (e *ending) readError(framed bool) error {
	err := e.err()
	if err == io.EOF && framed { //nolint:errorlint // as err returns it
		return io.ErrUnexpectedEOF
	}
	return err
}

// postError replaces the error of a post by the reason why the connection has ended, if it has.
func (e *ending) postError(err error) error {
	if err != nil && !isFull(err) {
		if why := e.err(); why != nil {
			return why
		}
	}
	return err
}

// completionError returns the error of a blocking call from the Completion of its Work Request.
func (e *ending) completionError(done rdmap.Completion) error {
	if done.Status == rdmap.StatusOK {
		return nil
	}
	if done.Status == rdmap.StatusFlushed {
		if err := e.err(); err != nil {
			return err
		}
	}
	return done.Err
}

// traceTerminate writes the Terminate that ended the stream to the trace, if there was one. Only
// the first call writes it.
func (e *ending) traceTerminate() {
	if e.trace == nil {
		return
	}
	t := (*rdmap.TerminateError)(nil)
	if !errors.As(e.qp.Err(), &t) || !e.trace.Terminate() {
		return
	}
	layer, etype, code := t.Terminate.Code.Words()
	args := []any{"layer", layer, "type", etype, "code", code}
	if t.Remote {
		e.trace.Warn("Terminate received", args...)
	} else {
		e.trace.Warn("Terminate sent", append(args, "err", t.Err)...)
	}
}

// traceEnd writes to the trace why the connection has ended.
func (e *ending) traceEnd(reason error) {
	switch {
	case e.trace == nil:
	case errors.Is(reason, net.ErrClosed):
		e.trace.Info("connection ends", "by", "local")
	case reason == io.EOF: //nolint:errorlint // peerEnded notes io.EOF itself
		e.trace.Info("connection ends", "by", "peer")
	default:
		e.trace.Warn("connection ends", "by", "failure", "err", reason)
	}
}
