package extsock_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// bothWays makes both ends write total octets while they read as many, with calls of 1 octet to
// most.
func bothWays(t *testing.T, ci, cr *extsock.Conn, total, most int) {
	t.Helper()
	var all sync.WaitGroup
	for i, c := range []*extsock.Conn{ci, cr} {
		mine, other := 1000*i, 1000*(1-i) // the two directions have different octets
		all.Go(func() {
			if err := writeTape(c, mine, total, newLengths(uint64(i), most)); err != nil {
				t.Errorf("end %d: %v", i, err)
				ci.Close()
				cr.Close()
			}
		})
		all.Go(func() {
			if _, err := readTape(c, other, total, newLengths(uint64(i+2), most)); err != nil {
				t.Errorf("end %d: %v", i, err)
				ci.Close()
				cr.Close()
			}
		})
	}
	all.Wait()
}

// ofDepth returns a side with depth buffers of size octets.
func ofDepth(depth, size int) side {
	return side{cfg: extsock.Config{RecvDepth: depth, RecvSize: size}}
}

// TestStreamBothWays: both ends write and read at once, with various buffers, and with calls of all
// lengths.
func TestStreamBothWays(t *testing.T) {
	scale := testmode.Rounds(1, 16)
	depths := [][2]int{{6, 6}, {32, 32}, {6, 64}, {64, 6}, {7, 7}, {8, 8}, {16, 16}, {64, 64}}
	networks := []struct {
		name string
		pair func(t testing.TB) (a, b net.Conn)
	}{
		{"loopback", kernelStreams},
		{"simulated", func(testing.TB) (a, b net.Conn) { return simtoe.Pair(simtoe.Config{}, simtoe.Config{}) }},
		{"simulated, split", func(testing.TB) (a, b net.Conn) {
			wire := simtoe.Config{Split: true, MaxSegment: 20_000, Early: 0.2, Window: 50_000}
			return simtoe.Pair(wire, wire)
		}},
	}
	for _, network := range networks {
		for _, depth := range depths[:testmode.Rounds(len(depths), 4)] {
			for _, size := range []int{512, 4096, 65536} {
				t.Run(fmt.Sprintf("%s, depth %v, size %d", network.name, depth, size), func(t *testing.T) {
					bubble(t, func(t *testing.T) {
						total := min(min(depth[0], depth[1])*size*64, 64<<20) / scale
						if network.name != "loopback" && depth[0] != 32 {
							total /= 8
						}
						a, b := network.pair(t)
						ci, cr := switched(t, a, b, ofDepth(depth[0], size), ofDepth(depth[1], size))
						bounded(t, ci, cr)
						bothWays(t, ci, cr, total, min(1<<20, total))
					})
				})
			}
		}
	}
}

// TestStreamSmallSendQueue: the send queue has less room than the peer has buffers.
func TestStreamSmallSendQueue(t *testing.T) {
	for _, depth := range []int{1, 2, 5} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				s := side{cfg: extsock.Config{SendDepth: depth, RecvSize: 4096}}
				ci, cr := simPair(t, simtoe.Config{Window: 3000}, s, s)
				bounded(t, ci, cr)
				bothWays(t, ci, cr, 2<<20, 1<<18)
			})
		})
	}
}

// TestStreamOverPlainConn runs over a net.Conn whose every write may wait.
func TestStreamOverPlainConn(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{Window: 9000}, simtoe.Config{})
		ci, cr := switched(t, asPlainConn(a), asPlainConn(b), side{}, side{})
		bounded(t, ci, cr)
		bothWays(t, ci, cr, 4<<20, 1<<18)
	})
}

// talk is a conversation of a client and a server, with half-close.
func talk(t *testing.T, client, server *extsock.Conn) {
	t.Helper()
	served := make(chan error, 1)
	go func() {
		served <- func() error {
			if err := writeTape(server, 10, 200, newLengths(3, 50)); err != nil { // a server may write first
				return err
			}
			got, err := readTape(server, 0, -1, newLengths(1, 300))
			if err != nil || got != 900 {
				return fmt.Errorf("%d octets, %w", got, errors.Join(err))
			}
			if err := writeTape(server, 210, 700, newLengths(3, 700)); err != nil {
				return err
			}
			return server.CloseWrite()
		}()
	}()
	if err := writeTape(client, 0, 900, newLengths(4, 400)); err != nil {
		t.Error(err)
	}
	if err := client.CloseWrite(); err != nil {
		t.Error(err)
	}
	if got, err := readTape(client, 10, -1, newLengths(5, 100)); got != 900 || err != nil {
		t.Errorf("the client got %d octets, %v", got, err)
	}
	if err := <-served; err != nil {
		t.Errorf("the server: %v", err)
	}
	if err := errors.Join(client.Close(), server.Close()); err != nil {
		t.Error(err)
	}
}

