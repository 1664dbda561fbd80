package softrnic

import (
	"sync/atomic"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// This file has protection domains, and the addresses for datagrams in them.

// A protectionDomain is a PD: the memory and the queue pairs that belong together.
type protectionDomain struct {
	handle  uint32
	context uint32 // its number
	domain  ddp.Domain
	// users is the number of objects that use the PD. Only a holder of the Context's mutex changes
	// it.
	users  atomic.Int32
	keys   *keyBook        // of the device
	check  *check.Reporter // nil if the program is not checked
	sinks  checkedSinks
	filled *filledMemory // of the Context
	coming *comingWrites // of the Context
	// the two keys of a memory region are not the same
	keysDiffer bool
	placing    *placing // nil if bytes are placed in their order

	port port // where the peers of its queue pairs connect

	mu locks.RWMutex[locks.Leaf]
	// regions has the memory regions by their lkey
	regions map[uint32]*memoryRegion // +checklocks:mu
	// the windows by the upper 24 bits of their keys
	windows map[uint32]*memoryWindow // +checklocks:mu
	// the addresses of the AHs by their number
	addresses map[uint32]uverbs.GID // +checklocks:mu
}

// AllocPD makes a PD.
//
// +checklocks:c.mu
func (c *commands) AllocPD() (handle uint32) {
	pd := &protectionDomain{handle: c.newHandle(), context: c.number, filled: &c.filled, coming: &c.coming, keys: &c.dev.keys, check: c.check, keysDiffer: c.check != nil || c.dev.faults.Takes(fault.Keys), placing: c.dev.newPlacing()}
	c.pds[pd.handle] = pd
	c.makes(pd, created)
	c.shown.add(pd.handle, pd)
	return pd.handle
}

// DeallocPD destroys a PD that nothing uses.
//
// +checklocks:c.mu
func (c *commands) DeallocPD(handle uint32) error {
	pd := c.pds[handle]
	switch {
	case pd == nil:
		return none("PD", handle)
	case pd.users.Load() > 0:
		return inUse("PD", int(pd.users.Load()))
	}
	c.shown.remove(handle)
	pd.port.close()
	delete(c.pds, handle)
	c.unmakes(pd, "ibv_dealloc_pd")
	return nil
}

// CreateAH makes an address for datagrams.
//
// +checklocks:c.mu
func (c *commands) CreateAH(pdHandle uint32, a uverbs.Address) (handle uint32, err error) {
	pd := c.pds[pdHandle]
	if pd == nil {
		return 0, none("PD", pdHandle)
	}
	if err := c.dev.checkAddress(&a); err != nil {
		return 0, err
	}
	if a.Port > onlyPort {
		return 0, uverbs.Refuse(syscall.EINVAL, "port_num %d: there is only port %d", a.Port, onlyPort)
	}
	pd.users.Add(1)
	n := c.newHandle()
	c.ahs[n] = pd
	c.makes(addressName(n), created)
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.addresses == nil {
		pd.addresses = make(map[uint32]uverbs.GID)
	}
	pd.addresses[n] = a.DGID
	return n, nil
}

// DestroyAH destroys an address.
//
// +checklocks:c.mu
func (c *commands) DestroyAH(handle uint32) error {
	pd := c.ahs[handle]
	if pd == nil {
		return none("address handle", handle)
	}
	pd.users.Add(-1)
	pd.mu.Lock()
	delete(pd.addresses, handle)
	pd.mu.Unlock()
	delete(c.ahs, handle)
	c.unmakes(addressName(handle), "ibv_destroy_ah")
	return nil
}
