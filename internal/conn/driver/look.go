package driver

import (
	"io"
	"net"
	"os"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
)

// This file has Look, which shows what a Read would return without reading it.

// A Show gets what a Read would return now: bytes, or else the end. If it gets neither, a Read
// would wait. It returns how many of the bytes it has used, and whether it has seen enough. If not,
// Look calls it again when there is more.
type Show = func(data []byte, end error) (used int, enough bool)

// Look calls show with at most len(p) bytes that a Read would return, in p, until show has seen
// enough. The bytes that show has used count as read. No Read begins during a Look. The error is
// that of the deadline, or net.ErrClosed.
//
// If the application posts the receive buffers, there is nothing to show but the end.
func (d *Driver) Look(p []byte, limit *wait.Deadline, show Show) error {
	if limit.HasPassed() {
		return os.ErrDeadlineExceeded
	}
	if d.in == nil {
		return d.lookAtEnd(limit, show)
	}
	for !d.in.beginLook() {
		if err := d.in.awaitTurn(limit); err != nil {
			return err
		}
	}
	defer d.in.nextTurn()
	defer d.in.leave()
	d.FlushPostponed()
	d.askHome(limit)
	for seen := -1; ; {
		if d.end.closed.IsSet() {
			return net.ErrClosed
		}
		silent := d.end.silent.IsSet() // before the look into the inbox: see beginRead
		n, all, ended := d.in.show(p)
		var end error
		switch {
		case ended:
			end = io.EOF
		case silent && all && n == 0:
			end = d.end.readError(d.bytes != nil)
		}
		if n > seen || end != nil {
			used, enough := show(p[:n], end)
			d.use(p[:used])
			if enough {
				return nil
			}
			if seen = n; used > 0 {
				seen = max(n-used-1, 0) // show has not seen what is left at the beginning
				continue
			}
		}
		if err := d.awaitMore(limit, end != nil); err != nil {
			return err
		}
	}
}

// lookAtEnd is Look for a connection whose application posts the receive buffers.
func (d *Driver) lookAtEnd(limit *wait.Deadline, show Show) error {
	var end error
	if d.end.silent.IsSet() {
		end = d.end.readError(false)
	}
	for {
		if d.end.closed.IsSet() {
			return net.ErrClosed
		}
		if _, enough := show(nil, end); enough {
			return nil
		}
		if end != nil {
			return d.awaitMore(limit, true)
		}
		if end = d.AwaitEnd(limit); end == os.ErrDeadlineExceeded { //nolint:errorlint // as AwaitEnd returns it
			return end
		}
	}
}

// use takes bytes that a Look has shown. The Look is still there.
func (d *Driver) use(p []byte) {
	if len(p) == 0 {
		return
	}
	t := d.in.use(p)
	d.count.Add(counters.Copied, uint64(t.n))
	d.roomFor(t.freed, t.back)
}

// askHome makes the home goroutine take what the stream has, and waits until it has done so. It
// does nothing if the inbox has something already, or if the home goroutine cannot be made to
// return from the stream.
func (d *Driver) askHome(limit *wait.Deadline) {
	r := &d.role
	if !r.lends || d.in.has() {
		return
	}
	r.waiting.Add(1) // so that a Read that leaves the role wakes this call
	defer r.waiting.Add(-1)
	a := &asking{answered: make(chan struct{})}
	d.asking.Store(a)
	defer d.asking.Store(nil)
	for !wait.IsClosed(a.answered) && !d.in.has() && !d.end.endsReads() {
		if r.callHome(); !r.isVacant() {
			d.bound.nudge()
		}
		select {
		case <-a.answered:
		case <-d.in.ready.C():
		case <-d.end.silent.Done():
		case <-d.end.closed.Done():
		case <-limit.Done():
			return
		}
	}
}

// awaitMore waits until the inbox may have more for a Look. After the end, only the deadline and
// Close end the wait.
func (d *Driver) awaitMore(limit *wait.Deadline, ended bool) error {
	var ready <-chan struct{}
	var silent <-chan struct{}
	if !ended {
		ready, silent = d.in.ready.C(), d.end.silent.Done()
		d.role.callHome()
	}
	select {
	case <-ready:
	case <-silent:
	case <-d.end.closed.Done():
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// beginLook makes the Look the waiting Read, without memory that a message may go to. It reports
// false if another Read or Look waits.
func (in *lockedDelivery) beginLook() bool {
	in.mu.Lock()
	defer in.unlock()
	if in.delivery.reader.isThere() {
		in.queued.Store(true)
		return false
	}
	in.delivery.reader.become(readerWaiting)
	return true
}

// show copies to p what a Read of p would get now. all says that nothing else is unread, and ended
// that nothing follows.
func (in *lockedDelivery) show(p []byte) (n int, all, ended bool) {
	in.mu.Lock()
	defer in.mu.Unlock()
	n, all, ended = in.delivery.unread.Show(p)
	return n, all, ended && len(in.delivery.rest) == 0
}

// use takes len(p) bytes that a Look has shown, or fewer if Close has discarded them. They go to p.
func (in *lockedDelivery) use(p []byte) taking {
	in.mu.Lock()
	defer in.unlock()
	if in.delivery.unread.Len() == 0 {
		return taking{}
	}
	t := in.delivery.take(p, nil)
	in.noteWindow()
	return t
}
