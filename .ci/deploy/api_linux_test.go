package deploy

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAPI: .ci/api fails if a name of the newest tag has gone or changed, unless that is meant.
func TestAPI(t *testing.T) {
	script, err := filepath.Abs(tree + "/.ci/api")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, folder := range []string{"a", "internal/b", ".ci"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	source := func(a, b string) {
		write(t, filepath.Join(dir, "a/a.go"), "package a\n\n"+a+"\n", 0o644)
		write(t, filepath.Join(dir, "internal/b/b.go"), "package b\n\n"+b+"\n", 0o644)
	}
	git := func(args ...string) {
		t.Helper()
		cmd := exec.Command("git", append([]string{"-c", "user.name=x", "-c", "user.email=x"}, args...)...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %q: %v\n%s", args, err, out)
		}
	}
	is := func(desc, want string, ok bool) {
		t.Helper()
		cmd := exec.Command(script)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
		out, err := cmd.CombinedOutput()
		if (err == nil) != ok || !strings.Contains(string(out), want) {
			t.Errorf("%s: %v\n%s\nwant %q", desc, err, out, want)
		}
	}
	write(t, filepath.Join(dir, "go.mod"), "module example.com/m\n\ngo 1.25\n", 0o644)
	const two = "func A() {}\n\nfunc B() {}"
	source(two, two)
	git("init", "-q")
	git("add", ".")
	git("commit", "-q", "-m", "x")
	is("without a tag", "there is no tag yet", true)
	git("tag", "v0.1.0")
	is("as tagged", "", true)
	source(two+"\n\nfunc C() {}", "func A() {}")
	is("with a new name", "", true)
	source("func A() {}", two)
	is("without a name", "./a.B: removed\n", false)
	write(t, filepath.Join(dir, ".ci/api-breaks"), "./a.B: removed\n", 0o644)
	is("without a name that is meant to go", "", true)
	source("func A(int) {}", two)
	is("with another parameter", "./a.A: changed from func() to func(int)\n", false)
	source("func A(", two)
	is("if it does not compile", "a.go:3", false)
}
