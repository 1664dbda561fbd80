package where

import "testing"

// TestGoesTo: a call arrives at a function by jumps, and by nothing else.
func TestGoesTo(t *testing.T) {
	const start, function, pointer = 0x1000, 0x1100, 0x1200
	for _, tt := range []struct {
		desc, code string
		want       bool
	}{
		{"by a jump", "\xe9\xfb\x00\x00\x00", true},
		{"by a jump through a pointer", "\xff\x25\xfa\x01\x00\x00", true},
		{"with a landing place and a bound", landing + "\xf2\xff\x25\xf5\x01\x00\x00", true},
		{"by a tail call behind a condition", landing + "\x48\x8d\x05\x00\x00\x00\x00\x80\x38\x00\x74\x10\xff\x25\x00\x00\x00\x00" +
			"\x66\x2e\x0f\x1f\x84\x00\x00\x00\x00\x00\xe9\xdb\x00\x00\x00", true},
		{"a jump to another function", "\xe9\xfb\x01\x00\x00", false},
		{"a jump through a register", "\xff\xe0", false},
		{"a jump through a pointer elsewhere", "\xff\x60\x08", false},
		{"a call", "\xe8\xfb\x00\x00\x00", false},
		{"a return", "\xc3", false},
		{"a frame", "\x55\xe9\xfa\x00\x00\x00", false},
		{"a jump to itself", "\xeb\xfe", false},
		{"many conditions", "\x74\x00\x74\xfc\x74\xfa\x74\xf8\xeb\xf6", false},
		{"no instruction", "\x06", false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			m := fake{start: make([]byte, 0x300)}
			copy(m[start], tt.code)
			copy(m[start][pointer-start:], "\x00\x11\x00\x00\x00\x00\x00\x00")
			if got := goesTo(m, start, function); got != tt.want {
				t.Errorf("%t, want %t", got, tt.want)
			}
		})
	}
	if m := (fake{}); goesTo(m, start, function) || !goesTo(m, function, function) {
		t.Error("code that is not there decides")
	}
}
