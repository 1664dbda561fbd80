package spec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"time"
)

// A Record is at the beginning of the peer's Private Data. It states the peer's abilities and the
// location of its memory:
//
//	octet 0                4         8          12          20           24          28
//	      | magic "rdSP"   | flags   | STag     | TO        | length     | receive   |  then, as the flags say,
//	      |                | (4)     | (4)      | (8)       | (4)        | size (4)  |  regions: STag, TO, length;
//	                                                                                   and milliseconds (4)
type Record struct {
	Flags       Flags
	Region      Region        // for remote Read and Write, and atomics
	ReceiveSize uint32        // bytes of each receive buffer
	ReadOnly    Region        // with FlagReadOnly
	WriteOnly   Region        // with FlagWriteOnly
	Startup     time.Duration // with FlagStartup: whole milliseconds
}

// A Region is memory of the peer.
type Region struct {
	STag uint32
	TO   uint64
	Len  uint32 // octets
}

// Flags are the parts of the contract that the peer keeps.
type Flags uint32

// The flags. Bits without a name here are ignored.
const (
	FlagMemory     Flags = 1 << iota // Region is there
	FlagAtomic                       // Region accepts the atomics of RFC 7306; its first byte is at a multiple of 8
	FlagImmediate                    // the peer answers Immediate Data with a Send of the same 8 bytes
	FlagInvalidate                   // Send with Invalidate may end Region
	FlagReadOnly                     // the region after it grants only remote Read
	FlagWriteOnly                    // the next region grants only remote Write
	FlagStartup                      // Startup is set: the peer ends a startup that takes longer
)

const (
	recordMagic = "rdSP"
	recordLen   = 28
	regionLen   = 16
	startupLen  = 4

	// MinRegion and MinReceive are the minimum lengths in bytes of a region and of a receive
	// buffer.
	MinRegion, MinReceive = 4096, 4096
	// MinReceives is the minimum number of receive buffers that the peer keeps posted.
	MinReceives = 8
)

// Errors of ParseRecord.
var (
	ErrNoRecord  = errors.New("spec: the Private Data does not begin with a record")
	ErrBadRecord = errors.New("spec: malformed record")
)

// AppendTo appends the record to b: 28 bytes, 16 for each region that the flags announce, and 4 for
// Startup.
func (r Record) AppendTo(b []byte) []byte {
	b = append(b, recordMagic...)
	b = binary.BigEndian.AppendUint32(b, uint32(r.Flags))
	b = r.Region.appendTo(b)
	b = binary.BigEndian.AppendUint32(b, r.ReceiveSize)
	if r.Flags&FlagReadOnly != 0 {
		b = r.ReadOnly.appendTo(b)
	}
	if r.Flags&FlagWriteOnly != 0 {
		b = r.WriteOnly.appendTo(b)
	}
	if r.Flags&FlagStartup != 0 {
		b = binary.BigEndian.AppendUint32(b, uint32(r.Startup/time.Millisecond))
	}
	return b
}

// ParseRecord parses a record at the beginning of b and returns the rest, which aliases b. The
// error is ErrNoRecord, or an ErrBadRecord if the record is cut off or smaller than the contract
// allows.
func ParseRecord(b []byte) (r Record, rest []byte, err error) {
	if len(b) < len(recordMagic) || string(b[:len(recordMagic)]) != recordMagic {
		return Record{}, b, ErrNoRecord
	}
	if len(b) < recordLen {
		return Record{}, b, fmt.Errorf("%w: %d bytes, want at least %d", ErrBadRecord, len(b), recordLen)
	}
	r.Flags = Flags(binary.BigEndian.Uint32(b[4:]))
	r.Region = parseRegion(b[8:])
	r.ReceiveSize = binary.BigEndian.Uint32(b[24:])
	rest = b[recordLen:]
	for _, more := range []struct {
		flag Flags
		to   *Region
	}{{FlagReadOnly, &r.ReadOnly}, {FlagWriteOnly, &r.WriteOnly}} {
		if r.Flags&more.flag == 0 {
			continue
		}
		if len(rest) < regionLen {
			return Record{}, b, fmt.Errorf("%w: a region that the flags %#x announce is not there", ErrBadRecord, uint32(r.Flags))
		}
		*more.to, rest = parseRegion(rest), rest[regionLen:]
	}
	if r.Flags&FlagStartup != 0 {
		if len(rest) < startupLen {
			return Record{}, b, fmt.Errorf("%w: a timeout that the flags %#x announce is not there", ErrBadRecord, uint32(r.Flags))
		}
		r.Startup, rest = time.Duration(binary.BigEndian.Uint32(rest))*time.Millisecond, rest[startupLen:]
	}
	return r, rest, r.check()
}

func (r Record) check() error {
	if r.ReceiveSize < MinReceive {
		return fmt.Errorf("%w: receive buffers of %d bytes, want at least %d", ErrBadRecord, r.ReceiveSize, MinReceive)
	}
	if r.Flags&FlagStartup != 0 && r.Startup == 0 {
		return fmt.Errorf("%w: a timeout of startup of 0", ErrBadRecord)
	}
	for _, m := range []struct {
		flag Flags
		r    Region
	}{{FlagMemory, r.Region}, {FlagReadOnly, r.ReadOnly}, {FlagWriteOnly, r.WriteOnly}} {
		if r.Flags&m.flag == 0 {
			continue
		}
		if m.r.Len < MinRegion || m.r.TO+uint64(m.r.Len) < m.r.TO {
			return fmt.Errorf("%w: a region of %d bytes at %#x, want at least %d", ErrBadRecord, m.r.Len, m.r.TO, MinRegion)
		}
	}
	return nil
}

func (r Region) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, r.STag)
	b = binary.BigEndian.AppendUint64(b, r.TO)
	return binary.BigEndian.AppendUint32(b, r.Len)
}

func parseRegion(b []byte) Region {
	return Region{STag: binary.BigEndian.Uint32(b), TO: binary.BigEndian.Uint64(b[4:]), Len: binary.BigEndian.Uint32(b[12:])}
}
