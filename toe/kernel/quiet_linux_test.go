package kernel

import (
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe/toetest"
)

// TestQuietReads: the scheduler learns of a read once reads concern the program, whichever quiet
// read has woken the idle process. The last read finds its bytes at once if they have arrived while
// the one before was answered.
func TestQuietReads(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	prototest.Wait(t, "the beat is silent", func() bool { return monitor.set.Load() == beatSilent })
	write := func() {
		if err := toetest.WriteBatch(x, [][]byte{{1}}); err != nil {
			t.Error(err)
		}
	}
	l := &counted{late: late{make([]byte, 8)}}
	read := func(waits bool) {
		t.Helper()
		l.waits, l.onWait = 0, write
		if !waits {
			write()
			prototest.Wait(t, "a byte arrives", func() bool { n, err := y.Pending(); return n > 0 && err == nil })
			l.onWait = func() { t.Error("the reader waits") }
		}
		if n, _, err := y.ReadSegment(l, 0); n != 1 || err != nil {
			t.Fatalf("ReadSegment: %d, %v", n, err)
		}
	}
	const longAgo = -int64(time.Hour) // so the reads that wake the monitor are sparse, and do not start the beat
	woken := func() bool { return monitor.woken.Swap(longAgo) != longAgo }
	woken()
	read(true) // from here on, few bytes are expected
	y.SetQuiet(true)
	for _, tt := range []struct {
		desc string
		then []bool // the reads after one that has waited, and whether they wait
	}{
		{"it", nil}, {"the one before", []bool{false}}, {"one long before", []bool{false, false}}, {"several", []bool{true, false}},
	} {
		woken()
		for _, waits := range append([]bool{true}, tt.then...) {
			read(waits)
			y.SetQuiet(true)
		}
		if woken() {
			t.Errorf("%s has waited: the scheduler has learned of quiet reads", tt.desc)
		}
		y.SetQuiet(false)
		if !woken() {
			t.Errorf("%s has waited: the scheduler has not learned of the reads", tt.desc)
		}
		y.SetQuiet(true)
		y.SetQuiet(false)
		if woken() {
			t.Errorf("%s has waited: the scheduler has learned of the reads again", tt.desc)
		}
		y.SetQuiet(true)
	}
}
