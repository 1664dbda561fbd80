package rddp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// isTestKit are the folders whose code runs in tests, studies and examples alone.
var isTestKit = map[string]bool{
	".ci": true, "conformance": true, "examples": true, "toe/usertcp/examples": true,
	"cmd/rddp/internal/hostile": true, "internal/testkit/guest": true, "internal/testkit/tcptest": true,
	"internal/testkit/devicetest": true, "internal/testkit/every": true, "internal/testkit/scenario": true, "internal/testkit/prototest": true, "internal/testkit/rawpeer": true,
	"internal/testkit/rsockpeer": true, "toe/toetest": true, "toe/usertcp/internal/turned": true,
}

// mayLackTable are types with the name of a state that are none, or have no table, and why.
var mayLackTable = map[string]string{
	module + "/internal/dissect.phase": "a capture may hold anything in any order: every phase but the last may come again",
}

// mayAssign are assignments to such fields that are no change of state, and why.
var mayAssign = map[string]string{
	"internal/softrnic/life.go: v.told":       "what the program has been told is no state: it follows the program's commands",
	"internal/conn/driver/sender.go: w.stage": "abandon begins anew, whatever the stage was",
}

// tableType is how the name of a table's type begins.
const tableType = module + "/internal/states.Table["

// TestStatesChangeByTable: a field whose type has a states.Table changes by it alone, apart from
// its first value, and each enum of the product that has the name of a state has a table.
func TestStatesChangeByTable(t *testing.T) {
	enums, tables, assigned := make(map[string]bool), make(map[string]bool), make(map[string]int)
	typed(t, func(pkg *types.Package, fset *token.FileSet, files []*ast.File, info *types.Info) {
		own := tablesOf(pkg)
		maps.Copy(tables, own)
		maps.Copy(enums, enumsOf(pkg))
		for _, f := range files {
			for _, d := range f.Decls {
				if fn, ok := d.(*ast.FuncDecl); ok && !makes(fn.Name.Name) {
					checkStates(t, fset, fn, own, info, assigned)
				}
			}
		}
	})
	if len(tables) < 20 {
		t.Errorf("only %d kinds of state have a table", len(tables))
	}
	t.Logf("%d kinds of state have a table", len(tables))
	for typ := range enums {
		if !tables[typ] && mayLackTable[typ] == "" {
			t.Errorf("%s has the name of a state and no states.Table", typ)
		}
	}
	for typ := range mayLackTable {
		if !enums[typ] || tables[typ] {
			t.Errorf("mayLackTable has %s, which needs no exception", typ)
		}
	}
	for what := range mayAssign {
		if assigned[what] == 0 {
			t.Errorf("mayAssign has %s, which needs no exception", what)
		}
	}
}

// typed calls f for each package of the product in this module, with the types of its expressions.
func typed(t *testing.T, f func(pkg *types.Package, fset *token.FileSet, files []*ast.File, info *types.Info)) {
	imp := exportImporter(t)
	var pkgs []pkg
	decode(t, &pkgs, ".", "list", "-json=ImportPath,GoFiles", "./...")
	for _, p := range pkgs {
		if kit(p.name()) {
			continue
		}
		fset := token.NewFileSet()
		var files []*ast.File
		for _, name := range p.GoFiles {
			file, err := parser.ParseFile(fset, filepath.Join(p.name(), name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, file)
		}
		info := &types.Info{Types: make(map[ast.Expr]types.TypeAndValue)}
		checked, err := (&types.Config{Importer: imp}).Check(p.ImportPath, fset, files, info)
		if err != nil {
			t.Fatal(err)
		}
		f(checked, fset, files, info)
	}
}

// kit reports whether a package is in a folder of test kits.
func kit(name string) bool {
	for dir := name; dir != "." && dir != "/"; dir = filepath.ToSlash(filepath.Dir(dir)) {
		if isTestKit[dir] {
			return true
		}
	}
	return false
}

// makes reports whether a function of this name makes a value, and so its first state.
func makes(name string) bool { return strings.HasPrefix(strings.ToLower(name), "new") }

// tablesOf returns the types for which pkg has a table.
func tablesOf(pkg *types.Package) map[string]bool {
	of := make(map[string]bool)
	for _, name := range pkg.Scope().Names() {
		if v, ok := pkg.Scope().Lookup(name).(*types.Var); ok && strings.HasPrefix(v.Type().String(), tableType) {
			of[strings.TrimSuffix(strings.TrimPrefix(v.Type().String(), tableType), "]")] = true
		}
	}
	return of
}

// enumsOf returns the small integers of pkg that have the name of a state, and constants.
func enumsOf(pkg *types.Package) map[string]bool {
	enums := make(map[string]bool)
	constants := make(map[types.Type]int)
	for _, name := range pkg.Scope().Names() {
		if c, ok := pkg.Scope().Lookup(name).(*types.Const); ok {
			constants[c.Type()]++
		}
	}
	for _, name := range pkg.Scope().Names() {
		typ, ok := pkg.Scope().Lookup(name).(*types.TypeName)
		if ok && !typ.IsAlias() && constants[typ.Type()] > 1 && regexp.MustCompile(`(?i)(state|stage|phase|life)$`).MatchString(name) {
			enums[typ.Type().String()] = true
		}
	}
	return enums
}

// checkStates finds assignments to fields whose type has a table in the package.
func checkStates(t *testing.T, fset *token.FileSet, fn *ast.FuncDecl, tables map[string]bool, info *types.Info, assigned map[string]int) {
	ast.Inspect(fn, func(n ast.Node) bool {
		var to []ast.Expr
		switch n := n.(type) {
		case *ast.AssignStmt:
			to = n.Lhs
		case *ast.IncDecStmt:
			to = []ast.Expr{n.X}
		}
		for _, x := range to {
			_, isField := x.(*ast.SelectorExpr)
			_, isPointer := x.(*ast.StarExpr)
			if typ := info.Types[x].Type; (isField || isPointer) && typ != nil && tables[typ.String()] {
				at := fset.Position(x.Pos())
				what := filepath.ToSlash(at.Filename) + ": " + types.ExprString(x)
				if assigned[what]++; mayAssign[what] == "" {
					t.Errorf("%v: %s is assigned: its states.Table must allow the change", at, typ)
				}
			}
		}
		return true
	})
}
