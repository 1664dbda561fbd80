package perf

import (
	"slices"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"github.com/rddp/rddp/internal/locks"
)

// median returns the median of values: for an even number of them, the mean of the middle two. It
// returns 0 if there are none.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	s := slices.Sorted(slices.Values(values))
	return (s[(len(s)-1)/2] + s[len(s)/2]) / 2
}

// spread returns the lowest and the highest of values.
func spread(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	return []float64{slices.Min(values), slices.Max(values)}
}

// quartiles returns the first and the third quartile of values, interpolated between neighbors.
func quartiles(values []float64) []float64 {
	if len(values) == 0 {
		return nil
	}
	s := slices.Sorted(slices.Values(values))
	quantile := func(q float64) float64 {
		at := q * float64(len(s)-1)
		i := int(at)
		return s[i] + (at-float64(i))*(s[min(i+1, len(s)-1)]-s[i])
	}
	return []float64{quantile(0.25), quantile(0.75)}
}

// A cpuTime is processor time. The sum is exact on Linux, but the kernel divides it by what its
// clock ticks have seen, so the parts need runs that are much longer than a tick.
type cpuTime struct {
	User, System time.Duration
}

func (t cpuTime) sum() time.Duration      { return t.User + t.System }
func (t cpuTime) plus(u cpuTime) cpuTime  { return cpuTime{t.User + u.User, t.System + u.System} }
func (t cpuTime) minus(u cpuTime) cpuTime { return cpuTime{t.User - u.User, t.System - u.System} }

// per returns t divided by ops operations.
func (t cpuTime) per(ops int) *CPUTime {
	us := func(d time.Duration) float64 { return float64(d.Nanoseconds()) / 1e3 / float64(ops) }
	return &CPUTime{us(t.User), us(t.System)}
}

// A CPUTime is the processor time of one end for one operation, in microseconds: outside the
// kernel, and in it.
type CPUTime struct {
	User   float64 `json:"user"`
	System float64 `json:"system"`
}

// Latencies are recorded in nanoseconds with three significant digits.
const (
	maxLatency = int64(10 * time.Minute)
	digits     = 3
)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatency, digits) }

// A recorder is a histogram of latencies that several goroutines may use.
type recorder struct {
	mu locks.Mutex[locks.Leaf]
	h  *hdrhistogram.Histogram // +checklocks:mu
}

func newRecorder() *recorder { return &recorder{h: newHistogram()} }

// record adds one latency. A nil recorder drops it.
func (r *recorder) record(d time.Duration) {
	if r == nil {
		return
	}
	r.mu.Lock()
	_ = r.h.RecordValue(min(int64(d), maxLatency)) // the value is in range
	r.mu.Unlock()
}

// take moves the latencies to h.
func (r *recorder) take(h *hdrhistogram.Histogram) {
	r.mu.Lock()
	h.Merge(r.h)
	r.h.Reset()
	r.mu.Unlock()
}

// recorders are the recorders of a session. Connections share them, because histograms are large.
type recorders [16]*recorder

func newRecorders(conns int) *recorders {
	var rs recorders
	for i := range min(conns, len(rs)) {
		rs[i] = newRecorder()
	}
	return &rs
}

// of returns the recorder of the connection with this number.
func (rs *recorders) of(i int) *recorder {
	if r := rs[i%len(rs)]; r != nil {
		return r
	}
	return rs[0]
}

// take moves all latencies to a new histogram.
func (rs *recorders) take() *hdrhistogram.Histogram {
	h := newHistogram()
	for _, r := range rs {
		if r != nil {
			r.take(h)
		}
	}
	return h
}

// A Latency contains percentiles of the time of one operation, in microseconds, from the call to
// the peer's answer. For an echo it is a whole round trip.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p99_9"`
	Max  float64 `json:"max"`
}

func latencyOf(h *hdrhistogram.Histogram) *Latency {
	if h.TotalCount() == 0 {
		return nil
	}
	us := func(ns int64) float64 { return float64(ns) / 1e3 }
	return &Latency{
		P50: us(h.ValueAtQuantile(50)), P90: us(h.ValueAtQuantile(90)), P99: us(h.ValueAtQuantile(99)),
		P999: us(h.ValueAtQuantile(99.9)), Max: us(h.Max()),
	}
}
