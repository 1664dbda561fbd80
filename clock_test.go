package rddp_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// realTime names what of package time a test may use only in a synctest bubble, in a benchmark, or
// in a file *_timing_test.go, which `make wild` runs apart from all else: elsewhere a test waits
// for an event, and asserts no time or rate, so that a busy machine cannot fail it.
var realTime = []string{"Sleep", "Since", "Until", "Tick"}

// stillRealTime are the files that break this rule, and how often each of them does. A file that
// gets better must get a smaller number here, or none; a file that is not here gets none.
var stillRealTime = map[string]int{
	// In a bubble, by a way that countRealTime does not follow: a method, a table, a helper that
	// has others callers too.
	"cmd/rddp/internal/filecopy/fault_test.go": 1,
	"cmd/rddp/internal/ping/errors_test.go":    4,
	"cmd/rddp/internal/ping/ping_test.go":      1,
	"extsock/close_test.go":                    1,
	"internal/conn/driver/drive_test.go":       1,
	"extsock/pair_test.go":                     1,
	"extsock/prefer_test.go":                   1,
	"extsock/putoff_test.go":                   1,
	"extsock/slow_test.go":                     1,
	"extsock/startup_test.go":                  2,
	"extsock/stream_rest_test.go":              1,

	// Looks at a condition again and again, or lets others run.
	"internal/softrnic/device_linux_test.go":  1,
	"cmd/rddp/internal/run/run_linux_test.go": 1,
	"extsock/anyconn_test.go":                 1,
	"extsock/bench_test.go":                   1,
	"extsock/footprint_linux_amd64_test.go":   1,
	"extsock/memory_progress_test.go":         1,

	// In packages that run apart from all else, in make wild.
	"conformance/foreign/run_test.go":               1,
	"conformance/hostile/close_test.go":             1,
	"conformance/hostile/cut_test.go":               1,
	"conformance/hostile/descriptors_linux_test.go": 2,
	"conformance/hostile/flood_test.go":             2,
	"conformance/hostile/halfopen_test.go":          2,
	"conformance/hostile/kill_test.go":              1,
	"conformance/hostile/leak_linux_test.go":        1,
	"conformance/hostile/memory_linux_test.go":      5,
	"conformance/hostile/proxy_test.go":             1,
	"conformance/hostile/read_test.go":              2,
	"conformance/hostile/revoke_test.go":            4,
	"conformance/hostile/soak_linux_test.go":        1,
	"conformance/hostile/state_test.go":             1,
	"conformance/interop/guest_test.go":             2,
	"conformance/interop/rddp_terminate_test.go":    1,
	"conformance/lab/apps/http_test.go":             1,
}

func TestRealTimeIsApart(t *testing.T) {
	folders := make(map[string][]testSource)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		folder := filepath.ToSlash(filepath.Dir(path))
		folders[folder] = append(folders[folder], testSource{filepath.ToSlash(path), f})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	uses := make(map[string]int)
	for _, sources := range folders {
		countRealTime(sources, uses)
	}
	for _, name := range slices.Sorted(maps.Keys(uses)) {
		if uses[name] > stillRealTime[name] {
			t.Errorf("%s uses time.%s of real time in %d places, and may in %d: use a bubble, wait for an event, or move the test to a file *_timing_test.go",
				name, strings.Join(realTime, " or time."), uses[name], stillRealTime[name])
		}
	}
	for _, name := range slices.Sorted(maps.Keys(stillRealTime)) {
		if uses[name] < stillRealTime[name] {
			t.Errorf("%s uses real time in %d places only: reduce the %d in stillRealTime", name, uses[name], stillRealTime[name])
		}
	}
}

// TestTimingNames: make test and make gate leave out the tests of files *_timing_test.go by name.
// So no test of another file has such a name.
func TestTimingNames(t *testing.T) {
	files := filesOf(t, "_test.go")
	timing := testsOf(files, true)
	for test, file := range testsOf(files, false) {
		if timing[test] != "" {
			t.Errorf("%s and %s have a %s: rename one", file, timing[test], test)
		}
	}
	if len(timing) == 0 {
		t.Error("no test is in a file *_timing_test.go")
	}
}

// testsOf returns the tests of the files *_timing_test.go, or those of the others, each with a file
// that has it.
func testsOf(files map[string]string, timing bool) map[string]string {
	declaration := regexp.MustCompile(`(?m)^func (Test[^(]*)\(`)
	tests := make(map[string]string)
	for file, text := range files {
		if strings.HasSuffix(file, "_timing_test.go") == timing {
			for _, m := range declaration.FindAllStringSubmatch(text, -1) {
				tests[m[1]] = file
			}
		}
	}
	return tests
}

