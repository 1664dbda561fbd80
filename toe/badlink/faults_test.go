package badlink_test

import (
	"bytes"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/gopacket/layers"

	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/badlink"
)

// endless is a Hold that no test reaches.
const endless = 24 * time.Hour

// TestProbabilities: the frequency of each fault is within five standard deviations of a binomial
// distribution. The seeds are fixed, so each run gives the same numbers.
func TestProbabilities(t *testing.T) {
	n := testmode.Count(20_000, 5_000)
	packet := flows()["IPv4"].segment(t, make([]byte, 100), nil)
	for _, test := range []struct {
		desc   string
		faults func(p float64) badlink.Faults
		count  func(s badlink.Stats) uint64
	}{
		{"Loss", func(p float64) badlink.Faults { return badlink.Faults{Loss: p} }, func(s badlink.Stats) uint64 { return s.Lost }},
		{"Corrupt", func(p float64) badlink.Faults { return badlink.Faults{Corrupt: p} }, func(s badlink.Stats) uint64 { return s.Corrupted }},
		{"CorruptRepaired", func(p float64) badlink.Faults { return badlink.Faults{CorruptRepaired: p} },
			func(s badlink.Stats) uint64 { return s.Repaired }},
		{"Duplicate", func(p float64) badlink.Faults { return badlink.Faults{Duplicate: p} },
			func(s badlink.Stats) uint64 { return s.Duplicated }},
		{"Split", func(p float64) badlink.Faults { return badlink.Faults{Split: p} }, func(s badlink.Stats) uint64 { return s.Split }},
		{"Reorder", func(p float64) badlink.Faults { return badlink.Faults{Reorder: p} }, func(s badlink.Stats) uint64 { return s.Reordered }},
	} {
		t.Run(test.desc, func(t *testing.T) {
			for seed, p := range []float64{0, 0.001, 0.05, 0.5, 0.9, 1} {
				faults := test.faults(p)
				faults.Queue, faults.Hold = n*4, endless
				a, _ := pipe(t, badlink.Config{Seed: uint64(seed), AB: faults})
				for range n {
					a.Write(packet)
				}
				s := a.Stats()
				balance(t, s)
				got, mean := float64(test.count(s)), p*float64(n)
				bound := 5 * math.Sqrt(mean*(1-p))
				if math.Abs(got-mean) > bound {
					t.Errorf("%v of %d packets, want %v ± %.0f", got, n, mean, bound)
				}
				t.Logf("probability %v, seed %d: %v of %d", p, seed, got, n)
			}
		})
	}
}

// lost returns the numbers of those of n packets that do not arrive.
func lost(t *testing.T, cfg badlink.Config, n int) (numbers []int) {
	t.Helper()
	cfg.AB.Queue = n * 2
	cfg.AB.Hold = endless
	a, b := pipe(t, cfg)
	for i := range n {
		a.Write(numbered(i, 60))
	}
	came := make([]bool, n)
	s := a.Stats()
	for range s.Waiting - int(s.Reordered) { // at least this many are not held back
		p := make([]byte, 100)
		m, err := b.Read(p)
		if err != nil {
			t.Fatal(err)
		}
		came[number(p[:m])] = true
	}
	for i := range came {
		if !came[i] {
			numbers = append(numbers, i)
		}
	}
	return numbers
}

