package admission

import (
	"cmp"
	"container/heap"
	"container/list"

	"github.com/rddp/rddp/internal/locks"
)

// A Limiter is the places of a server's connections. Any goroutine may call its methods.
type Limiter struct {
	most      int // see New
	mostQuiet int // see New

	mu locks.Mutex[locks.Admission]
	// those that New has made
	number uint64 // +checklocks:mu
	// those that have a counted connection, so there are never more than connections
	sources map[Source]*source // +checklocks:mu
	// those that have a quiet connection; the first one loses a connection if there is no room
	noisy noisiest // +checklocks:mu
	// quiet connections
	quiet int // +checklocks:mu
	// connections whose place is held
	held int // +checklocks:mu
	// of *Place, in the order in which they were lent
	lent list.List // +checklocks:mu
}

// New returns a Limiter in which at most most places are held or lent, and at most mostQuiet
// connections are quiet. If mostQuiet is zero, at most most connections are quiet, held or lent.
func New(most, mostQuiet int) *Limiter { return &Limiter{most: most, mostQuiet: mostQuiet} }

// New returns the place of a connection that was just accepted from a source. Whoever was accepted
// earlier has the older place. displace is called, by a goroutine that holds no lock of this
// package, when another connection takes the place: err is ErrQuiet or ErrShare. It must not block.
func (c *Limiter) New(from Source, displace func(err error)) *Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	return &Place{all: c, number: c.number, source: from, displace: displace}
}

// Len returns how many connections are quiet, held or lent.
func (c *Limiter) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.quiet + c.held + c.lent.Len()
}

// A source is a Source that has counted connections. The mutex of the Limiter guards it.
type source struct {
	name  Source
	quiet list.List // of *Place, in the order in which they were accepted
	held  int
	lent  int
	index int // in noisiest
}

func (s *source) oldest() *Place { return s.quiet.Front().Value.(*Place) }

// noisiest is a heap of sources that have quiet connections. The first one has most of them; of
// several with as many, most others; then the one whose quiet connection was accepted first. The
// others come second, because otherwise a source with many of them, such as the one entrance of an
// exit, could get no newcomer in while another source floods.
type noisiest []*source

func (c noisiest) Len() int { return len(c) }
func (c noisiest) Less(i, j int) bool {
	a, b := c[i], c[j]
	return cmp.Or(cmp.Compare(b.quiet.Len(), a.quiet.Len()), cmp.Compare(b.held+b.lent, a.held+a.lent), cmp.Compare(a.oldest().number, b.oldest().number)) < 0
}

func (c noisiest) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].index, c[j].index = i, j
}

func (c *noisiest) Push(x any) {
	s := x.(*source)
	s.index = len(*c)
	*c = append(*c, s)
}

func (c *noisiest) Pop() any {
	last := len(*c) - 1
	s := (*c)[last]
	(*c)[last] = nil
	*c = (*c)[:last]
	return s
}

// sortLocked puts s where it belongs in the heap, after its counts have changed. Before the change
// it had a quiet connection if it was in the heap.
//
// +checklocks:c.mu
func (c *Limiter) sortLocked(s *source) {
	if s.quiet.Len() > 0 {
		heap.Fix(&c.noisy, s.index)
	}
}

// isOverfullLocked reports whether the quiet connection that has just come is one too many.
//
// +checklocks:c.mu
func (c *Limiter) isOverfullLocked() bool {
	if c.mostQuiet > 0 {
		return c.quiet > c.mostQuiet
	}
	return c.quiet+c.held+c.lent.Len() > c.most
}

// mayHoldLocked reports whether a source may hold n more places.
//
// +checklocks:c.mu
func (c *Limiter) mayHoldLocked(s *source, n int) bool { return s.held+n <= c.most-c.held }

// room is the part of all places that newcomers may take back from those who have them on loan.
const room = 16

// loserLocked returns the place that a newcomer takes which has found no room, or the newcomer's
// own.
//
// +checklocks:c.mu
func (c *Limiter) loserLocked(newcomer *Place) *Place {
	quiet := newcomer.from.quiet.Len() // +checklocksignore: newcomer.all is c
	if last := c.lent.Back(); last != nil && c.mostQuiet == 0 &&
		c.quiet <= max(c.most/room, 1) && c.mayHoldLocked(newcomer.from, quiet) { // +checklocksignore: newcomer.all is c
		return last.Value.(*Place)
	}
	return c.noisy[0].oldest()
}
