package driver

import (
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
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
	state     states.Atomic[tokenState]
	borrowers atomic.Int32 // goroutines that wait to borrow the token, or have borrowed it

	mu    locks.Mutex[locks.Borrowed]
	moved sync.Cond // of mu: the token has become free or down, or a borrower has given it back
}

// A tokenState says whether a goroutine has the token, or has set it down.
type tokenState uint8

const (
	tokenFree tokenState = iota
	tokenHeld
	tokenDown
)

var tokenNames = [...]string{"free", "held", "down"}

func (s tokenState) String() string { return tokenNames[s] }

var tokenNext = states.Table[tokenState]{
	tokenFree: states.To(tokenHeld),
	tokenHeld: states.To(tokenFree, tokenDown),
	tokenDown: states.To(tokenHeld),
}

func (k *token) init() { k.moved.L = &k.mu }

// tryTake takes the token if it is free, and reports whether it did.
func (k *token) tryTake() bool {
	if !k.state.Move(tokenFree, tokenHeld, tokenNext) {
		return false
	}
	locks.Acquired[locks.Token]()
	return true
}

// free sets the token free. Another goroutine may have queued work that the holder has not seen, so
// the caller must look again.
func (k *token) free() {
	locks.Released[locks.Token]()
	k.state.Become(tokenFree, tokenNext)
	k.tell()
}

// handOver ends the holder's part. Another goroutine then begins its part with takeOver.
func (k *token) handOver() { locks.Released[locks.Token]() }
func (k *token) takeOver() { locks.Acquired[locks.Token]() }

// setDown sets the token down: borrowers may take it until pickUp.
func (k *token) setDown() {
	locks.Released[locks.Token]()
	k.state.Become(tokenDown, tokenNext)
	k.tell()
}

// pickUp takes the token up after setDown. It waits while borrowers want the token or have it.
func (k *token) pickUp() {
	if k.borrowers.Load() > 0 || !k.state.Move(tokenDown, tokenHeld, tokenNext) {
		k.mu.Lock()
		for k.borrowers.Load() > 0 || !k.state.Move(tokenDown, tokenHeld, tokenNext) {
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
func (k *token) borrow() (from tokenState) {
	k.borrowers.Add(1)
	k.mu.Lock()
	for from = tokenFree; !k.state.Move(from, tokenHeld, tokenNext); {
		if from = tokenDown; k.state.Move(from, tokenHeld, tokenNext) {
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
func (k *token) giveBack(from tokenState) {
	locks.Released[locks.Token]()
	k.state.Become(from, tokenNext)
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
