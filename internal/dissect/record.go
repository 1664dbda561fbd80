package dissect

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// The kinds of records.
const (
	KindRequest = "mpa-request"
	KindReply   = "mpa-reply"
	KindFPDU    = "fpdu"
	KindSummary = "summary" // at the end: the part of the capture that is in no other record
	KindError   = "error"   // a flow that can't be decoded, or not any further; Error says why
)

// The results of checking the CRC field of an FPDU.
const (
	CRCGood = "good"
	CRCBad  = "bad"
	CRCOff  = "off" // neither side asked for CRC, so the field is ignored
)

// Record is one item found in a capture: an MPA frame, an FPDU, or an error in a flow. Its JSON
// form is one flat object. Numbers of 64 bits are strings, as Hex64 says.
type Record struct {
	Time time.Time      `json:"-"`             // when the packet that completed it was captured
	T    Seconds        `json:"t"`             // the same, counted from the capture's first packet
	Src  netip.AddrPort `json:"src,omitzero"`  // sender of the octets
	Dst  netip.AddrPort `json:"dst,omitzero"`  // receiver
	Kind string         `json:"kind"`          // one of the constants
	Op   string         `json:"op,omitempty"`  // KindFPDU: the RDMAP message, "rdma-write", "send-se" …
	CRC  string         `json:"crc,omitempty"` // KindFPDU: one of the constants

	*Startup // KindRequest and KindReply, otherwise nil
	*FPDU    // KindFPDU, otherwise nil
	*Summary // KindSummary, which has no ends; otherwise nil

	// Error is the text of a KindError. In an FPDU it describes an error in that FPDU other than
	// its CRC.
	Error string `json:"error,omitempty"`
}

// Seconds is a duration that JSON represents as a number of seconds, with nanosecond precision.
type Seconds time.Duration

// MarshalJSON implements json.Marshaler.
func (s Seconds) MarshalJSON() ([]byte, error) { return json.Marshal(time.Duration(s).Seconds()) }

// UnmarshalJSON implements json.Unmarshaler.
func (s *Seconds) UnmarshalJSON(b []byte) error {
	var f float64
	err := json.Unmarshal(b, &f)
	*s = Seconds(f * float64(time.Second))
	return err
}

// Hex is a string of octets that JSON represents as hexadecimal digits.
type Hex []byte

// MarshalText implements encoding.TextMarshaler.
func (h Hex) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(h)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex) UnmarshalText(b []byte) error {
	var err error
	*h, err = hex.DecodeString(string(b))
	return err
}

// Startup is an MPA Request or Reply Frame (RFC 5044 §7.1.1, RFC 6581 §6).
type Startup struct {
	Revision    uint8 `json:"rev"`
	WantMarkers bool  `json:"want_markers"` // M: the sender wants markers in the data that it receives
	WantCRC     bool  `json:"want_crc"`     // C
	Reject      bool  `json:"reject"`       // R
	PrivateData Hex   `json:"private_data"` // the ULP's, without the four octets of the enhanced form

	*Enhanced // nil if the frame does not have S, or has revision 1
}

// Enhanced contains the fields that revision 2 adds to a frame with the S bit.
type Enhanced struct {
	IRD        uint16 `json:"ird"` // 16383: left to the ULP
	ORD        uint16 `json:"ord"`
	PeerToPeer bool   `json:"peer_to_peer"` // A
	RTRSend    bool   `json:"rtr_send"`     // B
	RTRWrite   bool   `json:"rtr_write"`    // C
	RTRRead    bool   `json:"rtr_read"`     // D
}

// FPDU is one FPDU and the DDP Segment in it. Headers that it doesn't have are nil, and so are
// headers that can't be parsed; Record.Error then says why.
type FPDU struct {
	ULPDULen   int  `json:"ulpdu_len"`
	Last       bool `json:"last"`        // L: the DDP Message ends with this segment
	PayloadLen int  `json:"payload_len"` // octets after the DDP header
	Markers    int  `json:"markers,omitempty"`
	PadSet     bool `json:"pad_set,omitempty"` // a pad octet is not zero, although it must be

	*Tagged
	*Untagged
	Invalidate *ddp.STag `json:"invalidate_stag,omitempty"`
	*ReadRequest
	*AtomicRequest
	*AtomicResponse
	Immediate Hex `json:"immediate,omitempty"`
	*Terminate

	Payload []byte `json:"-"` // after the DDP header; valid until emit returns
}

