package rddp_test

import (
	"go/ast"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// mayLackRank are the files of the product with a mutex that has no rank, and why.
var mayLackRank = map[string]string{
	"internal/locks/locks.go":      "makes the mutexes with ranks",
	"internal/locks/locks_race.go": "makes the mutexes with ranks",
	"toe/watch.go":                 "one goroutine locks a Gate to wait, and another one unlocks it: it guards nothing",
}

// TestMutexesHaveRanks: each mutex of the product has a rank, so race builds assert the order of
// locks for all of them: see package locks.
func TestMutexesHaveRanks(t *testing.T) {
	used := make(map[string]bool)
	product(t, func(name string, f *ast.File) {
		ast.Inspect(f, func(n ast.Node) bool {
			x, ok := n.(*ast.SelectorExpr)
			if pkg, isName := selected(x); ok && isName && pkg == "sync" && (x.Sel.Name == "Mutex" || x.Sel.Name == "RWMutex") {
				if mayLackRank[name] == "" {
					t.Errorf("%s has a sync.%s, which has no rank: use locks.%[2]s", name, x.Sel.Name)
				}
				used[name] = true
			}
			return true
		})
	})
	for name := range mayLackRank {
		if !used[name] {
			t.Errorf("mayLackRank has %s, which has no mutex", name)
		}
	}
}

// selected returns the name in front of the dot of x, if it is one.
func selected(x *ast.SelectorExpr) (name string, ok bool) {
	if x == nil {
		return "", false
	}
	id, ok := x.X.(*ast.Ident)
	if !ok {
		return "", false
	}
	return id.Name, true
}

// product calls f for each file of the product, whatever systems it is for.
func product(t *testing.T, f func(name string, file *ast.File)) {
	n := 0
	if err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
		case d.IsDir() && (isTestKit[name] || d.Name() == "testdata"):
			return filepath.SkipDir
		case strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go"):
			n++
			f(name, parse(t, name))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if n < 300 {
		t.Fatalf("the product has only %d files", n)
	}
}
