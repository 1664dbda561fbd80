//go:build amd64 || arm64

package softrnic

import (
	"fmt"
	"log/slog"
	"net/netip"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
)

// BenchmarkWrite makes one program write to another, 16 work requests at a time. cpu-ns/op is the
// processor time of both programs and their devices. With all on one processor (taskset), it
// depends little on what else the machine does.
func BenchmarkWrite(b *testing.B) {
	for _, over := range []string{"memory", "TCP"} {
		for _, n := range []int{64, 4 << 10, 64 << 10, 1 << 20} {
			b.Run(fmt.Sprintf("%s/%d", over, n), func(b *testing.B) { benchmarkWrite(b, over == "TCP", n) })
		}
	}
}

func benchmarkWrite(b *testing.B, onlyTCP bool, n int) {
	device := func() *Device {
		d, err := New(Config{Addresses: []netip.Addr{localhost}, Log: slog.New(slog.DiscardHandler), OnlyTCP: onlyTCP})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(d.Close)
		return d
	}
	x, y := newProgram(b, device()), newProgram(b, device())
	qx, qy := x.qp(nil), y.qp(nil)
	joinPair(b, x, y, qx, qy)
	post := func() {
		if err := qx.Post(guest.WR{Op: guest.OpWrite, Flags: guest.Signaled, Remote: y.mr.Addr, Key: y.mr.Key, List: []guest.SGE{x.mr.Part(0, n)}}); err != nil {
			b.Fatal(err)
		}
	}
	post()
	x.poll(1)
	const depth = 16
	b.SetBytes(int64(n))
	before := cpuTime(b)
	b.ResetTimer()
	posted, done := 0, 0
	for done < b.N {
		for ; posted < b.N && posted-done < depth; posted++ {
			post()
		}
		if _, ok := x.cq.Poll(); ok {
			done++
		} else {
			time.Sleep(20 * time.Microsecond)
		}
	}
	b.ReportMetric(float64(cpuTime(b)-before)/float64(b.N), "cpu-ns/op")
}

// cpuTime returns the processor time of this process.
func cpuTime(b *testing.B) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
