package spec

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
)

// MPA startup frames (RFC 5044 §7.1.1, RFC 6581 §6).
const (
	keyRequest = "MPA ID Req Frame"
	keyReply   = "MPA ID Rep Frame"
	frameLen   = 20  // bytes without Private Data
	maxPrivate = 512 // bytes of Private Data

	flagM   = 0x80
	flagC   = 0x40
	flagR   = 0x20
	flagS   = 0x10
	flagRes = 0x0F // reserved with S; without S, flagS is reserved too

	// These are the flags of the enhanced data, read as one word of 32 bits.
	bitA      = 0x80000000
	bitB      = 0x40000000 // Send
	bitC      = 0x00008000 // Write
	bitD      = 0x00004000 // Read
	depthULP  = 0x3FFF
	markEvery = 512
)

// A frame is a Request or a Reply, correct or not.
type frame struct {
	key      string
	flags    byte
	revision byte
	private  []byte // with flagS it begins with the enhanced data
	length   int    // PD_Length; 0 means the length of private
}

func (f frame) octets() []byte {
	n := len(f.private)
	if f.length != 0 {
		n = f.length
	}
	b := append([]byte(f.key), f.flags, f.revision)
	return append(binary.BigEndian.AppendUint16(b, uint16(n)), f.private...)
}

func (f frame) isEnhanced() bool { return f.revision >= 2 && f.flags&flagS != 0 && len(f.private) >= 4 }

// word returns the enhanced data, or 0 without them.
func (f frame) word() uint32 {
	if !f.isEnhanced() {
		return 0
	}
	return binary.BigEndian.Uint32(f.private)
}

func (f frame) ird() int { return int(f.word() >> 16 & depthULP) }
func (f frame) ord() int { return int(f.word() & depthULP) }

// ulp returns the Private Data of the peer's program.
func (f frame) ulp() []byte {
	if f.isEnhanced() {
		return f.private[4:]
	}
	return f.private
}

func (f frame) String() string {
	text := fmt.Sprintf("flags %#02x, revision %d, %d bytes of Private Data", f.flags, f.revision, len(f.private))
	if f.isEnhanced() {
		text += fmt.Sprintf(", enhanced data %#08x (IRD %d, ORD %d)", f.word(), f.ird(), f.ord())
	}
	return text
}

func enhanced(word uint32) []byte { return binary.BigEndian.AppendUint32(nil, word) }

// depths returns the enhanced data without flags.
func depths(ird, ord int) uint32 { return uint32(ird)<<16 | uint32(ord) }

