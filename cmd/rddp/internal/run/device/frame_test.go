package device

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/uverbs"
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
	for _, bad := range []frame{{kind: 0}, {kind: frameBye + 1}, {kind: frameRefuse, status: uverbs.GeneralErr + 1}} {
		if _, _, err := parseFrame(bad.appendTo(nil)); !errors.Is(err, errFrame) {
			t.Errorf("%+v: %v", bad, err)
		}
	}
	if _, _, err := parseFrame(append(frame{kind: frameAck}.appendTo(nil), 1)); !errors.Is(err, errFrame) {
		t.Errorf("an acknowledgement with payload: %v", err)
	}
}

func TestHello(t *testing.T) {
	h := hello{1 << 23, 7, uverbs.GID{10: 0xff, 11: 0xff, 12: 127, 15: 1}}
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
	})
}
