package mpa

import (
	"encoding/binary"
	"fmt"
	"strings"
)

const (
	// FrameHeaderLen is the length in bytes of a Request or Reply without its Private Data.
	FrameHeaderLen = 20
	// maxPrivateData is the maximum length in bytes of the Private Data.
	// "The Private Data field MUST be between 0 and 512 octets in length." (RFC 5044 §7.1.1)
	maxPrivateData = 512
	// maxEnhancedPrivateData is the part of it that an enhanced frame leaves to the ULP.
	maxEnhancedPrivateData = maxPrivateData - enhancedLen

	// DepthULP as an IRD or ORD means "that automatic negotiation of the IRD or ORD is not desired,
	// and that the ULP will be responsible for it" (RFC 6581 §9.1).
	DepthULP = 0x3FFF

	enhancedLen = 4 // the enhanced data at the beginning of the Private Data
)

// The keys distinguish a Request from a Reply, and MPA from other protocols (RFC 5044 §7.1.1).
const (
	requestKey = "MPA ID Req Frame"
	replyKey   = "MPA ID Rep Frame"
	keyLen     = len(requestKey)
)

// Flags in the octet after the key. The other bits of the octet are reserved.
const (
	flagMarkers  = 0x80 // M
	flagCRC      = 0x40 // C
	flagReject   = 0x20 // R
	flagEnhanced = 0x10 // S, of revision 2
)

// Flags of the enhanced data, read as one number of 32 bits.
const (
	flagPeerToPeer = 1 << 31 // A
	flagRTRSend    = 1 << 30 // B
	flagRTRWrite   = 1 << 15 // C
	flagRTRRead    = 1 << 14 // D
	shiftIRD       = 16
)

// RTR is a set of kinds of Ready to Receive indication. The indication is a message without
// payload. A peer-to-peer Initiator sends it first, so that the Responder may send (RFC 6581 §9.2).
type RTR uint8

// The kinds.
const (
	RTRSend  RTR = 1 << iota // a zero-length Send, which uses one of the Responder's receive buffers
	RTRWrite                 // a zero-length RDMA Write
	RTRRead                  // a zero-length RDMA Read, which counts toward the Initiator's ORD

	allRTR = RTRSend | RTRWrite | RTRRead
)

// String returns the names of the kinds, such as "Send|Write|Read".
func (k RTR) String() string {
	if k == 0 {
		return "none"
	}
	var names []string
	for i, name := range []string{"Send", "Write", "Read"} {
		if k&(1<<i) != 0 {
			names = append(names, name)
		}
	}
	if rest := k &^ allRTR; rest != 0 {
		names = append(names, fmt.Sprintf("RTR(%#x)", uint8(rest)))
	}
	return strings.Join(names, "|")
}

// A Frame is a Request or a Reply (RFC 5044 §7.1.1, RFC 6581 §6):
//
//	 0                   1                   2                   3
//	 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//	+---------------------------------------------------------------+
//	| Key, 16 octets: "MPA ID Req Frame" or "MPA ID Rep Frame"      |
//	+-+-+-+-+-------+---------------+-------------------------------+
//	|M|C|R|S| Res   |     Rev       |          PD_Length            |
//	+-+-+-+-+-------+---------------+-------------------------------+
//	|A|B|          IRD              |C|D|          ORD              |  if S: part of the Private Data
//	+-+-+---------------------------+-+-+---------------------------+
//	| the ULP's Private Data                                        |
//	+---------------------------------------------------------------+
type Frame struct {
	Reply    bool  // a Reply; otherwise a Request
	Markers  bool  // M: the sender of the frame wants Markers in what it receives
	CRC      bool  // C: the sender of the frame wants CRC in both directions
	Reject   bool  // R: the ULP does not want the connection; only in a Reply
	Enhanced bool  // S: the frame has the fields from IRD to RTR; only with Revision 2
	Revision uint8 // 1 or 2

	IRD, ORD   uint16 // depths of the sender of the frame, 14 bits; DepthULP leaves them to the ULP
	PeerToPeer bool   // A: the peer-to-peer model; otherwise client-server
	RTR        RTR    // B, C, D: only with PeerToPeer

	PrivateData []byte // from the ULP; at most 512 bytes, or 508 if Enhanced
}

