//go:build foreign

package foreign

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"slices"
	"strings"
)

// A declaration is a part of a file that can be left out by itself.
type declaration struct {
	file     *goNetFile
	from, to token.Pos
	names    []string // of what it declares; of a method, its type's
	isTest   bool
	uses     map[string]bool // package-level names of the suite
	dials    bool            // it uses a name that the stand-in has its own of
}

// reduce leaves out what does not compile, then all but the tests that make TCP connections and
// what these need, and writes the rest.
func (g *goNet) reduce() error {
	lookup, err := g.exportData()
	if err != nil {
		return err
	}
	why := map[string]string{} // why a declaration was left out, by name
	var wanted []string        // the tests that make TCP connections
	for {
		decls, errs := g.check(lookup)
		if wanted == nil {
			wanted = dialingTests(decls)
		}
		broken := map[*declaration]string{}
		for _, e := range errs {
			d := find(decls, e.Pos)
			if d == nil {
				return e
			}
			if broken[d] == "" {
				broken[d] = e.Msg
			}
		}
		if len(broken) == 0 {
			for _, name := range wanted {
				if why[name] != "" && goNetLeftOut[name] == "" {
					return fmt.Errorf("%s does not compile outside of package net and is not in goNetLeftOut: %s", name, why[name])
				}
			}
			return g.finish(decls)
		}
		for d, msg := range broken {
			if name, ok := strings.CutPrefix(msg, "undefined: "); ok && why[name] != "" {
				msg = why[name]
			}
			for _, n := range d.names {
				why[n] = msg
			}
		}
		g.remove(slices.Collect(maps.Keys(broken)))
	}
}

// needs returns d and the declarations that it uses, also indirectly. A method counts as a
// declaration of its type's name.
func needs(d *declaration, byName map[string][]*declaration) map[*declaration]bool {
	seen := map[*declaration]bool{}
	var visit func(d *declaration)
	visit = func(d *declaration) {
		if seen[d] {
			return
		}
		seen[d] = true
		for n := range d.uses {
			for _, to := range byName[n] {
				visit(to)
			}
		}
	}
	visit(d)
	return seen
}

func index(decls []*declaration) map[string][]*declaration {
	byName := map[string][]*declaration{}
	for _, d := range decls {
		for _, n := range d.names {
			byName[n] = append(byName[n], d)
		}
	}
	return byName
}

func dial(decls map[*declaration]bool) bool {
	for d := range decls {
		if d.dials {
			return true
		}
	}
	return false
}

// dialingTests returns the names of the tests that make TCP connections.
func dialingTests(decls []*declaration) (names []string) {
	byName := index(decls)
	for _, d := range decls {
		if d.isTest && dial(needs(d, byName)) {
			names = append(names, d.names[0])
		}
	}
	return names
}

// exportData returns a function that finds what the compiler has said about a package.
func (g *goNet) exportData() (importer.Lookup, error) {
	packages := map[string]bool{"net": true, ourModule + "/net": true}
	for _, f := range g.files {
		again, err := parser.ParseFile(token.NewFileSet(), f.name, f.src, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, imp := range again.Imports {
			packages[strings.Trim(imp.Path.Value, `"`)] = true
		}
	}
	args := append([]string{"list", "-mod=mod", "-export", "-deps", "-json=ImportPath,Export"}, slices.Collect(maps.Keys(packages))...)
	cmd := g.w.goCommand(args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, &stderr)
	}
	files := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct{ ImportPath, Export string }
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		files[p.ImportPath] = p.Export
	}
	return func(path string) (io.ReadCloser, error) {
		if files[path] == "" {
			return nil, fmt.Errorf("no export data of %s", path)
		}
		return os.Open(files[path])
	}, nil
}

// check parses and checks the files. It returns the declarations and the errors, without those
// about imports.
func (g *goNet) check(lookup importer.Lookup) (decls []*declaration, errs []types.Error) {
	g.fset = token.NewFileSet()
	var asts []*ast.File
	for _, f := range g.files {
		var err error
		if f.ast, err = parser.ParseFile(g.fset, f.name, f.src, parser.ParseComments|parser.SkipObjectResolution); err != nil {
			panic(fmt.Sprintf("BUG: %v\n%s", err, f.src))
		}
		asts = append(asts, f.ast)
	}
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{
		Importer: importer.ForCompiler(g.fset, "gc", lookup),
		Error: func(err error) {
			var e types.Error
			if errors.As(err, &e) && !e.Soft && !strings.HasPrefix(e.Msg, "\t") {
				errs = append(errs, e)
			}
		},
	}
	pkg, _ := conf.Check("gonet", g.fset, asts, info) // the errors are in errs
	for _, f := range g.files {
		decls = append(decls, declarations(f, pkg, info)...)
	}
	return decls, errs
}

