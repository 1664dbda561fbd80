package softrnic

import (
	"bytes"
	"errors"
	"net/netip"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

func TestFrame(t *testing.T) {
	f := frame{kind: frameSend, flags: flagFirst | flagAck, immediate: [4]byte{1, 2, 3, 4}, length: 5}
	b := append(f.appendTo(nil), "hello"...)
	want := []byte{1, 0x21, 0, 0, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0, 0, 5, 'h', 'e', 'l', 'l', 'o'}
	if !bytes.Equal(b, want) {
		t.Errorf("%x, want %x", b, want)
	}
	got, rest, err := parseFrame(b)
	if got != f || string(rest) != "hello" || err != nil {
		t.Errorf("%+v, %q, %v", got, rest, err)
	}
	for n := range frameLen {
		if _, _, err := parseFrame(b[:n]); !errors.Is(err, errFrame) {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
	for _, bad := range []frame{{kind: 0}, {kind: frameBye + 1}, {kind: frameRefuse, status: uverbs.GeneralErr + 1}, {kind: frameRefuse, status: uverbs.Success},
		{kind: frameWritten, flags: flagInvalidate}, {kind: frameProbe, flags: flagInvalidate}} {
		if _, _, err := parseFrame(bad.appendTo(nil)); !errors.Is(err, errFrame) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, _, err := parseFrame(append(frame{kind: frameAck}.appendTo(nil), 1)); !errors.Is(err, errFrame) {
		t.Errorf("an acknowledgement with payload: %v", err)
	}
}

func TestHello(t *testing.T) {
	h := hello{joining, 1 << 23, 7, uverbs.GID{10: 0xff, 11: 0xff, 12: 127, 15: 1}, secret{1, 15: 2}}
	b := h.appendTo(nil)
	if got, err := parseHello(b); got != h || err != nil {
		t.Errorf("%+v, %v", got, err)
	}
	for n := range b {
		if _, err := parseHello(b[:n]); err == nil {
			t.Errorf("%d of %d bytes were accepted", n, len(b))
		}
	}
	b[0] ^= 1
	if _, err := parseHello(b); err == nil {
		t.Error("another magic was accepted")
	}
}

func FuzzFrame(f *testing.F) {
	f.Add(frame{kind: frameSend, length: 3}.appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		h, rest, err := parseFrame(b)
		if err == nil && (len(rest) > maxPiece || h.kind < frameSend || h.kind > frameBye) {
			t.Errorf("%+v with %d bytes", h, len(rest))
		}
		_, _ = parseHello(b)
		_, _, _ = parseDatagram(b)
	})
}

func TestDatagram(t *testing.T) {
	d := datagram{to: 0x123456, from: 7, flags: flagImmediate, key: 9, immediate: [4]byte{1, 2, 3, 4}, gid: uverbs.GID{15: 1}}
	b := append(d.appendTo(nil), "payload"...)
	got, payload, err := parseDatagram(b)
	if got != d || string(payload) != "payload" || err != nil {
		t.Errorf("%+v, %q, %v", got, payload, err)
	}
	for n := range datagramLen {
		if _, _, err := parseDatagram(b[:n]); err == nil {
			t.Errorf("%d bytes were accepted", n)
		}
	}
	if _, _, err := parseDatagram(make([]byte, datagramLen)); err == nil {
		t.Error("another magic was accepted")
	}
	if _, _, err := parseDatagram(append(d.appendTo(nil), make([]byte, maxDatagram+1)...)); err == nil {
		t.Error("more than the MTU was accepted")
	}
}

// The sum of the words of an IPv4 header, its checksum included, is all ones.
func TestRouteHeader(t *testing.T) {
	b := routeHeader(netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("203.0.113.255"), 4096)
	var sum uint32
	for i := 20; i < 40; i += 2 {
		sum += uint32(b[i])<<8 | uint32(b[i+1])
	}
	if sum = sum&0xffff + sum>>16; sum != 0xffff || len(b) != routeLen {
		t.Errorf("the sum is 0x%x", sum)
	}
	b = routeHeader(netip.MustParseAddr("2001:db8::1"), netip.MustParseAddr("2001:db8::2"), 10)
	if len(b) != routeLen || b[0] != 0x60 || b[5] != 10 || b[23] != 1 || b[39] != 2 {
		t.Errorf("the IPv6 header is %x", b)
	}
}
