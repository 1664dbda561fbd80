package pipeline

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// agree is the largest difference between simulation and model that the tests allow, as a part of
// the simulation's result. They agree to the picosecond; a bandwidth is a quotient, which is
// rounded.
const agree = 1e-9

// compare compares the simulation and the model for messages of n bytes.
func compare(t *testing.T, p Params, pipelining Pipelining, n int) {
	t.Helper()
	m, err := NewModel(p, pipelining)
	if err != nil {
		t.Fatal(err)
	}
	latency, err := MeasureLatency(p, pipelining, n)
	if err != nil {
		t.Fatalf("%+v, %v, %d bytes: %v", p, pipelining, n, err)
	}
	if got := m.Latency(n); got != latency {
		t.Errorf("%+v, %v, %d bytes: the model's latency is %d ps, the simulation's %d", p, pipelining, n, got, latency)
	}
	bandwidth, err := MeasureBandwidth(p, pipelining, n)
	if err != nil {
		t.Fatalf("%+v, %v, %d bytes: %v", p, pipelining, n, err)
	}
	if got := m.Bandwidth(n); math.Abs(got-bandwidth) > agree*bandwidth {
		t.Errorf("%+v, %v, %d bytes: the model's bandwidth is %g bytes/s, the simulation's %g", p, pipelining, n, got, bandwidth)
	}
}

// Simulation and model agree for each preset, with the checksum in the DMA and separate from it,
// for sizes from 1 B to 1 MiB.
func TestModelOfPresets(t *testing.T) {
	for _, p := range Presets() {
		for _, separate := range []bool{false, true} {
			p.SeparateChecksum = separate
			for _, pipelining := range []Pipelining{Coarse, Fine} {
				t.Run(fmt.Sprintf("%s/%v/separate=%t", p.Name, pipelining, separate), func(t *testing.T) {
					factor := 4
					if separate {
						factor = 32
					}
					for n := 1; n <= 1<<20; n *= factor {
						compare(t, p, pipelining, n)
					}
					for _, n := range []int{0, p.Fragment + 1, p.MaxPacket, p.MaxPacket + 1, 3*p.MaxPacket - 1} {
						compare(t, p, pipelining, n)
					}
				})
			}
		}
	}
}

