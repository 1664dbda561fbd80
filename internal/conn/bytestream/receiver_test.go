package bytestream

import (
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// TestReceiverRules: which messages the peer may send in which order. In each script, all messages
// but the last follow the rules.
func TestReceiverRules(t *testing.T) {
	const (
		data, fin, offer, grant = "\x00\x00\x00\x00x", "\x00\x01\x00\x00", "\x01\x00\x00\x00\x00\x00\x00\x64", "\x02\x00\x00\x001234567812341234"
		done, cancel, credits   = "\x03\x00\x00\x00\x00\x00\x00\x0a", "\x04\x00\x00\x00", "\x00\x00\x00\x01"
	)
	for _, tt := range []struct {
		desc   string
		grants int // how many offers are granted; the others are refused
		writes int // bytes that an RDMA Write places in each grant
		script []string
		ok     bool
	}{
		{desc: "too short", script: []string{"\x00\x00\x00"}},
		{desc: "empty", script: []string{""}},
		{desc: "data behind the end", script: []string{fin, data}},
		{desc: "credits behind the end", script: []string{fin, credits}, ok: true},
		{desc: "a grant behind the end", script: []string{fin, grant}, ok: true},
		{desc: "an offer behind the end", script: []string{fin, offer}},
		{desc: "the end twice", script: []string{fin, fin}},
		{desc: "the end behind the end with data", script: []string{"\x00\x01\x00\x00x", fin}},
		{desc: "an offer of nothing", script: []string{"\x01\x00\x00\x00\x00\x00\x00\x00"}},
		{desc: "an offer that is cut", script: []string{offer[:7]}},
		{desc: "an offer that is long", script: []string{offer + "x"}},
		{desc: "a grant that is cut", script: []string{grant[:19]}},
		{desc: "a done that is cut", grants: 1, writes: 10, script: []string{offer, done[:6]}},
		{desc: "a cancel with bytes", grants: 1, script: []string{offer, cancel + "x"}},
		{desc: "done", grants: 1, writes: 10, script: []string{offer, done}, ok: true},
		{desc: "done of more than is placed", grants: 1, writes: 9, script: []string{offer, done}},
		{desc: "done of nothing", grants: 1, writes: 9, script: []string{offer, "\x03\x00\x00\x00\x00\x00\x00\x00"}},
		{desc: "done of 2^32-1 bytes", grants: 1, writes: 9, script: []string{offer, "\x03\x00\x00\x00\xff\xff\xff\xff"}},
		{desc: "done without an offer", script: []string{done}},
		{desc: "done of a refusal", script: []string{offer, done}},
		{desc: "done twice", grants: 1, writes: 10, script: []string{offer, done, done}},
		{desc: "cancel", grants: 1, writes: 10, script: []string{offer, cancel}, ok: true},
		{desc: "cancel of a refusal", script: []string{offer, cancel}, ok: true},
		{desc: "cancel of a refusal twice", script: []string{offer, cancel, cancel}},
		{desc: "cancel twice", grants: 1, script: []string{offer, cancel, cancel}},
		{desc: "cancel without an offer", script: []string{cancel}},
		{desc: "cancel behind a done", grants: 1, writes: 10, script: []string{offer, done, cancel}},
		{desc: "a second offer", grants: 1, script: []string{offer, offer}},
		{desc: "an offer behind a refusal", script: []string{offer, offer}, ok: true},
		{desc: "an offer behind a done", grants: 2, writes: 10, script: []string{offer, done, offer, done}, ok: true},
		{desc: "an offer behind a cancel", grants: 1, script: []string{offer, cancel, offer}},
		{desc: "data behind a cancel", grants: 1, script: []string{offer, cancel, data}, ok: true},
		{desc: "data behind a done", grants: 1, writes: 10, script: []string{offer, done, data}, ok: true},
		{desc: "data behind a refusal", script: []string{offer, data}, ok: true},
		{desc: "data inside an offer", grants: 1, script: []string{offer, data}},
		{desc: "data inside an offer that has placed bytes", grants: 1, writes: 10, script: []string{offer, data}},
		{desc: "credits inside an offer", grants: 1, writes: 10, script: []string{offer, credits, done}, ok: true},
		{desc: "a grant inside an offer", grants: 1, writes: 10, script: []string{offer, grant, done}, ok: true},
		{desc: "the end inside an offer", grants: 1, script: []string{offer, fin}},
		{desc: "data and the end inside an offer", grants: 1, script: []string{offer, "\x00\x01\x00\x00x"}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			r := NewReceiver(4)
			grants := 0
			for i, m := range tt.script {
				n := min(len(m), HeaderLen)
				a, err := r.Arrived([]byte(m[:n]), []byte(m[n:]))
				last := i == len(tt.script)-1
				if (err != nil) != (last && !tt.ok) || err != nil && !errors.Is(err, ErrStream) {
					t.Fatalf("message %d: %v", i, err)
				}
				if err != nil || a.Kind != Offer {
					continue
				}
				if grants++; grants > tt.grants {
					r.Answer(rdmap.Handle{})
					continue
				}
				h := rdmap.Handle{STag: ddp.STag(grants), TO: 1000, Len: 100}
				r.Answer(h)
				h.Len = uint32(tt.writes)
				r.Placed(h)
			}
		})
	}
}

