package rdmap

import (
	"bytes"
	"encoding/binary"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestFetchAdd lets four streams add to one word at the same time. The sum must be exact. Exactly
// one stream sees each value in between, and each stream sees rising values.
//
// "Atomic Operations are atomic with regard to each other": RFC 7306 §5.
func TestFetchAdd(t *testing.T) {
	const streams, batch = 4, 32
	each := testmode.Count(1_000_000, testmode.Rounds(10_000, 2000))
	domain := new(ddp.Domain)
	mem := aligned(24)
	r, err := domain.Register(mem, ddp.RemoteAtomic, 0)
	if err != nil {
		t.Fatal(err)
	}
	target := Handle{STag: r.STag(), TO: r.TO() + 8, Len: 8}
	seen := make([]atomic.Bool, streams*each)
	var wg sync.WaitGroup
	for range streams {
		wg.Add(1)
		go func() {
			defer wg.Done()
			x := newPair(t, params{domain: domain, ird: batch, ord: batch})
			last := int64(-1)
			for n := 0; n < each; {
				for range min(batch, each-n) {
					x.a.post(WorkRequest{Op: WorkFetchAdd, Remote: target, Operand: 1})
				}
				x.run()
				x.a.forget()
				x.b.forget()
				for _, c := range done(x.a.sendCQ) {
					if c.Status != StatusOK || c.Original >= uint64(len(seen)) || int64(c.Original) <= last || seen[c.Original].Swap(true) {
						t.Errorf("%v: original %d after %d", c, c.Original, last)
						return
					}
					last = int64(c.Original)
					n++
				}
			}
		}()
	}
	wg.Wait()
	if sum, err := load64(r, 8); err != nil || sum != uint64(streams*each) {
		t.Errorf("the word is %d, %v, want %d", sum, err, streams*each)
	}
	if !bytes.Equal(mem[:8], make([]byte, 8)) || !bytes.Equal(mem[16:], make([]byte, 8)) {
		t.Errorf("neighbors have changed: %x", mem)
	}
	t.Logf("%d streams × %d FetchAdds: the sum is exact, every value was seen once", streams, each)
}

// A swap is one CmpSwap, with the times of its request and its answer on a clock that all streams
// share.
type swap struct {
	from, to uint64 // the expected value, and the value stored if the word had it
	found    uint64
	called   int64
	back     int64
}

// TestCmpSwapHistory lets four streams compare and swap one word, each from the value that it saw
// last to a value that nobody else stores. The history must be linearizable: one order of all swaps
// explains the value that each has found, and a swap that ended before another began comes before
// it.
func TestCmpSwapHistory(t *testing.T) {
	const streams = 4
	each := testmode.Cases(200_000)
	domain := new(ddp.Domain)
	r, err := domain.Register(aligned(8), ddp.RemoteAtomic, 0)
	if err != nil {
		t.Fatal(err)
	}
	target := handle(r)
	var clock atomic.Int64
	histories := make([][]swap, streams)
	var wg sync.WaitGroup
	for i := range streams {
		wg.Add(1)
		go func() {
			defer wg.Done()
			x := newPair(t, params{domain: domain})
			var saw uint64
			for n := range each {
				s := swap{from: saw, to: uint64(n*streams+i) + 1, called: clock.Add(1)}
				x.a.post(WorkRequest{Op: WorkCmpSwap, Remote: target, Compare: s.from, Operand: s.to})
				x.run()
				all := done(x.a.sendCQ)
				s.back = clock.Add(1)
				if len(all) != 1 || all[0].Status != StatusOK {
					t.Errorf("%v", all)
					return
				}
				s.found = all[0].Original
				if saw = s.found; s.found == s.from {
					saw = s.to
				}
				histories[i] = append(histories[i], s)
				x.a.forget()
				x.b.forget()
			}
		}()
	}
	wg.Wait()
	all := slices.Concat(histories...)
	stored, problem := linearize(all)
	if problem != "" {
		t.Error(problem)
	}
	if final, _ := load64(r, 0); final != stored.last {
		t.Errorf("the word is %d, in the order found %d", final, stored.last)
	}
	// linearize finds faults: a history in which two swaps replaced the same value has no order.
	broken := append(slices.Clone(all), swap{from: all[0].found, to: 1 << 60, found: all[0].found, called: clock.Add(1), back: clock.Add(1)})
	if _, problem := linearize(broken); problem == "" {
		t.Error("the judge finds an order where there is none")
	}
	t.Logf("%d CmpSwaps of %d streams, %d stored: linearizable", len(all), streams, stored.n)
}

type stored struct {
	n    int
	last uint64
}

// linearize looks for an order. No value is stored twice, so the swaps that stored a value form a
// chain. A swap that found an unexpected value comes after the swap that stored that value.
func linearize(all []swap) (s stored, problem string) {
	next := map[uint64]swap{}    // by the value that it replaced
	finds := map[uint64][]swap{} // swaps that stored nothing, by the value that they found
	for _, c := range all {
		if c.found != c.from {
			finds[c.found] = append(finds[c.found], c)
			continue
		}
		if _, twice := next[c.from]; twice {
			return s, "two swaps replaced the same value"
		}
		next[c.from] = c
	}
	latest := int64(0) // when the last earlier swap was called
	place := func(c swap) bool {
		ok := c.back > latest
		latest = max(latest, c.called)
		return ok
	}
	placed := 0
	for value := uint64(0); ; {
		here := finds[value]
		slices.SortFunc(here, func(a, b swap) int { return int(a.called - b.called) })
		for _, c := range here {
			placed++
			if !place(c) {
				return s, "a value was found after one that replaced it was over"
			}
		}
		c, ok := next[value]
		if !ok {
			s.last = value
			break
		}
		placed++
		if !place(c) {
			return s, "a swap was over before one that it follows began"
		}
		s.n++
		value = c.to
	}
	if placed != len(all) {
		return s, "some swaps found values that were never there"
	}
	return s, ""
}

// TestOddAtomics: an atomic that is not aligned, not wholly inside, or whose request is not 52
// octets long ends the stream with the right Terminate, and no octet of memory changes (RFC 7306
// §8.2).
func TestOddAtomics(t *testing.T) {
	m := &targetMemory{domain: new(ddp.Domain), buf: make([]byte, targetRoom+128)}
	mem := aligned(64)
	for i := range mem {
		mem[i] = guardOctet
	}
	r, err := m.domain.Register(mem[16:48:48], ddp.RemoteAtomic, 0)
	if err != nil {
		t.Fatal(err)
	}
	cases := 0
	judge := func(desc string, u []byte, want verdict) {
		x := m.newTarget(true, 1)
		x.hit(u)
		if got, err := x.see(); got != want || err != nil {
			t.Errorf("%s: %+v, %v, want %+v", desc, got, err, want)
		}
		for i, o := range mem {
			if o != guardOctet {
				t.Fatalf("%s: octet %d has changed", desc, i)
			}
		}
		cases++
	}
	request := func(op AtomicOp, to uint64) []byte {
		return AtomicRequest{Op: op, STag: r.STag(), TO: to, Data: 1, Mask: allBits, Compare: 0xA5A5A5A5A5A5A5A5, CompareMask: allBits}.AppendTo(nil)
	}
	for _, op := range []AtomicOp{AtomicFetchAdd, AtomicCmpSwap} {
		for off := range uint64(96) {
			off -= 32
			to := r.TO() + off
			want := refused(0, 1, 1)
			if off <= 32-8 {
				if off%8 == 0 {
					continue // this length is right
				}
				want = refused(0, 2, 7)
			}
			judge("offset", untagged(OpAtomicRequest, 1, 1, request(op, to)), want)
		}
		judge("a wrap", untagged(OpAtomicRequest, 1, 1, request(op, ^uint64(0)-6)), refused(0, 1, 4))
		for n := range 60 {
			want := refused(0, 2, 0xFF)
			switch {
			case n == 52:
				continue
			case n > 52:
				want = refused(1, 2, 5)
			}
			judge("length", untagged(OpAtomicRequest, 1, 1, append(request(op, r.TO()), make([]byte, 8)...)[:n]), want)
		}
	}
	for op := range 16 {
		if op != int(AtomicFetchAdd) && op != int(AtomicCmpSwap) {
			judge("operation code", untagged(OpAtomicRequest, 1, 1, request(AtomicOp(op), r.TO())), refused(0, 2, 6))
		}
	}
	// Responses that are not 12 octets long, or answer another request, complete nothing.
	for n := range 20 {
		x := newPair(t, params{})
		x.a.post(WorkRequest{ID: 1, Op: WorkFetchAdd, Remote: Handle{STag: 1, Len: 8}})
		x.a.transmit()
		b := binary.BigEndian.AppendUint64(AtomicResponse{ID: 1}.AppendTo(nil), 0)[:n]
		if n == 12 {
			b[3] = 9
		}
		x.a.inject(untagged(OpAtomicResponse, 3, 1, b))
		if all := done(x.a.sendCQ); len(all) != 1 || all[0].Status == StatusOK {
			t.Errorf("a response of %d octets: %v", n, all)
		}
		cases++
	}
	t.Logf("%d odd atomics: refused, 0 octets changed", cases)
}
