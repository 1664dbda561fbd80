package ping

import (
	"errors"
	"strings"
	"testing"
	"time"
)

func TestFill(t *testing.T) {
	tests := []struct {
		desc    string
		n, size int
		want    string
	}{
		// The first two are from rping, in conformance/testdata/siw/rping-64-crc.pcap.
		{"rping's first", 0, 64, "rdma-ping-0: ABCDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqr\x00"},
		{"rping's third", 2, 64, "rdma-ping-2: CDEFGHIJKLMNOPQRSTUVWXYZ[\\]^_`abcdefghijklmnopqrst\x00"},
		{"from z back to A", 57, 17, "rdma-ping-57: zA\x00"},
		{"the first letter comes round", 58, 16, "rdma-ping-58: A\x00"},
		{"no room for letters", 0, 14, "rdma-ping-0: \x00"},
		{"the text is cut", 123, 8, "rdma-pi\x00"},
		{"nothing but the end", 0, 1, "\x00"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			p := []byte(strings.Repeat("#", tt.size))
			if fill(p, tt.n); string(p) != tt.want {
				t.Errorf("fill of %d bytes for ping %d gives %q, want %q", tt.size, tt.n, p, tt.want)
			}
			if got := string(text(p)); got != strings.TrimSuffix(tt.want, "\x00") {
				t.Errorf("text(%q) = %q", p, got)
			}
		})
	}
}

func TestCompare(t *testing.T) {
	if err := compare([]byte("abc"), []byte("abc")); err != nil {
		t.Errorf("compare of equals = %v", err)
	}
	err := compare([]byte("abXdY"), []byte("abcde"))
	mismatch := (*MismatchError)(nil)
	if !errors.As(err, &mismatch) || *mismatch != (MismatchError{Off: 2, Got: 'X', Want: 'c'}) {
		t.Errorf("compare = %v, want byte 2, X for c", err)
	}
	if got, want := err.Error(), "byte 2 came back as 0x58, but 0x63 was sent"; got != want {
		t.Errorf("the error says %q, want %q", got, want)
	}
}

func TestSummary(t *testing.T) {
	s := Summary{Size: 64}
	if got, want := s.String(), "0 pings of 64 bytes"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
	for _, d := range []time.Duration{1500, 500, 1000} {
		s.add(d * time.Microsecond)
	}
	if got, want := s.String(), "3 pings of 64 bytes, RTT min/avg/max 500.0µs/1.0ms/1.5ms, p50/p90/p99 1.0ms/1.5ms/1.5ms"; got != want {
		t.Errorf("String() = %q, want %q", got, want)
	}
}

func FuzzFill(f *testing.F) {
	f.Add(uint(64), uint(0))
	f.Fuzz(func(t *testing.T, size, n uint) {
		p := make([]byte, 1+size%4096)
		fill(p, int(n%(1<<31)))
		for i, c := range p {
			if last := i == len(p)-1; last != (c == 0) || c > 'z' {
				t.Fatalf("fill(%d bytes, %d): byte %d is %#x", len(p), n%(1<<31), i, c)
			}
		}
	})
}
