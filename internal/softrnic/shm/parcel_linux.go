package shm

import (
	"math/bits"
	"sync/atomic"
	"unsafe"

	"github.com/rddp/rddp/toe"
)

const (
	// parcels is the number of parcels of each direction. With 16, which are enough for a full
	// ring, the reader and a writer that fills some, ib_write_bw had 0.8 times its rate.
	parcels = 32
	// parcelSize is the distance of two parcels in bytes, in whole pages.
	parcelSize = 64 << 10
)

// A parcel is a piece of the shared memory for payload. The writer lets a program's memory be
// copied to it, and the reader lets it be copied from there, so the payload does not go through the
// ring. Its bytes still have a place in the stream, which a ref says, and take the ring's room.
// Each end has a parcel value of its own for the same memory.
type parcel struct {
	h *half
	i int
}

var _ toe.Parcel = (*parcel)(nil)

// Memory returns the memory. Whoever has the parcel may use it, even when the Stream is closed.
func (p *parcel) Memory() []byte { return p.h.piece(p.i, ParcelLen) }

// Release ends the use of the parcel by this end. If the writer has passed the payload, the parcel
// is not free before the reader has released it.
func (p *parcel) Release() {
	if p.h.reads {
		p.h.lent.And(^(1 << p.i))
	} else {
		p.h.mu.Lock()
		p.h.held &^= 1 << p.i
		p.h.offered &^= 1 << p.i
		p.h.mu.Unlock()
	}
	_ = p.h.memory.release()
}

// A memory is the memory of a connection in this process. It is unmapped when its last user has
// released it. Users are the open Streams, and the parcels that are in use.
type memory struct {
	b     []byte
	users atomic.Int32
	unmap func([]byte) error
}

func (m *memory) release() error {
	if m.users.Add(-1) > 0 {
		return nil
	}
	return m.unmap(m.b)
}

// A sharedRef is a ref in the shared memory: what the writer says.
type sharedRef struct {
	at   atomic.Uint64
	what atomic.Uint64 // the number of the parcel in the upper 32 bits, the length in the lower
}

// A ref says that bytes of the stream are in a parcel. It is what the reader believes, a copy of a
// sharedRef.
type ref struct {
	at      uint64 // the number of the first one in the stream
	i       int    // the parcel
	from, n int    // they are the bytes from to n of the parcel
}

// piece returns the first n bytes of parcel i.
func (h *half) piece(i, n int) []byte { return h.pieces[i*parcelSize:][:n:n] }

// newParcel returns a parcel for the writer, or nil if there is none.
func (h *half) newParcel() *parcel {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.ring == nil {
		return nil
	}
	i := bits.TrailingZeros32(^(h.held | h.lent.Load())) // the lowest, whose memory may be in the caches
	if i >= parcels {
		return nil
	}
	h.held |= 1 << i
	h.offered |= 1 << i
	h.memory.users.Add(1)
	return &h.parcels[i]
}

// offeredLocked returns the number of the parcel whose payload begins with b, and was not passed
// yet.
//
// +checklocks:h.mu
func (h *half) offeredLocked(b []byte) (i int, ok bool) {
	if h.offered == 0 || len(b) < PassedFrom {
		return 0, false
	}
	at := uintptr(unsafe.Pointer(&b[0])) - uintptr(unsafe.Pointer(&h.pieces[0]))
	if at%parcelSize != 0 || at >= parcels*parcelSize {
		return 0, false
	}
	i = int(at / parcelSize)
	return i, h.offered&(1<<i) != 0
}

// passLocked puts the first n bytes of parcel i into the stream. There is room for them.
//
// +checklocks:h.mu
func (h *half) passLocked(i, n int) {
	h.offered &^= 1 << i
	h.lent.Or(1 << i)
	r := &h.head.refs[h.refs%parcels]
	r.at.Store(h.own)
	r.what.Store(uint64(i)<<32 | uint64(n))
	h.refs++
	h.head.passed.Store(h.refs)
	h.own += uint64(n)
}

// frontLocked returns the next ref of the stream, or nil.
//
// +checklocks:h.mu
func (h *half) frontLocked() (*ref, error) {
	if h.front.n > 0 {
		return &h.front, nil
	}
	switch n := h.head.passed.Load() - h.refs; {
	case n == 0:
		return nil, nil
	case n > parcels:
		return nil, errPeer
	}
	r := &h.head.refs[h.refs%parcels]
	at, what := r.at.Load(), r.what.Load()
	i, n := what>>32, what&(1<<32-1)
	if at-h.own > ringLen || i >= parcels || n == 0 || n > ParcelLen {
		return nil, errPeer
	}
	h.refs++
	h.front = ref{at: at, i: int(i), n: int(n)}
	return &h.front, nil
}

// inRingLocked returns how many of the next n bytes of the stream, which are there, lie in the
// ring. If it is 0, they begin with r.
//
// +checklocks:h.mu
func (h *half) inRingLocked(n int) (m int, r *ref, err error) {
	r, err = h.frontLocked()
	switch {
	case err != nil || r == nil:
		return n, nil, err
	case r.at > h.own:
		return min(n, int(r.at-h.own)), nil, nil
	case r.at < h.own || n < r.n-r.from: // it is shown whole
		return 0, nil, errPeer
	}
	return 0, r, nil
}
