package softrnic

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
)

// This file tells package check what the device knows. Everything here is called only if the
// program is checked.

func (pd *protectionDomain) String() string { return fmt.Sprintf("PD %d", pd.handle) }
func (q *completionQueue) String() string   { return fmt.Sprintf("CQ %d", q.handle) }
func (s *sharedQueue) String() string       { return fmt.Sprintf("SRQ %d", s.handle) }
func (q *queuePair) String() string         { return fmt.Sprintf("QP %d", q.num) }
func (w *memoryWindow) String() string      { return fmt.Sprintf("MW %d", w.handle) }
func (c *channel) String() string           { return fmt.Sprintf("completion channel %d", c.fd) }
func (c *Context) String() string           { return fmt.Sprintf("context %d", c.number) }

func (m *memoryRegion) String() string {
	return fmt.Sprintf("MR %d (%d bytes at %#x)", m.handle, m.Len, m.Start)
}

// An addressName names an AH.
type addressName uint32

func (h addressName) String() string { return fmt.Sprintf("AH %d", uint32(h)) }

// What the log calls the place that has made an object.
const (
	created    = "created"
	registered = "registered"
)

// hasPlace reports whether findings may name the place of a command: it makes something, or it may
// be a mistake.
func hasPlace(c uverbs.Command) bool {
	switch c &^ uverbs.Extended {
	case uverbs.QueryDevice, uverbs.QueryPort, uverbs.QueryQP, uverbs.QuerySRQ, uverbs.ModifySRQ,
		uverbs.DeallocPD, uverbs.DestroyAH, uverbs.DeregMR, uverbs.DeallocMW:
		return false
	}
	return true
}

// A refusedCall is a call with values that the device does not have.
type refusedCall struct {
	rule string
	at   check.Site
}

// refuses is the event that a function refuses to make an object because of its sizes, or accepts
// them if err is nil. A refusal is a mistake unless the program asks for less afterwards.
//
// +checklocks:c.mu
func (c *commands) refuses(function string, err error) {
	if c.check == nil {
		return
	}
	delete(c.refusals, function)
	if r := (*uverbs.Refusal)(nil); errors.As(err, &r) {
		if c.refusals == nil {
			c.refusals = make(map[string]refusedCall)
		}
		c.refusals[function] = refusedCall{r.Rule, c.site}
	}
}

// makes is the event that the command makes an object.
//
// +checklocks:c.mu
func (c *commands) makes(object fmt.Stringer, what string) {
	if k := c.check; k != nil {
		k.Makes(object.String(), what, c.site)
		c.makers[object.String()] = c.caller.PID()
	}
}

// checkDestroys is the event that the command, which is named by, destroys an object.
//
// +checklocks:c.mu
func (c *commands) checkDestroys(object fmt.Stringer, by string) {
	if c.check == nil {
		return
	}
	name := object.String()
	if maker, own := c.makers[name], c.caller.PID(); maker != own && own != 0 && c.caller.Lives(maker) {
		c.check.AddAt(inCall, c.site, check.DestroysForOther(name, by, own, maker))
	}
	delete(c.makers, name)
}

// unmakes is the event that the command has destroyed an object.
//
// +checklocks:c.mu
func (c *commands) unmakes(object fmt.Stringer, by string) {
	c.checkDestroys(object, by)
	c.check.Unmakes(object)
}

// Exits is the event that the process that has opened the device is about to end. Only if the
// program is checked does the device learn of it. Exits may wait for memory that the program
// withholds. Once over is closed, the process may have ended, and nothing that Exits sees counts.
func (c *Context) Exits(over <-chan struct{}) {
	defer c.recovers()
	for _, m := range c.beginExit() {
		m.checkMapped(c.check, over)
	}
}

// beginExit notes whether the program has left the context open, and which channels, and returns
// the memory regions.
func (c *Context) beginExit() []*memoryRegion {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.noteChannelsLocked()
	c.asyncMu.Lock()
	defer c.asyncMu.Unlock()
	c.left = c.left || c.async != nil && c.async.IsLeft()
	return slices.Collect(maps.Values(c.mrs))
}

