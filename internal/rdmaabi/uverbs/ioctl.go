package uverbs

import (
	"encoding/binary"
	"errors"
	"fmt"
)

var le = binary.LittleEndian

// Ioctl is the number of the only ioctl of the interface.
const Ioctl = 0xc0181b01

// HeaderLen and AttrLen are the lengths in bytes of the header of an ioctl and of each attribute.
const (
	HeaderLen = 24
	AttrLen   = 16
)

// MaxAttrs is the maximum number of attributes of an ioctl. INVOKE_WRITE has five.
const MaxAttrs = 16

// ErrShort means that the program has passed fewer bytes than the type needs.
var ErrShort = errors.New("uverbs: too short")

// A Method is the operation of an ioctl.
type Method struct{ Object, ID uint16 }

// InvokeWrite is the method that carries a command of the older interface. It is the only one that
// the supervisor serves: libibverbs falls back to it for everything.
var InvokeWrite = Method{0, 0}

// A Header begins the argument of an ioctl.
type Header struct {
	Len      int // bytes, with the attributes
	Method   Method
	NumAttrs int
}

// ParseHeader parses the header at the front of b. It refuses a length that does not match the
// number of attributes, and more than MaxAttrs attributes.
func ParseHeader(b []byte) (h Header, rest []byte, err error) {
	if len(b) < HeaderLen {
		return h, nil, ErrShort
	}
	h = Header{
		Len: int(le.Uint16(b)), Method: Method{le.Uint16(b[2:]), le.Uint16(b[4:])}, NumAttrs: int(le.Uint16(b[6:])),
	}
	if h.NumAttrs > MaxAttrs || h.Len != HeaderLen+AttrLen*h.NumAttrs {
		return h, nil, fmt.Errorf("uverbs: ioctl of %d bytes with %d attributes", h.Len, h.NumAttrs)
	}
	return h, b[HeaderLen:], nil
}

// The attributes of InvokeWrite.
const (
	attrCoreIn    = 0
	attrCoreOut   = 1
	attrCommand   = 2
	attrDriverIn  = 0x1000
	attrDriverOut = 0x1001
)

// A Span is memory of the program. If a Span has at most 8 bytes and is an input, the bytes are in
// the attribute itself.
type Span struct {
	Addr uint64
	Len  int
}

// Inline returns the bytes of an input Span if they are in the attribute itself.
func (s Span) Inline() (b []byte, ok bool) {
	if s.Len > 8 {
		return nil, false
	}
	return le.AppendUint64(nil, s.Addr)[:s.Len], true
}

// An Invocation is one command, with the memory of its arguments and answers. The driver's
// arguments and answers are those of the rxe provider.
type Invocation struct {
	Command             Command
	In, DriverIn        Span
	Out, DriverOut      Span
	hasCommand, hasCore bool
}

// ParseInvocation parses the n attributes of an InvokeWrite. Attributes that it does not know are
// ignored.
func ParseInvocation(b []byte, n int) (v Invocation, err error) {
	if len(b) < n*AttrLen {
		return v, ErrShort
	}
	for range n {
		s := Span{Addr: le.Uint64(b[8:]), Len: int(le.Uint16(b[2:]))}
		switch le.Uint16(b) {
		case attrCoreIn:
			v.In = s
		case attrCoreOut:
			v.Out, v.hasCore = s, true
		case attrCommand:
			v.Command, v.hasCommand = Command(s.Addr), true
		case attrDriverIn:
			v.DriverIn = s
		case attrDriverOut:
			v.DriverOut = s
		}
		b = b[AttrLen:]
	}
	if !v.hasCommand {
		return v, errors.New("uverbs: ioctl without a command")
	}
	return v, nil
}

// IsProbe reports whether the invocation asks if InvokeWrite exists at all: libibverbs sends
// QUERY_DEVICE without room for an answer, and takes ENOSPC for yes.
func (v *Invocation) IsProbe() bool { return v.Command == QueryDevice && !v.hasCore }