// Simulation and model agree for random parameters. Half of them are small numbers, so that many
// stages are equally slow; the others are of any order of magnitude.
func TestModelOfRandomParameters(t *testing.T) {
	rounds := 1000
	if testing.Short() {
		rounds = 100
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range rounds {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		p := randomParams(r, i%2 == 0)
		n := r.IntN(1 + int(math.Pow(float64(7*p.MaxPacket), math.Sqrt(r.Float64()))))
		for _, pipelining := range []Pipelining{Coarse, Fine} {
			compare(t, p, pipelining, n)
		}
		if t.Failed() {
			t.Fatalf("round %d", i)
		}
	}
}

// randomParams returns valid parameters: numbers below 12, or of all orders of magnitude.
func randomParams(r *rand.Rand, small bool) Params {
	number := func(most float64) Time {
		switch {
		case r.IntN(5) == 0:
			return 0
		case small:
			return Time(r.IntN(12))
		}
		return Time(math.Pow(most, r.Float64()))
	}
	cost := func() Cost { return Cost{PerPacket: number(1e8), PerByte: number(1e4), Delay: number(1e7)} }
	p := Params{
		MaxPacket: 1 + int(number(40_000)), Fragment: 1 + int(number(5_000)), Post: number(1e7), Notify: number(1e7), Refill: number(1e8),
		ReadHost: cost(), WriteHost: cost(), Engine: cost(), Link: cost(), Checksum: number(1e4),
		Gapless: r.IntN(2) == 0, SharedDMA: r.IntN(2) == 0, SeparateChecksum: r.IntN(2) == 0,
		EngineQueue: 1 + r.IntN(8), HostQueue: r.IntN(3),
	}
	p.Fragment = max(p.Fragment, p.MaxPacket/40)
	return p
}

// Results computed by hand, to detect common errors of simulation and model. With Coarse a message
// of 6 bytes takes 13, 1, 19, 1 and 13 ps in the stages. With Fine and fragments of 2 bytes the
// three fragments pass
//
//	SDMA      at  5,  9, 13
//	transmit  at  6,  9, 13
//	SEND      at 13, 19, 25
//	receive   at 14, 19, 25
//	RDMA      at 19, 23, 29
func TestResultsByHand(t *testing.T) {
	p := Params{
		MaxPacket: 6, Fragment: 2, EngineQueue: 1, ReadHost: Cost{PerPacket: 1, PerByte: 2}, WriteHost: Cost{PerPacket: 1, PerByte: 2},
		Engine: Cost{PerPacket: 1}, Link: Cost{PerPacket: 1, PerByte: 3},
	}
	for _, test := range []struct {
		desc       string
		change     func(*Params)
		n          int
		pipelining Pipelining
		latency    Time
		period     Time // between two messages of a stream
		bottleneck string
	}{
		{"one packet", func(p *Params) {}, 6, Coarse, 47, 33, "queue"}, // 13, 1 and 19 until the next one begins
		{"one packet", func(p *Params) {}, 6, Fine, 29, 25, "queue"},
		{"a long queue", func(p *Params) { p.EngineQueue = 9 }, 6, Coarse, 47, 19, "SEND"},
		{"a long queue", func(p *Params) { p.EngineQueue = 9 }, 6, Fine, 29, 19, "SEND"},
		{"two packets", func(p *Params) { p.EngineQueue = 9 }, 12, Coarse, 47 + 19, 2 * 19, "SEND"},
		{"two packets", func(p *Params) { p.EngineQueue = 9 }, 12, Fine, 29 + 19, 2 * 19, "SEND"},
		{"delays", func(p *Params) { p.Engine.Delay, p.Link.Delay = 100, 10 }, 6, Coarse, 47 + 210, 133, "queue"},
		{"a host", func(p *Params) { p.Post, p.Notify, p.Refill, p.EngineQueue = 50, 7, 20, 9 }, 6, Coarse, 47 + 57, 50, "host"},
		{"a refill", func(p *Params) { p.Post, p.Refill = 5, 20 }, 6, Coarse, 47 + 5, 33 + 25, "queue"},
		{"a checksum in the DMA", func(p *Params) { p.Checksum, p.EngineQueue = 4, 9 }, 6, Coarse, 47, 19, "SEND"},
		{"a separate checksum", func(p *Params) { p.Checksum, p.SeparateChecksum, p.EngineQueue = 4, true, 9 }, 6, Coarse, 47 + 2*24, 25, "transmit"},
		// The link begins when two fragments have arrived, at 9. They pass it at 12, 14 and 16, and
		// RDMA at 18, 22 and 26. If it had begun at 6, it would have needed the third one at 11,
		// but that arrives at 13.
		{"without gaps", func(p *Params) { p.Gapless, p.Link.PerByte = true, 1 }, 6, Fine, 26, 16, "queue"},
	} {
		t.Run(fmt.Sprintf("%s/%v", test.desc, test.pipelining), func(t *testing.T) {
			p := p
			test.change(&p)
			m, err := NewModel(p, test.pipelining)
			if err != nil {
				t.Fatal(err)
			}
			got, err := MeasureLatency(p, test.pipelining, test.n)
			if err != nil || got != test.latency || m.Latency(test.n) != test.latency {
				t.Errorf("latency: simulation %d, %v, model %d, want %d", got, err, m.Latency(test.n), test.latency)
			}
			want := rate(test.n, float64(test.period))
			bandwidth, err := MeasureBandwidth(p, test.pipelining, test.n)
			if err != nil || math.Abs(bandwidth/want-1) > agree || math.Abs(m.Bandwidth(test.n)/want-1) > agree {
				t.Errorf("bandwidth: simulation %g, %v, model %g, want %g", bandwidth, err, m.Bandwidth(test.n), want)
			}
			if got := m.Bottleneck(test.n); got != test.bottleneck {
				t.Errorf("the bottleneck is %s, want %s", got, test.bottleneck)
			}
		})
	}
}

// The presets reproduce the measurements of the hardware that they describe, within 5 %.
func TestPublishedFigures(t *testing.T) {
	for _, test := range []struct {
		preset       int
		n            int
		gigabits     float64
		microseconds float64 // of one byte
	}{
		{0, 32 << 10, 0.951, 44.7}, // E-UDP §5.1 and §5.2
		{3, 1 << 20, 7.6, 8.9},     // an engine on 10-Gigabit Ethernet
	} {
		p := Presets()[test.preset]
		m, err := NewModel(p, Fine)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Bandwidth(test.n) * 8e-9; math.Abs(got/test.gigabits-1) > 0.05 {
			t.Errorf("%s: %v Gb/s, measured %v", p.Name, got, test.gigabits)
		}
		if got := m.Latency(1).Microseconds(); math.Abs(got/test.microseconds-1) > 0.05 {
			t.Errorf("%s: %v µs for a byte, measured %v", p.Name, got, test.microseconds)
		}
	}
}

// In a burst, fine-grained pipelining becomes coarse-grained when the link is the slowest stage,
// and otherwise does not. The model says after how many packets. At 400 Gb/s, for example, the last
// byte of a packet arrives 156,096 ps after its first fragment, and the link loses 15,056 ps to the
// DMA with each packet.
func TestFinePackets(t *testing.T) {
	for i, want := range []struct {
		packets int
		ok      bool
	}{{0, false}, {0, false}, {2, true}, {0, false}, {7, true}, {11, true}} {
		p := Presets()[i]
		m, err := NewModel(p, Fine)
		if err != nil {
			t.Fatal(err)
		}
		if n, ok := m.FinePackets(); n != want.packets || ok != want.ok {
			t.Errorf("%s: FinePackets is %d, %t, want %d, %t", p.Name, n, ok, want.packets, want.ok)
		}
		finePackets(t, p)
	}
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range 400 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		p := randomParams(r, i%2 == 0)
		m, err := NewModel(p, Fine)
		if err != nil {
			t.Fatal(err)
		}
		if m.head(p.MaxPacket, Send) < m.packet(p.MaxPacket, SDMA, Transmit) {
			finePackets(t, p)
		}
	}
}

