package kernel

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe/toetest"
)

// mark returns the SO_RCVLOWAT of s.
func mark(t *testing.T, s *Stream) (n int) {
	t.Helper()
	control(t, s, func(fd int) (err error) {
		n, err = unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT)
		return err
	})
	return n
}

// again calls again of s's busyPoll.
func again(t *testing.T, s *Stream) (looks bool) {
	t.Helper()
	control(t, s, func(fd int) error {
		looks = s.poll.again(uintptr(fd))
		return nil
	})
	return looks
}

// TestBusyPollMark checks that SO_RCVLOWAT is high while the reader looks again and after it has
// found something, and low before the reader waits.
func TestBusyPollMark(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	p := &y.poll
	for range 3 {
		p.begin(time.Hour)
		if !again(t, y) || mark(t, y) != highMark {
			t.Fatalf("SO_RCVLOWAT is %d, want %d", mark(t, y), highMark)
		}
		p.found()
		if mark(t, y) != highMark {
			t.Fatalf("SO_RCVLOWAT is %d after bytes were found, want %d", mark(t, y), highMark)
		}
	}
	write := func() {
		if err := toetest.WriteBatch(x, [][]byte{{1, 2, 3}}); err != nil {
			t.Error(err)
		}
	}
	l := &counted{late: late{make([]byte, 8)}}
	l.onWait = func() {
		if mark(t, y) != 1 {
			t.Errorf("SO_RCVLOWAT is %d while the reader waits", mark(t, y))
		}
		write()
	}
	y.late = true // so that a reader without patience would not borrow a buffer before it looks
	y.SetReadDeadline(prototest.Deadline(t))
	if n, _, err := y.ReadSegment(l, 0); n != 3 || err != nil || l.waits != 1 {
		t.Errorf("ReadSegment = %d, %v after %d waits", n, err, l.waits)
	}
}

// TestBusyPollLooksAfterMark checks that the reader looks once more after it has lowered
// SO_RCVLOWAT: no event reports bytes that arrived before.
func TestBusyPollLooksAfterMark(t *testing.T) {
	_, y := pairOf(t, &Backend{})
	control(t, y, func(fd int) error {
		y.poll.setMark(uintptr(fd), highMark)
		return nil
	})
	y.poll.begin(0)
	if !again(t, y) || mark(t, y) != 1 {
		t.Errorf("no further look, or SO_RCVLOWAT is %d", mark(t, y))
	}
	if again(t, y) {
		t.Error("one more look with a low SO_RCVLOWAT")
	}
}

// TestBusyPollMarksNoUnixSocket checks that a unix socket keeps its SO_RCVLOWAT, which would change
// nothing.
func TestBusyPollMarksNoUnixSocket(t *testing.T) {
	_, y := unixPairOf(t)
	y.poll.begin(time.Hour)
	if err := y.raw.Control(func(fd uintptr) { y.poll.again(fd) }); err != nil || y.poll.marked {
		t.Errorf("SO_RCVLOWAT is high: %v; %v", y.poll.marked, err)
	}
}

// TestBusyPollYields checks that the reader yields the processor for a while after several
// unsuccessful looks without yielding, and that a success offsets one unsuccessful look.
func TestBusyPollYields(t *testing.T) {
	var p busyPoll // of no socket: nothing is marked
	inVain := func() (looks int) {
		p.begin(time.Nanosecond)
		for looks = 1; p.again(0); looks++ {
		}
		return looks
	}
	wantYields := func(want bool) {
		t.Helper()
		if looks := inVain(); (looks < looksPerClock) != want {
			t.Fatalf("%d looks, want yielding: %v", looks, want)
		}
	}
	for range vainToYield - 1 {
		wantYields(false)
	}
	p.begin(time.Hour)
	if !p.again(0) {
		t.Fatal("no further look within an hour")
	}
	p.found()
	wantYields(false)
	wantYields(false) // only now enough, because of the success
	for range 2 {
		for range yieldTimes - 1 {
			wantYields(true)
		}
		for range vainToYield - vainAfter {
			wantYields(false)
		}
	}
}
