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

// A Gate lets one goroutine wait until another one opens it, or end and be started again by then:
// see Leave. It holds at most one opening: Wait takes it, and opening an open Gate changes nothing.
// The zero Gate is open, so the first Wait returns at once. A Gate must not be copied.
//
// A goroutine outside a bubble of package testing/synctest may open the zero Gate of a goroutine in
// the bubble. A channel, a sync.Cond and a sync.WaitGroup would panic there. A sync.Mutex does not
// panic, whichever goroutine unlocks it, and it needs no memory for the waiting goroutine. Like
// every wait for a mutex, Wait does not let the time of a bubble advance. See NewGate.
type Gate struct {
	mu     sync.Mutex    // locked while the Gate is not open, and while Wait is about to shut it
	state  atomic.Uint32 // a gateState; the goroutine that changes it from shut to open unlocks mu
	inside chan struct{} // capacity 1; if it is not nil, it is in place of mu: empty means locked
	opened Opened        // who has left
	back   func()        // comeBack, made once; nil before the first Leave
}

// A gateState says what Open does:
//
//	  ┌──────── Wait ───────▼ │
//	open                    shut ── Leave ──▶ left
//	  ▲────────  Open ───────┘ ▲────── Open ────┘
type gateState = uint32

const (
	gateOpen gateState = iota // nothing
	gateShut                  // it lets a goroutine go on that waits or will wait
	gateLeft                  // it starts a goroutine
)

// Opened is called by a Gate that somebody has left.
type Opened interface{ GateOpened() }

// NewGate returns a Gate that is shut, for a Stream that is watched in this way. If the way is not
// WatchOutside, Wait lets the time of a bubble advance, and only goroutines of the bubble may call
// Open.
func NewGate(way Watching) *Gate {
	g := new(Gate)
	g.Init(way)
	return g
}

// Init makes the zero Gate what NewGate returns. It is for an owner that has the Gate in its own
// memory.
func (g *Gate) Init(way Watching) {
	if way != WatchOutside {
		g.inside = make(chan struct{}, 1)
		g.state.Store(gateShut)
		return
	}
	g.Wait()
}

// Wait waits until the Gate is open, and shuts it. One goroutine at a time may call Wait. Every
// call of Open before that, also of a Gate that was already open, happens before Wait returns.
//
// +checklocksignore: Open unlocks mu
func (g *Gate) Wait() {
	if g.inside != nil {
		<-g.inside
	} else {
		g.mu.Lock()
	}
	// Until the next line the Gate counts as open, so an Open changes nothing. Wait has not
	// returned yet, so that opening is the one that Wait takes. It must be Swap, not Store, because
	// Swap observes that Open's Swap.
	g.state.Swap(gateShut)
}

// Leave is Wait for a goroutine that ends instead of waiting. If the Gate is open, Leave shuts it
// and returns true, as if Wait had returned. Otherwise it returns false, and the next Open starts a
// goroutine that shuts the Gate and calls o.GateOpened. So a goroutine that waits for long needs no
// stack meanwhile. Everything before Leave happens before that call.
//
// That goroutine is in the synctest bubble of the caller of Open, or in none. So a Gate that was
// made outside a bubble must not be opened inside one: GateOpened would see the bubble's clock.
func (g *Gate) Leave(o Opened) (open bool) {
	g.opened = o
	if g.back == nil {
		g.back = g.comeBack // "go g.comeBack()" would allocate each time
	}
	if g.state.CompareAndSwap(gateShut, gateLeft) {
		return false
	}
	g.Wait() // the Gate is open
	return true
}

// Open opens the Gate. It does not wait, and any goroutine may call it.
//
// +checklocksignore: Wait has locked mu
func (g *Gate) Open() {
	switch g.state.Swap(gateOpen) {
	case gateShut:
		if g.inside != nil {
			g.inside <- struct{}{} // has room: Wait takes it before the Gate is shut again
		} else {
			g.mu.Unlock()
		}
	case gateLeft:
		go g.back()
	}
}

// comeBack runs for the goroutine that has left. Nobody has unlocked mu, so only the state must be
// shut again: openings up to then are one.
func (g *Gate) comeBack() {
	g.state.Swap(gateShut)
	g.opened.GateOpened()
}

// NoWatch is for a Stream that can't be watched to embed.
type NoWatch struct{}

// Watch returns false.
func (NoWatch) Watch(*Gate) bool { return false }

// Unwatch does nothing.
func (NoWatch) Unwatch() {}