// finePackets compares FinePackets with a Sim, for a message of 100 packets.
func finePackets(t *testing.T, p Params) {
	t.Helper()
	const packets = 100
	m, err := NewModel(p, Fine)
	if err != nil {
		t.Fatal(err)
	}
	want, ok := m.FinePackets()
	if !ok || want > packets {
		want = packets // all of them
	}
	s, err := NewSim(p, Fine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Post(0, packets*p.MaxPacket); err != nil {
		t.Fatal(err)
	}
	if err := s.Run(); err != nil {
		t.Fatal(err)
	}
	if got := s.Stats(0, Send); got.Packets-got.Coarse != want {
		t.Errorf("%+v: %d of %d packets were sent before they had arrived, want %d", p, got.Packets-got.Coarse, got.Packets, want)
	}
}

// The conclusions of the E-UDP paper from its model: the bandwidth of both pipelinings is the same,
// and the latency of Fine is lower and, for long packets, grows only with the slowest stage.
func TestFineAgainstCoarse(t *testing.T) {
	for _, p := range Presets() {
		coarse, err := NewModel(p, Coarse)
		if err != nil {
			t.Fatal(err)
		}
		fine, err := NewModel(p, Fine)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= 1<<20; n *= 2 {
			if a, b := coarse.Latency(n), fine.Latency(n); b > a || n > p.Fragment && b == a {
				t.Errorf("%s: %d bytes take %d ps with Coarse and %d with Fine", p.Name, n, a, b)
			}
			if a, b := coarse.Bandwidth(n), fine.Bandwidth(n); n >= 64<<10 && a != b {
				t.Errorf("%s: %g and %g bytes/s for %d bytes", p.Name, a, b, n)
			}
		}
		slowest := max(p.ReadHost.PerByte, p.Link.PerByte, p.WriteHost.PerByte)
		k := p.MaxPacket / p.Fragment // whole fragments, so that the last one is as long as the others
		if got := fine.Latency(k*p.Fragment) - fine.Latency((k-1)*p.Fragment); !p.Gapless && got != Time(p.Fragment)*slowest {
			t.Errorf("%s: another fragment takes %d ps, want %d", p.Name, got, Time(p.Fragment)*slowest)
		}
	}
}
