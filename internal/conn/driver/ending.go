package driver

import (
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
)

// fail ends the connection because a layer found a fault in the stream. The peer gets a Terminate
// if the RFC allows one.
func (d *Driver) fail(err error) {
	if d.tx.fenced.Load() {
		// No FPDU has been validated, so not even a Terminate may go out (RFC 5044 §7.1.2).
		d.end.setReason(err)
		d.qp.Abort(err)
	} else {
		d.qp.Fail(err)
		d.end.setReason(cmp.Or(d.qp.Err(), err)) // the Terminate, with err in it
		d.end.traceTerminate()
	}
	d.transmit()
}

// lost ends the way out, because TCP takes no more data. The driver still reads what the peer may
// have sent before, such as the Terminate that says why.
func (d *Driver) lost(err error) {
	d.end.setReason(err)
	d.setReadUntil(time.Now().Add(d.end.timeout))
	d.end.life.lose()
	d.role.callHome() // otherwise no goroutine would notice that the deadline passes
	d.wakeReceiver()
}

// Fail ends the connection because a protocol above the driver has found a fault in what the peer
// sent. The peer gets a Terminate. Any goroutine may call Fail.
func (d *Driver) Fail(err error) { d.fail(err) }

// peerEnded ends the way in of a connection that was in use.
func (d *Driver) peerEnded(err error) {
	if errors.Is(err, io.EOF) {
		end := d.rx.mpa.EOF()
		e := (*mpa.Error)(nil)
		graceful := errors.As(end, &e) && e.Graceful
		switch {
		case graceful && d.rx.ddp.Unfinished():
			err = errCut
		case graceful:
			d.end.setReason(io.EOF)
			d.qp.PeerClosed(end)
			return
		default:
			err = end
		}
	}
	d.Kill(err)
}

// Kill ends both ways at once. It closes the stream, and the holder of the transmit token
// flushes all Work Requests, so no goroutine is writing from their memory then.
func (d *Driver) Kill(err error) {
	d.end.setReason(err)
	d.end.life.kill()
	d.closeStream()
	d.wakeReceiver()
	d.transmit()
}

// Reset is Kill, and discards what is unread.
func (d *Driver) Reset(err error) {
	if d.in != nil {
		d.in.close()
	}
	d.Kill(err)
}

// sendReset is Kill with a reset. The reset tells the peer that bytes are lost, because the program
// has not read them, or because they were still queued.
func (d *Driver) sendReset(err error) {
	d.abortStream()
	d.Kill(err)
}

// endIn begins the end of the way in, once the intake is over. It reports whether the home
// goroutine lingers before it calls deafen.
func (d *Driver) endIn() (lingers bool) {
	d.freed.Broadcast()
	lingers = d.end.closing()
	switch err := d.rx.err; {
	case !lingers:
		d.peerEnded(err)
	case errors.Is(err, io.EOF) && !d.tx.fenced.Load():
		d.qp.PeerClosed(nil) // no answer of the peer will arrive any more
	case err != nil: // nothing goes out any more: TCP has failed, or the fence will never open
		d.Kill(d.end.life.why())
	}
	if !d.end.silent.IsSet() { // awaitClose may have set it
		d.silence()
	}
	return lingers
}

// silence notes that nothing more will arrive.
func (d *Driver) silence() {
	d.end.silent.Set()
	d.wakeRead()
}

// wakeRead makes the Read that waits look again.
func (d *Driver) wakeRead() {
	if d.in != nil {
		d.in.ready.Wake()
	}
}

// deafen ends the way in. Nothing more will be read.
func (d *Driver) deafen() {
	d.end.protect(func() { d.rx.captureArrived(true) })
	d.rx.drop()
	if d.tx.fenced.Load() { // the fence will never open
		d.Kill(d.end.life.why())
	}
	last := d.end.life.deafen()
	d.transmit()
	if last {
		d.shut()
	}
}

// awaitClose reads and drops what the peer sends after the error for which a Terminate waits. It
// returns when the stream ends, or at the deadline that the close of the connection sets. Read
// returns the error to the program.
func (d *Driver) awaitClose() {
	d.silence()
	d.freed.Broadcast()
	d.rx.discard(&d.bound)
}

// linger waits before the end of the way in of a connection that is closing or has failed. Within
// the close timeout, the queued output may still go out and the peer's FIN may still arrive.
func (d *Driver) linger() {
	until := time.Now().Add(d.end.timeout)
	if d.rx.err == nil {
		d.setReadUntil(until)
		d.rx.discard(&d.bound)
	}
	d.transmit()
	t := time.NewTimer(time.Until(until))
	defer t.Stop()
	select {
	case <-d.end.life.finished.Done():
	case <-t.C:
		d.Kill(d.end.life.why())
	}
}

// Close ends the connection in an orderly way: the queued output goes out, then the FIN. Close
// returns when that is done or has failed. After the close timeout it resets the connection and
// returns an error. If the program has not read all that the peer has sent, Close resets the
// connection at once.
func (d *Driver) Close() error {
	begin := time.Now()
	if d.beginClose() {
		return nil
	}
	t := time.NewTimer(d.end.timeout)
	defer t.Stop()
	if d.awaitPosted(t.C) {
		d.closeQueues()
		select {
		case <-d.end.life.finished.Done():
			return Flush(d.tx.stream, time.Until(begin.Add(d.end.timeout)))
		case <-t.C:
		}
	}
	d.end.setReason(net.ErrClosed) // for the program's other calls
	d.sendReset(errCloseTimeout)
	return errCloseTimeout
}

