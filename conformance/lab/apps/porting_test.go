package apps_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestPortingGuide checks that each block of Go in PORTING.md is code that runs: the block names a
// function of the examples and is part of it, except for indentation.
func TestPortingGuide(t *testing.T) {
	functions := functionsOf(t, filepath.Join(root, "extsock", "example_porting_test.go"), "example_test.go")
	shown := map[string]bool{}
	for _, b := range blocks(t, "PORTING.md") {
		if b.check(t, functions) && strings.HasPrefix(b.name, "Example") && !strings.Contains(functions[b.name], "// Output:") {
			t.Errorf("%s has no output, so it does not run", b.name)
		}
		shown[b.name] = true
	}
	for name := range functions {
		if strings.HasPrefix(name, "Example") && !shown[name] {
			t.Errorf("the guide shows nothing of %s", name)
		}
	}
}

// TestReadme checks that each block of Go in README.md and below docs/ is code that compiles: a
// whole program, or a part of the function of the examples that it names.
func TestReadme(t *testing.T) {
	functions := functionsOf(t, filepath.Join(root, "extsock", "example_readme_test.go"), filepath.Join(root, "toe", "usertcp", "sockets", "example_readme_test.go"))
	for _, document := range []string{"README.md", "docs/features.md", "docs/bad-network.md"} {
		for _, b := range blocks(t, document) {
			if b.name != "" {
				b.check(t, functions)
				continue
			}
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(b.code), 0o644); err != nil {
				t.Fatal(err)
			}
			vet := exec.Command("go", "vet", file)
			vet.Dir = root
			if out, err := vet.CombinedOutput(); err != nil {
				t.Errorf("%v: %s\n%s", err, out, b.code)
			}
		}
	}
}

var root = filepath.Join("..", "..", "..")

// A block is a block of Go in a document. The name after the word go is that of a function.
type block struct{ name, code string }

// blocks returns the blocks of Go in a document.
func blocks(t *testing.T, document string) (all []block) {
	text, err := os.ReadFile(filepath.Join(root, document))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range strings.Split(lines(text), "\n```go")[1:] {
		name, code, _ := strings.Cut(b, "\n")
		code, _, closed := strings.Cut(code, "```")
		if !closed {
			t.Errorf("%s: block of %s has no end", document, name)
		}
		all = append(all, block{strings.TrimSpace(name), code})
	}
	if len(all) == 0 {
		t.Errorf("%s has no block of Go", document)
	}
	return all
}

// check checks that the block is part of the function that it names.
func (b block) check(t *testing.T, functions map[string]string) bool {
	f, there := functions[b.name]
	switch {
	case !there:
		t.Errorf("block of %q: the examples have no such function", b.name)
	case !containsBlock(f, b.code):
		t.Errorf("block of %s is not in it:\n%s", b.name, b.code)
	default:
		return true
	}
	return false
}

// functionsOf returns the text of each function in the files.
func functionsOf(t *testing.T, files ...string) map[string]string {
	functions := map[string]string{}
	for _, name := range files {
		code, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range strings.Split(lines(code), "\nfunc ")[1:] {
			f, _, _ = strings.Cut(f, "\n}\n")
			functions[f[:strings.Index(f, "(")]] = "func " + f + "\n}\n"
		}
	}
	return functions
}

// lines returns a file's text, with the same line ends on every system.
func lines(b []byte) string { return strings.ReplaceAll(string(b), "\r\n", "\n") }

// containsBlock reports whether the lines of block are consecutive lines of code, all indented by
// the same number of additional tabs.
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