// declarations returns the declarations of f, without the imports.
func declarations(f *goNetFile, pkg *types.Package, info *types.Info) (all []*declaration) {
	add := func(n ast.Node, doc *ast.CommentGroup, isTest bool, names ...string) {
		d := &declaration{file: f, from: n.Pos(), to: n.End(), names: names, isTest: isTest, uses: map[string]bool{}}
		if doc != nil {
			d.from = doc.Pos()
		}
		ast.Inspect(n, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if !ok || info.Uses[id] == nil {
				return true
			}
			switch o := info.Uses[id]; {
			case o.Pkg() == pkg && o.Parent() == pkg.Scope():
				d.uses[o.Name()] = true
			case o.Pkg() != nil && o.Pkg().Path() == ourModule+"/net" && slices.Contains(replaced, o.Name()):
				d.dials = true
			}
			return true
		})
		all = append(all, d)
	}
	for _, d := range f.ast.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = receiver(d.Recv.List[0].Type)
			}
			add(d, d.Doc, !f.other && d.Recv == nil && strings.HasPrefix(name, "Test") && name != "TestMain", name)
		case *ast.GenDecl:
			switch {
			case d.Tok == token.IMPORT:
			case d.Tok == token.CONST || !d.Lparen.IsValid():
				names := map[string]token.Token{}
				addNames(names, d)
				add(d, d.Doc, false, slices.Collect(maps.Keys(names))...)
			default:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.TypeSpec:
						add(s, s.Doc, false, s.Name.Name)
					case *ast.ValueSpec:
						var names []string
						for _, id := range s.Names {
							names = append(names, id.Name)
						}
						add(s, s.Doc, false, names...)
					}
				}
			}
		}
	}
	return all
}

func receiver(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return receiver(t.X)
	case *ast.Ident:
		return t.Name
	}
	return ""
}

func find(decls []*declaration, pos token.Pos) *declaration {
	for _, d := range decls {
		if d.from <= pos && pos <= d.to {
			return d
		}
	}
	return nil
}

// remove takes declarations out of their files.
func (g *goNet) remove(decls []*declaration) {
	edits := map[*goNetFile][]edit{}
	for _, d := range decls {
		edits[d.file] = append(edits[d.file], edit{from: d.from, to: d.to})
	}
	for f, e := range edits {
		f.src = g.apply(f, e)
	}
}

// finish keeps the tests that make TCP connections and what they need, and writes the files.
func (g *goNet) finish(decls []*declaration) error {
	byName := index(decls)
	keep := map[*declaration]bool{}
	for _, d := range decls {
		isRoot := slices.Contains(d.names, "TestMain") || slices.Contains(d.names, "init")
		if n := needs(d, byName); isRoot || d.isTest && dial(n) {
			maps.Copy(keep, n)
		}
	}
	g.remove(slices.DeleteFunc(decls, func(d *declaration) bool { return keep[d] }))
	for _, f := range g.files {
		if err := g.dropImports(f); err != nil {
			return err
		}
		if err := g.w.write("gonet/"+f.name, string(f.src)); err != nil {
			return err
		}
	}
	return nil
}

// dropImports removes the imports of f that nothing uses. It goes by the qualifiers in the text,
// and for the import without a qualifier adds a use.
func (g *goNet) dropImports(f *goNetFile) error {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, f.name, f.src, parser.ParseComments)
	if err != nil {
		return fmt.Errorf("%w\n%s", err, f.src)
	}
	g.fset = fset
	used := map[string]bool{}
	ast.Inspect(file, func(n ast.Node) bool {
		if s, ok := n.(*ast.SelectorExpr); ok {
			if x, ok := s.X.(*ast.Ident); ok {
				used[x.Name] = true
			}
		}
		return true
	})
	var edits []edit
	for _, imp := range file.Imports {
		path := strings.Trim(imp.Path.Value, `"`)
		name := path[strings.LastIndex(path, "/")+1:]
		if imp.Name != nil {
			name = imp.Name.Name
		}
		if name != "." && !used[name] {
			edits = append(edits, edit{imp.Pos(), imp.End(), "_ " + imp.Path.Value})
		}
	}
	f.src = g.apply(f, edits)
	if f.name != "hidden_test.go" {
		f.src = append(f.src, "\nvar _ Addr\n"...)
	}
	return nil
}
