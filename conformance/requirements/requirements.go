// Package requirements is the catalog of the RFCs' requirements for an iWARP implementation. It
// also makes the matrix that shows which tests cover each requirement.
//
// Each requirement is a row of a table here. Its id names its RFC and section: MPA-5044-4.3-6 is
// the sixth requirement of RFC 5044 §4.3. A test covers a requirement by giving the id in its doc
// comment, so readers find the RFC from the test. [Matrix] finds the tests from the requirement. A
// row without a test gives the reason.
package requirements

import (
	"bytes"
	"embed"
	"encoding/csv"
	"fmt"
	"strings"
)

//go:embed *.tsv
var tables embed.FS

// files are the tables, in the order of the matrix.
var files = []string{"mpa.tsv", "ddp.tsv", "rdmap.tsv", "rdmap-ext.tsv", "security.tsv"}

// A Requirement is one row of a table.
type Requirement struct {
	ID      string
	RFC     string // its number
	Section string
	Level   string // MUST, MUST NOT, SHOULD, SHOULD NOT, MAY, or IS for a plain statement of the RFC
	Text    string // the requirement, in our words
	Why     string // why there is no test; empty if there is one
}

// Binding reports whether an implementation violates the RFC if it does not meet the requirement.
func (r *Requirement) Binding() bool {
	return r.Level == "MUST" || r.Level == "MUST NOT" || r.Level == "IS"
}

var header = []string{"id", "level", "role", "requirement", "why"}

// Load returns all rows, in the order of the tables.
func Load() ([]Requirement, error) {
	var all []Requirement
	for _, name := range files {
		b, err := tables.ReadFile(name)
		if err != nil {
			return nil, err
		}
		rows, err := parse(b)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all = append(all, rows...)
	}
	return all, nil
}

func parse(table []byte) ([]Requirement, error) {
	r := csv.NewReader(bytes.NewReader(table))
	r.Comma, r.LazyQuotes, r.FieldsPerRecord = '\t', true, len(header)
	rows, err := r.ReadAll()
	if err != nil {
		return nil, err
	}
	if len(rows) == 0 || strings.Join(rows[0], "\t") != strings.Join(header, "\t") {
		return nil, fmt.Errorf("the first line is not %q", header)
	}
	var all []Requirement
	for _, f := range rows[1:] {
		part := strings.Split(f[0], "-") // prefix, RFC, section, number
		if len(part) != 4 {
			return nil, fmt.Errorf("id %q", f[0])
		}
		all = append(all, Requirement{ID: f[0], RFC: part[1], Section: part[2], Level: f[1], Text: f[3], Why: f[4]})
	}
	return all, nil
}
