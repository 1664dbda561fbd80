package bytestream

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/rdmap"
)

// over checks that the long Write of a is over, and returns how many bytes went out.
func over(t *testing.T, a *end) int {
	t.Helper()
	if over, owns := a.tx.Write(); !over || owns {
		t.Fatalf("the Write: over %t, owns %t", over, owns)
	}
	return a.tx.End()
}

// TestRendezvous: offer, grant, RDMA Writes, done. The Read has the bytes, and all credits are back
// where they were.
func TestRendezvous(t *testing.T) {
	a, b := newPair(t, 8, 104)
	data := pattern(2*piece + 5)
	b.want = make([]byte, len(data))
	a.tx.Post(data, 1000)
	run(t, a, b)
	if n := over(t, a); n != len(data) || !bytes.Equal(b.got, data) {
		t.Errorf("%d bytes go out, %d arrive", n, len(b.got))
	}
	a.wantOut(t, "offer 2097157", fmt.Sprint("write ", piece, " at 0"), fmt.Sprint("write ", piece, " at ", piece), fmt.Sprint("write 5 at ", 2*piece), "done 2097157 c1")
	b.wantOut(t, "grant 2097157 c1")
	if a.tx.credits != 7 || b.tx.owed != 1 || b.tx.credits != 8 {
		t.Errorf("%d credits and %d owed, %d of the peer", a.tx.credits, b.tx.owed, b.tx.credits)
	}
	if c := a.tx.Counts(); c.Offers != 1 || c.Placed != uint64(len(data)) {
		t.Errorf("counts %+v", c)
	}
}

// TestRendezvousInParts: a Read of fewer bytes than were offered gets as many as its memory holds.
// The rest is offered again if the grant was not shorter than the crossover.
func TestRendezvousInParts(t *testing.T) {
	for _, crossover := range []int{300, 301} {
		a, b := newPair(t, 32, 104)
		data := pattern(500)
		b.want = make([]byte, 300)
		a.tx.Post(data, crossover)
		run(t, a, b)
		if n := over(t, a); n != len(data) {
			t.Errorf("%d bytes go out", n)
		}
		want := []string{"offer 500", "write 300 at 0", "done 300 c1"}
		if crossover == 300 {
			want = append(want, "offer 200")
			b.wantOut(t, "grant 300 c1", "grant 0 c2")
		} else {
			b.wantOut(t, "grant 300 c1")
		}
		if crossover == 300 {
			a.wantOut(t, append(want, "data 100 c1", "data 100")...)
		} else {
			a.wantOut(t, append(want, "data 100", "data 100")...)
		}
		if b.read(); !bytes.Equal(b.got, data) {
			t.Error("other bytes arrive")
		}
	}
}

// TestNextOfferWaitsForTheLast: an end sends no second offer and no data while memory of the first
// offer may have to be taken back.
func TestNextOfferWaitsForTheLast(t *testing.T) {
	a, b := newPair(t, 32, 104)
	b.want = make([]byte, 300)
	a.tx.Post(pattern(500), 1000)
	a.post()
	a.transmit()
	a.complete(1)
	b.receive()
	b.post()
	b.transmit()
	a.receive()
	a.post()
	for a.transmit() {
	}
	a.wantOut(t, "offer 500", "write 300 at 0", "done 300 c1")
	a.tx.Completed(nil)
	if a.tx.HasOutput() {
		t.Error("output before the RDMA Write is completed")
	}
	a.complete(1)
	if !a.tx.HasOutput() {
		t.Error("no output behind it")
	}
}

// TestRefused: if no Read waits, a long Write goes as data, behind the short Writes before it.
func TestRefused(t *testing.T) {
	a, b := newPair(t, 32, 104)
	a.tx.Append([]byte("ab"), 1)
	a.tx.Post(pattern(150), 100)
	run(t, a, b)
	if n := over(t, a); n != 150 {
		t.Errorf("%d bytes go out", n)
	}
	a.wantOut(t, "data 2", "offer 150", "data 100 c1", "data 50")
	b.wantOut(t, "grant 0 c1")
	if !a.tx.MayOffer() {
		t.Error("no more offers")
	}
}

// TestGrantOfMore: a peer that grants more than was offered gets no more than that.
func TestGrantOfMore(t *testing.T) {
	a, _ := newPair(t, 32, 104)
	a.tx.Post(pattern(200), 100)
	a.post()
	if err := a.tx.Granted(rdmap.Handle{STag: 1, TO: 7, Len: 1 << 31}); err != nil {
		t.Fatal(err)
	}
	a.post()
	for a.transmit() {
	}
	a.wantOut(t, "offer 200", "write 200 at 7", "done 200")
}

