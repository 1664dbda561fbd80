package softrnic

import (
	"crypto/rand"
	"encoding/binary"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A memoryWindow is an MW: a key by which peers reach a part of an MR, once a work request has
// bound it. The upper 24 bits of its keys stay the same, and the program chooses the lower 8.
type memoryWindow struct {
	handle uint32
	pd     *protectionDomain
	kind   uint8 // 1 or 2

	mu  locks.Mutex[locks.RNICWindow]
	key uint32 // +checklocks:mu
	// what peers reach, and the memory region that it is a part of; nil unless the window is bound
	region *ddp.Region   // +checklocks:mu
	of     *memoryRegion // +checklocks:mu
	dead   bool          // +checklocks:mu
}

// A part is the part of a memory region that a window is bound to.
type part struct {
	*memoryRegion
	off int64
}

func (p part) ReadAt(b []byte, off int64) (int, error)  { return p.memoryRegion.ReadAt(b, p.off+off) }
func (p part) WriteAt(b []byte, off int64) (int, error) { return p.memoryRegion.WriteAt(b, p.off+off) }

// keyMask are the bits of a window's key that the program chooses.
const keyMask = 0xff

// addWindow makes a window of pd known under a key that nothing else has, and returns the key. From
// then on, a program that guesses the key may bind the window, and so change the key.
func (pd *protectionDomain) addWindow(w *memoryWindow) (key uint32) {
	pd.mu.Lock()
	defer pd.mu.Unlock()
	if pd.windows == nil {
		pd.windows = make(map[uint32]*memoryWindow)
	}
	for key == 0 || pd.windows[key>>8] != nil {
		var b [4]byte
		_, _ = rand.Read(b[:])
		key = binary.NativeEndian.Uint32(b[:]) &^ keyMask
	}
	w.key = key // +checklocksignore: nobody else has w yet
	pd.windows[key>>8] = w
	return key
}

func (pd *protectionDomain) findWindow(key uint32) *memoryWindow {
	pd.mu.RLock()
	defer pd.mu.RUnlock()
	return pd.windows[key>>8]
}

// bind binds a window as a work request asks. stream is the stream of the connection; a window of
// type 2 is valid on it alone.
func (pd *protectionDomain) bind(b *uverbs.Bind, stream uint64) error {
	w := pd.findWindow(b.OldKey)
	pd.mu.RLock()
	m := pd.regions[b.LKey]
	pd.mu.RUnlock()
	if w == nil || b.NewKey>>8 != b.OldKey>>8 {
		return errBind
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kind == 1 {
		stream = 0
	}
	switch {
	case w.dead || w.kind == 2 && w.boundLocked(pd):
		return errBind
	case b.Len == 0 && w.kind == 1: // the window ends, and the key is new
		w.unbindLocked()
		w.key = b.NewKey
		return nil
	case m == nil || m.Access&uverbs.MWBind == 0 || b.Addr < m.VA || b.Addr-m.VA > m.Len || b.Len > m.Len-(b.Addr-m.VA) || b.Len == 0:
		return errBind
	case b.Access&(uverbs.RemoteWrite|uverbs.RemoteAtomic) != 0 && m.Access&uverbs.LocalWrite == 0:
		return errBind
	}
	to := b.Addr
	if b.Access&uverbs.ZeroBased != 0 {
		to = 0
	}
	w.unbindLocked()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.windows == nil { // it has been deregistered since, and peers must not reach it even for a moment
		return errBind
	}
	r, err := pd.domain.RegisterMemory(part{m, int64(b.Addr - m.VA)}, ddp.STag(b.NewKey), to, b.Len, remoteAccess(b.Access), stream)
	if err != nil {
		return errBind
	}
	w.region, w.of, w.key = r, m, b.NewKey
	m.windows[r] = struct{}{}
	return nil
}

// boundLocked reports whether the window is still bound: the peer may have invalidated its key.
//
// +checklocks:w.mu
func (w *memoryWindow) boundLocked(pd *protectionDomain) bool {
	return w.region != nil && pd.isBound(w.region)
}

// isBound reports whether the key of a window that was bound is still valid.
func (pd *protectionDomain) isBound(r *ddp.Region) bool {
	_, err := pd.domain.Check(r.STag(), r.TO(), 1, 0, 0)
	return err == nil || !isGone(err)
}

// +checklocks:w.mu
func (w *memoryWindow) unbindLocked() {
	if w.region != nil {
		w.region.Deregister()
		w.pd.placing.now()
		w.of.removeWindow(w.region)
		w.region, w.of = nil, nil
	}
}

// invalidate unbinds the window of type 2 that has the given key.
func (pd *protectionDomain) invalidate(key uint32) error {
	w := pd.findWindow(key)
	if w == nil {
		return errBind
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.kind != 2 || w.key != key || w.region == nil {
		return errBind
	}
	w.unbindLocked()
	return nil
}

// AllocMW makes a window that is not bound.
//
// +checklocks:c.mu
func (c *commands) AllocMW(a uverbs.MemoryWindow) (handle, key uint32, err error) {
	pd := c.pds[a.PD]
	if pd == nil {
		return 0, 0, none("PD", a.PD)
	}
	if a.Type != 1 && a.Type != 2 {
		return 0, 0, uverbs.Refuse(syscall.EINVAL, "type %d of a memory window", a.Type)
	}
	w := &memoryWindow{handle: c.newHandle(), pd: pd, kind: a.Type}
	key = pd.addWindow(w)
	pd.users.Add(1)
	c.mws[w.handle] = w
	c.makes(w, created)
	return w.handle, key, nil
}

// DeallocMW destroys a window.
//
// +checklocks:c.mu
func (c *commands) DeallocMW(handle uint32) error {
	w := c.mws[handle]
	if w == nil {
		return none("memory window", handle)
	}
	w.mu.Lock()
	w.dead = true
	w.unbindLocked()
	key := w.key
	w.mu.Unlock()
	w.pd.mu.Lock()
	delete(w.pd.windows, key>>8)
	w.pd.mu.Unlock()
	w.pd.users.Add(-1)
	delete(c.mws, handle)
	c.unmakes(w, "ibv_dealloc_mw")
	return nil
}
