//go:build foreign

package foreign

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

var (
	quick       = flag.Bool("quick", false, "run the quick suites only, and their tests less often")
	onlyColumns = flag.String("columns", "", "run only these columns besides tcp, such as require,in-band; empty means all")
)

func TestMain(m *testing.M) { nopanic.Exit(m.Run()) } // relays are extended sockets

// selected reports whether the flag selects the column.
func (c column) selected() bool {
	return *onlyColumns == "" || c.plain || slices.Contains(strings.Split(*onlyColumns, ","), c.name)
}

// TestSuites runs each suite in each column and compares the columns, test by test, with the first.
func TestSuites(t *testing.T) {
	logs, err := os.MkdirTemp("", "foreign-")
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("the output of the suites is in %s", logs)
	var selected []*suite
	for i := range suites {
		if s := &suites[i]; !*quick || s.quick > 0 {
			selected = append(selected, s)
		}
	}
	var rows []row
	for _, s := range testmode.Share(t, selected) {
		t.Run(strings.NewReplacer("/", "_", " ", "_").Replace(s.name), func(t *testing.T) {
			rows = append(rows, runSuite(t, s, logs))
		})
	}
	t.Logf("\n%s", table(rows))
	if !t.Failed() {
		if err := os.RemoveAll(logs); err != nil {
			t.Error(err)
		}
	}
}

// A row is a suite's results, one for each column; nil where there is none.
type row struct {
	s       *suite
	results []*result
}

func runSuite(t *testing.T, s *suite, logs string) row {
	results := make([]*result, len(columns))
	w, err := newWorkspace(s, t.TempDir())
	if err != nil {
		t.Error(err)
		return row{s, results}
	}
	folder, err := w.folder(s)
	if err != nil {
		t.Error(err)
		return row{s, results}
	}
	var running *service
	if s.server != nil {
		if running, err = s.server.start(t, filepath.Join(logs, filepath.Base(s.name)+".server.log")); err != nil {
			t.Error(err)
			return row{s, results}
		}
	}
	programs := map[bool]string{}
	for _, plain := range []bool{true, false} {
		if programs[plain], err = w.build(s.test, plain, s.race); err != nil {
			t.Error(err)
			return row{s, results}
		}
	}
	for i, c := range columns {
		if !c.selected() {
			continue
		}
		e := execution{
			s: s, col: c, program: programs[c.plain], folder: folder,
			log: logName(logs, s, c), patience: s.patience(results[0]), service: running,
		}
		if results[i], err = e.run(); err != nil {
			t.Errorf("%s, %s: %v", s.name, c.name, err)
			continue
		}
		t.Logf("%-8s %s", c.name, results[i].cell())
		for _, h := range results[i].hung {
			t.Logf("%s, %s: %s has panicked or hung, see %s", s.name, c.name, h, e.log)
		}
		if len(results[i].again) > 0 {
			slices.Sort(results[i].again)
			t.Logf("%s, %s: failed, and passed at another attempt: %v", s.name, c.name, results[i].again)
		}
		switch {
		case results[i].passed() == 0:
			t.Errorf("%s, %s: no test passes", s.name, c.name)
		case i > 0 && results[0] != nil:
			compare(t, s, c, results[0], results[i])
		}
	}
	return row{s, results}
}

// patience returns the bound of one process, after the run over TCP.
func (s *suite) patience(tcp *result) time.Duration {
	limit := s.limit
	if limit == 0 {
		limit = 3 * time.Minute
	}
	if tcp == nil {
		return limit
	}
	return min(limit, 30*time.Second+3*tcp.took/time.Duration(s.repeats()))
}

// compare fails the test t for each test of the suite that passes over TCP and not, or less often,
// in the column c, unless that is an exception, and for each exception that is none.
func compare(t *testing.T, s *suite, c column, tcp, got *result) {
	var lost []string
	excused := map[*exception]int{}
	for _, name := range slices.Sorted(maps.Keys(tcp.tests)) {
		want, n := tcp.tests[name].passed, got.tests[name].passed
		e := exceptionFor(s, c, name)
		switch {
		case n < want && e == nil:
			lost = append(lost, fmt.Sprintf("%s: %d of %d", name, n, want))
		case n < want:
			excused[e]++
		case e != nil && want > 0 && !e.sometimes:
			t.Errorf("%s, %s: %s is an exception and passes", s.name, c.name, name)
		}
	}
	for e, n := range excused {
		t.Logf("%s, %s: excused: %d that match %s: %s", s.name, c.name, n, e.test, e.why)
	}
	if len(lost) > 0 {
		t.Errorf("%s, %s: %d tests pass over TCP and not here, see %s:\n\t%s",
			s.name, c.name, len(lost), got.log, strings.Join(lost, "\n\t"))
	}
	if got.counts.Panics > 0 {
		t.Errorf("%s, %s: %d panics have ended connections", s.name, c.name, got.counts.Panics)
	}
	if c.wantsDDP() && got.counts.DDP == 0 {
		t.Errorf("%s, %s: no connection of %d was in DDP mode", s.name, c.name, got.counts.Dialed)
	}
}

func exceptionFor(s *suite, c column, test string) *exception {
	top, _, _ := strings.Cut(test, "/")
	for i, e := range exceptions {
		if slices.Contains(e.suites, s.name) && slices.Contains(e.columns, c.name) && (e.test.MatchString(test) || e.hangs && e.test.MatchString(top)) {
			return &exceptions[i]
		}
	}
	return nil
}

// cell returns the text of the result in the table.
func (r *result) cell() string {
	if r == nil {
		return "none"
	}
	again := ""
	if len(r.again) > 0 {
		again = fmt.Sprintf(" (%d again)", len(r.again))
	}
	return fmt.Sprintf("%d/%d%s %.1fs", r.passed(), r.failed(), again, r.took.Seconds())
}

// modes returns how many of the connections that the suite has dialed were in which mode.
func (r *result) modes() string {
	switch {
	case r == nil || r.counts.Dialed == 0:
		return ""
	case r.counts.DDP == 0:
		return fmt.Sprintf("%d dialed", r.counts.Dialed)
	case r.counts.Fallback == 0:
		return fmt.Sprintf("%d ddp", r.counts.DDP)
	}
	return fmt.Sprintf("%d ddp %d plain", r.counts.DDP, r.counts.Fallback)
}

// table returns the rows as text.
func table(rows []row) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprint(w, "suite")
	for _, c := range columns {
		fmt.Fprintf(w, "\t%s", c.name)
	}
	fmt.Fprintln(w)
	for _, r := range rows {
		fmt.Fprint(w, r.s.name)
		for _, res := range r.results {
			fmt.Fprintf(w, "\t%s", res.cell())
		}
		fmt.Fprintln(w)
		for _, res := range r.results {
			fmt.Fprintf(w, "\t%s", res.modes())
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	return b.String()
}
