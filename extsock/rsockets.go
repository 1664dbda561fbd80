package extsock

import (
	"encoding/binary"
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/bytestream/rsockets"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// An rsocket is the byte stream of a connection that speaks rsockets. Package rsockets has its
// rules. The driver is in message mode, and each message is a word.
//
// No goroutine works for an rsocket. A call that waits for the peer takes the right to receive,
// reads a word with the driver's Read, and acts on it for both directions. So words that no call
// waits for stay in the inbox of the driver.
type rsocket struct {
	inProcess                  // the driver is nil until begin
	order     binary.ByteOrder // of words and slots, in both directions
	peer      rsockets.Header

	// receiving holds a value unless a call receives. Close takes it for good.
	receiving chan struct{}
	word      [rsockets.WordLen]byte // of the call that receives
	received  atomic.Uint64          // how many calls have received, or given up

	arrived chan struct{} // capacity 1: a Read looks again
	room    chan struct{} // capacity 1: the Write under way looks again
	turn    chan struct{} // holds a value unless a Write is under way

	mu     locks.Mutex[locks.RSockets]
	rx     rsockets.Receiver // +checklocks:mu
	tx     rsockets.Sender   // +checklocks:mu
	ends   rsockets.Ends     // +checklocks:mu
	memory []byte            // +checklocks:mu
	halves [2]Region         // +checklocks:mu
	slots  Region            // +checklocks:mu
	// the memory of slots, and a spare of the same length
	descriptors, spare []byte // +checklocks:mu
	// the slot that the peer fills next
	slot int // +checklocks:mu
	// why no word comes any more, and why nothing goes out
	inErr, outErr error // +checklocks:mu
	// data has come since the last Write
	heard bool // +checklocks:mu
	// not nil once there has been a look: Reads take turns with looks
	looks chan struct{} // +checklocks:mu

	// what TCP has not taken: out[i%len(out)] for i from head to tail
	out        [maxOut]outgoing // +checklocks:mu
	head, tail uint64           // +checklocks:mu
	// bytes of data in out
	inFlight int                 // +checklocks:mu
	request  rdmap.WorkRequest   // +checklocks:mu
	done     [1]rdmap.Completion // +checklocks:mu
	cq       *rdmap.CompletionQueue

	// for nudge. The timer is nil in a Responder.
	nudger *time.Timer // +checklocks:mu
	nudges int         // +checklocks:mu
}

var emptySlot [rsockets.SlotLen]byte

const (
	// wordDepth is how many words the inbox has room for. Each takes 512 bytes there, and together
	// they are no more than a connection may hold in any case (driver's unreadAllowance): words
	// never wait for memory.
	wordDepth = 128
	// rsocketCredits is how many data messages the peer may send before this end has taken one. The
	// other places of the inbox are for words of other kinds.
	rsocketCredits = wordDepth - 16

	maxOut      = 32        // messages that TCP has not taken
	outControl  = 8         // places among them that data does not use
	outEnds     = 2         // places among these for words about the end only: Shutdown and Disconnect
	maxInFlight = 256 << 10 // bytes of data among them: the next message may go beyond it

	// An Initiator whose peer sends no data nudges it 50, 100, 200, 400 and 800 ms after startup.
	nudgeAfter = 50 * time.Millisecond
	maxNudges  = 5

	// A message is a Write and a Send.
	rsocketSendDepth = 2*maxOut + maxNudges
)

// readStream is Conn.Read.
func (s *rsocket) readStream(p []byte, limit *wait.Deadline) (int, error) {
	switch {
	case len(p) == 0:
		return 0, nil
	case limit.HasPassed():
		return 0, os.ErrDeadlineExceeded
	}
	var turn chan struct{} // of looks, if this Read has it
	defer func() {
		if turn != nil {
			<-turn
		}
	}()
	for {
		received := s.received.Load()
		n, more, looks, err := s.take(p, turn != nil)
		if looks != nil {
			looks <- struct{}{}
			turn = looks
			continue
		}
		if more {
			wait.Wake(s.arrived) // another Read may wait
		}
		if n > 0 || err != nil {
			return n, err
		}
		if err := s.await(s.arrived, nil, received, limit); err != nil {
			return 0, err
		}
	}
}

// take gives a Read the data that has come. more says that another Read has something to return
// too. If there has been a look, a Read takes its turn in looks first. err is for a Read that finds
// no data.
func (s *rsocket) take(p []byte, hasTurn bool) (n int, more bool, looks chan struct{}, err error) {
	s.mu.Lock()
	defer s.unlock()
	if s.c.isClosed() {
		return 0, true, nil, net.ErrClosed
	}
	if s.looks != nil && !hasTurn {
		return 0, false, s.looks, nil
	}
	for n < len(p) {
		off, m := s.rx.Unread()
		m = copy(p[n:], s.memory[off:off+m])
		if m == 0 {
			break
		}
		s.rx.Take(m)
		n += m
	}
	if n > 0 {
		s.tellLocked()
		_, left := s.rx.Unread()
		return n, left > 0 || s.endedLocked() != nil, nil, nil
	}
	err = s.endedLocked()
	return 0, err != nil, nil, err
}

// endedLocked returns why no data comes any more, or nil if it may.
//
// +checklocks:s.mu
func (s *rsocket) endedLocked() error {
	switch {
	case s.ends.Peer != rsockets.EndOpen:
		return io.EOF
	case s.inErr == io.EOF: //nolint:errorlint // as the driver returns it
		return io.ErrUnexpectedEOF
	}
	return s.inErr
}

// writeStream is Conn.Write.
func (s *rsocket) writeStream(p []byte, limit *wait.Deadline) (n int, err error) {
	if limit.HasPassed() {
		return 0, os.ErrDeadlineExceeded
	}
	select {
	case <-s.turn:
	default:
		select {
		case <-s.turn:
		case <-limit.Done():
			return 0, os.ErrDeadlineExceeded
		}
	}
	defer func() { s.turn <- struct{}{} }()
	for {
		received := s.received.Load()
		most, full, err := s.mayWrite(len(p) - n)
		if err != nil || n == len(p) {
			return n, err
		}
		if most == 0 {
			if err := s.await(s.room, full, received, limit); err != nil {
				return n, err
			}
			continue
		}
		c := bufpool.GetChunk(most)
		copy(c.B, p[n:])
		sent, err := s.send(c)
		if err != nil {
			return n, err
		}
		if sent {
			n += most
		}
		if n > 0 && n == len(p) { // an end that has come since is for the next Write
			return n, nil
		}
	}
}

// mayWrite returns how many of n bytes may go out now. If there are none because TCP has not taken
// earlier messages, full becomes ready when it has.
func (s *rsocket) mayWrite(n int) (most int, full <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.reapLocked()
	if err := s.writeErrLocked(); err != nil {
		return 0, nil, err
	}
	if n == 0 {
		return 0, nil, nil
	}
	if s.isFullLocked() {
		return 0, s.cq.Ready(), nil
	}
	return s.tx.Room(n), nil, nil
}

// isFullLocked reports whether data must wait until TCP has taken earlier messages.
//
// +checklocks:s.mu
func (s *rsocket) isFullLocked() bool {
	return s.tail-s.head >= maxOut-outControl || s.inFlight >= maxInFlight
}

// writeErrLocked returns why no data can be written any more, or nil if it can.
//
// +checklocks:s.mu
func (s *rsocket) writeErrLocked() error {
	switch {
	case s.c.isClosed():
		return net.ErrClosed
	case s.outErr != nil:
		return s.outErr
	case s.inErr == io.EOF: //nolint:errorlint // as the driver returns it
		return syscall.EPIPE
	case s.inErr != nil:
		return s.inErr
	case s.ends.Own != rsockets.EndOpen, s.ends.Peer == rsockets.EndGone:
		return syscall.EPIPE
	}
	return nil
}

// send sends a data message, for which the peer has room. It reports false if the caller must look
// again, because words for the peer have taken places since mayWrite. A short message in a burst of
// Writes waits for the next ones: one write to TCP then takes them all. It goes out before any call
// waits, at once with whatever else goes out, and otherwise after a moment.
func (s *rsocket) send(c *bufpool.Chunk) (sent bool, err error) {
	n := len(c.B)
	sent, answers, err := s.queueData(c)
	if sent && n < bytestream.Combine {
		s.Driver.FlushLater(n, answers)
	} else {
		s.Driver.Flush()
	}
	return sent, err
}

// queueData queues a data message. answers says that data has come since the message before.
func (s *rsocket) queueData(c *bufpool.Chunk) (queued, answers bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.writeErrLocked(); err != nil { // CloseWrite has come between
		c.Put()
		return false, false, err
	}
	if s.isFullLocked() {
		c.Put()
		return false, false, nil
	}
	to, w := s.tx.Data(len(c.B))
	e := s.nextLocked()
	e.chunk = c
	s.inFlight += len(c.B)
	s.queueLocked(e, to, c.B, w)
	answers, s.heard = s.heard, false
	return s.outErr == nil, answers, s.outErr
}

// await waits until wake or full says that the caller must look again, or until the caller or
// another call has received something. received is the value of s.received before the caller
// looked.
func (s *rsocket) await(wake, full <-chan struct{}, received uint64, limit *wait.Deadline) error {
	s.Driver.FlushPostponed()
	receiving := s.receiving
	if full != nil { // what the peer says would not help
		receiving = nil
	}
	select {
	case <-receiving:
		return s.receiveAfter(received, limit)
	default:
	}
	select {
	case <-receiving:
		return s.receiveAfter(received, limit)
	case <-wake:
	case <-full:
	case <-s.c.startup.Closed().Done():
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
	return nil
}

// receiveAfter is receive, unless another call has received something since the caller looked. Then
// the caller must look again, because nothing more may come. wake is not enough: another Read may
// have taken its value.
func (s *rsocket) receiveAfter(received uint64, limit *wait.Deadline) error {
	if s.received.Load() != received {
		s.receiving <- struct{}{}
		return nil
	}
	return s.receive(limit)
}

// receive waits for a word, and acts on it and on the words behind it. The caller has taken the
// right to receive. The error is that of the deadline.
func (s *rsocket) receive(limit *wait.Deadline) error {
	n, err := s.Driver.Read(s.word[:], limit)
	late := err == os.ErrDeadlineExceeded //nolint:errorlint // not a timeout that has ended the connection
	if err == nil {
		err = s.actAll(n)
	}
	if err != nil && !late {
		s.mu.Lock()
		s.inErr = err
		s.mu.Unlock()
	}
	s.received.Add(1) // before another call can receive: see receiveAfter
	wait.Wake(s.arrived)
	wait.Wake(s.room)
	s.receiving <- struct{}{}
	if late {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// actAll acts on the word of n bytes that has been read, and on the words that wait behind it.
func (s *rsocket) actAll(n int) error {
	for ok := true; ok; n, ok = s.Driver.TakeMessage(s.word[:]) {
		if err := s.act(n); err != nil {
			s.Driver.Fail(err)
			return err
		}
	}
	return nil
}

// act acts on the word of n bytes that has been read.
func (s *rsocket) act(n int) error {
	w, err := rsockets.ParseWord(s.order, s.word[:n])
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.unlock()
	switch w.Op() {
	case rsockets.OpData:
		if err := s.ends.HeardData(); err != nil {
			return err
		}
		filled, half, err := s.rx.Arrived(w.Data())
		if err != nil {
			return err
		}
		if filled {
			s.halves[half].Deregister()
		}
		s.nudges = maxNudges // the peer has read what this end has sent
		s.heard = true
		s.tellLocked()
		return nil
	case rsockets.OpCredits:
		if err := s.tx.Limited(uint16(w.Data())); err != nil {
			return err
		}
		return s.lookLocked()
	case rsockets.OpControl:
		return s.ends.Heard(w.Data())
	}
	return rsockets.ErrWord(w)
}

// lookLocked takes a descriptor from the slot that the peer fills next, if there is one.
//
// +checklocks:s.mu
func (s *rsocket) lookLocked() error {
	ddp.Redirect(s.slots.r, s.spare) // a copy of all slots, while the peer writes to none of them
	b := s.descriptors
	s.descriptors, s.spare = s.spare, b
	h := rsockets.ParseSlot(s.order, b[s.slot*rsockets.SlotLen:])
	if h.Len == 0 {
		return nil
	}
	if err := s.slots.r.Store(s.slot*rsockets.SlotLen, emptySlot[:]); err != nil {
		return err
	}
	s.slot = (s.slot + 1) % rsockets.Slots
	return s.tx.Lent(h)
}

// endWrite is Conn.CloseWrite.
func (s *rsocket) endWrite() {
	s.mu.Lock()
	s.endLocked(rsockets.EndShut)
	s.unlock()
	wait.Wake(s.room)
}

// endLocked ends this end. There is always a place for the word: see outEnds.
//
// +checklocks:s.mu
func (s *rsocket) endLocked(end rsockets.End) {
	if w, tell := s.ends.Close(end); tell {
		s.queueLocked(s.nextLocked(), rdmap.Handle{}, nil, w)
	}
}

// closeStream is Conn.Close. It reports whether data of the peer is lost.
func (s *rsocket) closeStream() (lost bool) {
	s.Driver.Interrupt()
	<-s.receiving // calls that wait have seen that the connection is closed
	err := error(nil)
	for n, ok := s.Driver.TakeMessage(s.word[:]); ok && err == nil; n, ok = s.Driver.TakeMessage(s.word[:]) {
		err = s.act(n)
	}
	s.mu.Lock()
	defer s.unlock()
	if s.nudger != nil {
		s.nudger.Stop()
	}
	s.reapLocked()
	if _, unread := s.rx.Unread(); unread > 0 { // a Disconnect would hide it
		return true
	}
	s.endLocked(rsockets.EndGone)
	return false
}
