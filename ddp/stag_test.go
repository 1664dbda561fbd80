package ddp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestSTagStatistics registers a million Regions: no STag is 0 or given twice, no octet value is
// likelier than another, no difference between neighbors is frequent, and an STag that was given
// back is not preferred.
//
// RFC 5040 §8.1.1, requirement 8, asks for values that are hard to predict.
//
// SEC-5042-2.2.5-1, SEC-5042-5.1.1-2, SEC-5042-6.1.1-7, SEC-5042-6.1.1-9, RDMAP-5040-8.1.1-9,
// RDMAP-5040-8.1.1-10
func TestSTagStatistics(t *testing.T) {
	n := testmode.Cases(1_000_000)
	// A good source is above the 0.1 % point of chi-square once in a thousand times: only three in
	// a row count.
	for try := 1; ; try++ {
		worst, values := drawn(t, n)
		if worst < 330.5 { // 255 degrees of freedom
			checkSteps(t, values)
			t.Logf("%d STags: all different, none 0; chi-square of their octets at most %.0f (330 is p = 0.001)", n, worst)
			return
		}
		if try == 3 {
			t.Fatalf("chi-square of an octet's values is %.0f, three times above 330", worst)
		}
	}
}

// drawn registers n Regions, none of which is deregistered, and n more after that. It returns the
// worst chi-square of the four octets, and the first STags.
func drawn(t *testing.T, n int) (worst float64, values []STag) {
	d := new(Domain)
	b := make([]byte, 8)
	live := make(map[STag]bool, n)
	var histogram [4][256]int
	regions := make([]*Region, n)
	for i := range regions {
		r := register(t, d, b, RemoteRead, 0)
		s := r.STag()
		if s == 0 || live[s] {
			t.Fatalf("STag %v is 0 or in use", s)
		}
		live[s] = true
		regions[i] = r
		values = append(values, s)
		for k := range 4 {
			histogram[k][byte(s>>(8*k))]++
		}
		// TO and address agree modulo 8, and in nothing else: it is no address.
		if r.TO() < 1<<62 || r.TO() > 1<<63 {
			t.Fatalf("TO %#x is where an address can be", r.TO())
		}
	}
	for _, h := range histogram {
		want, chi := float64(n)/256, 0.0
		for _, got := range h {
			chi += (float64(got) - want) * (float64(got) - want) / want
		}
		worst = max(worst, chi)
	}
	for _, r := range regions {
		r.Deregister()
	}
	again := 0
	for range n {
		if live[register(t, d, b, RemoteRead, 0).STag()] {
			again++
		}
	}
	// By chance n²/2^32 of them: 233 of a million.
	if limit := int(2*uint64(n)*uint64(n)>>32) + 10; again > limit {
		t.Errorf("%d of %d STags were used before, want at most %d", again, n, limit)
	}
	t.Logf("%d of %d STags given back are used again by as many Regions", again, n)
	return worst, values
}

// checkSteps: one STag does not predict the next. "No difference between neighbors occurs > 4
// times"; by chance five times in 10^11 runs.
func checkSteps(t *testing.T, values []STag) {
	steps := make(map[STag]int, len(values))
	most := 0
	for i := 1; i < len(values); i++ {
		step := values[i] - values[i-1]
		steps[step]++
		most = max(most, steps[step])
	}
	if most > 4 {
		t.Errorf("a step between neighbors occurs %d times", most)
	}
	t.Logf("the commonest step between neighbors occurs %d times", most)
}