// beginClose begins Close. If data of the peer is lost by it, the connection is reset, and over.
func (d *Driver) beginClose() (over bool) {
	if d.in != nil && d.in.close() && !d.in.words {
		d.sendReset(net.ErrClosed)
		return true
	}
	if d.bytes != nil {
		d.Interrupt() // a waiting Read returns now, not after the queued output
		d.CloseWrite(net.ErrClosed)
	}
	return false
}

// awaitPosted waits until isPosted of the streamWriter returns true. It reports false if that takes
// too long.
func (d *Driver) awaitPosted(tooLong <-chan time.Time) bool {
	for {
		looked := d.freed.Wait() // not room, which is for the Write that may be under way
		if d.writer.isPosted() {
			return true
		}
		select {
		case <-looked:
		case <-d.end.life.ending.Done():
		case <-tooLong:
			return false
		}
	}
}

// AwaitEnd waits until nothing more will arrive, and returns why, as a Read of a connection in
// message mode does. The application posts the receive buffers. What has arrived before is in its
// completion queue.
func (d *Driver) AwaitEnd(limit *wait.Deadline) error {
	d.FlushPostponed()
	if !d.end.endsReads() {
		select {
		case <-d.end.silent.Done():
		case <-d.end.closed.Done():
		case <-limit.Done():
			return os.ErrDeadlineExceeded
		}
	}
	if d.end.closed.IsSet() {
		return net.ErrClosed
	}
	return d.end.readError(false)
}

// closeQueues lets the connection end once the queued output has gone out.
func (d *Driver) closeQueues() {
	d.end.setReason(net.ErrClosed)
	d.qp.Close()
	d.wakeReceiver()
	d.transmit()
	d.Interrupt()
}

// Flush waits until the written bytes have left the process, so that they go out even if the
// process ends. If they cannot go out, Flush returns no error, and neither does TCP's Close. The
// only error is that of the timeout.
func Flush(s toe.Stream, timeout time.Duration) error {
	if errors.Is(s.Flush(timeout), os.ErrDeadlineExceeded) {
		return errCloseTimeout
	}
	return nil
}

// shut closes the stream and returns all borrowed memory. It is called once, by the way that
// ends last.
func (d *Driver) shut() {
	d.role.end()
	d.idle.stop()
	d.closeStream()
	d.freed.Broadcast()
	d.qp.Abort(d.end.life.why()) // flushes nothing after an orderly end
	d.later.takeDown(d)
	if d.in != nil {
		d.in.end()
	}
	if d.bytes != nil {
		d.bytes.giveBack()
	}
	d.end.traceTerminate()
	d.end.trace.Debug("closed")
	d.end.protect(d.rx.taps.Closed)
	d.count.Retire(d.end.hasFailed())
	d.background.End()
}

// wakeReceiver makes Receive look whether the connection has ended, or whether the inbox has room.
func (d *Driver) wakeReceiver() {
	d.recheck.Wake()
	d.freed.Broadcast()
}

// TraceTerminate writes the Terminate that ended the stream to the trace, if there was one. Only
// the first call writes it.
func (d *Driver) TraceTerminate() { d.end.traceTerminate() }

// Interrupt makes the Read that waits look again, because something has happened that does not come
// with the stream. A Read that receives returns from the stream.
func (d *Driver) Interrupt() {
	if d.role.isReaders() {
		d.interruptReader()
	}
	d.wakeRead()
}

// interruptReader interrupts the Read that has the role. A timer may be the caller.
func (d *Driver) interruptReader() {
	defer func() {
		if value := recover(); value != nil {
			d.Kill(d.end.panicked(value)) // otherwise the Read would wait on
		}
	}()
	d.bound.interrupt()
}

// setReadUntil bounds how long Receive goes on.
func (d *Driver) setReadUntil(t time.Time) {
	bounded := false
	d.end.protect(func() { bounded = d.bound.set(t) }) // the end must go on
	if !bounded {
		time.AfterFunc(time.Until(t), func() { d.Kill(errCloseTimeout) })
	}
}

// lookIdle runs when the timer of idle fires.
func (d *Driver) lookIdle() {
	if d.idle.look(d.count.Load(counters.Received+counters.Octets) + d.tx.taken.Load()) {
		d.count.Add(counters.IdleTimeouts, 1)
		d.Kill(ErrIdleTimeout)
	}
}

// closeStream closes the stream, and abortStream resets the connection. Even if the program's
// Stream panics, the rest of the end must be carried out.
func (d *Driver) closeStream() { d.end.protect(func() { d.tx.stream.Close() }) }

func (d *Driver) abortStream() { d.end.protect(func() { d.tx.stream.Abort() }) }

// CloseWrite ends the stream after the data that has been written. The Write under way, and later
// Writes, return err.
func (d *Driver) CloseWrite(err error) {
	d.bytes.finish(err)
	d.transmit()
}

// discardSize is the size in bytes of the memory that a connection holds while it waits for the
// peer's FIN.
const discardSize = 16 << 10

// discard reads and drops everything up to the peer's FIN. If the driver closed the stream with
// unread bytes, TCP would send a reset, which can destroy our last FPDUs on their way.
func (r *streamReceiver) discard(bound *readBound) {
	c := bufpool.GetChunk(discardSize)
	defer c.Put()
	for {
		if _, _, err := r.stream.ReadSegment(discarded(c.B), 0); err != nil && !bound.resume() {
			return
		}
	}
}

// A discarded is memory for bytes that the driver drops. The connection holds it while the stream
// waits, too.
type discarded []byte

func (d discarded) Lend() []byte { return d }

func (d discarded) TakeBack() bool { return true }
