//go:build amd64 || arm64

package where

import (
	"os"
	"testing"
)

// A fakeAsker knows where the frame descriptions of a file are.
type fakeAsker struct{ at, n uint64 }

func (fakeAsker) ask(uint64) ([]line, error)          { return nil, nil }
func (a fakeAsker) frames() (at, n uint64, err error) { return a.at, a.n, nil }
func (fakeAsker) close()                              {}

// tableFile returns a file with frame descriptions in its last n bytes, and its memory.
func tableFile(t *testing.T, n int) (*file, fake) {
	t.Helper()
	f, err := os.Open(os.DevNull)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = f.Close() })
	const at = 0x500
	m := fake{fakeBase: append(fakeProgram(nops, bySP...)[fakeBase][:at:at], make([]byte, n)...)}
	copy(m[fakeBase][at:], fakeProgram(nops, bySP...)[fakeBase][at:][:24+3*32])
	return &file{File: f, reader: fakeAsker{at, uint64(n)}}, m
}

// TestTable: the rule for a function is found in a section without a table of the functions.
func TestTable(t *testing.T) {
	f := New()
	x, m := tableFile(t, 24+3*32)
	o := &object{file: x}
	o.bias = fakeBase
	o.table = filesOf{f, fakePID, m}.table(x, o.bias)
	if r, ok := o.rule(m, fakeOwn+16); !ok || r != (rule{begin: fakeOwn, base: stackPointer, offset: 24}) {
		t.Errorf("the rule is %+v, %t", r, ok)
	}
}

// TestOneTable: a file that is mapped many times has its frame descriptions once.
func TestOneTable(t *testing.T) {
	f := New()
	x, m := tableFile(t, 24+3*32)
	first := filesOf{f, fakePID, m}.table(x, fakeBase)
	again := filesOf{f, fakePID + 1, fake{}}.table(x, 0)
	if len(first) != 3 || len(again) != 3 || first[0] != again[0] {
		t.Errorf("%d and %d frame descriptions, want the same 3", len(first), len(again))
	}
}

// TestTablesBounded: the frame descriptions that are kept have a bound in all.
func TestTablesBounded(t *testing.T) {
	f := New()
	for i := range 2*maxTables/maxTable + 1 {
		x, m := tableFile(t, maxTable)
		all := filesOf{f, fakePID, m}.table(x, fakeBase)
		if i < maxTables/maxTable && all == nil || i >= maxTables/maxTable && all != nil {
			t.Errorf("file %d has %d frame descriptions", i, len(all))
		}
		if f.tables > maxTables {
			t.Errorf("%d bytes are kept", f.tables)
		}
	}
}
