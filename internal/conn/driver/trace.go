package driver

import (
	"errors"
	"io"
	"net"

	"github.com/rddp/rddp/rdmap"
)

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