// An ownSite is a Site that may be in a library of rdma-core which opens devices for the program.
type ownSite interface {
	check.Site
	// IsOwn reports whether it is the program that has opened the device.
	IsOwn() bool
}

// opens is the event that the command opens the device. librdmacm keeps it open until the process
// ends.
//
// +checklocks:c.mu
func (c *commands) opens() {
	if s, ok := c.site.(ownSite); ok && s.IsOwn() {
		c.own = true
		c.makes(c.Context, created)
	}
}

// noteChannelsLocked notes which channels the program has left open. Once its process has ended, no
// channel is.
//
// +checklocks:c.mu
func (c *Context) noteChannelsLocked() {
	for _, ch := range c.channels {
		ch.left = ch.left || ch.IsLeft()
	}
}

// checkLeftLocked reports the objects that the program has not destroyed.
//
// +checklocks:c.mu
func (c *Context) checkLeftLocked(k *check.Reporter) {
	for function, r := range c.refusals {
		k.AddAt(inCall, r.at, check.Refuses(c.String(), function, r.rule))
	}
	for _, q := range c.qps {
		k.Add(check.Leaves(q.String(), "ibv_destroy_qp"))
	}
	for _, q := range c.cqs {
		k.Add(check.Leaves(q.String(), "ibv_destroy_cq"))
	}
	for _, s := range c.srqs {
		k.Add(check.Leaves(s.String(), "ibv_destroy_srq"))
	}
	for h := range c.ahs {
		k.Add(check.Leaves(addressName(h).String(), "ibv_destroy_ah"))
	}
	for _, w := range c.mws {
		k.Add(check.Leaves(w.String(), "ibv_dealloc_mw"))
	}
	for _, m := range c.mrs {
		k.Add(check.Leaves(m.String(), "ibv_dereg_mr"))
	}
	for _, pd := range c.pds {
		k.Add(check.Leaves(pd.String(), "ibv_dealloc_pd"))
	}
	c.noteChannelsLocked()
	for _, ch := range c.channels {
		if ch.left {
			k.Add(check.Leaves(ch.String(), "ibv_destroy_comp_channel"))
		}
	}
	// Whoever leaves objects cannot close their context.
	if c.left && c.own && len(c.qps)+len(c.cqs)+len(c.srqs)+len(c.ahs)+len(c.mws)+len(c.mrs)+len(c.pds) == 0 {
		k.Add(check.Leaves(c.String(), "ibv_close_device"))
	}
	k.Unmakes(c)
}

// checkRefused is the event that a command about an object has had an error, or nil.
func (c *commands) checkRefused(object fmt.Stringer, command string, err error) {
	if r := (*uverbs.Refusal)(nil); c.check != nil && errors.As(err, &r) {
		c.check.AddAt(inCall, c.site, check.Refuses(object.String(), command, r.Rule))
	}
}

// Unmaps is the event that a process gives up the n bytes of memory at addr. isOf reports whether
// memory is that of the process, and at where in the program that is.
func (c *Context) Unmaps(isOf func(Process) bool, addr, n uint64, at func() check.Site) {
	for _, o := range c.shown.list() {
		if m, ok := o.(*memoryRegion); ok && addr < m.Start+m.Len && m.Start < addr+n && !m.isOnDemand() && isOf(m.process) {
			m.unmapped.add(check.Span{Addr: addr, Len: n})
			c.check.AddAt(inCall, at(), check.Unmaps(m.String(), addr, n))
		}
	}
}

// spans are parts of memory. Any goroutine may use them.
type spans struct {
	mu  locks.Mutex[locks.Leaf]
	all []check.Span // +checklocks:mu
}

// maxSpans bounds the parts of a memory region that are remembered.
const maxSpans = 64

func (s *spans) add(x check.Span) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.all) < maxSpans {
		s.all = append(s.all, x)
	}
}