// TestRealTimeIsFound: the rule finds what it is meant to find, and nothing in bubbles.
func TestRealTimeIsFound(t *testing.T) {
	const src = `package p
func bubble(t *testing.T, f func(t *testing.T)) { synctest.Test(t, f) }
func inside() { time.Sleep(1) }
func deeper() { inside() }
func both() { time.Sleep(2) }
func forBench() { time.Since(x) }
func (c *conn) wait() { time.Sleep(3) }
func TestA(t *testing.T) { synctest.Test(t, func(t *testing.T) { time.Sleep(1); deeper(); both(); c.wait() }) }
func TestB(t *testing.T) { bubble(t, func(t *testing.T) { time.Since(x) }); bubble(t, named) }
func named(t *testing.T) { time.Sleep(1) }
func TestC(t *testing.T) { both(); go func() { time.Sleep(4) }(); other.Sleep(1) }
func BenchmarkA(b *testing.B) { forBench(); time.Sleep(1) }
`
	f, err := parser.ParseFile(token.NewFileSet(), "a_test.go", src, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]int{"a_test.go": 2, "a_timing_test.go": 0} { // in both and in TestC
		uses := make(map[string]int)
		if countRealTime([]testSource{{name, f}}, uses); uses[name] != want {
			t.Errorf("%d uses in %s, want %d", uses[name], name, want)
		}
	}
}

type testSource struct {
	name string
	*ast.File
}

// countRealTime counts in uses, for each file of one folder, in how many places it uses real time.
func countRealTime(sources []testSource, uses map[string]int) {
	b := bubbles{makers: map[string]bool{}, inside: map[string]bool{}}
	for b.find(sources) {
	}
	for _, s := range sources {
		if strings.HasSuffix(s.name, "_timing_test.go") {
			continue
		}
		b.walk(s.File, func(n ast.Node, inside bool) {
			sel, ok := n.(*ast.SelectorExpr)
			if !ok || inside {
				return
			}
			if x, ok := sel.X.(*ast.Ident); ok && x.Name == "time" && slices.Contains(realTime, sel.Sel.Name) {
				uses[s.name]++
			}
		})
	}
}

// bubbles knows which functions of a folder's tests run in bubbles only, or in benchmarks. It goes
// by their names: functions of the same name are one function.
type bubbles struct {
	makers map[string]bool // run what they are given in a bubble
	inside map[string]bool // are mentioned only in bubbles, in benchmarks, and in each other
}

// find extends what it knows, and reports whether there was something new.
func (b *bubbles) find(sources []testSource) (found bool) {
	outside, mentioned := make(map[string]bool), make(map[string]bool)
	declared := make(map[string]bool)
	for _, s := range sources {
		for _, d := range s.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Body == nil {
				continue
			}
			declared[fn.Name.Name] = true
			if !b.makers[fn.Name.Name] && b.makesBubble(fn) {
				b.makers[fn.Name.Name], found = true, true
			}
		}
		b.walk(s.File, func(n ast.Node, inside bool) {
			if id, ok := n.(*ast.Ident); ok {
				mentioned[id.Name] = true
				outside[id.Name] = outside[id.Name] || !inside
			}
		})
	}
	for name := range declared {
		if mentioned[name] && !outside[name] && !b.inside[name] {
			b.inside[name], found = true, true
		}
	}
	return found
}

// makesBubble reports whether fn gives a parameter of its own to what makes bubbles.
func (b *bubbles) makesBubble(fn *ast.FuncDecl) (makes bool) {
	params := make(map[string]bool)
	for _, field := range fn.Type.Params.List {
		if _, isFunc := field.Type.(*ast.FuncType); isFunc {
			for _, name := range field.Names {
				params[name.Name] = true
			}
		}
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && b.isMaker(call.Fun) {
			for _, arg := range call.Args {
				ast.Inspect(arg, func(n ast.Node) bool {
					id, ok := n.(*ast.Ident)
					makes = makes || ok && params[id.Name]
					return true
				})
			}
		}
		return true
	})
	return makes
}

// isMaker reports whether a call of fun runs its arguments in a bubble.
func (b *bubbles) isMaker(fun ast.Expr) bool {
	switch f := fun.(type) {
	case *ast.Ident:
		return b.makers[f.Name]
	case *ast.SelectorExpr:
		x, ok := f.X.(*ast.Ident)
		return ok && x.Name == "synctest" && f.Sel.Name == "Test"
	}
	return false
}

// walk calls visit for each node, except the names in declarations of functions, and says whether
// the node runs in a bubble or a benchmark.
func (b *bubbles) walk(f *ast.File, visit func(n ast.Node, inside bool)) {
	var walk func(n ast.Node, inside bool)
	walk = func(n ast.Node, inside bool) {
		ast.Inspect(n, func(n ast.Node) bool {
			if n == nil {
				return false
			}
			if fn, ok := n.(*ast.FuncDecl); ok {
				if fn.Body != nil {
					name := fn.Name.Name
					walk(fn.Body, b.inside[name] || strings.HasPrefix(name, "Benchmark"))
				}
				return false
			}
			if call, ok := n.(*ast.CallExpr); ok && b.isMaker(call.Fun) {
				visit(n, inside)
				walk(call.Fun, inside)
				for _, arg := range call.Args {
					walk(arg, true)
				}
				return false
			}
			visit(n, inside)
			return true
		})
	}
	walk(f, false)
}
