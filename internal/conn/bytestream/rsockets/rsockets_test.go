package rsockets

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
)

// TestHeaderOfLibrdmacm reads a header that librdmacm has sent to siw, and writes the same header,
// except for the flag of the IO map.
func TestHeaderOfLibrdmacm(t *testing.T) {
	captured, err := hex.DecodeString("010201800000000000005650ab889000a9a81c000000000200007f7ca7f0b0009a8f2a0000010000")
	if err != nil {
		t.Fatal(err)
	}
	h, err := ParseHeader(captured)
	want := Header{
		Credits: 384, Slots: rdmap.Handle{TO: 0x5650ab889000, STag: 0xa9a81c00, Len: 2},
		Buffer: rdmap.Handle{TO: 0x7f7ca7f0b000, STag: 0x9a8f2a00, Len: 65536},
	}
	if err != nil || h != want {
		t.Fatalf("%+v, %v", h, err)
	}
	captured[1] = 0
	if got := h.AppendTo(nil); string(got) != string(captured) {
		t.Errorf("written as %x", got)
	}
	for word, want := range map[string]Word{
		"00080000": NewWord(OpData, 2048), "80010080": NewWord(OpCredits, 384), "000000e0": NewWord(OpControl, Disconnect),
	} {
		b, _ := hex.DecodeString(word)
		if w, err := ParseWord(binary.LittleEndian, b); err != nil || w != want {
			t.Errorf("%s: %08x, %v, want %08x", word, w, err, want)
		}
	}
}

// TestHalfLen: whatever bytes of a descriptor have arrived, the length is 0 or right.
func TestHalfLen(t *testing.T) {
	for n, want := range map[int]int{1: 1, 255: 255, 256: 256, 1000: 768, 64 << 10: 64 << 10, 100_000: 64 << 10, 1<<24 - 1: 255 << 16, 1<<31 - 1: MaxHalf} {
		if got := HalfLen(n); got != want {
			t.Errorf("%d: %d, want %d", n, got, want)
		}
		zero := 0
		for _, b := range binary.BigEndian.AppendUint32(nil, uint32(HalfLen(n))) {
			if b == 0 {
				zero++
			}
		}
		if zero != 3 {
			t.Errorf("%d: %#x has %d bytes that are not zero", n, HalfLen(n), 4-zero)
		}
	}
}