// TestGuessedSTags lets a peer guess. Each wrong STag ends its stream at the first attempt. The
// STags of other streams, which the peer may know, count as wrong ones.
//
// SEC-5042-5.1.1-1, SEC-5042-6.1.1-1, SEC-5042-6.1.1-3, SEC-5042-6.1.1-6
func TestGuessedSTags(t *testing.T) {
	rnd := seeded(t)
	domain, foreign := new(Domain), new(Domain)
	var memory []guarded
	exposed, known := map[STag]bool{}, []advertisement{}
	for i := range 64 {
		g := newGuarded(32)
		memory = append(memory, g)
		d, on := domain, uint64(stream)
		if i%4 == 1 {
			on++
		}
		if i%4 == 2 {
			d = foreign
		}
		r := register(t, d, g.mem, RemoteWrite, on)
		if d == domain && on == stream {
			exposed[r.STag()] = true
		} else {
			known = append(known, advertisement{stag: r.STag(), to: r.TO()})
		}
	}
	tries := testmode.Cases(1_000_000)
	hits, foreigners := 0, 0
	c := ReceiverConfig{Stream: NewStream(domain, stream)}
	payload := bytes.Repeat([]byte{0x5C}, 32)
	for i := range tries {
		a := advertisement{stag: STag(rnd.Uint32()), to: 1<<62 | rnd.Uint64()>>2}
		if i%2 == 0 {
			a = known[rnd.IntN(len(known))]
			foreigners++
		}
		if exposed[a.stag] {
			continue // a hit by chance: 16 in 2^32
		}
		r := NewReceiver(c) // a new connection
		var off uint64
		for range 2 { // the second attempt finds the stream ended
			u := append(TaggedHeader{Last: true, STag: a.stag, TO: a.to}.AppendTo(nil), payload...)
			r.Place(off, u)
			off += fpduLen(u)
			if r.Deliver(off) {
				hits++
			}
		}
		var e *Error
		if !errors.As(r.Err(), &e) || e.Code != CodeInvalidSTag && e.Code != CodeNotAssociated {
			t.Fatalf("STag %v: %v", a.stag, r.Err())
		}
		if r.failed.off != 0 {
			t.Fatalf("the stream ended at offset %d, not with the first attempt", r.failed.off)
		}
	}
	for i, g := range memory {
		if !untouched(g.all) {
			t.Errorf("memory %d has changed", i)
		}
	}
	if hits > 0 {
		t.Errorf("%d attempts were delivered", hits)
	}
	t.Logf("%d streams, each over after 1 attempt; %d of them with STags of other streams or Domains: 0 hits, 0 octets changed", tries, foreigners)
}

// TestRegistration: a Region of length zero is refused, so nothing can be reached through it
// (irdma's CVE-2023-25775 made it all of memory). A window cannot be empty either. Two Regions over
// the same memory have separate STags, rights, streams and lifetimes, and neither adds rights to
// the other.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRegistration(t *testing.T) {
	d := new(Domain)
	memory := newGuarded(64)
	for _, b := range [][]byte{nil, {}, memory.mem[:0], memory.mem[5:5]} {
		if r, err := d.Register(b, RemoteRead|RemoteWrite|RemoteAtomic, 0); !errors.Is(err, errRegionLength) || r != nil {
			t.Errorf("Register of %d octets: %v, %v", len(b), r, err)
		}
	}
	if len(d.regions) != 0 {
		t.Errorf("%d regions, want none", len(d.regions))
	}
	whole := register(t, d, memory.mem, RemoteWrite, stream)
	for _, c := range []struct{ off, n int }{{0, 0}, {64, 0}, {-1, 1}, {0, 65}, {64, 1}, {63, 2}, {math.MaxInt, 1}, {1, math.MaxInt}, {0, -1}, {math.MinInt, math.MinInt}} {
		if w, err := whole.Window(c.off, c.n, RemoteWrite); !isError(err, errOutside) {
			t.Errorf("Window(%d, %d) = %v, %v", c.off, c.n, w, err)
		}
	}
	alias := register(t, d, memory.mem[16:48:48], RemoteRead, stream)
	if whole.STag() == alias.STag() {
		t.Error("two Regions with one STag")
	}
	for _, c := range []struct {
		r    *Region
		need Access
		ok   bool
	}{{whole, RemoteWrite, true}, {whole, RemoteRead, false}, {alias, RemoteRead, true}, {alias, RemoteWrite, false}} {
		if _, err := d.Check(c.r.STag(), c.r.TO(), 32, c.need, stream); (err == nil) != c.ok {
			t.Errorf("%v through %v: %v", c.need, c.r.STag(), err)
		}
	}
	if _, err := d.Check(alias.STag(), alias.TO(), 33, RemoteRead, stream); err == nil {
		t.Error("the alias reaches octets of the other Region only")
	}
	whole.Deregister()
	if _, err := d.Check(alias.STag(), alias.TO(), 32, RemoteRead, stream); err != nil {
		t.Errorf("the alias ended with the other Region: %v", err)
	}
}

