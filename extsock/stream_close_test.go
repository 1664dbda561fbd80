package extsock_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// wantEOF checks that total octets of the tape from pos on come, and then io.EOF.
func wantEOF(t *testing.T, c *extsock.Conn, pos, total int) {
	t.Helper()
	if got, err := readTape(c, pos, -1, newLengths(9, 1000)); got != total || err != nil {
		t.Errorf("%d octets have arrived, want %d: %v", got, total, err)
	}
	if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
		t.Errorf("Read behind the end = %d, %v", n, err)
	}
}

// wantPipe checks that nothing can be written any more.
func wantPipe(t *testing.T, c *extsock.Conn) {
	t.Helper()
	for _, length := range []int{1, 64, 100_000} {
		if n, err := c.Write(make([]byte, length)); n != 0 || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Write of %d octets behind the end = %d, %v, want EPIPE", length, n, err)
		}
	}
}

// TestStreamHalfClose ends one direction and then the other, in both orders, while data still flows
// in the other direction.
func TestStreamHalfClose(t *testing.T) {
	for _, first := range []string{"Initiator", "Responder", "both"} {
		for _, before := range []int{0, 1, 3000, 300_000} {
			t.Run(fmt.Sprintf("%s first, %d octets before", first, before), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ci, cr := simPair(t, simtoe.Config{Delay: time.Millisecond}, side{}, side{})
					x, y := ci, cr
					if first == "Responder" {
						x, y = y, x
					}
					written := make(chan error, 1)
					go func() {
						err := writeTape(x, 0, before, newLengths(1, 1<<16))
						written <- errors.Join(err, x.CloseWrite(), x.CloseWrite())
					}()
					if first == "both" {
						if err := y.CloseWrite(); err != nil {
							t.Error(err)
						}
						wantPipe(t, y)
					}
					wantEOF(t, y, 0, before)
					if err := <-written; err != nil {
						t.Error(err)
					}
					wantPipe(t, x)
					after := 0
					if first != "both" { // the other direction still works
						after = 200_000
						go func() {
							err := writeTape(y, 3, after, newLengths(2, 1<<16))
							written <- errors.Join(err, y.CloseWrite(), y.CloseWrite())
						}()
					}
					wantEOF(t, x, 3, after)
					if first != "both" {
						if err := <-written; err != nil {
							t.Error(err)
						}
					}
					wantPipe(t, y)
					// The connection lives until it is closed.
					r := register(t, y, tapeAt(0, 64), ddp.RemoteRead)
					if _, err := x.Remote(r.Handle()).ReadAt(make([]byte, 64), 0); err != nil {
						t.Errorf("ReadAt behind both ends: %v", err)
					}
					if err := errors.Join(x.Close(), y.Close()); err != nil {
						t.Error(err)
					}
					if err := x.CloseWrite(); !errors.Is(err, net.ErrClosed) {
						t.Errorf("CloseWrite behind Close: %v", err)
					}
					settle()
				})
			})
		}
	}
}

// TestStreamCloseWriteWithoutCredits: the peer does not read and all credits are used. CloseWrite
// does not wait, and the end comes after what was written.
func TestStreamCloseWriteWithoutCredits(t *testing.T) {
	for _, s := range []struct{ depth, size int }{{6, 512}, {7, 512}, {32, 512}, {6, 65536}} {
		for _, length := range []int{64, 500, 20_000} {
			for _, both := range []bool{false, true} {
				bubble(t, func(t *testing.T) {
					ci, cr := simPair(t, simtoe.Config{}, ofDepth(s.depth, s.size), ofDepth(s.depth, s.size))
					n, m := fillUp(t, ci, 0, length, 1<<20), 0
					if both {
						m = fillUp(t, cr, 7, length, 1<<20)
					}
					begin := time.Now()
					if err := ci.CloseWrite(); err != nil || time.Since(begin) > 0 {
						t.Errorf("CloseWrite = %v after %v", err, time.Since(begin))
					}
					if both {
						if err := cr.CloseWrite(); err != nil || time.Since(begin) > 0 {
							t.Errorf("CloseWrite = %v after %v", err, time.Since(begin))
						}
						wantEOF(t, ci, 7, m)
					}
					wantEOF(t, cr, 0, n)
					ci.Close()
					cr.Close()
					settle()
				})
			}
		}
	}
}

