package extsock_test

import (
	"bytes"
	"fmt"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe/simtoe"
)

// checkReserved checks that no more octets are reserved than the limit allows.
func checkReserved(t *testing.T, limit int64) {
	t.Helper()
	if n := extsock.MemoryReserved(); n > limit {
		t.Errorf("%d octets are reserved of a limit of %d", n, limit)
	}
}

// TestWindowsShareTheLimit: the first connections get the window that their Config asks for, later
// ones get smaller ones, and none gets less than eight messages. All windows together stay within
// the limit, and are given back when the connections end.
func TestWindowsShareTheLimit(t *testing.T) {
	alone(t)
	for _, limit := range []int64{0, 1 << 20, 16 << 20, extsock.DefaultMemory} {
		t.Run(fmt.Sprintf("limit %d", limit), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				limitMemory(t, limit)
				var conns []*extsock.Conn
				sum, smallest, largest := int64(0), 32, 0
				for range 100 {
					ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
					conns = append(conns, ci, cr)
					for _, c := range []*extsock.Conn{ci, cr} {
						w := extsock.Window(c)
						smallest, largest = min(smallest, w), max(largest, w)
						sum += int64(w-8) * 64 << 10
					}
					synctest.Wait() // startup has returned its loans
					checkReserved(t, limit*3/4)
				}
				if smallest != 8 {
					t.Errorf("the smallest window has %d messages, want 8", smallest)
				}
				if want := 8 + min(24, limit*3/4/32/(64<<10)); int64(largest) != want {
					t.Errorf("the largest window has %d messages, want %d", largest, want)
				}
				if n := extsock.MemoryReserved(); n != sum {
					t.Errorf("%d octets are reserved for windows of %d beyond the allowances", n, sum)
				}
				for _, c := range conns {
					c.Close()
				}
				settle()
				if n := extsock.MemoryReserved(); n != 0 {
					t.Errorf("%d octets are still reserved", n)
				}
			})
		})
	}
}

// TestNoWindow: a window that was reserved for startup is given back if startup does not lead to a
// byte stream.
func TestNoWindow(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		limitMemory(t, 64<<20)
		for _, tt := range []struct {
			desc string
			i, r side
		}{
			{"the Responder wants messages", side{}, inMessages},
			{"the Initiator wants messages", inMessages, side{}},
			{"the Responder posts the buffers", side{}, postRecvs(extsock.Config{}, 4, 64)},
			{"no record", side{cfg: extsock.Config{NoCapabilities: true}}, side{}},
		} {
			ci, cr := simPair(t, simtoe.Config{}, tt.i, tt.r)
			synctest.Wait() // startup has returned its loans
			if n := extsock.MemoryReserved(); n != 0 {
				t.Errorf("%s: %d octets are reserved", tt.desc, n)
			}
			ci.Close()
			cr.Close()
		}
		// The Responder is silent: the Initiator has its window until it gives up.
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci := extsock.NewConn(a, true, nil)
		switched := make(chan error, 1)
		go func() { switched <- ci.EnableDDP(t.Context(), nil) }()
		synctest.Wait()
		if extsock.MemoryReserved() == 0 {
			t.Error("the Initiator has told its credits and reserved nothing")
		}
		if err := <-switched; err == nil {
			t.Error("EnableDDP succeeds without a peer")
		}
		if n := extsock.MemoryReserved(); n != 0 {
			t.Errorf("after a failed startup %d octets are reserved", n)
		}
		b.Close()
		// A Responder that waits for a Request has announced no credits.
		a, b = simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		cr := extsock.NewConn(b, false, nil)
		go func() { switched <- cr.EnableDDP(t.Context(), nil) }()
		synctest.Wait()
		if n := extsock.MemoryReserved(); n != 0 {
			t.Errorf("for a silent peer %d octets are reserved", n)
		}
		a.Close()
		<-switched
		// A Request that is rejected.
		a, b = simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr = extsock.NewConn(a, true, nil), extsock.NewConn(b, false, nil)
		go func() { switched <- ci.EnableDDP(t.Context(), nil) }()
		req, err := cr.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := req.Reject(t.Context(), nil); err != nil {
			t.Error(err)
		}
		<-switched
		if n := extsock.MemoryReserved(); n != 0 {
			t.Errorf("after a rejection %d octets are reserved", n)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestFullWindows: peers send all that they have credits for, and no program reads. Beyond the
// allowances, at most the limit is held.
func TestFullWindows(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		const limit, n = 64 << 20, 50
		limitMemory(t, limit)
		var conns []*extsock.Conn
		for range n {
			ci, cr := simPair(t, simtoe.Config{}, copied, copied)
			conns = append(conns, ci, cr)
			go ci.Write(make([]byte, 4<<20))
		}
		synctest.Wait()
		held, beyond := int64(0), int64(0)
		for _, c := range conns {
			held += extsock.Unread(c)
			beyond += max(extsock.Unread(c)-512<<10, 0)
		}
		t.Logf("%d peers have sent all that they may: %d octets are held, %d beyond the allowances; the limit is %d", n, held, beyond, limit)
		if held < n*6*64<<10 || beyond == 0 || beyond > limit {
			t.Errorf("%d octets are held, %d beyond the allowances of %d connections; the limit is %d", held, beyond, n, limit)
		}
		if taken := extsock.MemoryTaken(); taken < beyond || taken > limit {
			t.Errorf("%d octets are noted as taken, %d are", taken, beyond)
		}
		for _, c := range conns {
			c.SetLinger(0)
			c.Close()
		}
		settle()
	})
}

