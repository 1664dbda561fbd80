package shm

import (
	"errors"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/rddp/rddp/internal/locks"
)

// A header is the shared state of a half. It is in the shared memory, so the peer may write
// anything into it at any time. The writer sets produced, base and ended, the reader consumed and
// closed, and both set asleep and wanted. No cache line of 64 bytes contains fields of both ends.
type header struct {
	produced atomic.Uint64 // bytes that the writer has put in since the beginning
	base     atomic.Uint64 // the number of the byte at the front of the ring
	_        [48]byte
	consumed atomic.Uint64 // bytes that the reader has taken out
	_        [56]byte
	asleep   atomic.Uint32 // the reader waits for bytes: the writer must wake it
	_        [60]byte
	wanted   atomic.Uint32 // the writer waits for this many bytes of room: the reader must wake it; 0 if it does not wait
	_        [60]byte
	ended    atomic.Uint32 // an ending: nothing follows after produced
	_        [60]byte
	closed   atomic.Uint32 // not 0: the reader has closed the connection
}

// An ending is how a direction ends.
type ending = uint32

const (
	open ending = iota
	finished
	reset
)

const (
	// headerLen is the space for a header in bytes.
	headerLen = 4096
	// fileLen is the length of a connection's memory: two headers and two rings.
	fileLen = 2 * (headerLen + ringLen)
	// publishEvery is the number of bytes that the writer copies before it shows them to the
	// reader.
	publishEvery = 64 << 10
	// roomFrom is the number of bytes that must be free before a writer continues that has filled
	// the ring. If it continued for each byte that the reader takes, the two would wake each other
	// all the time.
	roomFrom = ringLen / 4
)

var errPeer = errors.New("shm: the peer has written nonsense into the shared memory")

// A half is one direction of a connection: a ring of bytes with one writer and one reader, in
// different processes. This end keeps its own state outside the shared memory, and checks what it
// reads there before it uses it.
type half struct {
	mu   locks.Mutex[locks.ShmHalf]
	head *header // +checklocks:mu
	// the ring; nil once the memory is unmapped
	ring []byte // +checklocks:mu
	// the writer's produced, or the reader's consumed
	own uint64 // +checklocks:mu
	// the writer's base
	base uint64 // +checklocks:mu
	// the room in bytes for which a writer waits; 0 before the first write
	want int // +checklocks:mu

	// passed has the parcels in the stream. They take no bytes of the ring, but its room. It is nil
	// if the other end is in another process.
	passed *passage
	// the writer's parcels that are to be passed once they are written
	offered []*Parcel // +checklocks:mu
}

// forget ends all use of the memory, before it is unmapped.
func (h *half) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head, h.ring = nil, nil
}

// newHalf returns the half number i of a connection's memory.
func newHalf(file []byte, i int) *half {
	at := 2*headerLen + i*ringLen
	return &half{head: (*header)(unsafe.Pointer(&file[i*headerLen])), ring: file[at : at+ringLen : at+ringLen]}
}

// availableLocked returns the number of bytes that the reader can take.
//
// +checklocks:h.mu
func (h *half) availableLocked() (int, error) {
	n := h.head.produced.Load() - h.own
	if n > ringLen {
		return 0, errPeer
	}
	return int(n), nil
}

// roomLocked returns the number of bytes that the writer can put in. If the ring is empty, the next
// byte goes to its front. So the bytes stay in the cache of a reader that keeps up, and unused
// parts of the ring take no memory.
//
// +checklocks:h.mu
func (h *half) roomLocked() (int, error) {
	n := h.own - h.head.consumed.Load()
	if n > ringLen {
		return 0, errPeer
	}
	if n == 0 && h.base != h.own {
		h.base = h.own
		h.head.base.Store(h.base) // the reader loads it after it has seen a new produced
	}
	return ringLen - int(n), nil
}

// takeLocked copies bytes to p, and reports whether the writer must be woken.
//
// +checklocks:h.mu
func (h *half) takeLocked(p []byte) (n int, wake bool, err error) {
	n, err = h.availableLocked()
	if err != nil {
		return 0, false, err
	}
	r := h.passed.front()
	if r != nil && r.at > h.own {
		n = min(n, int(r.at-h.own))
	}
	if p = p[:min(n, len(p))]; r != nil && r.at == h.own {
		n = copy(p, r.p.Payload()[r.from:r.n])
		if r.from, r.at = r.from+n, r.at+uint64(n); r.from == r.n {
			r.p.Release()
			h.passed.take()
		}
	} else {
		n = copy(p, h.ring[(h.own-h.head.base.Load())%ringLen:])
		n += copy(p[n:], h.ring)
	}
	return n, h.tookLocked(n), nil
}

// tookLocked notes that n bytes have been taken, and reports whether the writer must be woken.
//
// +checklocks:h.mu
func (h *half) tookLocked(n int) (wake bool) {
	h.own += uint64(n)
	h.head.consumed.Store(h.own)
	if want := h.head.wanted.Load(); want != 0 {
		room := ringLen - (h.head.produced.Load() - h.own)
		wake = room >= uint64(want) && h.head.wanted.Swap(0) != 0
	}
	return wake
}

// parcelLocked returns the next bytes of the stream if they are in a parcel, and none of them has
// been copied. Otherwise it returns nil.
//
// +checklocks:h.mu
func (h *half) parcelLocked() *ref {
	if r := h.passed.front(); r != nil && r.at == h.own && r.from == 0 {
		return r
	}
	return nil
}

// offersLocked returns the parcel whose payload begins with b, or nil.
//
// +checklocks:h.mu
func (h *half) offersLocked(b []byte) *Parcel {
	if len(b) < passedFrom {
		return nil
	}
	for _, p := range h.offered {
		if p.begins(b) {
			return p
		}
	}
	return nil
}

// passLocked puts the first n bytes of a parcel into the stream.
//
// +checklocks:h.mu
func (h *half) passLocked(p *Parcel, n int) {
	p.users.Add(1)
	h.passed.put(ref{at: h.own, n: n, p: p})
	h.own += uint64(n)
	h.withdrawLocked(p)
}

// withdrawLocked ends the offer of a parcel.
//
// +checklocks:h.mu
func (h *half) withdrawLocked(p *Parcel) {
	if i := slices.Index(h.offered, p); i >= 0 {
		h.offered = slices.Delete(h.offered, i, i+1)
	}
}

// putLocked copies as much of p as there is room for, and returns the number of bytes.
//
// +checklocks:h.mu
func (h *half) putLocked(p []byte, room int) (n int) {
	p = p[:min(room, len(p))]
	n = copy(h.ring[(h.own-h.base)%ringLen:], p)
	n += copy(h.ring, p[n:])
	h.own += uint64(n)
	return n
}

// publishLocked shows the reader the bytes that have been put in, and reports whether the reader
// must be woken.
//
// +checklocks:h.mu
func (h *half) publishLocked() (wake bool) {
	h.head.produced.Store(h.own)
	return h.head.asleep.Load() != 0 && h.head.asleep.Swap(0) != 0
}
