package requirements

import (
	"bytes"
	"flag"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write conformance/matrix.md anew")

const (
	root   = "../.."
	matrix = "../matrix.md"
)

func load(t *testing.T) ([]Requirement, []Test) {
	t.Helper()
	rows, err := Load()
	if err != nil {
		t.Fatal(err)
	}
	tests, err := Tests(root)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) < 1000 || len(tests) < 100 {
		t.Fatalf("%d rows and %d tests", len(rows), len(tests))
	}
	return rows, tests
}

// TestNoGap: each requirement has either a test or a reason why it has none, and each id in a test
// belongs to a requirement.
func TestNoGap(t *testing.T) {
	rows, tests := load(t)
	for _, g := range Gaps(rows, tests) {
		t.Error(g)
	}
}

// TestMatrixIsCurrent: conformance/matrix.md matches the tables and the tests.
func TestMatrixIsCurrent(t *testing.T) {
	rows, tests := load(t)
	want := Matrix(rows, tests)
	if *update {
		if err := os.WriteFile(matrix, want, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(matrix)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("conformance/matrix.md is not up to date: go test ./conformance/requirements -update")
	}
}

// TestGaps: each kind of gap is found.
func TestGaps(t *testing.T) {
	rows := []Requirement{
		{ID: "MPA-5044-1-1", Level: "MUST", Text: "a"}, {ID: "MPA-5044-1-2", Level: "MUST", Text: "b", Why: "not testable"},
		{ID: "MPA-5044-1-3", Level: "MAY", Text: "c"}, {ID: "MPA-5044-1-3", Level: "MAY", Text: "c"},
		{ID: "MPA-5044-1-4", Level: "IS"}, {ID: "MPA-5044-1-5", Level: "must", Text: "e"}, {ID: "MPA-5044-1-6", Level: "IS", Text: "f"},
	}
	tests := []Test{{File: "a_test.go", Name: "TestA", IDs: []string{"MPA-5044-1-2", "MPA-5044-1-3", "MPA-5044-1-6", "MPA-5044-1-9"}}}
	want := []string{
		"MPA-5044-1-1 (MUST) has no test, and no reason why",
		"MPA-5044-1-2 has the test TestA, and a reason why there is none",
		"MPA-5044-1-3 is in the tables twice",
		"MPA-5044-1-4 says nothing",
		`MPA-5044-1-5 has the level "must"`,
		"a_test.go: TestA covers MPA-5044-1-9, which is in no table",
	}
	if got := Gaps(rows, tests); !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestIDs(t *testing.T) {
	const src = `package x
// TestA is one.
//
// MPA-5044-4.3-1, MPA-5044-4.3-9 to
// MPA-5044-4.3-11, SEC-5042-5.4.2-1
func TestA(t *testing.T) {}

// MPA-5044-4.3-2
func helper() {}

// FuzzB has RDMAPX-7306-8.1-2, MPA-6581-A.1-3.
 func FuzzB(f *testing.F) {}
`
	got, err := testsOf("x/x_test.go", []byte(src))
	if err != nil || len(got) != 2 {
		t.Fatalf("%v, %v", got, err)
	}
	for i, want := range []string{"MPA-5044-4.3-1 MPA-5044-4.3-9 MPA-5044-4.3-10 MPA-5044-4.3-11 SEC-5042-5.4.2-1", "RDMAPX-7306-8.1-2 MPA-6581-A.1-3"} {
		if s := strings.Join(got[i].IDs, " "); s != want {
			t.Errorf("%s covers %q, want %q", got[i].Name, s, want)
		}
	}
	for _, wrong := range []string{"DDP-5041-5-3 to DDP-5041-6-4", "DDP-5041-5-3 to DDP-5041-5-3", "DDP-5041-5-1 to DDP-5041-5-999"} {
		if ids, err := idsIn(wrong); err == nil {
			t.Errorf("%q is %v", wrong, ids)
		}
	}
}
