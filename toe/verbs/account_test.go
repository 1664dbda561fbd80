package verbs

import "testing"

// posted returns an account of a Send, two Reads and a Write, in this order.
func posted(overtakes bool) *account {
	a := &account{depth: 4, overtakes: overtakes}
	for i, o := range []Op{OpSend, OpRead, OpRead, OpWrite} {
		a.add(work{id: uint64(i), op: o})
	}
	return a
}

func TestAccountOrder(t *testing.T) {
	for _, tt := range []struct {
		desc      string
		overtakes bool
		numbers   []uint64
		fails     int // which of them is refused; -1 means none
	}{
		{"in order", false, []uint64{0, 1, 2, 3}, -1},
		{"a Read is overtaken", false, []uint64{0, 3}, 1},
		{"in order, where Reads may be overtaken", true, []uint64{0, 1, 2, 3}, -1},
		{"both Reads are overtaken", true, []uint64{0, 3, 1, 2}, -1},
		{"Reads are first", true, []uint64{1, 2, 0, 3}, -1},
		{"a Read by a Read", true, []uint64{2}, 0},
		{"a Send by a Write", true, []uint64{3}, 0},
		{"twice", true, []uint64{0, 1, 1}, 2},
		{"twice, with another one behind", true, []uint64{0, 3, 0}, 2},
		{"never posted", true, []uint64{4}, 0},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			a := posted(tt.overtakes)
			for i, n := range tt.numbers {
				w, err := a.take(n)
				if (err != nil) != (i == tt.fails) || err == nil && w.id != n {
					t.Fatalf("take(%d) = %+v, %v", n, w, err)
				}
			}
		})
	}
}

// TestAccountRoom: each completion makes room for one work request, even if older Reads remain
// outstanding for long.
func TestAccountRoom(t *testing.T) {
	a := posted(true)
	want := func(room bool, when string) {
		t.Helper()
		if a.full() == room || a.empty() {
			t.Fatalf("%s: full: %v, empty: %v", when, a.full(), a.empty())
		}
	}
	take := func(n uint64) {
		t.Helper()
		if w, err := a.take(n); err != nil || w.id != n {
			t.Fatalf("take(%d) = %+v, %v", n, w, err)
		}
	}
	want(false, "all are under way")
	take(0)
	want(true, "behind a Send")
	a.add(work{id: 4, op: OpSend})
	want(false, "in the place of the Send")
	for n := uint64(3); n < 100; n++ { // the two Reads remain
		take(n)
		want(true, "behind a work request that has overtaken the Reads")
		a.add(work{id: n + 2, op: OpSend})
		want(false, "in its place")
	}
	for _, n := range []uint64{1, 100, 2, 101} {
		if a.empty() {
			t.Fatal("nothing is under way")
		}
		take(n)
	}
	if !a.empty() {
		t.Error("something is under way")
	}
}
