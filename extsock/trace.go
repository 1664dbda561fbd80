package extsock

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync/atomic"

	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A trace writes the events of one connection to Config.Trace, which lists them. A nil *trace
// writes nothing.
type trace struct {
	log        *slog.Logger
	terminated atomic.Bool // the Terminate has been written
}

func newTrace(l *slog.Logger, c net.Conn, initiator bool) *trace {
	if l == nil {
		return nil
	}
	role := "responder"
	if initiator {
		role = "initiator"
	}
	return &trace{log: l.With("local", fmt.Sprint(c.LocalAddr()), "peer", fmt.Sprint(c.RemoteAddr()), "role", role)}
}

func (t *trace) debug(event string, args ...any) {
	if t != nil {
		t.log.Debug("rddp: "+event, args...)
	}
}

func (t *trace) info(event string, args ...any) {
	if t != nil {
		t.log.Info("rddp: "+event, args...)
	}
}

func (t *trace) warn(event string, args ...any) {
	if t != nil {
		t.log.Warn("rddp: "+event, args...)
	}
}

// traceSwitch writes the result of the switch to DDP mode.
func (c *Conn) traceSwitch(err error) {
	t := c.trace
	if t == nil {
		return
	}
	if p := c.verbs.pump; p != nil {
		defer p.traceTerminate() // startup itself may end with a Terminate
	}
	if err != nil {
		if r := (*mpa.RejectError)(nil); errors.As(err, &r) {
			t.info("rejected", "err", err)
		} else {
			t.warn("no DDP mode", "err", err)
		}
		return
	}
	peer := c.peer.Load()
	a, caps := peer.Agreement, peer.Capabilities
	t.info("DDP mode", "revision", int(a.Revision), "enhanced", a.Enhanced, "crc", a.CRC,
		"tx_markers", a.TxMarkers, "rx_markers", a.RxMarkers, "ird", a.IRD, "ord", a.ORD,
		"peer_ird", a.PeerIRD, "peer_ord", a.PeerORD, "peer_to_peer", a.PeerToPeer, "rtr", a.RTR.String(),
		"rddp", peer.IsRDDP, "extensions", c.cfg.Extensions || caps.Extensions, "large_fpdus", caps.LargeFPDU,
		"emss", c.stream.EMSS())
	p := c.verbs.pump
	switch {
	case p.in == nil:
		t.info("application receives")
	case p.bytes != nil:
		t.info("byte stream", "send_credits", int(caps.Credits), "send_size", p.bytes.longest(),
			"recv_credits", p.in.window.Load(), "recv_size", c.cfg.recvSize())
	default:
		t.info("messages", "send_credits", int(caps.Credits), "send_size", int64(caps.MaxMessage),
			"recv_credits", c.cfg.recvDepth(), "recv_size", c.cfg.recvSize())
	}
}

// traceTerminate writes the Terminate that ended the stream, if there was one. It does so once.
func (p *pump) traceTerminate() {
	if p.cfg.trace == nil {
		return
	}
	e := (*rdmap.TerminateError)(nil)
	if !errors.As(p.qp.Err(), &e) || p.cfg.trace.terminated.Swap(true) {
		return
	}
	layer, etype, code := e.Terminate.Code.Words()
	args := []any{"layer", layer, "type", etype, "code", code}
	if e.Remote {
		p.cfg.trace.warn("Terminate received", args...)
	} else {
		p.cfg.trace.warn("Terminate sent", append(args, "err", e.Err)...)
	}
}

// traceEnd writes why the connection has ended.
func (p *pump) traceEnd(reason error) {
	switch {
	case p.cfg.trace == nil:
	case errors.Is(reason, net.ErrClosed):
		p.cfg.trace.info("connection ends", "by", "local")
	case reason == io.EOF: //nolint:errorlint // as ended sets it: the peer's orderly close
		p.cfg.trace.info("connection ends", "by", "peer")
	default:
		p.cfg.trace.warn("connection ends", "by", "failure", "err", reason)
	}
}
