//go:build foreign

package foreign

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/build"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// root is the folder of our own module.
const root = "../.."

// A workspace is a temporary module, foreign.test, in which one suite is built. The suite's module
// is a dependency of it, so its sources are compiled as its own go.mod says. Its TCP connections
// come from the package foreign.test/net.
type workspace struct {
	dir     string
	std     map[string]bool // the packages of Go's tree that the workspace has of its own
	keepNet []string        // folders of the suite's module that import package net itself
	goroot  string          // Go's tree
	linked  bool            // goroot is a tree of links; see linkGo
}

// newWorkspace makes the workspace of s in dir.
func newWorkspace(s *suite, dir string) (*workspace, error) {
	w := &workspace{dir: dir, goroot: build.Default.GOROOT, keepNet: s.keepNet, std: map[string]bool{"net": true, "crypto/tls": true}}
	if err := w.writeModule(s); err != nil {
		return nil, err
	}
	if err := w.writeNet(s.pipes); err != nil {
		return nil, err
	}
	if err := w.writeTLS(); err != nil {
		return nil, err
	}
	for _, p := range s.std {
		w.std[p] = true
	}
	for _, p := range s.std {
		if err := w.copyTree(filepath.Join(w.goroot, "src", p), filepath.Join(dir, p), false); err != nil {
			return nil, err
		}
	}
	for _, m := range s.modules() {
		if err := w.fetch(m); err != nil {
			return nil, err
		}
	}
	if s.prepare != nil {
		return w, s.prepare(w)
	}
	return w, nil
}

func (w *workspace) writeModule(s *suite) error {
	own, err := filepath.Abs(root)
	if err != nil {
		return err
	}
	mod, err := os.ReadFile(filepath.Join(own, "go.mod"))
	if err != nil {
		return err
	}
	goLine := "go 1.25.0"
	for line := range strings.Lines(string(mod)) {
		if strings.HasPrefix(line, "go ") {
			goLine = strings.TrimSpace(line)
		}
	}
	text := fmt.Sprintf("module %s\n\n%s\n\nrequire github.com/rddp/rddp v0.0.0\n\nreplace github.com/rddp/rddp => %s\n", ourModule, goLine, own)
	for _, m := range s.modules() {
		path, version, _ := strings.Cut(m, "@")
		text += fmt.Sprintf("\nrequire %s %s\n\nreplace %s => ./%s\n", path, version, path, moduleFolder(m))
	}
	if err := w.write("go.mod", text); err != nil {
		return err
	}
	sum, err := os.ReadFile(filepath.Join(own, "go.sum"))
	if err != nil {
		return err
	}
	return w.write("go.sum", string(sum))
}

// write writes a file of the workspace.
func (w *workspace) write(name, text string) error {
	name = filepath.Join(w.dir, name)
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, []byte(text), 0o644)
}

// moduleFolder returns the folder of the workspace that has the sources of module@version.
func moduleFolder(module string) string {
	path, _, _ := strings.Cut(module, "@")
	return filepath.Join("modules", path)
}

// fetch brings the sources of module@version to the workspace.
func (w *workspace) fetch(module string) error {
	cmd := exec.Command("go", "mod", "download", "-json", module)
	cmd.Dir = os.TempDir()
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.Output()
	var got struct{ Dir, Error string }
	if jsonErr := json.Unmarshal(out, &got); jsonErr != nil || got.Error != "" || got.Dir == "" {
		return fmt.Errorf("fetching %s: %w: %s", module, errors.Join(err, jsonErr), got.Error)
	}
	return w.copyTree(got.Dir, filepath.Join(w.dir, moduleFolder(module)), true)
}

// copyTree copies a folder, with its subfolders if deep, and rewrites the imports of its Go files.
func (w *workspace) copyTree(from, to string, deep bool) error {
	return filepath.WalkDir(from, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(from, name)
		if err != nil {
			return err
		}
		switch {
		case d.IsDir() && rel != "." && !deep && rel != "testdata":
			return fs.SkipDir
		case d.IsDir():
			return os.MkdirAll(filepath.Join(to, rel), 0o755)
		case !d.Type().IsRegular():
			return nil
		}
		b, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(rel, ".go") && !strings.Contains(rel, "testdata") {
			if b, err = w.rewriteImports(rel, b); err != nil {
				return err
			}
		}
		return os.WriteFile(filepath.Join(to, rel), b, 0o644)
	})
}

