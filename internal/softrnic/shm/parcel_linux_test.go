package shm

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"sync/atomic"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
)

// A borrower is a reader that takes parcels, if it wants them.
type borrower struct {
	lender
	wants bool
	got   []toe.Parcel
	bytes [][]byte
}

func (b *borrower) Borrow(p []byte, in toe.Parcel) bool {
	if b.wants {
		b.got, b.bytes = append(b.got, in), append(b.bytes, p)
	}
	return b.wants
}

// bothPairs runs a test with the two ends of a connection in one process, and as in two.
func bothPairs(t *testing.T, test func(t *testing.T, a, b *Stream)) {
	for _, of := range []struct {
		desc string
		pair func(testing.TB) (a, b *Stream)
	}{{"one process", pairHere}, {"two processes", pair}} {
		t.Run(of.desc, func(t *testing.T) {
			a, b := of.pair(t)
			b.SetDeadline(prototest.Deadline(t))
			test(t, a, b)
		})
	}
}

// filled returns n bytes of payload, which are c, in a parcel of a.
func filled(t testing.TB, a *Stream, n int, c byte) (p toe.Parcel, payload []byte) {
	t.Helper()
	if p = a.NewParcel(n); p == nil {
		t.Fatal("no parcel")
	}
	payload = p.Memory()[:n]
	for i := range payload {
		payload[i] = c
	}
	return p, payload
}

// isFree reports whether a could get parcel i.
func isFree(a *Stream, i int) bool {
	a.out.mu.Lock()
	defer a.out.mu.Unlock()
	return (a.out.held|a.out.lent.Load())&(1<<i) == 0
}

