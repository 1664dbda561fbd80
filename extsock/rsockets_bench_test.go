package extsock_test

import (
	"fmt"
	"io"
	"testing"

	"github.com/rddp/rddp/extsock"
)

// BenchmarkRSockets sends Writes of one size in one direction over loopback in this process, in
// turns over rddp's own byte stream and over rsockets. The peer answers the last one. The metrics
// are medians over the rounds, and x-own is the throughput of rsockets over that of the own byte
// stream.
func BenchmarkRSockets(b *testing.B) {
	for _, size := range []int{64, 4 << 10, 64 << 10, 1 << 20} {
		b.Run(fmt.Sprintf("size=%d", size), func(b *testing.B) {
			total := min(256<<20, max(16<<20, size<<14))
			own, rsockets := oneWay(b, &extsock.Config{}, total), oneWay(b, &extsock.Config{RSockets: true}, total)
			o, r, ratio := rounds(b, total, size, own, rsockets)
			b.ReportMetric(float64(total)/o/1e6, "own-MB/s")
			b.ReportMetric(float64(total)/r/1e6, "rsockets-MB/s")
			b.ReportMetric(1/ratio, "x-own")
		})
	}
}

// oneWay returns a function that writes total bytes and waits for the answer.
func oneWay(b *testing.B, cfg *extsock.Config, total int) func(total, size int) error {
	cfg.Startup = extsock.StartupRequire
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go func() {
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		for p, left := make([]byte, 1<<20), total; ; {
			n, err := c.Read(p[:min(len(p), left)])
			if err != nil {
				return
			}
			if left -= n; left == 0 {
				if _, err := c.Write(p[:1]); err != nil {
					return
				}
				left = total
			}
		}
	}()
	c, err := extsock.Dial("tcp", l.Addr().String(), cfg)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	p := make([]byte, 1<<20)
	return func(total, size int) error {
		for range total / size {
			if _, err := c.Write(p[:size]); err != nil {
				return err
			}
		}
		_, err := io.ReadFull(c, p[:1])
		return err
	}
}
