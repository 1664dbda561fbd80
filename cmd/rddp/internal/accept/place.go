package accept

import (
	"cmp"
	"container/heap"
	"container/list"
	"context"
	"errors"
	"net/netip"
	"sync"
)

// ErrDisplaced is why a quiet connection ends that has lost its place to a newer one.
var ErrDisplaced = errors.New("a newer connection took the place of this one, whose peer had said nothing")

// places are the counted connections of a Loop.
type places struct {
	most      int // see Loop
	mostQuiet int // see Loop

	mu sync.Mutex
	// those that have a counted connection, so there are never more than connections
	sources map[netip.Prefix]*source // +checklocks:mu
	// those that have a quiet connection; the first one loses a connection if there is no room
	crowd crowd // +checklocks:mu
	// connections whose peer has not been heard
	quiet int // +checklocks:mu
	// connections whose peer has been heard
	heard int // +checklocks:mu
}

// A source is where connections come from. The mutex of places guards it.
type source struct {
	prefix netip.Prefix
	quiet  list.List // of *Place, in the order in which they were accepted
	heard  int       // connections whose peer has been heard
	index  int       // in the crowd
}

func (s *source) oldest() *Place { return s.quiet.Front().Value.(*Place) }

// A crowd is a heap of sources that have quiet connections. The first one has most of them; of several
// with as many, most connections that were heard; then the one whose quiet connection was accepted
// first. Heard connections come second, because otherwise a source with many of them, such as the one
// entrance of an exit, could get no newcomer in while another source floods.
type crowd []*source

func (c crowd) Len() int { return len(c) }
func (c crowd) Less(i, j int) bool {
	a, b := c[i], c[j]
	return cmp.Or(cmp.Compare(b.quiet.Len(), a.quiet.Len()), cmp.Compare(b.heard, a.heard), cmp.Compare(a.oldest().number, b.oldest().number)) < 0
}
func (c crowd) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].index, c[j].index = i, j
}
func (c *crowd) Push(x any) {
	s := x.(*source)
	s.index = len(*c)
	*c = append(*c, s)
}
func (c *crowd) Pop() any {
	last := len(*c) - 1
	s := (*c)[last]
	(*c)[last] = nil
	*c = (*c)[:last]
	return s
}

// isOverfullLocked reports whether a quiet connection has to go.
//
// +checklocks:s.mu
func (s *places) isOverfullLocked() bool {
	if s.mostQuiet > 0 {
		return s.quiet > s.mostQuiet
	}
	return s.quiet+s.heard > s.most
}

// A Place is the place of one connection among those that a Loop counts. Any goroutine may call its
// methods.
type Place struct {
	all      *places
	number   uint64                  // the Loop counts the connections as it accepts them
	prefix   netip.Prefix            // where the connection comes from
	displace context.CancelCauseFunc // of the connection's context

	// nil unless the connection is counted
	from *source // +checklocks:all.mu
	// in from.quiet; nil unless the connection is quiet
	element *list.Element // +checklocks:all.mu
}

// Enter counts the connection as a quiet one. If there is no room, a quiet connection of the source
// that has most of them, the newcomer included, loses its place: the one that was accepted first.
// So a flood from one source displaces its own connections, and none of a source that has fewer.
// Between sources that have as many, it is that with more heard connections, and then the connection
// goes that was accepted first: connections that were accepted earlier never displace one that was
// accepted later, whatever the order in which they enter. Enter cancels the context of the connection that goes, with ErrDisplaced, and does not
// wait for it to end. If the newcomer itself would have to go, Enter reports false, and the server
// refuses it. Enter must be called at most once.
func (p *Place) Enter() bool {
	s := p.all
	s.mu.Lock()
	s.insertLocked(p)
	var gone *Place
	if s.isOverfullLocked() {
		gone = s.crowd[0].oldest()
		s.removeLocked(gone)
	}
	s.mu.Unlock()
	if gone != nil && gone != p {
		gone.displace(ErrDisplaced)
	}
	return gone != p
}

// insertLocked puts p among the quiet connections.
//
// +checklocks:s.mu
// +checklocks:p.all.mu
func (s *places) insertLocked(p *Place) {
	from := s.sources[p.prefix]
	if from == nil {
		if s.sources == nil {
			s.sources = make(map[netip.Prefix]*source)
		}
		from = &source{prefix: p.prefix}
		s.sources[p.prefix] = from
	}
	e := from.quiet.Back()
	for e != nil && e.Value.(*Place).number > p.number {
		e = e.Prev()
	}
	if e == nil {
		p.element = from.quiet.PushFront(p)
	} else {
		p.element = from.quiet.InsertAfter(p, e)
	}
	p.from = from
	s.quiet++
	if from.quiet.Len() == 1 {
		heap.Push(&s.crowd, from)
	} else {
		heap.Fix(&s.crowd, from.index)
	}
}

// removeLocked takes p, which is counted, from the connections.
//
// +checklocks:s.mu
func (s *places) removeLocked(p *Place) {
	from := p.from        // +checklocksignore: p.all is s
	if p.element != nil { // +checklocksignore: p.all is s
		s.hushLocked(p)
	} else {
		from.heard--
		s.heard--
		if from.quiet.Len() > 0 {
			heap.Fix(&s.crowd, from.index)
		}
	}
	p.from = nil // +checklocksignore: p.all is s
	if from.quiet.Len()+from.heard == 0 {
		delete(s.sources, from.prefix)
	}
}

// hushLocked takes p from the quiet connections.
//
// +checklocks:s.mu
func (s *places) hushLocked(p *Place) {
	from := p.from // +checklocksignore: p.all is s
	if from.quiet.Len() == 1 {
		heap.Remove(&s.crowd, from.index) // before the list is empty, because Less looks at it
		from.quiet.Remove(p.element)      // +checklocksignore: p.all is s
	} else {
		from.quiet.Remove(p.element) // +checklocksignore: p.all is s
		heap.Fix(&s.crowd, from.index)
	}
	p.element = nil // +checklocksignore: p.all is s
	s.quiet--
}

// Heard notes that the peer of an entered connection has said something, so newcomers cannot
// displace the connection any more. It reports whether the connection now counts as heard. If not,
// either the connection has been displaced, or there are Loop.Most heard connections already; in
// the second case the connection stays quiet, and the server may call Heard again later.
func (p *Place) Heard() bool {
	s := p.all
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case p.from == nil:
		return false
	case p.element == nil:
		return true
	case s.heard >= s.most:
		return false
	}
	s.hushLocked(p)
	p.from.heard++
	s.heard++
	if p.from.quiet.Len() > 0 {
		heap.Fix(&s.crowd, p.from.index)
	}
	return true
}

// Move says that an entered connection comes from another source than the one that it was accepted
// from, because a proxy in front has said so. It takes no place from others.
func (p *Place) Move(to netip.Prefix) {
	s := p.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.element == nil || p.prefix == to { // Heard connections lose no place, whatever their source
		return
	}
	s.removeLocked(p)
	p.prefix = to
	s.insertLocked(p)
}

// leave ends the connection's place.
func (p *Place) leave() {
	s := p.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.from != nil {
		s.removeLocked(p)
	}
}
