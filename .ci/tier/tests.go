package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A testPackage is a package with its test files, as go list prints it.
type testPackage struct {
	ImportPath                string
	Dir                       string
	TestGoFiles, XTestGoFiles []string
}

// listTests returns the packages that the patterns match. The environment may have more variables
// than this process's, such as GOARCH.
func listTests(ctx context.Context, env, buildFlags, patterns []string) ([]testPackage, error) {
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

// testFunction matches the declaration of a test, an example or a fuzz target.
var testFunction = regexp.MustCompile(`(?m)^func ((?:Test|Example|Fuzz)(?:[^a-z(][^(]*)?)\(`)

// functions returns the names of the package's tests, examples and fuzz targets, in the order of
// the files.
func (p testPackage) functions() (names []string, err error) {
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		src, err := os.ReadFile(filepath.Join(p.Dir, name))
		if err != nil {
			return nil, err
		}
		names = append(names, matches(testFunction, src)...)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "TestMain" }), nil
}

// matches returns the first group of each match of re in the text.
func matches(re *regexp.Regexp, text []byte) (all []string) {
	for _, m := range re.FindAllSubmatch(text, -1) {
		all = append(all, string(m[1]))
	}
	return all
}

// folder returns the package's folder as an argument of the go command, such as ./mpa.
func (p testPackage) folder() string {
	here, err := os.Getwd()
	if err != nil {
		return p.ImportPath
	}
	folder, err := filepath.Rel(here, p.Dir)
	if err != nil || strings.HasPrefix(folder, "..") {
		return p.ImportPath
	}
	return "./" + filepath.ToSlash(folder)
}

// pattern returns a pattern of these names for -run.
func pattern(names []string) string {
	quoted := make([]string, len(names))
	for i, name := range names {
		quoted[i] = regexp.QuoteMeta(name)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}
