//go:build unix

package extsock_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"syscall"
	"testing"
	"time"
)

// BenchmarkSparseEcho is an echo of 64 bytes after a pause, as most services see it: every cache is
// cold, and no goroutine polls. The other end is in this process, or in one of its own. Plain TCP
// and rddp take turns, echo by echo, so that both meet the same machine. x-tcp is the median of
// rddp divided by that of plain TCP, and the two cpu figures are processor time of this process for
// each echo of one kind, pauses included, from runs of one kind after the other.
func BenchmarkSparseEcho(b *testing.B) {
	ends := []struct {
		name  string
		conns func(b *testing.B) [2]net.Conn // plain TCP's, and rddp's
	}{
		{"one process", func(b *testing.B) [2]net.Conn {
			ci, cr := tcpPair(b, side{}, side{})
			go func() { _, _ = io.Copy(ci, struct{ io.Reader }{ci}) }() // ends with the connection
			return [2]net.Conn{echoOverTCP(b), cr}
		}},
		{"two processes", func(b *testing.B) [2]net.Conn {
			peer := startBenchPeer(b)
			jobs := [2]*plainJob{newTCPJob(b, peer), newStreamJob(b, peer, true)}
			for _, j := range jobs {
				if err := j.begin(benchEcho, 1<<24, 64); err != nil { // ends with the connection
					b.Fatal(err)
				}
			}
			return [2]net.Conn{jobs[0].c, jobs[1].c}
		}},
	}
	for _, e := range ends {
		for _, pause := range []time.Duration{200 * time.Microsecond, time.Millisecond, 5 * time.Millisecond, 30 * time.Millisecond} {
			b.Run(fmt.Sprintf("%s/pause=%v", e.name, pause), func(b *testing.B) { sparseEcho(b, e.conns(b), pause) })
		}
	}
}

// sparseEcho measures echoes after pauses.
func sparseEcho(b *testing.B, conns [2]net.Conn, pause time.Duration) {
	p := make([]byte, 64)
	echo := func(c net.Conn) time.Duration {
		time.Sleep(pause)
		begin := time.Now()
		if _, err := c.Write(p); err != nil {
			b.Fatal(err)
		}
		if _, err := io.ReadFull(c, p); err != nil {
			b.Fatal(err)
		}
		return time.Since(begin)
	}
	n := int(max(200, min(2000, time.Second/pause)))
	var took [2][]time.Duration
	var used [2]time.Duration
	echoes := 0
	for b.Loop() {
		for k := range 2 * n {
			took[k%2] = append(took[k%2], echo(conns[k%2]))
		}
		for k, c := range conns {
			before := processTime(b)
			for range n {
				echo(c)
			}
			used[k] += processTime(b) - before
		}
		echoes += n
	}
	var median [2]float64
	for k := range took {
		slices.Sort(took[k])
		median[k] = took[k][len(took[k])/2].Seconds() * 1e6
	}
	b.ReportMetric(median[0], "tcp-us")
	b.ReportMetric(median[1], "rddp-us")
	b.ReportMetric(median[1]/median[0], "x-tcp")
	b.ReportMetric(used[0].Seconds()*1e6/float64(echoes), "tcp-cpu-us")
	b.ReportMetric(used[1].Seconds()*1e6/float64(echoes), "rddp-cpu-us")
	b.ReportMetric(0, "ns/op")
}

// processTime returns the processor time of this process.
func processTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
