package rdmap

import (
	"fmt"

	"github.com/rddp/rddp/ddp"
)

// A TerminateCode is the reason why a stream ends: the Layer that found the error, the Error Type
// and the Error Code of RFC 5040 §4.8. It has the layout of the first two bytes of a Terminate:
//
//	 15         12 11          8 7                   0
//	+-------------+-------------+---------------------+
//	|    Layer    | Error Type  |     Error Code      |
//	+-------------+-------------+---------------------+
//
// Layer 0 is RDMAP, 1 is DDP and 2 is the LLP, which is MPA. RFC 5040 figure 9, RFC 5041 §7.2 and
// RFC 5044 §8 list the codes, and RFC 6581 §8 and RFC 7306 §8 add to them. A peer can send any
// value.
type TerminateCode uint16

// The codes of errors that RDMAP itself finds (RFC 5040 figure 9).
const (
	// RDMA Remote Protection Error
	codeInvalidSTag         TerminateCode = 0x0100
	codeBounds              TerminateCode = 0x0101
	codeAccess              TerminateCode = 0x0102
	codeNotAssociated       TerminateCode = 0x0103
	codeWrap                TerminateCode = 0x0104
	codeProtectedInvalidate TerminateCode = 0x0109 // the STag belongs to another stream

	// RDMA Remote Operation Error
	codeVersion      TerminateCode = 0x0205
	codeOpcode       TerminateCode = 0x0206
	codeCatastrophic TerminateCode = 0x0207 // localized to the RDMAP Stream
	codeInvalidate   TerminateCode = 0x0209
	codeUnspecified  TerminateCode = 0x02FF
)

// The codes of MPA (RFC 5044 §8) after which no Terminate can be sent.
const (
	codeMPAClosed TerminateCode = 0x2001 // the TCP connection is gone
	codeMPAFrame  TerminateCode = 0x2004 // startup failed
)

// makeCode combines the three parts of a code. An etype has 4 bits.
func makeCode(layer, etype, code uint8) TerminateCode {
	return errorKind(layer<<4 | etype&0x0F).code(code)
}

// layerDDP is the Layer of DDP's errors.
const layerDDP = 1

// codeOfDDP returns the code of a Terminate for an error number of DDP. ddp.CodeULP is not such
// a number.
func codeOfDDP(c ddp.Code) TerminateCode { return makeCode(layerDDP, uint8(c>>8), uint8(c)) }

// kind returns the Layer and the Error Type.
func (c TerminateCode) kind() errorKind { return errorKind(c >> 8) }

// errorCode returns the Error Code.
func (c TerminateCode) errorCode() uint8 { return uint8(c) }

// An errorKind is a Layer and one of its Error Types, that is, the first byte of a Terminate.
type errorKind uint8

const (
	localCatastrophic    errorKind = 0x00
	remoteProtection     errorKind = 0x01
	remoteOperation      errorKind = 0x02
	ddpLocalCatastrophic errorKind = 0x10
	taggedError          errorKind = 0x11
	mpaError             errorKind = 0x20
)

// code returns the code of this kind with the given Error Code.
func (k errorKind) code(code uint8) TerminateCode { return TerminateCode(k)<<8 | TerminateCode(code) }

// layer returns the Layer.
func (k errorKind) layer() uint8 { return uint8(k >> 4) }

// carriesHeaders reports whether a Terminate of this kind contains the DDP header (RFC 5040 figure
// 10; "not present if the Terminate Error Type is a Local Catastrophic Error", §4.8).
func (k errorKind) carriesHeaders() bool {
	return k.layer() <= layerDDP && k != localCatastrophic && k != ddpLocalCatastrophic
}

// isRegistered reports whether an RFC defines this code (RFC 6580 §3, RFC 6581 §8).
func (c TerminateCode) isRegistered() bool {
	kind, ok := errorKinds[uint8(c.kind())]
	if !ok || kind.Codes == nil {
		return ok
	}
	_, ok = kind.Codes[c.errorCode()]
	return ok
}

// String returns the Error Type and the Error Code in the words of the RFC that lists them. If no
// RFC does, String returns them as numbers.
func (c TerminateCode) String() string {
	kind, ok := errorKinds[uint8(c.kind())]
	if !ok {
		return fmt.Sprintf("layer %#x, error type %#x, code %#02x", c.kind().layer(), c.kind()&0x0F, c.errorCode())
	}
	text, known := kind.Codes[c.errorCode()]
	switch {
	case kind.Codes == nil || known && text == "":
		return kind.Name
	case !known:
		return fmt.Sprintf("%s: code %#02x", kind.Name, c.errorCode())
	}
	return kind.Name + ": " + text
}
