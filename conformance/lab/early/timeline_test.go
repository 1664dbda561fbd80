package main

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"
)

const ms = time.Millisecond

func TestSpans(t *testing.T) {
	var l spans
	for _, tt := range []struct {
		add   span
		added []span
		want  spans
	}{
		{span{10, 20}, []span{{10, 20}}, spans{{10, 20}}},
		{span{30, 40}, []span{{30, 40}}, spans{{10, 20}, {30, 40}}},
		{span{12, 18}, nil, spans{{10, 20}, {30, 40}}},
		{span{20, 22}, []span{{20, 22}}, spans{{10, 22}, {30, 40}}},
		{span{5, 50}, []span{{5, 10}, {22, 30}, {40, 50}}, spans{{5, 50}}},
		{span{0, 3}, []span{{0, 3}}, spans{{0, 3}, {5, 50}}},
		{span{3, 5}, []span{{3, 5}}, spans{{0, 50}}},
	} {
		if added := l.add(tt.add); !slices.Equal(added, tt.added) || !slices.Equal(l, tt.want) {
			t.Fatalf("after adding %v, which was new in %v, want %v: %v, want %v", tt.add, added, tt.added, l, tt.want)
		}
	}
}

// TestEvaluate follows four segments of 100 bytes, each an FPDU. The second one is lost and arrives
// 20 ms later, with a copy of the third.
func TestEvaluate(t *testing.T) {
	arrivals := []arrival{
		{0 * ms, 0, span{0, 100}}, {1 * ms, 0, span{200, 300}}, {2 * ms, 0, span{300, 400}},
		{21 * ms, 0, span{100, 200}}, {22 * ms, 0, span{200, 300}}, {23*ms - 1, 0, span{400, 450}},
	}
	at := func(times ...time.Duration) (fpdus []written) {
		for i, d := range times {
			from := uint64(100 * i)
			fpdus = append(fpdus, written{span: span{from, from + 100}, placed: d, done: true})
		}
		return fpdus
	}
	for _, tt := range []struct {
		desc         string
		fpdus        []written
		waitingTime  float64 // byte seconds
		most         uint64
		all, behinds []time.Duration
	}{
		{"in order", at(0, 21*ms, 21*ms, 22*ms), 100*0.001 + 200*0.019, 200, []time.Duration{0, 20 * ms, 20 * ms, 0}, []time.Duration{20 * ms, 20 * ms}},
		{"early", at(0, 21*ms, 1*ms+ms/2, 2*ms), 100 * 0.0005, 100, []time.Duration{0, ms / 2, 0, 0}, []time.Duration{ms / 2, 0}},
		{"one early, one not", at(0, 21*ms, 1*ms, 21*ms), 100 * 0.019, 100, []time.Duration{0, 0, 19 * ms, 0}, []time.Duration{0, 19 * ms}},
	} {
		w := window{0, 23 * ms}
		r := evaluate([]*timeline{follow(arrivals, tt.fpdus, w)}, w)
		if r.elapsed != 23*ms || r.bytes != 450 || r.open != 20*ms || math.Abs(r.heldTime-3.9) > 1e-9 || r.most.held != 200 {
			t.Errorf("%s: %+v, want 450 bytes in 23 ms, and a gap for 20 ms with 3.9 byte seconds and at most 200 bytes", tt.desc, r)
		}
		if math.Abs(r.waitingTime-tt.waitingTime) > 1e-9 || r.most.waiting != tt.most {
			t.Errorf("%s: %v byte seconds wait, at most %d bytes, want %v and %d", tt.desc, r.waitingTime, r.most.waiting, tt.waitingTime, tt.most)
		}
		if !reflect.DeepEqual(r.all, tt.all) || !reflect.DeepEqual(r.behind, tt.behinds) {
			t.Errorf("%s: times %v, behind a gap %v, want %v and %v", tt.desc, r.all, r.behind, tt.all, tt.behinds)
		}
	}
}

