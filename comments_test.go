package rddp_test

import (
	"go/scanner"
	"go/token"
	"strings"
	"testing"
	"unicode/utf8"
)

// widest is how many columns a comment has at most. A tab counts as four.
const widest = 100

// TestCommentsWrap: a comment that stands alone wraps at 100 columns, in every room. Tables and
// code in comments, which are indented, may be wider, and so may what has no place to break.
func TestCommentsWrap(t *testing.T) {
	n := 0
	for name, text := range filesOf(t, ".go") {
		fset := token.NewFileSet()
		f := fset.AddFile(name, -1, len(text))
		var s scanner.Scanner
		s.Init(f, []byte(text), nil, scanner.ScanComments)
		lines := strings.Split(text, "\n")
		for {
			pos, tok, comment := s.Scan()
			if tok == token.EOF {
				break
			}
			line := lines[f.Line(pos)-1]
			own, isText := strings.CutPrefix(comment, "// ")
			if tok != token.COMMENT || !isText || strings.HasPrefix(own, " ") || strings.TrimLeft(line, "\t") != comment {
				continue
			}
			n++
			width := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			if width > widest && strings.Contains(own, " ") {
				t.Errorf("%s:%d: a comment of %d columns, want at most %d", name, f.Line(pos), width, widest)
			}
		}
	}
	if n < 10_000 {
		t.Errorf("only %d lines of comments were found", n)
	}
}
