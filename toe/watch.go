package toe

import (
	"sync"
	"sync/atomic"
)

// A Gate lets one goroutine wait until another one opens it. It holds at most one opening: Wait
// takes it, and opening an open Gate changes nothing. The zero Gate is open, so the first Wait
// returns at once. A Gate must not be copied.
//
// A goroutine outside a bubble of package testing/synctest may open the Gate of a goroutine in the
// bubble. A channel, a sync.Cond and a sync.WaitGroup would panic there. A sync.Mutex does not,
// whoever unlocks it, and it needs no memory for the goroutine that waits. Like every wait for a
// mutex, Wait does not let the time of a bubble go on.
type Gate struct {
	mu   sync.Mutex  // locked while the Gate is shut, and while Wait is about to shut it
	shut atomic.Bool // whoever makes it false unlocks mu
}

// Wait waits until the Gate is open, and shuts it. One goroutine at a time may call Wait. What the
// goroutines did before they called Open, also in vain, has happened before Wait returns.
//
// +checklocksignore: Open unlocks mu
func (g *Gate) Wait() {
	g.mu.Lock()
	// Until the next line the Gate counts as open, so an Open changes nothing. Wait has not returned
	// yet, so that opening is the one that Wait takes. Swap, and not Store, because Swap sees that
	// Open's Swap.
	g.shut.Swap(true)
}

// Open opens the Gate. It does not wait, and any goroutine may call it.
//
// +checklocksignore: Wait has locked mu
func (g *Gate) Open() {
	if g.shut.Swap(false) {
		g.mu.Unlock()
	}
}

// NoWatch is for a Stream that can't be watched: it embeds NoWatch.
type NoWatch struct{}

// Watch returns false.
func (NoWatch) Watch(*Gate) bool { return false }

// Unwatch does nothing.
func (NoWatch) Unwatch() {}
