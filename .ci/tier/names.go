package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/build/constraint"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A testPackage is a package with its test files, as go list prints it.
type testPackage struct {
	ImportPath                string
	Dir                       string
	TestGoFiles, XTestGoFiles []string
}

// A kind selects functions in a package's test files.
type kind struct {
	// root reports whether a function is of the kind by itself. If spreads is true, so is each
	// function that mentions a function of the kind.
	root    func(f *testFile, fn *ast.FuncDecl) bool
	spreads bool
}

var kinds = map[string]kind{
	// A test does not do all of its work under the race detector if it mentions testmode.Race or is
	// not built there.
	"norace": {func(f *testFile, fn *ast.FuncDecl) bool { return !f.withRace || mentionsRace(fn) }, true},
	"timing": {func(f *testFile, fn *ast.FuncDecl) bool { return f.timing }, false},
	"all":    {func(f *testFile, fn *ast.FuncDecl) bool { return true }, false},
}

// A testFile is a parsed test file.
type testFile struct {
	*ast.File
	timing   bool // its name ends in _timing_test.go
	withRace bool // it is built with the race detector too
}

// listTests returns the packages that the patterns match.
func listTests(ctx context.Context, buildFlags, patterns []string) ([]testPackage, error) {
	return listTestsFor(ctx, nil, buildFlags, patterns)
}

// listTestsFor is listTests with more environment, such as GOARCH.
func listTestsFor(ctx context.Context, env, buildFlags, patterns []string) ([]testPackage, error) {
	args := slices.Concat([]string{"list", "-json=ImportPath,Dir,TestGoFiles,XTestGoFiles"}, buildFlags, patterns)
	cmd := exec.CommandContext(ctx, goCommand(), args...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	var all []testPackage
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p testPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
}

// functions returns the names of the package's tests, examples and fuzz targets of kind k, in the
// order of the files.
func (p testPackage) functions(k kind) ([]string, error) {
	var files []*testFile
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		f, err := parseTest(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return functionsOf(files, k), nil
}

func parseTest(name string) (*testFile, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	return parseTestSource(name, src)
}

func parseTestSource(name string, src []byte) (*testFile, error) {
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	file := &testFile{File: f, timing: strings.HasSuffix(name, "_timing_test.go"), withRace: true}
	for _, group := range f.Comments {
		for _, c := range group.List {
			if !constraint.IsGoBuild(c.Text) || c.Pos() > f.Package {
				continue
			}
			x, err := constraint.Parse(c.Text)
			if err != nil {
				return nil, err
			}
			file.withRace = x.Eval(func(tag string) bool { return true }) || x.Eval(func(tag string) bool { return tag == "race" })
		}
	}
	return file, nil
}

// functionsOf returns the names of the tests of kind k in files.
func functionsOf(files []*testFile, k kind) []string {
	of := map[string]bool{}
	var tests []string
	for _, f := range files {
		for _, fn := range declared(f) {
			if k.root(f, fn) {
				of[fn.Name.Name] = true
			}
			if fn.Recv == nil && isTest(fn.Name.Name) {
				tests = append(tests, fn.Name.Name)
			}
		}
	}
	for changed := k.spreads; changed; {
		changed = false
		for _, f := range files {
			for _, fn := range declared(f) {
				if !of[fn.Name.Name] && mentions(fn, of) {
					of[fn.Name.Name], changed = true, true
				}
			}
		}
	}
	return slices.DeleteFunc(tests, func(name string) bool { return !of[name] })
}

func declared(f *testFile) (all []*ast.FuncDecl) {
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil {
			all = append(all, fn)
		}
	}
	return all
}

// isTest reports whether go test runs a function of this name.
func isTest(name string) bool {
	for _, prefix := range []string{"Test", "Example", "Fuzz"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok && name != "TestMain" {
			r, _ := utf8.DecodeRuneInString(rest)
			return rest == "" || !unicode.IsLower(r)
		}
	}
	return false
}

// mentionsRace reports whether the function mentions testmode.Race.
func mentionsRace(fn *ast.FuncDecl) (found bool) {
	ast.Inspect(fn, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok && s.Sel.Name == "Race" {
			x, ok := s.X.(*ast.Ident)
			found = found || ok && x.Name == "testmode"
		}
		return true
	})
	return found
}

