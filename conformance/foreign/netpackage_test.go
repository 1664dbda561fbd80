//go:build foreign

package foreign

import (
	"fmt"
	"go/ast"
	"go/build"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

const standinPath = "github.com/rddp/rddp/conformance/foreign/standin"

// replaced are the names of package net that the stand-in has its own of.
var replaced = []string{"Dial", "DialTCP", "DialTimeout", "Dialer", "Listen", "ListenConfig", "ListenTCP", "Pipe", "TCPConn", "TCPListener"}

// writeNet writes the package foreign.test/net twice. With the build tag plain each name is package net's, but Pipe, which is
// a TCP connection; without it the names that make TCP connections are the stand-in's.
func (w *workspace) writeNet() error {
	names, err := exportedNames("net")
	if err != nil {
		return err
	}
	if err := w.write("net/plain.go", forward("plain", names, map[string]string{"Pipe": "standin.PlainPipe"})); err != nil {
		return err
	}
	own := map[string]string{}
	for _, n := range replaced {
		own[n] = "standin." + n
	}
	return w.write("net/extsock.go", forward("!plain", names, own))
}

// forward writes a package net whose names are those of the real one, except as own says.
func forward(tag string, names map[string]token.Token, own map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "//go:build %s\n\npackage net\n\nimport (\n\treal \"net\"\n\n\t%q\n)\n\n", tag, standinPath)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		to := "real." + n
		if o := own[n]; o != "" {
			to = o
		}
		fmt.Fprintf(&b, "%s %s = %s\n", names[n], n, to)
	}
	return b.String()
}

// exportedNames returns the package-level names of a package in Go's tree, and how each is declared in a package that forwards it:
// type, const or var. A function is forwarded by a variable.
func exportedNames(path string) (map[string]token.Token, error) {
	pkg, err := build.Import(path, "", 0)
	if err != nil {
		return nil, err
	}
	names := map[string]token.Token{}
	fset := token.NewFileSet()
	for _, name := range append(pkg.GoFiles, pkg.CgoFiles...) {
		f, err := parser.ParseFile(fset, filepath.Join(pkg.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, d := range f.Decls {
			addNames(names, d)
		}
	}
	return names, nil
}

func addNames(names map[string]token.Token, d ast.Decl) {
	add := func(id *ast.Ident, tok token.Token) {
		if id.IsExported() {
			names[id.Name] = tok
		}
	}
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			add(d.Name, token.VAR)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				add(s.Name, token.TYPE)
			case *ast.ValueSpec:
				for _, id := range s.Names {
					add(id, d.Tok)
				}
			}
		}
	}
}
