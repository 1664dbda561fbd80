package simtoe_test

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/toetest"
)

// BenchmarkTransfer writes and reads in one goroutine. It measures the cost of the simulator
// itself.
func BenchmarkTransfer(b *testing.B) {
	for _, cfg := range []simtoe.Config{
		{},
		{Split: true},
		{Split: true, Early: 0.5},
		{MaxSegment: 1},
	} {
		b.Run(fmt.Sprintf("max=%d,split=%v,early=%v", cfg.MaxSegment, cfg.Split, cfg.Early), func(b *testing.B) {
			x, y := pair(b, cfg, cfg)
			bufs := [][]byte{make([]byte, 64<<10)}
			into := toetest.Into(make([]byte, 64<<10))
			b.SetBytes(int64(len(bufs[0])))
			b.ReportAllocs()
			in := uint64(0)
			for b.Loop() {
				if n, err := x.TryWriteBatch(bufs); n < len(bufs[0]) || err != nil {
					b.Fatal(n, err)
				}
				for left := len(bufs[0]); left > 0; {
					n, off, err := y.ReadSegment(into, 0)
					if err != nil {
						b.Fatal(err)
					}
					if off == in {
						in += uint64(n)
						left -= n
					}
				}
			}
		})
	}
}
