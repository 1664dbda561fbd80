package mutations

import (
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// TestFaultsCompile: the code compiles with each fault. A fault that does not compile is caught by
// no test. This test only checks the types, which takes milliseconds; a build takes seconds.
func TestFaultsCompile(t *testing.T) {
	c := newChecker(t, folders())
	for _, f := range Faults {
		if err := c.check(f); err != nil {
			t.Errorf("%s: %v", f.Name, err)
		}
	}
}

// folders returns the folders of the files that the faults change.
func folders() (all []string) {
	for _, f := range Faults {
		if folder := "./" + path.Dir(f.File); !slices.Contains(all, folder) {
			all = append(all, folder)
		}
	}
	return all
}

// A checker checks the types of packages in which one file is changed.
type checker struct {
	fset     *token.FileSet
	importer types.Importer
	packages map[string][]string  // by folder: the files that are built for this system
	parsed   map[string]*ast.File // by file
}

// newChecker has the packages in folders, and all that they import, built.
func newChecker(t *testing.T, folders []string) *checker {
	modules := map[string][]string{}
	for _, folder := range folders {
		module, pkg := inModule(folder)
		modules[module] = append(modules[module], pkg)
	}
	var out []byte
	for module, packages := range modules {
		cmd := exec.Command("go", append([]string{"list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles"}, packages...)...)
		cmd.Dir = filepath.Join(root, module)
		cmd.Stderr = os.Stderr
		list, err := cmd.Output()
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, list...)
	}
	base, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	c := &checker{fset: token.NewFileSet(), packages: map[string][]string{}, parsed: map[string]*ast.File{}}
	exports := map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p struct {
			Dir, ImportPath, Export string
			GoFiles                 []string
		}
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if folder, err := filepath.Rel(base, p.Dir); err == nil {
			c.packages[filepath.ToSlash(folder)] = p.GoFiles
		}
	}
	c.importer = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) })
	return c
}

// inModule returns the module that has the folder, and the folder as a package in there.
func inModule(folder string) (module, pkg string) {
	folder = path.Clean(folder)
	for module = folder; module != "."; module = path.Dir(module) {
		if _, err := os.Stat(filepath.Join(root, module, "go.mod")); err == nil {
			break
		}
	}
	if module == "." {
		return module, "./" + folder
	}
	return module, "." + strings.TrimPrefix(folder, module)
}

// check returns the first error that the compiler would have with the fault.
func (c *checker) check(f Fault) error {
	folder, name := path.Split(f.File)
	folder = path.Clean(folder)
	names := c.packages[folder]
	if !slices.Contains(names, name) {
		if runtime.GOOS == "linux" && runtime.GOARCH == "amd64" {
			return errors.New(f.File + " is not built")
		}
		return nil // a file for another system
	}
	src, err := os.ReadFile(filepath.Join(root, f.File))
	if err != nil {
		return err
	}
	changed, err := parser.ParseFile(c.fset, f.File, strings.Replace(string(src), f.Old, f.New, 1), parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	files := []*ast.File{changed}
	for _, other := range names {
		if other == name {
			continue
		}
		file, err := c.parse(path.Join(folder, other))
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	conf := types.Config{Importer: c.importer, Sizes: types.SizesFor("gc", runtime.GOARCH)}
	_, err = conf.Check(folder, c.fset, files, nil)
	return err
}

// parse returns the file as it is.
func (c *checker) parse(name string) (*ast.File, error) {
	if file := c.parsed[name]; file != nil {
		return file, nil
	}
	file, err := parser.ParseFile(c.fset, filepath.Join(root, name), nil, parser.SkipObjectResolution)
	c.parsed[name] = file
	return file, err
}
