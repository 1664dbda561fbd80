package dissect

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

const (
	ddpVersion   = 1 // DV of RFC 5041
	rdmapVersion = 1 // RV of RFC 5040
)

func newStartup(f mpa.Frame) *Startup {
	s := &Startup{
		Revision:    f.Revision,
		WantMarkers: f.Markers,
		WantCRC:     f.CRC,
		Reject:      f.Reject,
		PrivateData: f.PrivateData,
	}
	if f.Enhanced {
		s.Enhanced = &Enhanced{
			IRD:        f.IRD,
			ORD:        f.ORD,
			PeerToPeer: f.PeerToPeer,
			RTRSend:    f.RTR&mpa.RTRSend != 0,
			RTRWrite:   f.RTR&mpa.RTRWrite != 0,
			RTRRead:    f.RTR&mpa.RTRRead != 0,
		}
	}
	return s
}

// setFPDU makes r the record of p, except for its CRC. In case of an error r has the headers before
// the error.
func (r *Record) setFPDU(p framed) error {
	r.Kind = KindFPDU
	r.FPDU = &FPDU{ULPDULen: len(p.ulpdu), Markers: p.markers, PadSet: p.padSet}
	tagged := ddp.IsTagged(p.ulpdu)
	if n := len(p.ulpdu); n < ddp.TaggedHeaderLen || !tagged && n < ddp.UntaggedHeaderLen {
		return fmt.Errorf("a ULPDU of %d bytes is shorter than its DDP header", n)
	}
	if tagged {
		h, payload, err := ddp.ParseTagged(p.ulpdu)
		if err != nil {
			return versionError(p.ulpdu)
		}
		r.Tagged = &Tagged{STag: h.STag, TO: Hex64(h.TO)}
		r.Last = h.Last
		return r.setMessage(h.RsvdULP, payload)
	}
	h, payload, err := ddp.ParseUntagged(p.ulpdu)
	if err != nil {
		return versionError(p.ulpdu)
	}
	r.Untagged = &Untagged{QN: h.QN, MSN: h.MSN, MO: h.MO}
	r.Last = h.Last
	if op, _ := rdmap.ParseControl(h.RsvdULP); op == rdmap.OpSendInvalidate || op == rdmap.OpSendSEInvalidate {
		stag := ddp.STag(h.RsvdULP32)
		r.Invalidate = &stag
	}
	return r.setMessage(h.RsvdULP, payload)
}

// versionError returns the error of a DDP header that is long enough and can't be parsed, which
// means that its DV is wrong.
func versionError(ulpdu []byte) error {
	return fmt.Errorf("DDP version %d, want %d", ulpdu[0]&3, ddpVersion)
}

// setMessage sets the fields of RDMAP: the operation, and its header after the DDP header.
func (r *Record) setMessage(control uint8, payload []byte) error {
	r.Payload, r.PayloadLen = payload, len(payload)
	op, version := rdmap.ParseControl(control)
	name, known := opNames[op]
	if !known {
		name = fmt.Sprintf("opcode-%#x", uint8(op))
	}
	r.Op = name
	switch {
	case version != rdmapVersion:
		return fmt.Errorf("RDMAP version %d, want %d", version, rdmapVersion)
	case !known:
		return fmt.Errorf("unknown RDMAP opcode %#x", uint8(op))
	case (r.Tagged != nil) != (op == rdmap.OpWrite || op == rdmap.OpReadResponse):
		return fmt.Errorf("%s in a segment of the wrong buffer model", name)
	}
	return r.FPDU.setHeader(op, payload)
}

// setHeader parses the RDMAP header of the operations that have one.
func (f *FPDU) setHeader(op rdmap.Opcode, b []byte) error {
	switch op {
	case rdmap.OpReadRequest:
		h, rest, err := rdmap.ParseReadRequest(b)
		if err != nil {
			return err
		}
		f.ReadRequest = &ReadRequest{
			SinkSTag: h.SinkSTag, SinkTO: Hex64(h.SinkTO), ReadSize: h.Size,
			SourceSTag: h.SourceSTag, SourceTO: Hex64(h.SourceTO),
		}
		return noMore(rest)
	case rdmap.OpAtomicRequest:
		h, rest, err := rdmap.ParseAtomicRequest(b)
		if err != nil {
			return err
		}
		f.AtomicRequest = &AtomicRequest{
			AtomicOp: h.Op, RequestID: h.ID, RemoteSTag: h.STag, RemoteTO: Hex64(h.TO),
			Data: Hex64(h.Data), Mask: Hex64(h.Mask), Compare: Hex64(h.Compare), CompareMask: Hex64(h.CompareMask),
		}
		return noMore(rest)
	case rdmap.OpAtomicResponse:
		h, rest, err := rdmap.ParseAtomicResponse(b)
		if err != nil {
			return err
		}
		f.AtomicResponse = &AtomicResponse{OriginalRequestID: h.ID, Original: Hex64(h.Original)}
		return noMore(rest)
	case rdmap.OpImmediate, rdmap.OpImmediateSE:
		if len(b) != rdmap.ImmediateLen {
			return fmt.Errorf("%d bytes of Immediate Data, want %d", len(b), rdmap.ImmediateLen)
		}
		f.Immediate = bytes.Clone(b)
	case rdmap.OpTerminate:
		t, err := rdmap.ParseTerminate(b)
		if err != nil {
			return err
		}
		f.Terminate = &Terminate{
			Words: t.Code.String(), Layer: uint8(t.Code >> 12), ErrorType: uint8(t.Code>>8) & 0xF, ErrorCode: uint8(t.Code),
			HostOrder: t.HostOrder, Raw: bytes.Clone(b),
		}
	}
	return nil
}

func noMore(rest []byte) error {
	if len(rest) != 0 {
		return fmt.Errorf("%d bytes after the RDMAP header", len(rest))
	}
	return nil
}

// onlyFPDUs reports whether a TCP segment consists only of FPDUs without markers: whole FPDUs with
// valid headers up to its end, all with a good CRC (crc) or all with zero in that field (!crc). If
// open is set, the last one may be incomplete, as long as its headers are present.
func onlyFPDUs(b []byte, open bool) (crc, ok bool) {
	var f framer
	for first := true; len(b) > 0; first = false {
		p, whole := f.next(b)
		if !whole {
			if !open || len(b) < lengthLen {
				return false, false
			}
			return crc, new(Record).setFPDU(framed{ulpdu: b[lengthLen:]}) == nil
		}
		if new(Record).setFPDU(p) != nil {
			return false, false
		}
		zero := binary.LittleEndian.Uint32(b[p.size-crcLen:p.size]) == 0
		if first {
			crc = p.crcGood
		}
		if crc && !p.crcGood || !crc && !zero {
			return false, false
		}
		b = b[p.size:]
	}
	return crc, true
}