// TestStreamCloseWriteDuringWrite: the Write under way ends with EPIPE, and what it has counted
// arrives.
func TestStreamCloseWriteDuringWrite(t *testing.T) {
	for _, length := range []int{100, 5000, 4 << 20} {
		for _, window := range []int{0, 2000} {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{Window: window}, side{}, ofDepth(6, 1000))
				type result struct {
					n   int
					err error
				}
				written := make(chan result, 1)
				go func() {
					var r result
					for r.err == nil {
						var n int
						p := tapeAt(r.n, min(length, 1<<20))
						n, r.err = ci.Write(p)
						r.n += n
					}
					written <- r
				}()
				synctest.Wait()
				if err := ci.CloseWrite(); err != nil {
					t.Error(err)
				}
				read := make(chan int, 1)
				go func() {
					got, err := readTape(cr, 0, -1, newLengths(1, 1000))
					if err != nil {
						t.Error(err)
					}
					read <- got
				}()
				r, got := <-written, <-read
				if !errors.Is(r.err, syscall.EPIPE) || r.n != got {
					t.Errorf("Writes of %d: %d octets counted, then %v; %d have arrived", length, r.n, r.err, got)
				}
				ci.Close()
				cr.Close()
				settle()
			})
		}
	}
}

// TestStreamCloseKeepsTheTail: what was written arrives even if Close follows at once, and then
// io.EOF.
func TestStreamCloseKeepsTheTail(t *testing.T) {
	for _, wire := range []simtoe.Config{{}, {Window: 500, Delay: time.Millisecond}, {Delay: time.Second}, {Split: true, MaxSegment: 9, Early: 0.5}} {
		for _, writes := range []int{0, 1, 3, 5, 100, 1500} {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, wire, side{}, side{})
				go func() {
					for i := range writes {
						if _, err := ci.Write(tapeAt(i*50, 50)); err != nil {
							t.Error(err)
						}
					}
					if err := ci.Close(); err != nil {
						t.Error(err)
					}
				}()
				wantEOF(t, cr, 0, writes*50)
				if err := cr.Close(); err != nil {
					t.Error(err)
				}
				settle()
			})
		}
	}
	for range 50 {
		ci, cr := tcpPair(t, side{}, side{})
		bounded(t, ci, cr)
		closed := make(chan error, 1)
		go func() { closed <- errors.Join(writeTape(ci, 0, 10_000, newLengths(1, 500)), ci.Close()) }()
		wantEOF(t, cr, 0, 10_000)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		cr.Close()
	}
}

// TestStreamBothClose: both ends close at once, while unread octets are on their way in both
// directions.
func TestStreamBothClose(t *testing.T) {
	for _, unread := range []int{0, 100, 50_000} {
		bubble(t, func(t *testing.T) {
			ci, cr := simPair(t, simtoe.Config{Delay: 100 * time.Millisecond}, side{}, side{})
			for _, c := range []*extsock.Conn{ci, cr} {
				if err := writeTape(c, 0, unread, newLengths(1, 1000)); err != nil {
					t.Error(err)
				}
			}
			begin := time.Now()
			done := make(chan error)
			go func() { done <- cr.Close() }()
			if err := errors.Join(ci.Close(), <-done); err != nil {
				t.Error(err)
			}
			if d := time.Since(begin); d > time.Second {
				t.Errorf("it took %v", d)
			}
			settle()
		})
	}
}

// TestStreamCloseWhileThePeerWrites: the peer's Writes end as TCP's would, and its Read with
// io.EOF.
func TestStreamCloseWhileThePeerWrites(t *testing.T) {
	resets := 0
	for _, length := range []int{64, 3000, 100_000} {
		for _, delay := range []time.Duration{0, 10 * time.Millisecond} {
			for _, reads := range []bool{false, true} {
				bubble(t, func(t *testing.T) {
					ci, cr := simPair(t, simtoe.Config{Window: 20_000, Delay: delay}, side{}, side{})
					written := make(chan error, 1)
					go func() {
						for i := 0; ; i++ {
							if _, err := cr.Write(tapeAt(i, length)); err != nil {
								written <- err
								return
							}
							if i%10 == 0 {
								time.Sleep(time.Millisecond)
							}
						}
					}()
					if reads {
						go io.Copy(io.Discard, ci)
					}
					time.Sleep(20 * time.Millisecond)
					const total = 60_000 // it takes its time to go out, and the peer writes on
					if err := writeTape(ci, 0, total, newLengths(1, 5000)); err != nil {
						t.Error(err)
					}
					synctest.Wait() // the reader has all that has come
					unread := extsock.Unread(ci) > 0
					if err := ci.Close(); err != nil {
						t.Error(err)
					}
					if err := <-written; !errors.Is(err, syscall.EPIPE) && !errors.Is(err, syscall.ECONNRESET) {
						t.Errorf("Writes of %d octets, delay %v, reads %t: %v, want EPIPE or ECONNRESET", length, delay, reads, err)
					}
					if unread {
						resets++
					}
					if unread && reads {
						t.Errorf("length %d, delay %v: the reader has left something", length, delay)
					}
					if !unread {
						wantEOF(t, cr, 0, total)
					} else if _, err := io.Copy(io.Discard, cr); !errors.Is(err, syscall.ECONNRESET) {
						t.Errorf("Read = %v, want ECONNRESET: Writes were not read", err)
					}
					cr.Close()
					settle()
				})
			}
		}
	}
	if resets == 0 {
		t.Error("there was never anything unread")
	}
}

