package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
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
// The second line is there as far as M, D and R say.
const (
	terminateControlLen = 4
	segmentLenLen       = 2
	// maxTerminateLen is the longest Terminate Header: the one about a Read Request.
	maxTerminateLen = terminateControlLen + segmentLenLen + ddp.UntaggedHeaderLen + ReadRequestLen

	flagM      = 0x80 // the DDP Segment Length is valid
	flagD      = 0x40 // the terminated DDP header is there
	flagR      = 0x20 // the terminated RDMA header is there
	hostFlagM  = 0x01 // the same as Linux siw sends them from a little-endian host
	hostFlagD  = 0x02
	hostFlagR  = 0x04
	taggedFlag = 0x80 // the T bit of a DDP header
)

// A Terminate is the Terminate Header: the last message of a stream, which says why it ends.
type Terminate struct {
	Layer, EType, Code uint8
	M, D, R            bool   // SegmentLen is valid; DDPHeader is there; RDMAHeader is there
	SegmentLen         uint16 // octets of the segment at fault, its DDP header included; some peers leave that out
	DDPHeader          []byte // of that segment: 14 octets if it is Tagged, else 18
	RDMAHeader         []byte // the Read Request header at fault, 28 octets
	// HostOrder tells that the bits came in the order of siw's host instead of the RFC's.
	HostOrder bool
}