// TestTakeBackOffer: a Write is taken back at each moment of its rendezvous. The test checks which
// messages the peer gets then, and how many bytes go out. steps is the number of requests that TCP
// has taken.
func TestTakeBackOffer(t *testing.T) {
	for _, tt := range []struct {
		desc    string
		posts   bool // the offer is posted
		granted bool
		steps   int
		n       int
		out     []string
		off     bool
	}{
		{"before the offer", false, false, 0, 0, nil, false},
		{"the offer posted", true, false, 0, 0, []string{"offer 2097152", "cancel"}, true},
		{"the offer sent", true, false, 1, 0, []string{"offer 2097152", "cancel"}, true},
		{"granted", true, true, 1, 0, []string{"offer 2097152", "cancel"}, true},
		{"the first half sent", true, true, 2, piece, []string{"offer 2097152", "write 1048576 at 0", "done 1048576"}, true},
		{"all but the done sent", true, true, 3, 2 * piece, []string{"offer 2097152", "write 1048576 at 0", "write 1048576 at 1048576", "done 2097152"}, true},
		{"all sent", true, true, 4, 2 * piece, []string{"offer 2097152", "write 1048576 at 0", "write 1048576 at 1048576", "done 2097152"}, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			a, _ := newPair(t, 8, 104)
			a.tx.Post(pattern(2*piece), 1000)
			if tt.posts {
				a.post()
			}
			if tt.granted {
				a.transmit()
				if err := a.tx.Granted(rdmap.Handle{STag: 1, Len: 1 << 30}); err != nil {
					t.Fatal(err)
				}
				a.post()
				tt.steps--
			}
			for range tt.steps {
				a.transmit()
			}
			if n := a.takeBack(); n != tt.n {
				t.Errorf("%d bytes go out, want %d", n, tt.n)
			}
			a.post()
			for a.transmit() {
			}
			a.wantOut(t, tt.out...)
			if a.tx.MayOffer() == tt.off {
				t.Errorf("may offer: %t", !tt.off)
			}
			uses := 0 // messages with a credit: all but RDMA Writes and the cancel
			for _, s := range tt.out {
				if s[0] == 'o' || s[0] == 'd' {
					uses++
				}
			}
			if a.tx.credits != 8-uses {
				t.Errorf("%d credits behind %d messages", a.tx.credits, uses)
			}
			placed := tt.n
			if tt.granted { // a done of all bytes was posted
				placed = 2 * piece
			}
			if n := a.tx.Counts().Placed; n != uint64(placed) {
				t.Errorf("%d bytes counted, want %d", n, placed)
			}
		})
	}
}

// TestEndOfOfferWaitsForCredits: the done of an offer that was taken back waits for a credit, and
// short Writes and the end of the stream wait behind it. A cancel waits for no credit.
func TestEndOfOfferWaitsForCredits(t *testing.T) {
	a, _ := newPair(t, 8, 104)
	a.tx.Post(pattern(2*piece), 1000)
	a.post()
	a.transmit()
	if err := a.tx.Granted(rdmap.Handle{STag: 1, Len: 1 << 30}); err != nil {
		t.Fatal(err)
	}
	a.tx.credits = Reserve
	a.post()
	a.transmit()
	a.takeBack()
	a.post()
	a.tx.Finish()
	a.out = nil
	if a.post(); len(a.queue) > 0 {
		t.Fatal("a message without credits")
	}
	if n := a.tx.Append([]byte("x"), 1); n != 0 {
		t.Errorf("Append = %d before the end of the offer", n)
	}
	a.tx.credits++
	a.post()
	a.complete(len(a.sent))
	a.post()
	for a.transmit() {
	}
	a.wantOut(t, "done 1048576", "data 0 FIN")
}

// TestGrantBehindACancel: a grant may cross the cancel of its offer, once. Any other grant without
// an offer is an error.
func TestGrantBehindACancel(t *testing.T) {
	h := rdmap.Handle{STag: 1, Len: 100}
	a, _ := newPair(t, 8, 104)
	if err := a.tx.Granted(h); !errors.Is(err, ErrStream) {
		t.Errorf("a grant without an offer: %v", err)
	}
	a.tx.Post(pattern(200), 100)
	a.post()
	a.takeBack()
	if err := a.tx.Granted(h); err != nil {
		t.Errorf("a grant that crosses the cancel: %v", err)
	}
	if err := a.tx.Granted(h); !errors.Is(err, ErrStream) {
		t.Errorf("and a second one: %v", err)
	}
	a, b := newPair(t, 8, 104)
	a.tx.Post(pattern(200), 100)
	run(t, a, b)
	if err := a.tx.Granted(h); !errors.Is(err, ErrStream) {
		t.Errorf("a second answer: %v", err)
	}
}

// TestFinishInAnOffer: the end of the stream comes behind the end of the offer.
func TestFinishInAnOffer(t *testing.T) {
	a, b := newPair(t, 8, 104)
	a.tx.Post(pattern(200), 100)
	a.post()
	a.transmit()
	a.complete(1)
	a.tx.Finish()
	if a.tx.HasOutput() {
		t.Error("the end inside an offer")
	}
	a.takeBack()
	run(t, a, b)
	a.wantOut(t, "offer 200", "cancel", "data 0 FIN")
}

// TestPlainWritesAfterATakeBack: an end that has taken an offer back makes no more offers.
func TestPlainWritesAfterATakeBack(t *testing.T) {
	a, b := newPair(t, 8, 104)
	a.tx.Post(pattern(200), 100)
	a.post()
	a.takeBack()
	a.tx.Post(pattern(200), 100)
	run(t, a, b)
	if n := over(t, a); n != 200 {
		t.Errorf("%d bytes go out", n)
	}
	a.wantOut(t, "offer 200", "cancel", "data 100", "data 100")
}
