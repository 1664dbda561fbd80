package counters

import (
	"cmp"
	"slices"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// Counters holds the counts of one connection, or of several. Any goroutine may read them. No count
// ever decreases.
type Counters struct {
	retired   atomic.Bool // the counts have been added to live.ended
	readAtEnd [2]uint64   // the parts of Copied and Direct that live.ended has; guarded by live.mu

	// bytes that arrived before a Read waited for them, and bytes that a waiting Read got
	Copied, Direct atomic.Uint64

	Sent, Received Traffic

	// Writes that waited for credits, and short Writes that went out with an earlier Write
	Stalls, Combined     atomic.Uint64
	Offers, Rendezvous   atomic.Uint64 // rendezvous, and the bytes that they placed
	MemoryStalls, Panics atomic.Uint64
	// FPDUs that were placed while there was a gap before them, and the bytes of their ULPDUs
	Early, EarlyOctets atomic.Uint64
	// FPDUs that were in place when their turn came, and bytes of early runs that were not placed
	SavedCopies, Buffered atomic.Uint64
	// connections that ended because of IdleTimeout, and because of WriteTimeout
	IdleTimeouts, WriteLimits atomic.Uint64
}

// Traffic counts the traffic of one way.
type Traffic struct {
	FPDUs, Octets atomic.Uint64     // FPDUs, and bytes of FPDUs
	ops           [16]atomic.Uint64 // RDMA Messages, by opcode
}

// Message counts one RDMA Message by its RDMAP Control Field.
func (t *Traffic) Message(control uint8) {
	op, _ := rdmaphdr.ParseControl(control)
	t.ops[op&0xf].Add(1)
}

// Messages returns how many RDMA Messages have one of the opcodes.
func (t *Traffic) Messages(ops ...rdmaphdr.Opcode) (n uint64) {
	for _, op := range ops {
		n += t.ops[op].Load()
	}
	return n
}

// all returns all counts.
func (c *Counters) all() []*atomic.Uint64 {
	list := []*atomic.Uint64{
		&c.Copied, &c.Direct, &c.Stalls, &c.Combined, &c.Offers, &c.Rendezvous,
		&c.MemoryStalls, &c.Panics, &c.Early, &c.EarlyOctets, &c.SavedCopies, &c.Buffered,
		&c.IdleTimeouts, &c.WriteLimits,
	}
	for _, t := range []*Traffic{&c.Sent, &c.Received} {
		list = append(list, &t.FPDUs, &t.Octets)
		for i := range t.ops {
			list = append(list, &t.ops[i])
		}
	}
	return list
}

// add adds the counts of from.
func (c *Counters) add(from *Counters) {
	other := from.all()
	for i, n := range c.all() {
		n.Add(other[i].Load())
	}
}

// live holds the counts of all connections of the process that have not ended, and the sum of those
// that have.
var live = struct {
	mu    locks.Mutex[locks.Live]
	open  map[*Counters]enlisted // +checklocks:mu
	begun uint64                 // +checklocks:mu
	ended Counters               // +checklocks:mu
	// how many have ended with an error
	failed uint64 // +checklocks:mu
}{open: make(map[*Counters]enlisted)}

// An Open is a connection of the process that is in DDP mode and has not ended.
type Open struct {
	Owner  any       // as Enlist has it
	Number uint64    // counts the connections of the process, from 1
	Since  time.Time // when the connection was started
	Counts *Counters // which the connection continues to change
}

// An enlisted is an Open in less memory, without what the map's key says.
type enlisted struct {
	owner  any
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

// Totals adds the counts of all connections of the process to sum. begun is how many connections
// have ever been in DDP mode, open is how many of these have not ended, and failed is how many have
// ended with an error.
func Totals(sum *Counters) (begun, open, failed uint64) {
	live.mu.Lock()
	defer live.mu.Unlock()
	sum.add(&live.ended)
	for c := range live.open {
		sum.add(c)
	}
	return live.begun, uint64(len(live.open)), live.failed
}

// Enlist adds the counts of a connection to those of the process. AllOpen returns owner for it.
func (c *Counters) Enlist(owner any) {
	since := time.Since(start)
	live.mu.Lock()
	defer live.mu.Unlock()
	live.begun++
	live.open[c] = enlisted{owner: owner, number: live.begun, since: since}
}

// Retire notes that a connection has ended. failed says that it has ended with an error.
func (c *Counters) Retire(failed bool) {
	live.mu.Lock()
	defer live.mu.Unlock()
	if failed {
		live.failed++
	}
	delete(live.open, c)
	c.retired.Store(true)
	before := [...]uint64{live.ended.Copied.Load(), live.ended.Direct.Load()}
	live.ended.add(c)
	c.readAtEnd = [...]uint64{live.ended.Copied.Load() - before[0], live.ended.Direct.Load() - before[1]}
}

// Read counts k bytes that a Read has got, in n, which is Copied or Direct. A Read may return after
// the connection has ended.
func (c *Counters) Read(n *atomic.Uint64, k int) {
	if n.Add(uint64(k)); !c.retired.Load() {
		return
	}
	live.mu.Lock()
	defer live.mu.Unlock()
	copied, direct := c.Copied.Load(), c.Direct.Load()
	live.ended.Copied.Add(copied - c.readAtEnd[0])
	live.ended.Direct.Add(direct - c.readAtEnd[1])
	c.readAtEnd = [...]uint64{copied, direct}
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
	live.ended.Panics.Store(0)
	for c := range live.open {
		c.Panics.Store(0)
	}
}
