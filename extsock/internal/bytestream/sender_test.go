package bytestream

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rddp/rddp/rdmap"
)

// TestShortWritesCombine: short Writes share a message until it goes out or is full.
func TestShortWritesCombine(t *testing.T) {
	a, b := newPair(t, 8, 104)
	for i, tt := range []struct{ n, taken int }{{30, 30}, {0, 0}, {60, 60}, {30, 10}, {1, 0}} {
		if n := a.tx.Append(pattern(tt.n), 1); n != tt.taken {
			t.Errorf("Append %d takes %d, want %d", i, n, tt.taken)
		}
	}
	run(t, a, b)
	a.wantOut(t, "data 100")
	if c := a.tx.Counts(); c.Combined != 2 || c.Stalls != 0 {
		t.Errorf("counts %+v", c)
	}
	if want := append(append(pattern(30), pattern(60)...), pattern(10)...); !bytes.Equal(b.unread[0], want) {
		t.Errorf("arrived %x, want %x", b.unread[0], want)
	}
}

// TestEndBehindSeveralMessages: the end of the stream goes with the last message that waits, not
// with the first.
func TestEndBehindSeveralMessages(t *testing.T) {
	a, b := newPair(t, 8, 104)
	a.tx.Append(pattern(250), 4)
	a.tx.Finish()
	run(t, a, b)
	a.wantOut(t, "data 100", "data 100", "data 50 FIN")
	if !a.tx.IsFinished() {
		t.Error("the end of the stream is not posted")
	}
}

// TestMessagesStopAtTheReserve: a Write that fills several messages takes a credit for each.
func TestMessagesStopAtTheReserve(t *testing.T) {
	a, _ := newPair(t, 6, 104)
	if n := a.tx.Append(pattern(1000), 8); n != 400 {
		t.Errorf("Append takes %d bytes with 4 credits above the reserve, want 400", n)
	}
	if c := a.tx.Counts(); a.tx.credits != Reserve || c.Stalls != 1 {
		t.Errorf("%d credits are left, %+v", a.tx.credits, c)
	}
}

// TestDataLeavesTheReserve: data stops when two credits are left, whatever way it goes, and goes on
// when there are more.
func TestDataLeavesTheReserve(t *testing.T) {
	for _, long := range []bool{false, true} {
		a, b := newPair(t, 6, 104)
		if long {
			a.tx.Post(pattern(1000), 0)
		}
		for range 10 {
			if !long {
				a.tx.Append(pattern(100), 1)
			}
			run(t, a, b)
		}
		a.wantOut(t, "data 100", "data 100", "data 100", "data 100")
		if a.tx.credits != Reserve {
			t.Errorf("%d credits are left", a.tx.credits)
		}
		if c := a.tx.Counts(); c.Stalls != 1 {
			t.Errorf("%d stalls, want 1", c.Stalls)
		}
		b.read()
		run(t, a, b)
		b.wantOut(t, "data 0 c4")
		if long {
			a.wantOut(t, "data 100 c1", "data 100", "data 100", "data 100")
			continue
		}
		if n := a.tx.Append(pattern(100), 1); n != 100 {
			t.Errorf("Append behind the credits = %d", n)
		}
		if c := a.tx.Counts(); c.Stalls != 1 {
			t.Errorf("%d stalls, want 1", c.Stalls)
		}
	}
}

// TestTooManyCredits: the peer may give back what was used and not one more.
func TestTooManyCredits(t *testing.T) {
	a, _ := newPair(t, 8, 104)
	if err := a.tx.Credit(1); !errors.Is(err, ErrStream) {
		t.Errorf("a credit too many: %v", err)
	}
	a, b := newPair(t, 8, 104)
	a.tx.Append(pattern(1), 1)
	run(t, a, b)
	if err := a.tx.Credit(1); err != nil {
		t.Error(err)
	}
}

// TestEnd: the end goes with the last data, or alone without a credit, once, and behind the Write
// under way.
func TestEnd(t *testing.T) {
	a, b := newPair(t, 4, 104)
	a.tx.Append(pattern(3), 1)
	a.tx.Finish()
	run(t, a, b)
	a.wantOut(t, "data 3 FIN")
	if !b.eof || !a.tx.IsFinished() {
		t.Error("no end")
	}
	a, b = newPair(t, 4, 104)
	a.tx.credits = 0
	a.tx.Finish()
	run(t, a, b)
	a.wantOut(t, "data 0 FIN")
	if a.tx.credits != 0 || b.tx.owed != 0 {
		t.Errorf("%d credits, %d owed: the end uses none", a.tx.credits, b.tx.owed)
	}
	a, b = newPair(t, 32, 104)
	a.tx.Post(pattern(250), 0)
	a.post()
	a.tx.Finish()
	a.post()
	if a.transmit(); len(a.queue) != 2 {
		t.Fatalf("%d more posted, want 2", len(a.queue))
	}
	for a.transmit() {
	}
	a.wantOut(t, "data 100", "data 100", "data 50")
	run(t, a, b)
	a.wantOut(t, "data 0 FIN")
}

// TestFullSendQueue: what the queue pair does not take comes again after the next Completed,
// unchanged.
func TestFullSendQueue(t *testing.T) {
	a, _ := newPair(t, 8, 104)
	a.tx.Append(pattern(5), 1)
	a.tx.Freed(2, 8, true)
	var first, again rdmap.WorkRequest
	if !a.tx.Next(&first) {
		t.Fatal("no request")
	}
	want := bytes.Clone(first.Data)
	a.tx.Full()
	if a.tx.HasOutput() || a.tx.Next(&again) || !a.tx.IsWaiting() {
		t.Error("a request for a full queue")
	}
	a.tx.Completed(nil)
	if !a.tx.Next(&again) || again.ID != first.ID || !bytes.Equal(again.Data, want) {
		t.Errorf("then %+v, want %x", again, want)
	}
	a.tx.Posted()
	if a.tx.owed != 0 || a.tx.owedControl != 0 || a.tx.HasOutput() {
		t.Errorf("%d still owed", a.tx.owed)
	}
}

// TestTakeBackControlCredits: credits of control messages that a message has not carried after all
// are due soon again.
func TestTakeBackControlCredits(t *testing.T) {
	a, _ := newPair(t, 32, 104)
	a.tx.Post(pattern(100), 0)
	a.tx.Freed(1, 32, true)
	a.post()
	a.takeBack()
	a.tx.Freed(1, 32, true)
	a.post()
	a.transmit()
	a.wantOut(t, "data 0 c2")
}

// TestOwnMemoryIsReported: a long Write is over when its memory is the caller's again.
func TestOwnMemoryIsReported(t *testing.T) {
	a, _ := newPair(t, 8, 104)
	a.tx.Post(pattern(150), 0)
	check := func(when string, over, owns bool) {
		t.Helper()
		if o, w := a.tx.Write(); o != over || w != owns {
			t.Errorf("%s: over %t, owns %t", when, o, w)
		}
	}
	check("at first", false, false)
	a.post()
	check("posted", false, true)
	a.transmit()
	a.transmit()
	a.complete(1)
	check("half completed", false, true)
	a.complete(1)
	check("completed", true, false)
	if n := a.tx.End(); n != 150 {
		t.Errorf("%d bytes", n)
	}
}