// TestMemoryReturns: a connection that never becomes empty gives memory back to the budget as its
// program reads.
func TestMemoryReturns(t *testing.T) {
	alone(t)
	for _, messages := range []bool{false, true} {
		t.Run(fmt.Sprintf("messages %t", messages), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				limitMemory(t, extsock.DefaultMemory)
				s := copied
				s.cfg.Messages = messages
				ci, cr := simPair(t, simtoe.Config{}, s, s)
				const pieces, length = 24, 60_000
				go func() {
					for range pieces {
						ci.Write(make([]byte, length))
					}
				}()
				synctest.Wait()
				peak := extsock.MemoryTaken()
				if peak < pieces*length-512<<10 {
					t.Errorf("%d octets are taken for %d unread", peak, extsock.Unread(cr))
				}
				for left := pieces - 1; left >= 1; left-- {
					if _, err := io.ReadFull(cr, make([]byte, length)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait() // the buffer that receiving the credits has borrowed is back
					if held, taken := extsock.Unread(cr), extsock.MemoryTaken(); taken > held || held < int64(left*length) {
						t.Fatalf("%d octets are taken for %d unread", taken, held)
					}
				}
				if n := extsock.MemoryTaken(); n != 0 {
					t.Errorf("%d octets are taken for one message unread", n)
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// TestMemoryReturnsAtTheAllowance: if exactly the allowance of message mode is unread, nothing of
// the budget is taken.
func TestMemoryReturnsAtTheAllowance(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		limitMemory(t, extsock.DefaultMemory)
		s := side{cfg: extsock.Config{Messages: true}}
		ci, cr := simPair(t, simtoe.Config{}, s, s)
		for range 8 {
			if _, err := ci.Write(make([]byte, 16<<10)); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		for extsock.Unread(cr) > 64<<10 {
			if _, err := cr.Read(make([]byte, 16<<10)); err != nil {
				t.Fatal(err)
			}
		}
		if held, taken := extsock.Unread(cr), extsock.MemoryTaken(); held != 64<<10 || taken != 0 {
			t.Errorf("%d octets are unread and %d taken, want 65536 and 0", held, taken)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestLimitLowered: when the limit is lowered, the peer of a byte stream loses credits as the
// program reads, down to eight messages. When the limit is raised again, the credits come back. The
// stream goes on all the time.
func TestLimitLowered(t *testing.T) {
	alone(t)
	size := testmode.Rounds(20<<20, 8<<20) // more than a window
	for _, depth := range []int{8, 9, 10, 32, 100} {
		t.Run(fmt.Sprint(depth), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				limitMemory(t, 1<<30)
				s := copied
				s.cfg.RecvDepth = depth
				ci, cr := simPair(t, simtoe.Config{Delay: time.Millisecond}, s, s)
				exchange := func() {
					t.Helper()
					go ci.Write(make([]byte, size))
					for _, c := range []*extsock.Conn{ci, cr} {
						c.SetDeadline(time.Now().Add(time.Hour))
					}
					if _, err := io.CopyN(io.Discard, cr, int64(size)); err != nil {
						t.Fatal(err)
					}
					if _, err := cr.Write([]byte("back")); err != nil {
						t.Fatal(err)
					}
					if _, err := io.ReadFull(ci, make([]byte, 4)); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
				}
				for range 2 {
					exchange()
					if n := extsock.Window(cr); n != depth {
						t.Errorf("the window has %d messages, want %d", n, depth)
					}
					extsock.SetMemoryLimit(0)
					exchange()
					if n := extsock.Window(cr); n != 8 {
						t.Errorf("with a limit of 0 the window has %d messages, want 8", n)
					}
					// The peer has no more credits than that: while the program does not read, the
					// peer fills the window.
					filled := fillUp(t, ci, 0, 60_000, 8*60_000)
					if filled > 7*60_000 || filled < 5*60_000 {
						t.Errorf("%d octets were taken with a window of 8 messages", filled)
					}
					if _, err := io.CopyN(io.Discard, cr, int64(filled)); err != nil {
						t.Fatal(err)
					}
					extsock.SetMemoryLimit(1 << 30)
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// TestControlCreditsAreNotKept: when the limit is lowered, an end keeps back the credits of data,
// but not those of messages that carry only credits, for which the peer has no more than two
// credits.
func TestControlCreditsAreNotKept(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		limitMemory(t, 1<<30)
		p, c := rawStreamPair(t, extsock.Config{RecvDepth: 10, RecvSize: 1024}, 32)
		p.segment(1, 0, true, 0, 0, 0, 0, 'g') // opens the fence
		if _, err := c.Read(make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		extsock.SetMemoryLimit(0)
		p.segment(2, 0, true, 0, 0, 0, 0)
		p.segment(3, 0, true, 0, 0, 0, 0)
		u, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		if header := u[18:]; !bytes.Equal(header, []byte{0, 0, 0, 3}) {
			t.Errorf("after data and two messages that carry only credits the answer is %x, want one with three credits", header)
		}
		if n := extsock.Window(c); n != 10 {
			t.Errorf("the window has %d messages, want 10", n)
		}
		for msn := uint32(4); msn < 6; msn++ {
			p.segment(msn, 0, true, 0, 0, 0, 0, 'd')
			if _, err := c.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		if n := extsock.Window(c); n != 8 {
			t.Errorf("after two messages of data the window has %d messages, want 8", n)
		}
		p.s.Close()
		c.Close()
		settle()
	})
}

// TestKeptCreditsDoNotHideOwedOnes: credits that were owed before the limit was lowered come back
// even if reading keeps back all credits that it frees. Otherwise the peer would have none left for
// data.
func TestKeptCreditsDoNotHideOwedOnes(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		limitMemory(t, 1<<30)
		ci, cr := simPair(t, simtoe.Config{}, copied, copied)
		const length = 60_000
		move := func(n int) {
			t.Helper()
			ci.SetWriteDeadline(time.Now().Add(time.Minute))
			for range n {
				if _, err := ci.Write(make([]byte, length)); err != nil {
					t.Fatal(err)
				}
			}
			synctest.Wait()
		}
		read := func(n int) {
			t.Helper()
			cr.SetReadDeadline(time.Now().Add(time.Minute))
			if _, err := io.ReadFull(cr, make([]byte, n*length)); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		move(15)
		read(15) // one fewer credit than are sent at once
		move(15) // all that leaves two credits for control messages
		extsock.SetMemoryLimit(0)
		read(15) // keeps back what it frees
		go func() {
			ci.SetWriteDeadline(time.Now().Add(time.Minute))
			if _, err := ci.Write(make([]byte, length)); err != nil {
				t.Errorf("Write = %v", err)
			}
		}()
		read(1)
		ci.Close()
		cr.Close()
		settle()
	})
}
