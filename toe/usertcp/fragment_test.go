package usertcp

import (
	"slices"
	"testing"
)

// TestPartsHeader shows first fragments to the tap. TCP must get the packets of some of them and
// not of others.
func TestPartsHeader(t *testing.T) {
	const tcp, udp, icmp, icmp6, hopByHop, fragment, destination = 6, 17, 1, 58, 0, 44, 60
	header := func(n, offset int) []byte { // the beginning of a TCP header
		b := make([]byte, n)
		if n > 12 {
			b[12] = byte(offset << 4)
		}
		return b
	}
	v4 := func(protocol, flags byte, body []byte) []byte {
		p := slices.Concat([]byte{0x45, 0, 0, byte(20 + len(body)), 0, 0, flags, 0, 64, protocol}, make([]byte, 10), body)
		return p
	}
	v6 := func(next byte, bodies ...[]byte) []byte {
		body := slices.Concat(bodies...)
		return slices.Concat([]byte{0x60, 0, 0, 0, 0, byte(len(body)), next, 64}, make([]byte, 32), body)
	}
	first := func(next byte) []byte { return []byte{next, 0, 0, 1, 0, 0, 0, 7} }
	options := func(next byte) []byte { return []byte{next, 0, 1, 4, 0, 0, 0, 0} }
	const more = 0x20
	for _, test := range []struct {
		desc string
		p    []byte
		want bool
	}{
		{"no packet", nil, false},
		{"another version", []byte{0x10, 0}, false},
		{"IPv4, no fragment", v4(tcp, 0, header(16, 5)), false},
		{"IPv4, a whole header", v4(tcp, more, header(24, 6)), false},
		{"IPv4, a byte of options missing", v4(tcp, more, header(24, 7)), true},
		{"IPv4, a part of the header", v4(tcp, more, header(16, 5)), true},
		{"IPv4, too short for the data offset", v4(tcp, more, header(8, 5)), true},
		{"IPv4, a later fragment", append(v4(tcp, more, nil)[:7], append([]byte{1}, v4(tcp, more, header(8, 5))[8:]...)...), false},
		{"IPv4, ICMP", v4(icmp, more, make([]byte, 8)), false},
		{"IPv4, a part of a header of UDP", v4(udp, more, make([]byte, 7)), true},
		{"IPv4, an unknown protocol", v4(99, more, make([]byte, 80)), true},
		{"IPv4, a header of 8 bytes", append([]byte{0x42}, v4(tcp, more, header(8, 5))[1:]...), false},
		{"IPv6, no fragment", v6(tcp, header(16, 5)), false},
		{"IPv6, a whole header", v6(fragment, first(tcp), header(24, 6)), false},
		{"IPv6, a part of the header", v6(fragment, first(tcp), header(16, 5)), true},
		{"IPv6, a later fragment", v6(fragment, []byte{tcp, 0, 0, 9, 0, 0, 0, 7}, header(16, 5)), false},
		{"IPv6, a single fragment", v6(fragment, []byte{tcp, 0, 0, 0, 0, 0, 0, 7}, header(16, 5)), false},
		{"IPv6, reserved bits", v6(fragment, []byte{tcp, 0, 0, 7, 0, 0, 0, 7}, header(16, 5)), true},
		{"IPv6, behind options", v6(hopByHop, options(destination), options(fragment), first(tcp), header(16, 5)), true},
		{"IPv6, options in the fragment", v6(fragment, first(destination), options(tcp), header(24, 5)), true},
		{"IPv6, ICMP", v6(fragment, first(icmp6), make([]byte, 8)), false},
		{"IPv6, options that are too long", v6(hopByHop, []byte{fragment, 9, 1, 4, 0, 0, 0, 0}, first(tcp)), false},
		{"IPv6, cut off", v6(fragment, first(tcp))[:44], false},
	} {
		if got := partsHeader(test.p); got != test.want {
			t.Errorf("%s: %t, want %t", test.desc, got, test.want)
		}
		if len(test.p) > 0 && newTap(1500, true).inbound(test.p) == test.want {
			t.Errorf("%s: the tap accepts it: %t", test.desc, test.want)
		}
	}
}
