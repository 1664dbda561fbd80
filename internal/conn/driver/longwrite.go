package driver

import (
	"os"
	"time"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/locks"
)

// This file has Writes on a byte stream that do more than copy a few bytes: they wait for room, for
// their turn or for TCP, or leave the bytes in the caller's memory.

// isQuick reports whether a Write that is not short belongs to a burst.
func (w *streamWriter) isQuick() bool {
	s, gap := w.bytes, w.gap()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.burst.IsQuick(gap, s.heard.Swap(false))
}

// writeOwn writes p from the caller's memory.
func (w *streamWriter) writeOwn(p []byte, over <-chan struct{}) (n int, err error) {
	if err := w.begin(over); err != nil {
		return 0, err
	}
	defer w.finish()
	fixed := w.crossover
	switch {
	case fixed < 0, len(p) < fixed, fixed == 0 && len(p) < bytestream.MinOffer, !w.mayOffer():
		return w.writeLong(p, 0, over)
	case fixed > 0:
		return w.writeLong(p, fixed, over)
	}
	crossover, offered := 0, w.choice.Next()
	if offered {
		crossover = bytestream.MinOffer
	}
	begin := time.Now()
	n, err = w.writeLong(p, crossover, over)
	if err == nil {
		w.choice.Took(offered, time.Since(begin), n)
	}
	return n, err
}

// begin waits until no other Write is under way. The caller's Write is then under way, until
// finish.
func (w *streamWriter) begin(over <-chan struct{}) error {
	s := w.bytes
	for {
		s.mu.Lock()
		busy := s.writing
		s.writing = true
		s.mu.Unlock()
		if !busy {
			locks.Acquired[locks.Writer]()
			return nil
		}
		if err := w.awaitTurn(over); err != nil {
			return err
		}
	}
}

// finish ends the Write that is under way, and wakes one that waits for its turn.
func (w *streamWriter) finish() {
	locks.Released[locks.Writer]()
	w.bytes.mu.Lock()
	w.bytes.writing, w.bytes.appending = false, false
	w.bytes.mu.Unlock()
	w.turn.Wake()
}

func (w *streamWriter) awaitTurn(over <-chan struct{}) error {
	select {
	case <-w.turn.C():
		return nil
	case <-over:
		return os.ErrDeadlineExceeded
	}
}

// mayOffer reports whether the byte stream still makes offers.
func (w *streamWriter) mayOffer() bool {
	w.bytes.mu.Lock()
	defer w.bytes.mu.Unlock()
	return w.bytes.tx.MayOffer()
}

// appendInTurn waits until no other Write is under way, and then is append.
func (w *streamWriter) appendInTurn(p []byte, gap time.Duration, over <-chan struct{}) (n int, err error) {
	defer w.turn.Wake() // a third Write may wait behind this one
	for busy := true; busy; {
		if err := w.awaitTurn(over); err != nil {
			return 0, err
		}
		n, busy, err = w.append(p, gap, false)
	}
	return n, err
}

// appendRest writes the rest of a short Write that is under way. n bytes of it have been copied.
func (w *streamWriter) appendRest(p []byte, n int, over <-chan struct{}) (int, error) {
	locks.Acquired[locks.Writer]()
	defer w.finish()
	for n < len(p) {
		if err := w.await(over, true, false); err != nil {
			return n, err
		}
		k, _, err := w.append(p[n:], 0, true)
		n += k
		if err != nil {
			return n, err
		}
	}
	return n, nil
}

// writeLong sends p from the caller's memory, after the pending data. If crossover is not 0, p goes
// by rendezvous as far as the reader accepts that, and the rest as data.
func (w *streamWriter) writeLong(p []byte, crossover int, over <-chan struct{}) (n int, err error) {
	if err := w.beginLong(p, crossover); err != nil {
		return 0, err
	}
	for waited := false; ; waited = true {
		w.out.transmit()
		ended, asks, owns, n, err := w.look(waited)
		if ended {
			if err != nil {
				w.out.transmit() // the end of the stream may have waited for this
			}
			return n, err
		}
		if err := w.await(over, asks, owns); err != nil {
			n := w.takeBack()
			w.out.transmit() // the end of the stream may have waited for this
			if n == len(p) {
				return n, nil // TCP, too, would have taken it by now
			}
			return n, err
		}
	}
}