func TestHeaderOfAnother(t *testing.T) {
	good := Header{Credits: 16, Slots: rdmap.Handle{Len: 2}}.AppendTo(nil)
	for name, change := range map[string]func(b []byte) []byte{
		"version":     func(b []byte) []byte { b[0] = 2; return b },
		"flags":       func(b []byte) []byte { b[1] = 4; return b },
		"reserved":    func(b []byte) []byte { b[5] = 1; return b },
		"no slots":    func(b []byte) []byte { b[23] = 0; return b },
		"few credits": func(b []byte) []byte { b[3] = 3; return b },
		"short":       func(b []byte) []byte { return b[:39] },
	} {
		if _, err := ParseHeader(change([]byte(string(good)))); !errors.Is(err, ErrNoHeader) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if h, err := ParseHeader(append(good, 1)); err != nil || h.Credits != 16 {
		t.Errorf("more behind it: %+v, %v", h, err)
	}
}

// TestSequence replays a transfer of 10,000 bytes that was recorded between librdmacm and siw, as
// the receiver sees it.
func TestSequence(t *testing.T) {
	r := NewReceiver(8192, 384)
	if !r.Due() {
		t.Fatal("the second half is not due at once")
	}
	if limit, grants, half := r.Update(); limit != 384 || !grants || half != 1 {
		t.Fatalf("update: %d, %t, %d", limit, grants, half)
	}
	for _, n := range []uint32{2048, 4096, 2048} {
		filled, half, err := r.Arrived(n)
		if err != nil || half != 0 || filled != (r.arrived == 8192) {
			t.Fatalf("%d: filled %t, half %d, %v", n, filled, half, err)
		}
	}
	if off, n := r.Unread(); off != 0 || n != 8192 || r.Due() {
		t.Fatalf("unread %d at %d, due %t", n, off, r.Due())
	}
	r.Take(8191)
	if r.Due() {
		t.Fatal("due before the half is free")
	}
	r.Take(1)
	if limit, grants, half := r.Update(); limit != 387 || !grants || half != 0 || r.Due() {
		t.Fatalf("update: %d, %t, %d", limit, grants, half)
	}
}

// TestForged: numbers that a peer must not send are errors.
func TestForged(t *testing.T) {
	header := Header{Credits: 16, Slots: rdmap.Handle{Len: 2}, Buffer: rdmap.Handle{Len: 100}}
	for _, tt := range []struct {
		name string
		f    func(s *Sender, r *Receiver, e *Ends) error
		want string
	}{
		{"nothing", func(_ *Sender, r *Receiver, _ *Ends) error { _, _, err := r.Arrived(0); return err }, "0 bytes"},
		{"2^29-1 bytes", func(_ *Sender, r *Receiver, _ *Ends) error { _, _, err := r.Arrived(1<<29 - 1); return err }, "536870911 bytes"},
		{"beyond the half", func(_ *Sender, r *Receiver, _ *Ends) error { r.Update(); _, _, err := r.Arrived(1025); return err }, "1025 bytes"},
		{"half not granted", func(_ *Sender, r *Receiver, _ *Ends) error {
			_, _, err := r.Arrived(1024)
			_, _, err2 := r.Arrived(1)
			return errors.Join(err, err2)
		}, "room for 0"},
		{"no credit", func(_ *Sender, r *Receiver, _ *Ends) error {
			for range 16 {
				if _, _, err := r.Arrived(1); err != nil {
					return nil
				}
			}
			_, _, err := r.Arrived(1)
			return err
		}, "without a credit"},
		{"limit too high", func(s *Sender, _ *Receiver, _ *Ends) error { return s.Limited(17) }, "limit of 17"},
		{"limit back", func(s *Sender, _ *Receiver, _ *Ends) error { s.Data(1); return s.Limited(15) }, "limit of 15"},
		{"third descriptor", func(s *Sender, _ *Receiver, _ *Ends) error {
			return errors.Join(s.Lent(rdmap.Handle{Len: 1}), s.Lent(rdmap.Handle{Len: 1}))
		}, "descriptor"},
		{"data after shutdown", func(_ *Sender, _ *Receiver, e *Ends) error { return errors.Join(e.Heard(Shutdown), e.HeardData()) }, "shut"},
		{"shutdown twice", func(_ *Sender, _ *Receiver, e *Ends) error { return errors.Join(e.Heard(Shutdown), e.Heard(Shutdown)) }, "control 2"},
		{"unknown control", func(_ *Sender, _ *Receiver, e *Ends) error { return e.Heard(5) }, "control 5"},
		{"unknown word", func(*Sender, *Receiver, *Ends) error { return ErrWord(NewWord(OpIOMap, 0)) }, "word c0000000"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			err := tt.f(NewSender(header), NewReceiver(1024, 16), new(Ends))
			if !errors.Is(err, bytestream.ErrStream) || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("%v, want an ErrStream with %q", err, tt.want)
			}
		})
	}
}

// TestEnds: which word Close sends, for each state of both ends.
func TestEnds(t *testing.T) {
	shutdown, disconnect := NewWord(OpControl, Shutdown), NewWord(OpControl, Disconnect)
	for _, tt := range []struct {
		before   Ends
		next     End
		own      End
		w        Word
		tell     bool
		whenDone string
	}{
		{Ends{}, EndShut, EndShut, shutdown, true, "half close"},
		{Ends{}, EndGone, EndGone, disconnect, true, "close"},
		{Ends{Peer: EndShut}, EndShut, EndGone, disconnect, true, "half close behind the peer's"},
		{Ends{Own: EndShut}, EndShut, EndShut, 0, false, "half close twice"},
		{Ends{Own: EndShut}, EndGone, EndGone, disconnect, true, "close after half close"},
		{Ends{Own: EndGone, Peer: EndShut}, EndGone, EndGone, 0, false, "close of an end that is gone"},
		{Ends{Own: EndGone}, EndShut, EndGone, 0, false, "half close of an end that is gone"},
		{Ends{Peer: EndGone}, EndGone, EndGone, disconnect, true, "close behind the peer's"},
	} {
		e := tt.before
		w, tell := e.Close(tt.next)
		if w != tt.w || tell != tt.tell || e.Own != tt.own {
			t.Errorf("%s: %08x, %t, own end %v", tt.whenDone, w, tell, e.Own)
		}
	}
}