// Key returns the first bytes of a Reply, or of a Request if reply is false. A stream that begins
// with other bytes is not MPA.
func Key(reply bool) [keyLen]byte {
	if reply {
		return [keyLen]byte([]byte(replyKey))
	}
	return [keyLen]byte([]byte(requestKey))
}

// AppendTo appends the encoded frame to b. It panics if a field does not fit; the methods of
// [Config] make no such frame.
func (f Frame) AppendTo(b []byte) []byte {
	n := len(f.PrivateData)
	if f.Enhanced {
		n += enhancedLen
	}
	// "To use any enhanced connection establishment feature, this MUST be set to two or higher."
	// (RFC 6581 §6)
	if n > maxPrivateData || f.IRD > DepthULP || f.ORD > DepthULP || f.Enhanced && f.Revision < 2 {
		panic(fmt.Sprintf("BUG: no such frame: %+v", f))
	}
	key := Key(f.Reply)
	b = append(b, key[:]...)
	b = append(b, f.flags(), f.Revision)
	// "This field MUST contain the length in octets of the Private Data field." (RFC 5044 §7.1.1)
	b = binary.BigEndian.AppendUint16(b, uint16(n))
	if f.Enhanced {
		// "this field MUST be sent in network byte order" (RFC 6581 §9)
		b = binary.BigEndian.AppendUint32(b, f.enhanced())
	}
	return append(b, f.PrivateData...)
}

// flags returns the octet after the key.
// "Res: This field is reserved for future use. It MUST be set to zero when sending" (RFC 5044
// §7.1.1)
func (f Frame) flags() (b byte) {
	if f.Markers {
		b |= flagMarkers
	}
	if f.CRC {
		b |= flagCRC
	}
	// "R: This bit is set to zero, and not checked on reception in the MPA Request Frame."
	// (RFC 5044 §7.1.1)
	if f.Reject && f.Reply {
		b |= flagReject
	}
	if f.Enhanced {
		b |= flagEnhanced
	}
	return b
}

// enhanced returns the enhanced data as one number.
func (f Frame) enhanced() uint32 {
	v := uint32(f.IRD)<<shiftIRD | uint32(f.ORD)
	// "If Control Flag A is set to 0, then Control Flags B, C, and D MUST also be set to 0."
	// (RFC 6581 §9.2)
	if !f.PeerToPeer {
		return v
	}
	v |= flagPeerToPeer
	if f.RTR&RTRSend != 0 {
		v |= flagRTRSend
	}
	if f.RTR&RTRWrite != 0 {
		v |= flagRTRWrite
	}
	if f.RTR&RTRRead != 0 {
		v |= flagRTRRead
	}
	return v
}

// FrameLen returns the length in bytes of a frame whose first FrameHeaderLen bytes are header. It
// fails if PD_Length is too large, so that the caller need not read a frame that is too long.
// FrameLen checks no other field.
func FrameLen(header []byte) (int, error) {
	if len(header) < FrameHeaderLen {
		return 0, frameErrorf("%d bytes, want at least %d", len(header), FrameHeaderLen)
	}
	n := int(binary.BigEndian.Uint16(header[keyLen+2:]))
	// "if the length of the Private Data field exceeds 512 octets, the receiver MUST close the
	// connection and report an error locally" (RFC 5044 §7.1.1)
	if n > maxPrivateData {
		return 0, frameErrorf("PD_Length is %d, the limit %d", n, maxPrivateData)
	}
	return FrameHeaderLen + n, nil
}

