package ddp

import (
	"encoding/binary"
	"errors"
	"io"
	"math"

	"github.com/rddp/rddp/internal/locks"
)

// RegisterMemory makes the first n bytes of m a Region that grants access on the given stream.
// Stream 0 means every stream of the Domain. The Region uses m until Deregister.
//
// m may be memory that this process cannot address, such as that of another process. The Region
// checks each access as any other Region does; m only copies. Any goroutine may call the methods of
// m, and they must not wait for a peer. They are called while the Region is locked for reading, so
// that Deregister can wait for the copies under way. So they must not call Deregister of the same
// Region or of a window of it: it would wait for its own caller. A method that finds its memory
// gone must return an error, which ends the stream, and must leave the call of Deregister to
// another goroutine. ReadAt fills p or returns an error. WriteAt may have written some bytes even
// if it returns an error.
//
// The TO of the first byte is to, because the programs behind such memory often tell their peers an
// address of their own. The sum of to and n must not be more than 2^63-1. The STag is s, which no
// other Region of the Domain may have. If s is 0, the STag is random, as in [Domain.Register].
//
// Payload of such a Region is not placed before its turn. If m returns an error, the stream that
// the access belongs to ends with an [*AccessError].
func (d *Domain) RegisterMemory(m interface {
	io.ReaderAt
	io.WriterAt
}, s STag, to, n uint64, access Access, stream uint64) (*Region, error) {
	if n == 0 || n > math.MaxInt || to > math.MaxInt64-n {
		return nil, errMemoryRange
	}
	d.hasMemory.Store(true)
	r := &Region{memory: m, base: to, size: int(n), access: access & everyRight, stream: stream}
	if s == 0 {
		return d.draw(r, func(uint64) {})
	}
	if r.domain, r.stag = d, s; !d.add(r) {
		return nil, errSTagInUse
	}
	return r, nil
}

// RegisterSink makes n bytes of m a Region that is the sink of an RDMA Read on the given stream. It
// says of m what RegisterMemory says, but nothing is read from m, and the TO of the first byte is
// random. n must be 1 to 2^32-1.
func (d *Domain) RegisterSink(m io.WriterAt, n uint32, stream uint64) (*Region, error) {
	if n == 0 || uint64(n) > math.MaxInt {
		return nil, errRegionLength
	}
	d.hasMemory.Store(true)
	r := &Region{memory: m, size: int(n), access: ReadSink, stream: stream}
	return d.draw(r, func(base uint64) { r.base = base })
}

// HasMemory reports whether RegisterMemory or RegisterSink has been called. If it has, an access of
// a peer may call code of the program.
func (d *Domain) HasMemory() bool { return d.hasMemory.Load() }

var errSTagInUse = errors.New("ddp: STag belongs to another Region")

var errMemoryRange = errors.New("ddp: a Region of RegisterMemory has at least 1 byte, and ends at 2^63-1 or before")

// fetch copies the len(p) bytes at TO to into p, for an access that needs a right. The caller holds
// the Region: see hold.
func (r *Region) fetch(p []byte, to uint64, need Access) error {
	if _, err := r.memory.(io.ReaderAt).ReadAt(p, int64(to-r.base)); err != nil {
		return r.lost(to, uint64(len(p)), need, err)
	}
	return nil
}

// store copies p to TO to, for an access that needs a right. The caller holds the Region.
func (r *Region) store(p []byte, to uint64, need Access) error {
	if _, err := r.memory.WriteAt(p, int64(to-r.base)); err != nil {
		return r.lost(to, uint64(len(p)), need, err)
	}
	return nil
}

// updating is held during each update of a word. There is one lock for all Regions of far memory,
// because two can be the same bytes.
var updating locks.Mutex[locks.Updating]

// update is updateWord for far memory. It is atomic with regard to every other update of far
// memory, but not with regard to the owner of the memory.
func (r *Region) update(to uint64, f func(uint64) uint64, need Access) (old uint64, err error) {
	if to%wordLen != 0 {
		return 0, ErrMisaligned
	}
	updating.Lock()
	defer updating.Unlock()
	var b [wordLen]byte
	if err := r.fetch(b[:], to, need); err != nil {
		return 0, err
	}
	old = binary.NativeEndian.Uint64(b[:])
	v := f(old)
	if v == old {
		return old, nil
	}
	binary.NativeEndian.PutUint64(b[:], v)
	return old, r.store(b[:], to, need)
}

// lost returns the error of an access that far memory has refused. To the peer it is an access that
// the Region does not allow: the owner of the memory has taken it back, or has protected it.
func (r *Region) lost(to, n uint64, need Access, err error) error {
	e := r.refuse(CodeInvalidSTag, to, n, need, nil)
	e.Denied, e.Memory = true, err
	return e
}
