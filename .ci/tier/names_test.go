package main

import (
	"slices"
	"testing"
)

func parsed(t *testing.T, name, src string) *testFile {
	t.Helper()
	f, err := parseTestSource(name, []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func TestFunctionsOfAKind(t *testing.T) {
	files := []*testFile{
		parsed(t, "a_test.go", `package p
func TestMain(m *testing.M) {}
func TestDirect(t *testing.T) { if testmode.Race { t.Skip() } }
func noAllocs(t *testing.T) { if testmode.Race { t.Skip() } }
func deeper(t *testing.T) { noAllocs(t) }
func TestByHelper(t *testing.T) { t.Run("x", func(t *testing.T) { deeper(t) }) }
func TestOther(t *testing.T) { if other.Race || testmode.Full { t.Skip() } }
func Testament() {}
func BenchmarkX(b *testing.B) { noAllocs(b) }
`),
		parsed(t, "b_test.go", "//go:build !race && linux\n\npackage p\nfunc FuzzBuiltWithout(f *testing.F) {}\n"),
		parsed(t, "c_test.go", "//go:build unix\n\npackage p\nfunc TestBuiltWith(t *testing.T) {}\n"),
		parsed(t, "rate_timing_test.go", "package p\nfunc TestRate(t *testing.T) { share() }\nfunc share() {}\n"),
		parsed(t, "timing_test.go", "package p\nfunc TestInBubble(t *testing.T) { share() }\n"),
	}
	for _, tt := range []struct {
		kind string
		want []string
	}{
		{"norace", []string{"TestDirect", "TestByHelper", "FuzzBuiltWithout"}},
		{"timing", []string{"TestRate"}},
		{"all", []string{"TestDirect", "TestByHelper", "TestOther", "FuzzBuiltWithout", "TestBuiltWith", "TestRate", "TestInBubble"}},
	} {
		if got := functionsOf(files, kinds[tt.kind]); !slices.Equal(got, tt.want) {
			t.Errorf("of kind %s: %v, want %v", tt.kind, got, tt.want)
		}
	}
}

// TestNoRaceIsNotEmpty: the rule finds tests in this tree: directly, through a helper, and in files
// that are not built with the race detector.
func TestNoRaceIsNotEmpty(t *testing.T) {
	t.Chdir("../..")
	packages, err := listTests(t.Context(), nil, []string{"./mpa", "./ddp", "./toe/kernel"})
	if err != nil {
		t.Fatal(err)
	}
	s, err := selectKind(packages, kinds["norace"])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"TestLongestBuffers", "TestAllocsSender", "TestManyRegions"} {
		if !slices.Contains(s.names, want) {
			t.Errorf("%s is not among %v", want, s.names)
		}
	}
	if len(s.packages) != 3 {
		t.Errorf("only in %v", s.packages)
	}
}

func TestPattern(t *testing.T) {
	if got := pattern([]string{"TestA", "TestB"}); got != "^(TestA|TestB)$" {
		t.Errorf("pattern = %s", got)
	}
}

// TestSelectionWithNamesakes: skipping a name must not skip another package's test.
func TestSelectionWithNamesakes(t *testing.T) {
	t.Chdir("../..")
	packages, err := listTests(t.Context(), nil, []string{"./mpa", "./mpa/internal/crc32c"})
	if err != nil {
		t.Fatal(err)
	}
	only := kind{root: kinds["all"].root}
	s := selection{names: []string{"TestAllocs"}}
	if others, err := s.others(packages, only); err != nil || len(others) != 0 {
		t.Errorf("of the kind itself: %v, %v", others, err)
	}
	if others, err := s.others(packages, kinds["timing"]); err != nil || len(others) == 0 {
		t.Errorf("a test of another kind with that name was not found, %v", err)
	}
}
