package softrnic

import (
	"errors"
	"fmt"
	"math"
	"sync/atomic"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// A Process is the memory of a program. Any goroutine may call the methods. They fail once the
// program has ended.
type Process interface {
	// Read copies len(b) bytes at addr to b, and Write copies b to addr. They respect the
	// protection of the program's pages.
	Read(b []byte, addr uint64) error
	Write(b []byte, addr uint64) error
	// Check returns an error unless all of the n bytes at addr can be read, and written if write
	// is true.
	Check(addr, n uint64, write bool) error
}

// A memoryRegion is an MR. Its rkey is the STag on the wire.
type memoryRegion struct {
	handle  uint32
	pd      *protectionDomain
	process Process
	uverbs.MemoryRegion
	region *ddp.Region
	// what the program has unmapped since, and whether peers have read there and written, if it is
	// checked
	unmapped spans
	read     atomic.Bool
	written  atomic.Bool

	mu locks.Mutex[locks.RNICRegion]
	// the windows that are bound to it; nil once it is deregistered
	windows map[*ddp.Region]struct{} // +checklocks:mu

	// copying is held for reading while the device copies for a work request of the program.
	copying locks.RWMutex[locks.RNICCopying]
	gone    bool // +checklocks:copying
}

// removeWindow notes that a window is not bound to m any more.
func (m *memoryRegion) removeWindow(r *ddp.Region) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.windows, r)
}

// hasWindow reports whether a window is bound to m.
func (m *memoryRegion) hasWindow() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for r := range m.windows {
		if m.pd.isBound(r) {
			return true
		}
	}
	return false
}

// ReadAt and WriteAt are for ddp.Domain.RegisterMemory.
func (m *memoryRegion) ReadAt(p []byte, off int64) (int, error) {
	m.checkUse(m.Start+uint64(off), uint64(len(p)))
	m.checkPeer(&m.read)
	m.pd.placing.now()
	return len(p), m.process.Read(p, m.Start+uint64(off))
}

func (m *memoryRegion) WriteAt(p []byte, off int64) (int, error) {
	m.checkUse(m.Start+uint64(off), uint64(len(p)))
	m.checkPeer(&m.written)
	m.checkPlaces(m.Start+uint64(off), uint64(len(p)))
	if m.pd.placing != nil {
		return len(p), m.pd.placing.write(m.process, p, m.Start+uint64(off))
	}
	return len(p), m.process.Write(p, m.Start+uint64(off))
}

// supportedAccess are the rights that a memory region may have.
const supportedAccess = uverbs.LocalWrite | uverbs.RemoteWrite | uverbs.RemoteRead | uverbs.RemoteAtomic | uverbs.MWBind | uverbs.HugeTLB |
	uverbs.ZeroBased | uverbs.OnDemand | uverbs.OptionalAccess

// checkAccess returns an error for rights that no memory region may have.
func checkAccess(a uverbs.Access) error {
	switch {
	case a&^supportedAccess != 0:
		return uverbs.Refuse(syscall.EOPNOTSUPP, "access %#x: the device does not know %#x", uint32(a), uint32(a&^supportedAccess))
	case a&(uverbs.RemoteWrite|uverbs.RemoteAtomic) != 0 && a&uverbs.LocalWrite == 0:
		return uverbs.Refuse(syscall.EINVAL, "access %#x: IBV_ACCESS_REMOTE_WRITE and IBV_ACCESS_REMOTE_ATOMIC need IBV_ACCESS_LOCAL_WRITE", uint32(a))
	}
	return nil
}

// remoteAccess returns the rights that a gives to peers.
func remoteAccess(a uverbs.Access) (r ddp.Access) {
	for _, x := range []struct {
		from uverbs.Access
		to   ddp.Access
	}{{uverbs.RemoteRead, ddp.RemoteRead}, {uverbs.RemoteWrite, ddp.RemoteWrite}, {uverbs.RemoteAtomic, ddp.RemoteAtomic}} {
		if a&x.from != 0 {
			r |= x.to
		}
	}
	return r
}