// Hex64 is a number of 64 bits. In JSON it is a hexadecimal string such as "0x1f", because many
// readers of JSON keep only 53 bits of a number.
type Hex64 uint64

// MarshalText implements encoding.TextMarshaler.
func (h Hex64) MarshalText() ([]byte, error) { return fmt.Appendf(nil, "%#x", uint64(h)), nil }

// UnmarshalText implements encoding.TextUnmarshaler.
func (h *Hex64) UnmarshalText(text []byte) error {
	n, err := strconv.ParseUint(string(text), 0, 64)
	*h = Hex64(n)
	return err
}

// Tagged contains the fields of a tagged DDP header (RFC 5041 §4.2).
type Tagged struct {
	STag ddp.STag `json:"stag"`
	TO   Hex64    `json:"to"`
}

// Untagged contains the fields of an untagged DDP header (RFC 5041 §4.3).
type Untagged struct {
	QN  ddp.QN `json:"qn"`
	MSN uint32 `json:"msn"`
	MO  uint32 `json:"mo"`
}

// ReadRequest is the header of an RDMA Read Request (RFC 5040 §4.4).
type ReadRequest struct {
	SinkSTag   ddp.STag `json:"sink_stag"`
	SinkTO     Hex64    `json:"sink_to"`
	ReadSize   uint32   `json:"read_size"`
	SourceSTag ddp.STag `json:"source_stag"`
	SourceTO   Hex64    `json:"source_to"`
}

// AtomicRequest is the header of an Atomic Request (RFC 7306 §5.2.1).
type AtomicRequest struct {
	AtomicOp    rdmap.AtomicOp `json:"atomic_op"` // 0 FetchAdd, 2 CmpSwap
	RequestID   uint32         `json:"request_id"`
	RemoteSTag  ddp.STag       `json:"remote_stag"`
	RemoteTO    Hex64          `json:"remote_to"`
	Data        Hex64          `json:"data"`
	Mask        Hex64          `json:"mask"`
	Compare     Hex64          `json:"compare"`
	CompareMask Hex64          `json:"compare_mask"`
}

// AtomicResponse is the header of an Atomic Response (RFC 7306 §5.2.2).
type AtomicResponse struct {
	OriginalRequestID uint32 `json:"original_request_id"`
	Original          Hex64  `json:"original"`
}

// Terminate is the header of a Terminate Message (RFC 5040 §4.8), in words, in numbers and as raw
// octets.
type Terminate struct {
	Words     string `json:"terminate"`
	Layer     uint8  `json:"layer"`
	ErrorType uint8  `json:"error_type"`
	ErrorCode uint8  `json:"error_code"`
	// HostOrder is set if the control bits have the order of Linux's siw, which is not the RFC's.
	HostOrder bool `json:"host_order,omitempty"`
	Raw       Hex  `json:"terminate_hex"`
}

// opNames are the names of opcodes in JSON: those of the RFCs in lower case with dashes.
var opNames = map[rdmap.Opcode]string{
	rdmap.OpWrite:            "rdma-write",
	rdmap.OpReadRequest:      "rdma-read-request",
	rdmap.OpReadResponse:     "rdma-read-response",
	rdmap.OpSend:             "send",
	rdmap.OpSendInvalidate:   "send-invalidate",
	rdmap.OpSendSE:           "send-se",
	rdmap.OpSendSEInvalidate: "send-se-invalidate",
	rdmap.OpTerminate:        "terminate",
	rdmap.OpImmediate:        "immediate",
	rdmap.OpImmediateSE:      "immediate-se",
	rdmap.OpAtomicRequest:    "atomic-request",
	rdmap.OpAtomicResponse:   "atomic-response",
}
