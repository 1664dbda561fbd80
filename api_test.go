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
	"slices"
	"strings"
	"testing"
)

// mostNames states, for each package that programs import, how many exported names it may have. A
// name is a constant, a variable, a function, a type, or a method of one of these types. A method
// that a type gets by embedding another counts as well; a struct field does not.
var mostNames = map[string]int{
	"mpa":       34,
	"ddp":       59,  // three are for memory outside of the process, two for streams that their owner has ended
	"rdmap":     91,  // three are for an RDMA device: one judges its requests, two are for its Completions; six are for an end that carries out what it owes before its Terminate
	"toe/verbs": 64,  // two are the Is of errors that have an errno with TCP
	"extsock":   113, // two are methods of package net's types; one is for monitoring; one tells whether a Terminate would come before an answer; one tells the owner of a receive queue of the end; 6 are the CompletionQueue's, which transmits, and so cannot be that of rdmap
}

func TestExportedNames(t *testing.T) {
	imp := exportImporter(t)
	for name, most := range mostNames {
		pkg, err := imp.Import(module + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		names := exportedNames(pkg)
		t.Logf("%s exports %d names of at most %d", name, len(names), most)
		if len(names) > most {
			t.Errorf("%s exports more names than %d:\n%s", name, most, strings.Join(names, "\n"))
		}
		if len(names) < 10 {
			t.Errorf("%s exports only %v: the count is wrong", name, names)
		}
	}
}

// exportedNames returns the exported names of pkg, sorted. An alias of another package's type is
// one name: the methods of the type are that package's names.
func exportedNames(pkg *types.Package) (names []string) {
	for _, name := range pkg.Scope().Names() {
		obj := pkg.Scope().Lookup(name)
		if !obj.Exported() {
			continue
		}
		names = append(names, name)
		typ, ok := obj.(*types.TypeName)
		if !ok || typ.IsAlias() {
			continue
		}
		var all types.Type = typ.Type()
		if !types.IsInterface(all) {
			all = types.NewPointer(all)
		}
		methods := types.NewMethodSet(all)
		for i := range methods.Len() {
			if m := methods.At(i).Obj(); m.Exported() {
				names = append(names, name+"."+m.Name())
			}
		}
	}
	slices.Sort(names)
	return names
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
