package check

import "time"

// Posts are the places at which a program has posted the work requests of a send queue, by their
// slots in the ring. The doorbell that follows a post tells them.
type Posts struct {
	Slots uint32 // in the ring; a power of two
	Room  uint32 // how many of these the program gets

	sites  map[uint32]Site  // of those that the device has not taken
	early  map[uint32]*late // of those that it has taken, or looked at, before the doorbell
	known  bool             // a doorbell has come
	next   uint32           // the slot behind the last one that a doorbell has told of
	used   uint32           // of the room, as of the last doorbell
	thread int              // that has rung
	mixed  bool             // two threads post at the same time, and so a doorbell may tell of the other's
}

// A late is a Site that will be known when the doorbell comes.
type late struct {
	come  chan struct{} // closed when site is valid
	site  Site          // nil if it will never be known
	taken bool          // the device has taken the work request
}

// doorbellTime is how long the doorbell behind a post may take. The thread may be killed before.
const doorbellTime = 5 * time.Second

// String waits for the doorbell.
func (l *late) String() string {
	select {
	case <-l.come:
	case <-time.After(doorbellTime):
		return ""
	}
	if l.site == nil {
		return ""
	}
	return l.site.String()
}

func (l *late) comes(s Site) {
	l.site = s
	close(l.come)
}

// A Rung is what a doorbell tells of the post in front of it.
type Rung uint8

// What it tells.
const (
	PostTaken   Rung = iota
	PostFills        // there may have been no room for more
	PostRefused      // libibverbs has refused the first one, and there was room
	PostDenied       // there was no room for the first one
)

// Rings is the event that a thread rings the doorbell at a place. The slots from from on, and up to
// to, have work requests that the device has not taken, and so much of the room is in use.
// libibverbs rings, too, if it refuses a work request.
func (p *Posts) Rings(from, to, used uint32, thread int, s Site) (r Rung) {
	switch {
	case p.mixed:
		return PostTaken
	case !p.known && from == to && len(p.early) == 0:
		r = PostRefused
	case !p.known || to != p.next:
		if used >= p.Room || p.known && p.used+p.count(p.next, to) >= p.Room { // some may be free since
			r = PostFills
		}
	case thread != p.thread: // the other one has rung behind this one's post
		p.Resets()
		p.mixed = true
		return PostTaken
	case p.used < p.Room:
		r = PostRefused
	default:
		r = PostDenied
	}
	begin := p.next
	if !p.known || p.count(begin, to) > p.count(from, to) { // the device has taken some before the doorbell
		for slot, l := range p.early {
			if !p.known || p.count(begin, slot) < p.count(begin, from) {
				l.comes(s)
				delete(p.early, slot)
			}
		}
		begin = from
	}
	for ; begin != to; begin = (begin + 1) % p.Slots {
		if l := p.early[begin]; l != nil {
			l.comes(s)
			delete(p.early, begin)
		}
		if p.sites == nil {
			p.sites = make(map[uint32]Site)
		}
		p.sites[begin] = s
	}
	p.known, p.next, p.thread, p.used = true, to, thread, used
	return r
}

// Takes is the event that the device takes the work request in a slot. It returns the place of its
// post, or nil.
func (p *Posts) Takes(slot uint32) Site {
	if p.mixed {
		return nil
	}
	if s, ok := p.sites[slot]; ok {
		delete(p.sites, slot)
		return s
	}
	l := p.lateAt(slot)
	l.taken = true
	return l
}

// At returns the place of a work request that waits in a slot, or nil. The device may look before
// the doorbell.
func (p *Posts) At(slot uint32) Site {
	if p.mixed {
		return nil
	}
	if s, ok := p.sites[slot]; ok {
		return s
	}
	return p.lateAt(slot)
}

// lateAt returns the place that the doorbell behind the work request in a slot will tell.
func (p *Posts) lateAt(slot uint32) *late {
	l := p.early[slot]
	if l != nil && l.taken { // the ring has gone round, and no doorbell has come
		l.comes(nil)
		l = nil
	}
	if l == nil {
		if p.early == nil {
			p.early = make(map[uint32]*late)
		}
		l = &late{come: make(chan struct{})}
		p.early[slot] = l
	}
	return l
}

// Resets is the event that the queue is empty, and its ring may begin anywhere.
func (p *Posts) Resets() {
	for _, l := range p.early {
		l.comes(nil)
	}
	*p = Posts{Slots: p.Slots, Room: p.Room}
}

func (p *Posts) count(from, to uint32) uint32 { return (to - from) % p.Slots }