// rewriteImports changes the imports of the packages that the workspace has of its own, and those
// of packages that are internal to Go's tree. It changes nothing else.
func (w *workspace) rewriteImports(name string, src []byte) ([]byte, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ImportsOnly)
	if err != nil {
		return nil, err
	}
	var out []byte
	done := 0
	for _, imp := range f.Imports {
		path, err := strconv.Unquote(imp.Path.Value)
		if err != nil {
			return nil, err
		}
		switch {
		case path == "net" && slices.Contains(w.keepNet, filepath.Dir(name)):
			continue
		case w.std[path]:
			path = ourModule + "/" + path
		case strings.HasPrefix(path, "internal/"):
			if _, err := w.copyInternal(path); err != nil {
				return nil, err
			}
			path = visible(path)
		default:
			continue
		}
		from, to := fset.Position(imp.Path.Pos()).Offset, fset.Position(imp.Path.End()).Offset
		out = append(out, src[done:from]...)
		out = strconv.AppendQuote(out, path)
		done = to
	}
	return append(out, src[done:]...), nil
}

// build compiles the tests of package pkg into a program. With plain they use package net's TCP.
func (w *workspace) build(pkg string, plain, race bool) (program string, err error) {
	program = filepath.Join(w.dir, "extsock.test")
	args := []string{"test", "-c", "-mod=mod", "-vet=off"}
	if plain {
		program = filepath.Join(w.dir, "plain.test")
		args = append(args, "-tags=plain")
	}
	if race {
		args = append(args, "-race")
	}
	out, err := w.goCommand(append(args, "-o", program, pkg)...).CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building the tests of %s: %w\n%s", pkg, err, out)
	}
	if _, err := os.Stat(program); err != nil {
		return "", fmt.Errorf("%s has no tests: %s", pkg, out)
	}
	return program, nil
}

// folder returns where the tests of s run: where their sources are, unless s says otherwise.
func (w *workspace) folder(s *suite) (string, error) {
	if s.folder != "" {
		return filepath.Join(w.goroot, "src", s.folder), nil
	}
	out, err := w.goCommand("list", "-mod=mod", "-f", "{{.Dir}}", s.test).Output()
	if err != nil {
		return "", fmt.Errorf("looking for %s: %w", s.test, err)
	}
	return strings.TrimSpace(string(out)), nil
}

func (w *workspace) goCommand(args ...string) *exec.Cmd {
	cmd := exec.Command("go", args...)
	cmd.Dir = w.dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOROOT="+w.goroot)
	return cmd
}

// linkGo makes goroot a tree of links to Go's own. Only the package net and the folders above it
// are of its own, so that files can be added there.
func (w *workspace) linkGo() error {
	if w.linked {
		return nil
	}
	w.linked = true
	from, to := w.goroot, filepath.Join(w.dir, "goroot")
	if err := os.MkdirAll(filepath.Join(to, "src"), 0o755); err != nil {
		return err
	}
	for _, folder := range []string{"", "src"} {
		entries, err := os.ReadDir(filepath.Join(from, folder))
		if err != nil {
			return err
		}
		for _, e := range entries {
			name := filepath.Join(folder, e.Name())
			if name == "src" || name == filepath.Join("src", "net") {
				continue
			}
			if err := os.Symlink(filepath.Join(from, name), filepath.Join(to, name)); err != nil {
				return err
			}
		}
	}
	w.goroot = to
	return os.CopyFS(filepath.Join(to, "src", "net"), os.DirFS(filepath.Join(from, "src", "net")))
}

// visible returns the path of the package that forwards the internal package path.
func visible(path string) string { return strings.Replace(path, "internal", "foreign", 1) }

// copyInternal adds a package to Go's tree that forwards the internal package path, and returns its
// names. A variable becomes a pointer to it.
func (w *workspace) copyInternal(path string) (map[string]token.Token, error) {
	if err := w.linkGo(); err != nil {
		return nil, err
	}
	names, err := packageNames(path)
	if err != nil {
		return nil, err
	}
	maps.DeleteFunc(names, func(name string, _ token.Token) bool { return !token.IsExported(name) })
	var b strings.Builder
	fmt.Fprintf(&b, "package %s\n\nimport real %q\n\n", filepath.Base(path), path)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		switch names[n] {
		case token.VAR:
			fmt.Fprintf(&b, "var %s = &real.%s\n", n, n)
		default:
			fmt.Fprintf(&b, "%s %s = real.%s\n", keyword(names[n]), n, n)
		}
	}
	return names, w.write(filepath.Join("goroot/src", visible(path), "foreign.go"), b.String())
}
