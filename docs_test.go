package rddp_test

import (
	"go/ast"
	"io/fs"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// TestLinks: each relative link in a Markdown file leads to a file or folder of the repository, and
// each anchor to a heading of that file.
func TestLinks(t *testing.T) {
	documents := markdown(t)
	links := 0
	for name, text := range documents {
		for _, target := range linksOf(text) {
			u, err := url.Parse(target)
			if err != nil {
				t.Errorf("%s: link %q: %v", name, target, err)
				continue
			}
			if u.Scheme != "" { // another site: nothing here can tell whether it is there
				continue
			}
			links++
			file := name
			if u.Path != "" {
				file = path.Join(path.Dir(name), u.Path)
				if _, err := os.Stat(filepath.FromSlash(file)); err != nil {
					t.Errorf("%s: link %q leads nowhere: %v", name, target, err)
					continue
				}
			}
			if u.Fragment != "" && !anchors(documents[file])[u.Fragment] {
				t.Errorf("%s: link %q: %s has no such heading", name, target, file)
			}
		}
	}
	if links < 50 {
		t.Errorf("only %d relative links were found", links)
	}
}

// TestReadmeProgram: the program in README.md is examples/first, which is run as a test, but for
// its package comment.
func TestReadmeProgram(t *testing.T) {
	code, err := os.ReadFile(filepath.Join("examples", "first", "main.go"))
	if err != nil {
		t.Fatal(err)
	}
	_, program, _ := strings.Cut(unixLines(code), "\npackage main\n")
	if !strings.Contains(markdown(t)["README.md"], "\n```go\npackage main\n"+program+"```\n") {
		t.Error("README.md does not have the program of examples/first/main.go")
	}
}

// TestReadmeIsShort: more belongs into docs/.
func TestReadmeIsShort(t *testing.T) {
	if n := strings.Count(markdown(t)["README.md"], "\n"); n > 130 {
		t.Errorf("README.md has %d lines, want at most 130", n)
	}
}

// TestReadmeCommands: after the commands of README.md for a Go module, its program runs there. The
// modules that it needs come from what was fetched for this one.
func TestReadmeCommands(t *testing.T) {
	root, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS(filepath.Join("examples", "first"))); err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(markdown(t)["README.md"], "as `main.go`:\n\n")
	text, _, _ = strings.Cut(text, "\n\n")
	commands := []string{"go mod init example.com/user"}
	for line := range strings.Lines(text) {
		command, _, _ := strings.Cut(strings.TrimSpace(line), "#")
		commands = append(commands, strings.ReplaceAll(command, "/path/to/the/clone", root))
	}
	if len(commands) != 3 {
		t.Fatalf("README.md has the commands %q", commands)
	}
	for _, command := range append(commands, "go run .") {
		words := strings.Fields(command)
		cmd := exec.Command(words[0], words[1:]...)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOPROXY=off", "GOSUMDB=off", "GOFLAGS=") // what go.sum of this module has verified
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v\n%s", command, err, out)
		}
		if command == "go run ." && string(out) != "one-sided\n" {
			t.Errorf("the program prints %q", out)
		}
	}
}

// TestIndex: docs/README.md leads to each document beside it.
func TestIndex(t *testing.T) {
	documents := markdown(t)
	links := linksOf(documents["docs/README.md"])
	for name := range documents {
		if dir, file := path.Split(name); dir == "docs/" && file != "README.md" && !slices.ContainsFunc(links, func(l string) bool { return strings.HasPrefix(l, file) }) {
			t.Errorf("docs/README.md has no link to %s", file)
		}
	}
}

// TestDesignIsShort: it is read in an hour. What belongs to one package is in the documentation of
// that package.
func TestDesignIsShort(t *testing.T) {
	if n := strings.Count(markdown(t)["DESIGN.md"], "\n"); n > 600 {
		t.Errorf("DESIGN.md has %d lines, want at most 600", n)
	}
}