// TestStreamCloseUnblocks: Read, Write and ReadAt calls that wait return net.ErrClosed.
func TestStreamCloseUnblocks(t *testing.T) {
	for _, length := range []int{100, 60_000, 1 << 20} {
		for _, stuck := range []bool{false, true} { // TCP, too
			bubble(t, func(t *testing.T) {
				ci, cr, g := gatedPair(t, extsock.Config{CloseTimeout: time.Second})
				r := register(t, cr, make([]byte, 1<<16), ddp.RemoteRead)
				if stuck {
					g.shut()
				}
				errs := make(chan error, 3)
				go func() { _, err := ci.Read(make([]byte, 1)); errs <- err }()
				go func() {
					var err error
					for err == nil {
						_, err = ci.Remote(r.Handle()).ReadAt(make([]byte, 1<<16), 0)
						time.Sleep(10 * time.Millisecond)
					}
					errs <- err
				}()
				go func() {
					var err error
					for err == nil { // the peer does not read
						_, err = ci.Write(make([]byte, length))
					}
					errs <- err
				}()
				time.Sleep(time.Second)
				begin := time.Now()
				err := ci.Close()
				if d := time.Since(begin); (err == nil) == stuck || d > time.Second {
					t.Errorf("Close = %v after %v, the peer is stuck: %t", err, d, stuck)
				}
				for range 3 {
					if err := <-errs; !errors.Is(err, net.ErrClosed) {
						t.Errorf("got %v, want net.ErrClosed", err)
					}
				}
				if stuck {
					g.open()
				}
				cr.Close()
				settle()
			})
		}
	}
}

// TestStreamClosesWhileBlocked: Close at any moment of Writes that a slow reader holds back needs
// no timeout, and the octets that were counted and not cut off arrive.
func TestStreamClosesWhileBlocked(t *testing.T) {
	for i := range 100 {
		bubble(t, func(t *testing.T) {
			wire := simtoe.Config{Seed: uint64(i), Window: 20_000, Delay: time.Millisecond}
			ci, cr := simPair(t, wire, side{}, ofDepth(6+i%3, 4096))
			lengths := newLengths(uint64(i), 50_000)
			var all sync.WaitGroup
			counted := 0
			all.Go(func() {
				for {
					n, err := ci.Write(tapeAt(counted, lengths.next()))
					counted += n
					if err != nil {
						if !errors.Is(err, net.ErrClosed) {
							t.Errorf("Write = %v", err)
						}
						return
					}
				}
			})
			got := 0
			all.Go(func() {
				p := make([]byte, 3000)
				for {
					n, err := cr.Read(p)
					if string(p[:n]) != string(tapeAt(got, n)) {
						t.Errorf("other octets at %d", got)
					}
					got += n
					if err != nil {
						if err != io.EOF {
							t.Errorf("Read = %v", err)
						}
						return
					}
					time.Sleep(300 * time.Microsecond)
				}
			})
			time.Sleep(time.Duration(10_000+i*137) * time.Microsecond)
			begin := time.Now()
			if err := ci.Close(); err != nil {
				t.Errorf("Close = %v after %v", err, time.Since(begin))
			}
			all.Wait()
			if got != counted {
				t.Errorf("round %d: %d octets counted, %d have arrived", i, counted, got)
			}
			cr.Close()
			settle()
		})
	}
}

