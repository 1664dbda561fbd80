package extsock_test

import (
	"net"
	"syscall"
	"testing"
	"time"
)

// BenchmarkOpen opens connections over loopback, with both ends in this process, and keeps them
// until the end. The metrics are for a pair of ends: processor time, and bytes and objects that are
// allocated. With -cpu=1 it scatters least.
func BenchmarkOpen(b *testing.B) {
	for _, kind := range []idleKind{idleTCP, idleStream, idleMessages} {
		b.Run(string(kind), func(b *testing.B) {
			listen, dial := kind.openers()
			l, err := listen("tcp", "127.0.0.1:0")
			if err != nil {
				b.Fatal(err)
			}
			defer l.Close()
			var open []net.Conn
			defer func() {
				for _, c := range open {
					c.Close()
				}
			}()
			accepted := make(chan net.Conn, 1)
			go func() {
				for c, err := l.Accept(); err == nil; c, err = l.Accept() {
					accepted <- c
				}
				close(accepted)
			}()
			b.ReportAllocs()
			before := processorTime(b)
			for b.Loop() {
				c, err := dial("tcp", l.Addr().String())
				if err != nil {
					b.Fatal(err)
				}
				open = append(open, c, <-accepted)
				if len(open) == 4000 { // within the limit on open files
					b.StopTimer()
					spent := processorTime(b)
					for _, c := range open {
						c.Close()
					}
					open = open[:0]
					before += processorTime(b) - spent
					b.StartTimer()
				}
			}
			b.ReportMetric(float64(processorTime(b)-before)/float64(b.N), "cpu-ns/op")
		})
	}
}

// processorTime returns the processor time that the process has taken, in user mode and in the
// kernel.
func processorTime(b *testing.B) time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		b.Fatal(err)
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}
