package demo

import (
	"bytes"
	"testing"
)

// FuzzParseMessage: a parsed message has the length in its header, and is the same when it is
// encoded and parsed again.
func FuzzParseMessage(f *testing.F) {
	f.Add(appendMessage(nil, verbEcho, []byte("bytes")))
	f.Add(appendMessage(nil, verbOffer, make([]byte, 8)))
	f.Add([]byte("stored\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		verb, arg, err := parseMessage(b)
		if err != nil {
			return
		}
		if len(verb) > verbLen || len(arg) > len(b)-headLen {
			t.Fatalf("parseMessage(%x) = %q, %x", b, verb, arg)
		}
		v, a, err := parseMessage(appendMessage(nil, verb, arg))
		if err != nil || v != verb || !bytes.Equal(a, arg) {
			t.Errorf("parseMessage(%x) = %q, %x; made again %q, %x, %v", b, verb, arg, v, a, err)
		}
	})
}
