package driver

import (
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/extsock/internal/wait"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// How a driver ends. Each direction comes to its end by itself, and the last of the two closes the
// stream:
//
//	down  fin, called with the token: the FIN has followed the last FPDU
//	up    receive returns: the peer's FIN, an error, or the deadline that fin has set
//
// What sets it off is close (the application), fail (a fault in the stream), ended (the peer or the
// network), or lost (TCP takes no more). kill is the impatient end of all of these.

// fin sends the FIN once the last FPDU of a connection that is closing has been written. The token
// is held.
func (d *Driver) fin() {
	if d.abortDue() {
		d.qp.Abort(d.why()) // nothing of a Work Request is being written now
	}
	if !d.finDue() {
		return
	}
	d.setReason(d.qp.Err()) // where the QP has ended the stream and its caller has not come to say so
	if d.life.maySend() {
		if d.stream.Capabilities().HalfClose {
			d.stream.CloseWrite()
		} else {
			d.stream.Close() // the peer's FIN would wait for ours
		}
	}
	// The peer's FIN ends receive, and this deadline where it does not come.
	d.setReadUntil(time.Now().Add(d.cfg.CloseTimeout))
	d.Interrupt() // who waits has been told by now
	if d.life.finish() {
		d.shut()
	}
}

// closing reports whether nothing new will be sent: the connection has been closed or has failed.
func (d *Driver) closing() bool {
	switch d.qp.State() {
	case rdmap.StateIdle, rdmap.StateRTS:
		return false
	}
	return true
}

// fail ends the connection because of what a layer found wrong in the stream; the peer gets a
// Terminate where the RFC allows one.
func (d *Driver) fail(err error) {
	d.setReason(err)
	if d.tx.fenced.Load() {
		// Not one FPDU has been validated, so not even a Terminate may go out (RFC 5044 §7.1.2).
		d.qp.Abort(err)
	} else {
		d.qp.Fail(err)
		d.TraceTerminate()
	}
	d.transmit()
}

// lost is the end of the way down: TCP takes no more. What the peer may have sent before, such as
// the Terminate that says why, is still read.
func (d *Driver) lost(err error) {
	d.setReason(err)
	d.setReadUntil(time.Now().Add(d.cfg.CloseTimeout))
	d.life.lose()
	d.wakeReceiver()
}

// peerEnded is the end of the way up, while the connection was in use.
func (d *Driver) peerEnded(err error) {
	if errors.Is(err, io.EOF) {
		end := d.rx.mpa.EOF()
		e := (*mpa.Error)(nil)
		graceful := errors.As(end, &e) && e.Graceful
		switch {
		case graceful && d.rx.ddp.Unfinished():
			err = errCut
		case graceful:
			d.setReason(io.EOF)
			d.qp.PeerClosed(end)
			return
		default:
			err = end
		}
	}
	d.Kill(err)
}

// Kill ends both ways at once: the stream is closed and, as soon as nobody is writing from them,
// all Work Requests are flushed.
func (d *Driver) Kill(err error) {
	d.setReason(err)
	d.life.kill()
	d.stream.Close()
	d.wakeReceiver()
	d.transmit()
}

// sendReset is kill, and the peer learns that octets it has sent are lost.
func (d *Driver) sendReset() {
	d.stream.Abort()
	d.Kill(net.ErrClosed)
}

// linger is the end of the way up of a connection that is closing or has failed: what is queued may still
// go out and the peer's FIN come, within the close timeout.
func (d *Driver) linger() {
	until := time.Now().Add(d.cfg.CloseTimeout)
	switch {
	case errors.Is(d.rx.err, io.EOF):
		d.qp.PeerClosed(nil) // what waits for the peer's answers waits in vain
	case d.rx.err == nil:
		d.setReadUntil(until)
		d.discard()
	}
	d.transmit()
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-d.life.finished:
	case <-t.C:
		d.Kill(d.why())
	}
}

// discardSize is what a connection holds, in octets, while it waits for the peer's FIN.
const discardSize = 16 << 10

// discard reads what still comes, up to the peer's FIN. Closing the stream with octets unread
// would make TCP send a reset, which can destroy our last FPDUs on their way.
func (d *Driver) discard() {
	c := bufpool.GetChunk(discardSize)
	defer c.Put()
	for {
		if _, _, err := d.stream.ReadSegment(discarded(c.B), 0); err != nil && !d.resume() {
			return
		}
	}
}

// discarded is memory for bytes that nobody looks at. It is held while the stream waits, too.
type discarded []byte

func (d discarded) Lend() []byte   { return d }
func (d discarded) TakeBack() bool { return true }

// Close is the orderly end: what is queued goes out, then the FIN. It returns when that is done or
// has failed, and after the close timeout with an error. Where the program has not read all of what the
// peer has sent there is no orderly end.
func (d *Driver) Close() error {
	begin := time.Now()
	if d.in != nil && d.in.close() {
		d.sendReset()
		return nil
	}
	t := time.NewTimer(d.cfg.CloseTimeout)
	defer t.Stop()
	if d.bytes != nil {
		d.Interrupt() // who waits in Read does not wait for what was written
		if !d.closeStream(t.C) {
			d.setReason(net.ErrClosed)
			d.Kill(errCloseTimeout)
			return errCloseTimeout
		}
	}
	d.setReason(net.ErrClosed)
	d.qp.Close()
	d.wakeReceiver()
	d.transmit()
	d.Interrupt()
	select {
	case <-d.life.finished:
		return Flush(d.stream, time.Until(begin.Add(d.cfg.CloseTimeout)))
	case <-t.C:
		d.Kill(errCloseTimeout)
		return errCloseTimeout
	}
}

// Flush waits until what was written has left the process: then it goes out even if the process ends.
// That it cannot go out is no error, as it is none of TCP's Close.
func Flush(s toe.Stream, timeout time.Duration) error {
	if errors.Is(s.Flush(timeout), os.ErrDeadlineExceeded) {
		return errCloseTimeout
	}
	return nil
}

// shut closes the stream and gives everything back. It is called once, by the way that ends last.
func (d *Driver) shut() {
	d.role.sentinel.Stop()
	d.idle.stop()
	d.stream.Close()
	d.rx.loan.end()
	d.freed.Broadcast()
	d.qp.Abort(d.why()) // has nothing left to flush, unless the end was not an orderly one
	if d.in != nil {
		d.in.giveBack()
	}
	d.TraceTerminate()
	d.cfg.Trace.Debug("closed")
	d.cfg.Taps.Closed()
	d.retire()
}

// wakeReceiver lets receive see that the connection has ended, or that there is room in the inbox.
func (d *Driver) wakeReceiver() {
	wait.Wake(d.recheck)
	d.freed.Broadcast()
}

// setReason notes why the connection ends. See life.end.
func (d *Driver) setReason(err error) {
	if d.life.end(err) {
		d.penalize(err)
		d.traceEnd(err)
	}
}

// why returns the reason that was noted, and nil while there is none.
func (d *Driver) why() error { return d.life.why() }