// TestDesignIsNarrow: its lines fit beside code. A row of a table is one line.
func TestDesignIsNarrow(t *testing.T) {
	for i, line := range strings.Split(markdown(t)["DESIGN.md"], "\n") {
		if n := utf8.RuneCountInString(line); n > 100 && !strings.HasPrefix(line, "|") {
			t.Errorf("DESIGN.md:%d has %d columns, want at most 100", i+1, n)
		}
	}
}

// TestDesignNamesWhatExists: the packages, files and functions that DESIGN.md names exist, and it
// names each package of the layers.
func TestDesignNamesWhatExists(t *testing.T) {
	design := markdown(t)["DESIGN.md"]
	named := make(map[string]bool)
	for _, m := range codeSpan.FindAllString(design, -1) {
		name := strings.Trim(m, "`")
		named[name] = true
		if !regexp.MustCompile(`^[a-z0-9_.-]+(/[a-zA-Z0-9_.-]+)+$`).MatchString(name) || strings.HasPrefix(name, "github.com/") || isElsewhere(name) {
			continue
		}
		if _, err := os.Stat(filepath.FromSlash(name)); err != nil {
			t.Errorf("DESIGN.md names %s: %v", name, err)
		}
	}
	for _, p := range list(t) {
		switch top, _, _ := strings.Cut(p.name(), "/"); top {
		case "mpa", "ddp", "rdmap", "extsock", "internal":
			if !named[p.name()] {
				t.Errorf("DESIGN.md does not name the package %s", p.name())
			}
		}
	}
	functions := declared(t)
	for row := range strings.Lines(design) {
		cells := strings.Split(row, "|")
		if len(cells) != 6 || !regexp.MustCompile(`^ [0-9]* ?$`).MatchString(cells[1]) {
			continue // no hop
		}
		file, has := strings.TrimSpace(cells[3]), false
		for _, m := range codeSpan.FindAllString(cells[2], -1) {
			parts := strings.Split(strings.Trim(m, "`"), ".")
			files := functions[strings.Join(parts[max(len(parts)-2, 0):], ".")]
			if len(files) == 0 {
				t.Errorf("DESIGN.md names %s, which no package declares", m)
			}
			has = has || slices.Contains(files, file) || slices.Contains(files, "cmd/rddp/internal/run/"+file) || slices.Contains(files, "internal/"+file)
		}
		if strings.HasSuffix(file, ".go") && !has {
			t.Errorf("DESIGN.md: %s declares none of%s", file, cells[2])
		}
	}
}

// isElsewhere reports whether a name in DESIGN.md with the form of a path is none of this
// repository.
func isElsewhere(name string) bool {
	return name == "klauspost/crc32" || name == "x/sys" || name == "testing/synctest"
}

// declared returns the functions that packages of this repository declare, methods with their type,
// and the files that do so.
func declared(t *testing.T) map[string][]string {
	all := make(map[string][]string)
	for name := range filesOf(t, ".go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, d := range parse(t, name).Decls {
			if f, ok := d.(*ast.FuncDecl); ok {
				all[funcName(f)] = append(all[funcName(f)], name)
			}
		}
	}
	return all
}

// british are words, and beginnings of words, that American spelling does not have.
var british = strings.Fields("cancelled cancelling towards dialled dialling signalled signalling labelled labelling travelled travelling " +
	"modelled modelling neighbour behaviour colour favour honour catalogue licence defence initialis organis recognis serialis normalis " +
	"optimise optimisa realise realisa synchronis summaris minimis maximis utilis")

// TestAmericanSpelling: documents and programs have one spelling.
func TestAmericanSpelling(t *testing.T) {
	files := filesOf(t, ".go")
	maps.Copy(files, markdown(t))
	for name, text := range files {
		text = strings.ToLower(text)
		for _, word := range british {
			if i := strings.Index(text, word); i >= 0 && name != "docs_test.go" {
				t.Errorf("%s:%d: %q is not American spelling", name, 1+strings.Count(text[:i], "\n"), word)
			}
		}
	}
}

