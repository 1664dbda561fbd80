package softrnic

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"strings"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// This file says why an access to memory fails, in the words of verbs: the key, the address, and
// what the nearest memory region lacks.

// A protectionError is an errLocalProtection with a reason.
type protectionError struct{ why string }

func (e *protectionError) Error() string   { return e.why }
func (e *protectionError) Is(t error) bool { return t == errLocalProtection }

// A keyBook knows what has become of the keys of a device. It remembers the last of those that are
// gone.
type keyBook struct {
	mu locks.Mutex[locks.Leaf]
	// the PDs of the keys that are registered
	live map[uint32]*protectionDomain // +checklocks:mu
	// when the others were deregistered
	gone map[uint32]time.Time // +checklocks:mu
	// the keys in gone, as a ring whose oldest is at last
	order [1024]uint32 // +checklocks:mu
	last  int          // +checklocks:mu
}

// add notes that a key is registered.
func (k *keyBook) add(key uint32, pd *protectionDomain) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live == nil {
		k.live, k.gone = make(map[uint32]*protectionDomain), make(map[uint32]time.Time)
	}
	k.live[key] = pd
	delete(k.gone, key)
}

// remove notes that a key of a PD is deregistered.
func (k *keyBook) remove(key uint32, pd *protectionDomain) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.live[key] == pd {
		delete(k.live, key)
	}
	delete(k.gone, k.order[k.last])
	k.order[k.last], k.gone[key] = key, time.Now()
	k.last = (k.last + 1) % len(k.order)
}

// fate says why a PD has no memory region with a key.
func (k *keyBook) fate(key uint32, pd *protectionDomain) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	if other := k.live[key]; other != nil && other != pd {
		return "the memory region with this key belongs to another protection domain"
	}
	if at, ok := k.gone[key]; ok {
		return fmt.Sprintf("the memory region with this key was deregistered %v ago", time.Since(at).Round(time.Microsecond))
	}
	if swapped := bits.ReverseBytes32(key); k.live[swapped] != nil {
		return fmt.Sprintf("there is no memory region with this key, but one with its bytes in reverse order, %#x: the byte order of the network has not been undone", swapped)
	}
	return "there is no memory region with this key"
}

// namedLocked returns the memory region that a key names: its rkey if remote is set, and otherwise
// its lkey. If there is none, it returns the one whose other key it is. Each of them may be nil.
//
// +checklocksread:pd.mu
func (pd *protectionDomain) namedLocked(key uint32, remote bool) (m, mixed *memoryRegion) {
	for _, r := range pd.regions {
		right, wrong := r.lkey(), r.key()
		if remote {
			right, wrong = wrong, right
		}
		switch key {
		case right:
			return r, nil
		case wrong:
			mixed = r
		}
	}
	return nil, mixed
}

// mixedUp says that one key of m is used for the other.
func (m *memoryRegion) mixedUp(remote bool) string {
	if remote {
		return fmt.Sprintf("it is the lkey of the memory region, %d bytes at %#x, whose rkey is %#x", m.Len, m.VA, m.key())
	}
	return fmt.Sprintf("it is the rkey of the memory region, %d bytes at %#x, whose lkey is %#x", m.Len, m.VA, m.lkey())
}

// explain says why the memory region with a key does not allow an access to n bytes at addr that
// needs a right.
func (pd *protectionDomain) explain(key uint32, addr, n uint64, right uverbs.Access) string {
	remote := right&(uverbs.RemoteWrite|uverbs.RemoteRead|uverbs.RemoteAtomic) != 0
	pd.mu.RLock()
	m, mixed := pd.namedLocked(key, remote)
	var there *memoryRegion
	for _, r := range pd.regions {
		if m == nil && addr >= r.VA && addr-r.VA <= r.Len && n <= r.Len-(addr-r.VA) {
			there = r
		}
	}
	window := remote && pd.windows[key>>8] != nil
	pd.mu.RUnlock()
	switch {
	case mixed != nil:
		return mixed.mixedUp(remote)
	case m == nil && window:
		return "the memory window that this key belongs to is not bound with it: it has been invalidated, or bound with another key, or not at all"
	case m == nil && there != nil:
		its := there.lkey()
		if remote {
			its = there.key()
		}
		return pd.keys.fate(key, pd) + fmt.Sprintf("; the key of the memory at that address is %#x", its)
	case m == nil:
		return pd.keys.fate(key, pd)
	}
	does := "read"
	if right&(uverbs.LocalWrite|uverbs.RemoteWrite|uverbs.RemoteAtomic) != 0 {
		does = "write"
	}
	return cmp.Or(m.outside(addr, n), m.lacks(right), "the program does not have that memory any more, or may not "+does+" it")
}

