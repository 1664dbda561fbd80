package tcpscript

import (
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/usertcp/internal/turned"
)

// An isnWire makes connections to a Stack, to see its initial sequence numbers (RFC 6528): M +
// F(four-tuple, secret), where M is a clock that ticks every 64 ns and F a keyed hash.
type isnWire struct {
	*wire
	t     *testing.T
	clock *turned.Clock
	over  <-chan struct{} // when the test must stop waiting
}

// TestISN makes connections and checks the initial sequence numbers in TCP's SYN-ACKs. For the same
// four-tuple they grow with the clock, so an old segment does not fit a new connection. For
// different four-tuples, minus the clock, they look random: each bit is 1 in half of them, and the
// same upper 16 bits recur as often as by chance, in the numbers and in the differences of
// neighbors. A second Stack has another secret.
func TestISN(t *testing.T) {
	connections := testmode.Count(10_000, 1000)
	clock := turned.New(t)
	var isns [2][]uint32 // of different four-tuples, at the two TCPs
	for i := range isns {
		w, err := newWire(userTCP, settings{})
		if err != nil {
			t.Fatal(err)
		}
		defer w.stop()
		l, err := w.listen(netip.AddrPortFrom(hostAddrs[0], hostPort))
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		x := &isnWire{w, t, clock, prototest.TimeLimit(t).Done()}
		isns[i] = x.differentTuples(connections)
		x.sameTuple(connections / 10)
	}
	both := make([]uint32, connections)
	for i := range both {
		both[i] = isns[0][i] - isns[1][i]
	}
	looksRandom(t, isns[0])
	looksRandom(t, both)
}

// ticks returns the time in units of 64 ns.
func (x *isnWire) ticks() int64 { return x.clock.Now().UnixNano() >> 6 }

// send sends a segment and waits until TCP has answered, if it does.
func (x *isnWire) send(s *segment) {
	x.t.Helper()
	if _, err := x.link.Write(s.inIP(s.encode())); err != nil {
		x.t.Fatal(err)
	}
	x.clock.Settle()
}

// openHalf sends a SYN and returns the number in the answer. It then ends the connection with a
// RST, and lets some time pass.
func (x *isnWire) openHalf(from netip.AddrPort) (isn uint32) {
	x.t.Helper()
	s := &segment{src: from, dst: netip.AddrPortFrom(hostAddrs[0], hostPort), flags: "S", seq: 1000, window: 65535}
	x.send(s)
	for answered := false; !answered; {
		select {
		case p := <-x.sent: // from a goroutine of the test, for which the clock does not wait
			var answer segment
			if answer, answered = decode(p); answered {
				answered, isn = answer.dst == from && answer.flags == "S.", answer.seq
			}
		case <-x.over:
			x.t.Fatalf("no answer to the SYN from %v", from)
		}
	}
	s.flags, s.seq = "R", 1001
	x.send(s)
	x.clock.Advance(137 * time.Microsecond)
	return isn
}

// differentTuples returns the numbers of n connections minus the clock.
func (x *isnWire) differentTuples(n int) (isns []uint32) {
	for i := range n {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, 0, byte(2 + i%100)}), uint16(1024+i/100))
		now := x.ticks()
		isns = append(isns, x.openHalf(from)-uint32(now))
	}
	return isns
}

// sameTuple opens n connections of one four-tuple one after another.
func (x *isnWire) sameTuple(n int) {
	x.t.Helper()
	from := netip.AddrPortFrom(scriptAddrs[0], 1)
	before := x.ticks()
	last := x.openHalf(from)
	for range n {
		now := x.ticks()
		isn := x.openHalf(from)
		if grown := int64(isn - last); grown != now-before {
			x.t.Errorf("the number has grown by %d in %d ticks", grown, now-before)
		}
		last, before = isn, now
	}
}

// looksRandom checks numbers that should be uniform and independent.
func looksRandom(t *testing.T, numbers []uint32) {
	t.Helper()
	n := float64(len(numbers))
	for bit := range 32 {
		ones := 0.0
		for _, v := range numbers {
			ones += float64(v >> bit & 1)
		}
		if z := (ones - n/2) / math.Sqrt(n/4); math.Abs(z) > 5.5 {
			t.Errorf("bit %d is 1 in %v of %v numbers", bit, ones, n)
		}
	}
	// The differences of neighbors: an attacker sees one number, and guesses the next one.
	var differences []uint32
	for i := 1; i < len(numbers); i++ {
		differences = append(differences, (numbers[i]-numbers[i-1])>>16)
	}
	for what, values := range map[string][]uint32{"number": shifted(numbers), "difference": differences} {
		slices.Sort(values)
		equal := 0.0
		for i := 1; i < len(values); i++ {
			if values[i] == values[i-1] {
				equal++
			}
		}
		m := float64(len(values))
		want := m - 65536*(1-math.Pow(1-1.0/65536, m)) // the number of balls minus the number of occupied cells of 65536
		if math.Abs(equal-want) > 6*math.Sqrt(want)+6 {
			t.Errorf("%v of %v values of the %s come again, want about %.0f", equal, m, what, want)
		}
		t.Logf("%ss: %v of %v come again in the upper 16 bits, by chance it would be %.0f", what, equal, m, want)
	}
}

// shifted returns the upper 16 bits of each number.
func shifted(numbers []uint32) (upper []uint32) {
	for _, v := range numbers {
		upper = append(upper, v>>16)
	}
	return upper
}
