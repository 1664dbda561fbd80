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
var replaced = []string{"Buffers", "Dial", "DialTCP", "DialTimeout", "Dialer", "Listen", "ListenConfig", "ListenTCP", "TCPConn", "TCPListener"}

// replacedTLS are the names of package crypto/tls that the stand-in has its own of, with the prefix
// TLS.
var replacedTLS = []string{"Dial", "DialWithDialer", "Dialer", "Listen"}

// writeNet writes the package foreign.test/net twice. With the build tag plain each name is package
// net's; without it the names that make TCP connections are the stand-in's. With pipes, Pipe makes
// a TCP connection in both.
func (w *workspace) writeNet(pipes bool) error {
	names, err := packageNames("net")
	if err != nil {
		return err
	}
	maps.DeleteFunc(names, func(name string, _ token.Token) bool { return !token.IsExported(name) })
	own, plain := map[string]string{}, map[string]string{}
	for _, n := range replaced {
		own[n] = "standin." + n
	}
	if pipes {
		own["Pipe"], plain["Pipe"] = "standin.Pipe", "standin.PlainPipe"
	}
	return w.writeForward("net", names, own, plain)
}

// writeTLS writes the package foreign.test/crypto/tls in the same way: its names that make TCP
// connections are the stand-in's.
func (w *workspace) writeTLS() error {
	names, err := packageNames("crypto/tls")
	if err != nil {
		return err
	}
	maps.DeleteFunc(names, func(name string, _ token.Token) bool { return !token.IsExported(name) })
	own := map[string]string{}
	for _, n := range replacedTLS {
		own[n] = "standin.TLS" + n
	}
	return w.writeForward("crypto/tls", names, own, nil)
}

// writeForward writes the two files of a package that forwards the names of the package path:
// except as plain says with the build tag plain, and except as own says without it.
func (w *workspace) writeForward(path string, names map[string]token.Token, own, plain map[string]string) error {
	if err := w.write(path+"/plain.go", forward(path, "plain", names, plain)); err != nil {
		return err
	}
	return w.write(path+"/extsock.go", forward(path, "!plain", names, own))
}

// forward writes a package whose names are those of the package path, except as own says.
func forward(path, tag string, names map[string]token.Token, own map[string]string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "//go:build %s\n\npackage %s\n\nimport (\n\treal %q\n\n\t%q\n)\n\nvar _ = standin.Pipe\n\n",
		tag, filepath.Base(path), path, standinPath)
	for _, n := range slices.Sorted(maps.Keys(names)) {
		to := "real." + n
		if o := own[n]; o != "" {
			to = o
		}
		fmt.Fprintf(&b, "%s %s = %s\n", keyword(names[n]), n, to)
	}
	return b.String()
}

// packageNames returns the package-level names of a package in Go's tree and how each is declared.
// Generic functions are left out: a package can't forward them.
func packageNames(path string) (map[string]token.Token, error) {
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
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil && d.Type.TypeParams == nil && d.Name.Name != "init" {
			names[d.Name.Name] = token.FUNC
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.TypeSpec:
				names[s.Name.Name] = token.TYPE
			case *ast.ValueSpec:
				for _, id := range s.Names {
					names[id.Name] = d.Tok
				}
			}
		}
	}
	delete(names, "_")
}

// keyword returns how a package declares a name that it forwards.
func keyword(tok token.Token) token.Token {
	if tok == token.FUNC {
		return token.VAR
	}
	return tok
}
