package shm

import (
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/toe"
)

// A Parcel is memory for payload that goes to another device of this process without a copy: the
// reader gets the memory. Its users share it. The first one is the one that NewParcel has returned
// it to, and each Stream that it is on its way in is another.
type Parcel struct {
	mem   []byte
	users atomic.Int32
	offer offer
}

// An offer is a Parcel in the hands of a writer, for as long as the Stream to passes it on when its
// payload is written.
type offer struct {
	p  *Parcel
	to *Stream
}

var _ toe.Parcel = (*offer)(nil)

// Memory implements toe.Parcel.
func (o *offer) Memory() (b []byte, at int) { return o.p.Memory() }

// Release ends the offer. A payload that was written before is still on its way.
func (o *offer) Release() {
	o.to.withdraw(o.p)
	o.to = nil
	o.p.Release()
}

const (
	// ParcelLen is the length in bytes of a Parcel's payload. With a header of DDP, and the header
	// of a device's frame, it fits one FPDU.
	ParcelLen = 64736
	// parcelStart is where the payload begins. The reader has the rest of an FPDU in front of it.
	parcelStart = 64
	// parcelSize is the length in bytes of all memory of a Parcel. A receive buffer needs so much.
	parcelSize = 72 << 10

	// passedFrom is the minimum length in bytes of a payload that is passed. So no ring has room
	// for more than maxPassed of them.
	passedFrom = 8 << 10
	maxPassed  = ringLen / passedFrom
	// ringLen is the length of a ring: the maximum number of bytes in transit in one direction.
	ringLen = 512 << 10
)

var _ toe.Parcel = (*Parcel)(nil)

var parcels = sync.Pool{New: func() any { return &Parcel{mem: make([]byte, parcelSize)} }}

// NewParcel returns a Parcel, which has one user. Its content is undefined.
func NewParcel() *Parcel {
	p := parcels.Get().(*Parcel)
	p.users.Store(1)
	return p
}

// Payload returns the memory of the payload.
func (p *Parcel) Payload() []byte {
	return p.mem[parcelStart : parcelStart+ParcelLen : parcelStart+ParcelLen]
}

// Memory returns the whole memory, and where the payload begins.
func (p *Parcel) Memory() (b []byte, at int) { return p.mem, parcelStart }

// Release ends the use by one user.
func (p *Parcel) Release() {
	if p.users.Add(-1) == 0 {
		parcels.Put(p)
	}
}

// begins reports whether b begins with the payload of p.
func (p *Parcel) begins(b []byte) bool { return &b[0] == &p.mem[parcelStart] }

// A passage has the parcels on their way in one direction. It has one writer and one reader. What
// the reader has not taken when a connection ends is garbage.
type passage struct {
	refs    [maxPassed]ref
	in, out atomic.Uint64 // how many have been put in, and taken out
}

// A ref says that bytes of a stream are in a parcel.
type ref struct {
	p       *Parcel
	at      uint64 // the number of the next one in the stream
	from, n int    // they are Payload()[from:n]
}

// front returns the next ref, or nil.
func (p *passage) front() *ref {
	if p == nil || p.out.Load() == p.in.Load() {
		return nil
	}
	return &p.refs[p.out.Load()%maxPassed]
}

// put puts in a ref. There is room for it.
func (p *passage) put(r ref) {
	p.refs[p.in.Load()%maxPassed] = r
	p.in.Add(1)
}

// take takes the front out.
func (p *passage) take() {
	*p.front() = ref{}
	p.out.Add(1)
}