// register makes m known to peers and to the queue pairs of its PD.
func (m *memoryRegion) register() error {
	if err := checkAccess(m.Access); err != nil {
		return err
	}
	if err := m.checkMemory(); err != nil {
		return err
	}
	r, err := m.pd.domain.RegisterMemory(m, 0, m.VA, m.Len, remoteAccess(m.Access), 0)
	if err != nil {
		return uverbs.Refuse(syscall.EINVAL, "%v", err)
	}
	m.region, m.windows = r, make(map[*ddp.Region]struct{}) // +checklocksignore: nobody else has m yet
	m.pd.keys.add(m.key(), m.pd)
	m.pd.keys.add(m.lkey(), m.pd)
	m.pd.mu.Lock()
	defer m.pd.mu.Unlock()
	if m.pd.regions == nil {
		m.pd.regions = make(map[uint32]*memoryRegion)
	}
	m.pd.regions[m.lkey()] = m
	return nil
}

// isOnDemand reports whether the memory need not be there.
func (m *memoryRegion) isOnDemand() bool { return m.Access&uverbs.OnDemand != 0 }

// checkMemory returns an error for memory that cannot be registered. Memory that is registered on
// demand need not exist yet.
func (m *memoryRegion) checkMemory() error {
	switch {
	case !m.isOnDemand():
		if m.Len == 0 {
			return uverbs.Refuse(syscall.EINVAL, "the length is 0")
		}
		writes := m.Access&uverbs.LocalWrite != 0
		if err := m.process.Check(m.Start, m.Len, writes); err != nil {
			return uverbs.Refuse(syscall.EFAULT, "%d bytes at %#x: the program does not have all of that memory, or may not write it (writes: %t)", m.Len, m.Start, writes)
		}
	case m.Len == math.MaxUint64 && m.Start == 0 && m.VA == 0: // all memory that the program has, and will have
		m.Len = math.MaxInt64 // no program has more
	case m.Len == 0 || m.Start > math.MaxInt64-min(m.Len, math.MaxInt64):
		return uverbs.Refuse(syscall.EINVAL, "%d bytes at %#x are no range of memory", m.Len, m.Start)
	}
	return nil
}

// deregister ends all access through m. When it returns, no copy is under way.
func (m *memoryRegion) deregister() {
	m.pd.mu.Lock()
	delete(m.pd.regions, m.lkey())
	m.pd.mu.Unlock()
	m.pd.keys.remove(m.key(), m.pd)
	if m.lkey() != m.key() {
		m.pd.keys.remove(m.lkey(), m.pd)
	}
	m.copying.Lock()
	m.gone = true
	m.copying.Unlock()
	m.region.Deregister()
	m.mu.Lock()
	defer m.mu.Unlock()
	for r := range m.windows {
		r.Deregister()
	}
	m.windows = nil
	m.pd.placing.now()
}

// key returns the rkey of m, and lkey its lkey. The two are equal unless the program is checked, or
// the device takes that liberty: then one that is used for the other is found.
func (m *memoryRegion) key() uint32 { return uint32(m.region.STag()) }

func (m *memoryRegion) lkey() uint32 {
	if m.pd.keysDiffer {
		return check.LocalKey(m.key())
	}
	return m.key()
}

func (m *memoryRegion) keys() uverbs.Keys { return uverbs.Keys{Local: m.lkey(), Remote: m.key()} }

// find returns the memory region, and the address in its process, of an entry of a scatter/gather
// list. ok is false if the entry names no memory of the PD, or memory that does not allow the
// access.
func (pd *protectionDomain) find(s uverbs.SGE, write bool) (m *memoryRegion, addr uint64, ok bool) {
	pd.mu.RLock()
	m = pd.regions[s.LKey]
	pd.mu.RUnlock()
	if m == nil || s.Addr < m.VA || s.Addr-m.VA > m.Len || uint64(s.Len) > m.Len-(s.Addr-m.VA) || write && m.Access&uverbs.LocalWrite == 0 {
		return nil, 0, false
	}
	return m, m.Start + (s.Addr - m.VA), true
}

