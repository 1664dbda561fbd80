package extsock_test

import (
	"errors"
	"io"
	"net"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestClose closes a connection in every state. The bubble checks that no goroutine is left, and
// each Work Request must have completed exactly once.
func TestClose(t *testing.T) {
	tests := []struct {
		desc string
		wire simtoe.Config
		then func(t *testing.T, ci, cr *extsock.Conn) (posted int)
		slow bool // Close may take the close timeout
	}{
		{desc: "idle", then: func(*testing.T, *extsock.Conn, *extsock.Conn) int { return 0 }},
		{desc: "after traffic", then: func(t *testing.T, ci, cr *extsock.Conn) int {
			sends(t, ci, cr, 100, 1)
			sends(t, cr, ci, 100, 1)
			return 0
		}},
		{desc: "sends queued, the peer takes them", wire: simtoe.Config{Window: 4096, Delay: time.Second}, then: func(t *testing.T, ci, cr *extsock.Conn) int {
			return post(t, ci, 3, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, 1<<16)})
		}},
		{desc: "sends queued, the peer takes nothing", slow: true, wire: simtoe.Config{Window: 4096, CutAfter: 10000, CutHow: simtoe.Silence}, then: func(t *testing.T, ci, cr *extsock.Conn) int {
			return post(t, ci, 3, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, 1<<16)})
		}},
		{desc: "reads outstanding", wire: simtoe.Config{Delay: 2 * time.Second}, then: func(t *testing.T, ci, cr *extsock.Conn) int {
			r := register(t, cr, make([]byte, 1000), ddp.RemoteRead)
			return post(t, ci, 5, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 1000), Remote: r.Handle()})
		}, slow: true},
		{desc: "peer closed first", then: func(t *testing.T, ci, cr *extsock.Conn) int {
			cr.Close()
			return 0
		}},
		{desc: "peer gone", wire: simtoe.Config{CutAfter: 2000, CutHow: simtoe.RST}, then: func(t *testing.T, ci, cr *extsock.Conn) int {
			// With one write: after the reset nothing would be accepted.
			wr := rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, 1000)}
			n, err := ci.PostBatch([]rdmap.WorkRequest{wr, wr, wr})
			if n != 3 || err != nil {
				t.Errorf("PostBatch = %d, %v", n, err)
			}
			return n
		}},
		{desc: "terminated", then: func(t *testing.T, ci, cr *extsock.Conn) int {
			n := post(t, ci, 1, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, 10), Remote: rdmap.Handle{STag: 1, TO: 1, Len: 10}})
			time.Sleep(time.Second)
			return n
		}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const receives = 8
				cq := extsock.NewCompletionQueue(100)
				i, r := postRecvs(extsock.Config{SendCQ: cq}, receives, 1<<16), postRecvs(extsock.Config{}, receives, 1<<16)
				ci, cr := simPair(t, tt.wire, i, r)
				posted := tt.then(t, ci, cr)
				begin := time.Now()
				ci.Close()
				if d := time.Since(begin); d > 5*time.Second && !tt.slow || d > 6*time.Second {
					t.Errorf("Close took %v", d)
				}
				if err := ci.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("the second Close: %v, want net.ErrClosed as TCP has it", err)
				}
				time.Sleep(time.Minute)
				if n := cq.Len(); n != posted {
					t.Errorf("%d Work Requests posted, %d Completions", posted, n)
				}
				if n := ci.RecvCQ().Len(); n != receives {
					t.Errorf("%d receives posted, %d Completions", receives, n)
				}
				if err := postSend(ci, nil); !errors.Is(err, net.ErrClosed) {
					t.Errorf("PostSend after Close: %v", err)
				}
				if _, err := ci.Write(nil); !errors.Is(err, net.ErrClosed) {
					t.Errorf("Write after Close: %v", err)
				}
				cr.Close()
				settle()
			})
		})
	}
}

// post posts wr n times.
func post(t *testing.T, c *extsock.Conn, n int, wr rdmap.WorkRequest) int {
	t.Helper()
	for range n {
		if err := c.Post(&wr); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// TestCloseLosesNoTail: the peer gets what was posted before Close, and then io.EOF.
func TestCloseLosesNoTail(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{Window: 3000, Delay: 10 * time.Millisecond}, inMessages, inMessages)
		const messages = 20
		for n := range messages {
			if err := postSend(ci, pattern(10_000, byte(n))); err != nil {
				t.Fatal(err)
			}
		}
		go ci.Close()
		p := make([]byte, 10_000)
		for n := range messages {
			if m, err := cr.Read(p); m != len(p) || err != nil {
				t.Fatalf("message %d: %d octets, %v", n, m, err)
			}
		}
		if _, err := cr.Read(p); err != io.EOF {
			t.Errorf("after the last message: %v, want io.EOF", err)
		}
		cr.Close()
		settle()
	})
}

