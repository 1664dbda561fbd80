package requirements

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
)

// Gaps returns the errors in the rows and the tests: a row with neither test nor reason, a row with
// both, an id that is in no table or in two, and a test that names an unknown id.
func Gaps(rows []Requirement, tests []Test) (gaps []string) {
	known := map[string]bool{}
	covered := coverage(tests)
	for _, r := range rows {
		switch {
		case known[r.ID]:
			gaps = append(gaps, r.ID+" is in the tables twice")
		case r.Text == "":
			gaps = append(gaps, r.ID+" says nothing")
		case !slices.Contains([]string{"MUST", "MUST NOT", "SHOULD", "SHOULD NOT", "MAY", "IS"}, r.Level):
			gaps = append(gaps, fmt.Sprintf("%s has the level %q", r.ID, r.Level))
		case len(covered[r.ID]) == 0 && r.Why == "":
			gaps = append(gaps, fmt.Sprintf("%s (%s) has no test, and no reason why", r.ID, r.Level))
		case len(covered[r.ID]) > 0 && r.Why != "":
			gaps = append(gaps, fmt.Sprintf("%s has the test %s, and a reason why there is none", r.ID, covered[r.ID][0].Name))
		}
		known[r.ID] = true
	}
	for _, t := range tests {
		for _, id := range t.IDs {
			if !known[id] {
				gaps = append(gaps, fmt.Sprintf("%s: %s covers %s, which is in no table", t.File, t.Name, id))
			}
		}
	}
	return gaps
}

// coverage returns the tests of each requirement.
func coverage(tests []Test) map[string][]Test {
	covered := map[string][]Test{}
	for _, t := range tests {
		for _, id := range t.IDs {
			if !slices.ContainsFunc(covered[id], func(u Test) bool { return u.File == t.File && u.Name == t.Name }) {
				covered[id] = append(covered[id], t)
			}
		}
	}
	return covered
}

// Matrix returns the matrix as a Markdown document, whose links are relative to the folder
// conformance.
func Matrix(rows []Requirement, tests []Test) []byte {
	var b bytes.Buffer
	b.WriteString("# Requirements and their tests\n\n" +
		"Generated from the tables in `requirements/` and the doc comments of the tests by\n" +
		"`go test ./conformance/requirements -update`; `make gate` fails where it is not up to date.\n" +
		"IS marks what an RFC states as a fact of the protocol, without a key word of RFC 2119.\n\n")
	covered := coverage(tests)
	summary(&b, rows, covered)
	rfc, section := "", ""
	for _, r := range rows {
		if r.RFC != rfc {
			fmt.Fprintf(&b, "\n## RFC %s\n", r.RFC)
			rfc, section = r.RFC, ""
		}
		if r.Section != section {
			fmt.Fprintf(&b, "\n### RFC %s §%s\n\n| id | level | requirement | tests |\n| --- | --- | --- | --- |\n", r.RFC, r.Section)
			section = r.Section
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.ID, r.Level, cell(r.Text), links(covered[r.ID], r.Why))
	}
	return b.Bytes()
}

// summary writes the number of rows for each RFC.
func summary(b *bytes.Buffer, rows []Requirement, covered map[string][]Test) {
	b.WriteString("| RFC | requirements | MUST, MUST NOT, IS | of these tested | not testable | others tested |\n| --- | --- | --- | --- | --- | --- |\n")
	for _, c := range Count(rows, func(r Requirement) bool { return len(covered[r.ID]) > 0 }) {
		fmt.Fprintf(b, "| %s | %d | %d | %d | %d | %d |\n", c.RFC, c.Rows, c.Binding, c.BindingDone, c.Binding-c.BindingTestable, c.OtherDone)
	}
}

func links(tests []Test, why string) string {
	if len(tests) == 0 {
		return cell(why)
	}
	var l []string
	for _, t := range tests {
		l = append(l, fmt.Sprintf("[%s](../%s)", t.Name, t.File))
	}
	return strings.Join(l, ", ")
}

func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }

// A Tally counts the requirements of an RFC.
type Tally struct {
	RFC                                   string
	Rows                                  int
	Binding, BindingTestable, BindingDone int // MUST, MUST NOT and IS
	OtherDone                             int
}

// Count counts the rows of each RFC, in the order of the RFCs. done reports whether a test covers a
// requirement as it should.
func Count(rows []Requirement, done func(Requirement) bool) (all []Tally) {
	at := map[string]int{}
	for _, r := range rows {
		i, ok := at[r.RFC]
		if !ok {
			i = len(all)
			at[r.RFC] = i
			all = append(all, Tally{RFC: r.RFC})
		}
		t := &all[i]
		t.Rows++
		isDone := done(r)
		if !r.Binding() {
			if isDone {
				t.OtherDone++
			}
			continue
		}
		t.Binding++
		if r.Why == "" {
			t.BindingTestable++
		}
		if isDone {
			t.BindingDone++
		}
	}
	return all
}