// has reports whether one of the parts overlaps x.
func (s *spans) has(x check.Span) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.ContainsFunc(s.all, x.Overlaps)
}

// checkRefusal is the event that an access to memory of the program is refused, to a work request
// of the program, or of a peer if remote is set. own says that it is a program of this device. why
// has the range and the difference.
func (pd *protectionDomain) checkRefusal(key uint32, remote, own bool, s check.Site, why string) {
	if pd.check == nil {
		return
	}
	pd.mu.RLock()
	m, mixed := pd.namedLocked(key, remote)
	pd.mu.RUnlock()
	switch {
	case m != nil, remote && pd.findWindow(key) != nil:
		pd.check.AddAt(posted, s, check.Denies(key, remote, why).OfPeer(own))
	case mixed != nil:
		pd.check.AddAbout(mixed.String(), posted, s, check.BadKey(key, remote, mixed.mixedUp(remote)).OfPeer(own))
	default:
		pd.check.AddAt(posted, s, check.BadKey(key, remote, pd.keys.fate(key, pd)).OfPeer(own))
	}
}

// hasOwnPeer reports whether the peer is a queue pair of the same device, as far as the connection
// tells. Later, the peer may be gone.
func (l *link) hasOwnPeer() bool {
	if l.kind == linkSelf {
		return true
	}
	d := l.q.ctx.dev
	at := addrPort(l.conn.RemoteAddr()).Addr()
	if l.kind == linkPlain { // the peer has no number
		return d.has(at.As16())
	}
	return (d.has(at.As16()) || at.IsLoopback()) && d.find(l.peer) != nil
}

// checkUse is the event that n bytes at addr of the program's memory are accessed through m.
func (m *memoryRegion) checkUse(addr, n uint64) {
	if k := m.pd.check; k != nil {
		if s := (check.Span{Addr: addr, Len: n}); m.unmapped.has(s) {
			k.Add(check.Uses(m.String(), s))
		}
	}
}

// checkPeer is the event that a peer reads m, or writes there.
func (m *memoryRegion) checkPeer(has *atomic.Bool) {
	if m.pd.check != nil && !has.Load() {
		has.Store(true)
	}
}

// checkRights reports the rights of m that no peer has used. Most programs register all their
// memory with the same rights. An atomic reads and writes.
func (m *memoryRegion) checkRights(k *check.Reporter) {
	if !k.IsVerbose() {
		return
	}
	var names []string
	for _, x := range []struct {
		right uverbs.Access
		used  bool
	}{
		{uverbs.RemoteRead, m.read.Load()}, {uverbs.RemoteWrite, m.written.Load()}, {uverbs.RemoteAtomic, m.read.Load() && m.written.Load()},
	} {
		if m.Access&x.right != 0 && !x.used {
			names = append(names, accessName(x.right))
		}
	}
	if len(names) > 0 {
		k.Add(check.GivesRights(m.String(), strings.Join(names, " and ")))
	}
}

// mappedPatience is how long the deregistration of a memory region waits for the memory.
const mappedPatience = time.Second

// checkMappedSoon is checkMapped for at most mappedPatience. The program may withhold its memory
// for as long as it likes.
func (m *memoryRegion) checkMappedSoon(k *check.Reporter) {
	if k == nil {
		return
	}
	over, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		m.checkMapped(k, over)
	}()
	t := time.NewTimer(mappedPatience)
	defer t.Stop()
	select {
	case <-done:
	case <-t.C:
	}
	close(over)
}

// checkMapped reports m if the program does not have its memory any more. It looks at some pages
// only, until over is closed.
func (m *memoryRegion) checkMapped(k *check.Reporter, over <-chan struct{}) {
	if m.isOnDemand() {
		return
	}
	var b [1]byte
	for _, off := range check.Sample(m.Len) {
		err := m.process.Read(b[:], m.Start+off)
		select {
		case <-over:
			return
		default:
		}
		if err != nil {
			k.Add(check.LacksMemory(m.String(), m.Start+off))
			return
		}
	}
}
