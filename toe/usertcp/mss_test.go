package usertcp

import (
	"bytes"
	"net/netip"
	"testing"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// TestRaiseMSS: no MSS below 536 reaches TCP, wherever it is among the options. A right checksum
// remains right, and a wrong one wrong.
func TestRaiseMSS(t *testing.T) {
	for _, test := range []struct {
		desc       string
		have, want []byte
	}{
		{"1", []byte{2, 4, 0, 1}, []byte{2, 4, 2, 24}},
		{"535", []byte{2, 4, 2, 23}, []byte{2, 4, 2, 24}},
		{"536", []byte{2, 4, 2, 24}, []byte{2, 4, 2, 24}},
		{"1460", []byte{2, 4, 5, 180}, []byte{2, 4, 5, 180}},
		{"0", []byte{2, 4, 0, 0}, []byte{2, 4, 2, 24}},
		{"at an odd offset", []byte{1, 2, 4, 1, 1, 3, 3, 7}, []byte{1, 2, 4, 2, 24, 3, 3, 7}},
		{"twice", []byte{2, 4, 5, 180, 2, 4, 0, 9}, []byte{2, 4, 5, 180, 2, 4, 2, 24}},
		{"behind unknown options", []byte{254, 4, 2, 4, 1, 1, 2, 4, 0, 1, 0, 0}, []byte{254, 4, 2, 4, 1, 1, 2, 4, 2, 24, 0, 0}},
		{"behind the end", []byte{0, 0, 0, 0, 2, 4, 0, 1}, []byte{0, 0, 0, 0, 2, 4, 0, 1}},
		{"behind a malformed option", []byte{3, 0, 1, 1, 2, 4, 0, 1}, []byte{3, 0, 1, 1, 2, 4, 0, 1}},
		{"of another length", []byte{2, 3, 0, 1}, []byte{2, 3, 0, 1}},
		{"cut off", []byte{1, 2, 4, 0}, []byte{1, 2, 4, 0}},
		{"only its kind", []byte{1, 1, 1, 2}, []byte{1, 1, 1, 2}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			for _, damage := range []byte{0, 1, 0x80} {
				w := newWire(t)
				a, b := netip.MustParseAddrPort("10.0.0.2:9"), netip.MustParseAddrPort("10.0.0.1:7174")
				p := w.packet(a, b, header.TCPFlagSyn, 1, 0, 1, test.have, nil)
				p[36] ^= damage // in the checksum
				raiseMSS(p[header.IPv4MinimumSize:])
				s, ok := decode(p)
				if !ok || !bytes.Equal(s.options, test.want) {
					t.Errorf("options %x, want %x", s.options, test.want)
				}
				if s.sumIsValid() != (damage == 0) {
					t.Errorf("the checksum is valid: %t", s.sumIsValid())
				}
			}
		})
	}
}
