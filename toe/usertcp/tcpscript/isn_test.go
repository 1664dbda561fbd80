package tcpscript

import (
	"math"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testmode"
)

// The initial sequence numbers (RFC 6528): M + F(four-tuple, secret), where M is a clock and F a
// keyed hash. Both TCPs have a clock that ticks every 64 ns.
const tick = 64 * time.Nanosecond

// TestISN makes connections and looks at the initial sequence numbers in TCP's SYN-ACKs. Of the
// same four-tuple they grow like the clock, so an old segment does not fit a new connection. Those
// of different four-tuples, less the clock, look random: each bit is 1 in half of them, and the
// same upper 16 bits come again as often as by chance, in the numbers and in the differences of
// neighbours. A second Stack has another secret. Linux has one secret for all network namespaces.
func TestISN(t *testing.T) {
	connections := testmode.Count(10_000, 1000)
	for _, m := range makers(t) {
		t.Run(m.name, func(t *testing.T) {
			w, err := newWire(m, settings{})
			if err != nil {
				t.Fatal(err)
			}
			defer w.stop()
			other, err := newWire(m, settings{})
			if err != nil {
				t.Fatal(err)
			}
			defer other.stop()
			var isns [2][]uint32 // of different four-tuples, at the two TCPs
			for i, w := range []*wire{w, other} {
				l, err := w.listen(netip.AddrPortFrom(hostAddrs[0], hostPort))
				if err != nil {
					t.Fatal(err)
				}
				defer l.Close()
				isns[i] = differentTuples(t, w, connections)
			}
			sameTuple(t, w, connections/10)
			looksRandom(t, isns[0])
			if m.name != userTCP.name {
				return
			}
			both := make([]uint32, connections)
			for i := range both {
				both[i] = isns[0][i] - isns[1][i]
			}
			looksRandom(t, both)
		})
	}
}

// openHalf sends a SYN and returns the number in the answer, and the ticks of the clock before the
// SYN and after the answer. A RST ends the connection.
func openHalf(t *testing.T, w *wire, from netip.AddrPort) (isn uint32, before, after int64) {
	t.Helper()
	s := &segment{src: from, dst: netip.AddrPortFrom(hostAddrs[0], hostPort), flags: "S", seq: 1000, window: 65535}
	before = time.Since(epoch).Nanoseconds() / int64(tick)
	if _, err := w.link.Write(s.inIP(s.encode())); err != nil {
		t.Fatal(err)
	}
	limit, again := time.After(patience), time.NewTicker(patience/20)
	defer again.Stop()
	for {
		select {
		case <-again.C: // the connection before was not gone yet, as it may happen to any client
			if _, err := w.link.Write(s.inIP(s.encode())); err != nil {
				t.Fatal(err)
			}
		case p := <-w.sent:
			answer, ok := decode(p)
			if !ok || answer.dst != from || answer.flags != "S." {
				continue
			}
			after = time.Since(epoch).Nanoseconds() / int64(tick)
			s.flags, s.seq = "R", 1001
			if _, err := w.link.Write(s.inIP(s.encode())); err != nil {
				t.Fatal(err)
			}
			return answer.seq, before, after
		case <-limit:
			t.Fatalf("no answer to the SYN from %v", from)
		}
	}
}

// epoch is when the clock of the test begins.
var epoch = time.Now()

// differentTuples returns the numbers of n connections less the clock.
func differentTuples(t *testing.T, w *wire, n int) (isns []uint32) {
	for i := range n {
		from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 9, 0, byte(2 + i%100)}), uint16(1024+i/100))
		isn, before, _ := openHalf(t, w, from)
		isns = append(isns, isn-uint32(before))
	}
	return isns
}

// sameTuple opens n connections of one four-tuple one after another.
func sameTuple(t *testing.T, w *wire, n int) {
	t.Helper()
	from := netip.AddrPortFrom(scriptAddrs[0], 1)
	last, before, after := openHalf(t, w, from)
	for range n {
		isn, b, a := openHalf(t, w, from)
		grown := int64(int32(isn - last))
		// The clock is read somewhere between before and after. It may be a little coarse.
		const coarse = 10_000_000 / int64(tick) // 10 ms
		if grown <= 0 || grown < b-after-coarse || grown > a-before+coarse {
			t.Errorf("the number has grown by %d in %d to %d ticks", grown, b-after, a-before)
		}
		last, before, after = isn, b, a
	}
}

// looksRandom checks numbers that should be uniform and independent.
func looksRandom(t *testing.T, numbers []uint32) {
	t.Helper()
	n := float64(len(numbers))
	for bit := 16; bit < 32; bit++ { // the lower ones depend on the moment when the clock was read
		ones := 0.0
		for _, v := range numbers {
			ones += float64(v >> bit & 1)
		}
		if z := (ones - n/2) / math.Sqrt(n/4); math.Abs(z) > 5.5 {
			t.Errorf("bit %d is 1 in %v of %v numbers", bit, ones, n)
		}
	}
	// The differences of neighbours: an attacker sees one number, and guesses the next one.
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
		want := m - 65536*(1-math.Pow(1-1.0/65536, m)) // balls less the cells of 65536 that have one
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
