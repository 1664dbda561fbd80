package driver

import (
	"errors"
	"io"
	"net"

	"github.com/rddp/rddp/rdmap"
)

// TraceTerminate writes the Terminate that ended the stream to the trace, if there was one. Only
// the first call writes it.
func (d *Driver) TraceTerminate() {
	if d.cfg.Trace == nil {
		return
	}
	e := (*rdmap.TerminateError)(nil)
	if !errors.As(d.qp.Err(), &e) || !d.cfg.Trace.Terminate() {
		return
	}
	layer, etype, code := e.Terminate.Code.Words()
	args := []any{"layer", layer, "type", etype, "code", code}
	if e.Remote {
		d.cfg.Trace.Warn("Terminate received", args...)
	} else {
		d.cfg.Trace.Warn("Terminate sent", append(args, "err", e.Err)...)
	}
}

// traceEnd writes to the trace why the connection has ended.
func (d *Driver) traceEnd(reason error) {
	switch {
	case d.cfg.Trace == nil:
	case errors.Is(reason, net.ErrClosed):
		d.cfg.Trace.Info("connection ends", "by", "local")
	case reason == io.EOF: //nolint:errorlint // peerEnded notes io.EOF itself
		d.cfg.Trace.Info("connection ends", "by", "peer")
	default:
		d.cfg.Trace.Warn("connection ends", "by", "failure", "err", reason)
	}
}
