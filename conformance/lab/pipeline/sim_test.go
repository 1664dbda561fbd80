package pipeline

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
)

// outcomes returns all outcomes of one kind that a Sim has.
func outcomes(s *Sim, kind OutcomeKind) (list []Outcome) {
	for o, ok := s.Outcome(); ok; o, ok = s.Outcome() {
		if o.Kind == kind {
			list = append(list, o)
		}
	}
	return list
}

// With MinThreshold a link without gaps never underruns, whatever is under way, and the bytes
// arrive once, in order and not too early.
func TestEverythingArrives(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	for i := range 400 {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		p := randomParams(r, i%2 == 0)
		p.HostQueue = 20
		pipelining := Pipelining(r.IntN(2))
		s, err := NewSim(p, pipelining)
		if err != nil {
			t.Fatal(err)
		}
		var sent [2][]int
		var at [2][]Time
		for range 12 { // both directions, at any time
			from, n := r.IntN(2), r.IntN(3*p.MaxPacket)
			if _, err := s.Post(from, n); err != nil {
				t.Fatal(err)
			}
			sent[from], at[from] = append(sent[from], n), append(at[from], s.Now())
			if r.IntN(2) == 0 {
				if err := s.Advance(s.Now() + Time(r.Int64N(int64(p.Post)+1_000))); err != nil {
					t.Fatalf("round %d, %+v: %v", i, p, err)
				}
			}
		}
		if err := s.Run(); err != nil {
			t.Fatalf("round %d, %+v: %v", i, p, err)
		}
		m, err := NewModel(p, pipelining)
		if err != nil {
			t.Fatal(err)
		}
		var got [2][]int
		var last Time
		complete := make(map[int]Time)
		for o, ok := s.Outcome(); ok; o, ok = s.Outcome() {
			if o.At < last {
				t.Fatalf("round %d: %+v after the time %d", i, o, last)
			}
			last = o.At
			switch number := len(got[o.From]); o.Kind {
			case Completed:
				complete[o.Message] = o.At
			case Delivered:
				if _, ok := complete[o.Message]; !ok {
					t.Fatalf("round %d: message %d is delivered before its last byte has left", i, o.Message)
				}
				if o.At < at[o.From][number]+m.Latency(o.Bytes) {
					t.Fatalf("round %d: %d bytes arrive after %d ps, sooner than %d", i, o.Bytes, o.At-at[o.From][number], m.Latency(o.Bytes))
				}
				got[o.From] = append(got[o.From], o.Bytes)
			}
		}
		if !slices.Equal(got[0], sent[0]) || !slices.Equal(got[1], sent[1]) {
			t.Fatalf("round %d: sent %v, arrived %v", i, sent, got)
		}
	}
}

// A threshold that is one fragment too low makes the link underrun, and the error says where.
func TestUnderrun(t *testing.T) {
	p := Presets()[3] // its bus is slower than its link
	n := p.MaxPacket / p.Fragment * p.Fragment
	p.Threshold = p.MinThreshold(n)
	if _, err := MeasureLatency(p, Fine, n); err != nil || p.Threshold <= 2*p.Fragment {
		t.Fatalf("threshold %d: %v", p.Threshold, err)
	}
	p.Threshold -= p.Fragment
	s, err := NewSim(p, Fine)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Post(1, n); err != nil {
		t.Fatal(err)
	}
	err = s.Run()
	under := (*UnderrunError)(nil)
	if !errors.As(err, &under) || under.From != 1 || under.Sent == 0 || under.Sent >= n || under.Threshold != p.Threshold || under.Least != p.Threshold+p.Fragment {
		t.Fatalf("Run: %v", err)
	}
	if again := s.Advance(s.Now() + Second); again != err {
		t.Errorf("Advance after the underrun: %v", again)
	}
	if _, ok := s.Next(); ok {
		t.Error("a Sim goes on after an underrun")
	}
	if _, err := MeasureLatency(p, Coarse, n); err != nil {
		t.Errorf("store and forward underruns: %v", err)
	}
	p.Gapless = false
	if _, err := MeasureLatency(p, Fine, n); err != nil {
		t.Errorf("a link that may pause underruns: %v", err)
	}
}

// A fragment that arrives at the moment at which the link needs it is in time. The fragments arrive
// at 2, 4 and 6. The link begins when two are there, at 4, and needs the third at 6.
func TestFragmentInTheLastMoment(t *testing.T) {
	p := Params{MaxPacket: 3, Fragment: 1, EngineQueue: 1, ReadHost: Cost{PerByte: 2}, Link: Cost{PerByte: 1}, Gapless: true}
	if got := p.MinThreshold(3); got != 2 {
		t.Errorf("the threshold is %d bytes, want 2", got)
	}
	if got, err := MeasureLatency(p, Fine, 3); got != 7 || err != nil {
		t.Errorf("the message takes %d ps, %v, want 7", got, err)
	}
}