// refusal returns the error of an entry for which find finds nothing. posted is where the program
// has posted the list.
func (pd *protectionDomain) refusal(s uverbs.SGE, write bool, posted check.Site) error {
	var right uverbs.Access
	if write {
		right = uverbs.LocalWrite
	}
	why := fmt.Sprintf("%d bytes at %#x: %s", s.Len, s.Addr, pd.explain(s.LKey, s.Addr, uint64(s.Len), right))
	pd.checkRefusal(s.LKey, false, true, posted, why)
	return &protectionError{fmt.Sprintf("an SGE with lkey %#x, %s", s.LKey, why)}
}

// copy copies b to or from addr by do. It fails once m is deregistered.
func (m *memoryRegion) copy(b []byte, addr uint64, do func(p Process, b []byte, addr uint64) error) error {
	m.pd.placing.now()
	m.copying.RLock()
	defer m.copying.RUnlock()
	switch {
	case m.gone:
		return &protectionError{fmt.Sprintf("an SGE with lkey %#x: the memory region was deregistered while the work request was under way", m.lkey())}
	case do(m.process, b, addr) != nil:
		return &protectionError{fmt.Sprintf("an SGE with lkey %#x: the program has no memory at %#x any more, or may not write it", m.lkey(), addr)}
	}
	return nil
}

// A cursor is a position in a scatter/gather list.
type cursor struct {
	pd     *protectionDomain
	list   []byte     // the rest of the list, which begins with an entry that may be done in part
	skip   uint32     // how much of the first entry is done
	posted check.Site // where the program has posted the list, or nil
	// quiet says that the device looks on its own account, and not for a work request
	quiet bool
}

// pass skips the next n bytes of the list.
func (c *cursor) pass(n uint32) {
	for n > 0 {
		s, rest, ok := uverbs.ParseSGE(c.list)
		if !ok {
			return
		}
		if c.skip = min(n, s.Len); c.skip == s.Len {
			c.list, c.skip = rest, 0
		}
		n -= min(n, s.Len)
	}
}

// gather fills b with the next len(b) bytes of the list.
func (c *cursor) gather(b []byte) error {
	return c.walk(b, false, Process.Read)
}

// scatter copies b to the next len(b) bytes of the list.
func (c *cursor) scatter(b []byte) error {
	if c.pd.placing != nil {
		return c.walk(b, true, c.pd.placing.scatter)
	}
	return c.walk(b, true, Process.Write)
}

func (c *cursor) walk(b []byte, write bool, do func(p Process, b []byte, addr uint64) error) error {
	for len(b) > 0 {
		s, rest, ok := uverbs.ParseSGE(c.list)
		if !ok {
			return errLocalLength
		}
		if c.skip == s.Len {
			c.list, c.skip = rest, 0
			continue
		}
		n := min(uint32(len(b)), s.Len-c.skip)
		e := uverbs.SGE{Addr: s.Addr + uint64(c.skip), Len: n, LKey: s.LKey}
		m, addr, ok := c.pd.find(e, write)
		switch {
		case ok && !c.quiet:
			m.checkUse(addr, uint64(n))
		case !ok && c.quiet:
			return errLocalProtection
		case !ok:
			return c.pd.refusal(e, write, c.posted)
		}
		if err := m.copy(b[:n], addr, do); err != nil {
			return err
		}
		b, c.skip = b[n:], c.skip+n
	}
	return nil
}

// total returns the sum of the lengths of a list.
func total(list []byte) (n uint64) {
	for {
		s, rest, ok := uverbs.ParseSGE(list)
		if !ok {
			return n
		}
		n += uint64(s.Len)
		list = rest
	}
}

