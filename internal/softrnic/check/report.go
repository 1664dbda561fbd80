package check

import (
	"bufio"
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// A Finding is a mistake of the program.
type Finding struct {
	Kind   Kind
	Object string // what it is about, such as "QP 4711"
	Text   string // what is wrong with it
}

func (f Finding) String() string { return f.Object + ": " + f.Text }

// OfPeer returns the finding about what a peer has done. own says that the peer is a program of the
// same device: it is a mistake then, and a note otherwise.
func (f Finding) OfPeer(own bool) Finding {
	if !own {
		f.Kind = Peer
	}
	return f
}

// A Suppression names findings that are not reported.
type Suppression struct {
	kind    Kind
	all     bool   // kinds
	pattern string // of the finding's text; * stands for any characters
}

// ParseSuppressions parses a file of suppressions. A line has the name of a kind, or * for all
// kinds, and may have a pattern for the finding's text behind it. In the pattern, * stands for any
// characters. Empty lines, and those that begin with #, say nothing.
func ParseSuppressions(file []byte) (all []Suppression, err error) {
	lines := bufio.NewScanner(bytes.NewReader(file))
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, pattern, _ := strings.Cut(line, " ")
		s := Suppression{all: name == "*", pattern: strings.TrimSpace(pattern)}
		if !s.all {
			ok := false
			if s.kind, ok = parseKind(name); !ok {
				return nil, fmt.Errorf("line %d: there is no kind of finding %q", n, name)
			}
		}
		all = append(all, s)
	}
	return all, lines.Err()
}

// covers reports whether s suppresses f.
func (s *Suppression) covers(f Finding) bool {
	return (s.all || s.kind == f.Kind) && (s.pattern == "" || matches(s.pattern, f.String()))
}

// matches reports whether all of text matches the pattern.
func matches(pattern, text string) bool {
	first, rest, more := strings.Cut(pattern, "*")
	if !strings.HasPrefix(text, first) || !more {
		return text == first && !more
	}
	text = text[len(first):]
	for {
		if first, rest, more = strings.Cut(rest, "*"); !more {
			return strings.HasSuffix(text, first)
		}
		at := strings.Index(text, first)
		if at < 0 {
			return false
		}
		text = text[at+len(first):]
	}
}

// Counts are numbers of findings.
type Counts struct {
	Findings   int // that are mistakes
	Notes      int
	Suppressed int
	Repeated   int // no news about an object that has one of that kind, or beyond what is remembered
}

// maxFindings bounds the mistakes, and the other findings, that a Report remembers. Those behind
// are counted as repeated.
const maxFindings = 10000

// A Report has what has been found. The zero Report is empty.
type Report struct {
	Suppress []Suppression
	// mistakes are the findings that count, and others the notes and those that are suppressed
	mistakes, others map[about]texts
	counts           Counts
}

// texts are what has been found wrong with an object, as far as that is remembered.
type texts []string

// maxRefused bounds the different findings of kind Refused that an object can have.
const maxRefused = 16

// repeats reports whether f is no news about an object that has t. Of most kinds an object has one
// finding, but what is refused for another reason is another mistake.
func (t texts) repeats(f Finding) bool {
	return f.Kind != Refused || len(t) == maxRefused || slices.Contains(t, f.Text)
}

// about is what can have one finding, and several of kind Refused.
type about struct {
	kind   Kind
	object string
}

// Add counts a finding. It reports whether the finding is to be logged.
func (r *Report) Add(f Finding) bool {
	suppressed := slices.ContainsFunc(r.Suppress, func(s Suppression) bool { return s.covers(f) })
	seen, n := &r.mistakes, &r.counts.Findings
	switch {
	case suppressed:
		seen, n = &r.others, &r.counts.Suppressed
	case f.Kind.IsNote():
		seen, n = &r.others, &r.counts.Notes
	}
	a := about{f.Kind, f.Object}
	if t, ok := (*seen)[a]; ok && t.repeats(f) || *n >= maxFindings || len(*seen) >= maxFindings {
		r.counts.Repeated++
		return false
	}
	if *seen == nil {
		*seen = make(map[about]texts)
	}
	(*seen)[a] = append((*seen)[a], f.Text)
	*n++
	return !suppressed
}

// Forgets is the event that an object is gone: another one may have its name.
func (r *Report) Forgets(object string) {
	for k := range kinds {
		delete(r.mistakes, about{k, object})
		delete(r.others, about{k, object})
	}
}

// Counts returns the numbers of what was added.
func (r *Report) Counts() Counts { return r.counts }
