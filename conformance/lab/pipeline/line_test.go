package pipeline

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// The bytes of a Line arrive in order, completely, and at the times of the model.
func TestLine(t *testing.T) {
	for _, p := range Presets() {
		p.HostQueue, p.EngineQueue = 1, 1 // so that messages wait
		m, err := NewModel(p, Fine)
		if err != nil {
			t.Fatal(err)
		}
		l, err := NewLine(p, Fine)
		if err != nil {
			t.Fatal(err)
		}
		const begin, n, messages = time.Millisecond, 1000, 10
		if arrived, _, ok := l.Advance(begin); arrived != 0 || ok {
			t.Fatalf("%s: %d bytes have arrived, %t, and nothing was sent", p.Name, arrived, ok)
		}
		for range messages {
			l.Send(begin, n)
		}
		first := begin + m.Latency(n).Duration()
		if arrived, next, ok := l.Advance(first - 1); arrived != 0 || next < first-1 || !ok {
			t.Errorf("%s: %d bytes have arrived, next %v, %t, before %v", p.Name, arrived, next, ok, first)
		}
		if arrived, _, _ := l.Advance(first); arrived != n {
			t.Errorf("%s: %d bytes have arrived at %v", p.Name, arrived, first)
		}
		now, total := first, uint64(n)
		for {
			arrived, next, ok := l.Advance(now)
			if !ok {
				break
			}
			if arrived < total || next < now {
				t.Fatalf("%s: %d bytes and then %d; %v and then %v", p.Name, total, arrived, now, next)
			}
			now, total = next, arrived
		}
		if arrived, _, _ := l.Advance(now); arrived != messages*n {
			t.Errorf("%s: %d bytes have arrived in the end, want %d", p.Name, arrived, messages*n)
		}
		if period := time.Duration(float64(n) / m.Bandwidth(n) * float64(time.Second)); now < first+(messages-1)*period {
			t.Errorf("%s: the last byte arrives at %v, sooner than %d times %v after %v", p.Name, now, messages-1, period, first)
		}
	}
}

// The steps in which time advances do not matter.
func TestLineSteps(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	p := Presets()[4]
	a, err := NewLine(p, Fine)
	if err != nil {
		t.Fatal(err)
	}
	b, err := NewLine(p, Fine)
	if err != nil {
		t.Fatal(err)
	}
	now := time.Duration(0)
	for range 200 {
		if r.IntN(2) == 0 {
			n := 1 + r.IntN(20_000)
			a.Send(now, n)
			b.Send(now, n)
		}
		until := now + time.Duration(r.IntN(3000))
		for {
			_, next, ok := a.Advance(now)
			if !ok || next > until {
				break
			}
			now = next
		}
		x, next, ok := a.Advance(until)
		y, also, is := b.Advance(until)
		if x != y || next != also || ok != is {
			t.Fatalf("at %v: %d, %v, %t in small steps, and %d, %v, %t in one", until, x, next, ok, y, also, is)
		}
		now = until
	}
}

func TestLineThreshold(t *testing.T) {
	p := Presets()[3]
	p.Threshold = p.MinThreshold(p.MaxPacket)
	if _, err := NewLine(p, Fine); err != nil {
		t.Error(err)
	}
	p.Threshold--
	wrong := (*ParamError)(nil)
	if _, err := NewLine(p, Fine); !errors.As(err, &wrong) || wrong.Field != "Threshold" {
		t.Errorf("NewLine with a threshold that underruns: %v", err)
	}
	if _, err := NewLine(p, Coarse); err != nil {
		t.Error(err)
	}
	p.Fragment = 0
	if _, err := NewLine(p, Coarse); err == nil {
		t.Error("NewLine takes invalid parameters")
	}
}
