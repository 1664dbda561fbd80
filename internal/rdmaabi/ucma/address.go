package ucma

import (
	"encoding/binary"
	"fmt"
	"net/netip"
)

// The families of addresses.
const (
	inet  = 2
	inet6 = 10
	ib    = 27
)

const (
	inetLen  = 16
	inet6Len = 28
	ibLen    = 48
)

// An Address is a socket address of a program.
type Address struct {
	netip.AddrPort
	// IB is true for an address of InfiniBand's own family, of which the package keeps nothing
	// else.
	IB bool
}

// parseAddress parses a sockaddr. It returns the zero Address if there is none, that is, if the
// family is 0.
func parseAddress(b []byte) (a Address, err error) {
	if len(b) < 2 {
		return a, ErrShort
	}
	family, n := le.Uint16(b), 0
	switch family {
	case 0:
		return a, nil
	case inet:
		n = inetLen
	case inet6:
		n = inet6Len
	case ib:
		n = ibLen
	}
	if n == 0 || len(b) < n {
		return a, fmt.Errorf("ucma: an address of family %d with %d bytes", family, len(b))
	}
	port := binary.BigEndian.Uint16(b[2:])
	switch family {
	case inet:
		a.AddrPort = netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:])), port)
	case inet6:
		a.AddrPort = netip.AddrPortFrom(netip.AddrFrom16([16]byte(b[8:])), port)
	default:
		a.IB = true
	}
	return a, nil
}

// put writes a as a sockaddr and returns its length.
func putAddress(b []byte, a netip.AddrPort) int {
	switch {
	case a.Addr().Is4():
		le.PutUint16(b, inet)
		binary.BigEndian.PutUint16(b[2:], a.Port())
		v := a.Addr().As4()
		copy(b[4:], v[:])
		return inetLen
	case a.Addr().Is6():
		le.PutUint16(b, inet6)
		binary.BigEndian.PutUint16(b[2:], a.Port())
		v := a.Addr().As16()
		copy(b[8:], v[:])
		return inet6Len
	}
	return 0
}

// A BindRequest is the input of BIND_IP and BIND.
type BindRequest struct {
	ID   uint32
	Addr Address
}

// ParseBindIP parses the input of BIND_IP.
func ParseBindIP(in []byte) (r BindRequest, err error) {
	if len(in) < 40 {
		return r, ErrShort
	}
	r.ID = le.Uint32(in[36:])
	r.Addr, err = parseAddress(in[8:36])
	return r, err
}

// A Join is the input of JOIN_IP_MCAST and JOIN_MCAST: an id enters a multicast group.
type Join struct {
	Response uint64
	UID      uint64
	ID       uint32
	Flags    uint16 // of JOIN_MCAST
	Addr     Address
}

// The flags of JOIN_MCAST are one of these.
const (
	JoinFull     = 0
	JoinSendOnly = 1
)

// ParseJoinIP parses the input of JOIN_IP_MCAST.
func ParseJoinIP(in []byte) (j Join, err error) {
	if len(in) < 48 {
		return j, ErrShort
	}
	j = Join{Response: le.Uint64(in), UID: le.Uint64(in[8:]), ID: le.Uint32(in[44:]), Flags: JoinFull}
	j.Addr, err = parseAddress(in[16:44])
	return j, err
}

// ParseJoin parses the input of JOIN_MCAST.
func ParseJoin(in []byte) (j Join, err error) {
	if len(in) < 24+storageLen {
		return j, ErrShort
	}
	j = Join{Response: le.Uint64(in), UID: le.Uint64(in[8:]), ID: le.Uint32(in[16:]), Flags: le.Uint16(in[22:])}
	j.Addr, err = parseSized(in[24:], int(le.Uint16(in[20:])))
	return j, err
}

// storageLen is the length in bytes of the kernel's struct for an address of any family.
const storageLen = 128

// ParseBind parses the input of BIND.
func ParseBind(in []byte) (r BindRequest, err error) {
	if len(in) < 8+storageLen {
		return r, ErrShort
	}
	r.ID = le.Uint32(in)
	r.Addr, err = parseSized(in[8:], int(le.Uint16(in[4:])))
	return r, err
}

// parseSized parses an address of n bytes.
func parseSized(b []byte, n int) (Address, error) {
	if n > storageLen {
		return Address{}, fmt.Errorf("ucma: an address of %d bytes", n)
	}
	return parseAddress(b[:n])
}

// A Resolution is the input of RESOLVE_IP and RESOLVE_ADDR.
type Resolution struct {
	ID       uint32
	Src, Dst Address // Src may be the zero Address
}

// ParseResolveIP parses the input of RESOLVE_IP.
func ParseResolveIP(in []byte) (r Resolution, err error) {
	if len(in) < 64 {
		return r, ErrShort
	}
	r.ID = le.Uint32(in[56:])
	if r.Src, err = parseAddress(in[:28]); err == nil {
		r.Dst, err = parseAddress(in[28:56])
	}
	return r, err
}

// ParseResolveAddr parses the input of RESOLVE_ADDR.
func ParseResolveAddr(in []byte) (r Resolution, err error) {
	if len(in) < 16+2*storageLen {
		return r, ErrShort
	}
	r.ID = le.Uint32(in)
	if n := int(le.Uint16(in[8:])); n > 0 {
		if r.Src, err = parseSized(in[16:], n); err != nil {
			return r, err
		}
	}
	r.Dst, err = parseSized(in[16+storageLen:], int(le.Uint16(in[10:])))
	return r, err
}
