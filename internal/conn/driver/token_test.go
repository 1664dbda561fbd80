package driver

import (
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// isFree reports whether no goroutine holds the token.
func (k *token) isFree() bool { return k.state.Load() == tokenFree }

// TestTokenIsBorrowedWhileItIsDown checks that a borrower waits while the token is held and gets it
// when the holder sets it down. The holder picks the token up when the borrower has given it back.
func TestTokenIsBorrowedWhileItIsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var k token
		k.init()
		if !k.tryTake() {
			t.Fatal("a free token cannot be taken")
		}
		var borrowed, gaveBack, pickedUp time.Duration
		begin := time.Now()
		go func() {
			from := k.borrow()
			borrowed = time.Since(begin)
			time.Sleep(time.Second)
			gaveBack = time.Since(begin)
			k.giveBack(from)
		}()
		time.Sleep(time.Minute)
		k.setDown()
		time.Sleep(time.Millisecond)
		if k.tryTake() {
			t.Error("a token that is down was taken")
		}
		k.pickUp()
		pickedUp = time.Since(begin)
		if borrowed != time.Minute || pickedUp < gaveBack || gaveBack != time.Minute+time.Second {
			t.Errorf("borrowed after %v, given back after %v, picked up after %v", borrowed, gaveBack, pickedUp)
		}
		k.free()
		if from := k.borrow(); from != tokenFree || k.tryTake() {
			t.Errorf("a free token was borrowed from state %d", from)
		} else {
			k.giveBack(from)
		}
		if !k.isFree() {
			t.Error("the token is not free in the end")
		}
	})
}

// TestTokenYields checks that borrowers get the token between the batches of a holder that always
// has more to send.
func TestTokenYields(t *testing.T) {
	var k token
	k.init()
	if !k.tryTake() {
		t.Fatal("a free token cannot be taken")
	}
	var inside, over atomic.Int32
	var wg sync.WaitGroup
	const borrowers, times = 4, 200
	for range borrowers {
		wg.Go(func() {
			for range times {
				from := k.borrow()
				if inside.Add(1) > 1 {
					t.Error("two goroutines have the token")
				}
				inside.Add(-1)
				k.giveBack(from)
			}
			over.Add(1)
		})
	}
	for end := prototest.Deadline(t); over.Load() < borrowers; {
		if time.Now().After(end) {
			t.Fatal("the borrowers do not get the token")
		}
		if inside.Add(1) > 1 {
			t.Error("a borrower has the token while its holder does")
		}
		inside.Add(-1)
		k.yield()
	}
	wg.Wait()
	k.free()
}