// RegMR registers memory of the caller.
//
// +checklocks:c.mu
func (c *commands) RegMR(r uverbs.MemoryRegion) (handle uint32, k uverbs.Keys, err error) {
	// A right that the device does not know may be a question
	if err := checkAccess(r.Access); errors.Is(err, syscall.EINVAL) && c.pds[r.PD] != nil {
		c.checkRefused(c.pds[r.PD], "ibv_reg_mr", err)
	}
	m, err := c.newRegionLocked(r)
	if err != nil {
		return 0, k, err
	}
	if c.dev.faults.Takes(fault.Keys) {
		c.dev.faults.Took(fault.Keys)
	}
	m.handle = c.newHandle()
	c.mrs[m.handle] = m
	c.makes(m, registered)
	c.shown.add(m.handle, m)
	return m.handle, m.keys(), nil
}

// newRegionLocked registers memory of the caller.
//
// +checklocks:c.mu
func (c *commands) newRegionLocked(r uverbs.MemoryRegion) (*memoryRegion, error) {
	pd := c.pds[r.PD]
	if pd == nil {
		return nil, none("PD", r.PD)
	}
	p, err := c.caller.Process()
	if err != nil {
		return nil, uverbs.Refuse(syscall.EFAULT, "the program's memory: %v", err)
	}
	if e := c.dev.faults.Register(); e != 0 {
		return nil, uverbs.Refuse(e, "--fault asks for it")
	}
	if r.Access&uverbs.ZeroBased != 0 {
		r.VA = 0
	}
	m := &memoryRegion{pd: pd, process: p, MemoryRegion: r}
	if err := m.register(); err != nil {
		return nil, err
	}
	pd.users.Add(1)
	return m, nil
}

// ReregMR replaces an MR by another one with the same handle. If it fails, the MR stays.
//
// +checklocks:c.mu
func (c *commands) ReregMR(r uverbs.MemoryRegion) (k uverbs.Keys, err error) {
	old := c.mrs[r.Handle]
	const known = uverbs.ReregTranslation | uverbs.ReregPD | uverbs.ReregAccess
	if old == nil {
		return k, none("MR", r.Handle)
	}
	if r.Flags == 0 || r.Flags&^known != 0 {
		return k, uverbs.Refuse(syscall.EINVAL, "flags %#x", r.Flags)
	}
	n := old.MemoryRegion
	if r.Flags&uverbs.ReregTranslation != 0 {
		n.Start, n.Len, n.VA = r.Start, r.Len, r.VA
	}
	if r.Flags&uverbs.ReregPD != 0 {
		n.PD = r.PD
	}
	if r.Flags&uverbs.ReregAccess != 0 {
		n.Access = r.Access
	}
	m, err := c.newRegionLocked(n)
	if err != nil {
		return k, err
	}
	m.handle = old.handle
	c.shown.add(m.handle, m)
	old.deregister()
	old.pd.users.Add(-1)
	c.mrs[m.handle] = m
	c.check.Unmakes(old)
	c.makes(m, registered)
	return m.keys(), nil
}

// DeregMR ends all access through an MR.
//
// +checklocks:c.mu
func (c *commands) DeregMR(handle uint32) error {
	m := c.mrs[handle]
	switch {
	case m == nil:
		return none("MR", handle)
	case m.hasWindow(): // see ibv_dereg_mr(3)
		return uverbs.Refuse(syscall.EINVAL, "a memory window is bound to the MR with lkey %#x", m.lkey())
	}
	c.shown.remove(handle)
	c.checkDestroys(m, "ibv_dereg_mr")
	c.checkDeregisters(m)
	m.checkRights(c.check)
	m.deregister()
	m.pd.users.Add(-1)
	delete(c.mrs, handle)
	c.later = func() {
		m.checkMappedSoon(c.check)
		c.check.Unmakes(m)
	}
	return nil
}
