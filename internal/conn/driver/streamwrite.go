package driver

import (
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
)

// A streamWriter runs Write on a byte stream: it chooses how the bytes go, and waits. The
// goroutines of Writes call its methods. The Write under way (byteStream.writing) owns choice, and
// any Write may use the rest.
type streamWriter struct {
	out       transmitter
	bytes     *byteStream
	tx        *streamSender
	role      *role
	end       *ending
	crossover int // Config.Crossover

	turn   wait.Cell         // a Write has ended, so the next one may begin
	wrote  atomic.Int64      // when the last Write that a burst may include ended, as sinceStart in ns
	choice bytestream.Choice // the long Write under way owns it
}

// A transmitter sends what has been posted. It is the Driver.
type transmitter interface {
	transmit()
	transmitHeld()
	detach(data []byte, id uint64) bool
}

func (w *streamWriter) init(crossover int, out transmitter, bytes *byteStream, tx *streamSender, role *role) {
	w.out, w.bytes, w.tx, w.role, w.end = out, bytes, tx, role, tx.end
	w.crossover = crossover
	w.wrote.Store(int64(sinceStart()))
}

// write is Driver.Write in stream mode.
func (w *streamWriter) write(p []byte, limit *wait.Deadline) (n int, err error) {
	switch {
	case limit.HasPassed():
		return 0, os.ErrDeadlineExceeded
	case len(p) < bytestream.Combine, len(p) <= bytestream.CombineInBurst && w.isQuick():
		return w.writeShort(p, limit)
	}
	n, err = w.writeOwn(p, limit.Done())
	if err == nil && len(p) <= bytestream.CombineInBurst {
		w.wrote.Store(int64(sinceStart()))
	}
	return n, err
}

// isQuick reports whether a Write that is not short belongs to a burst.
func (w *streamWriter) isQuick() bool {
	s, gap := w.bytes, w.gap()
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.burst.IsQuick(gap, s.heard.Swap(false))
}

// gap returns the time since the end of the last Write that a burst may include.
func (w *streamWriter) gap() time.Duration {
	return sinceStart() - time.Duration(w.wrote.Load())
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

// writeShort copies p to the data that is pending. If there is no room for all of p, the Write is
// under way from then on, as a long one is, and waits. p is short, or belongs to a burst.
func (w *streamWriter) writeShort(p []byte, limit *wait.Deadline) (int, error) {
	gap := time.Duration(math.MaxInt64)
	answers := w.bytes.heard.Load() // then p is in no burst, and the time does not matter
	if !answers {
		gap = w.gap()
	}
	n, busy, err := w.append(p, gap, false)
	if busy { // another Write is under way
		n, err = w.appendInTurn(p, gap, limit.Done())
	}
	if err == nil && n < len(p) {
		n, err = w.appendRest(p, n, limit.Done())
	}
	if err == nil && !answers {
		w.wrote.Store(int64(sinceStart()))
	}
	return n, err
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

// append copies as much of p to the pending data as there is room for, and sends the data. gap is
// the time since the last Write. It counts for a short Write only; for others isQuick has noted it.
// If append does not copy all of p, the Write is under way afterwards. If another Write is under
// way, append does nothing and busy is true. underWay says that this Write is under way already.
func (w *streamWriter) append(p []byte, gap time.Duration, underWay bool) (n int, busy bool, err error) {
	s := w.bytes
	held := w.tx.tryToken() // then the message is posted under the same lock
	s.mu.Lock()
	quick := s.burst.IsOn()
	if !underWay && len(p) < bytestream.Combine {
		quick = s.burst.IsQuick(gap, s.heard.Swap(false))
	}
	busy = s.writing && !underWay
	if !busy {
		if underWay {
			err = w.goOnLocked(true)
		} else {
			_, err = w.beginLocked()
		}
		if err == nil {
			if n = s.tx.Append(p, s.aheadLocked(quick)); n == 0 && underWay {
				err = w.goOnLocked(false)
			}
			s.writing, s.appending = underWay || n < len(p), n < len(p)
		}
	}
	if held && !quick {
		w.tx.postLocked(s)
	}
	s.unlock()
	switch {
	case held && quick && w.tx.wanted():
		w.tx.passOn()
	case held:
		w.out.transmitHeld()
	case quick:
		w.tx.transmitAside()
	default:
		w.out.transmit()
	}
	return n, busy, err
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

// beginLocked returns why no Write may begin, or nil if one may. last says that it is the last
// Write; the peer throws its bytes away.
//
// +checklocks:w.bytes.mu
func (w *streamWriter) beginLocked() (last bool, err error) {
	s := w.bytes
	if err = w.errLocked(); err == nil {
		return false, nil
	}
	if s.last == lastAhead && s.writeErr == nil && w.end.peerLeft() {
		s.setLastLocked(lastBegun)
		return true, nil
	}
	s.setLastLocked(lastOver)
	return false, err
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

// errLocked returns why the stream takes no more data, or nil if it does.
//
// +checklocks:w.bytes.mu
func (w *streamWriter) errLocked() error {
	if w.bytes.writeErr != nil {
		return w.bytes.writeErr
	}
	if w.end.life.state() != lifeOpen {
		return asWriteError(w.end.life.why())
	}
	return nil
}
