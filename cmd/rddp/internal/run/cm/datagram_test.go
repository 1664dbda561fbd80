//go:build linux

package cm

import (
	"bytes"
	"reflect"
	"testing"
)

// TestMessage compares a message with the drawing in datagram.go.
func TestMessage(t *testing.T) {
	m := message{kind: yes, number: [8]byte{1, 2, 3, 4, 5, 6, 7, 8}, qpn: 0x123456, private: []byte("abc")}
	b := m.appendTo(nil)
	if want := "rddp SR1\x02\x01\x02\x03\x04\x05\x06\x07\x08\x00\x12\x34\x56abc"; string(b) != want {
		t.Errorf("%q, want %q", b, want)
	}
	if got, ok := parseMessage(b); !ok || !reflect.DeepEqual(got, m) {
		t.Errorf("%+v, %v; want %+v", got, ok, m)
	}
	for n := range messageLen {
		if _, ok := parseMessage(b[:n]); ok {
			t.Errorf("%d bytes are a message", n)
		}
	}
}

// FuzzParseMessage: a datagram is a message only if it is what appendTo makes of it.
func FuzzParseMessage(f *testing.F) {
	f.Add((&message{kind: question, private: []byte("who?")}).appendTo(nil))
	f.Add((&message{kind: no, private: make([]byte, 256)}).appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		m, ok := parseMessage(b)
		if !ok {
			return
		}
		if len(m.private) > longestPrivateData || m.kind == 0 || m.kind > no || !bytes.Equal(m.appendTo(nil), b) {
			t.Errorf("%+v", m)
		}
	})
}
