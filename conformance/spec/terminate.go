package spec

import (
	"encoding/hex"
	"fmt"

	"github.com/rddp/rddp/rdmap"
)

// A code is the contents of a Terminate's first fields: layer, error type and error code.
type code struct{ layer, etype, code byte }

func (c code) String() string {
	return fmt.Sprintf("%v (%#x/%#x/%#02x)", rdmap.TerminateCode(uint16(c.layer)<<12|uint16(c.etype)<<8|uint16(c.code)), c.layer, c.etype, c.code)
}

// wantTerminate reads to the end of the stream. Exactly one Terminate must arrive, with one of the
// codes, or with any code if there are none. wantTerminate returns the Terminate and its segment.
func (s *session) wantTerminate(codes ...code) outcome { return s.ending(false, codes) }

// wantEnd is wantTerminate for a peer that may also just close. If there are no codes, only the end
// matters.
func (s *session) wantEnd(codes ...code) { s.ending(true, codes) }

func (s *session) ending(orClose bool, codes []code) outcome {
	o := s.outcome()
	if s.err != nil {
		return o
	}
	want := "a Terminate"
	for i, c := range codes {
		want += []string{": ", ", or "}[min(i, 1)] + c.String()
	}
	if orClose {
		want += "; or no Terminate"
	}
	want += "; then the end of the connection"
	match := len(codes) == 0
	for _, c := range codes {
		match = match || o.term != nil && o.term.code == c
	}
	switch {
	case len(o.messages) > 0:
		s.fail(want, "%v", o.messages[0].segment)
	case o.term == nil && (!orClose || s.ended == stillOpen):
		s.fail(want, "%s", s.silence(nil))
	case o.term != nil && !match:
		s.fail(want, "%v", o.term)
	case s.ended == stillOpen:
		s.fail(want, "%v; then nothing within %v, and %v", o.term, s.cfg.timeout(), s.ended)
	}
	return o
}

// A terminate is the Terminate Header (RFC 5040 §4.8), as it arrived.
type terminate struct {
	code
	flags    byte // M, D and R in the top three bits
	reserved bool // one of the other bits, or of the bits of the next octet, is set
	length   int  // DDP Segment Length
	header   []byte
	rdmap    []byte
	raw      []byte
}

const (
	termM = 0x80
	termD = 0x40
	termR = 0x20
)

// parseTerminate returns nil if b ends inside the header. If a header follows, Figure 7 has a place
// for the DDP Segment Length, valid or not.
func parseTerminate(b []byte) *terminate {
	if len(b) < 4 {
		return nil
	}
	t := &terminate{code: code{b[0] >> 4, b[0] & 15, b[1]}, flags: b[2] & 0xE0, reserved: b[2]&0x1F != 0 || b[3] != 0, raw: b}
	rest := b[4:]
	if t.flags&(termM|termD) != 0 {
		if len(rest) < 2 {
			return nil
		}
		t.length, rest = int(be32(b[2:])&0xFFFF), rest[2:]
	}
	if t.flags&termD != 0 {
		n := untaggedLen
		if len(rest) > 0 && rest[0]&ddpTagged != 0 {
			n = taggedLen
		}
		if len(rest) < n {
			return nil
		}
		t.header, rest = rest[:n], rest[n:]
	}
	if t.flags&termR != 0 {
		t.rdmap = rest
	}
	return t
}

func (t *terminate) String() string {
	if t == nil {
		return "no Terminate"
	}
	text := fmt.Sprintf("a Terminate that says %v; its header is %s", t.code, hex.EncodeToString(t.raw[:min(len(t.raw), 64)]))
	if p, err := rdmap.ParseTerminate(t.raw); err == nil && p.HostOrder {
		text += fmt.Sprintf(", which in the bit order of a little-endian host says %v", code{byte(p.Code >> 12), byte(p.Code>>8) & 0xF, byte(p.Code)})
	}
	return text
}
