package accept

import (
	"container/list"
	"context"
	"errors"
	"sync"
)

// ErrDisplaced is why a quiet connection ends that has lost its place to a newer one.
var ErrDisplaced = errors.New("a newer connection took the place of this one, whose peer had said nothing")

// places are the counted connections of a Loop.
type places struct {
	most      int // see Loop
	mostQuiet int // see Loop

	mu sync.Mutex
	// of *Place, in the order in which they were accepted
	quiet list.List // +checklocks:mu
	// connections whose peer has been heard
	heard int // +checklocks:mu
}

// isFullLocked reports whether a newcomer has to displace a quiet connection.
//
// +checklocks:s.mu
func (s *places) isFullLocked() bool {
	if s.mostQuiet > 0 {
		return s.quiet.Len() >= s.mostQuiet
	}
	return s.quiet.Len()+s.heard >= s.most
}

// A Place is the place of one connection among those that a Loop counts. Any goroutine may call its
// methods.
type Place struct {
	all      *places
	number   uint64                  // the Loop counts the connections as it accepts them
	displace context.CancelCauseFunc // of the connection's context

	// in all.quiet; nil unless the connection is quiet
	element *list.Element // +checklocks:all.mu
	heard   bool          // +checklocks:all.mu
}

// Enter counts the connection as a quiet one. If there is no room, the quiet connection that was
// accepted first loses its place: Enter cancels its context, with ErrDisplaced, and does not wait
// for it to end. So connections that were accepted earlier never displace one that was accepted
// later, whatever the order in which they enter. If no quiet connection is older than the newcomer,
// Enter reports false, and the server refuses the newcomer. Enter must be called at most once.
func (p *Place) Enter() bool {
	s := p.all
	s.mu.Lock()
	var oldest *Place
	if s.isFullLocked() {
		front := s.quiet.Front()
		if front == nil || front.Value.(*Place).number > p.number {
			s.mu.Unlock()
			return false
		}
		oldest = s.quiet.Remove(front).(*Place)
		oldest.element = nil // +checklocksignore: oldest.all is s
	}
	s.insertLocked(p)
	s.mu.Unlock()
	if oldest != nil {
		oldest.displace(ErrDisplaced)
	}
	return true
}

// insertLocked puts p among the quiet connections.
//
// +checklocks:s.mu
// +checklocks:p.all.mu
func (s *places) insertLocked(p *Place) {
	e := s.quiet.Back()
	for e != nil && e.Value.(*Place).number > p.number {
		e = e.Prev()
	}
	if e == nil {
		p.element = s.quiet.PushFront(p)
	} else {
		p.element = s.quiet.InsertAfter(p, e)
	}
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
	case p.heard:
		return true
	case p.element == nil || s.heard >= s.most:
		return false
	}
	s.quiet.Remove(p.element)
	p.element, p.heard = nil, true
	s.heard++
	return true
}

// leave ends the connection's place.
func (p *Place) leave() {
	s := p.all
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.element != nil {
		s.quiet.Remove(p.element)
		p.element = nil
	}
	if p.heard {
		s.heard--
		p.heard = false
	}
}
