package ddp

import (
	"bytes"
	"errors"
	"testing"
)

// Tests of the parts of RFC 5042 that DDP alone implements: STags, and the memory behind them.

// "Protection Domain scope. The STag is valid if used on any Stream within a specific Protection
// Domain, and is invalid if used on any Stream that is not a member". "Single Stream scope. The
// STag is valid on a single Stream". "Protection Domain membership is checked by the RNIC prior to
// taking any action": here placement, in order and early, reading, atomics and invalidation.
//
// SEC-5042-2.2.4-2, SEC-5042-2.2.5-2, SEC-5042-2.2.5-3, SEC-5042-6.1.1-4 to SEC-5042-6.1.1-6
func TestRFC5042_2_2_5_Scopes(t *testing.T) {
	const all = RemoteRead | RemoteWrite | RemoteAtomic
	mine, other := new(Domain), new(Domain)
	for _, tt := range []struct {
		desc   string
		scope  uint64
		domain *Domain // of the stream that uses the STag
		stream uint64
		ok     bool
	}{
		{"domain scope, a stream of it", 0, mine, 1, true},
		{"domain scope, another stream of it", 0, mine, 2, true},
		{"domain scope, the same stream number outside", 0, other, 1, false},
		{"stream scope, that stream", 1, mine, 1, true},
		{"stream scope, another one of the domain", 1, mine, 2, false},
		{"stream scope, the same stream number outside", 1, other, 1, false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := newGuarded(8)
			r := register(t, mine, g.mem, all, tt.scope)
			ulpdu := tagged(TaggedHeader{Last: true, STag: r.STag(), TO: r.TO()}, 8)
			receiver := func() *Receiver {
				return NewReceiver(ReceiverConfig{Stream: NewStream(tt.domain, tt.stream), Queues: [NumQueues]*Queue{NewQueue(1, 0)}})
			}
			rx := receiver()
			rx.Place(0, bytes.Clone(ulpdu))
			if rx.Deliver(fpduLen(ulpdu)) != tt.ok || (rx.Err() == nil) != tt.ok {
				t.Errorf("Place: %v", rx.Err())
			}
			if untouched(g.mem) == tt.ok {
				t.Errorf("Place has left %x", g.mem)
			}
			for i := range g.mem {
				g.mem[i] = guard
			}
			if receiver().TryPlace(100, bytes.Clone(ulpdu)) != tt.ok || untouched(g.mem) == tt.ok {
				t.Errorf("TryPlace has left %x", g.mem)
			}
			for _, need := range []Access{RemoteRead, RemoteAtomic} {
				if _, err := tt.domain.Check(r.STag(), r.TO(), 8, need, tt.stream); (err == nil) != tt.ok {
					t.Errorf("Check(%v): %v", need, err)
				}
			}
			gone := tt.ok && tt.scope != 0 // a shared STag may not be invalidated
			if err := tt.domain.Invalidate(r.STag(), tt.stream); (err == nil) != gone {
				t.Errorf("Invalidate: %v", err)
			}
			if valid := mine.lookup(r.STag()) != nil; valid == gone {
				t.Errorf("afterwards the STag is valid: %t", valid)
			}
		})
	}
}

// "an implementation should allocate STags in such a fashion that it is difficult to predict the
// next allocated STag number, and also ensure that STags are reused at as slow a rate as possible.
// Any allocation method that would lead to intentional or unintentional reuse of an STag by the
// peer should be avoided (e.g., a method that always starts with a given STag and monotonically
// increases it …, or a method that always uses the same STag for each operation)". STags are drawn
// at random from 2^32, so each draw repeats a given earlier STag with probability 2^-32, freed or
// not.
//
// SEC-5042-5.1.1-2, SEC-5042-6.1.1-7 to SEC-5042-6.1.1-9
func TestRFC5042_6_1_1_STagsComeAgainByChanceOnly(t *testing.T) {
	const n = 100_000 // so 1.2 repetitions are expected; more than 12 happen once in 10^8 runs
	seen := make(map[STag]bool, n)
	mem := make([]byte, 1)
	d := new(Domain)
	again, up := 0, 0
	var last STag
	for range n {
		r := register(t, d, mem, RemoteRead, stream)
		r.Deregister() // its STag is free at once
		if seen[r.STag()] {
			again++
		}
		if r.STag() > last {
			up++
		}
		seen[r.STag()], last = true, r.STag()
	}
	if again > 12 {
		t.Errorf("%d of %d STags have been used before", again, n)
	}
	if up < n*48/100 || up > n*52/100 { // 20 standard deviations
		t.Errorf("%d of %d STags are higher than the one before", up, n)
	}
	first := map[STag]bool{}
	for range 1000 { // two of these may be the same once in 8000 runs, three never
		first[register(t, new(Domain), mem, RemoteRead, stream).STag()] = true
	}
	if len(first) < 999 {
		t.Errorf("1000 Domains begin with only %d STags", len(first))
	}
}

// TestRFC5042_6_2_2_FoundBeforeRevoked: an access that has found a Region before it is revoked, and
// checks it afterwards, is refused: a placement, an atomic, the source of a Read Response and a
// window alike.
//
// "An RNIC MUST ensure that network packets using the STag for a previously Advertised Buffer can
// no longer modify the buffer after the ULP revokes remote access rights"
// SEC-5042-6.2.2-1, SEC-5042-6.2.2-2
func TestRFC5042_6_2_2_FoundBeforeRevoked(t *testing.T) {
	r := register(t, new(Domain), make([]byte, 64), RemoteRead|RemoteWrite|RemoteAtomic, stream)
	w, err := r.Window(8, 8, RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	refused := func(desc string, err error) {
		t.Helper()
		var e *AccessError
		if !errors.As(err, &e) || checkOf(e) != checkInvalidSTag {
			t.Errorf("%s: %v, want an invalid STag", desc, err)
		}
	}
	r.Deregister()
	for _, need := range []Access{RemoteRead, RemoteWrite, RemoteAtomic, 0} {
		_, err := r.hold(r.TO(), 8, need, NewStream(r.domain, stream))
		refused("the Region", err)
	}
	_, err = w.hold(w.TO(), 8, RemoteWrite, NewStream(w.domain, stream))
	refused("its window", err)
	_, err = r.Update64(0, func(v uint64) uint64 { return v + 1 })
	refused("an atomic", err)
}
