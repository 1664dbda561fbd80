package extsock

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"sync/atomic"
	"syscall"
	"unsafe"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/rnic"
)

// A Memory is memory that peers may read or write even if an RDMA device runs the connection. A
// device cannot reach memory of Go's heap. Any number of connections may share one. Its methods may
// be called from any goroutine. NewMemory makes a Memory. The zero Memory has no bytes, and Share
// refuses it.
type Memory struct {
	b      []byte
	access ddp.Access
	dev    rnic.Device // of region
	region rnic.Region // nil: no device reaches it
	why    error       // why region is nil
	closed atomic.Bool
}

// NewMemory returns n bytes of zeros, n > 0, for connections of Config.Backend b, which may be nil.
// If b has a device, the bytes are registered with it and are not in Go's heap, so they must not
// contain pointers. If the device is unavailable (*rnic.UnavailableError), the bytes are in Go's
// heap and NewMemory returns no error, because the connections may run in this process. Share
// returns that error for a connection on the device.
func NewMemory(b toe.Backend, n int, access ddp.Access) (*Memory, error) {
	if n <= 0 || int64(n) > math.MaxUint32 {
		return nil, fmt.Errorf("memory of %d bytes: %w", n, syscall.EINVAL)
	}
	m := &Memory{access: access, why: errMemory}
	if d, ok := b.(rnic.Deviced); ok {
		dev, err := d.Device()
		if err == nil {
			m.region, err = dev.NewRegion(n, access)
		}
		if m.why = err; err == nil {
			m.b, m.dev = m.region.Bytes(), dev
			memories.add(m)
			return m, nil
		}
		var u *rnic.UnavailableError
		if !errors.As(err, &u) {
			return nil, err
		}
	}
	m.b = make([]byte, n)
	return m, nil
}

// Bytes returns the memory. Peers may change it at any time.
func (m *Memory) Bytes() []byte { return m.b }

// Share gives the peer of c the access that was passed to NewMemory. In this process it is
// Conn.Register. On a device, every peer on the same device that knows the Region's Handle has the
// access, until Close, and Region.Deregister does nothing. If no device reaches the memory and c is
// on one, the error is errors.ErrUnsupported, or the *rnic.UnavailableError of NewMemory. After
// Close, it is net.ErrClosed.
func (m *Memory) Share(c *Conn) (Region, error) {
	switch {
	case !c.ok():
		return Region{}, syscall.EINVAL
	case m.closed.Load():
		return Region{}, c.opError("register", net.ErrClosed)
	}
	return c.engine().share(m)
}

// Close ends the access of all peers on the device, and gives the memory back: neither the program
// nor a connection may use it any more. Memory in this process lasts as long as the program has it,
// and the peers with which it has been shared keep their access.
func (m *Memory) Close() error {
	m.closed.Store(m.b != nil)
	if m.region == nil {
		return nil
	}
	memories.remove(m)
	return m.region.Close()
}

// handle returns the Handle of the memory on the device.
func (m *Memory) handle() rdmap.Handle { return m.region.Handle() }

// memories holds the open Memory values of all devices in the order of their addresses, so that
// Post finds the Region of its Data. Memory of a Region does not move.
var memories memoryList

type memoryList struct {
	mu   locks.Mutex[locks.Regions]
	list []*Memory // +checklocks:mu
}

func address(p []byte) uintptr { return uintptr(unsafe.Pointer(unsafe.SliceData(p))) }

// find returns the index of the Memory that begins at the address at, or the index where it would
// be inserted.
//
// +checklocks:l.mu
func (l *memoryList) find(at uintptr) (int, bool) {
	return slices.BinarySearchFunc(l.list, at, func(m *Memory, at uintptr) int { return cmp.Compare(address(m.b), at) })
}

func (l *memoryList) add(m *Memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i, _ := l.find(address(m.b))
	l.list = slices.Insert(l.list, i, m)
}

func (l *memoryList) remove(m *Memory) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if i := slices.Index(l.list, m); i >= 0 {
		l.list = slices.Delete(l.list, i, i+1)
	}
}

// locate returns where p lies in the Memory of dev. The error is errMemory.
func locate(dev rnic.Device, p []byte) (rnic.Segment, error) {
	memories.mu.Lock()
	defer memories.mu.Unlock()
	at := address(p)
	i, found := memories.find(at)
	if !found {
		i--
	}
	if i < 0 {
		return rnic.Segment{}, errMemory
	}
	m := memories.list[i]
	off := at - address(m.b)
	if m.dev != dev || off > uintptr(len(m.b)) || len(p) > len(m.b)-int(off) {
		return rnic.Segment{}, errMemory
	}
	return rnic.Segment{Region: m.region, Off: int(off), Len: len(p)}, nil
}