// ParseFrame parses b, which must be exactly one frame. The key of b determines Frame.Reply. The
// methods of [Config] check that the frame is a Request or a Reply as the role requires. Every
// error is an [*Error] with CodeFrame. PrivateData aliases b.
func ParseFrame(b []byte) (Frame, error) {
	n, err := FrameLen(b)
	if err != nil {
		return Frame{}, err
	}
	reply, err := parseKey([keyLen]byte(b))
	if err != nil {
		return Frame{}, err
	}
	flags := b[keyLen]
	f := Frame{Reply: reply, Markers: flags&flagMarkers != 0, CRC: flags&flagCRC != 0, Revision: b[keyLen+1]}
	f.Reject = reply && flags&flagReject != 0
	// "If the MPA receiver cannot interoperate with the received version, then it MUST close the
	// connection and report an error locally." (RFC 5044 §7.1.1)
	if f.Revision != 1 && f.Revision != 2 {
		return Frame{}, frameErrorf("revision %d", f.Revision)
	}
	// "If the receiver detects that the PD_Length field does not match the length of the Private
	// Data field [...] the receiver MUST close the connection" (RFC 5044 §7.1.1)
	if n != len(b) {
		return Frame{}, frameErrorf("PD_Length is %d, there are %d bytes of Private Data", n-FrameHeaderLen, len(b)-FrameHeaderLen)
	}
	f.PrivateData = b[FrameHeaderLen:]
	// In a frame of revision 1 the bit is reserved: "not checked on reception".
	if f.Revision >= 2 && flags&flagEnhanced != 0 {
		if len(f.PrivateData) < enhancedLen {
			return Frame{}, frameErrorf("PD_Length is %d, enhanced data take %d", len(f.PrivateData), enhancedLen)
		}
		f.Enhanced = true
		f.setEnhanced(binary.BigEndian.Uint32(f.PrivateData))
		f.PrivateData = f.PrivateData[enhancedLen:]
	}
	return f, nil
}

// setEnhanced sets the fields that enhanced encodes.
func (f *Frame) setEnhanced(v uint32) {
	f.IRD, f.ORD = uint16(v>>shiftIRD)&DepthULP, uint16(v)&DepthULP
	// "On reception, if Control Flag A is set to 0, then Control Flags B, C, and D MUST be
	// ignored." (RFC 6581 §9.2)
	if v&flagPeerToPeer == 0 {
		return
	}
	f.PeerToPeer = true
	if v&flagRTRSend != 0 {
		f.RTR |= RTRSend
	}
	if v&flagRTRWrite != 0 {
		f.RTR |= RTRWrite
	}
	if v&flagRTRRead != 0 {
		f.RTR |= RTRRead
	}
}

// parseKey reports whether key is the key of a Reply (true) or of a Request (false).
// "If a received "Key" does not match the expected value [...] the TCP/DDP connection MUST be
// closed, and an error returned to the ULP." (RFC 5044 §7.1.2)
func parseKey(key [keyLen]byte) (reply bool, err error) {
	switch key {
	case Key(false):
		return false, nil
	case Key(true):
		return true, nil
	}
	return false, frameErrorf("key %q, want %q or %q", string(key[:]), requestKey, replyKey)
}

// checkRole returns an error if f.Reply differs from reply.
// "MPA implementations MUST use the difference between the MPA Request Frame and the MPA Reply
// Frame to check for incorrect "Initiator/Initiator" startups." (RFC 5044 §7.1.2)
func (f Frame) checkRole(reply bool) error {
	if f.Reply == reply {
		return nil
	}
	key := Key(f.Reply)
	return &Error{Code: CodeFrame, Reason: fmt.Sprintf("key %q", key[:]), Err: ErrSameRole}
}

// frameErrorf returns the error for an improperly formatted frame.
func frameErrorf(format string, args ...any) error {
	return &Error{Code: CodeFrame, Reason: fmt.Sprintf(format, args...)}
}
