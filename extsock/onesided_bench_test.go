package extsock_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
)

// BenchmarkOneSidedAfterMessages measures how long a peer's operation takes when the program has
// just answered some quick messages, and computes or waits for something else: no operation waits
// for the program. p50 and p99 are of many such cycles on one connection. The echo over plain TCP,
// for which a goroutine of the program waits in Read, shows how long the scheduler takes for any
// goroutine.
func BenchmarkOneSidedAfterMessages(b *testing.B) {
	long := make([]byte, 512<<10)
	plain := echoOverTCP(b)
	ops := []struct {
		name string
		cfg  extsock.Config
		back int // bytes that the program reads afterwards
		do   func(c *extsock.Conn, m *extsock.RemoteMemory) error
	}{
		{"Read of 4 KiB", extsock.Config{}, 0, func(_ *extsock.Conn, m *extsock.RemoteMemory) error {
			_, err := m.Read(context.Background(), make([]byte, 4096), 0)
			return err
		}},
		{"FetchAdd", extsock.Config{}, 0, func(_ *extsock.Conn, m *extsock.RemoteMemory) error {
			_, err := m.FetchAdd(context.Background(), 0, 1)
			return err
		}},
		{"Write and a Read behind it", extsock.Config{}, 0, func(_ *extsock.Conn, m *extsock.RemoteMemory) error {
			if _, err := m.WriteAt(make([]byte, 64), 0); err != nil {
				return err
			}
			_, err := m.ReadAt(make([]byte, 1), 0)
			return err
		}},
		{"stream Write of 512 KiB, offered", extsock.Config{Crossover: 64 << 10}, 512 << 10, func(c *extsock.Conn, _ *extsock.RemoteMemory) error {
			_, err := c.Write(long)
			return err
		}},
		{"stream Write of 512 KiB", extsock.Config{Crossover: -1}, 512 << 10, func(c *extsock.Conn, _ *extsock.RemoteMemory) error {
			_, err := c.Write(long)
			return err
		}},
		{"echo of 64 bytes over plain TCP", extsock.Config{}, 0, func(*extsock.Conn, *extsock.RemoteMemory) error {
			if _, err := plain.Write(long[:64]); err != nil {
				return err
			}
			_, err := io.ReadFull(plain, long[:64])
			return err
		}},
	}
	for _, op := range ops {
		for _, quick := range []int{0, 4, 8, 16, 300} {
			for _, computes := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s/messages=%d/computes=%t", op.name, quick, computes), func(b *testing.B) {
					ci, cr := tcpPair(b, side{cfg: op.cfg}, side{cfg: op.cfg})
					r, err := ci.Register(make([]byte, 1<<16), ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
					if err != nil {
						b.Fatal(err)
					}
					remote := cr.Remote(r.Handle())
					done := make(chan bool)
					go program(ci, quick, op.back, computes, done)
					var took []time.Duration
					p := make([]byte, 8)
					for b.Loop() {
						for range 20 {
							for range quick {
								if _, err := cr.Write(p); err != nil {
									b.Fatal(err)
								}
								if _, err := io.ReadFull(cr, p); err != nil {
									b.Fatal(err)
								}
							}
							begin := time.Now()
							if err := op.do(cr, remote); err != nil {
								b.Fatal(err)
							}
							took = append(took, time.Since(begin))
							done <- true
							if op.back > 0 {
								<-done
							}
						}
					}
					close(done)
					slices.Sort(took)
					b.ReportMetric(took[len(took)/2].Seconds()*1e6, "p50-us")
					b.ReportMetric(took[len(took)*99/100].Seconds()*1e6, "p99-us")
					b.ReportMetric(0, "ns/op")
				})
			}
		}
	}
}

// echoOverTCP returns one end of a connection. At the other end a goroutine answers.
func echoOverTCP(b *testing.B) net.Conn {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { l.Close() })
	go serveBench(l, func(c net.Conn) error {
		_, err := io.Copy(c, struct{ io.Reader }{c}) // without splice
		return err
	})
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { c.Close() })
	return c
}

// program answers messages, and then computes or waits until done says that the peer's operation is
// complete.
func program(c *extsock.Conn, quick, back int, computes bool, done chan bool) {
	p, long := make([]byte, 8), make([]byte, max(back, 1))
	for {
		for range quick {
			if _, err := io.ReadFull(c, p); err != nil {
				return
			}
			if _, err := c.Write(p); err != nil {
				return
			}
		}
		if !waitFor(done, computes) {
			return
		}
		if back > 0 {
			if _, err := io.ReadFull(c, long); err != nil {
				return
			}
			done <- true
		}
	}
}

// waitFor waits for a value of done, and keeps a processor busy meanwhile if computes is set.
func waitFor(done chan bool, computes bool) (more bool) {
	var h uint64
	for computes {
		select {
		case _, more = <-done:
			return more
		default:
			for range 1000 {
				h = h*31 + 7
			}
			binary.LittleEndian.PutUint64(make([]byte, 8), h)
		}
	}
	_, more = <-done
	return more
}