// TestParcelPassed checks that a reader gets a payload where the writer has put it, in its place in
// the stream, and that the parcel is in use until both have released it.
func TestParcelPassed(t *testing.T) {
	bothPairs(t, func(t *testing.T, a, b *Stream) {
		p, payload := filled(t, a, ParcelLen, 'p')
		if n, err := a.TryWriteBatch([][]byte{[]byte("front"), payload, []byte("behind")}); n != ParcelLen+11 || err != nil {
			t.Fatal(n, err)
		}
		p.Release()
		buf := make([]byte, 100)
		l := &borrower{lender: func() []byte { return buf }, wants: true}
		read := func() int {
			n, _, err := b.ReadSegment(l, 0)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
		if n := read(); string(buf[:n]) != "front" {
			t.Fatalf("%q in front of the payload", buf[:n])
		}
		if n := read(); n != ParcelLen || len(l.got) != 1 || !bytes.Equal(l.bytes[0], payload) {
			t.Fatalf("%d bytes in %d parcels, want the %d of the payload", n, len(l.got), ParcelLen)
		}
		if payload[ParcelLen-1] = 'x'; l.bytes[0][ParcelLen-1] != 'x' {
			t.Error("the reader has a copy")
		}
		if n := read(); string(buf[:n]) != "behind" {
			t.Fatalf("%q behind the payload", buf[:n])
		}
		if isFree(a, 0) {
			t.Error("the parcel is free while the reader has it")
		}
		if l.got[0].Release(); !isFree(a, 0) {
			t.Error("the parcel is not free in the end")
		}
	})
}

// TestParcelCopied checks that a reader that takes no parcels gets the same bytes, in pieces of any
// length, and that each parcel is free then.
func TestParcelCopied(t *testing.T) {
	bothPairs(t, func(t *testing.T, a, b *Stream) {
		var want []byte
		for i := range 40 { // the ring is full now and then
			p, payload := filled(t, a, ParcelLen-i, byte(i))
			bufs := [][]byte{{1, 2, 3}, payload, {4}}
			want = append(append(append(want, 1, 2, 3), payload...), 4)
			for len(bufs) > 0 {
				n, err := a.TryWriteBatch(bufs)
				if err != nil {
					t.Fatal(err)
				}
				for ; len(bufs) > 0 && n >= len(bufs[0]); bufs = bufs[1:] {
					n -= len(bufs[0])
				}
				if len(bufs) > 0 {
					bufs[0] = bufs[0][n:]
					want = readSome(t, b, want, i)
				}
			}
			p.Release()
		}
		for len(want) > 0 {
			want = readSome(t, b, want, 7)
		}
		for i := range parcels {
			if !isFree(a, i) {
				t.Errorf("parcel %d is not free in the end", i)
			}
		}
	})
}

// readSome reads bytes, which must be the first of want, and returns the others.
func readSome(t *testing.T, b *Stream, want []byte, i int) []byte {
	t.Helper()
	buf := make([]byte, 1+i*5000)
	n, _, err := b.ReadSegment(&borrower{lender: func() []byte { return buf }}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n > len(want) || !bytes.Equal(buf[:n], want[:n]) {
		t.Fatalf("%d other bytes than were written", n)
	}
	return want[n:]
}

// TestParcelsAtRandom writes payloads in parcels and elsewhere, of random lengths, while a reader
// borrows some, keeps some of these for a while, and copies others.
func TestParcelsAtRandom(t *testing.T) {
	bothPairs(t, func(t *testing.T, a, b *Stream) {
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		rnd, next := rand.New(rand.NewPCG(seed, 1)), uint64(0)
		fill := func(p []byte) {
			for i := range p {
				p[i] = byte(next ^ next>>8)
				next++
			}
		}
		var writing [][]byte // what is not written yet
		var owned []toe.Parcel
		l := &borrower{}
		var at uint64 // in the stream
		check := func(p []byte, off uint64) {
			t.Helper()
			for i, c := range p {
				if want := byte((off + uint64(i)) ^ (off+uint64(i))>>8); c != want {
					t.Fatalf("byte %d is %#x, want %#x", off+uint64(i), c, want)
				}
			}
		}
		var kept []uint64 // where the bytes of l.bytes begin
		passed, none := 0, 0
		for range 4000 {
			switch rnd.IntN(4) {
			case 0:
				if len(writing) > 0 {
					break
				}
				for range 1 + rnd.IntN(5) {
					n := 1 + rnd.IntN(ParcelLen)
					if rnd.IntN(2) == 0 {
						n = PassedFrom + rnd.IntN(100) // of which the ring has room for more than there are
					}
					if p := a.NewParcel(n); p == nil {
						if n >= PassedFrom {
							none++
						}
						writing = append(writing, make([]byte, n))
					} else {
						owned = append(owned, p)
						writing = append(writing, p.Memory()[:n])
					}
					fill(writing[len(writing)-1])
				}
			case 1:
				n, err := a.TryWriteBatch(writing)
				if err != nil {
					t.Fatal(err)
				}
				for ; len(writing) > 0 && n >= len(writing[0]); writing = writing[1:] {
					n -= len(writing[0])
				}
				if len(writing) > 0 {
					writing[0] = writing[0][n:]
					break
				}
				for _, p := range owned {
					p.Release()
				}
				owned = owned[:0]
			case 2:
				if n, err := b.Pending(); n == 0 || err != nil {
					break
				}
				var buf []byte
				l.lender, l.wants = func() []byte { buf = make([]byte, 1+rnd.IntN(100_000)); return buf }, rnd.IntN(3) > 0
				had := len(l.got)
				n, off, err := b.ReadSegment(l, 0)
				if err != nil || off != at {
					t.Fatal(n, off, err)
				}
				if len(l.got) > had {
					passed++
					kept = append(kept, off)
				} else {
					check(buf[:n], off)
				}
				at += uint64(n)
			case 3:
				if len(l.got) <= rnd.IntN(40) {
					break
				}
				i := rnd.IntN(len(l.got))
				check(l.bytes[i], kept[i])
				l.got[i].Release()
				last := len(l.got) - 1
				l.got[i], l.bytes[i], kept[i] = l.got[last], l.bytes[last], kept[last]
				l.got, l.bytes, kept = l.got[:last], l.bytes[:last], kept[:last]
			}
		}
		if passed < 100 || none == 0 {
			t.Errorf("%d parcels were borrowed, and %d times there was none", passed, none)
		}
	})
}

// TestNoParcel checks when there is no parcel.
func TestNoParcel(t *testing.T) {
	bothPairs(t, func(t *testing.T, a, b *Stream) {
		if a.NewParcel(PassedFrom-1) != nil || a.NewParcel(ParcelLen+1) != nil {
			t.Error("a parcel of the wrong length")
		}
		var all []toe.Parcel
		for range parcels {
			p, _ := filled(t, a, PassedFrom, 1)
			all = append(all, p)
		}
		if a.NewParcel(PassedFrom) != nil {
			t.Error("one parcel more than there are")
		}
		if n, err := a.TryWriteBatch([][]byte{all[3].Memory()[:PassedFrom]}); n != PassedFrom || err != nil {
			t.Fatal(n, err)
		}
		if all[3].Release(); a.NewParcel(PassedFrom) != nil {
			t.Error("a parcel that the reader has not released")
		}
		readSome(t, b, bytes.Repeat([]byte{1}, PassedFrom), 10)
		p, _ := filled(t, a, PassedFrom, 2)
		if all[3] = p; a.NewParcel(PassedFrom) != nil {
			t.Error("one parcel more than there are")
		}
		if err := a.Close(); err != nil {
			t.Fatal(err)
		}
		for _, p := range all {
			p.Release()
		}
		if a.NewParcel(PassedFrom) != nil {
			t.Error("a parcel of a closed Stream")
		}
	})
}

// TestParcelPassedOnce checks that a payload that is written twice comes twice, although its parcel
// is free once the reader has released it.
func TestParcelPassedOnce(t *testing.T) {
	bothPairs(t, func(t *testing.T, a, b *Stream) {
		p, payload := filled(t, a, PassedFrom, 'p')
		if n, err := a.TryWriteBatch([][]byte{payload, payload}); n != 2*PassedFrom || err != nil {
			t.Fatal(n, err)
		}
		p.Release()
		want := bytes.Repeat([]byte{'p'}, 2*PassedFrom)
		want = readSome(t, b, want, 1)
		want = readSome(t, b, want, 2)
		if !isFree(a, 0) {
			t.Fatal("the parcel is not free")
		}
		filled(t, a, PassedFrom, 'x')
		for len(want) > 0 {
			want = readSome(t, b, want, 9)
		}
	})
}

// TestParcelAfterClose checks that both ends may use parcels when the connection has ended, and
// that the memory is unmapped after that.
func TestParcelAfterClose(t *testing.T) {
	bothPairs(t, func(t *testing.T, a, b *Stream) {
		var unmapped atomic.Int32
		for _, s := range []*Stream{a, b} {
			s.memory.unmap = func(b []byte) error {
				unmapped.Add(1)
				return unix.Munmap(b)
			}
		}
		maps := int32(1)
		if a.memory != b.memory {
			maps = 2
		}
		own, _ := filled(t, a, ParcelLen, 'o')
		p, payload := filled(t, a, ParcelLen, 'p')
		if n, err := a.TryWriteBatch([][]byte{payload}); n != ParcelLen || err != nil {
			t.Fatal(n, err)
		}
		p.Release()
		l := &closer{borrower: borrower{lender: func() []byte { return make([]byte, 8) }, wants: true}, a: a, b: b}
		if n, _, err := b.ReadSegment(l, 0); n != ParcelLen || err != nil {
			t.Fatal(n, err)
		}
		if got := l.bytes[0]; got[0] != 'p' || got[ParcelLen-1] != 'p' || own.Memory()[ParcelLen-1] != 'o' {
			t.Error("the payload has changed")
		}
		if n := unmapped.Load(); n != 0 {
			t.Errorf("%d of %d maps are gone while their parcels are in use", n, maps)
		}
		own.Release()
		l.got[0].Release()
		if n := unmapped.Load(); n != maps {
			t.Errorf("%d of %d maps are gone in the end", n, maps)
		}
		if _, _, err := b.ReadSegment(l, 0); err == nil {
			t.Error("the stream goes on")
		}
	})
}

// A closer gets a parcel while another goroutine closes both ends.
type closer struct {
	borrower
	a, b *Stream
}

func (c *closer) Borrow(b []byte, p toe.Parcel) bool {
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		c.a.Close()
		c.b.Close()
	}()
	<-closed
	return c.borrower.Borrow(b, p)
}

// TestHostileRefs checks that impossible refs end the stream, and cause no access to other memory.
func TestHostileRefs(t *testing.T) {
	for _, tt := range []struct {
		desc    string
		passed  uint64 // parcels
		at      uint64 // where the stream is at 8
		i, n    uint64
		success bool
	}{
		{"right", 1, 8, parcels - 1, ParcelLen, true},
		{"the last that is right", parcels, 8, 3, ParcelLen, true},
		{"too many", parcels + 1, 8, 3, ParcelLen, false},
		{"fewer than none", 1<<64 - 1, 8, 3, ParcelLen, false},
		{"in the past", 1, 7, 3, ParcelLen, false},
		{"far away", 1, 9 + ringLen, 3, ParcelLen, false},
		{"at the end of all numbers", 1, 1<<64 - 1, 3, ParcelLen, false},
		{"behind the last parcel", 1, 8, parcels, ParcelLen, false},
		{"far behind it", 1, 8, 1<<32 - 1, ParcelLen, false},
		{"too long", 1, 8, 3, ParcelLen + 1, false},
		{"far too long", 1, 8, 3, 1<<32 - 1, false},
		{"empty", 1, 8, 3, 0, false},
		{"longer than what is there", 1, 8 + ringLen/2 - ParcelLen + 1, 3, ParcelLen, false},
	} {
		for _, wants := range []bool{true, false} {
			a, b := pair(t)
			if _, err := a.Write(make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
			buf := make([]byte, 2*ringLen)
			l := &borrower{lender: func() []byte { return buf[:8] }, wants: wants}
			if n, _, err := b.ReadSegment(l, 0); n != 8 || err != nil {
				t.Fatal(n, err)
			}
			a.out.mu.Lock() // as a would, if it were hostile
			a.out.head.passed.Store(tt.passed)
			a.out.head.refs[0].at.Store(tt.at)
			a.out.head.refs[0].what.Store(tt.i<<32 | tt.n)
			a.out.head.produced.Store(8 + ringLen/2)
			a.out.mu.Unlock()
			l.lender = func() []byte { return buf }
			var err error
			for err == nil && len(l.got) == 0 {
				var n int
				if n, _, err = b.ReadSegment(l, 0); n == ParcelLen {
					break
				}
				if left, _ := b.Pending(); left == 0 && err == nil { // it has read all, as if that were right
					break
				}
			}
			if (err == nil) != tt.success || err != nil && !errors.Is(err, errPeer) {
				t.Errorf("%s, borrowed %t: %v", tt.desc, wants, err)
			}
			for _, p := range l.got {
				p.Release()
			}
		}
	}
}

// TestHostileLent checks a peer that says of all parcels that it has them, or that it has none of
// them: a writer without parcels writes to the ring.
func TestHostileLent(t *testing.T) {
	a, b := pair(t)
	b.in.lent.Store(1<<32 - 1)
	if a.NewParcel(PassedFrom) != nil {
		t.Error("a parcel that the peer says it has")
	}
	b.in.lent.Store(0)
	for i := range 5 * parcels {
		p, payload := filled(t, a, PassedFrom, byte(i))
		n, err := a.TryWriteBatch([][]byte{payload})
		if err != nil {
			t.Fatal(err)
		}
		if p.Release(); n == 0 { // the peer reads nothing
			break
		}
		b.in.lent.Store(0)
	}
	if err := a.Close(); err != nil {
		t.Fatal(err)
	}
}
