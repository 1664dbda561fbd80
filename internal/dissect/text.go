package dissect

import (
	"fmt"
	"strings"
	"time"
)

// String returns the record as one line of text: time, ends, and its contents in words.
func (r Record) String() string {
	var b strings.Builder
	if r.Summary != nil {
		r.Summary.text(&b)
		return b.String()
	}
	fmt.Fprintf(&b, "%.6f %v > %v ", time.Duration(r.T).Seconds(), r.Src, r.Dst)
	switch {
	case r.Startup != nil:
		b.WriteString(r.Kind)
		r.Startup.text(&b)
	case r.FPDU != nil:
		r.fpduText(&b)
	}
	switch {
	case r.Kind == KindError:
		fmt.Fprintf(&b, "error: %s", r.Error)
	case r.Error != "":
		fmt.Fprintf(&b, " (error: %s)", r.Error)
	}
	return b.String()
}

func (s *Startup) text(b *strings.Builder) {
	fmt.Fprintf(b, " rev %d", s.Revision)
	flag(b, s.Reject, "REJECTED")
	flag(b, s.WantCRC, "crc")
	flag(b, s.WantMarkers, "markers")
	if e := s.Enhanced; e != nil {
		fmt.Fprintf(b, " ird %d ord %d", e.IRD, e.ORD)
		flag(b, e.PeerToPeer, "peer-to-peer rtr")
		flag(b, e.PeerToPeer && e.RTRSend, "send") // the RTR bits mean nothing without A
		flag(b, e.PeerToPeer && e.RTRWrite, "write")
		flag(b, e.PeerToPeer && e.RTRRead, "read")
	}
	if len(s.PrivateData) > 0 {
		fmt.Fprintf(b, ", private data %s", octetText([]byte(s.PrivateData)))
	}
}

// octetText shows every octet: printable ASCII unchanged, everything else as \x and two digits.
func octetText(p []byte) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range p {
		switch {
		case c == '"' || c == '\\':
			b.WriteByte('\\')
			b.WriteByte(c)
		case c >= ' ' && c <= '~':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, `\x%02x`, c)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func flag(b *strings.Builder, set bool, word string) {
	if set {
		b.WriteByte(' ')
		b.WriteString(word)
	}
}

func (r Record) fpduText(b *strings.Builder) {
	f := r.FPDU
	if r.Op == "" {
		b.WriteString(r.Kind)
	}
	b.WriteString(r.Op)
	switch {
	case f.Tagged != nil:
		fmt.Fprintf(b, " stag %v to %#x", f.STag, f.TO)
	case f.Untagged != nil:
		fmt.Fprintf(b, " qn %d msn %d mo %d", f.QN, f.MSN, f.MO)
	}
	if f.Invalidate != nil {
		fmt.Fprintf(b, " invalidates stag %v", *f.Invalidate)
	}
	fmt.Fprintf(b, ", %d bytes", f.PayloadLen)
	flag(b, f.Last, "last")
	if h := f.ReadRequest; h != nil {
		fmt.Fprintf(b, ": %d bytes from stag %v to %#x into stag %v to %#x",
			h.ReadSize, h.SourceSTag, h.SourceTO, h.SinkSTag, h.SinkTO)
	}
	if h := f.AtomicRequest; h != nil {
		fmt.Fprintf(b, ": %s id %d stag %v to %#x data %#x mask %#x compare %#x mask %#x",
			h.AtomicOp, h.RequestID, h.RemoteSTag, h.RemoteTO, h.Data, h.Mask, h.Compare, h.CompareMask)
	}
	if h := f.AtomicResponse; h != nil {
		fmt.Fprintf(b, ": id %d original %#x", h.OriginalRequestID, h.Original)
	}
	if f.Immediate != nil {
		fmt.Fprintf(b, ": % x", []byte(f.Immediate))
	}
	if h := f.Terminate; h != nil {
		fmt.Fprintf(b, ": %s (%#x/%#x/%#02x)", h.Words, h.Layer, h.ErrorType, h.ErrorCode)
		flag(b, h.HostOrder, "in siw's bit order")
	}
	fmt.Fprintf(b, " [ulpdu %d crc %s", f.ULPDULen, r.CRC)
	if f.Markers > 0 {
		fmt.Fprintf(b, " markers %d", f.Markers)
	}
	flag(b, f.PadSet, "pad not zero")
	b.WriteByte(']')
}