// TestWindow leaves out everything outside the window, and keeps the maximum values of slow start
// separate.
func TestWindow(t *testing.T) {
	arrivals := []arrival{
		{0, 9 * ms, span{0, 100}}, {ms, 9 * ms, span{200, 500}}, {7 * ms, 9 * ms, span{100, 200}},
		{9 * ms, 3 * ms, span{600, 650}}, {15 * ms, 0, span{500, 600}}, {15 * ms, 5 * ms, span{500, 600}},
		{16 * ms, 9 * ms, span{700, 800}}, {30 * ms, 9 * ms, span{650, 700}},
	}
	fpdus := []written{
		{span: span{0, 100}}, {span: span{100, 200}, placed: 7 * ms}, {span: span{200, 500}, placed: 7 * ms}, {span: span{500, 600}, placed: 15 * ms},
		{span: span{600, 650}, placed: 15 * ms}, {span: span{650, 700}, placed: 30 * ms}, {span: span{700, 800}, placed: 31 * ms},
	}
	w := window{8 * ms, 20 * ms}
	r := evaluate([]*timeline{follow(arrivals, fpdus, w)}, w)
	if r.elapsed != 12*ms || r.bytes != 150 || r.open != 10*ms || math.Abs(r.heldTime-(50*0.006+100*0.004)) > 1e-9 {
		t.Errorf("%+v, want 150 bytes in 12 ms, and gaps for 10 ms with 0.7 byte seconds", r)
	}
	if r.most != (peak{100, 100}) || r.mostInSlowStart != (peak{300, 300}) {
		t.Errorf("at most %v, in slow start %v, want 100 and 300 bytes", r.most, r.mostInSlowStart)
	}
	if want := (3*ms + 5*ms + 9*ms) / 3; r.delay() != want {
		t.Errorf("mean delay %v, want %v", r.delay(), want)
	}
	if want := []time.Duration{6 * ms, 0, 15 * ms}; !slices.Equal(r.all, want) {
		t.Errorf("times %v, want %v", r.all, want)
	}
}

// TestConnections adds the bytes of two connections, whose gaps overlap.
func TestConnections(t *testing.T) {
	w := window{0, 10 * ms}
	one := follow([]arrival{{1 * ms, 0, span{100, 200}}, {6 * ms, 0, span{0, 100}}},
		[]written{{span: span{0, 100}, placed: 6 * ms}, {span: span{100, 200}, placed: 2 * ms}}, w)
	two := follow([]arrival{{3 * ms, 0, span{200, 500}}, {9 * ms, 0, span{0, 200}}},
		[]written{{span: span{0, 200}, placed: 9 * ms}, {span: span{200, 500}, placed: 9 * ms}}, w)
	r := evaluate([]*timeline{one, two}, w)
	if r.bytes != 700 || r.open != 8*ms || math.Abs(r.heldTime-(100*0.005+300*0.006)) > 1e-9 || math.Abs(r.waitingTime-(100*0.001+300*0.006)) > 1e-9 {
		t.Errorf("%+v, want 700 bytes, gaps for 8 ms with 2.3 byte seconds, 1.9 of them not in place", r)
	}
	if r.most != (peak{400, 300}) {
		t.Errorf("at most %v, want 400 and 300 bytes", r.most)
	}
}

func TestPercentile(t *testing.T) {
	var times []time.Duration
	for i := range 200 {
		times = append(times, time.Duration(i+1)*ms)
	}
	for percent, want := range map[int]time.Duration{50: 100 * ms, 99: 198 * ms, 100: 200 * ms} {
		if got := percentile(times, percent); got != want {
			t.Errorf("percentile %d is %v, want %v", percent, got, want)
		}
	}
	if got := percentile(nil, 50); got != 0 || mean(nil) != 0 {
		t.Errorf("of no times: percentile %v, mean %v", got, mean(nil))
	}
	if got := mean(times[:3]); got != 2*ms {
		t.Errorf("mean %v, want 2 ms", got)
	}
}