// TestSeed: which packets are lost depends on the seed and the direction, but not on other faults
// or on the run.
func TestSeed(t *testing.T) {
	const n = 1000
	loss := func(seed uint64, more badlink.Faults) []int {
		more.Loss = 0.1
		return lost(t, badlink.Config{Seed: seed, AB: more}, n)
	}
	want := loss(1, badlink.Faults{})
	if again := loss(1, badlink.Faults{}); !slices.Equal(again, want) {
		t.Errorf("the same seed lost %v and then %v", want, again)
	}
	if more := loss(1, badlink.Faults{Duplicate: 0.3, Split: 0.5, Merge: 0.5}); !slices.Equal(more, want) {
		t.Errorf("with other faults besides, %v were lost instead of %v", more, want)
	}
	if other := loss(2, badlink.Faults{}); slices.Equal(other, want) {
		t.Errorf("two seeds lost the same packets: %v", want)
	}
	a, b := pipe(t, badlink.Config{Seed: 1, BA: badlink.Faults{Loss: 0.1}})
	came := 0
	for i := range n {
		b.Write(numbered(i, 60))
		came = int(b.Stats().In - b.Stats().Lost)
	}
	var back []int
	seen := make(map[int]bool)
	for range came {
		p := make([]byte, 100)
		m, _ := a.Read(p)
		seen[number(p[:m])] = true
	}
	for i := range n {
		if !seen[i] {
			back = append(back, i)
		}
	}
	if slices.Equal(back, want) {
		t.Errorf("both directions lost the same packets: %v", want)
	}
}

// TestBurst: the share of lost packets, and the mean length of a burst, are those of the model.
func TestBurst(t *testing.T) {
	n := testmode.Count(1_000_000, 100_000)
	model := badlink.Burst{Enter: 0.01, Leave: 0.2, Loss: 1}
	numbers := lost(t, badlink.Config{Seed: 3, AB: badlink.Faults{Burst: model}}, n)
	bursts := 0
	for i := range numbers {
		if i == 0 || numbers[i] != numbers[i-1]+1 {
			bursts++
		}
	}
	share, length := float64(len(numbers))/float64(n), float64(len(numbers))/float64(bursts)
	t.Logf("%d packets: %.2f %% lost in %d bursts of %.2f packets", n, 100*share, bursts, length)
	if want := model.Enter / (model.Enter + model.Leave); math.Abs(share-want) > 0.1*want {
		t.Errorf("%v of the packets were lost, want %v", share, want)
	}
	if want := 1 / model.Leave; math.Abs(length-want) > 0.1*want {
		t.Errorf("bursts have %v packets, want %v", length, want)
	}
}

// TestBurstEnds: a direction leaves a burst when its faults no longer have bursts.
func TestBurstEnds(t *testing.T) {
	a, b := pipe(t, badlink.Config{AB: badlink.Faults{Burst: badlink.Burst{Enter: 1, Loss: 1}}})
	a.Write(numbered(0, 60))
	if err := a.SetFaults(badlink.Faults{Loss: 1}); err != nil {
		t.Fatal(err)
	}
	a.Write(numbered(1, 60))
	if s := a.Stats(); s.Lost != 2 {
		t.Errorf("%d packets were lost, want 2", s.Lost)
	}
	if err := a.SetFaults(badlink.Faults{}); err != nil {
		t.Fatal(err)
	}
	a.Write(numbered(2, 60))
	if got := drain(t, a, b); len(got) != 1 || number(got[0]) != 2 {
		t.Errorf("%d packets arrived, want the last one", len(got))
	}
}

// TestBurstEndsOnACleanLink: the same holds if the direction had no faults at all in between,
// whether packets passed then or not, and whether they had to wait or not.
func TestBurstEndsOnACleanLink(t *testing.T) {
	for _, passed := range []int{0, 1, 2} {
		a, b := pipe(t, badlink.Config{AB: badlink.Faults{Burst: badlink.Burst{Enter: 1, Loss: 1}}})
		a.Write(numbered(0, 60))
		for _, f := range []badlink.Faults{{}, {Burst: badlink.Burst{Loss: 1}}} {
			if err := a.SetFaults(f); err != nil {
				t.Fatal(err)
			}
			for i := range passed {
				a.Write(numbered(1+i, 60))
			}
		}
		a.Write(numbered(9, 60))
		if got := drain(t, a, b); len(got) != 2*passed+1 || a.Stats().Lost != 1 {
			t.Errorf("%d packets arrived, want %d: %+v", len(got), 2*passed+1, a.Stats())
		}
	}
}

