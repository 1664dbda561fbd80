package kernel

import (
	"time"

	"golang.org/x/sys/unix"
)

// A busyPoll makes ReadSegment look for bytes repeatedly before it waits. The caller decides how
// long, and whether that is worth its cost at all: see the patience of ReadSegment. The reader owns
// the busyPoll.
//
// Two things would make such looks slow, and a busyPoll avoids both:
//
//   - Each segment that arrives wakes the thread of this process that waits in epoll, although the
//     reader finds the bytes itself. The thread then takes a processor from the reader or from the
//     peer. So SO_RCVLOWAT is high from the second look onward, and Linux reports no short segment.
//     It is low again before the reader waits.
//   - If the reader and the peer share a processor, the peer cannot answer while the reader looks,
//     unless the reader yields the processor after each look. But two processes that look and yield
//     in turn never wait long enough for the scheduler to move one of them to another processor. So
//     the reader looks without yielding at first. If it finds nothing in its time, several times,
//     it yields for a while and then tries again.
type busyPoll struct {
	left   time.Duration // how long the reader may look; 0 if it may not, or no longer
	since  int64         // when the first look of this ReadSegment was over, in ns since started
	looks  int32         // looks of this ReadSegment that have found nothing
	vain   int32         // recent unsuccessful looks minus successes; at least 0
	yields int32         // ReadSegments that still yield the processor
	marks  bool          // the kernel takes SO_RCVLOWAT, as far as we know
	marked bool          // SO_RCVLOWAT is highMark
}

const (
	looksPerClock = 8        // looks without yielding, from one reading of the clock to the next
	highMark      = 32 << 10 // the high SO_RCVLOWAT, in bytes
	vainToYield   = 8        // the value of vain at which the reader begins to yield
	vainAfter     = 4        // the value of vain after the reader has yielded for a while
	yieldTimes    = 4096     // how long the reader yields, in ReadSegments
)

// begin begins a ReadSegment, which may look for the time patience.
func (p *busyPoll) begin(patience time.Duration) { p.left, p.looks = patience, 0 }

// found notes that a look has found something.
func (p *busyPoll) found() {
	if p.looks > 0 && p.left > 0 {
		p.vain = max(p.vain-1, 0)
	}
}

// again reports whether the reader looks once more, after a look that has found nothing.
func (p *busyPoll) again(fd uintptr) bool {
	if p.left > 0 && p.isOver() {
		p.giveUp()
	}
	if p.left == 0 {
		// The kernel has not reported bytes that arrived while the mark was high.
		return p.marked && p.setMark(fd, 1)
	}
	if p.marks && !p.marked {
		p.marks = p.setMark(fd, highMark)
	}
	if p.yields > 0 {
		// The runtime does not learn of this call either: see read.
		unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0)
	}
	return true
}

// isOver counts a look, and reports whether it was the last one.
func (p *busyPoll) isOver() bool {
	p.looks++
	switch {
	case p.looks == 1:
		p.since = sinceStarted()
		p.yields = max(p.yields-1, 0)
		return false
	case p.yields == 0 && p.looks%looksPerClock != 0:
		return false
	}
	return time.Duration(sinceStarted()-p.since) >= p.left
}

// giveUp records that no look of this ReadSegment found anything.
func (p *busyPoll) giveUp() {
	p.left = 0
	if p.yields > 0 {
		return
	}
	if p.vain++; p.vain >= vainToYield {
		p.yields, p.vain = yieldTimes, vainAfter
	}
}

// setMark sets SO_RCVLOWAT, and reports whether the kernel takes it.
func (p *busyPoll) setMark(fd uintptr, mark int) bool {
	err := unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_RCVLOWAT, mark)
	p.marked = mark > 1 && err == nil
	return err == nil
}
