package toe

import (
	"sync"
	"sync/atomic"
)

// A Watching says whether a Stream can be watched, and which goroutines open its Gate.
type Watching uint8

const (
	WatchNone    Watching = iota // Watch returns false
	WatchInside                  // by a goroutine that uses the Stream
	WatchOutside                 // by a goroutine of the process, outside of any synctest bubble
)

// A Gate lets one goroutine wait until another one opens it. It holds at most one opening: Wait
// takes it, and opening an open Gate changes nothing. The zero Gate is open, so the first Wait
// returns at once. A Gate must not be copied.
//
// A goroutine outside a bubble of package testing/synctest may open the zero Gate of a goroutine in
// the bubble. A channel, a sync.Cond and a sync.WaitGroup would panic there. A sync.Mutex does not
// panic, whichever goroutine unlocks it, and it needs no memory for the waiting goroutine. Like
// every wait for a mutex, Wait does not let the time of a bubble advance. See NewGate.
type Gate struct {
	mu     sync.Mutex    // locked while the Gate is shut, and while Wait is about to shut it
	shut   atomic.Bool   // the goroutine that makes it false unlocks mu
	inside chan struct{} // capacity 1; if it is not nil, it replaces both
}

// NewGate returns a Gate that is shut, for a Stream that is watched in this way. If the way is not
// WatchOutside, Wait lets the time of a bubble advance, and only goroutines of the bubble may call
// Open.
func NewGate(way Watching) *Gate {
	g := new(Gate)
	if way != WatchOutside {
		g.inside = make(chan struct{}, 1)
		return g
	}
	g.Wait()
	return g
}

// Wait waits until the Gate is open, and shuts it. One goroutine at a time may call Wait. Every
// call of Open before that, also of a Gate that was already open, happens before Wait returns.
//
// +checklocksignore: Open unlocks mu
func (g *Gate) Wait() {
	if g.inside != nil {
		<-g.inside
		return
	}
	g.mu.Lock()
	// Until the next line the Gate counts as open, so an Open changes nothing. Wait has not
	// returned yet, so that opening is the one that Wait takes. It must be Swap, not Store, because
	// Swap observes that Open's Swap.
	g.shut.Swap(true)
}

// Open opens the Gate. It does not wait, and any goroutine may call it.
//
// +checklocksignore: Wait has locked mu
func (g *Gate) Open() {
	if g.inside != nil {
		select {
		case g.inside <- struct{}{}:
		default:
		}
		return
	}
	if g.shut.Swap(false) {
		g.mu.Unlock()
	}
}

// NoWatch is for a Stream that can't be watched to embed.
type NoWatch struct{}

// Watch returns false.
func (NoWatch) Watch(*Gate) bool { return false }

// Unwatch does nothing.
func (NoWatch) Unwatch() {}