// TestStreamOverAnyWire: a conversation has the same result however the wire splits and delays it.
func TestStreamOverAnyWire(t *testing.T) {
	wires := []simtoe.Config{{}, {MaxSegment: 1}, {MaxSegment: 1, Early: 0.5}, {Window: 1}}
	for n := 2; n < 80; n++ {
		wires = append(wires, simtoe.Config{MaxSegment: n})
	}
	for seed := range uint64(60) {
		wire := simtoe.Config{Seed: seed, Split: true, MaxSegment: 1 << (seed % 12), Early: float64(seed%3) / 2}
		if seed%2 == 1 {
			wire.Delay = time.Duration(1+seed) * time.Millisecond
		}
		wires = append(wires, wire)
	}
	for _, wire := range wires {
		t.Run(fmt.Sprintf("%+v", wire), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, wire, side{}, ofDepth(6, 512))
				talk(t, ci, cr)
				settle()
			})
		})
	}
}

// A sendTap counts the Sends in what a connection writes.
type sendTap struct {
	rx    *mpa.Receiver
	off   uint64
	began bool
	sends *atomic.Int64
}

func (s *sendTap) Received([]byte) {}
func (s *sendTap) Closed()         {}

func (s *sendTap) Sent(p []byte) {
	if !s.began { // the startup frame
		s.began = true
		return
	}
	for len(p) > 0 {
		n := copy(s.rx.Free(), p)
		s.rx.Fill(s.off, n)
		s.off, p = s.off+uint64(n), p[n:]
		for s.rx.Next() {
			if h, _, err := ddp.ParseUntagged(s.rx.ULPDU().Data); err == nil && h.QN == ddp.QNSend && h.Last {
				s.sends.Add(1)
			}
		}
	}
}

// countSends returns a side whose Sends are counted.
func countSends(sends *atomic.Int64) side {
	return side{cfg: extsock.Config{Tap: func(net.Addr, net.Addr, bool) toe.Tap {
		s := &sendTap{rx: mpa.NewReceiver(mpa.Agreement{CRC: true}), sends: sends}
		s.rx.SetBuffer(make([]byte, 1<<20))
		return s
	}}}
}

// TestStreamCombines: short Writes that come quickly go out together.
func TestStreamCombines(t *testing.T) {
	const writes, length = 10_000, 64
	for _, network := range []string{"loopback", "a full window"} {
		t.Run(network, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				var sends atomic.Int64
				a, b := simtoe.Pair(simtoe.Config{Window: 1000}, simtoe.Config{})
				if network == "loopback" {
					x, y := kernelStreams(t)
					ci, cr := switched(t, x, y, countSends(&sends), side{})
					bounded(t, ci, cr)
					combine(t, ci, cr, writes, length)
					a.Close()
					b.Close()
				} else {
					ci, cr := switched(t, a, b, countSends(&sends), side{})
					bounded(t, ci, cr)
					combine(t, ci, cr, writes, length)
				}
				if n := sends.Load(); n == 0 || n > writes/2 {
					t.Errorf("%d Writes became %d messages", writes, n)
				}
			})
		})
	}
}

