package verbs

import (
	"errors"
	"fmt"
	"math"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// A Region is registered memory outside Go's heap. Its methods may be called from any goroutine.
type Region struct {
	d      *Device
	mapped []byte // whole pages
	b      []byte
	handle uint32
	key    uint32 // for work requests of this device
	remote uint32

	mu     locks.Mutex[locks.VerbsRegion] // held while it is registered and deregistered
	closed bool                           // Device.regions guards it
	gone   bool                           // it is deregistered; mu guards this field
}

// NewRegion returns n bytes of zeros, n > 0, that are registered with the device. access says what
// peers may do with them. With ddp.RemoteAtomic the error is an *[UnavailableError] if the device
// has no atomics.
func (d *Device) NewRegion(n int, access ddp.Access) (*Region, error) {
	if access&ddp.RemoteAtomic != 0 && !d.Can(OpFetchAdd) {
		return nil, unavailable(NotSupported, fmt.Errorf("atomics on %s", d.name))
	}
	if n <= 0 || uint64(n) > min(d.limits.MaxMRSize, 1<<40) {
		return nil, unavailable(NoResources, errors.New("a region of that length"))
	}
	mapped, err := pages(n)
	if err != nil {
		return nil, failed("memory", err)
	}
	r := &Region{d: d, mapped: mapped, b: mapped[:n:n]}
	r.mu.Lock() // Device.Close waits until it is registered
	defer r.mu.Unlock()
	if err := d.keep(r); err != nil {
		unmap(mapped)
		return nil, err
	}
	m := uverbs.MemoryRegion{
		Start: address(mapped), Len: uint64(n), VA: address(mapped), PD: d.pd,
		Access: accessOf(access),
	}
	out := make([]byte, 12)
	c := d.command(uverbs.RegMR, m.AppendTo(nil), out, make([]byte, d.regionOut))
	c.driverIn = make([]byte, d.regionIn)
	err = failed("REG_MR", invoke(d.file, c))
	if err == nil {
		err = uverbs.ParseWords(out, &r.handle, &r.key, &r.remote)
	}
	if err != nil {
		d.forget(r)
		unmap(mapped)
		return nil, err
	}
	return r, nil
}

// accessOf returns the access in the kernel's numbering.
func accessOf(a ddp.Access) uverbs.Access {
	to := uverbs.LocalWrite
	for _, right := range []struct {
		of ddp.Access
		to uverbs.Access
	}{{ddp.RemoteRead, uverbs.RemoteRead}, {ddp.RemoteWrite, uverbs.RemoteWrite}, {ddp.RemoteAtomic, uverbs.RemoteAtomic}} {
		if a&right.of != 0 {
			to |= right.to
		}
	}
	return to
}

// Bytes returns the memory. It belongs to the Region, and is valid until Close. After Close, Bytes
// returns nil.
func (r *Region) Bytes() []byte {
	r.d.regions.RLock()
	defer r.d.regions.RUnlock()
	if r.closed {
		return nil
	}
	return r.b
}

// Handle returns what a peer needs for Writes and Reads: the key of the Region, the address of its
// first byte and its length, at most 2^32-1. RFC 5040 calls the first two STag and Tagged Offset.
func (r *Region) Handle() rdmap.Handle {
	return rdmap.Handle{STag: ddp.STag(r.remote), TO: address(r.b), Len: uint32(min(uint64(len(r.b)), math.MaxUint32))}
}

// Close ends the rights of peers and frees the memory. Outstanding work requests with this memory
// fail. If the device does not release the memory, the error says so, and the memory remains.
func (r *Region) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.d.regions.Lock() // no work request with it is being put into a queue now
	closed := r.closed
	r.closed = true
	r.d.regions.Unlock()
	if closed {
		return nil
	}
	r.d.forget(r)
	if err := r.deregister(); err != nil {
		return err
	}
	unmap(r.mapped)
	return nil
}

// deregister ends the rights of peers, unless Device.Close has done so. The caller holds r.mu.
func (r *Region) deregister() error {
	if r.gone {
		return nil
	}
	err := r.d.do(uverbs.DeregMR, uverbs.AppendWords(nil, r.handle), nil)
	r.gone = err == nil
	return err
}

// entry returns the segment in the device's form. The caller holds d.regions.
func entry(s Segment, d *Device) (uverbs.SGE, error) {
	r, _ := s.Region.(*Region)
	if r == nil || r.d != d || r.closed || s.Off < 0 || s.Len < 0 || s.Off > len(r.b) || s.Len > len(r.b)-s.Off || int64(s.Len) > uverbs.MaxMessage {
		return uverbs.SGE{}, ErrSegment
	}
	return uverbs.SGE{Addr: address(r.mapped) + uint64(s.Off), Len: uint32(s.Len), LKey: r.key}, nil
}