// TestRights tries every set of rights with every right that a segment can need, from the stream
// that the Region is for, from another of its Domain, and from another Domain; and Invalidate from
// each.
//
// DDP-5041-8.3.1-2, DDP-5041-8.3.1-3, DDP-5041-8.3.1-6, SEC-5042-2.2.2-1, SEC-5042-6.1.1-4 to
// SEC-5042-6.1.1-6, SEC-5042-6.3.5-1, SEC-5042-6.3.5-3, SEC-5042-6.4.5-2, RDMAP-5040-8.1.1-2,
// RDMAP-5040-8.1.1-3, RDMAP-5040-8.1.1-8
func TestRights(t *testing.T) {
	cells := 0
	for access := range Access(16) {
		for _, scope := range []uint64{0, stream} { // of all streams, or of one
			for _, from := range []string{"same stream", "same domain", "other domain"} {
				d, other := new(Domain), new(Domain)
				asked, on := d, uint64(stream)
				switch from {
				case "same domain":
					on++
				case "other domain":
					asked = other
				}
				r := register(t, d, make([]byte, 16), access, scope)
				desc := fmt.Sprintf("%v for stream %d, from %s", access, scope, from)
				for need := range Access(16) {
					cells++
					want, ok := accessCheck(0), true
					switch {
					case asked == other:
						want, ok = checkInvalidSTag, false
					case scope != 0 && on != scope:
						want, ok = checkNotAssociated, false
					case access&need != need:
						want, ok = checkAccess, false
					}
					_, err := asked.Check(r.STag(), r.TO(), 16, need, on)
					var e *AccessError
					if ok != (err == nil) || !ok && (!errors.As(err, &e) || checkOf(e) != want) {
						t.Errorf("%s: %v gives %v, want %v (%t)", desc, need, err, want, ok)
					}
				}
				cells++
				want := error(nil)
				switch {
				case asked == other:
					want = errInvalid
				case scope == 0:
					want = errNotInvalidatable
				case on != scope:
					want = errOtherStream
				case access&ReadSink != 0:
					want = errNotInvalidatable
				}
				if err := asked.Invalidate(r.STag(), on); !isError(err, want) { //nolint:errorlint // as promised
					t.Errorf("%s: Invalidate gives %v, want %v", desc, err, want)
				}
				if _, err := d.Check(r.STag(), r.TO(), 16, 0, scope); (err == nil) != (want != nil) {
					t.Errorf("%s: after Invalidate with %v the Region is there: %v", desc, want, err)
				}
			}
		}
	}
	t.Logf("%d cells", cells)
}

// TestNoAddresses: no STag, TO or header of a segment reveals where the memory is.
func TestNoAddresses(t *testing.T) {
	n := testmode.Cases(1_000_000)
	d := new(Domain)
	for range n {
		b := make([]byte, 64)
		r := register(t, d, b, RemoteRead, 0)
		address := address(b)
		wire := TaggedHeader{STag: r.STag(), TO: r.TO()}.AppendTo(nil)
		r.Deregister()
		var be, le [8]byte
		binary.BigEndian.PutUint64(be[:], address)
		binary.LittleEndian.PutUint64(le[:], address)
		// Five octets are enough of an address to be useful.
		if bytes.Contains(wire, be[3:]) || bytes.Contains(wire, le[:5]) {
			t.Fatalf("header %x has the address %#x", wire, address)
		}
	}
	t.Logf("%d headers, 0 with their Region's address", n)
}

// address returns where b is.
func address(b []byte) (a uint64) {
	fmt.Sscanf(fmt.Sprintf("%p", b), "0x%x", &a)
	return a
}