// TestStreamPeerVanishes cuts the way to the reader at every octet. Whole messages are read, and
// then comes an error other than io.EOF, unless the end of the stream has come.
func TestStreamPeerVanishes(t *testing.T) {
	for _, how := range []simtoe.CutHow{simtoe.FIN, simtoe.RST, simtoe.Silence} {
		for after := int64(60); after < 700; after += 3 {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{CutAfter: after, CutHow: how}, simtoe.Config{})
				ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
				defer settle()
				defer cr.Close()
				defer ci.Close()
				if err := switchBoth(timeLimit(t), ci, cr); err != nil {
					return // cut too early
				}
				const total = 300
				go func() {
					if writeTape(ci, 0, total, newLengths(uint64(after), 100)) == nil {
						ci.CloseWrite()
					}
				}()
				cr.SetReadDeadline(time.Now().Add(time.Hour))
				got, err := readTape(cr, 0, -1, newLengths(2, 100))
				switch {
				case err == nil:
					if got != total {
						t.Errorf("cut by %v after %d octets: io.EOF after %d of %d octets", how, after, got, total)
					}
				case how == simtoe.FIN && !errors.Is(err, io.ErrUnexpectedEOF),
					how == simtoe.RST && !errors.Is(err, syscall.ECONNRESET) && !errors.Is(err, io.ErrUnexpectedEOF),
					how == simtoe.Silence && !errors.Is(err, os.ErrDeadlineExceeded):
					t.Errorf("cut by %v after %d octets: %d octets, %v", how, after, got, err)
				}
				if err != nil && how == simtoe.FIN {
					_, err := cr.Write([]byte("x"))
					if err == nil { // as over TCP, behind a FIN that cuts nothing off
						_, err = cr.Write([]byte("x"))
					}
					if !errors.Is(err, syscall.EPIPE) {
						t.Errorf("cut by a FIN after %d octets: Write = %v, want EPIPE", after, err)
					}
				}
			})
		}
	}
}

// TestStreamCloseTimeout: if the peer takes nothing, Close returns after CloseTimeout, and every
// call ends.
func TestStreamCloseTimeout(t *testing.T) {
	for _, length := range []int{1000, 100_000} {
		bubble(t, func(t *testing.T) {
			a, b := simtoe.Pair(simtoe.Config{Window: 4096, CutAfter: 5000, CutHow: simtoe.Silence}, simtoe.Config{})
			ci, cr := switched(t, a, b, side{cfg: extsock.Config{CloseTimeout: 3 * time.Second}}, side{})
			written := make(chan error, 1)
			go func() {
				var err error
				for err == nil {
					_, err = ci.Write(make([]byte, length))
				}
				written <- err
			}()
			time.Sleep(time.Second)
			begin := time.Now()
			if err := ci.Close(); err == nil {
				t.Error("Close = nil, and the peer has not taken what is queued")
			}
			if d := time.Since(begin); d != 3*time.Second {
				t.Errorf("Close took %v", d)
			}
			if err := <-written; !errors.Is(err, net.ErrClosed) {
				t.Errorf("Write = %v", err)
			}
			cr.Close()
			settle()
		})
	}
}

// TestStreamCloseWithVerbsQueued: RDMA Writes that were posted go out before Close returns, even
// while the peer sends.
func TestStreamCloseWithVerbsQueued(t *testing.T) {
	for _, s := range []side{{}, inMessages} {
		bubble(t, func(t *testing.T) {
			wire := simtoe.Config{Window: 100_000, Delay: 10 * time.Millisecond}
			ci, cr := simPair(t, wire, s, s)
			const writes, length = 8, 1 << 20
			memory := make([]byte, writes*length)
			h := register(t, cr, memory, ddp.RemoteWrite).Handle()
			go func() {
				for {
					if _, err := cr.Write(make([]byte, 1000)); err != nil {
						return
					}
					time.Sleep(time.Millisecond)
				}
			}()
			go io.Copy(io.Discard, ci)
			for i := range writes {
				to := rdmap.Handle{STag: h.STag, TO: h.TO + uint64(i*length), Len: length}
				post(t, ci, 1, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: tapeAt(i*length, length), Remote: to})
			}
			synctest.Wait() // the reader has all that has come
			if err := ci.Close(); err != nil {
				t.Error(err)
			}
			for range writes {
				complete(t, ci.SendCQ())
			}
			cr.Close()
			settle()
		})
	}
}