// outside says how n bytes at addr are not all in m, or "".
func (m *memoryRegion) outside(addr, n uint64) string {
	region := fmt.Sprintf("the memory region, %d bytes at %#x", m.Len, m.VA)
	switch {
	case addr < m.VA:
		return fmt.Sprintf("%d bytes in front of %s", m.VA-addr, region)
	case addr-m.VA > m.Len:
		return fmt.Sprintf("%d bytes beyond %s", addr-m.VA-m.Len, region)
	case n > m.Len-(addr-m.VA):
		return fmt.Sprintf("the last %d bytes are beyond %s", n-(m.Len-(addr-m.VA)), region)
	}
	return ""
}

// lacks says that m was registered without a right, or "".
func (m *memoryRegion) lacks(right uverbs.Access) string {
	if m.Access&right == right {
		return ""
	}
	return "the memory region has no " + accessName(right)
}

// accessName returns the name of libibverbs for a right.
func accessName(a uverbs.Access) string {
	switch a {
	case uverbs.LocalWrite:
		return "IBV_ACCESS_LOCAL_WRITE"
	case uverbs.RemoteWrite:
		return "IBV_ACCESS_REMOTE_WRITE"
	case uverbs.RemoteRead:
		return "IBV_ACCESS_REMOTE_READ"
	}
	return "IBV_ACCESS_REMOTE_ATOMIC"
}

// explainRemoteLocked says in words of verbs why q has refused an access of its peer, which is a
// queue pair of the same device if own is set. It returns "" for other errors.
//
// +checklocks:q.mu
func (q *queuePair) explainRemoteLocked(err error, own bool) string {
	var a *ddp.AccessError
	if !errors.As(err, &a) || a.Discarded {
		return ""
	}
	op, right := "an RDMA Write", uverbs.RemoteWrite
	switch {
	case a.Need&ddp.RemoteAtomic != 0:
		op, right = "an atomic", uverbs.RemoteAtomic
	case a.Need&ddp.RemoteRead != 0:
		op, right = "an RDMA Read", uverbs.RemoteRead
	}
	why := q.pd.explain(uint32(a.STag), a.TO, a.N, right)
	if q.life.attrs.Access&right == 0 {
		why = "the queue pair has no " + accessName(right)
	}
	q.pd.checkRefusal(uint32(a.STag), true, own, nil, fmt.Sprintf("%s of %d bytes at %#x: %s", op, a.N, a.TO, why))
	return fmt.Sprintf("the peer asked for %s that is not allowed: rkey %#x, remote address %#x, %d bytes: %s", op, uint32(a.STag), a.TO, a.N, why)
}

// tells logs a work request that has failed, and why, if that is known.
func (q *queuePair) tells(f *flight, why string) {
	args := []any{"qpn", q.num, "wr_id", fmt.Sprintf("%#x", f.id), "opcode", f.op.String(), "length", f.n}
	if f.remote.STag != 0 {
		args = append(args, "remote_addr", fmt.Sprintf("%#x", f.remote.TO), "rkey", fmt.Sprintf("%#x", uint32(f.remote.STag)))
	}
	if why != "" {
		args = append(args, "why", strings.TrimPrefix(why, "softrnic: "))
	}
	q.ctx.dev.log.Info("work request failed", append(args, "status", f.status.String())...)
}

// tellsReceive logs a receive that has failed because of err.
func (q *queuePair) tellsReceive(m *inbound, err error) {
	q.checkTooLong(m.id, err)
	q.ctx.dev.log.Info("receive failed", "qpn", q.num, "wr_id", fmt.Sprintf("%#x", m.id), "why", strings.TrimPrefix(err.Error(), "softrnic: "),
		"status", localStatus(err).String())
}