// TestReorder: reordering loses and changes nothing. A packet that is held back is overtaken by 1
// to ReorderBy packets that are not.
func TestReorder(t *testing.T) {
	const n, by = 2000, 5
	a, b := pipe(t, badlink.Config{Seed: 4, AB: badlink.Faults{Reorder: 0.2, ReorderBy: by, Hold: endless, Queue: 2 * n}})
	for i := range n {
		a.Write(numbered(i, 60))
	}
	if err := a.SetFaults(badlink.Faults{Queue: 2 * n}); err != nil {
		t.Fatal(err)
	}
	for i := range by { // these overtake the packets that are still held back
		a.Write(numbered(n+i, 60))
	}
	s := a.Stats()
	place := make([]int, n+by) // of each packet, and one more
	for i, p := range drain(t, a, b) {
		k := number(p)
		if place[k] != 0 || !bytes.Equal(p, numbered(k, 60)) {
			t.Fatalf("packet %d came twice, or changed", k)
		}
		place[k] = i + 1
	}
	if i := slices.Index(place, 0); i >= 0 {
		t.Fatalf("packet %d did not arrive", i)
	}
	held := make([]bool, n+by) // packets that are not held back are not overtaken
	for k := range place {
		held[k] = slices.ContainsFunc(place[k:], func(p int) bool { return p < place[k] })
	}
	var late uint64
	for k := range place {
		if !held[k] {
			continue
		}
		late++
		overtaken := 0
		for j := k + 1; j < len(place); j++ {
			if !held[j] && place[j] < place[k] {
				overtaken++
			}
		}
		if overtaken < 1 || overtaken > by {
			t.Errorf("packet %d was overtaken by %d others, want 1 to %d", k, overtaken, by)
		}
	}
	if t.Logf("%d packets were held back", late); late != s.Reordered || late < n/10 {
		t.Errorf("%d packets were overtaken, and %d were held back", late, s.Reordered)
	}
}

// TestReorderBy1 swaps each packet with the next: of two, the first is held back.
func TestReorderBy1(t *testing.T) {
	a, b := pipe(t, badlink.Config{AB: badlink.Faults{Reorder: 1, ReorderBy: 1, Hold: endless}})
	for i := range 6 {
		faults := badlink.Faults{ReorderBy: 1, Hold: endless}
		faults.Reorder = float64((i + 1) % 2)
		if err := a.SetFaults(faults); err != nil {
			t.Fatal(err)
		}
		a.Write(numbered(i, 60))
	}
	var order []int
	for _, p := range drain(t, a, b) {
		order = append(order, number(p))
	}
	if want := []int{1, 0, 3, 2, 5, 4}; !slices.Equal(order, want) {
		t.Errorf("the packets arrived in the order %v, want %v", order, want)
	}
}

// TestDuplicate: copies are equal and come at once.
func TestDuplicate(t *testing.T) {
	const n = 100
	a, b := pipe(t, badlink.Config{AB: badlink.Faults{Duplicate: 1}})
	for i := range n {
		a.Write(numbered(i, 60+i))
	}
	got := drain(t, a, b)
	if len(got) != 2*n {
		t.Fatalf("%d packets arrived, want %d", len(got), 2*n)
	}
	for i, p := range got {
		if !bytes.Equal(p, numbered(i/2, 60+i/2)) {
			t.Errorf("packet %d is %x", i, p)
		}
	}
}

// TestDuplicateOfReordered: the copy of a packet that is held back comes before it.
func TestDuplicateOfReordered(t *testing.T) {
	a, b := pipe(t, badlink.Config{AB: badlink.Faults{Duplicate: 1, Reorder: 1, ReorderBy: 1, Hold: endless}})
	a.Write(numbered(7, 60))
	got := drain(t, a, b)
	if len(got) != 2 || !bytes.Equal(got[0], got[1]) {
		t.Errorf("%d packets arrived: %x", len(got), got)
	}
}

