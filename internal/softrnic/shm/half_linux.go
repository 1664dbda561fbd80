package shm

import (
	"errors"
	"sync/atomic"
	"unsafe"

	"github.com/rddp/rddp/internal/locks"
)

// A header is the shared state of a half. It is in the shared memory, so the peer may write
// anything into it at any time. The writer sets produced, base, passed, refs and ended, the reader
// consumed and closed, and both set lent, asleep and wanted. No cache line of 64 bytes contains
// fields of both ends.
type header struct {
	produced atomic.Uint64 // bytes that the writer has put in since the beginning
	base     atomic.Uint64 // the number of the byte at the front of the ring
	passed   atomic.Uint64 // parcels that the writer has put in since the beginning
	_        [40]byte
	consumed atomic.Uint64 // bytes that the reader has taken out
	_        [56]byte
	asleep   atomic.Uint32 // the reader waits for bytes: the writer must wake it
	_        [60]byte
	wanted   atomic.Uint32 // the writer waits for this many bytes of room: the reader must wake it; 0 if it does not wait
	_        [60]byte
	ended    atomic.Uint32 // an ending: nothing follows after produced
	_        [60]byte
	closed   atomic.Uint32 // not 0: the reader has closed the connection
	_        [60]byte
	lent     atomic.Uint32 // the parcels, as bits, that the writer has passed and the reader has not released
	_        [60]byte
	refs     [parcels]sharedRef // the last ones passed
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
	// ringLen is the length of a ring: the maximum number of bytes in transit in one direction.
	ringLen = 512 << 10
	// fileLen is the length of a connection's memory: two headers, two rings, and the parcels.
	fileLen = 2 * (headerLen + ringLen + parcels*parcelSize)
	// publishEvery is the number of bytes that the writer copies before it shows them to the
	// reader.
	publishEvery = 64 << 10
	// roomFrom is the number of bytes that must be free before a writer continues that has filled
	// the ring. If it continued for each byte that the reader takes, the two would wake each other
	// all the time.
	roomFrom = ringLen / 4
)

// A header fits in its space.
const _ = headerLen - unsafe.Sizeof(header{})

var errPeer = errors.New("shm: the peer has written nonsense into the shared memory")

// A half is one direction of a connection: a ring of bytes with one writer and one reader, which
// may be in different processes. This end keeps its own state outside the shared memory, and checks
// what it reads there before it uses it.
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

	reads  bool           // this end is the reader
	lent   *atomic.Uint32 // of the head; parcels that are in use keep it there
	memory *memory        // which has all of this
	pieces []byte         // the memory of the parcels. Their bytes take no bytes of the ring, but its room
	// this end's values of them
	parcels [parcels]parcel
	// the parcels that this end has put in, or taken out
	refs uint64 // +checklocks:mu
	// the reader's next ref, if its n is not 0
	front ref // +checklocks:mu
	// the writer's parcels in use, as bits, and those of them that pass when they are written
	held, offered uint32 // +checklocks:mu
}

// forget ends all use of the memory but that of parcels, before it is unmapped.
func (h *half) forget() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.head, h.ring = nil, nil
}

// newHalf returns the half number i of a connection's memory.
func newHalf(m *memory, i int, reads bool) *half {
	const rings = 2 * headerLen
	const pieces = rings + 2*ringLen
	head := (*header)(unsafe.Pointer(&m.b[i*headerLen]))
	h := &half{
		head: head, ring: m.b[rings+i*ringLen:][:ringLen:ringLen],
		memory: m, reads: reads, lent: &head.lent, pieces: m.b[pieces+i*parcels*parcelSize:][:parcels*parcelSize],
	}
	for i := range h.parcels {
		h.parcels[i] = parcel{h, i}
	}
	return h
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
	n, r, err := h.inRingLocked(n)
	switch {
	case err != nil:
		return 0, false, err
	case r != nil:
		n = copy(p, h.piece(r.i, r.n)[r.from:])
		if r.from, r.at = r.from+n, r.at+uint64(n); r.from == r.n {
			h.lent.And(^(1 << r.i))
			*r = ref{}
		}
	default:
		p = p[:min(n, len(p))]
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
