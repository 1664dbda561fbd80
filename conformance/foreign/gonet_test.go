//go:build foreign

package foreign

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// This file makes a suite of the tests that Go's own package net has of its TCP. They are tests
// within the package, so they use names that it does not export, and packages that are internal to
// Go's tree. Both become visible in a tree of links to Go's own, which adds
//
//   - a file to package net that exports each name that the tests need, under another name, and
//   - a package foreign/x for each package internal/x, with the same names; see copyInternal.
//
// A variable is exported as a pointer, so that the tests can set the hooks of package net. The
// tests themselves go to a package of their own, gonet, which imports foreign.test/net without a
// qualifier. What does not compile there is left out; see goNetLeftOut.

const exportPrefix = "Foreign_" // of the unexported names of package net

// A goNet is the source of the suite.
type goNet struct {
	w      *workspace
	fset   *token.FileSet
	files  []*goNetFile
	hidden map[string]token.Token // the unexported names of package net
	used   map[string]bool        // those of them that the tests use
}

// A goNetFile is a file of the suite.
type goNetFile struct {
	name  string
	other bool // its tests do not run
	src   []byte
	ast   *ast.File
}

func writeGoNet(w *workspace) error {
	if err := w.linkGo(); err != nil {
		return err
	}
	g := &goNet{w: w, fset: token.NewFileSet(), used: map[string]bool{}}
	pkg, err := build.Import("net", "", 0)
	if err != nil {
		return err
	}
	if g.hidden, err = packageNames("net"); err != nil {
		return err
	}
	maps.DeleteFunc(g.hidden, func(name string, _ token.Token) bool { return token.IsExported(name) })
	for _, name := range pkg.TestGoFiles {
		if err := g.load(filepath.Join(pkg.Dir, name)); err != nil {
			return err
		}
	}
	g.findUsed()
	for _, f := range g.files {
		if err := g.rewrite(f); err != nil {
			return err
		}
	}
	if err := g.exportHidden(); err != nil {
		return err
	}
	return g.reduce()
}

// load reads a file of the tests and applies the changes to it.
func (g *goNet) load(name string) error {
	src, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	text := string(src)
	for _, c := range goNetChanges {
		text = c.old.ReplaceAllString(text, c.new)
	}
	return g.parse(&goNetFile{name: filepath.Base(name), other: goNetOther.MatchString(filepath.Base(name)), src: []byte(text)})
}

func (g *goNet) parse(f *goNetFile) (err error) {
	f.ast, err = parser.ParseFile(g.fset, f.name, f.src, parser.ParseComments)
	g.files = append(g.files, f)
	return err
}

// findUsed finds the names of package net that the tests use and do not declare themselves.
func (g *goNet) findUsed() {
	own := map[string]token.Token{}
	for _, f := range g.files {
		for _, d := range f.ast.Decls {
			addNames(own, d)
		}
	}
	for _, f := range g.files {
		for _, id := range f.ast.Unresolved {
			if _, isHidden := g.hidden[id.Name]; isHidden && own[id.Name] == 0 {
				g.used[id.Name] = true
			}
		}
	}
}

// An edit replaces a part of a file's text.
type edit struct {
	from, to token.Pos
	text     string
}

// rewrite changes the package's name and the imports, and makes each use of a variable of package
// net, or of an internal package, a use of the pointer to it.
func (g *goNet) rewrite(f *goNetFile) error {
	edits := []edit{{f.ast.Name.Pos(), f.ast.Name.End(), "gonet\n\nimport . \"" + ourModule + "/net\""}}
	variables := map[string]map[string]token.Token{} // local name of an internal package: its names
	for _, imp := range f.ast.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		if !strings.Contains(path, "internal") {
			continue
		}
		names, err := g.w.copyInternal(path)
		if err != nil {
			return err
		}
		edits = append(edits, edit{imp.Path.Pos(), imp.Path.End(), strconv.Quote(visible(path))})
		variables[filepath.Base(path)] = names
	}
	for _, id := range f.ast.Unresolved {
		if g.used[id.Name] && g.hidden[id.Name] == token.VAR {
			edits = append(edits, edit{id.Pos(), id.End(), "(*" + id.Name + ")"})
		}
	}
	ast.Inspect(f.ast, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok && variables[x.Name][s.Sel.Name] == token.VAR {
				edits = append(edits, edit{s.Pos(), s.End(), "(*" + x.Name + "." + s.Sel.Name + ")"})
			}
		}
		return true
	})
	f.src = g.apply(f, edits)
	return nil
}

// apply returns the text of f with the edits.
func (g *goNet) apply(f *goNetFile, edits []edit) []byte {
	slices.SortFunc(edits, func(a, b edit) int { return cmp.Compare(a.from, b.from) })
	var out []byte
	done := 0
	for _, e := range edits {
		from, to := g.fset.Position(e.from).Offset, g.fset.Position(e.to).Offset
		if from < done {
			continue // within what an edit has replaced
		}
		out = append(append(out, f.src[done:from]...), e.text...)
		done = to
	}
	return append(out, f.src[done:]...)
}

// exportHidden writes the file that exports names of package net, and the one that imports them.
func (g *goNet) exportHidden() error {
	export, use := "package net\n\n", "package gonet\n\nimport real \"net\"\n\n"
	for _, n := range slices.Sorted(maps.Keys(g.used)) {
		pointer := ""
		if g.hidden[n] == token.VAR {
			pointer = "&"
		}
		export += fmt.Sprintf("%s %s%s = %s%s\n", keyword(g.hidden[n]), exportPrefix, n, pointer, n)
		use += fmt.Sprintf("%s %s = real.%s%s\n", keyword(g.hidden[n]), n, exportPrefix, n)
	}
	if err := g.parse(&goNetFile{name: "hidden_test.go", src: []byte(use)}); err != nil {
		return err
	}
	return g.w.write("goroot/src/net/zz_foreign.go", export)
}