// differences returns the offsets of the bits in which p and q differ.
func differences(p, q []byte) (bits []int) {
	for i := range p {
		for j := range 8 {
			if (p[i]^q[i])>>(7-j)&1 != 0 {
				bits = append(bits, 8*i+j)
			}
		}
	}
	return bits
}

// TestCorrupt: one bit of the segment is inverted, and every receiver detects it by the checksum.
func TestCorrupt(t *testing.T) {
	for desc, f := range flows() {
		t.Run(desc, func(t *testing.T) {
			a, b := pipe(t, badlink.Config{Seed: 5, AB: badlink.Faults{Corrupt: 1}})
			places := make(map[int]bool)
			for i := range 500 {
				want := f.segment(t, make([]byte, i%100), nil)
				a.Write(want)
				got := drain(t, a, b)[0]
				d := differences(got, want)
				if len(got) != len(want) || len(d) != 1 || d[0] < 8*(len(want)-i%100-len(transport(t, want))) {
					t.Fatalf("%x became %x", want, got)
				}
				places[d[0]] = true
				if checksum(t, got) {
					t.Fatalf("the checksum of %x is right", got)
				}
			}
			if len(places) < 100 {
				t.Errorf("only %d different bits were inverted", len(places))
			}
		})
	}
}

// TestCorruptRepaired: one bit of the payload is inverted, and the checksum is right. Without
// payload nothing changes.
func TestCorruptRepaired(t *testing.T) {
	for desc, f := range flows() {
		t.Run(desc, func(t *testing.T) {
			a, b := pipe(t, badlink.Config{Seed: 6, AB: badlink.Faults{CorruptRepaired: 1}})
			for i := range 500 {
				payload := bytes.Repeat([]byte{byte(i)}, i%100)
				want := f.segment(t, payload, nil)
				a.Write(want)
				got := drain(t, a, b)[0]
				changed := decode(t, got).Payload
				if d := differences(changed, payload); len(changed) != len(payload) || len(d) != min(1, len(payload)) {
					t.Fatalf("payload %x became %x", payload, changed)
				}
				if len(payload) == 0 && !bytes.Equal(got, want) {
					t.Fatalf("%x became %x", want, got)
				}
			}
			if s := a.Stats(); s.Repaired != 495 {
				t.Errorf("%d packets were changed, want 495", s.Repaired)
			}
		})
	}
}

// TestCorruptOther: in a packet without TCP any bit may be inverted.
func TestCorruptOther(t *testing.T) {
	a, b := pipe(t, badlink.Config{AB: badlink.Faults{Corrupt: 1, CorruptRepaired: 1}})
	want := flows()["IPv4"].datagram(t, make([]byte, 100))
	a.Write(want)
	if got := drain(t, a, b)[0]; len(differences(got, want)) != 1 {
		t.Errorf("%x became %x", want, got)
	}
	a.Write([]byte{0x45})
	if got := drain(t, a, b)[0]; len(got) != 1 || got[0] == 0x45 {
		t.Errorf("a packet of one byte became %x", got)
	}
	if s := a.Stats(); s.Corrupted != 2 || s.Repaired != 0 {
		t.Errorf("%+v", s)
	}
}

// transport returns the TCP header of a packet that gopacket has made.
func transport(t *testing.T, b []byte) []byte { return decode(t, b).Contents }

// checksum reports whether the TCP checksum is right, by the definition (RFC 1071): words are added
// one by one.
func checksum(t *testing.T, b []byte) bool {
	t.Helper()
	header, addresses := 20, b[12:20]
	if b[0]>>4 == 6 {
		header, addresses = 40, b[8:40]
	}
	words := append(append([]byte(nil), addresses...), 0, byte(layers.IPProtocolTCP), byte((len(b)-header)>>8), byte(len(b)-header))
	words = append(words, b[header:]...)
	if len(words)%2 != 0 {
		words = append(words, 0)
	}
	total := 0
	for i := 0; i < len(words); i += 2 {
		if total += int(words[i])<<8 | int(words[i+1]); total > 0xffff {
			total -= 0xffff
		}
	}
	return total == 0xffff
}