// A way is one direction between two ends: a Sender, the words under way, and a Receiver with its
// memory.
type way struct {
	tx     *Sender
	rx     *Receiver
	half   int
	words  []Word         // of the Sender
	writes []rdmap.Handle // and where the bytes of the OpData words are
	back   []Word         // of the Receiver
	slots  []rdmap.Handle // descriptors that come with back; Len 0: none
	lent   [2]bool        // halves that may be written to
	sent   int
	read   int
}

func newWay(half int, credits uint16) *way {
	w := &way{half: half, rx: NewReceiver(half, credits)}
	w.tx = NewSender(Header{Credits: credits, Slots: rdmap.Handle{Len: 2}, Buffer: w.handle(0)})
	w.lent[0] = true
	return w
}

func (w *way) handle(half int) rdmap.Handle {
	return rdmap.Handle{STag: 1, TO: uint64(half * w.half), Len: uint32(w.half)}
}

func (w *way) update() {
	for w.rx.Due() {
		limit, grants, half := w.rx.Update()
		h := rdmap.Handle{}
		if grants {
			h = w.handle(half)
			w.lent[half] = true
		}
		w.back, w.slots = append(w.back, NewWord(OpCredits, uint32(limit))), append(w.slots, h)
	}
}

// TestRandom lets both ends of one direction take turns at random. Every byte arrives in its place,
// correct ends accept all of each other's messages, and the direction never stalls.
func TestRandom(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		half := rapid.IntRange(1, 100).Draw(t, "half")
		credits := uint16(rapid.IntRange(MinCredits, 40).Draw(t, "credits"))
		w := newWay(half, credits)
		w.update()
		step := func(what int) (moved bool) {
			switch {
			case what == 0:
				n := w.tx.Room(rapid.IntRange(1, 150).Draw(t, "n"))
				if n == 0 {
					return false
				}
				to, word := w.tx.Data(n)
				if at := w.sent % (2 * half); int(to.TO) != at || int(to.TO)%half+n > half {
					t.Fatalf("%d bytes at %d, want %d", n, to.TO, at)
				}
				w.sent += n
				w.words, w.writes = append(w.words, word), append(w.writes, to)
			case what == 1 && len(w.words) > 0:
				if !w.lent[int(w.writes[0].TO)/half] {
					t.Fatalf("a write to half %d, which is not lent", int(w.writes[0].TO)/half)
				}
				filled, n, err := w.rx.Arrived(w.words[0].Data())
				if err != nil {
					t.Fatal(err)
				}
				if filled {
					w.lent[n] = false
				}
				w.words, w.writes = w.words[1:], w.writes[1:]
				w.update()
			case what == 2:
				off, n := w.rx.Unread()
				if n == 0 {
					return false
				}
				if off != w.read%(2*half) {
					t.Fatalf("unread at %d, want %d", off, w.read%(2*half))
				}
				n = rapid.IntRange(1, n).Draw(t, "read")
				w.rx.Take(n)
				w.read += n
				w.update()
			case what == 3 && len(w.back) > 0:
				if err := w.tx.Limited(uint16(w.back[0].Data())); err != nil {
					t.Fatal(err)
				}
				if err := w.tx.Lent(w.slots[0]); w.slots[0].Len > 0 && err != nil {
					t.Fatal(err)
				}
				w.back, w.slots = w.back[1:], w.slots[1:]
			default:
				return false
			}
			if out := int(w.tx.sent - w.rx.messages); out > int(credits-w.tx.spare) {
				t.Fatalf("%d messages outstanding with %d credits", out, credits)
			}
			return true
		}
		for range 300 {
			step(rapid.IntRange(0, 3).Draw(t, "step"))
		}
		for again := true; again; { // all that is under way arrives and is read
			again = step(1) || step(2) || step(3)
		}
		if w.read != w.sent || w.tx.Room(1) == 0 {
			t.Fatalf("%d bytes sent, %d read, room for %d more", w.sent, w.read, w.tx.Room(1))
		}
	})
}

