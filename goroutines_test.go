package rddp_test

import (
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// This file compares docs/goroutines.md with the code: a panic ends a connection and not the
// process, so each goroutine and timer has a recover where it calls the program, and no recover is
// defeated by a lock.

// TestGoroutinesHaveRows: each function of what a program links that starts a goroutine, or gives a
// function to a timer, has a row in the table of docs/goroutines.md, and each row has such a
// function.
func TestGoroutinesHaveRows(t *testing.T) {
	var pkgs []pkg
	decode(t, &pkgs, ".", "list", "-deps", "-json=ImportPath,Standard", "./extsock", "./extsock/capture", "./extsock/metrics")
	starts := make(map[string]bool)
	for _, p := range pkgs {
		if !strings.HasPrefix(p.ImportPath, module+"/") {
			continue
		}
		files, err := filepath.Glob(filepath.Join(p.name(), "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", p.name(), err)
		}
		for _, name := range files {
			for _, d := range parse(t, name).Decls {
				if f, ok := d.(*ast.FuncDecl); ok && !strings.HasSuffix(name, "_test.go") && startsGoroutine(f) {
					starts["`"+filepath.ToSlash(name)+"` `"+funcName(f)+"`"] = true
				}
			}
		}
	}
	document, err := os.ReadFile(filepath.Join("docs", "goroutines.md"))
	if err != nil {
		t.Fatal(err)
	}
	rows := make(map[string]bool)
	for _, m := range regexp.MustCompile("(?m)^\\| (`[a-z0-9_/]+\\.go` `[A-Za-z.]+`) \\|").FindAllSubmatch(document, -1) {
		rows[string(m[1])] = true
	}
	for _, f := range slices.Sorted(maps.Keys(starts)) {
		if !rows[f] {
			t.Errorf("%s starts a goroutine or a timer, and docs/goroutines.md does not say which recover belongs to it", f)
		}
	}
	for _, f := range slices.Sorted(maps.Keys(rows)) {
		if !starts[f] {
			t.Errorf("docs/goroutines.md has %s, which starts no goroutine and no timer", f)
		}
	}
}

// startsGoroutine reports whether f starts a goroutine itself, or gives a function to something
// that calls it in a goroutine of its own.
func startsGoroutine(f *ast.FuncDecl) bool {
	found := false
	ast.Inspect(f, func(n ast.Node) bool {
		_, ok := n.(*ast.GoStmt)
		found = found || ok
		return true
	})
	return found || calls(f, "AfterFunc", "AddCleanup", "SetFinalizer", "Go", "HandOff")
}

// TestNoUnlockUnderDeferredUnlock: a function in which a mutex is unlocked in the end, by a
// deferred call or by the caller (checklocks), does not unlock it by hand and lock it again. A
// panic between the two would become the fatal error of the other Unlock, which no recover stops.
// See locks.Unlocked.
func TestNoUnlockUnderDeferredUnlock(t *testing.T) {
	if err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(name, ".go") {
			for _, decl := range parse(t, name).Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Body != nil {
					held := make(map[string]bool)
					for _, m := range regexp.MustCompile(`(?m)^\+checklocks:(.+)\.mu$`).FindAllStringSubmatch(commentOf(f), -1) {
						held[m[1]] = true
					}
					checkUnlocks(t, name+": "+funcName(f), f.Body, held)
				}
			}
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// commentOf returns the comment of f, without the slashes.
func commentOf(f *ast.FuncDecl) (text string) {
	if f.Doc != nil {
		for _, c := range f.Doc.List {
			text += strings.TrimPrefix(c.Text, "// ") + "\n"
		}
	}
	return text
}

// checkUnlocks checks one function. held are the owners of the mutexes that others unlock in the
// end.
func checkUnlocks(t *testing.T, name string, body *ast.BlockStmt, held map[string]bool) {
	unlocked := make(map[string]bool)
	ast.Inspect(body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit:
			checkUnlocks(t, name, n.Body, make(map[string]bool))
			return false
		case *ast.DeferStmt:
			if owner, op := lockCall(n.Call); op == "unlock" {
				held[owner] = true
			}
			return isLit(n.Call)
		case *ast.CallExpr:
			switch owner, op := lockCall(n); {
			case op == "unlock" && held[owner]:
				unlocked[owner] = true
			case op == "lock" && unlocked[owner]:
				t.Errorf("%s unlocks %s and locks it again, although a deferred call unlocks it, or the caller: use locks.Unlocked", name, owner)
			}
		}
		return true
	})
}

// isLit reports whether call calls a function literal, which is another function's business.
func isLit(call *ast.CallExpr) bool {
	f, ok := call.Fun.(*ast.FuncLit)
	return ok && f != nil
}

// lockCall returns which operation call is, "lock", "unlock" or "", and on whose mutex.
func lockCall(call *ast.CallExpr) (owner, op string) {
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return "", ""
	}
	var b strings.Builder
	if err := printer.Fprint(&b, token.NewFileSet(), f.X); err != nil {
		return "", ""
	}
	owner = strings.TrimSuffix(b.String(), ".mu") // unlock of the owner is that of its mutex
	switch f.Sel.Name {
	case "Lock", "RLock", "lock":
		return owner, "lock"
	case "Unlock", "RUnlock", "unlock":
		return owner, "unlock"
	}
	return "", ""
}

// funcName returns the name of f with its type.
func funcName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	typ := f.Recv.List[0].Type
	for {
		switch x := typ.(type) {
		case *ast.StarExpr:
			typ = x.X
		case *ast.IndexExpr:
			typ = x.X
		case *ast.Ident:
			return x.Name + "." + f.Name.Name
		default:
			return f.Name.Name
		}
	}
}

func parse(t *testing.T, name string) *ast.File {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return f
}