// markdown returns the text of each Markdown file, by its path with slashes.
func markdown(t *testing.T) map[string]string { return filesOf(t, ".md") }

// filesOf returns the text of each file whose name ends in suffix, by its path with slashes.
func filesOf(t *testing.T, suffix string) map[string]string {
	t.Helper()
	documents := make(map[string]string)
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "bin" || d.Name() == "node_modules") {
			return filepath.SkipDir
		}
		if d.IsDir() || !strings.HasSuffix(name, suffix) {
			return nil
		}
		text, err := os.ReadFile(name)
		documents[filepath.ToSlash(name)] = unixLines(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return documents
}

func unixLines(b []byte) string { return strings.ReplaceAll(string(b), "\r\n", "\n") }

var (
	fenced   = regexp.MustCompile("(?ms)^[ \t]*```.*?^[ \t]*```[ \t]*$")
	codeSpan = regexp.MustCompile("`[^`\n]*`")
	// An inline link or image, [text](target) or [text](target "title"), and HTML's.
	inlineLink = regexp.MustCompile(`\]\(([^()\s]+)(?:\s+"[^"]*")?\)`)
	definition = regexp.MustCompile(`(?m)^\[[^\]]+\]: (\S+)$`) // of a link whose target stands at the end
	htmlLink   = regexp.MustCompile(`<(?:a|img|source)\s[^>]*?(?:href|src|srcset)="([^"]+)"`)
	heading    = regexp.MustCompile(`(?m)^#{1,6}[ \t]+(.+?)[ \t#]*$`)
	htmlAnchor = regexp.MustCompile(`<a\s[^>]*?(?:id|name)="([^"]+)"`)
	linkText   = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
)

// linksOf returns the targets of all links that are not in code.
func linksOf(text string) (targets []string) {
	text = fenced.ReplaceAllString(text, "")
	var prose strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "    ") && !strings.HasPrefix(line, "\t") {
			prose.WriteString(line)
		}
	}
	text = codeSpan.ReplaceAllString(prose.String(), "code")
	for _, re := range []*regexp.Regexp{inlineLink, definition, htmlLink} {
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			targets = append(targets, m[1])
		}
	}
	return targets
}

// anchors returns the fragments that lead to headings of a document, as GitHub makes them: the text
// in lower case, without punctuation, with hyphens for blanks, and with a number if it is there
// already.
func anchors(text string) map[string]bool {
	all := make(map[string]bool)
	text = fenced.ReplaceAllString(text, "")
	for _, m := range htmlAnchor.FindAllStringSubmatch(text, -1) {
		all[m[1]] = true
	}
	for _, m := range heading.FindAllStringSubmatch(text, -1) {
		words := linkText.ReplaceAllString(m[1], "$1")
		slug := strings.Map(func(r rune) rune {
			switch {
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			case r == ' ':
				return '-'
			}
			return -1
		}, words)
		unique := slug
		for i := 1; all[unique]; i++ {
			unique = slug + "-" + strconv.Itoa(i)
		}
		all[unique] = true
	}
	return all
}

// TestAnchors tests the tools of TestLinks.
func TestAnchors(t *testing.T) {
	text := "# A `b`, C_d: e-f?\n## Same\n### Same\n```\n# no heading\n[no](link)\n```\n" +
		"[a](x.md#y) and `[no](code)` ![i](p.svg \"title\")\n    [no](indented)\n<img src=\"q.svg\">\n"
	all := anchors(text)
	for _, want := range []string{"a-b-c_d-e-f", "same", "same-1"} {
		if !all[want] {
			t.Errorf("no anchor %q among %v", want, all)
		}
	}
	if len(all) != 3 {
		t.Errorf("anchors are %v, want 3", all)
	}
	if got, want := strings.Join(linksOf(text), " "), "x.md#y p.svg q.svg"; got != want {
		t.Errorf("links are %q, want %q", got, want)
	}
}