// TestReceiverCountsCredits: a message of any kind that arrives without a credit is an error,
// except the two kinds that use none. The peer has as many credits as the Sender has given back,
// and no more.
func TestReceiverCountsCredits(t *testing.T) {
	const (
		data, fin, offer, grant = "\x00\x00\x00\x00x", "\x00\x01\x00\x00", "\x01\x00\x00\x00\x00\x00\x00\x64", "\x02\x00\x00\x001234567812341234"
		done, cancel, credits   = "\x03\x00\x00\x00\x00\x00\x00\x0a", "\x04\x00\x00\x00", "\x00\x00\x00\x01"
	)
	for _, tt := range []struct {
		last string
		free bool
	}{{data, false}, {data[:1] + "\x01" + data[2:], false}, {offer, false}, {grant, false}, {credits, false}, {done, false}, {fin, true}, {cancel, true}} {
		for _, back := range []int{-1, 0, 1} {
			r, credits := NewReceiver(3), 3
			arrived := func(m string) error {
				_, err := r.Arrived([]byte(m[:HeaderLen]), []byte(m[HeaderLen:]))
				return err
			}
			if tt.last == done || tt.last == cancel {
				if err := arrived(offer); err != nil {
					t.Fatal(err)
				}
				credits--
				r.Answer(rdmap.Handle{STag: 1, Len: 10})
				r.Placed(rdmap.Handle{STag: 1, Len: 10})
			}
			for range credits {
				if r.OutOfCredits() {
					t.Fatal("out of credits too early")
				}
				if err := arrived(grant); err != nil {
					t.Fatal(err)
				}
			}
			if !r.OutOfCredits() {
				t.Fatal("not out of credits")
			}
			r.GaveBack(back)
			if err := arrived(tt.last); (err == nil) != (tt.free || back > 0) || err != nil && !errors.Is(err, ErrStream) {
				t.Errorf("%x, %d credits back: %v", tt.last, back, err)
			}
		}
	}
}

// TestReceiverArrival: the Arrival of each message.
func TestReceiverArrival(t *testing.T) {
	for _, tt := range []struct {
		m    string
		want Arrival
	}{
		{"\x00\x00\x00\x05hello", Arrival{N: 5, Credits: 5}},
		{"\x00\x00\x01\x00", Arrival{Credits: 256, Buffer: ControlBuffer}},
		{"\x01\x00\x00\x00\x00\x01\x00\x00", Arrival{Kind: Offer, N: 1 << 16}},
		{"\x02\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x07\x00\x00\x00\x09\x00\x00\x00\x08", Arrival{
			Kind: Grant, N: 16, Credits: 2, Grant: rdmap.Handle{TO: 7, STag: 9, Len: 8}, Buffer: ControlBuffer,
		}},
		{"\x00\x01\x00\x00end", Arrival{N: 3, End: true}},
		{"\x00\x01\x00\x00", Arrival{End: true, Buffer: ExtraBuffer}},
	} {
		r := NewReceiver(1)
		got, err := r.Arrived([]byte(tt.m[:HeaderLen]), []byte(tt.m[HeaderLen:]))
		if got != tt.want || err != nil {
			t.Errorf("%x = %+v, %v, want %+v", tt.m, got, err, tt.want)
		}
	}
}

// TestReceiverCountsWhatIsPlaced: only bytes that fill the grant from its first byte on, without a
// gap and under its STag, count as placed.
func TestReceiverCountsWhatIsPlaced(t *testing.T) {
	r := NewReceiver(1)
	r.Answer(rdmap.Handle{STag: 7, TO: 100, Len: 50})
	for _, tt := range []struct {
		stag, to, n int
		placed      uint64
	}{{7, 101, 10, 0}, {8, 100, 10, 0}, {7, 100, 10, 10}, {7, 100, 10, 10}, {7, 110, 0, 10}, {7, 110, 40, 50}} {
		r.Placed(rdmap.Handle{STag: ddp.STag(tt.stag), TO: uint64(tt.to), Len: uint32(tt.n)})
		if r.placed != tt.placed {
			t.Errorf("%+v: %d bytes are placed", tt, r.placed)
		}
	}
}

// TestWindow: the window shrinks while there is too little memory, down to the allowance, and grows
// again up to its first size.
func TestWindow(t *testing.T) {
	w := Window{Now: 10, Most: 10, Least: 8, Unit: 100}
	for i, tt := range []struct {
		room         int64
		credits, now int
		reserved     int64
	}{
		{1000, 1, 10, 200}, {0, 1, 10, 200}, {-1, 0, 9, 100}, {-1, 0, 8, 0}, {-1, 1, 8, 0}, {99, 1, 8, 0},
		{100, 2, 9, 100}, {1000, 2, 10, 200}, {1000, 1, 10, 200},
	} {
		credits := w.HandBack(w.Change(tt.room))
		if credits != tt.credits || w.Now != tt.now || w.Reserved() != tt.reserved {
			t.Errorf("step %d: %d credits, window %d, %d bytes, want %+v", i, credits, w.Now, w.Reserved(), tt)
		}
	}
	if !w.IsOpen() || (&Window{}).IsOpen() {
		t.Error("IsOpen")
	}
}