// Only transfers that the pipelining allows occur, and a stage that is faster than the one before
// it makes more of them.
func TestTransfers(t *testing.T) {
	p := Presets()[0]
	n := 8 * p.Fragment
	for _, test := range []struct {
		pipelining Pipelining
		stage      Stage
		want       StageStats
	}{
		{Coarse, SDMA, StageStats{Coarse: 1}}, {Coarse, Send, StageStats{Coarse: 1}}, {Coarse, RDMA, StageStats{Coarse: 1}},
		{Fine, SDMA, StageStats{Coarse: 1}}, // all of the packet is in the host's memory
		{Fine, Send, StageStats{Fine: 8}},
		{Fine, RDMA, StageStats{Fine: 4}}, // 15.3 µs are the time of some fragments, which then pass at once
	} {
		s, err := NewSim(p, test.pipelining)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Post(0, n); err != nil {
			t.Fatal(err)
		}
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		got := s.Stats(0, test.stage)
		cost := p.costs()[test.stage]
		if got.Coarse != test.want.Coarse || got.Fine != test.want.Fine || got.Packets != 1 || got.MaxQueue != 1 || got.Bytes != n || got.Busy != cost.of(n, true) {
			t.Errorf("%v, %v: %+v, want %+v", test.pipelining, test.stage, got, test.want)
		}
	}
}

// One end sends and receives at once. With a shared DMA its two threads take turns, so each
// direction has half of the bus; with two DMAs each has all of it.
func TestSharedDMA(t *testing.T) {
	both := func(shared bool) Time {
		p := Params{
			MaxPacket: 1000, Fragment: 100, EngineQueue: 16, HostQueue: 100, SharedDMA: shared,
			ReadHost: Cost{PerByte: 10}, WriteHost: Cost{PerByte: 10}, Link: Cost{PerByte: 1},
		}
		s, err := NewSim(p, Fine)
		if err != nil {
			t.Fatal(err)
		}
		for range 100 {
			for end := range 2 {
				if _, err := s.Post(end, 1000); err != nil {
					t.Fatal(err)
				}
			}
		}
		if err := s.Run(); err != nil {
			t.Fatal(err)
		}
		return s.Now()
	}
	const alone = 100 * 1000 * 10
	if got := both(false); got < alone || got > alone*11/10 {
		t.Errorf("two DMAs: %d ps, want about %d", got, alone)
	}
	if got := both(true); got < 2*alone || got > 2*alone*11/10 {
		t.Errorf("a shared DMA: %d ps, want about %d", got, 2*alone)
	}
}

// The two-level queue: a full host queue refuses, and a completion makes room.
func TestPostFull(t *testing.T) {
	p := Presets()[0]
	p.HostQueue, p.EngineQueue = 2, 3
	s, err := NewSim(p, Coarse)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		if number, err := s.Post(0, 100); number != i || err != nil {
			t.Fatalf("Post: %d, %v", number, err)
		}
	}
	full := (*QueueFullError)(nil)
	if _, err := s.Post(0, 100); !errors.As(err, &full) || s.Room(0) != 0 {
		t.Fatalf("Post to full queues: %v", err)
	}
	if _, err := s.Post(1, 100); err != nil {
		t.Errorf("the other end: %v", err)
	}
	for len(outcomes(s, Completed)) == 0 {
		at, ok := s.Next()
		if !ok {
			t.Fatal("no message is completed")
		}
		if err := s.Advance(at); err != nil {
			t.Fatal(err)
		}
	}
	if host, engine := s.Queued(0); host != 1 || engine != 3 {
		t.Errorf("after a completion %d and %d descriptors are queued", host, engine)
	}
	if number, err := s.Post(0, 100); number != 6 || err != nil {
		t.Errorf("Post after a completion: %d, %v", number, err)
	}
	if _, err := s.Post(2, 1); err == nil {
		t.Error("there is no end 2")
	}
	if _, err := s.Post(0, -1); err == nil {
		t.Error("a message of -1 bytes")
	}
}

// A Sim advances exactly to the given times.
func TestAdvance(t *testing.T) {
	p := Presets()[4]
	s, err := NewSim(p, Fine)
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := s.Next(); ok {
		t.Error("an event without a message")
	}
	if err := s.Advance(5 * Microsecond); err != nil || s.Now() != 5*Microsecond {
		t.Fatalf("%v at %d", err, s.Now())
	}
	if _, err := s.Post(0, 1000); err != nil {
		t.Fatal(err)
	}
	m, err := NewModel(p, Fine)
	if err != nil {
		t.Fatal(err)
	}
	end := 5*Microsecond + m.Latency(1000)
	if err := s.Advance(end - 1); err != nil || len(outcomes(s, Delivered)) != 0 {
		t.Errorf("delivered too early, or %v", err)
	}
	if err := s.Advance(0); err != nil || s.Now() != end-1 {
		t.Errorf("Advance to the past: %v at %d", err, s.Now())
	}
	if err := s.Advance(end); err != nil {
		t.Error(err)
	}
	if got := outcomes(s, Delivered); len(got) != 1 || got[0].At != end {
		t.Errorf("delivered %v, want it at %d", got, end)
	}
}

// The states that a thread may not reach panic.
func TestTransitions(t *testing.T) {
	transitions := map[State][]State{
		Idle:            {CoarseGrained, FineGrained},
		CoarseGrained:   {Idle},
		FineGrained:     {FineGrainedDone, Idle},
		FineGrainedDone: {FineGrained, LastFragment},
		LastFragment:    {Idle},
	}
	for from := Idle; from <= LastFragment; from++ {
		for to := Idle; to <= LastFragment; to++ {
			panics := func() (v any) {
				defer func() { v = recover() }()
				(&thread{state: from}).setState(to)
				return nil
			}()
			if legal := slices.Contains(transitions[from], to); legal == (panics != nil) {
				t.Errorf("%v to %v: legal is %t, panic %v", from, to, legal, panics)
			}
		}
	}
}
