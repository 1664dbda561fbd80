package driver

import (
	"io"
	"net"
	"os"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// Read is Conn.Read in DDP mode. limit is its deadline. A caller that moves limit must call
// Interrupt afterwards, and limit must call Interrupt when it passes (see wait.Deadline.Then).
func (d *Driver) Read(b []byte, limit *wait.Deadline) (int, error) {
	return d.ReadMessage(b, limit, nil)
}

// ReadMessage is Read. If note is not nil, and the Read begins a message in message mode, note
// becomes the Completion of that message.
func (d *Driver) ReadMessage(b []byte, limit *wait.Deadline, note *rdmap.Completion) (int, error) {
	if len(b) == 0 && d.bytes != nil {
		return 0, nil // as TCP's Read, whatever the deadline
	}
	if limit.HasPassed() {
		return 0, os.ErrDeadlineExceeded
	}
	for {
		n, again, err := d.readOnce(b, limit, note)
		if !again {
			return n, err
		}
	}
}

// readOnce looks into the inbox, and waits if it is empty. again says that Read must look again:
// another Read was under way, or a message came that did not go to b.
func (d *Driver) readOnce(b []byte, limit *wait.Deadline, note *rdmap.Completion) (n int, again bool, err error) {
	in := d.in
	found, t, err := d.beginRead(b, note)
	if found == behind {
		err := in.awaitTurn(limit)
		return 0, err == nil, err
	}
	defer in.nextTurn()
	if found != waits {
		return t.n, false, err
	}
	d.FlushPostponed()
	result, err := d.await(len(b), limit)
	return result.n, !result.ok && err == nil, err
}

// TakeMessage reads a message that has arrived already, even after Close. It reports false if there
// is none. No Read may be under way.
func (d *Driver) TakeMessage(b []byte) (n int, ok bool) {
	found, t := d.in.begin(b, nil)
	switch found {
	case waits: // a message may come before the Read leaves
		if r := d.in.leave(); r.ok {
			d.count.Add(counters.Direct, uint64(r.n))
			return r.n, true
		}
	case took:
		d.count.Add(counters.Copied, uint64(t.n))
		d.roomFor(t.freed, t.back)
	}
	return t.n, found == took
}

// beginRead gives a Read what the inbox holds. If found is waits, the Read waits from now on, until
// leave.
func (d *Driver) beginRead(b []byte, note *rdmap.Completion) (found outcome, t taking, err error) {
	// Look whether the way in has ended first, and into the inbox second: nothing comes after the
	// end.
	silent := d.end.silent.IsSet()
	found, t = d.in.begin(b, note)
	switch {
	case found == behind:
		return behind, t, nil
	case found == waits && !silent && !d.end.closed.IsSet():
		return waits, t, nil
	case found == waits:
		d.in.leave()
	case found == took:
		d.count.Add(counters.Copied, uint64(t.n))
		d.roomFor(t.freed, t.back)
	}
	switch {
	case d.end.closed.IsSet():
		return ended, t, net.ErrClosed
	case found == took:
		return took, t, nil
	case found == ended:
		return ended, t, io.EOF
	}
	return ended, t, d.end.readError(d.bytes != nil)
}

// await waits until the inbox has something, or the Read's memory. It also returns when the
// connection ends.
func (d *Driver) await(want int, limit *wait.Deadline) (result readResult, err error) {
	began := d.role.beginWait()
	for err == nil && !result.over && !d.in.has() && !d.end.endsReads() {
		var drove bool
		if drove, result = d.drive(want, limit); drove {
			continue
		}
		err = d.in.sleep(limit)
	}
	d.role.endWait(began)
	if !result.over {
		result = d.in.leave()
	}
	if result.ok {
		d.count.Add(counters.Direct, uint64(result.n))
		err = nil
	}
	return result, err
}

// roomFor notes that Read has freed buffers, as many as freed says, and that the peer of a byte
// stream gets back credits, as many as back says.
func (d *Driver) roomFor(freed, back int) {
	switch {
	case freed == 0:
	case d.bytes != nil:
		if d.bytes.freed(back, int(d.in.window.Load())) {
			d.transmit()
		}
	default:
		d.wakeReceiver()
	}
}

// CloseRead discards all data that arrives from now on.
func (d *Driver) CloseRead() {
	d.in.closeRead()
	d.Interrupt()
	d.wakeReceiver() // Receive can drop the data that waits for room
}
