package verbs

import "testing"

// posted returns an account of a Send, two Reads and a Write, which stand in this order.
func posted(overtakes bool) *account {
	a := &account{work: make([]work, 4), overtakes: overtakes}
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

// There is room for another one when the oldest is complete, whatever else is.
func TestAccountFull(t *testing.T) {
	a := posted(true)
	for _, n := range []uint64{0, 3} {
		if _, err := a.take(n); err != nil {
			t.Fatal(err)
		}
	}
	if a.full() || a.empty() {
		t.Error("no room behind a Send that is complete")
	}
	a.add(work{id: 4, op: OpSend})
	if !a.full() {
		t.Error("room in the place of a Read that is under way")
	}
	for _, n := range []uint64{1, 4, 2} {
		if w, err := a.take(n); err != nil || w.id != n {
			t.Fatalf("take(%d) = %+v, %v", n, w, err)
		}
	}
	if !a.empty() {
		t.Error("something is under way")
	}
}
