package driver

import (
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
)

// A token is the transmit token. The goroutine that holds it owns the way out, tx.
//
//	free ──tryTake──▶ held ──setDown──▶ down
//	  ▲                │ ▲                │
//	  └──────free──────┘ └─────pickUp─────┘
//
// The holder sets the token down while it waits for TCP or for a Tap. While the token is down, no
// goroutine reads a payload. A goroutine that wants to take a payload back can borrow the token
// when it is free or down. Borrowing never takes long: a holder that does not wait soon has nothing
// left to send, or looks for borrowers between two batches.
type token struct {
	state     atomic.Uint32
	borrowers atomic.Int32 // goroutines that wait to borrow the token, or have borrowed it

	mu    locks.Mutex[locks.Borrowed]
	moved sync.Cond // of mu: the token has become free or down, or a borrower has given it back
}

const (
	tokenFree uint32 = iota
	tokenHeld
	tokenDown
)

func (k *token) init() { k.moved.L = &k.mu }

// tryTake takes the token if it is free, and reports whether it did.
func (k *token) tryTake() bool {
	if !k.state.CompareAndSwap(tokenFree, tokenHeld) {
		return false
	}
	locks.Acquired[locks.Token]()
	return true
}

// free sets the token free. Another goroutine may have queued work that the holder has not seen, so
// the caller must look again.
func (k *token) free() {
	locks.Released[locks.Token]()
	k.state.Store(tokenFree)
	k.tell()
}

// handOver ends the holder's part. Another goroutine then begins its part with takeOver.
func (k *token) handOver() { locks.Released[locks.Token]() }
func (k *token) takeOver() { locks.Acquired[locks.Token]() }

// setDown sets the token down: borrowers may take it until pickUp.
func (k *token) setDown() {
	locks.Released[locks.Token]()
	k.state.Store(tokenDown)
	k.tell()
}

// pickUp takes the token up after setDown. It waits while borrowers want the token or have it.
func (k *token) pickUp() {
	if k.borrowers.Load() > 0 || !k.state.CompareAndSwap(tokenDown, tokenHeld) {
		k.mu.Lock()
		for k.borrowers.Load() > 0 || !k.state.CompareAndSwap(tokenDown, tokenHeld) {
			k.moved.Wait()
		}
		k.mu.Unlock()
	}
	locks.Acquired[locks.Token]()
}

// yield lets borrowers use the token if there are any.
func (k *token) yield() {
	if k.borrowers.Load() > 0 {
		k.setDown()
		k.pickUp()
	}
}

// borrow takes the token when it is free or down, and waits until then. The caller passes the
// result to giveBack.
func (k *token) borrow() (from uint32) {
	k.borrowers.Add(1)
	k.mu.Lock()
	for from = tokenFree; !k.state.CompareAndSwap(from, tokenHeld); {
		if from = tokenDown; k.state.CompareAndSwap(from, tokenHeld) {
			break
		}
		k.moved.Wait()
		from = tokenFree
	}
	k.mu.Unlock()
	locks.Acquired[locks.Token]()
	return from
}

// giveBack ends borrow. If the token was free, work may have been queued meanwhile, so the caller
// must look.
func (k *token) giveBack(from uint32) {
	locks.Released[locks.Token]()
	k.state.Store(from)
	k.borrowers.Add(-1)
	k.mu.Lock()
	defer k.mu.Unlock()
	k.moved.Broadcast()
}

// tell wakes the borrowers that wait.
func (k *token) tell() {
	if k.borrowers.Load() > 0 {
		k.mu.Lock()
		defer k.mu.Unlock()
		k.moved.Broadcast()
	}
}
