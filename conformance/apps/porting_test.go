package apps_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPortingGuide checks that each block of Go in PORTING.md is code that runs: it names a
// function of the examples and stands in it, but for indentation.
func TestPortingGuide(t *testing.T) {
	guide, err := os.ReadFile(filepath.Join("..", "..", "PORTING.md"))
	if err != nil {
		t.Fatal(err)
	}
	functions := map[string]string{}
	for _, name := range []string{filepath.Join("..", "..", "extsock", "example_porting_test.go"), "example_test.go"} {
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range strings.Split(lines(code), "\nfunc ")[1:] {
			f, _, _ = strings.Cut(f, "\n}\n")
			functions[f[:strings.Index(f, "(")]] = "func " + f + "\n}\n"
		}
	}
	shown := map[string]bool{}
	for _, b := range strings.Split(lines(guide), "\n```go")[1:] {
		name, code, _ := strings.Cut(b, "\n")
		name = strings.TrimSpace(name)
		code, _, closed := strings.Cut(code, "```")
		f, there := functions[name]
		switch {
		case !closed:
			t.Errorf("block of %s has no end", name)
		case !there:
			t.Errorf("block of %q: the examples have no such function", name)
		case !containsBlock(f, code):
			t.Errorf("block of %s is not in it:\n%s", name, code)
		}
		if strings.HasPrefix(name, "Example") && !strings.Contains(f, "// Output:") {
			t.Errorf("%s has no output, so it does not run", name)
		}
		shown[name] = true
	}
	for name := range functions {
		if strings.HasPrefix(name, "Example") && !shown[name] {
			t.Errorf("the guide shows nothing of %s", name)
		}
	}
}

// lines is a file's text, with the same line ends on every system.
func lines(b []byte) string { return strings.ReplaceAll(string(b), "\r\n", "\n") }

// containsBlock reports whether the lines of block follow one another in code, indented by the same
// tabs more.
func containsBlock(code, block string) bool {
	for indent := ""; len(indent) < 5; indent += "\t" {
		var b strings.Builder
		b.WriteByte('\n')
		for line := range strings.Lines(block) {
			if line != "\n" {
				b.WriteString(indent)
			}
			b.WriteString(line)
		}
		if strings.Contains("\n"+code, b.String()) {
			return true
		}
	}
	return false
}
