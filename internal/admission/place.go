package admission

import (
	"container/heap"
	"container/list"

	"github.com/rddp/rddp/internal/states"
)

// A Place is the place of one connection in a Limiter. Any goroutine may call its methods.
type Place struct {
	all      *Limiter
	number   uint64 // in the order in which the Limiter's connections were accepted
	displace func(error)

	source Source     // +checklocks:all.mu
	state  placeState // +checklocks:all.mu
	// see HasDisplaced
	displaced bool // +checklocks:all.mu
	// nil unless the connection is counted
	from *source // +checklocks:all.mu
	// in from.quiet if the connection is quiet, in Limiter.lent if its place is lent
	element *list.Element // +checklocks:all.mu
}

// A placeState is the state of a Place; doc.go draws how it changes.
type placeState uint8

const (
	outside placeState = iota // not yet counted, or no longer
	quiet
	held
	lent
)

var placeNames = [...]string{"outside", "quiet", "held", "lent"}

func (s placeState) String() string { return placeNames[s] }

var placeNext = states.Table[placeState]{
	outside: states.To(quiet),
	quiet:   states.To(outside, held, lent),
	held:    states.To(outside),
	lent:    states.To(outside, held),
}

// becomeLocked changes the state of a Place, and the counts with it. Nothing else changes the
// state.
//
// +checklocks:c.mu
// +checklocks:p.all.mu
func (c *Limiter) becomeLocked(p *Place, next placeState) {
	switch p.state {
	case outside:
		c.countLocked(p)
	case quiet:
		c.hushLocked(p)
	case held:
		c.held--
		p.from.held--
		c.sortLocked(p.from)
	case lent:
		c.lent.Remove(p.element)
		p.from.lent--
		c.sortLocked(p.from)
	}
	placeNext.Become(&p.state, next)
	p.element = nil
	switch next {
	case outside:
		c.forgetLocked(p)
	case quiet:
		c.queueLocked(p)
	case held:
		c.held++
		p.from.held++
		c.sortLocked(p.from)
	case lent:
		p.element = c.lent.PushBack(p)
		p.from.lent++
		c.sortLocked(p.from)
	}
}

// countLocked finds or makes the source of a connection that is counted from now on.
//
// +checklocks:c.mu
// +checklocks:p.all.mu
func (c *Limiter) countLocked(p *Place) {
	if c.sources == nil {
		c.sources = make(map[Source]*source)
	}
	if c.sources[p.source] == nil {
		c.sources[p.source] = &source{name: p.source}
	}
	p.from = c.sources[p.source]
}

// forgetLocked undoes countLocked.
//
// +checklocks:c.mu
// +checklocks:p.all.mu
func (c *Limiter) forgetLocked(p *Place) {
	s := p.from
	p.from = nil
	if s.quiet.Len()+s.held+s.lent == 0 {
		delete(c.sources, s.name)
	}
}

// queueLocked adds p to the quiet connections.
//
// +checklocks:c.mu
// +checklocks:p.all.mu
func (c *Limiter) queueLocked(p *Place) {
	s := p.from
	e := s.quiet.Back()
	for e != nil && e.Value.(*Place).number > p.number {
		e = e.Prev()
	}
	if e == nil {
		p.element = s.quiet.PushFront(p)
	} else {
		p.element = s.quiet.InsertAfter(p, e)
	}
	c.quiet++
	if s.quiet.Len() == 1 {
		heap.Push(&c.noisy, s)
	} else {
		heap.Fix(&c.noisy, s.index)
	}
}

// hushLocked removes p from the quiet connections.
//
// +checklocks:c.mu
// +checklocks:p.all.mu
func (c *Limiter) hushLocked(p *Place) {
	s := p.from
	if s.quiet.Len() == 1 {
		heap.Remove(&c.noisy, s.index) // before the list is empty, because Less looks at it
		s.quiet.Remove(p.element)
	} else {
		s.quiet.Remove(p.element)
		heap.Fix(&c.noisy, s.index)
	}
	c.quiet--
}

// Enter counts the connection as a quiet one. If there is no room, another connection loses its
// place: the oldest quiet connection of the source that has most of them, including the newcomer,
// or a connection whose place is lent; the package comment says which. If sources have equally many
// quiet connections, the source with more other connections loses one, and then the connection that
// was accepted first loses its place. So a connection that was accepted earlier never displaces a
// quiet one that was accepted later, whatever the order in which they enter. Enter does not wait
// for the other connection to end. If the newcomer itself would lose, Enter returns false, and the
// server refuses it. Enter must be called at most once.
func (p *Place) Enter() bool {
	c := p.all
	c.mu.Lock()
	c.becomeLocked(p, quiet)
	var loser *Place
	err := ErrQuiet
	if c.isOverfullLocked() {
		loser = c.loserLocked(p)
		if loser.state == lent { // +checklocksignore: loser.all is c
			err = ErrShare
		}
		c.becomeLocked(loser, outside) // +checklocksignore: loser.all is c
		p.displaced = loser != p
	}
	c.mu.Unlock()
	if loser != nil && loser != p {
		loser.displace(err)
	}
	return loser != p
}

// HasDisplaced reports whether Enter took the place of another connection.
func (p *Place) HasDisplaced() bool {
	p.all.mu.Lock()
	defer p.all.mu.Unlock()
	return p.displaced
}

// Heard records that the peer of an entered connection has sent something, so newcomers can no
// longer displace it as a quiet connection. It reports whether the connection has a place, held or
// lent. If not, either the connection has been displaced, or there is no place for it. In the
// second case it remains quiet, and the server may call Heard again later.
func (p *Place) Heard() bool {
	c := p.all
	c.mu.Lock()
	var loser *Place
	mayHold := p.from != nil && c.mayHoldLocked(p.from, 1)
	isFull := c.held+c.lent.Len() >= c.most
	switch {
	case p.state == quiet && isFull && mayHold: // at least one is lent, or the source might not hold one more
		loser = c.lent.Back().Value.(*Place)
		c.becomeLocked(loser, outside) // +checklocksignore: loser.all is c
		c.becomeLocked(p, held)
	case p.state == quiet && mayHold:
		c.becomeLocked(p, held)
	case p.state == quiet && !isFull:
		c.becomeLocked(p, lent)
	}
	has := p.state == held || p.state == lent
	c.mu.Unlock()
	if loser != nil {
		loser.displace(ErrShare)
	}
	return has
}

// Move changes the source of a quiet connection, because a proxy in front has named another one. It
// takes no place from others.
func (p *Place) Move(to Source) {
	c := p.all
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.state != quiet || p.source == to {
		return
	}
	c.becomeLocked(p, outside)
	p.source = to
	c.becomeLocked(p, quiet)
}

// Leave ends the connection's place. It may be called more than once.
func (p *Place) Leave() {
	c := p.all
	c.mu.Lock()
	defer c.mu.Unlock()
	was := p.state
	if was == outside {
		return
	}
	c.becomeLocked(p, outside)
	if was == held {
		c.settleLocked()
	}
}

// settleLocked turns lent places into held ones if their sources may hold them now that a place has
// been returned.
//
// +checklocks:c.mu
func (c *Limiter) settleLocked() {
	var next *list.Element
	for e := c.lent.Front(); e != nil; e = next {
		next = e.Next()
		if p := e.Value.(*Place); c.mayHoldLocked(p.from, 1) { // +checklocksignore: p.all is c
			c.becomeLocked(p, held) // +checklocksignore: p.all is c
		}
	}
}
