//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"compress/gzip"
	"errors"
	"flag"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestPyverbs runs rdma-core's own tests. The results must be at least as good as those of
// resultsFile.

var update = flag.Bool("update", false, "write the results of rdma-core's tests to "+resultsFile)

const resultsFile = "testdata/pyverbs.md"

const resultsHead = `# rdma-core's own tests under rddp run

` + "`go test -tags=verbs -run=Pyverbs ./cmd/rddp/internal/run -update` wrote this file. [docs/run-programs.md](../../../../../docs/run-programs.md#rdma-cores-own-tests) explains the reasons." + `

| file | tests | passed | skipped | failed | why |
| --- | --- | --- | --- | --- | --- |
`

// suites are the files with the tests that apply to any device.
var suites = []string{
	"addr", "atomic", "cq", "cq_events", "cqex", "cuda_dmabuf", "device", "flow", "fork", "mr", "odp", "parent_domain", "pd", "qp", "qpex", "rdmacm",
	"relaxed_ordering", "rss_traffic", "shared_pd", "tag_matching",
}

// driver runs the tests of one file.
const driver = `
import sys, unittest
from args_parser import parser
module = sys.argv[1]
sys.argv = ["x", "--dev", "` + DeviceName + `"]
parser.parse_args()
unittest.main(module=None, verbosity=2, argv=["x", "tests." + module])
`

// unpackSuites copies the tests to a folder where Python finds them, and returns the folder.
func unpackSuites(t *testing.T) string {
	t.Helper()
	from := "/usr/share/doc/rdma-core/tests"
	if other := os.Getenv("VERBS_TESTS"); other != "" {
		from = other
	}
	folder := t.TempDir()
	files, err := filepath.Glob(filepath.Join(from, "*.py*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no tests in %s: %v", from, err)
	}
	if err := os.Mkdir(filepath.Join(folder, "tests"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err == nil && strings.HasSuffix(name, ".gz") {
			var z *gzip.Reader
			if z, err = gzip.NewReader(bytes.NewReader(b)); err == nil {
				b, err = io.ReadAll(z)
			}
		}
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, "tests", strings.TrimSuffix(filepath.Base(name), ".gz")), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(folder, "driver.py"), []byte(driver), 0o644); err != nil {
		t.Fatal(err)
	}
	return folder
}

// A result is the result of the tests in one file.
type result struct {
	file                    string
	passed, skipped, failed int
	// why counts the tests that did not pass, by reason
	why map[string]int
}

// row returns r as a row of the table.
func (r *result) row() string {
	var why []string
	for _, reason := range slices.Sorted(maps.Keys(r.why)) {
		why = append(why, fmt.Sprintf("%d: %s", r.why[reason], reason))
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d | %s |\n", r.file, r.passed+r.skipped+r.failed, r.passed, r.skipped, r.failed, strings.Join(why, "; "))
}

func TestPyverbs(t *testing.T) {
	known, err := os.ReadFile(resultsFile)
	if err != nil {
		t.Fatal(err)
	}
	folder := unpackSuites(t)
	table, all := bytes.NewBufferString(resultsHead), result{file: "all"}
	for _, s := range suites {
		t.Run(s, func(t *testing.T) {
			r, text, err := runSuite(folder, "test_"+s)
			if err != nil {
				t.Fatalf("%v\n%s", err, text)
			}
			table.WriteString(r.row())
			all.passed, all.skipped, all.failed = all.passed+r.passed, all.skipped+r.skipped, all.failed+r.failed
			t.Log(strings.TrimSpace(r.row()))
			passed, failed, ok := knownResult(string(known), r.file)
			if (!ok || r.passed < passed || r.failed > failed) && !*update {
				t.Errorf("want %d passed and %d failed\n%s", passed, failed, text)
			}
		})
	}
	table.WriteString(all.row())
	if *update {
		if err := os.WriteFile(resultsFile, table.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// knownResult returns the numbers in the table for a file.
func knownResult(table, file string) (passed, failed int, ok bool) {
	_, row, found := strings.Cut(table, "\n| "+file+" |")
	var tests, skipped int
	_, err := fmt.Sscanf(row, " %d | %d | %d | %d |", &tests, &passed, &skipped, &failed)
	return passed, failed, found && err == nil
}

// runSuite runs the tests of a file.
func runSuite(folder, file string) (r *result, text string, err error) {
	c := under("/usr/bin/python3", filepath.Join(folder, "driver.py"), file)
	c.Dir = folder
	c.Env = append(os.Environ(), "PYTHONPATH="+strings.Join([]string{folder, filepath.Join(folder, "tests"), os.Getenv("PYTHONPATH")}, ":"))
	var b bytes.Buffer
	c.Stdout, c.Stderr = &b, &b
	if err := c.Run(); err != nil && !errors.As(err, new(*exec.ExitError)) { // it fails if a test fails
		return nil, "", err
	}
	r, err = parseSuite(file, b.String())
	return r, b.String(), err
}

// outcomes matches unittest's report of a test: "name (…) ... skipped 'reason'", or with a line of
// words in between. If a test prints something itself, the outcome is on a line of its own.
var outcomes = regexp.MustCompile(`(?m)^(?:.*\.\.\. )?(ok|FAIL|ERROR|skipped ['"](.*)['"])$`)

// variable matches the parts of a reason that differ between runs.
var variable = regexp.MustCompile(` \(\d+\)| \(Failed to .*\)$`)

// parseSuite parses the output of unittest.
func parseSuite(file, text string) (*result, error) {
	r := &result{file: file, why: make(map[string]int)}
	for _, m := range outcomes.FindAllStringSubmatch(text, -1) {
		switch {
		case m[1] == "ok":
			r.passed++
		case m[1] == "FAIL" || m[1] == "ERROR":
			r.failed++
		default:
			r.skipped++
			r.why[variable.ReplaceAllString(m[2], "")]++
		}
	}
	for _, m := range regexp.MustCompile(`(?m)^(?:FAIL|ERROR): (\w+)`).FindAllStringSubmatch(text, -1) {
		r.why[m[1]+" fails"]++
	}
	var ran int
	_, end, _ := strings.Cut(text, "\nRan ")
	if _, err := fmt.Sscanf(end, "%d test", &ran); err != nil || ran != r.passed+r.skipped+r.failed {
		return nil, fmt.Errorf("%d of %d outcomes were understood (%v)", r.passed+r.skipped+r.failed, ran, err)
	}
	return r, nil
}
