package requirements

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// A Test is a test or fuzz function that covers requirements.
type Test struct {
	File string // relative to the module's root, with slashes
	Name string
	IDs  []string
}

// An id matches the id of a requirement, or of several in one section: MPA-5044-4.3-2 to
// MPA-5044-4.3-6.
var id = regexp.MustCompile(`((?:MPA|DDP|RDMAP|RDMAPX|SEC)-\d{4}-[0-9A-Za-z.]+-)(\d+)(?:\s+to\s+((?:MPA|DDP|RDMAP|RDMAPX|SEC)-\d{4}-[0-9A-Za-z.]+-)(\d+))?`)

// Tests finds all tests below root, the module's root, that cover requirements.
func Tests(root string) ([]Test, error) {
	var all []Test
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return nil
		}
		src, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		tests, err := testsOf(filepath.ToSlash(name), src)
		all = append(all, tests...)
		return err
	})
	return all, err
}

func testsOf(file string, src []byte) ([]Test, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var all []Test
	for _, decl := range parsed.Decls {
		f, ok := decl.(*ast.FuncDecl)
		if !ok || f.Recv != nil || f.Doc == nil || !strings.HasPrefix(f.Name.Name, "Test") && !strings.HasPrefix(f.Name.Name, "Fuzz") {
			continue
		}
		ids, err := idsIn(f.Doc.Text())
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", file, f.Name.Name, err)
		}
		if len(ids) > 0 {
			all = append(all, Test{File: file, Name: f.Name.Name, IDs: ids})
		}
	}
	return all, nil
}

func idsIn(text string) (ids []string, err error) {
	for _, m := range id.FindAllStringSubmatch(text, -1) {
		first, err := strconv.Atoi(m[2])
		if err != nil {
			return nil, err
		}
		last := first
		if m[3] != "" {
			if last, err = strconv.Atoi(m[4]); err != nil || m[3] != m[1] || last <= first || last-first > 100 {
				return nil, fmt.Errorf("%q is no range of ids", m[0])
			}
		}
		for n := first; n <= last; n++ {
			ids = append(ids, m[1]+strconv.Itoa(n))
		}
	}
	return ids, nil
}
