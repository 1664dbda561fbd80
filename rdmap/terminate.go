package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/rddp/rddp/ddp"
)

// The Terminate Header (RFC 5040 §4.8, figures 7 and 8):
//
//	octet  0               1               2               3
//	      | layer | etype |  error code   |M D R reserved |   reserved    |
//	octet  4               6
//	      | segment length | terminated DDP header (14 or 18 octets) | terminated RDMA header (28) |
//
// M, D and R say which parts of the second line are present.
const (
	terminateControlLen = 4
	segmentLenLen       = 2
	// maxTerminateLen is the length of the longest Terminate Header, which is about a Read Request.
	maxTerminateLen = terminateControlLen + segmentLenLen + ddp.UntaggedHeaderLen + ReadRequestLen

	flagM      = 0x80 // the DDP Segment Length is valid
	flagD      = 0x40 // the terminated DDP header is present
	flagR      = 0x20 // the terminated RDMA header is present
	hostFlagM  = 0x01 // the same flags as Linux siw sends them from a little-endian host
	hostFlagD  = 0x02
	hostFlagR  = 0x04
	taggedFlag = 0x80 // the T bit of a DDP header
)

// A Terminate is the Terminate Header of the last message of a stream. It says why the stream ends.
type Terminate struct {
	Code       TerminateCode
	M, D, R    bool   // SegmentLen is valid; DDPHeader is present; RDMAHeader is present
	SegmentLen uint16 // bytes of the segment at fault, with DDP header; some peers do not count that
	DDPHeader  []byte // of that segment: 14 bytes if it is Tagged, otherwise 18
	RDMAHeader []byte // the Read Request header at fault, 28 bytes
	// HostOrder reports that the bits arrived in the order of siw's host instead of the RFC's.
	HostOrder bool
}

// appendTo appends the header to b in the RFC's bit order, whatever HostOrder is.
func (t Terminate) appendTo(b []byte) []byte {
	var flags byte
	if t.M {
		flags |= flagM
	}
	if t.D {
		flags |= flagD
	}
	if t.R {
		flags |= flagR
	}
	b = binary.BigEndian.AppendUint16(b, uint16(t.Code))
	b = append(b, flags, 0)
	if t.M || t.D {
		// "It MUST be present when the D bit is set." (RFC 5040 §4.8)
		b = binary.BigEndian.AppendUint16(b, t.SegmentLen)
	}
	if t.D {
		b = append(b, t.DDPHeader...)
	}
	if t.R {
		b = append(b, t.RDMAHeader...)
	}
	return b
}

// ParseTerminate parses a Terminate Header. The headers in the result alias b. ParseTerminate
// ignores bytes after the header, and understands the Terminates of Linux siw, whose bit fields are
// in host order (see hostOrder).
//
// If b ends inside the header, ParseTerminate fails. There is one exception. The RDMA header may
// be missing although R announces it, because some peers set R for a Send with Invalidate, which
// has no such header. R is then false in the result.
func ParseTerminate(b []byte) (Terminate, error) {
	if len(b) < terminateControlLen {
		return Terminate{}, operationError(codeUnspecified, "%v of %d bytes", OpTerminate, len(b))
	}
	control := [3]byte(b)
	host := hostOrder(control, b[3])
	if host {
		control = swapped(control)
	}
	t := Terminate{
		Code: TerminateCode(binary.BigEndian.Uint16(control[:])), HostOrder: host,
		M: control[2]&flagM != 0, D: control[2]&flagD != 0, R: control[2]&flagR != 0,
	}
	b = b[terminateControlLen:]
	if t.M || t.D {
		if len(b) < segmentLenLen {
			return Terminate{}, operationError(codeUnspecified, "%v ends in its segment length", OpTerminate)
		}
		t.SegmentLen = binary.BigEndian.Uint16(b)
		b = b[segmentLenLen:]
	}
	if t.D {
		n := ddp.UntaggedHeaderLen
		if len(b) > 0 && b[0]&taggedFlag != 0 {
			n = ddp.TaggedHeaderLen
		}
		if len(b) < n {
			return Terminate{}, operationError(codeUnspecified, "%v ends in its DDP header", OpTerminate)
		}
		t.DDPHeader, b = b[:n:n], b[n:]
	}
	t.R = t.R && len(b) >= ReadRequestLen
	if t.R {
		t.RDMAHeader = b[:ReadRequestLen:ReadRequestLen]
	}
	return t, nil
}

