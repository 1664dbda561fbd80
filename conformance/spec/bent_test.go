package spec_test

import (
	"context"
	"encoding/binary"
	"hash/crc32"
	"net"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/conformance/spec"
	"github.com/rddp/rddp/conformance/specpeer"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// A bent connection makes an incorrect peer out of a correct one. It changes the peer's output, or
// hides errors from it.
type bent struct {
	net.Conn
	said  func(unit []byte) []byte // changes the Reply and each ULPDU of the peer; nil: drops it
	heard func([]byte) []byte      // changes what is written to the peer
	begun bool
	raw   []byte // of the peer, not yet a whole unit
	out   []byte // changed, not yet read
}

func (b *bent) Write(p []byte) (int, error) {
	if b.heard != nil {
		if _, err := b.Conn.Write(b.heard(append([]byte(nil), p...))); err != nil {
			return 0, err
		}
		return len(p), nil
	}
	return b.Conn.Write(p)
}

func (b *bent) Read(p []byte) (int, error) {
	buf := make([]byte, 4096)
	for len(b.out) == 0 {
		n, err := b.Conn.Read(buf)
		b.raw = append(b.raw, buf[:n]...)
		b.bend()
		if err != nil && len(b.out) == 0 {
			return 0, err
		}
	}
	n := copy(p, b.out)
	b.out = b.out[n:]
	return n, nil
}

// bend moves whole units from raw to out.
func (b *bent) bend() {
	for {
		head, tail := 2, 0
		if !b.begun {
			head = 20
		}
		if len(b.raw) < head {
			return
		}
		n := int(binary.BigEndian.Uint16(b.raw[head-2:]))
		if b.begun {
			tail = -(n+2)&3 + 4
		}
		if len(b.raw) < head+n+tail {
			return
		}
		unit := append([]byte(nil), b.raw[:head+n]...)
		b.raw = b.raw[head+n+tail:]
		if b.said != nil {
			if b.begun {
				unit = b.said(unit[2:])
			} else {
				unit = b.said(unit)
			}
		} else if b.begun {
			unit = unit[2:]
		}
		switch {
		case unit == nil:
		case b.begun:
			b.out = append(b.out, framed(unit)...)
		default:
			b.out = append(b.out, unit...)
		}
		b.begun = true
	}
}

// framed returns a ULPDU as an FPDU.
func framed(ulpdu []byte) []byte {
	f := append(binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu))), ulpdu...)
	f = append(f, make([]byte, -len(f)&3)...)
	return binary.LittleEndian.AppendUint32(f, crc32.Checksum(f, crc32.MakeTable(crc32.Castagnoli)))
}

// onTerminate changes Terminates only.
func onTerminate(change func(header []byte) []byte) func([]byte) []byte {
	return func(unit []byte) []byte {
		if len(unit) < 20 || unit[0] != 0x41 || unit[1] != 0x47 {
			return unit
		}
		header := change(unit[18:])
		if header == nil {
			return nil
		}
		return append(unit[:18:18], header...)
	}
}

// onSegment changes segments with this RDMAP control octet.
func onSegment(control byte, change func(ulpdu []byte) []byte) func([]byte) []byte {
	return func(unit []byte) []byte {
		if len(unit) < 2 || unit[1] != control || string(unit[:3]) == "MPA" {
			return unit
		}
		return change(unit)
	}
}

func onReply(change func(frame []byte)) func([]byte) []byte {
	return func(unit []byte) []byte {
		if strings.HasPrefix(string(unit), "MPA") {
			change(unit)
		}
		return unit
	}
}

// repaired gives every FPDU a good CRC, so that the peer behaves as one that does not check CRCs.
func repaired(p []byte) []byte {
	if strings.HasPrefix(string(p), "MPA") {
		return p
	}
	var out []byte
	for len(p) >= 2 {
		n := 2 + int(binary.BigEndian.Uint16(p))
		out = append(out, framed(p[2:n])...)
		p = p[n+(-n&3)+4:]
	}
	return out
}