// AppendTo appends the header to b, in the RFC's order whatever HostOrder is.
func (t Terminate) AppendTo(b []byte) []byte {
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
	b = append(b, t.Layer<<4|t.EType&0x0F, t.Code, flags, 0)
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

// ParseTerminate reads a Terminate Header. Its headers alias b, and octets after them are ignored. It
// understands the Terminates of Linux siw, whose bit fields are in host order: see hostOrder. The
// error is an *Error: b ends inside the header. Only the RDMA header may be missing where R announces
// it: peers set R for a Send with Invalidate, which has none. R is then false.
func ParseTerminate(b []byte) (Terminate, error) {
	if len(b) < terminateControlLen {
		return Terminate{}, operationError(codeUnspecified, "%v of %d octets", OpTerminate, len(b))
	}
	control := [3]byte(b)
	host := hostOrder(control, b[3])
	if host {
		control = swapped(control)
	}
	t := Terminate{
		Layer: control[0] >> 4, EType: control[0] & 0x0F, Code: control[1], HostOrder: host,
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

// hostOrder reports whether the three octets of a Terminate Control are in the bit order of siw on a
// little-endian host: layer and etype change places, and M, D and R are the three lowest bits of the
// third octet. siw sets M and D together or not at all. Reserved bits of an RFC-ordered Terminate can
// be anything, so all of siw's pattern has to fit. Without any flag only the codes can tell: where
// the RFC's order gives an error that no RFC has and siw's gives a known one, it is siw's.
func hostOrder(control [3]byte, reserved byte) bool {
	if reserved != 0 {
		return false
	}
	switch control[2] {
	case hostFlagM | hostFlagD, hostFlagM | hostFlagD | hostFlagR:
		return true
	case 0:
		s := swapped(control)
		return !isRegistered(control[0]>>4, control[0]&0x0F, control[1]) &&
			isRegistered(s[0]>>4, s[0]&0x0F, s[1])
	}
	return false
}

// inContext reads a Terminate once more that has come without any header, and whose three octets mean
// one thing in the RFC's order and another in siw's: MPA's errors 5 to 7 or RDMAP's remote operation
// errors 5 to 7. MPA's come from an Initiator as its first FPDU (RFC 6581 §8), in place of all else: then
// it has had nothing from us that RDMAP could complain of. At any other time they can't come.
func (t Terminate) inContext(firstOfInitiator bool) Terminate {
	type triple struct{ layer, etype uint8 }
	mpa, rdmap := triple{layerLLP, etypeMPA}, triple{layerRDMAP, etypeRemoteOperation}
	got, want := triple{t.Layer, t.EType}, rdmap
	if firstOfInitiator {
		want = mpa
	}
	if t.M || t.D || t.R || t.Code < codeVersion || t.Code > codeCatastrophic || got == want || got != mpa && got != rdmap {
		return t
	}
	t.Layer, t.EType, t.HostOrder = want.layer, want.etype, !t.HostOrder
	return t
}

// swapped turns a Terminate Control from siw's bit order into the RFC's.
func swapped(control [3]byte) [3]byte {
	return [3]byte{control[0]<<4 | control[0]>>4, control[1], bits.Reverse8(control[2])}
}

// String returns the Terminate in the RFC's words.
func (t Terminate) String() string { return errorText(t.Layer, t.EType, t.Code) }

// Words returns the three numbers in words of RFC 5040 figure 9; the code's, where the RFCs have none, is its
// number.
func (t Terminate) Words() (layer, etype, code string) {
	layer = fmt.Sprintf("%#x", t.Layer)
	if names := [...]string{layerRDMAP: "RDMAP", layerDDP: "DDP", layerLLP: "MPA"}; int(t.Layer) < len(names) {
		layer = names[t.Layer]
	}
	etype, code = fmt.Sprintf("%#x", t.EType), fmt.Sprintf("%#02x", t.Code)
	if kind, ok := errorKinds[errorKind{t.Layer, t.EType}]; ok {
		etype = kind.name
		if text := kind.codes[t.Code]; text != "" {
			code = text
		}
	}
	return layer, etype, code
}

// clone returns t with headers of its own.
func (t Terminate) clone() Terminate {
	t.DDPHeader = bytes.Clone(t.DDPHeader)
	t.RDMAHeader = bytes.Clone(t.RDMAHeader)
	return t
}

// A terminateCoder is an error that knows what a Terminate says of it: that of any layer.
type terminateCoder interface {
	TerminateCode() (layer, etype, code uint8)
}

// terminateFor returns the Terminate that err calls for, and whether one may be sent at all. An err
// that has no Terminate code is a local catastrophic error.
func terminateFor(err error) (t Terminate, ok bool) {
	var coded terminateCoder
	var placed interface{ Segment() (header []byte, n int) }
	switch {
	case errors.Is(err, ddp.ErrRsvdULPChanged):
		// An opcode that changes inside its message; the RFCs have no code for it.
		t.Layer, t.EType, t.Code = layerRDMAP, etypeRemoteOperation, codeOpcode
	case errors.As(err, &coded):
		t.Layer, t.EType, t.Code = coded.TerminateCode()
	}
	if t.Layer == layerLLP && t.EType == etypeMPA && (t.Code == mpaClosed || t.Code == mpaFrame) {
		return Terminate{}, false
	}
	if !carriesHeaders(t.Layer, t.EType) || !errors.As(err, &placed) {
		return t, true
	}
	header, n := placed.Segment()
	if len(header) != ddp.TaggedHeaderLen && len(header) != ddp.UntaggedHeaderLen {
		return t, true
	}
	t.M, t.D, t.SegmentLen, t.DDPHeader = true, true, uint16(n), header
	var own *Error
	if (errorKind{t.Layer, t.EType}) == remoteProtection && errors.As(err, &own) && own.ReadRequest != nil {
		t.R, t.RDMAHeader = true, own.ReadRequest
	}
	return t, true
}

// carriesHeaders reports whether a Terminate of this kind returns the DDP header (RFC 5040 figure 10;
// "not present if the Terminate Error Type is a Local Catastrophic Error", §4.8).
func carriesHeaders(layer, etype uint8) bool {
	return layer <= layerDDP && etype != etypeLocalCatastrophic
}

// An errorKind is a layer and one of its error types.
type errorKind struct{ layer, etype uint8 }

var (
	remoteProtection = errorKind{layerRDMAP, etypeRemoteProtection}
	remoteOperation  = errorKind{layerRDMAP, etypeRemoteOperation}
	taggedError      = errorKind{layerDDP, ddp.TypeTagged}
	untaggedError    = errorKind{layerDDP, ddp.TypeUntagged}
)

var errorKinds = map[errorKind]struct {
	name  string
	codes map[uint8]string // nil: the code says nothing
}{
	{layerRDMAP, etypeLocalCatastrophic}: {"RDMA local catastrophic error", nil},
	remoteProtection: {"RDMA remote protection error", map[uint8]string{
		codeInvalidSTag:   "invalid STag",
		codeBounds:        "base or bounds violation",
		codeAccess:        "access rights violation",
		codeNotAssociated: "STag not associated with RDMAP Stream",
		codeWrap:          "TO wrap",
		codeInvalidate:    "STag cannot be Invalidated",
		codeUnspecified:   "unspecified error",
	}},
	remoteOperation: {"RDMA remote operation error", map[uint8]string{
		codeVersion:      "invalid RDMAP version",
		codeOpcode:       "unexpected OpCode",
		codeCatastrophic: "catastrophic error, localized to RDMAP Stream",
		0x08:             "catastrophic error, global",
		codeInvalidate:   "STag cannot be Invalidated",
		codeUnspecified:  "unspecified error",
	}},
	{layerDDP, ddp.TypeLocalCatastrophic}: {"DDP local catastrophic error", map[uint8]string{ddp.CodeLocalCatastrophic: ""}},
	taggedError: {"DDP tagged buffer error", map[uint8]string{
		ddp.CodeInvalidSTag:   "invalid STag",
		ddp.CodeBounds:        "base or bounds violation",
		ddp.CodeNotAssociated: "STag not associated with DDP Stream",
		ddp.CodeTOWrap:        "TO wrap",
		ddp.CodeTaggedVersion: "invalid DDP version",
	}},
	untaggedError: {"DDP untagged buffer error", map[uint8]string{
		ddp.CodeInvalidQN:       "invalid QN",
		ddp.CodeNoBuffer:        "invalid MSN: no buffer available",
		ddp.CodeMSNRange:        "invalid MSN: MSN range is not valid",
		ddp.CodeInvalidMO:       "invalid MO",
		ddp.CodeTooLong:         "DDP Message too long for available buffer",
		ddp.CodeUntaggedVersion: "invalid DDP version",
	}},
	{layerDDP, 0x3}: {"DDP error reserved for the LLP", nil},
	{layerLLP, etypeMPA}: {"MPA error", map[uint8]string{
		mpaClosed: "TCP connection closed, terminated, or lost",
		0x02:      "MPA CRC error",
		0x03:      "MPA Marker and ULPDU Length field mismatch",
		mpaFrame:  "invalid MPA Request Frame or MPA Reply Frame",
		0x05:      "local catastrophic error",
		0x06:      "insufficient IRD resources",
		0x07:      "no matching RTR option",
	}},
}

// isRegistered reports whether an RFC has this error (RFC 6580 §3, RFC 6581 §8).
func isRegistered(layer, etype, code uint8) bool {
	kind, ok := errorKinds[errorKind{layer, etype}]
	if !ok || kind.codes == nil {
		return ok
	}
	_, ok = kind.codes[code]
	return ok
}

// errorText returns an error in the words of the RFC that has it.
func errorText(layer, etype, code uint8) string {
	kind, ok := errorKinds[errorKind{layer, etype}]
	if !ok {
		return fmt.Sprintf("layer %#x, error type %#x, code %#02x", layer, etype, code)
	}
	text, known := kind.codes[code]
	switch {
	case kind.codes == nil || known && text == "":
		return kind.name
	case !known:
		return fmt.Sprintf("%s: code %#02x", kind.name, code)
	}
	return kind.name + ": " + text
}
