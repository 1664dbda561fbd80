package driver

import (
	"net"
	"runtime"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestStandByWaitsForAHolderThatLeaves: the home goroutine is called a moment before the holder
// gives the role up. It must not take that for an old call.
func TestStandByWaitsForAHolderThatLeaves(t *testing.T) {
	var r role
	r.gate.Init(toe.WatchInside)
	r.now.Store(uint32(byRead))
	if r.comesHome() {
		t.Error("home reads while a Read does")
	}
	r.happens(leavesWatch)
	begun, home := make(chan struct{}), make(chan bool, 1)
	go func() {
		close(begun)
		home <- r.comesHome()
	}()
	<-begun
	for range 1000 {
		runtime.Gosched()
	}
	r.happens(watchFails)
	if !<-home {
		t.Error("the home goroutine does not wait for a holder that leaves")
	}
}

// TestCloseReplacesCloseWrite: Writes after Close return the error of Close, even if CloseWrite was
// called before.
func TestCloseReplacesCloseWrite(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(sa, sb)
		var never wait.Deadline
		for _, step := range []struct{ closed, want error }{{syscall.EPIPE, syscall.EPIPE}, {net.ErrClosed, net.ErrClosed}, {syscall.EPIPE, net.ErrClosed}} {
			a.CloseWrite(step.closed)
			if _, err := a.Write([]byte("late"), &never); err != step.want { //nolint:errorlint // as finish was told
				t.Errorf("Write: %v, want %v", err, step.want)
			}
		}
		end(a)
		end(b)
		synctest.Wait()
	})
}

// TestTokenWaitsForABorrower: a holder does not pick up the token before a borrower that has just
// come.
func TestTokenWaitsForABorrower(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k token
		k.init()
		k.tryTake()
		k.borrowers.Add(1)
		k.setDown()
		up := make(chan struct{})
		go func() {
			k.pickUp()
			close(up)
			k.free()
		}()
		synctest.Wait()
		select {
		case <-up:
			t.Error("the holder does not wait for the borrower")
		default:
		}
		k.borrowers.Add(-1)
		k.mu.Lock()
		k.moved.Broadcast()
		k.mu.Unlock()
		<-up
	})
}

// TestBurstGivesItsMemoryBack: a burst gives its memory back to the budget when TCP has taken its
// messages.
func TestBurstGivesItsMemoryBack(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		a, b, end := streamPair(sa, sb)
		synctest.Wait()
		var never wait.Deadline
		a.tx.fenced.Store(true)
		before := MemoryReserved()
		for range 20 {
			if n, err := a.Write(make([]byte, 5000), &never); n != 5000 || err != nil {
				t.Fatal(n, err)
			}
		}
		if n := MemoryReserved() - before; n != aheadCost {
			t.Errorf("a burst has taken %d bytes, want %d", n, aheadCost)
		}
		a.tx.fenced.Store(false)
		a.Flush()
		for got, p := 0, make([]byte, 100_000); got < 100_000; {
			n, err := b.Read(p, &never)
			if err != nil {
				t.Fatal(err)
			}
			got += n
		}
		synctest.Wait()
		if n := MemoryReserved() - before; n != 0 {
			t.Errorf("%d bytes are still taken behind the burst", n)
		}
		end(a)
		end(b)
		synctest.Wait()
	})
}

// TestCloseInAPause: Close loses data that waits in the receive buffer for the next Read, and
// reports that.
func TestCloseInAPause(t *testing.T) {
	in := newDelivery(4, 100)
	if in.close() {
		t.Error("Close of an empty inbox loses something")
	}
	in = newDelivery(4, 100)
	in.mu.Lock()
	in.delivery.unread.Stream = true
	in.delivery.setDelay(delayPaused)
	in.mu.Unlock()
	if !in.close() {
		t.Error("Close does not lose what waits in the receive buffer")
	}
}
