package kernel_test

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
)

// fpdus returns the slices of a batch of n FPDUs as mpa makes them: scratch, which contains the
// trailer of one FPDU and the header of the next, and payload.
func fpdus(n, payload int) (bufs [][]byte, size int) {
	scratch, data := make([]byte, 24), make([]byte, payload)
	for range n {
		bufs = append(bufs, scratch, data)
		size += len(scratch) + len(data)
	}
	return bufs, size
}

var batches = []struct{ n, payload int }{{1, 64}, {1, 1448}, {32, 1448}, {1, 65_512}, {4, 65_512}, {16, 65_512}}

// BenchmarkTryWriteBatch sends batches of FPDUs to a peer that reads and drops
// them.
func BenchmarkTryWriteBatch(b *testing.B) {
	for _, batch := range batches {
		bufs, size := fpdus(batch.n, batch.payload)
		b.Run(fmt.Sprintf("%dx%d", batch.n, batch.payload), func(b *testing.B) {
			x, y := pair(b)
			done := drain(y)
			b.SetBytes(int64(size))
			b.ReportAllocs()
			for b.Loop() {
				if err := toetest.WriteBatch(x, bufs); err != nil {
					b.Fatal(err)
				}
			}
			x.Close()
			<-done
		})
	}
}

// drain reads s to its end in a goroutine.
func drain(s toe.Stream) (done chan error) {
	done = make(chan error, 1)
	go func() {
		into := toetest.Into(make([]byte, 256<<10))
		for {
			if _, _, err := s.ReadSegment(into, 0); err != nil {
				done <- err
				return
			}
		}
	}()
	return done
}

// late is a Lender that takes its memory back.
type late struct{ p []byte }

func (l *late) Lend() []byte   { return l.p }
func (l *late) TakeBack() bool { return false }

// BenchmarkReadSegment reads what a peer sends as fast as it can.
func BenchmarkReadSegment(b *testing.B) {
	for _, size := range []int{4 << 10, 64 << 10, 256 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			x, y := pair(b)
			go func() {
				bufs := [][]byte{make([]byte, 256<<10)}
				for toetest.WriteBatch(x, bufs) == nil {
				}
			}()
			l := &late{make([]byte, size)}
			var total int64
			b.ReportAllocs()
			for b.Loop() {
				n, _, err := y.ReadSegment(l, 0)
				if err != nil {
					b.Fatal(err)
				}
				total += int64(n)
			}
			b.SetBytes(total / int64(b.N))
		})
	}
}