// A peer with one error is detected, and the report has the right words.
func TestBrokenPeers(t *testing.T) {
	for _, tt := range []struct {
		desc          string
		section       string
		said, heard   func([]byte) []byte
		expected, got string // parts of
	}{
		{"says nothing when it ends", "5041/7.2/invalid-stag", onTerminate(func([]byte) []byte { return nil }), nil,
			"a Terminate: DDP tagged buffer error: invalid STag (0x1/0x1/0x00); then the end", "nothing, then FIN"},
		{"the wrong code", "5041/7.2/beyond-end", onTerminate(func(h []byte) []byte { h[1] = 0; return h }), nil,
			"(0x1/0x1/0x01)", "(0x1/0x1/0x00)"},
		{"the bits of a Terminate in host order", "5040/7.2/read-beyond-end",
			onTerminate(func(h []byte) []byte { h[0] = h[0]<<4 | h[0]>>4; h[2] = h[2]>>7 | h[2]>>5&2 | h[2]>>3&4; return h }), nil,
			"(0x0/0x1/0x01)", "in the bit order of a little-endian host"},
		{"the payload's length for the segment's", "5040/4.8/header-of-tagged", onTerminate(func(h []byte) []byte { h[5] -= 14; return h }), nil,
			"a DDP Segment Length of 20", "6;"},
		{"another header in the Terminate", "5040/4.8/header-of-untagged", onTerminate(func(h []byte) []byte { h[10] ^= 1; return h }), nil,
			"the DDP header 4143", "4143"},
		{"reserved bits in the Terminate", "5040/4.8/control", onTerminate(func(h []byte) []byte { h[3] = 1; return h }), nil,
			"reserved bits of zero", "a Terminate that says"},
		{"no check of CRCs", "5044/4.4/crc-payload", nil, repaired, "or no Terminate; then the end of the connection", "Send on QN 0"},
		{"a byte missing in Read Responses", "5040/5.2.2/length-1000", onSegment(0x42, func(u []byte) []byte { return u[:len(u)-1] }), nil,
			"an RDMA Read Response", "the 999 bytes"},
		{"Read Responses to another place", "5040/4.4/sink-copied", onSegment(0x42, func(u []byte) []byte { u[13]++; return u }), nil,
			"TO 0xfedcba9876543210", "TO 0xfedcba9876543211"},
		{"a reserved bit in each Send", "5040/5.3/send", onSegment(0x43, func(u []byte) []byte { u[0] |= 4; return u }), nil,
			"reserved bits of zero", "control bytes 45 43"},
		{"MSNs that begin at 2", "5041/5.3/in-order", onSegment(0x43, func(u []byte) []byte { u[13]++; return u }), nil,
			"MSN 1 and MO 0", "MSN 2, MO 0"},
		{"other bytes in a Send", "5044/4.1/octet-by-octet", onSegment(0x43, func(u []byte) []byte { u[18] ^= 1; return u }), nil,
			"a Send of the 6 bytes 6372756d6273", "the 6 bytes 6272756d6273"},
		{"reserved bits in the Reply", "5044/7.1.1/revision-1", onReply(func(f []byte) { f[16] |= 1 }), nil, "reserved bits of zero", "flags 0x41"},
		{"any key will do", "5044/7.1.1/key-last-octet", nil, func(p []byte) []byte { p[15] = 'e'; return p }, "without a Reply", "4d5041"},
		{"an ORD beyond the Initiator's IRD", "6581/9.1/ird-2-ord-16", onReply(func(f []byte) { f[23] = 3 }), nil, "an ORD of 2 at most", "ORD 3"},
		{"no A in answer to A", "6581/9.2/peer-to-peer", onReply(func(f []byte) { f[20] &= 0x3F }), nil, "a Reply with A", "enhanced data"},
		{"a wrong value from before", "7306/5.1.2/cmp-swap-match", onSegment(0x4B, func(u []byte) []byte { u[29]++; return u }), nil,
			"an Atomic Response of the bytes", "bytes"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := askBent(t, tt.section, tt.said, tt.heard)
				if r.Status != spec.StatusFail || !strings.Contains(r.Expected, tt.expected) || !strings.Contains(r.Got, tt.got) {
					t.Errorf("%s: expected %q; came: %q; want %q and %q", r.Status, r.Expected, r.Got, tt.expected, tt.got)
				}
				// The unbent peer is correct.
				if r := askBent(t, tt.section, nil, nil); r.Status != spec.StatusPass {
					t.Errorf("unbent: %s: expected %q; came: %q", r.Status, r.Expected, r.Got)
				}
			})
		})
	}
}

// askBent asks rddp's own peer one case through a bent connection.
func askBent(t *testing.T, id string, said, heard func([]byte) []byte) spec.Result {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	network := simtoe.New(simtoe.Config{})
	p := &specpeer.Peer{Socket: extsock.Config{Backend: network}}
	l, err := extsock.Listen("tcp", "peer:1", p.Config())
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l) }()
	report, err := spec.Run(ctx, spec.Config{Part: spec.Responder, Sections: []string{id}, Open: func(ctx context.Context) (net.Conn, error) {
		c, err := network.Dial(ctx, "tcp", "peer:1")
		return &bent{Conn: c, said: said, heard: heard}, err
	}})
	cancel()
	if e := <-ended; e != nil || err != nil || len(report.Results) != 1 {
		t.Fatalf("%d results: %v, %v", len(report.Results), err, e)
	}
	return report.Results[0]
}