// beginLong begins a long Write.
func (w *streamWriter) beginLong(p []byte, crossover int) error {
	s := w.bytes
	s.mu.Lock()
	defer s.unlock()
	last, err := w.beginLocked()
	if err != nil {
		return err
	}
	if last { // the peer would not answer an offer
		crossover = 0
	}
	s.sent = false
	s.tx.Post(p, crossover)
	return nil
}

// look looks whether the long Write can end, and ends it in that case. n is then the number of its
// bytes that go out. Otherwise asks says whether the Write needs the peer to go on, and not only
// TCP, and owns says whether requests refer to its memory. A Write that has waited fails if the
// stream has ended meanwhile, unless all of it went out before: the peer may have closed because it
// has read all. See also goOnLocked.
func (w *streamWriter) look(waited bool) (ended, asks, owns bool, n int, err error) {
	s := w.bytes
	s.mu.Lock()
	defer s.unlock()
	ended, owns = s.tx.Write()
	if !ended || waited && !s.sent {
		if err = w.goOnLocked(ended || owns); err != nil {
			s.tx.GiveUp()
			ended, owns = s.tx.Write()
		}
	}
	if ended {
		n = s.tx.End()
	}
	return ended, s.tx.AsksPeer(), owns, n, err
}

// await waits until something has changed for the Write under way. asks says that the Write needs
// the peer to go on: then a goroutine must have the receive role. For a Write that waits only for
// TCP, no goroutine need receive. When the connection ends, await returns at once. But if owns says
// that requests refer to the Write's memory, these are flushed first.
func (w *streamWriter) await(over <-chan struct{}, asks, owns bool) error {
	var ended <-chan struct{}
	if !owns {
		ended = w.end.life.ending.Done()
	}
	if asks {
		w.role.setWriting(true)
		defer w.role.setWriting(false)
	}
	select {
	case <-w.bytes.room.C():
	case <-w.bytes.cq.Ready():
		w.bytes.reap()
	case <-w.bytes.first.Ready():
		w.bytes.reap()
	case <-ended:
	case <-over:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// takeBack ends a long Write whose deadline has passed: its memory is the caller's again. The
// message that has begun to go out, and all messages before it, go out from a copy. takeBack
// returns the number of their bytes.
func (w *streamWriter) takeBack() (n int) {
	s := w.bytes
	s.mu.Lock()
	s.tx.GiveUp()
	firstID := s.firstID
	for id := range s.tx.Posts() {
		cq := &s.cq
		if id == firstID {
			cq = &s.first
		}
		if !w.tx.qp.Cancel(cq, id) {
			break // the requests before it have been given out as well
		}
	}
	s.reapLocked()
	_, owns := s.tx.Write()
	s.unlock()
	if owns {
		w.out.detach(nil, 0) // no message of the stream is too long for it
	}
	s.mu.Lock()
	defer s.unlock()
	s.tx.Detached()
	return s.tx.End()
}

// isPosted reports whether Close may go on to closeQueues: everything that was written to the byte
// stream is posted, and the end after it, or it never will be. In message mode nothing waits.
func (w *streamWriter) isPosted() bool {
	return w.bytes == nil || w.end.life.state() != lifeOpen || w.bytes.isFinished()
}

// goOnLocked returns why the Write under way fails, or nil if it goes on. The last Write goes on as
// long as it moves. It cannot wait for anything but TCP, because nothing more comes from the peer.
//
// +checklocks:w.bytes.mu
func (w *streamWriter) goOnLocked(moves bool) error {
	s := w.bytes
	err := w.errLocked()
	if err != nil && moves && s.last == lastBegun && s.writeErr == nil && w.end.peerLeft() {
		return nil
	}
	return err
}