// mentions reports whether the function's body contains one of the names, even with another
// meaning. So a kind may have a test too many, but none is missing.
func mentions(fn *ast.FuncDecl, names map[string]bool) (found bool) {
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		found = found || ok && names[id.Name]
		return true
	})
	return found
}

// pattern returns a pattern of these names for -run and -skip.
func pattern(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// A selection has the functions of a kind, and the packages that contain them.
type selection struct {
	packages []string
	names    []string
}

// selectKind selects the functions of a kind in packages. A run of go test has one pattern for all
// packages, so it also selects a function with the name of another package's selected function.
func selectKind(packages []testPackage, k kind) (selection, error) {
	var s selection
	names := map[string]bool{}
	for _, p := range packages {
		own, err := p.functions(k)
		if err != nil {
			return selection{}, err
		}
		if len(own) > 0 {
			s.packages = append(s.packages, p.ImportPath)
		}
		for _, name := range own {
			names[name] = true
		}
	}
	s.names = slices.Sorted(maps.Keys(names))
	return s, nil
}

// others returns the tests whose names are in the selection but which are not of the kind.
func (s selection) others(packages []testPackage, k kind) (names []string, err error) {
	for _, p := range packages {
		all, err := p.functions(kinds["all"])
		if err != nil {
			return nil, err
		}
		own, err := p.functions(k)
		if err != nil {
			return nil, err
		}
		for _, name := range all {
			if slices.Contains(s.names, name) && !slices.Contains(own, name) {
				names = append(names, p.ImportPath+" "+name)
			}
		}
	}
	return names, nil
}

func kindArgument(args []string) (k kind, rest []string, err error) {
	if len(args) == 0 {
		return kind{}, nil, errors.New("no kind")
	}
	k, ok := kinds[args[0]]
	if !ok {
		return kind{}, nil, fmt.Errorf("there is no kind %q", args[0])
	}
	return k, args[1:], nil
}

// namesCommand prints a pattern for -skip. It fails if the pattern would also skip other tests.
func namesCommand(ctx context.Context, args []string) error {
	k, patterns, err := kindArgument(args)
	if err != nil {
		return err
	}
	packages, err := listTests(ctx, nil, patterns)
	if err != nil {
		return err
	}
	s, err := selectKind(packages, k)
	if err != nil {
		return err
	}
	others, err := s.others(packages, k)
	if err != nil {
		return err
	}
	if len(others) > 0 {
		return fmt.Errorf("these have the name of a test of the kind %s, so they would be left out; rename one: %v", args[0], others)
	}
	fmt.Println(pattern(s.names))
	return nil
}

// onlyCommand runs the functions of a kind.
func onlyCommand(ctx context.Context, args []string) error {
	k, rest, err := kindArgument(args)
	if err != nil {
		return err
	}
	set := flag.NewFlagSet("only", flag.ExitOnError)
	retries := set.Int("retries", 0, "how often a test that failed runs again, at most")
	if err := set.Parse(rest); err != nil {
		return err
	}
	flags, patterns, err := splitPackages(set.Args())
	if err != nil {
		return err
	}
	packages, err := listTests(ctx, nil, patterns)
	if err != nil {
		return err
	}
	s, err := selectKind(packages, k)
	if err != nil {
		return err
	}
	if len(s.names) == 0 {
		fmt.Printf("no test is of the kind %s\n", args[0])
		return nil
	}
	fmt.Printf("%d tests in %d packages\n", len(s.names), len(s.packages))
	return testAndRecord(ctx, append(flags, "-run="+pattern(s.names)), s.packages, *retries)
}
