package perf

import (
	"math"
	"slices"
	"testing"
	"time"
)

func TestMedian(t *testing.T) {
	tests := []struct {
		values []float64
		want   float64
	}{
		{nil, 0},
		{[]float64{3}, 3},
		{[]float64{9, 1, 5}, 5},
		{[]float64{4, 1, 3, 2}, 2.5},
	}
	for _, tt := range tests {
		if got := median(tt.values); got != tt.want {
			t.Errorf("median(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestQuartiles(t *testing.T) {
	tests := []struct {
		values, want []float64
	}{
		{nil, nil},
		{[]float64{3}, []float64{3, 3}},
		{[]float64{4, 0}, []float64{1, 3}},
		{[]float64{5, 1, 4, 2, 3}, []float64{2, 4}},
		{[]float64{4, 3, 2, 1}, []float64{1.75, 3.25}},
	}
	for _, tt := range tests {
		if got := quartiles(tt.values); !slices.Equal(got, tt.want) {
			t.Errorf("quartiles(%v) = %v, want %v", tt.values, got, tt.want)
		}
	}
}

func TestRecorder(t *testing.T) {
	rs := newRecorders(3)
	for i := range 1000 {
		rs.of(i).record(time.Duration(i+1) * time.Microsecond)
	}
	rs.of(0).record(-1)
	rs.of(0).record(math.MaxInt64)
	h := rs.take()
	if got := h.TotalCount(); got != 1001 { // a negative time is not recorded
		t.Errorf("%d latencies, want 1001", got)
	}
	l := latencyOf(h)
	for _, q := range []struct{ got, want float64 }{{l.P50, 501}, {l.P90, 901}, {l.P99, 991}, {l.Max, 600e6}} {
		if math.Abs(q.got-q.want) > q.want/500 {
			t.Errorf("%+v, want %v", l, q.want)
		}
	}
	if rs.take().TotalCount() != 0 || latencyOf(rs.take()) != nil {
		t.Error("take has left latencies behind")
	}
	(*recorder)(nil).record(1)
}
