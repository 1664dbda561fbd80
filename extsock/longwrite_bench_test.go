package extsock_test

import (
	"fmt"
	"io"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// BenchmarkLongWrites is what a long Write takes, and all of it until the reader has the bytes: over
// loopback and over a simulated link with a long round trip time, with a reader that waits in Read,
// and one that comes late. The medians and means are those of the Writes after the first few, in which
// a connection finds out which way is faster.
func BenchmarkLongWrites(b *testing.B) {
	for _, link := range []string{"loopback", "delay"} {
		for _, size := range []int{2 << 20, 8 << 20} {
			for _, late := range []time.Duration{0, 200 * time.Microsecond} {
				b.Run(fmt.Sprintf("%s/size=%dKiB/late=%v", link, size>>10, late), func(b *testing.B) {
					var ci, cr *extsock.Conn
					writes := 256 << 20 / size
					if link == "loopback" {
						ci, cr = tcpPair(b, side{}, side{})
					} else {
						ci, cr = simPair(b, simtoe.Config{Delay: 20 * time.Millisecond, Window: 16 << 20}, side{}, side{})
						writes = 50
					}
					b.SetBytes(int64(writes * size))
					begun, read := make(chan bool, 1), make(chan error, 1)
					go readLong(cr, size, late, begun, read)
					p := make([]byte, size)
					cycle := func() (write, whole time.Duration) {
						begin := time.Now()
						begun <- true
						if _, err := ci.Write(p); err != nil {
							b.Fatal(err)
						}
						write = time.Since(begin)
						if err := <-read; err != nil {
							b.Fatal(err)
						}
						return write, time.Since(begin)
					}
					for range 8 {
						cycle()
					}
					var took [2][]time.Duration
					for b.Loop() {
						for range writes {
							write, whole := cycle()
							took[0], took[1] = append(took[0], write), append(took[1], whole)
						}
					}
					close(begun)
					for i, name := range []string{"write", "whole"} {
						slices.Sort(took[i])
						b.ReportMetric(took[i][len(took[i])/2].Seconds()*1e6, name+"-us")
						var sum time.Duration
						for _, d := range took[i] {
							sum += d
						}
						b.ReportMetric(sum.Seconds()*1e6/float64(len(took[i])), name+"-mean-us")
					}
					b.ReportMetric(float64(ci.Stats().Offers)/float64(len(took[0])), "offers")
				})
			}
		}
	}
}

// readLong reads size bytes each time that the writer has begun, until begun is closed or c is. A
// reader that is not late waits in Read by then.
func readLong(c *extsock.Conn, size int, late time.Duration, begun <-chan bool, read chan<- error) {
	p := make([]byte, size)
	for {
		if late > 0 {
			if !<-begun {
				return
			}
			for begin := time.Now(); time.Since(begin) < late; { // Sleep would take longer
			}
		}
		_, err := io.ReadFull(c, p)
		if read <- err; err != nil || late == 0 && !<-begun {
			return
		}
	}
}
