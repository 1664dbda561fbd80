package check

import "testing"

// TestConflicts: two uses of the same bytes, one of which writes, need an order.
func TestConflicts(t *testing.T) {
	one, other := new(int), new(int)
	write := Use{Memory: one, Span: Span{100, 10}, Writes: true, Pair: one, Remote: true}
	with := func(change func(u *Use)) Use { u := write; u.Pair = other; change(&u); return u }
	for _, tt := range []struct {
		desc string
		x, y Use
		want bool
	}{
		{"two Writes of two queue pairs", write, with(func(*Use) {}), true},
		{"of one", write, write, false},
		{"to other bytes", write, with(func(u *Use) { u.Span.Addr = 110 }), false},
		{"to the memory of another program", write, with(func(u *Use) { u.Memory = other }), false},
		{"a Write and a Read", write, with(func(u *Use) { u.Writes = false }), true},
		{"two Reads", with(func(u *Use) { u.Writes, u.Pair = false, one }), with(func(u *Use) { u.Writes = false }), false},
		{"two atomics", with(func(u *Use) { u.Atomic, u.Pair = true, one }), with(func(u *Use) { u.Atomic = true }), false},
		{"an atomic and a Write", with(func(u *Use) { u.Atomic, u.Pair = true, one }), with(func(*Use) {}), true},
		{"a Read and a Write behind it", with(func(u *Use) { u.Writes, u.Pair = false, one }), write, true},
		{"with a fence", with(func(u *Use) { u.Writes, u.Pair = false, one }), with(func(u *Use) { u.Fenced, u.Pair = true, one }), false},
		{"a Write and a Read behind it", write, with(func(u *Use) { u.Writes, u.Pair = false, one }), false},
		{"the memory of a Send, and a Write to it", with(func(u *Use) { u.Writes, u.Remote = false, false }), write, true},
		{"the same memory of two Reads", with(func(u *Use) { u.Remote = false }), with(func(u *Use) { u.Remote, u.Pair = false, one }), false},
	} {
		if got := tt.x.Conflicts(&tt.y); got != tt.want {
			t.Errorf("%s: %v, want %v", tt.desc, got, tt.want)
		}
	}
}
