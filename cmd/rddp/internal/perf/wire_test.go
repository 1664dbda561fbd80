package perf

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"
)

func TestHead(t *testing.T) {
	want := head{kind: kindRead, batch: true, latency: true, depth: 7, count: maxCount, size: MaxSize, pause: MaxPause}
	b := want.appendTo(nil)
	if got, err := parseHead(b); got != want || err != nil {
		t.Errorf("parseHead = %+v, %v, want %+v", got, err, want)
	}
	for i := range b {
		if _, err := parseHead(b[:i]); !errors.Is(err, ErrProtocol) {
			t.Errorf("parseHead of %d bytes: %v", i, err)
		}
	}
	for _, h := range []head{
		{kind: 0, depth: 1, count: 1, size: 1}, {kind: kindEnd, depth: 1, count: 1, size: 1}, {kind: kindBulk, count: 1, size: 1},
		{kind: kindBulk, depth: MaxDepth + 1, count: 1, size: 1}, {kind: kindBulk, depth: 1, size: 1}, {kind: kindBulk, depth: 1, count: -1, size: 1}, {kind: kindBulk, depth: 1, count: maxCount + 1, size: 1},
		{kind: kindBulk, depth: 1, count: 1}, {kind: kindBulk, depth: 1, count: 1, size: MaxSize + 1},
		{kind: kindEcho, depth: 1, count: 1, size: 1, pause: -1}, {kind: kindEcho, depth: 1, count: 1, size: 1, pause: MaxPause + 1},
	} {
		if got, err := parseHead(h.appendTo(nil)); !errors.Is(err, ErrProtocol) {
			t.Errorf("parseHead accepted %+v: %v", got, err)
		}
	}
}

func FuzzHead(f *testing.F) {
	f.Add(head{kind: kindRead, batch: true, depth: 7, count: 8, size: 9}.appendTo(nil))
	f.Fuzz(func(t *testing.T, b []byte) {
		if h, err := parseHead(b); err == nil && h.size*h.depth <= 0 {
			t.Errorf("parseHead(%x) = %+v", b, h)
		}
	})
}

// An invalid frame, or a late answer, is an error.
func TestAsk(t *testing.T) {
	frame := func(magic, n uint32, body string) []byte {
		b := binary.BigEndian.AppendUint32(nil, magic)
		return append(binary.BigEndian.AppendUint32(b, n), body...)
	}
	tests := []struct {
		desc   string
		answer []byte
		want   error
	}{
		{"another protocol", []byte("HTTP/1.1 400 Bad Request\r\n"), ErrProtocol},
		{"too long", frame(magic, maxAnswer+1, ""), ErrProtocol},
		{"no JSON", frame(magic, 3, "abc"), ErrProtocol},
		{"nothing", nil, io.ErrUnexpectedEOF},
		{"a part of the head", frame(magic, 9, "")[:5], io.ErrUnexpectedEOF},
		{"a part of the body", frame(magic, 9, "{"), io.ErrUnexpectedEOF},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			a, b := net.Pipe()
			defer a.Close()
			go func() {
				var h hello
				if err := receive(b, &h, maxRequest); err != nil {
					t.Error(err)
				}
				b.Write(tt.answer)
				b.Close()
			}()
			if _, err := ask(a, hello{Token: "t"}, time.Minute); !errors.Is(err, tt.want) {
				t.Errorf("ask: %v, want %v", err, tt.want)
			}
		})
	}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	go io.Copy(io.Discard, b)
	if _, err := ask(a, hello{}, time.Millisecond); err == nil || !strings.Contains(err.Error(), "timeout") {
		t.Errorf("ask of a silent peer: %v", err)
	}
}

// The memory for a connection includes a message only if the connection uses messages.
func TestHelloMemory(t *testing.T) {
	for _, tt := range []struct {
		over transport
		want int64
	}{{overTCP, headLen + 3<<10}, {overStream, headLen + 3<<10}, {overVerbs, headLen + 3<<10 + MaxSize}} {
		h := hello{Transport: tt.over, Ring: headLen, RecvSize: MaxSize, Depth: 3, Timeout: 1}
		if err := h.check(); err != nil {
			t.Fatal(err)
		}
		if got := h.memory(); got != tt.want {
			t.Errorf("over %s: %d bytes, want %d", tt.over, got, tt.want)
		}
	}
}
