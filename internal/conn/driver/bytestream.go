package driver

import (
	"net"
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A byteStream is the byte stream of a connection. Package bytestream has its rules: this type
// guards the state of both directions, and keeps copies of it for goroutines that look without a
// lock.
type byteStream struct {
	rx    bytestream.Receiver   // the receive role guards it
	first rdmap.CompletionQueue // of depth 1, so it takes no lock

	heard   atomic.Bool // data has come since the last Write that a burst may include
	due     atomic.Bool // tx has output
	waiting atomic.Bool // tx waits for Completions

	mu locks.Mutex[locks.ByteStream]
	// why nothing can be written any more
	writeErr error     // +checklocks:mu
	last     lastWrite // +checklocks:mu
	// the ID of the last request whose Completion goes to first
	firstID uint64 // +checklocks:mu
	burst   burst  // +checklocks:mu
	// a Write is under way: a long one, or one that waits
	writing bool // +checklocks:mu
	// the Write under way waits to be copied
	appending bool // +checklocks:mu
	// TCP has taken all of the long Write under way, in a call that began before the stream ended
	sent bool // +checklocks:mu
	// aheadCost is taken from the budget
	paid bool // +checklocks:mu
	// the counts of tx that are in count
	counted bytestream.Counts // +checklocks:mu
	tx      bytestream.Sender // +checklocks:mu
	request rdmap.WorkRequest // +checklocks:mu

	cq       rdmap.CompletionQueue
	room     wait.Cell // the Write under way looks again
	register func(p []byte) (*ddp.Region, error)
	count    *counters.Counters
	trace    *observe.Trace
}

// A StreamConfig has what the init of a byteStream needs.
type StreamConfig struct {
	Window     Window                              // for the peer's messages
	Credits    int                                 // messages that the peer has room for
	MaxMessage int                                 // the maximum length of each of them, in bytes
	Greets     bool                                // the stream begins with a message without data
	Register   func(p []byte) (*ddp.Region, error) // makes p accessible to the peer's RDMA Writes
}

// init makes the zero byteStream that of a connection. window is the number of messages for which
// the peer has credits.
//
// +checklocksignore: no other goroutine has it yet
func (s *byteStream) init(cfg *StreamConfig, window int, count *counters.Counters, trace *observe.Trace) {
	tx := bytestream.NewSender(cfg.Credits, min(cfg.MaxMessage, mpa.MaxULPDU-ddp.UntaggedHeaderLen), window)
	if cfg.Greets {
		tx.Greet()
	}
	s.rx, s.tx = *bytestream.NewReceiver(window), *tx
	s.register, s.count, s.trace = cfg.Register, count, trace
	s.first.Init(1)
	s.cq.Init(tx.Slots())
	s.due.Store(cfg.Greets)
}

// A writer in a burst fills up to ahead messages before the oldest is posted, and as many again may
// be posted, so that all of them hold 1 MiB at most. aheadCost is the part of that beyond the two
// messages that a writer may always fill.
const (
	ahead     = 8
	aheadCost = (2*ahead - 2) * 64 << 10
)

// aheadLocked returns how many messages the next Write may fill before the oldest is posted.
//
// +checklocks:s.mu
func (s *byteStream) aheadLocked(quick bool) int {
	if !quick || !s.paid && !common.take(aheadCost) {
		return 1
	}
	s.paid = true
	return ahead
}

// payBackLocked gives aheadCost back to the budget.
//
// +checklocks:s.mu
func (s *byteStream) payBackLocked() {
	s.paid = false
	common.give(aheadCost)
}

// giveBack gives the memory of copied Writes back to its pool, and that of the budget, when the
// connection has ended. All requests have completed, and Writes fail.
func (s *byteStream) giveBack() {
	s.reap()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tx.Abandon()
	if s.paid {
		s.payBackLocked()
	}
}

// noteLocked adds what tx has counted to the connection's counters.
//
// +checklocks:s.mu
func (s *byteStream) noteLocked(c bytestream.Counts) {
	stalls := c.Stalls - s.counted.Stalls
	s.count.Add(counters.Stalls, stalls)
	s.count.Add(counters.Combined, c.Combined-s.counted.Combined)
	s.count.Add(counters.Offers, c.Offers-s.counted.Offers)
	s.count.Add(counters.Rendezvous, c.Placed-s.counted.Placed)
	s.counted = c
	if stalls > 0 {
		s.trace.Debug("no credits")
	}
}

// longest returns the maximum number of bytes of data in one message of the byte stream.
func (s *byteStream) longest() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tx.Longest()
}

// isFinished reports whether all that was written is posted, and the end after it.
func (s *byteStream) isFinished() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.tx.IsFinished()
}

// finish ends the stream after the data that has been written. The Write under way, and later
// Writes, return err.
func (s *byteStream) finish(err error) {
	s.mu.Lock()
	if s.writeErr == nil || err == net.ErrClosed { //nolint:errorlint // as beginClose passes it
		s.writeErr = err
	}
	s.tx.Finish()
	s.unlock()
	s.room.Wake()
}

// A lastWrite says what has become of the one Write that may begin after the peer has closed in
// order. Over TCP, too, one such Write succeeds, because only the reset that it causes makes later
// ones fail. So a program that writes once and then reads gets the peer's last words.
//
//	ahead ──▶ begun ──▶ over
//	  └───────────────────▲
type lastWrite uint8

const (
	lastAhead lastWrite = iota
	lastBegun           // that Write is under way, or was the latest
	lastOver
)

var lastNames = [...]string{"ahead", "begun", "over"}

func (l lastWrite) String() string { return lastNames[l] }

var lastNext = states.Table[lastWrite]{
	lastAhead: states.To(lastBegun, lastOver),
	lastBegun: states.To(lastOver),
	lastOver:  0,
}

// setLastLocked changes last. Nothing else does.
//
// +checklocks:s.mu
func (s *byteStream) setLastLocked(next lastWrite) {
	if next != s.last {
		lastNext.Become(&s.last, next)
	}
}
