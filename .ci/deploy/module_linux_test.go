package deploy

import (
	"archive/zip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
	modzip "golang.org/x/mod/zip"
)

// TestModule: go get finds the library at a proxy, without a replace line, and the example of
// README builds and runs with it and nothing else. go mod tidy then requires the same.
func TestModule(t *testing.T) {
	v := module.Version{Path: "github.com/rddp/rddp", Version: "v0.1.0"}
	at := filepath.Join(t.TempDir(), v.Path, "@v")
	if err := os.MkdirAll(at, 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(at, "list"), v.Version+"\n", 0o644)
	write(t, filepath.Join(at, v.Version+".info"), `{"Version":"v0.1.0","Time":"2026-01-02T03:04:05Z"}`, 0o644)
	write(t, filepath.Join(at, v.Version+".mod"), string(content(t, tree+"/go.mod")), 0o644)
	f, err := os.Create(filepath.Join(at, v.Version+".zip"))
	if err != nil {
		t.Fatal(err)
	}
	root, err := filepath.Abs(tree)
	if err != nil {
		t.Fatal(err)
	}
	if err := modzip.CreateFromVCS(f, v, root, "HEAD", ""); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	holdsSources(t, f.Name())

	dir := t.TempDir()
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Fatal(err)
	}
	goes := func(args ...string) string {
		t.Helper()
		cmd := exec.Command("go", args...)
		cmd.Dir = dir
		// The other modules come from what this machine has fetched for the tree.
		proxies := "file://" + filepath.Join(at, "../../../..") + ",file://" + strings.TrimSpace(string(cache)) + "/cache/download"
		cmd.Env = append(os.Environ(), "GOPROXY="+proxies, "GOSUMDB=off", "GOWORK=off", "GOFLAGS=-modcacherw", "GOMODCACHE="+filepath.Join(dir, ".cache"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %q: %v\n%s", args, err, out)
		}
		return string(out)
	}
	goes("mod", "init", "example.com/user")
	write(t, filepath.Join(dir, "main.go"), string(content(t, tree+"/examples/first/main.go")), 0o644)
	goes("get", v.Path+"/extsock")
	if got := goes("run", "."); got != "one-sided\n" {
		t.Errorf("the example prints %q", got)
	}
	if got := goes("run", v.Path+"/cmd/rddp@latest", "version"); !strings.Contains(got, "rddp v0.1.0\n") {
		t.Errorf("rddp version prints %q", got)
	}
	text := string(content(t, filepath.Join(dir, "go.mod")))
	if strings.Contains(text, "replace") {
		t.Errorf("go.mod is\n%s", text)
	}
	goes("mod", "tidy")
	if tidy := string(content(t, filepath.Join(dir, "go.mod"))); requirements(tidy) != requirements(text) {
		t.Errorf("go.mod is\n%s\nafter go mod tidy it is\n%s", text, tidy)
	}
}

// requirements returns the requirements of a go.mod, without what go mod tidy says of them.
func requirements(text string) string {
	f, err := modfile.Parse("go.mod", []byte(text), nil)
	if err != nil {
		return err.Error()
	}
	var all []string
	for _, r := range f.Require {
		all = append(all, r.Mod.String())
	}
	slices.Sort(all)
	return strings.Join(all, " ")
}

// holdsSources reports what is in a module's zip and should not, and if it is large.
func holdsSources(t *testing.T, name string) {
	t.Helper()
	z, err := zip.OpenReader(name)
	if err != nil {
		t.Fatal(err)
	}
	defer z.Close()
	var n uint64
	for _, f := range z.File {
		n += f.CompressedSize64
		if strings.Contains(f.Name, "/toe/usertcp/") || strings.Contains(f.Name, "/conformance/lab/") {
			t.Errorf("%s of another module is in the module", f.Name)
		}
	}
	if n > 20<<20 {
		t.Errorf("the module has %d bytes, want at most 20 MiB", n)
	}
}