// TestCloseUnblocks: Read, Write and ReadAt calls that wait return net.ErrClosed.
func TestCloseUnblocks(t *testing.T) {
	bubble(t, func(t *testing.T) {
		wire := simtoe.Config{Window: 4096, Delay: time.Millisecond}
		a, b := simtoe.Pair(wire, wire)
		ci, cr := switched(t, a, b, side{cfg: extsock.Config{CloseTimeout: time.Second}}, side{})
		r := register(t, cr, make([]byte, 1<<20), ddp.RemoteRead)
		errs := make(chan error, 3)
		go func() { _, err := ci.Read(make([]byte, 1)); errs <- err }()
		go func() {
			_, err := ci.Remote(r.Handle()).ReadAt(make([]byte, 1<<20), 0)
			for err == nil {
				_, err = ci.Remote(r.Handle()).ReadAt(make([]byte, 1<<20), 0)
			}
			errs <- err
		}()
		go func() {
			_, err := ci.Write(make([]byte, 60_000))
			for err == nil { // the peer does not read
				_, err = ci.Write(make([]byte, 60_000))
			}
			errs <- err
		}()
		time.Sleep(time.Second)
		ci.Close()
		for range 3 {
			if err := <-errs; !errors.Is(err, net.ErrClosed) {
				t.Errorf("got %v, want net.ErrClosed", err)
			}
		}
		cr.Close()
		settle()
	})
}

// TestPeerVanishes cuts the connection after various numbers of octets, in each of the three ways.
// All calls end with a clean error.
func TestPeerVanishes(t *testing.T) {
	for _, how := range []simtoe.CutHow{simtoe.FIN, simtoe.RST, simtoe.Silence} {
		for after := int64(1); after < 400; after += 7 {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{CutAfter: after, CutHow: how}, simtoe.Config{})
				ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
				done := make(chan error, 1)
				go func() {
					err := cr.EnableDDP(t.Context(), nil)
					cr.SetReadDeadline(time.Now().Add(time.Minute))
					p := make([]byte, 1000)
					for err == nil {
						_, err = cr.Read(p)
					}
					cr.Close()
					done <- err
				}()
				err := ci.EnableDDP(t.Context(), nil)
				ci.SetWriteDeadline(time.Now().Add(time.Minute))
				for range 10 {
					if err == nil {
						_, err = ci.Write(make([]byte, 50))
					}
				}
				ci.Close()
				if err := <-done; err == nil || how == simtoe.RST && err == io.EOF {
					t.Errorf("cut by %v after %d octets: the other end saw %v", how, after, err)
				}
				settle()
			})
		}
	}
}

// TestAbort: with SetLinger(0) the peer does not take Close for an orderly end, over any stream.
func TestAbort(t *testing.T) {
	for _, tt := range []struct {
		desc string
		pair func(t *testing.T) (ci, cr *extsock.Conn)
	}{
		{"TCP", func(t *testing.T) (ci, cr *extsock.Conn) { return tcpPair(t, side{}, side{}) }},
		{"TCP, messages", func(t *testing.T) (ci, cr *extsock.Conn) { return tcpPair(t, inMessages, inMessages) }},
		{"TLS", func(t *testing.T) (ci, cr *extsock.Conn) {
			a, b := tlsStreams(t)
			return switched(t, a, b, side{}, side{})
		}},
		{"TLS, messages", func(t *testing.T) (ci, cr *extsock.Conn) {
			a, b := tlsStreams(t)
			return switched(t, a, b, inMessages, inMessages)
		}},
		{"simulator", func(t *testing.T) (ci, cr *extsock.Conn) { return simPair(t, simtoe.Config{}, side{}, side{}) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := tt.pair(t)
				if _, err := ci.Write([]byte("half a")); err != nil {
					t.Fatal(err)
				}
				p := make([]byte, 10)
				if n, err := cr.Read(p); string(p[:n]) != "half a" || err != nil {
					t.Fatalf("Read = %q, %v", p[:n], err)
				}
				ci.SetLinger(0) // only TCP itself has this setting
				if err := ci.Close(); err != nil {
					t.Error(err)
				}
				if n, err := cr.Read(p); n != 0 || err == nil || err == io.EOF {
					t.Errorf("Read after the abort = %d, %v", n, err)
				}
			})
		})
	}
}