// FuzzPeer: whatever words and slots a peer sends, nothing panics, each error is an ErrStream, the
// bytes that wait for Read lie in the buffer, and data goes only to descriptors of the peer.
func FuzzPeer(f *testing.F) {
	f.Add([]byte("\x01\x02\x01\x80\x00\x00\x00\x00\x00\x00VP\xab\x88\x90\x00\xa9\xa8\x1c\x00\x00\x00\x00\x02\x00\x00\x7f|\xa7\xf0\xb0\x00\x9a\x8f*\x00\x00\x01\x00\x00" +
		"\x00\x08\x00\x00\x80\x01\x00\x80\x00\x00\x00\xe0"))
	f.Fuzz(func(t *testing.T, in []byte) {
		h, err := ParseHeader(in)
		if err != nil {
			if !errors.Is(err, bytestream.ErrStream) {
				t.Fatal(err)
			}
			return
		}
		in = in[HeaderLen:]
		s, r, e := NewSender(h), NewReceiver(512, 16), Ends{}
		for len(in) > 0 {
			n := min(len(in), WordLen)
			w, err := ParseWord(h.Order(), in[:n])
			in = in[n:]
			if err == nil {
				switch w.Op() {
				case OpData:
					if err = e.HeardData(); err == nil {
						_, _, err = r.Arrived(w.Data())
					}
				case OpCredits:
					err = s.Limited(uint16(w.Data()))
					if len(in) >= SlotLen && w.Data()>>16&1 != 0 && err == nil {
						err = s.Lent(ParseSlot(h.Order(), in))
						in = in[SlotLen:]
					}
				case OpControl:
					err = e.Heard(w.Data())
				default:
					err = ErrWord(w)
				}
			}
			if err != nil {
				if !errors.Is(err, bytestream.ErrStream) {
					t.Fatal(err)
				}
				return
			}
			if off, n := r.Unread(); off < 0 || n < 0 || off+n > 1024 {
				t.Fatalf("unread: %d bytes at %d", n, off)
			} else {
				r.Take(n / 2)
			}
			for r.Due() {
				r.Update()
				s.Slot()
			}
			if n := s.Room(1000); n > 0 {
				left := s.space[0]
				if to, _ := s.Data(n); to.STag != left.STag || to.TO != left.TO || n > int(min(left.Len, 1000)) {
					t.Fatalf("%d bytes to %+v of %+v", n, to, left)
				}
			}
			e.Close(EndShut)
		}
	})
}

// TestAllocsPerMessage: a message and the peer's answer allocate nothing.
func TestAllocsPerMessage(t *testing.T) {
	s := NewSender(Header{Credits: 16, Slots: rdmap.Handle{Len: 2}, Buffer: rdmap.Handle{Len: 64}})
	r := NewReceiver(64, 16)
	r.Update()
	if n := testing.AllocsPerRun(500, func() {
		_, w := s.Data(s.Room(64))
		if _, _, err := r.Arrived(w.Data()); err != nil {
			t.Fatal(err)
		}
		_, n := r.Unread()
		r.Take(n)
		for r.Due() {
			limit, _, _ := r.Update()
			if s.Limited(limit) != nil || s.Lent(rdmap.Handle{Len: 64}) != nil {
				t.Fatal("refused")
			}
		}
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
