package badlink_test

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/toe/badlink"
)

// BenchmarkLink moves packets through a link, in one goroutine.
func BenchmarkLink(b *testing.B) {
	for _, faults := range []struct {
		desc   string
		faults badlink.Faults
	}{
		{"none", badlink.Faults{}},
		{"rate and delay", badlink.Faults{Rate: 1e15, Delay: 1}},
		{"some of each", badlink.Faults{Loss: 0.01, Duplicate: 0.01, Reorder: 0.01, Split: 0.01, Merge: 0.01, Corrupt: 0.01}},
	} {
		for _, n := range []int{64, 1500, 65535} {
			b.Run(fmt.Sprintf("%s/%d", faults.desc, n), func(b *testing.B) { benchmarkLink(b, faults.faults, n) })
		}
	}
}

func benchmarkLink(b *testing.B, faults badlink.Faults, n int) {
	x, y := pipe(b, badlink.Config{MTU: 65535, AB: faults})
	b.SetBytes(int64(n))
	b.ReportAllocs()
	packet, p := make([]byte, n), make([]byte, 65535)
	for b.Loop() {
		if _, err := x.Write(packet); err != nil {
			b.Fatal(err)
		}
		for x.Stats().Waiting > 8 || faults.Reorder == 0 && x.Stats().Waiting > 0 {
			if _, err := y.Read(p); err != nil {
				b.Fatal(err)
			}
		}
	}
}

// BenchmarkTwoGoroutines has a writer and a reader. Only packets that were read count.
func BenchmarkTwoGoroutines(b *testing.B) {
	const n, window = 65535, 64
	x, y := pipe(b, badlink.Config{MTU: 65535})
	b.SetBytes(n)
	b.ReportAllocs()
	free := make(chan struct{}, window)
	done := make(chan struct{})
	go func() {
		defer close(done)
		p := make([]byte, 65535)
		for {
			if _, err := y.Read(p); err != nil {
				return
			}
			<-free
		}
	}()
	packet := make([]byte, n)
	for b.Loop() {
		free <- struct{}{}
		if _, err := x.Write(packet); err != nil {
			b.Fatal(err)
		}
	}
	x.Close()
	<-done
}
