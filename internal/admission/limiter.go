package admission

import (
	"cmp"
	"container/heap"
	"container/list"

	"github.com/rddp/rddp/internal/locks"
)

// A Limiter manages the places of a server's connections. Any goroutine may call its methods.
type Limiter struct {
	most      int // see New
	mostQuiet int // see New

	mu locks.Mutex[locks.Admission]
	// number of Places that New has made
	number uint64 // +checklocks:mu
	// the sources that have a counted connection, so there are never more sources than connections
	sources map[Source]*source // +checklocks:mu
	// the sources that have a quiet connection; the first one loses a connection if there is no
	// room
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

// New returns the place of a connection that was just accepted from a source. A connection that was
// accepted earlier has an older place. When another connection takes the place, a goroutine that
// holds no lock of this package calls displace with ErrQuiet or ErrShare. displace must not block.
func (c *Limiter) New(from Source, displace func(err error)) *Place {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.number++
	return &Place{all: c, number: c.number, source: from, displace: displace}
}

// Len returns the number of connections that are quiet, held or lent.
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

// noisiest is a heap of sources that have quiet connections. The first source has the most quiet
// connections. Among several such sources it has the most other connections, and then the oldest
// quiet connection. Quiet connections count first, because otherwise a source with many other
// connections, such as the entrance that connects to an exit, could get no newcomer in while
// another source floods.
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

// sortLocked moves s to its right place in the heap after its counts have changed.
//
// +checklocks:c.mu
func (c *Limiter) sortLocked(s *source) {
	if s.quiet.Len() > 0 {
		heap.Fix(&c.noisy, s.index)
	}
}

// isOverfullLocked reports whether the newest quiet connection is one too many.
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

// Newcomers may take back at most 1/room of all places from connections whose places are lent.
const room = 16

// loserLocked returns the place that a newcomer without room takes, or the newcomer's own place if
// it loses.
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
