package guest

import (
	"fmt"
	"unsafe"
)

// Access rights to memory.
const (
	LocalWrite = 1 << iota
	RemoteWrite
	RemoteRead
	RemoteAtomic
	MWBind

	OnDemand = 1 << 6

	All = LocalWrite | RemoteWrite | RemoteRead | RemoteAtomic
)

// An MR is registered memory.
type MR struct {
	Handle, Key uint32 // Key is the rkey
	Local       uint32 // the lkey; 0 if it is Key
	Addr        uint64
	B           []byte
}

// Register registers b.
func (c *Context) Register(pd uint32, b []byte, access uint32) (MR, error) {
	m, err := c.RegisterRange(pd, Address(b), uint64(len(b)), access)
	m.B = b
	return m, err
}

// RegisterRange registers n bytes at addr, which need not be mapped.
func (c *Context) RegisterRange(pd uint32, addr, n uint64, access uint32) (MR, error) {
	in := words(0, 0)
	for _, v := range []uint64{addr, n, addr} {
		in = le.AppendUint64(in, v)
	}
	out, _, err := c.Do(9, append(in, words(pd, access)...), nil, 12, 0)
	if err != nil {
		return MR{}, fmt.Errorf("REG_MR: %w", err)
	}
	return MR{Handle: le.Uint32(out), Key: le.Uint32(out[8:]), Local: le.Uint32(out[4:]), Addr: addr}, nil
}

// Address returns the address of b.
func Address(b []byte) uint64 { return uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) }

// MW allocates a memory window of type 1 or 2.
func (c *Context) MW(pd uint32, kind uint32) (handle, key uint32, err error) {
	out, _, err := c.Do(14, words(0, 0, pd, kind), nil, 8, 0)
	if err != nil {
		return 0, 0, fmt.Errorf("ALLOC_MW: %w", err)
	}
	return le.Uint32(out), le.Uint32(out[4:]), nil
}
