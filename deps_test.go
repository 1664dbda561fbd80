package rddp_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/rddp/rddp"

// mayImport states, for each package, which packages of ours it may import: the layers only
// import downward, and mpa, ddp and toe do not know one another.
var mayImport = map[string][]string{
	"":                               {},
	"toe":                            {},
	"toe/kernel":                     {"toe"},
	"toe/simtoe":                     {"toe"},
	"toe/toetest":                    {"toe"},
	"mpa":                            {},
	"ddp":                            {},
	"rdmap":                          {"ddp"},
	"internal/bufpool":               {},
	"internal/dissect":               {"mpa", "ddp", "rdmap"},
	"extsock":                        {"toe", "toe/kernel", "mpa", "ddp", "rdmap", "internal/bufpool", "internal/dissect", "extsock/internal/startup"},
	"extsock/internal/startup":       {"toe", "mpa"},
	"internal/nopanic":               {"extsock"},
	"internal/ping":                  {"extsock", "mpa", "rdmap", "internal/accept"},
	"internal/accept":                {},
	"internal/filecopy":              {"extsock", "mpa", "rdmap", "internal/accept"},
	"internal/proxy":                 {"extsock", "mpa", "rdmap", "toe", "toe/kernel", "internal/accept"},
	"internal/demo":                  {"extsock", "rdmap"},
	"cmd/rddp":                       {"extsock", "rdmap", "internal/dissect", "internal/ping", "internal/filecopy", "internal/proxy", "internal/demo", "internal/spec", "internal/specpeer", "mpa"},
	"conformance":                    {"*"},
	"conformance/requirements":       {},
	"conformance/requirements/count": {"conformance/requirements"},
	"conformance/mutations":          {"conformance/requirements"},
	"conformance/hostile":            {"*"},
	"conformance/interop":            {"*"},
	"conformance/models":             {},
	"conformance/foreign":            {},
	"conformance/foreign/standin":    {"extsock"},
	"conformance/apps":               {"*"},
	"conformance/apps/kvcache":       {"ddp", "extsock"},
	"internal/spec":                  {"mpa", "ddp", "rdmap", "internal/dissect"},
	"internal/specpeer":              {"extsock", "rdmap", "internal/spec"},
}

// door names the packages that may import a foreign module; every other package must not.
var door = map[string][]string{
	"github.com/klauspost/crc32":  {"mpa"},
	"github.com/google/gopacket":  {"internal/dissect"},
	"golang.org/x/sys":            {"toe/kernel"},
	"github.com/urfave/cli":       {"cmd/rddp"},
	"github.com/schollz/progress": {"cmd/rddp"},
	"gvisor.dev/gvisor":           {"toe/usertcp"},
	"google.golang.org/grpc":      {"conformance/apps"},
}

// pure are the layers that do no I/O and know no time.
var (
	pure      = []string{"mpa", "ddp", "rdmap"}
	forbidden = []string{"time", "net", "os"}
)

func TestImportsOnlyPointDown(t *testing.T) {
	for _, p := range list(t) {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, known := mayImport[name]
		if !known {
			t.Errorf("package %q has no row in mayImport: say which layers it may see", name)
			continue
		}
		for _, imp := range p.Imports {
			if own, isOurs := strings.CutPrefix(imp, module+"/"); isOurs {
				if !slices.Contains(allowed, own) && !slices.Contains(allowed, "*") {
					t.Errorf("%s imports %s, which is not below it", name, own)
				}
				continue
			}
			for mod, doors := range door {
				if strings.HasPrefix(imp, mod) && !slices.Contains(doors, name) {
					t.Errorf("%s imports %s; its only door is %v", name, imp, doors)
				}
			}
			if slices.Contains(pure, name) && slices.Contains(forbidden, imp) {
				t.Errorf("%s imports %s: the protocol layers do no I/O and know no time", name, imp)
			}
		}
	}
}

type pkg struct {
	ImportPath string
	Imports    []string
}

func list(t *testing.T) []pkg {
	t.Helper()
	out, err := exec.Command("go", "list", "-json=ImportPath,Imports", "./...").Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) < 5 {
		t.Fatalf("go list shows only %d packages", len(pkgs))
	}
	return pkgs
}

// TestShortLeavesNothingOut: `make machines` runs the tests of these packages with -short, which may make a test shorter but
// not skip it, or end it early.
func TestShortLeavesNothingOut(t *testing.T) {
	for _, pattern := range []string{"mpa", "ddp", "rdmap", "extsock", "toe", "toe/*"} {
		files, err := filepath.Glob(filepath.Join(pattern, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s: %v", pattern, err)
		}
		for _, name := range files {
			f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if branch, ok := n.(*ast.IfStmt); ok && calls(branch.Cond, "Short", "Slow") && leaves(branch.Body) {
					t.Errorf("%s: a test is left out with -short", name)
				}
				return true
			})
		}
	}
}

// calls says whether one of these functions is called in n.
func calls(n ast.Node, names ...string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		switch f := call.Fun.(type) {
		case *ast.Ident:
			found = found || slices.Contains(names, f.Name)
		case *ast.SelectorExpr:
			found = found || slices.Contains(names, f.Sel.Name)
		}
		return true
	})
	return found
}

// leaves says whether n skips the test, or returns nothing.
func leaves(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		r, ok := n.(*ast.ReturnStmt)
		found = found || ok && len(r.Results) == 0
		return true
	})
	return found || calls(n, "Skip", "Skipf", "SkipNow")
}
