package softrnic

import (
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file tells package check about the memory that Reads and atomics fill. A method does nothing
// unless the program is checked.

// checkedSinks are the sinks of a protection domain.
type checkedSinks struct {
	mu    locks.Mutex[locks.Leaf]
	sinks check.Sinks // +checklocks:mu
}

// doAt calls f with the sinks, and reports what f finds at a place: see AddAt.
func (c *checkedSinks) doAt(what string, site check.Site, k *check.Reporter, f func(s *check.Sinks) []check.Finding) {
	c.mu.Lock()
	all := f(&c.sinks)
	c.mu.Unlock()
	k.AddAt(what, site, all...)
}

// isShared reports whether the answer of another Read may lie in the memory for that of f.
func (c *checkedSinks) isShared(f *flight) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sinks.IsShared(f)
}

// ends is the event that the Read of f is over.
func (c *checkedSinks) ends(f *flight) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sinks.HasRead(f)
}

// forgets is the event that the Reads of a queue pair are over.
func (c *checkedSinks) forgets(pair string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sinks.Forgets(pair)
}

// checkSink is the event that the first answer to a Read or an atomic is about to be copied to the
// program.
func (f *flight) checkSink() {
	x := f.checked
	if x == nil || x.list == nil {
		return
	}
	own := x.spans()
	defer x.pd.filled.add(own)
	if !x.known {
		return
	}
	time.Sleep(time.Until(x.at.Add(examineAfter(x.number))))
	changed := x.hasChanged() && !x.pd.filled.since(x.filled, own)
	x.known = false
	// What has changed it may be the answer of another one, which may even have been posted while
	// this looked: so whether there is another one is asked afterwards
	if changed && !x.pd.sinks.isShared(f) {
		x.k.AddAt(posted, x.posted, check.WritesSink(x.of, x.text))
	}
}
