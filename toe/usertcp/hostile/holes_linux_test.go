package hostile_test

import (
	"fmt"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/usertcp"
)

// BenchmarkSegments measures the CPU time of one segment in the whole stack, from the link to the
// driver. It compares segments in order with segments that attack the queue of segments behind a
// gap. Each round measures all kinds. The ratios are to segments of the same length in order.
func BenchmarkSegments(b *testing.B) {
	for _, early := range []bool{true, false} {
		b.Run(fmt.Sprintf("early runs %t", early), func(b *testing.B) {
			costs := make(map[string][]float64)
			for b.Loop() {
				for _, s := range segmentKinds {
					costs[s.name] = append(costs[s.name], s.cost(b, early))
				}
			}
			for _, s := range segmentKinds {
				b.ReportMetric(middle(costs[s.name]), s.name+"-ns")
				if s.like != "" {
					ratios := make([]float64, len(costs[s.name]))
					for i, cost := range costs[s.name] {
						ratios[i] = cost / costs[s.like][i]
					}
					b.ReportMetric(middle(ratios), s.name+"-ratio")
				}
			}
		})
	}
}

func middle(v []float64) float64 {
	v = slices.Clone(v)
	slices.Sort(v)
	return v[len(v)/2]
}

// A segmentKind is a way to send the FPDUs of a stream.
type segmentKind struct {
	name, like string // like names the kind to compare with
	count      int    // of segments
	write      int    // bytes of an RDMA Write, one for each FPDU
	// cut returns the place of segment k in the stream.
	cut func(k, count int, fpdus []int) (from, to int)
	gap int // bytes at the beginning of the stream that come last; -1 for one FPDU
}

// segmentKinds are the kinds that BenchmarkSegments compares.
var segmentKinds = []segmentKind{
	{"bytes", "", 8000, 1024, func(k, _ int, _ []int) (int, int) { return k, k + 1 }, 0},
	{"holes", "bytes", 8000, 1024, func(k, _ int, _ []int) (int, int) { return 2*k + 1, 2*k + 2 }, 1},
	{"holes-backwards", "bytes", 8000, 1024, func(k, n int, _ []int) (int, int) { return 2*(n-k) - 1, 2 * (n - k) }, 1},
	{"one-gap", "bytes", 8000, 1024, func(k, _ int, _ []int) (int, int) { return k + 1, k + 2 }, 1},
	{"one-gap-backwards", "bytes", 8000, 1024, func(k, n int, _ []int) (int, int) { return n - k, n - k + 1 }, 1},
	{"one-byte-again", "bytes", 8000, 1024, func(int, int, []int) (int, int) { return 1, 2 }, 1},
	{"runs", "", 8000, 1024, func(k, _ int, _ []int) (int, int) { return 24 * k, 24*k + 24 }, 0},
	{"runs-with-holes", "runs", 8000, 1024, func(k, _ int, _ []int) (int, int) { return 25*k + 1, 25*k + 25 }, 1},
	{"fpdus", "", 8000, 4, func(k, _ int, fpdus []int) (int, int) { return fpdus[k], fpdus[k+1] }, 0},
	{"fpdus-early", "fpdus", 8000, 4, func(k, _ int, fpdus []int) (int, int) { return fpdus[k+1], fpdus[k+2] }, -1},
	{"full", "", 2000, 1300, func(k, _ int, fpdus []int) (int, int) { return fpdus[k], fpdus[k+1] }, 0},
	{"full-early", "full", 2000, 1300, func(k, _ int, fpdus []int) (int, int) { return fpdus[k+1], fpdus[k+2] }, -1},
}

// cost returns the CPU time of one segment, in nanoseconds.
func (s *segmentKind) cost(b *testing.B, early bool) float64 {
	cfg := extsock.Config{Messages: true, Markers: early, NoEarlyPlacement: !early, CloseTimeout: time.Millisecond}
	p := newPuppet(b, usertcp.Config{ReceiveBuffer: 8 << 20, NoEarlyRuns: !early}, cfg)
	memory := make([]byte, max(25*s.count, (s.count+2)*s.write))
	stream, fpdus := p.writes(registered(b, p.c, memory), memory, s.write)
	packets := make([][]byte, s.count)
	for k := range packets {
		from, to := s.cut(k, s.count, fpdus)
		packets[k] = p.segment(from, stream[from:to])
	}
	_, acked := s.cut(s.count-1, s.count, fpdus)
	if gap := s.gap; gap != 0 {
		if gap < 0 {
			gap = fpdus[1]
		}
		packets = append(packets, p.segment(0, stream[:gap]))
		acked = gap
	}
	runtime.GC()
	began := cpuTime(b)
	p.send(packets)
	p.in.awaitACK(p.begin + uint32(acked))
	used := cpuTime(b) - began
	p.end()
	return float64(used.Nanoseconds()) / float64(s.count)
}

// cpuTime returns the CPU time that the process has used.
func cpuTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
