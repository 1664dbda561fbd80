package where

import (
	"bytes"
	"runtime"
	"slices"
	"testing"

	"github.com/go-delve/delve/pkg/dwarf/frame"
)

// hostileInstructions returns instructions with rules for n registers, and as many states that are
// remembered.
func hostileInstructions(n int) (b []byte) {
	for i := range n {
		b = append(b, 0x05, byte(i)|0x80, byte(i>>7), 1)
	}
	return append(b, bytes.Repeat([]byte{0x0a}, n)...)
}

// TestHostileFrame: a frame description that remembers many states of many registers is not
// executed.
func TestHostileFrame(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	all := frame.FrameDescriptionEntries{{CIE: &frame.CommonInformationEntry{ReturnAddressRegister: returnAddress}, Instructions: hostileInstructions(1000)}}
	all[0].Translate(fakeCode)
	if _, ok := execute(all[0], fakeCode); ok {
		t.Error("there is a rule")
	}
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 1<<20 {
		t.Errorf("%d bytes were allocated", n)
	}
}

// TestAreBounded: which instructions are executed.
func TestAreBounded(t *testing.T) {
	for _, tt := range []struct {
		desc string
		b    []byte
		want bool
	}{
		{"none", nil, true},
		{"a frame by the stack pointer", bySP, true},
		{"a frame with a frame pointer", byFP, true},
		{"all lengths of an advance", []byte{0x41, 0x02, 1, 0x03, 1, 2, 0x04, 1, 2, 3, 4, 0x01, 1, 2, 3, 4, 5, 6, 7, 8}, true},
		{"an expression", []byte{0x10, 6, 2, 0x77, 8, 0x0f, 1, 0x0a}, true},
		{"a state that is restored", []byte{0x0a, 0x0b, 0x0a, 0x0b}, true},
		{"the most states", bytes.Repeat([]byte{0x0a}, maxNested), true},
		{"one more", bytes.Repeat([]byte{0x0a}, maxNested+1), false},
		{"one more in all", bytes.Repeat([]byte{0x0a, 0x0b}, maxRemembered+1), false},
		{"a state that is not there", []byte{0x0b}, false},
		{"the last register", []byte{0x07, 127}, true},
		{"one more register", []byte{0x07, 0x80, 1}, false},
		{"an expression beyond the end", []byte{0x0f, 3, 1, 2}, false},
		{"a number without an end", []byte{0x0e, 0x80, 0x80}, false},
		{"a number that is too long", slices.Concat([]byte{0x0e}, bytes.Repeat([]byte{0x80}, 16), []byte{0}), false},
		{"an operand that lacks a byte", []byte{0x03, 1}, false},
		{"one that compilers do not write", []byte{0x1c, 1, 1}, false},
	} {
		if got := areBounded(tt.b); got != tt.want {
			t.Errorf("%s: %t, want %t", tt.desc, got, tt.want)
		}
	}
}

// FuzzInstructions: instructions that are within the bounds are executed with little memory.
func FuzzInstructions(f *testing.F) {
	f.Add(bySP, byFP)
	f.Add([]byte{0x0a, 0x0b, 0x10, 6, 2, 0x77, 8}, hostileInstructions(20))
	f.Fuzz(func(t *testing.T, common, own []byte) {
		if len(common)+len(own) > maxDescription {
			return
		}
		d := &frame.FrameDescriptionEntry{CIE: &frame.CommonInformationEntry{ReturnAddressRegister: returnAddress, InitialInstructions: common}, Instructions: own}
		d.Translate(fakeCode)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		func() {
			defer func() { _ = recover() }() // as the callers of execute do
			execute(d, fakeCode)
		}()
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 64<<20 {
			t.Errorf("%d bytes were allocated", n)
		}
	})
}
