package extsock_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// limitMemory sets the process's limit for the test, which has called alone.
func limitMemory(t *testing.T, n int64) {
	t.Helper()
	before := extsock.SetMemoryLimit(n)
	t.Cleanup(func() {
		extsock.SetMemoryLimit(before)
		if n := extsock.MemoryTaken(); n != 0 {
			t.Errorf("%d octets of the process's memory are still taken", n)
		}
	})
}

// TestMemoryLimit: without memory beyond the allowance, the allowance bounds the unread data. In
// message mode the connection stalls, and counts that. A byte stream never stalls: its peer runs
// out of credits, and counts that. Both go on when the program reads, and nothing is lost. With
// memory, more can be unread, and nothing stalls.
func TestMemoryLimit(t *testing.T) {
	alone(t)
	for _, messages := range []bool{false, true} {
		for _, limit := range []int64{0, 64 << 20} {
			t.Run(fmt.Sprintf("messages %t, limit %d", messages, limit), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					limitMemory(t, limit)
					s := side{cfg: extsock.Config{Messages: messages, Crossover: -1}}
					ci, cr := simPair(t, simtoe.Config{}, s, s)
					want := pattern(1<<20, 3)
					wrote := make(chan error, 1)
					go func() {
						for b := want; len(b) > 0; {
							n := min(len(b), 50_000)
							if _, err := ci.Write(b[:n]); err != nil {
								wrote <- err
								return
							}
							b = b[n:]
						}
						wrote <- nil
					}()
					synctest.Wait()
					stalls := cr.Stats().MemoryStalls
					held := extsock.Unread(cr)
					most, credits := int64(192<<10), ci.Stats().CreditStalls
					if !messages {
						most = 512 << 10
					}
					if limit == 0 && (held > most || (stalls > 0) != messages || (credits > 0) == messages) {
						t.Errorf("%d octets are held, %d stalls, %d for want of credits, with a limit of 0", held, stalls, credits)
					}
					if limit > 0 && (held < 512<<10 || stalls > 0) {
						t.Errorf("%d octets are held, %d stalls, where there is memory", held, stalls)
					}
					got := make([]byte, len(want))
					if _, err := io.ReadFull(cr, got); err != nil || !bytes.Equal(got, want) {
						t.Errorf("not the octets that were written: %v", err)
					}
					if err := <-wrote; err != nil {
						t.Error(err)
					}
					ci.Close()
					cr.Close()
					settle()
				})
			})
		}
	}
}

// TestBegunFPDU: a peer that stops in the middle of an FPDU keeps a whole buffer in use only if
// much of the FPDU has arrived. The FPDU arrives when its rest does. Kernel TCP borrows a buffer
// late, and the simulator early.
func TestBegunFPDU(t *testing.T) {
	alone(t)
	const length = 60_000
	u := untagged(rdmap.OpSend, ddp.QNSend, 1, 0, length)
	fpdu := rawpeer.FPDUs(mpa.NewSender(mpa.Agreement{CRC: true}), u)
	begun := func(t *testing.T, p *rawPeer, c *extsock.Conn, n int, settled func(want int64) bool) {
		defer c.Close()
		if _, err := p.s.Write(fpdu[:n]); err != nil {
			t.Fatal(err)
		}
		want := int64(0)
		if n > 16<<10 {
			want = 512 << 10
		}
		if !settled(want) {
			t.Errorf("%d octets of an FPDU hold %d, want %d", n, extsock.MemoryTaken(), want)
		}
		if _, err := p.s.Write(fpdu[n:]); err != nil {
			t.Fatal(err)
		}
		got := make([]byte, length+1)
		if n, err := c.Read(got); err != nil || !bytes.Equal(got[:n], u[len(u)-length:]) {
			t.Errorf("Read = %d, %v, not the octets that were sent", n, err)
		}
		p.s.Close()
	}
	for _, n := range []int{1, 2, 18, 1000, 16 << 10, 16<<10 + 1, len(fpdu) - 1} {
		t.Run(fmt.Sprintf("%d octets", n), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := rawPair(t, extsock.Config{}, nil)
				begun(t, p, c, n, func(want int64) bool {
					synctest.Wait()
					return extsock.MemoryTaken() == want
				})
				settle()
			})
		})
		t.Run(fmt.Sprintf("%d octets over kernel TCP", n), func(t *testing.T) {
			a, b := kernelStreams(t)
			p, c := rawPairOver(t, a, b, extsock.Config{}, nil, nil)
			begun(t, p, c, n, func(want int64) bool {
				prototest.Wait(t, fmt.Sprint(want, " bytes are held"), func() bool {
					return c.Stats().Received.Octets == uint64(n) && extsock.MemoryTaken() == want
				})
				return true
			})
			alone(t) // the end of a connection borrows a batch once more
			prototest.Wait(t, "no memory is held", func() bool { return extsock.MemoryTaken() == 0 })
		})
	}
}

// TestMemoryLimitClose: Close gives back a connection's memory. So does an end without Close,
// except for unread data: see TestMemoryOfEnded.
func TestMemoryLimitClose(t *testing.T) {
	alone(t)
	for _, how := range []string{"Close", "a lost connection", "Close while it stalls"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				limit := int64(64 << 20)
				if how == "Close while it stalls" {
					limit = 0
				}
				limitMemory(t, limit)
				s := side{cfg: extsock.Config{Crossover: -1}}
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{CutAfter: 1000, CutHow: simtoe.RST})
				ci, cr := switched(t, a, b, s, s)
				go ci.Write(make([]byte, 1<<20))
				synctest.Wait()
				if limit > 0 && extsock.MemoryTaken() == 0 {
					t.Error("nothing is taken")
				}
				if how == "a lost connection" {
					go cr.Write(make([]byte, 2000))
				} else {
					begin := time.Now()
					if err := cr.Close(); err != nil || time.Since(begin) > 0 {
						t.Errorf("Close: %v after %v", err, time.Since(begin))
					}
				}
				settle()
				if how == "a lost connection" {
					if unread, taken := extsock.Unread(cr), extsock.MemoryTaken(); taken < unread-512<<10 || taken > unread {
						t.Errorf("%d octets are unread, and %d taken", unread, taken)
					}
					cr.Close()
				}
				if n := extsock.MemoryTaken(); n != 0 {
					t.Errorf("%d octets are still taken", n)
				}
			})
		})
	}
}

// TestMemoryLimitBothWrite: two ends that both write before they read do not wait for each other if
// the data fits the allowance, even if there is no memory beyond it.
func TestMemoryLimitBothWrite(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		limitMemory(t, 0)
		s := side{cfg: extsock.Config{Crossover: -1}}
		ci, cr := simPair(t, simtoe.Config{}, s, s)
		const n = 60_000
		for range 20 {
			ended := make(chan error, 2)
			for _, c := range []*extsock.Conn{ci, cr} {
				go func() {
					if _, err := c.Write(make([]byte, n)); err != nil {
						ended <- err
						return
					}
					_, err := io.ReadFull(c, make([]byte, n))
					ended <- err
				}()
			}
			for range 2 {
				if err := <-ended; err != nil {
					t.Fatal(err)
				}
			}
		}
		ci.Close()
		cr.Close()
		settle()
	})
}
