package extsock

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// How a pump ends. Each direction comes to its end by itself, and the last of the two closes the
// stream:
//
//	down  fin, called with the token: the FIN has followed the last FPDU
//	up    receive returns: the peer's FIN, an error, or the deadline that fin has set
//
// What sets it off is close (the application), fail (a fault in the stream), ended (the peer or the
// network), or lost (TCP takes no more). kill is the impatient end of all of these.

// fin sends the FIN once the last FPDU of a connection that is closing has been written. The token
// is held.
func (p *pump) fin() {
	if p.abortDue() {
		p.qp.Abort(p.why()) // nothing of a Work Request is being written now
	}
	if !p.finDue() {
		return
	}
	p.setReason(p.qp.Err()) // where the QP has ended the stream and its caller has not come to say so
	if p.life.maySend() {
		if p.stream.Capabilities().HalfClose {
			p.stream.CloseWrite()
		} else {
			p.stream.Close() // the peer's FIN would wait for ours
		}
	}
	// The peer's FIN ends receive, and this deadline where it does not come.
	p.setReadUntil(time.Now().Add(p.cfg.closeTimeout))
	p.interrupt() // who waits has been told by now
	if p.life.finish() {
		p.shut()
	}
}

// closing reports whether nothing new will be sent: the connection has been closed or has failed.
func (p *pump) closing() bool {
	switch p.qp.State() {
	case rdmap.StateIdle, rdmap.StateRTS:
		return false
	}
	return true
}

// fail ends the connection because of what a layer found wrong in the stream; the peer gets a
// Terminate where the RFC allows one.
func (p *pump) fail(err error) {
	p.setReason(err)
	if p.tx.fenced.Load() {
		// Not one FPDU has been validated, so not even a Terminate may go out (RFC 5044 §7.1.2).
		p.qp.Abort(err)
	} else {
		p.qp.Fail(err)
		p.traceTerminate()
	}
	p.transmit()
}

// lost is the end of the way down: TCP takes no more. What the peer may have sent before, such as
// the Terminate that says why, is still read.
func (p *pump) lost(err error) {
	p.setReason(err)
	p.setReadUntil(time.Now().Add(p.cfg.closeTimeout))
	p.life.lose()
	p.wake()
}

// ended is the end of the way up, while the connection was in use.
func (p *pump) ended(err error) {
	if errors.Is(err, io.EOF) {
		end := p.rx.mpa.EOF()
		e := (*mpa.Error)(nil)
		graceful := errors.As(end, &e) && e.Graceful
		switch {
		case graceful && p.rx.ddp.Unfinished():
			err = errCut
		case graceful:
			p.setReason(io.EOF)
			p.qp.PeerClosed(end)
			return
		default:
			err = end
		}
	}
	p.kill(err)
}

// kill ends both ways at once: the stream is closed and, as soon as nobody is writing from them,
// all Work Requests are flushed.
func (p *pump) kill(err error) {
	p.setReason(err)
	p.life.kill()
	p.stream.Close()
	p.wake()
	p.transmit()
}

// sendReset is kill, and the peer learns that octets it has sent are lost.
func (p *pump) sendReset() {
	p.stream.Abort()
	p.kill(net.ErrClosed)
}

// linger is the end of the way up of a connection that is closing or has failed: what is queued may still
// go out and the peer's FIN come, within the close timeout.
func (p *pump) linger() {
	until := time.Now().Add(p.cfg.closeTimeout)
	switch {
	case errors.Is(p.rx.err, io.EOF):
		p.qp.PeerClosed(nil) // what waits for the peer's answers waits in vain
	case p.rx.err == nil:
		p.setReadUntil(until)
		p.discard()
	}
	p.transmit()
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-p.life.finished:
	case <-t.C:
		p.kill(p.why())
	}
}

// discardSize is what a connection holds, in octets, while it waits for the peer's FIN.
const discardSize = 16 << 10

// discard reads what still comes, up to the peer's FIN. Closing the stream with octets unread
// would make TCP send a reset, which can destroy our last FPDUs on their way.
func (p *pump) discard() {
	c := bufpool.GetChunk(discardSize)
	defer c.Put()
	for {
		if _, _, err := p.stream.ReadSegment(discarded(c.B), 0); err != nil && !p.resume() {
			return
		}
	}
}

// discarded is memory for bytes that nobody looks at. It is held while the stream waits, too.
type discarded []byte

func (d discarded) Lend() []byte   { return d }
func (d discarded) TakeBack() bool { return true }

// close is the orderly end: what is queued goes out, then the FIN. It returns when that is done or
// has failed, and after the close timeout with an error. Where the program has not read all of what the
// peer has sent there is no orderly end.
func (p *pump) close() error {
	begin := time.Now()
	if p.in != nil && p.in.close() {
		p.sendReset()
		return nil
	}
	t := time.NewTimer(p.cfg.closeTimeout)
	defer t.Stop()
	if p.bytes != nil {
		p.interrupt() // who waits in Read does not wait for what was written
		if !p.closeStream(t.C) {
			p.setReason(net.ErrClosed)
			p.kill(errCloseTimeout)
			return errCloseTimeout
		}
	}
	p.setReason(net.ErrClosed)
	p.qp.Close()
	p.wake()
	p.transmit()
	p.interrupt()
	select {
	case <-p.life.finished:
		return flush(p.stream, time.Until(begin.Add(p.cfg.closeTimeout)))
	case <-t.C:
		p.kill(errCloseTimeout)
		return errCloseTimeout
	}
}

// flush waits until what was written has left the process: then it goes out even if the process ends.
// That it cannot go out is no error, as it is none of TCP's Close.
func flush(s toe.Stream, timeout time.Duration) error {
	if errors.Is(s.Flush(timeout), os.ErrDeadlineExceeded) {
		return errCloseTimeout
	}
	return nil
}

// shut closes the stream and gives everything back. It is called once, by the way that ends last.
func (p *pump) shut() {
	p.role.sentinel.Stop()
	p.idle.stop()
	p.stream.Close()
	p.rx.loan.end()
	p.freed.broadcast()
	p.qp.Abort(p.why()) // has nothing left to flush, unless the end was not an orderly one
	if p.in != nil {
		p.in.shut()
	}
	p.traceTerminate()
	p.cfg.trace.debug("closed")
	p.cfg.taps.closed()
	p.retire()
}

// wake lets receive see that the connection has ended, or that a buffer was posted.
func (p *pump) wake() {
	signalOne(p.posted)
	p.freed.broadcast()
}

// setReason notes why the connection ends. See life.end.
func (p *pump) setReason(err error) {
	if p.life.end(err) {
		p.penalize(err)
		p.traceEnd(err)
	}
}

// why returns the reason that was noted, and nil while there is none.
func (p *pump) why() error { return p.life.why() }