// hostOrder reports whether the three bytes of a Terminate Control are in the bit order of siw on a
// little-endian host. In that order layer and etype have changed places, and M, D and R are the
// three lowest bits of the third byte. siw sets M and D together or not at all.
//
// The reserved bits of a Terminate in the RFC's order can have any value, so all of siw's pattern
// must match. If no flag is set, only the codes can tell. The order is siw's if the RFC's order
// gives an error that no RFC defines and siw's order gives a known one.
func hostOrder(control [3]byte, reserved byte) bool {
	if reserved != 0 {
		return false
	}
	switch control[2] {
	case hostFlagM | hostFlagD, hostFlagM | hostFlagD | hostFlagR:
		return true
	case 0:
		s := swapped(control)
		return !TerminateCode(binary.BigEndian.Uint16(control[:])).isRegistered() &&
			TerminateCode(binary.BigEndian.Uint16(s[:])).isRegistered()
	}
	return false
}

// inContext corrects a Terminate without headers whose control has two readings, one in the RFC's
// bit order and another in siw's. These are MPA's errors 5 to 7 and RDMAP's remote operation errors
// 5 to 7. firstOfInitiator means that the Terminate is the first message from an Initiator. Then
// inContext returns MPA's error, otherwise RDMAP's.
//
// An Initiator sends MPA's error as its first FPDU, in place of everything else (RFC 6581 §8). At
// that time this end has sent the Initiator nothing that RDMAP could complain about. At any other
// time MPA's errors can't occur.
func (t Terminate) inContext(firstOfInitiator bool) Terminate {
	want := remoteOperation
	if firstOfInitiator {
		want = mpaError
	}
	kind, code := t.Code.kind(), t.Code.errorCode()
	if t.M || t.D || t.R || code < 5 || code > 7 || kind == want || kind != mpaError && kind != remoteOperation {
		return t
	}
	t.Code, t.HostOrder = want.code(code), !t.HostOrder
	return t
}

// swapped converts a Terminate Control from siw's bit order to the RFC's.
func swapped(control [3]byte) [3]byte {
	return [3]byte{control[0]<<4 | control[0]>>4, control[1], bits.Reverse8(control[2])}
}

// clone returns a copy of t with headers of its own.
func (t Terminate) clone() Terminate {
	t.DDPHeader = bytes.Clone(t.DDPHeader)
	t.RDMAHeader = bytes.Clone(t.RDMAHeader)
	return t
}

// A terminateCoder is an error of MPA that has a code for a Terminate.
type terminateCoder interface {
	TerminateCode() (layer, etype, code uint8)
}

// codeOf returns the code that a Terminate uses for err. ok is false if err has none.
func codeOf(err error) (code TerminateCode, ok bool) {
	var own *streamError
	var segment *ddp.Error
	var below terminateCoder
	switch {
	case errors.As(err, &own): // DDP wraps it if admit returned it
		return own.Code, true
	case errors.As(err, &segment) && segment.Code == ddp.CodeULP:
		return codeOpcode, true // the opcode changed inside a message; the RFCs have no code for that
	case errors.As(err, &segment):
		return codeOfDDP(segment.Code), true
	case errors.As(err, &below):
		return makeCode(below.TerminateCode()), true
	}
	return 0, false
}

// segmentAtFault returns the DDP header and the length of the segment that err is about. The header
// is nil if err is not about a segment.
func segmentAtFault(err error) (header []byte, n int) {
	var own *streamError
	var segment *ddp.Error
	switch {
	case errors.As(err, &segment): // segment may wrap a *streamError of this package, which Admit returned
		return segment.Header, segment.SegmentLen
	case errors.As(err, &own):
		return own.Header, own.SegmentLen
	}
	return nil, 0
}

// terminateFor returns the Terminate for err, and whether a Terminate may be sent at all. An err
// without a Terminate code is a local catastrophic error.
func terminateFor(err error) (t Terminate, ok bool) {
	t.Code, _ = codeOf(err)
	if t.Code == codeMPAClosed || t.Code == codeMPAFrame {
		return Terminate{}, false
	}
	if !t.Code.kind().carriesHeaders() {
		return t, true
	}
	header, n := segmentAtFault(err)
	if len(header) != ddp.TaggedHeaderLen && len(header) != ddp.UntaggedHeaderLen {
		return t, true
	}
	t.M, t.D, t.SegmentLen, t.DDPHeader = true, true, uint16(n), header
	var own *streamError
	if t.Code.kind() == remoteProtection && errors.As(err, &own) && own.ReadRequest != nil {
		t.R, t.RDMAHeader = true, own.ReadRequest
	}
	return t, true
}