// An fpdu is an FPDU to send, correct or not.
type fpdu struct {
	ulpdu     []byte
	length    int    // ULPDU_Length; 0 means the length of ulpdu
	pad       byte   // the value of the pad bytes
	crcXor    uint32 // the error in the CRC field
	ptrXor    uint16 // the error in the FPDUPTR of Markers
	markerRes uint16 // the reserved octets of Markers
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// appendTo appends the FPDU that begins at offset off of the stream. With markers it inserts
// Markers.
func (f fpdu) appendTo(b []byte, off uint64, crc, markers bool) []byte {
	n := len(f.ulpdu)
	if f.length != 0 {
		n = f.length
	}
	body := append(binary.BigEndian.AppendUint16(nil, uint16(n)), f.ulpdu...)
	for len(body)%4 != 0 {
		body = append(body, f.pad)
	}
	from := len(b)
	start := off // of ULPDU_Length
	marker := func(first bool) {
		at := off + uint64(len(b)-from)
		if !markers || at%markEvery != 0 {
			return
		}
		if first {
			start = at + 4
		}
		ptr := uint16(0)
		if !first {
			ptr = uint16(at - start)
		}
		b = binary.BigEndian.AppendUint16(b, f.markerRes)
		b = binary.BigEndian.AppendUint16(b, ptr^f.ptrXor)
	}
	for i := 0; i < len(body); i += 4 {
		marker(i == 0)
		b = append(b, body[i:i+4]...)
	}
	marker(false)
	sum := uint32(0)
	if crc {
		sum = crc32.Checksum(b[from:], castagnoli)
	}
	return binary.LittleEndian.AppendUint32(b, sum^f.crcXor)
}

// These are the control octets of DDP and RDMAP.
const (
	ddpTagged = 0x80
	ddpLast   = 0x40
	ddpRsvd   = 0x3C
	ddpDV     = 0x03
	rdmapRV   = 0xC0
	rdmapRsv  = 0x30
	version   = 1 // of both

	opWrite          = 0x0
	opReadRequest    = 0x1
	opReadResponse   = 0x2
	opSend           = 0x3
	opSendInv        = 0x4
	opSendSE         = 0x5
	opSendSEInv      = 0x6
	opTerminate      = 0x7
	opImmediate      = 0x8
	opImmediateSE    = 0x9
	opAtomicRequest  = 0xA
	opAtomicResponse = 0xB

	qnSend      = 0
	qnRead      = 1
	qnTerminate = 2
	qnAtomic    = 3

	taggedLen   = 14
	untaggedLen = 18
)

// opNames are the opcodes' names for expected and actual answers.
var opNames = map[byte]string{
	opWrite: "RDMA Write", opReadRequest: "RDMA Read Request", opReadResponse: "RDMA Read Response", opSend: "Send",
	opSendInv: "Send with Invalidate", opSendSE: "Send with Solicited Event", opSendSEInv: "Send with Solicited Event and Invalidate",
	opTerminate: "Terminate", opImmediate: "Immediate Data", opImmediateSE: "Immediate Data with Solicited Event",
	opAtomicRequest: "Atomic Request", opAtomicResponse: "Atomic Response",
}

func opName(op byte) string {
	if name, ok := opNames[op]; ok {
		return name
	}
	return fmt.Sprintf("opcode %#x", op)
}

// A segment is one DDP segment, sent or received.
type segment struct {
	ddp, rdmap byte   // the control octets
	stag       uint32 // tagged
	to         uint64
	inv        uint32 // untagged: the Invalidate STag
	qn, msn    uint32
	mo         uint32
	payload    []byte

	size   int  // length in bytes of the received ULPDU
	padSet bool // a pad byte was not zero
}

func (g segment) tagged() bool { return g.ddp&ddpTagged != 0 }
func (g segment) last() bool   { return g.ddp&ddpLast != 0 }
func (g segment) op() byte     { return g.rdmap & 0x0F }

// octets returns the ULPDU.
func (g segment) octets() []byte {
	b := []byte{g.ddp, g.rdmap}
	if g.tagged() {
		b = binary.BigEndian.AppendUint32(b, g.stag)
		b = binary.BigEndian.AppendUint64(b, g.to)
		return append(b, g.payload...)
	}
	for _, v := range []uint32{g.inv, g.qn, g.msn, g.mo} {
		b = binary.BigEndian.AppendUint32(b, v)
	}
	return append(b, g.payload...)
}

func parseSegment(b []byte) (g segment, ok bool) {
	g.size = len(b)
	if len(b) < taggedLen || b[0]&ddpTagged == 0 && len(b) < untaggedLen {
		return g, false
	}
	g.ddp, g.rdmap = b[0], b[1]
	if g.tagged() {
		g.stag, g.to, g.payload = binary.BigEndian.Uint32(b[2:]), binary.BigEndian.Uint64(b[6:]), b[taggedLen:]
		return g, true
	}
	g.inv, g.qn = binary.BigEndian.Uint32(b[2:]), binary.BigEndian.Uint32(b[6:])
	g.msn, g.mo, g.payload = binary.BigEndian.Uint32(b[10:]), binary.BigEndian.Uint32(b[14:]), b[untaggedLen:]
	return g, true
}

func (g segment) String() string {
	if g.tagged() {
		return fmt.Sprintf("%s to STag %#08x TO %#x, %d bytes, control bytes %02x %02x", opName(g.op()), g.stag, g.to, len(g.payload), g.ddp, g.rdmap)
	}
	return fmt.Sprintf("%s on QN %d, MSN %d, MO %d, %d bytes, control bytes %02x %02x", opName(g.op()), g.qn, g.msn, g.mo, len(g.payload), g.ddp, g.rdmap)
}

// tagged returns a tagged message in one segment.
func tagged(op byte, stag uint32, to uint64, payload []byte) segment {
	return segment{ddp: ddpTagged | ddpLast | version, rdmap: version<<6 | op, stag: stag, to: to, payload: payload}
}

// untagged returns an untagged message in one segment.
func untagged(op byte, qn, msn uint32, payload []byte) segment {
	return segment{ddp: ddpLast | version, rdmap: version<<6 | op, qn: qn, msn: msn, payload: payload}
}

// A readHeader is the RDMA Read Request Header (RFC 5040 §4.4).
func readHeader(sinkSTag uint32, sinkTO uint64, n, stag uint32, to uint64) []byte {
	b := binary.BigEndian.AppendUint32(nil, sinkSTag)
	b = binary.BigEndian.AppendUint64(b, sinkTO)
	b = binary.BigEndian.AppendUint32(b, n)
	b = binary.BigEndian.AppendUint32(b, stag)
	return binary.BigEndian.AppendUint64(b, to)
}

// An atomic is the Atomic Request Header (RFC 7306 §5.2.1).
type atomic struct {
	op                uint32
	id                uint32
	stag              uint32
	to                uint64
	data, mask        uint64
	compare, compMask uint64
}

const (
	fetchAdd = 0
	cmpSwap  = 2
)

func (a atomic) octets() []byte {
	b := binary.BigEndian.AppendUint32(nil, a.op)
	b = binary.BigEndian.AppendUint32(b, a.id)
	b = binary.BigEndian.AppendUint32(b, a.stag)
	for _, v := range []uint64{a.to, a.data, a.mask, a.compare, a.compMask} {
		b = binary.BigEndian.AppendUint64(b, v)
	}
	return b
}

func be32(b []byte) uint32 { return binary.BigEndian.Uint32(b) }
func be64(b []byte) uint64 { return binary.BigEndian.Uint64(b) }
