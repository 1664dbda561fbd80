package extsock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// heldUpPair returns a Conn with an ORD of 1 and one Read outstanding, which its peer does not
// answer. A second Read is queued behind it, with a deadline in a second; queued gets its error.
func heldUpPair(t *testing.T) (p *rawPeer, c *extsock.Conn, queued chan error) {
	t.Helper()
	p, c = rawPair(t, extsock.Config{ORD: 1}, nil)
	p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
	synctest.Wait()
	if err := postRead(c, rdmap.Handle{STag: 7, Len: 8}, make([]byte, 8)); err != nil {
		t.Fatal(err)
	}
	queued = make(chan error, 1)
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		_, err := c.Remote(rdmap.Handle{STag: 7, Len: 8}).Read(ctx, make([]byte, 8), 0)
		queued <- err
	}()
	synctest.Wait()
	return p, c, queued
}

// TestCancelLetsTheNextGo: what is queued behind a Read that may not go out yet goes out as soon as
// that Read's deadline passes.
func TestCancelLetsTheNextGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c, queued := heldUpPair(t)
		begin := time.Now()
		if err := postWrite(c, rdmap.Handle{STag: 7, Len: 8}, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		for _, want := range []bool{false, true} { // a Read Request, the Write
			if u, err := p.next(); err != nil || ddp.IsTagged(u) != want {
				t.Fatalf("the peer gets %x, %v", u, err)
			}
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("the Write has come after %v", d)
		}
		if err := <-queued; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the queued ReadAt = %v", err)
		}
		c.Close()
		p.s.Close()
		settle()
	})
}

// TestCancelMakesRoom: operations whose deadline passes make room in the send queue, for Post and
// for an operation that waits for room, although an operation before them goes on.
func TestCancelMakesRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{ORD: 1, SendDepth: 3}, nil)
		p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
		synctest.Wait()
		h := rdmap.Handle{STag: 7, Len: 8}
		if err := postRead(c, h, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		begin, ended := time.Now(), make(chan error, 3)
		for range 2 {
			go func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				_, err := c.Remote(h).Read(ctx, make([]byte, 8), 0)
				ended <- err
			}()
		}
		synctest.Wait()
		if err := postWrite(c, h, make([]byte, 8)); !errors.Is(err, rdmap.ErrQueueFull) {
			t.Fatalf("Post to a full queue: %v", err)
		}
		waits := make(chan error, 1)
		go func() { _, err := c.Remote(h).WriteAt(make([]byte, 8), 0); waits <- err }()
		for range 2 {
			if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("a queued Read = %v", err)
			}
		}
		if err := postWrite(c, h, make([]byte, 8)); err != nil {
			t.Errorf("Post after two Reads were canceled: %v", err)
		}
		for _, want := range []bool{false, true, true} { // a Read Request, the two Writes
			if u, err := p.next(); err != nil || ddp.IsTagged(u) != want {
				t.Fatalf("the peer gets %x, %v", u, err)
			}
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("the Writes have come after %v", d)
		}
		p.s.Close() // the WriteAt waits for its turn behind the Read
		<-waits
		c.Close()
		settle()
	})
}

// TestCancelLetsCloseGo: Close waits no longer than until the queue is empty.
func TestCancelLetsCloseGo(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c, queued := heldUpPair(t)
		if n, err := c.Read(make([]byte, 100)); n == 0 || err != nil { // else Close would be a reset
			t.Fatalf("Read = %d, %v", n, err)
		}
		begin := time.Now()
		if err := c.Close(); err != nil || time.Since(begin) != time.Second {
			t.Errorf("Close = %v after %v", err, time.Since(begin))
		}
		if err := <-queued; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the queued ReadAt = %v", err)
		}
		p.s.Close()
		settle()
	})
}

// TestDeadlineBesideALongWrite: the deadline of a short operation passes while its octets are on
// their way, and a long operation of another caller has begun behind it. Only the short one's
// octets are copied, and the connection goes on.
func TestDeadlineBesideALongWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c, queued := heldUpPair(t)
		h := rdmap.Handle{STag: 7, Len: 8 << 20}
		short := make(chan error, 1)
		go func() {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			_, err := c.Remote(h).Write(ctx, make([]byte, 8), 0)
			short <- err
		}()
		synctest.Wait()
		if err := postWrite(c, h, make([]byte, 8<<20)); err != nil {
			t.Fatal(err)
		}
		<-queued // the two go out now, as far as TCP takes them
		if err := <-short; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("WriteAt = %v", err)
		}
		n := 0
		for n < 8+8<<20 { // the Read Request comes first
			u, err := p.next()
			if err != nil {
				t.Fatalf("after %d octets: %v", n, err)
			}
			if ddp.IsTagged(u) {
				n += len(u) - ddp.TaggedHeaderLen
			}
		}
		c.Close()
		p.s.Close()
		settle()
	})
}

// TestCloseBehindAnUnansweredRead: a long Write is complete only after an earlier Read, which the
// peer does not answer. When the Write's deadline passes, nothing waits for its completion, and
// Close sends the end of the stream.
func TestCloseBehindAnUnansweredRead(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		g := &gate{Stream: b}
		ci, cr := switched(t, a, g, side{}, side{})
		r := register(t, cr, make([]byte, 64), ddp.RemoteRead)
		synctest.Wait() // nothing is lent
		g.shut()
		if err := postRead(ci, r.Handle(), make([]byte, 64)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		ci.SetWriteDeadline(begin.Add(time.Second))
		wrote := make(chan error, 1)
		go func() { _, err := ci.Write(tapeAt(0, 20_000)); wrote <- err }()
		synctest.Wait()
		if err := ci.Close(); err != nil || time.Since(begin) != time.Second {
			t.Errorf("Close = %v after %v", err, time.Since(begin))
		}
		if err := <-wrote; err != nil {
			t.Errorf("Write = %v", err)
		}
		g.open()
		if n, err := readTape(cr, 0, -1, newLengths(1, 9000)); n != 20_000 || err != nil {
			t.Errorf("read %d octets, %v", n, err)
		}
		cr.Close()
		settle()
	})
}
