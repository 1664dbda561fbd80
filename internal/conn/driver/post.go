package driver

import (
	"errors"
	"time"

	"github.com/rddp/rddp/rdmap"
)

// Post adds wr to the send queue. It sends what is queued, now or later.
func (d *Driver) Post(wr *rdmap.WorkRequest) error {
	err := d.qp.PostSend(wr)
	if (isFull(err) || errors.Is(err, rdmap.ErrCompletionQueueFull)) && d.later.waits() { // full of what Post itself has put off
		d.Flush()
		err = d.qp.PostSend(wr)
	}
	if err != nil {
		return asWriteError(d.end.postError(err))
	}
	d.sendLater(wr)
	return nil
}

// Queue adds wr to the send queue. Flush sends it.
func (d *Driver) Queue(wr *rdmap.WorkRequest) error {
	return asWriteError(d.end.postError(d.qp.PostSend(wr)))
}

// PostBatch posts wrs in order, and then sends them all. It stops at the first Work Request for
// which mayPost returns an error, or that the queue pair does not accept. It returns the number of
// accepted ones, and that error.
func (d *Driver) PostBatch(wrs []rdmap.WorkRequest, mayPost func(*rdmap.WorkRequest) error) (int, error) {
	defer d.Flush()
	for i := range wrs {
		d.posts(&wrs[i])
		err := mayPost(&wrs[i])
		if err == nil {
			err = asWriteError(d.end.postError(d.qp.PostSend(&wrs[i])))
		}
		if err != nil {
			return i, err
		}
	}
	return len(wrs), nil
}

// posts makes a goroutine receive the answer to wr, if it has one.
func (d *Driver) posts(wr *rdmap.WorkRequest) {
	if !asksPeer(wr.Op) {
		return
	}
	d.role.awaitAnswer()
	if q := d.later.sendBell.queue; q != nil && wr.CQ == nil {
		q.asks(d)
		if d.end.life.state() == lifeClosed { // either shut sees the note, or this call the end
			q.forget(d)
		}
	}
}

// sendLater sends wr, which has been posted, now or later.
func (d *Driver) sendLater(wr *rdmap.WorkRequest) {
	p := &d.later
	d.posts(wr)
	if wr.CQ != nil || !p.add(payloadLen(wr), false) {
		p.none()
		d.transmit()
		p.resume()
		return
	}
	p.sendBell.hang()
	p.recvBell.hang()
	if d.end.life.state() == lifeClosed { // either shut finds the doorbells, or this call sees the end
		p.takeDown(d)
	}
	p.setTimer(flushAfter)
}

// FlushLater is Flush after the caller has queued a message with n bytes of payload. If the message
// belongs to a burst, it waits, as with Post, until the caller or the timer calls Flush. The caller
// must call Flush when no further message can follow. answers says that data has come from the peer
// since the last message.
func (d *Driver) FlushLater(n int, answers bool) {
	if !d.later.add(n, answers) {
		d.Flush()
		return
	}
	d.later.setTimer(flushAfter)
}

// FlushPostponed is Flush if something has been put off.
func (d *Driver) FlushPostponed() {
	if d.later.waits() {
		d.Flush()
	}
}

// Flush sends the Work Requests that Post or FlushLater has put off. It never waits.
func (d *Driver) Flush() {
	d.later.none()
	d.transmit()
	d.later.resume()
}

// flushIfIdle runs when the timer of postponed fires.
func (d *Driver) flushIfIdle() {
	p := &d.later
	p.timed.Store(false) // from here on, the next Work Request that waits sets the timer
	switch pause := time.Duration(p.now() - p.last.Load()); {
	case !d.tx.wanted():
	case pause < flushAfter: // the program has posted something meanwhile
		p.setTimer(flushAfter - pause)
	default:
		d.Flush()
	}
}

// payloadLen returns the number of bytes of payload that wr sends.
func payloadLen(wr *rdmap.WorkRequest) (n int) {
	if wr.Op == rdmap.WorkRead {
		return 0
	}
	n = len(wr.Data)
	for _, b := range wr.Gather {
		n += len(b)
	}
	return n
}
