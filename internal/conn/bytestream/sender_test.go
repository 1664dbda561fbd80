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

// TestWritesFillMessages: Writes in a burst fill several messages. The messages end where they are
// full, not where a Write ends, and the last one carries the end of the stream.
func TestWritesFillMessages(t *testing.T) {
	a, b := newPair(t, 8, 104)
	data := pattern(350)
	for i, tt := range []struct{ from, to, taken int }{{0, 130, 130}, {130, 260, 130}, {260, 350, 40}, {300, 350, 0}} {
		if n := a.tx.Append(data[tt.from:tt.to], 3); n != tt.taken {
			t.Errorf("Append %d takes %d, want %d", i, n, tt.taken)
		}
	}
	if n := a.tx.Copies(); n != 3 {
		t.Errorf("%d copies, want 3", n)
	}
	a.post()
	if n := a.tx.Append(data[300:], 3); n != 50 {
		t.Errorf("Append behind full messages that are posted takes %d, want 50", n)
	}
	a.tx.Finish()
	run(t, a, b)
	a.wantOut(t, "data 100", "data 100", "data 100", "data 50 FIN")
	b.read()
	if !bytes.Equal(b.got, data) || !b.eof {
		t.Errorf("arrived %x, end %t, want %x and the end", b.got, b.eof, data)
	}
	if n := a.tx.Copies(); n != 0 {
		t.Errorf("%d copies after the Completions", n)
	}
	if c := a.tx.Counts(); c.Combined != 2 {
		t.Errorf("counts %+v", c)
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

// TestCreditsAreWorthAMessage: credits wait for data, or until half of the window is owed.
func TestCreditsAreWorthAMessage(t *testing.T) {
	a, b := newPair(t, 8, 104)
	for i := range 3 {
		a.tx.Append(pattern(10), 1)
		run(t, a, b)
		b.read()
		run(t, a, b)
		if len(b.out) > 0 {
			t.Errorf("%v for %d credits", b.out, i+1)
		}
	}
	b.tx.Append(pattern(1), 1)
	run(t, a, b)
	b.wantOut(t, "data 1 c3")
	a.out = nil
	for range 4 {
		a.tx.Append(pattern(10), 1)
		run(t, a, b)
	}
	b.read()
	run(t, a, b)
	b.wantOut(t, "data 0 c4")
}

// TestControlCreditsGoBackSoon: two buffers that held control messages are worth a message, because
// the peer has no more than two credits for such messages.
func TestControlCreditsGoBackSoon(t *testing.T) {
	a, _ := newPair(t, 32, 104)
	a.tx.Freed(1, 32, true)
	if a.tx.HasOutput() {
		t.Error("output for one control message")
	}
	a.tx.Freed(1, 32, true)
	a.post()
	a.transmit()
	a.wantOut(t, "data 0 c2")
	if a.tx.HasOutput() || a.tx.owedControl != 0 {
		t.Errorf("more output; %d still owed", a.tx.owedControl)
	}
}

// TestCreditsOfASmallerWindow: credits are worth a message when half of the present window is owed.
func TestCreditsOfASmallerWindow(t *testing.T) {
	a, _ := newPair(t, 32, 104)
	a.tx.Freed(4, 32, false)
	if a.tx.HasOutput() {
		t.Error("output for 4 of 32")
	}
	a.tx.Freed(0, 8, false)
	if !a.tx.HasOutput() {
		t.Error("no output for 4 of 8")
	}
}

// TestTooManyCredits: the peer may give back as many credits as were used, and not one more.
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

// TestEnd: the end of the stream goes once, behind the Write under way, with the last data or alone
// without a credit.
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

// TestFinishStopsALongWrite: bytes that are not posted when Finish is called are not sent.
func TestFinishStopsALongWrite(t *testing.T) {
	a, b := newPair(t, 4, 104)
	a.tx.Post(pattern(1000), 0)
	run(t, a, b)
	a.tx.Finish()
	b.read()
	run(t, a, b)
	a.tx.GiveUp()
	if over, _ := a.tx.Write(); !over || a.tx.End() != 200 {
		t.Error("the Write goes on")
	}
	run(t, a, b)
	a.wantOut(t, "data 100", "data 100", "data 0 FIN")
}

// TestFullSendQueue: a request that the queue pair does not take comes again, unchanged, after the
// next Completed.
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

// TestSlotsRunOut: no more messages are posted than there are slots; a completion makes room.
func TestSlotsRunOut(t *testing.T) {
	a, _ := newPair(t, MaxSlots, 104)
	a.tx.Post(make([]byte, 40_000), 0)
	a.post()
	if len(a.queue) != MaxSlots-Reserve {
		t.Fatalf("%d messages are posted", len(a.queue))
	}
	for a.transmit() {
	}
	if err := a.tx.Credit(100); err != nil {
		t.Fatal(err)
	}
	a.post()
	if len(a.queue) != Reserve {
		t.Errorf("%d messages beyond, want %d", len(a.queue), Reserve)
	}
	a.queue = nil
	a.complete(10)
	if a.post(); len(a.queue) != 10 {
		t.Errorf("%d messages for 10 completions", len(a.queue))
	}
}

// TestTakeBackData: a Write that is taken back gets the credits of its messages back, owes again
// the credits that these messages were to carry, and counts the bytes that have gone out.
func TestTakeBackData(t *testing.T) {
	for sent := range 5 {
		a, _ := newPair(t, 8, 104)
		a.tx.Freed(3, 8, false) // the first message carries these credits
		a.tx.Post(pattern(1000), 0)
		a.post()
		for range sent {
			a.transmit()
		}
		if n := a.takeBack(); n != 100*sent {
			t.Errorf("%d sent: %d bytes go out", sent, n)
		}
		if a.tx.credits != 8-sent {
			t.Errorf("%d sent: %d credits", sent, a.tx.credits)
		}
		if owed := a.tx.owed; sent == 0 && owed != 3 || sent > 0 && owed != 0 {
			t.Errorf("%d sent: %d owed", sent, owed)
		}
		if over, owns := a.tx.Write(); !over || owns {
			t.Errorf("%d sent: over %t, owns %t", sent, over, owns)
		}
	}
}

// TestTakeBackControlCredits: credits of control messages are due soon again if the message that
// was to carry them is taken back.
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

// TestGiveUp: nothing more of a Write that is given up goes out.
func TestGiveUp(t *testing.T) {
	a, _ := newPair(t, 4, 104)
	a.tx.Post(pattern(1000), 0)
	a.post()
	a.tx.GiveUp()
	a.tx.credits = 4
	if a.tx.HasOutput() {
		t.Error("output of a Write that is given up")
	}
	a.transmit()
	a.transmit()
	a.complete(2)
	if over, _ := a.tx.Write(); !over || a.tx.End() != 200 {
		t.Error("the Write goes on")
	}
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
