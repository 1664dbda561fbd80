package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// module writes a module with one package, whose tests are src, and changes to its folder.
func module(t *testing.T, src string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod": "module example.test/m\n\ngo 1.26\n",
		"m_test.go": "package m\n\nimport (\n\t\"os\"\n\t\"runtime\"\n\t\"strings\"\n\t\"testing\"\n)\n\n" +
			"var _, _, _ = os.Exit, runtime.Stack, strings.Contains\n\n" + src,
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	t.Setenv("GOWORK", "off")     // the workspace of make does not have this module
	t.Setenv(recordVariable, "r") // otherwise dumps might be written next to make's record
}

// nthTime is a test that passes when it runs for the nth time, with the flags of the first.
func nthTime(name string, n int) string {
	return fmt.Sprintf(`
func Test%[1]s(t *testing.T) {
	t.Run("sub", func(t *testing.T) {
		b, _ := os.ReadFile("%[1]s")
		os.WriteFile("%[1]s", append(b, 'x'), 0o644)
		if len(b)+1 < %[2]d || !testing.Short() {
			t.Error("not yet")
		}
	})
}
`, name, n)
}

func TestRetry(t *testing.T) {
	const good = "\nfunc TestGood(t *testing.T) {}\n"
	for _, tt := range []struct {
		desc string
		src  string
		want string // "test attempt result" of each line of the record
		ok   bool
	}{
		{"all pass", good, "", true},
		{"passes the third time", good + nthTime("Third", 3), "TestThird 1 fail, TestThird 2 fail, TestThird 3 pass", true},
		{"would pass the fourth time", good + nthTime("Fourth", 4), "TestFourth 1 fail, TestFourth 2 fail, TestFourth 3 fail", false},
		{"two fail", nthTime("Second", 2) + nthTime("Never", 9),
			"TestSecond 1 fail, TestNever 1 fail, TestSecond 2 pass, TestNever 2 fail, TestNever 3 fail", false},
		{"a panic", nthTime("Second", 2) + "\nfunc TestPanic(t *testing.T) { panic(1) }\n", "TestSecond 1 fail, TestPanic 1 fail", false},
		{"a data race", "\nfunc TestRace(t *testing.T) { println(\"WARNING: DATA RACE\"); t.Fail() }\n", "TestRace 1 fail", false},
		{"the process ends", "\nfunc TestExit(t *testing.T) { os.Exit(3) }\n", "", false},
		{"a leak at the end", good + "\nfunc TestMain(m *testing.M) { m.Run(); os.Exit(1) }\n", "", false},
		{"it does not compile", "\nfunc TestX(t *testing.T) { x }\n", "", false},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			module(t, tt.src)
			var log strings.Builder
			attempts, ok, err := testAndRetry(t.Context(), []string{"-short"}, []string{"."}, 2, &log)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, a := range attempts {
				got = append(got, fmt.Sprintf("%s %d %s", a.Test, a.Attempt, a.Result))
				if a.Package != "example.test/m" {
					t.Errorf("package %q", a.Package)
				}
			}
			if ok != tt.ok || strings.Join(got, ", ") != tt.want {
				t.Errorf("ok = %t, %s; want %t, %s\n%s", ok, strings.Join(got, ", "), tt.ok, tt.want, log.String())
			}
		})
	}
}

func TestSplitPackages(t *testing.T) {
	flags, packages, err := splitPackages([]string{"-race", "-p=1", "./a", "./b/..."})
	if err != nil || !slices.Equal(flags, []string{"-race", "-p=1"}) || !slices.Equal(packages, []string{"./a", "./b/..."}) {
		t.Errorf("%q, %q, %v", flags, packages, err)
	}
	for _, args := range [][]string{{"-race"}, {}, {"-timeout", "5m", "-race", "./a"}} {
		if _, _, err := splitPackages(args); err == nil {
			t.Errorf("splitPackages(%q) does not fail", args)
		}
	}
}