// TestMaxFPDU: FPDUs are as long as the option says, and no longer, with and without Markers.
func TestMaxFPDU(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, markers := range []bool{false, true} {
			for _, limit := range []int{136, 139, 140, 144, 1000, 1001, 20_000} {
				longest := uint64(limit)
				if markers {
					longest = max(longest, 140)
				}
				ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{MaxFPDU: limit}}, side{cfg: extsock.Config{Markers: markers}})
				go ci.Write(make([]byte, 200_000))
				if _, err := io.ReadFull(cr, make([]byte, 200_000)); err != nil {
					t.Fatal(err)
				}
				got := cr.Stats().Received
				if fewest := got.Octets / longest; got.FPDUs < fewest || got.FPDUs > fewest+fewest/8+8 {
					t.Errorf("markers %t: %d octets in %d FPDUs of at most %d", markers, got.Octets, got.FPDUs, longest)
				}
			}
		}
	})
}

// TestTheClosedAreForgotten: nothing keeps a connection that is over in memory, not even a timer,
// however long the close timeout and the deadlines are.
func TestTheClosedAreForgotten(t *testing.T) {
	ends := map[string]func(a, b *extsock.Conn){
		"in order": func(a, b *extsock.Conn) { a.Close(); b.Close() },
		"a reset":  func(a, b *extsock.Conn) { a.SetLinger(0); a.Close(); b.Close() },
		"resets":   func(a, b *extsock.Conn) { a.SetLinger(0); b.SetLinger(0); a.Close(); b.Close() },
	}
	for desc, end := range ends {
		gone := make(chan struct{}, 2)
		open := func() {
			cfg := extsock.Config{CloseTimeout: time.Hour}
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			ci, cr := extsock.NewConn(a, true, &cfg), extsock.NewConn(b, false, &cfg)
			for _, c := range []*extsock.Conn{ci, cr} {
				runtime.AddCleanup(c, func(gone chan struct{}) { gone <- struct{}{} }, gone)
			}
			if err := switchBoth(t.Context(), ci, cr); err != nil {
				t.Fatal(err)
			}
			ci.SetDeadline(time.Now().Add(time.Hour))
			end(ci, cr)
		}
		open()
		prototest.Wait(t, desc+": both connections are gone", func() bool {
			runtime.GC()
			return len(gone) == 2
		})
	}
}

// TestCloseTimeoutResets: if Close can't send a message in time, the connection is reset. In
// message mode, a FIN would tell the peer that it has every message.
func TestCloseTimeoutResets(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{ORD: 1, CloseTimeout: time.Second}, nil)
		p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
		if _, err := c.Read(make([]byte, 4)); err != nil {
			t.Fatal(err)
		}
		for range 2 { // the second one goes out when the first is answered
			if err := postRead(c, rdmap.Handle{STag: 7, Len: 8}, make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
		}
		post(t, c, 3, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("lost")})
		if _, err := p.next(); err != nil {
			t.Fatal(err)
		}
		if err := c.Close(); err == nil {
			t.Error("Close = nil, and the message has not gone out")
		}
		if u, err := p.next(); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("the peer gets %x, %v", u, err)
		}
	})
}

// slowAbort is a Stream whose Abort waits for the program.
type slowAbort struct {
	toe.Stream
	goOn chan struct{}
}

func (s slowAbort) Abort() error {
	<-s.goOn
	return s.Stream.Abort()
}

// TestReadEndsBeforeAbort: a Read ends with Close, even if the Stream's Abort takes long.
func TestReadEndsBeforeAbort(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		s := slowAbort{sa, make(chan struct{})}
		ci, cr := switched(t, s, sb, side{}, side{})
		read := make(chan error, 1)
		go func() { _, err := ci.Read(make([]byte, 8)); read <- err }()
		synctest.Wait()
		ci.SetLinger(0) // only TCP itself has this setting
		closed := make(chan error, 1)
		go func() { closed <- ci.Close() }()
		synctest.Wait()
		select {
		case err := <-read:
			if !errors.Is(err, net.ErrClosed) {
				t.Errorf("Read = %v, want %v", err, net.ErrClosed)
			}
		default:
			t.Error("Read waits until Abort has returned")
		}
		close(s.goOn)
		if err := <-closed; err != nil {
			t.Error(err)
		}
		cr.Close()
		settle()
	})
}
