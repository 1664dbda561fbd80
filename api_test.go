package rddp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// faces are the packages that other modules import.
var faces = []string{"mpa", "ddp", "rdmap", "toe", "toe/badlink", "toe/kernel", "toe/netconn", "toe/rnic", "toe/simtoe", "toe/verbs", "extsock", "extsock/capture", "extsock/metrics", "extsock/stats"}

// TestFacesNameNoInternalType: another module can write down the type of everything that a package
// exports: fields, parameters and results. A type that a package declares as an alias has a name
// there.
func TestFacesNameNoInternalType(t *testing.T) {
	imp := exportImporter(t)
	for _, name := range faces {
		pkg, err := imp.Import(module + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		w := walk{pkg: pkg, named: aliases(imp, t), seen: map[types.Type]bool{}}
		for _, name := range pkg.Scope().Names() {
			if obj := pkg.Scope().Lookup(name); obj.Exported() {
				w.typ(obj.Type(), name)
			}
		}
		for _, bad := range w.bad {
			t.Errorf("%s.%s", name, bad)
		}
		if len(w.seen) < 3 {
			t.Errorf("only %d types of %s were looked at", len(w.seen), name)
		}
	}
}

// aliases returns the types to which a face gives a name of its own.
func aliases(imp types.Importer, t *testing.T) map[types.Type]bool {
	named := map[types.Type]bool{}
	for _, name := range faces {
		pkg, err := imp.Import(module + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range pkg.Scope().Names() {
			if obj, ok := pkg.Scope().Lookup(name).(*types.TypeName); ok && obj.Exported() && obj.IsAlias() {
				named[types.Unalias(obj.Type())] = true
			}
		}
	}
	return named
}

// A walk looks at types, and notes where one of an internal package has no public name.
type walk struct {
	pkg   *types.Package
	named map[types.Type]bool
	seen  map[types.Type]bool
	bad   []string
}

func (w *walk) typ(t types.Type, where string) {
	t = types.Unalias(t)
	if w.seen[t] {
		return
	}
	w.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		obj := t.Obj()
		if obj.Pkg() == nil || !strings.HasPrefix(obj.Pkg().Path(), module) {
			return
		}
		if strings.Contains(obj.Pkg().Path(), "/internal/") && !w.named[t] {
			w.bad = append(w.bad, fmt.Sprintf("%s has the type %v", where, t))
			return
		}
		if obj.Pkg() != w.pkg && !w.named[t] {
			return // that package's own affair
		}
		w.typ(t.Underlying(), where)
		for m := range t.Methods() {
			if m.Exported() {
				w.typ(m.Type(), where+"."+m.Name())
			}
		}
	case *types.Struct:
		for f := range t.Fields() {
			if f.Exported() {
				w.typ(f.Type(), where+"."+f.Name())
			}
		}
	case *types.Signature:
		for v := range t.Params().Variables() {
			w.typ(v.Type(), where)
		}
		for v := range t.Results().Variables() {
			w.typ(v.Type(), where)
		}
	case *types.Interface:
		for m := range t.Methods() {
			if m.Exported() {
				w.typ(m.Type(), where+"."+m.Name())
			}
		}
	case *types.Map:
		w.typ(t.Key(), where)
		w.typ(t.Elem(), where)
	case interface{ Elem() types.Type }:
		w.typ(t.Elem(), where)
	}
}

// exportImporter returns an importer for all packages of the module. It reads what the compiler has
// exported.
func exportImporter(t *testing.T) types.Importer {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	files := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		files[p.ImportPath] = p.Export
	}
	return importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("go list shows no export data of %s", path)
		}
		return os.Open(files[path])
	})
}

// TestLayersFromOutside: a program of another module has a message of RDMAP carried by DDP in
// FPDUs, with nothing but what the layers export.
func TestLayersFromOutside(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(mod), "\n") // what this module requires is enough
	if !found {
		t.Fatal("go.mod has no second line")
	}
	for name, text := range map[string]string{
		"go.mod": "module outside\n" + rest + "\nrequire " + module + " v0.0.0\n\nreplace " + module + " => " + here + "\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for from, to := range map[string]string{"go.sum": "go.sum", "testdata/outside.go": "main.go"} {
		text, err := os.ReadFile(from)
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, to), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("go", "run", ".")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOFLAGS=-mod=mod", "GOPROXY=off", "GOSUMDB=off")
	out, err := cmd.CombinedOutput()
	if want := "RDMA Write 1: success, 5 bytes\nhello\n"; err != nil || string(out) != want {
		t.Errorf("%v, it prints\n%s", err, out)
	}
}
