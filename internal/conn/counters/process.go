package counters

import (
	"cmp"
	"net"
	"slices"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
)

// A state is the state of Counters. A goroutine that counts first changes the count and then looks
// at the state. Totals first changes the state and then looks at the counts. So one of the two sees
// what the other did, and no count is lost.
//
//	apart ──Enlist──▶ changed ──Totals──▶ summed
//	  │                │    ▲──a count──────┤
//	  └────Retire──────┴────────────────────┴──▶ ended
type state uint8

const (
	stateApart   state = iota // it is not in the process's table
	stateChanged              // it is in live.changed, because it may have counted since the last Totals
	stateSummed               // live.sum had all counts when the state began
	stateEnded                // as stateSummed, and later counts go to live.sum at once
)

var stateNames = [...]string{"apart", "changed", "summed", "ended"}

func (s state) String() string { return stateNames[s] }

var stateNext = states.Table[state]{
	stateApart:   states.To(stateChanged, stateEnded),
	stateChanged: states.To(stateSummed, stateEnded),
	stateSummed:  states.To(stateChanged, stateEnded),
	stateEnded:   0,
}

// live holds the counts of all connections of the process. A connection that counts nothing between
// two calls of Totals costs the second call nothing.
var live = struct {
	mu    locks.Mutex[locks.Live]
	open  map[*Counters]enlisted // +checklocks:mu
	begun uint64                 // +checklocks:mu
	// the counts of all connections, except what those in changed have counted since the last
	// Totals
	sum     Sums // +checklocks:mu
	changed list // +checklocks:mu
	// how many have ended with an error
	failed uint64 // +checklocks:mu
}{open: make(map[*Counters]enlisted)}

// A list is a queue of connections that needs no memory of its own. A connection can leave it from
// the middle.
type list struct {
	first, last *Counters
	len         int
}

func (l *list) add(c *Counters) {
	if c.prev = l.last; c.prev == nil {
		l.first = c
	} else {
		c.prev.next = c
	}
	l.last = c
	l.len++
}

func (l *list) remove(c *Counters) {
	if c.prev == nil {
		l.first = c.next
	} else {
		c.prev.next = c.next
	}
	if c.next == nil {
		l.last = c.prev
	} else {
		c.next.prev = c.prev
	}
	c.next, c.prev = nil, nil
	l.len--
}

// become changes the state, and adds the connection to live.changed or removes it. Nothing else
// does.
//
// +checklocks:live.mu
func (c *Counters) become(next state) {
	old := c.state.Load()
	c.state.Become(next, stateNext)
	if old == stateChanged {
		live.changed.remove(c)
	}
	if next == stateChanged {
		live.changed.add(c)
	}
}

// addUp adds to live.sum the counts that it does not contain yet.
//
// +checklocks:live.mu
func (c *Counters) addUp() {
	if c.summed == nil {
		c.summed = new(Sums)
	}
	for k := range c.n {
		n := c.n[k].Load()
		live.sum[k] += n - c.summed[k]
		c.summed[k] = n
	}
}

// change notes that live.sum does not contain a count, unless another goroutine has done so
// meanwhile.
func (c *Counters) change() {
	live.mu.Lock()
	defer live.mu.Unlock()
	switch c.state.Load() {
	case stateSummed:
		c.become(stateChanged)
	case stateEnded: // a Read may take what came before the end
		c.addUp()
	}
}

// atOnce is the number of connections that Totals adds up before it releases the lock for a moment.
const atOnce = 64

// Totals returns the counts of all connections of the process together. begun is how many
// connections have ever been in DDP mode, open is how many of these have not ended, and failed is
// how many have ended with an error.
func Totals() (sum Sums, begun, open, failed uint64) {
	live.mu.Lock()
	defer live.mu.Unlock()
	// A connection that counts from now on goes to the end of the queue, so this loop ends.
	for left := live.changed.len; left > 0 && live.changed.first != nil; left-- {
		c := live.changed.first
		c.become(stateSummed)
		c.addUp()
		if left%atOnce == 0 {
			locks.Unlocked(&live.mu, func() {})
		}
	}
	return live.sum, live.begun, uint64(len(live.open)), live.failed
}

// An Owner is the connection that has Counters: a socket, or one of the RNIC of `rddp run`. Any
// goroutine may call its methods.
type Owner interface {
	LocalAddr() net.Addr
	RemoteAddr() net.Addr
	IsInitiator() bool  // in MPA startup
	IsByteStream() bool // otherwise Read and Write carry messages
}

// An Open is a connection of the process that is in DDP mode and has not ended.
type Open struct {
	Owner  Owner     // the argument of Enlist
	Number uint64    // counts the connections of the process, from 1
	Since  time.Time // when the connection was started
	Counts *Counters // which the connection continues to change
}

// An enlisted is an Open in less memory, without what the map's key says.
type enlisted struct {
	owner  Owner
	number uint64
	since  time.Duration // since start
}

var start = time.Now()

// AllOpen returns the connections that are open, in the order in which they were started.
func AllOpen() []Open {
	live.mu.Lock()
	all := make([]Open, 0, len(live.open))
	for c, o := range live.open {
		all = append(all, Open{Owner: o.owner, Number: o.number, Since: start.Add(o.since), Counts: c})
	}
	live.mu.Unlock()
	slices.SortFunc(all, func(a, b Open) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// Enlist adds the counts of a connection to those of the process. AllOpen returns owner for it.
func (c *Counters) Enlist(owner Owner) {
	since := time.Since(start)
	live.mu.Lock()
	defer live.mu.Unlock()
	live.begun++
	live.open[c] = enlisted{owner: owner, number: live.begun, since: since}
	c.become(stateChanged)
}

// Retire notes that a connection has ended. failed says that it has ended with an error.
func (c *Counters) Retire(failed bool) {
	live.mu.Lock()
	defer live.mu.Unlock()
	if failed {
		live.failed++
	}
	delete(live.open, c)
	c.become(stateEnded)
	c.addUp()
}

// IsLive reports whether the connection has not ended. Nothing but tests use it.
func (c *Counters) IsLive() bool {
	live.mu.Lock()
	defer live.mu.Unlock()
	_, ok := live.open[c]
	return ok
}

// ForgetPanics forgets the panics that a test has caused on purpose.
func ForgetPanics() {
	live.mu.Lock()
	defer live.mu.Unlock()
	live.sum[Panics] = 0
	for c := range live.open {
		if c.n[Panics].Store(0); c.summed != nil {
			c.summed[Panics] = 0
		}
	}
}