func combine(t *testing.T, ci, cr *extsock.Conn, writes, length int) {
	t.Helper()
	read := make(chan error, 1)
	go func() {
		_, err := readTape(cr, 0, writes*length, newLengths(1, 1<<16))
		read <- err
	}()
	for i := range writes {
		if _, err := ci.Write(tapeAt(i*length, length)); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-read; err != nil {
		t.Error(err)
	}
}

// TestStreamShortWriteAtOnce: no timer holds a short Write back, the first or any other.
func TestStreamShortWriteAtOnce(t *testing.T) {
	for _, pause := range []time.Duration{0, time.Nanosecond, 10 * time.Microsecond, time.Millisecond, time.Second} {
		bubble(t, func(t *testing.T) {
			ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
			for i := range 50 {
				begin := time.Now()
				if _, err := ci.Write(tapeAt(i, 1)); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				if _, err := readTape(cr, i, 1, newLengths(1, 1)); err != nil {
					t.Fatal(err)
				}
				if d := time.Since(begin); d > 0 {
					t.Errorf("Write %d arrived after %v", i, d)
				}
				time.Sleep(pause)
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}

// TestStreamAfterTCP: octets of TCP mode, the switch, and then octets of the stream, whichever end
// writes first.
func TestStreamAfterTCP(t *testing.T) {
	for _, serverFirst := range []bool{false, true} {
		t.Run(fmt.Sprintf("server first: %t", serverFirst), func(t *testing.T) {
			a, b := kernelStreams(t)
			ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
			defer ci.Close()
			defer cr.Close()
			bounded(t, ci, cr)
			talk := func(c *extsock.Conn, mine, other int, first bool) error {
				for i := range 2 {
					if (i == 0) == first {
						if err := writeTape(c, mine, 100_000, newLengths(1, 5000)); err != nil {
							return err
						}
						continue
					}
					if _, err := readTape(c, other, 100_000, newLengths(2, 5000)); err != nil {
						return err
					}
				}
				return nil
			}
			both := func(client, server func() error) {
				t.Helper()
				served := make(chan error, 1)
				go func() { served <- server() }()
				if err := errors.Join(client(), <-served); err != nil {
					t.Fatal(err)
				}
			}
			both(func() error { return talk(ci, 0, 7, !serverFirst) }, func() error { return talk(cr, 7, 0, serverFirst) })
			// After the switch, both ends write at once: what follows the startup frames is not
			// mixed up with them.
			both(func() error {
				if err := ci.EnableDDP(timeLimit(t), nil); err != nil {
					return err
				}
				return talk(ci, 20, 27, !serverFirst)
			}, func() error {
				if err := cr.EnableDDP(timeLimit(t), nil); err != nil {
					return err
				}
				return talk(cr, 27, 20, serverFirst)
			})
			if err := ci.CloseWrite(); err != nil {
				t.Error(err)
			}
			if _, err := cr.Read(make([]byte, 1)); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// TestStreamBesideVerbs: both ends can use RDMA operations while the stream is busy in both
// directions. Sends are refused.
func TestStreamBesideVerbs(t *testing.T) {
	ci, cr := tcpPair(t, side{}, side{})
	bounded(t, ci, cr)
	total := testmode.Rounds(16<<20, 2<<20)
	var all sync.WaitGroup
	all.Go(func() { bothWays(t, ci, cr, total, 1<<18) })
	for i, c := range []*extsock.Conn{ci, cr} {
		other := []*extsock.Conn{cr, ci}[i]
		source := tapeAt(0, 1<<16)
		from := c.Remote(register(t, other, source, ddp.RemoteRead).Handle())
		to := c.Remote(register(t, other, make([]byte, 1<<16), ddp.RemoteRead|ddp.RemoteWrite).Handle())
		word := c.Remote(register(t, other, make([]byte, 8), ddp.RemoteAtomic).Handle())
		all.Go(func() {
			p := make([]byte, 1<<16)
			for n := range 50 {
				if _, err := from.ReadAt(p, 0); err != nil || string(p) != string(source) {
					t.Errorf("ReadAt: %v", err)
				}
				w := tapeAt(n*99, 1<<16)
				if _, err := to.WriteAt(w, 0); err != nil {
					t.Errorf("WriteAt: %v", err)
				}
				if _, err := to.ReadAt(p, 0); err != nil || string(p) != string(w) {
					t.Errorf("ReadAt of what was written: %v", err)
				}
				if old, err := word.FetchAdd(t.Context(), 0, 1); err != nil || old != uint64(n) {
					t.Errorf("FetchAdd %d = %d, %v", n, old, err)
				}
				if err := postSend(c, []byte("x")); !errors.Is(err, extsock.ErrByteStream) {
					t.Errorf("PostSend = %v", err)
				}
				for _, op := range []rdmap.WorkOp{rdmap.WorkSend, rdmap.WorkImmediate} {
					if err := c.Post(&rdmap.WorkRequest{Op: op}); !errors.Is(err, extsock.ErrByteStream) {
						t.Errorf("Post of %v = %v", op, err)
					}
				}
			}
		})
	}
	all.Wait()
}
