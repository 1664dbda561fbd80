//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestUCX runs UCX's own tests of its transports over verbs. .ci/suite builds them, which takes
// minutes, so `make verbsquick` leaves TestUCX out. The tests that ucxFile names must be skipped,
// for its reasons, and all others must pass.

const ucxFile = "testdata/ucx.txt"

const ucxHead = `# UCX's own tests that are skipped under rddp run, with UCX's reasons, and the number of tests of each suite. TestUCX -update wrote this file.
`

// ucxLeftOut are the tests that measure how fast UCX is, and two that unmap memory which a Write or
// a Send is still to use, and whose registration UCX keeps. A card has pinned the pages, and uses
// them although the program does not have them any more. This device has nothing but the program's
// addresses, so the work request fails, and UCX ends the process: in the one test most of the time,
// in the other now and then.
const ucxLeftOut = "*perf*:*test_uct_event.am_*:*uct_p2p_rma_test_xfer.fence/*:ud_verbs/test_uct_ep.destroy_entity_after_send/*"

// ucxSuites are the suites, by the beginning of the names of their tests.
var ucxSuites = []string{"rdmacm", "ib", "rc_verbs", "ud_verbs"}

// ucxAgain is how often tests that fail run again: some have limits of time that a busy machine
// exceeds.
const ucxAgain = 2

func TestUCX(t *testing.T) {
	build := exec.Command("../../../../.ci/suite", "ucx")
	build.Stderr = os.Stderr
	folder, err := build.Output()
	if err != nil {
		t.Fatal(err)
	}
	gtest, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(folder)), "ucx-*/test/gtest/gtest"))
	if err != nil || len(gtest) != 1 {
		t.Fatalf("%v, %s", err, gtest)
	}
	known, err := os.ReadFile(ucxFile)
	if err != nil && !*update {
		t.Fatal(err)
	}
	here, _ := twoHosts(t)
	here(func() { // UCX tests rdma_cm with each address of the host, so there must be the same ones everywhere
		const lines = "ip -6 addr flush dev rddp0 scope link && ip addr add fd00:99::1/64 dev rddp0 nodad"
		if out, err := exec.Command("sh", "-c", lines).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	})
	t.Setenv(addressOfTest, "10.99.0.1 fd00:99::1")
	text := ucxHead
	for _, suite := range ucxSuites {
		t.Run(suite, func(t *testing.T) {
			var got ucxResults
			here(func() { got = runUCX(t, gtest[0], suite+"/*:-"+ucxLeftOut) })
			for again := range ucxAgain {
				failed := got.failed()
				if len(failed) == 0 || t.Failed() {
					break
				}
				t.Logf("again, %d: %s", again+1, strings.Join(failed, " "))
				here(func() { maps.Copy(got, runUCX(t, gtest[0], strings.Join(failed, ":"))) })
			}
			for _, name := range got.failed() {
				t.Errorf("%s fails:\n%s", name, got[name].failure)
			}
			part := got.text(suite)
			text += part
			if !*update && !strings.Contains(string(known), part) {
				t.Errorf("not as in %s:\n%s", ucxFile, difference(string(known), part))
			}
		})
	}
	if *update {
		if err := os.WriteFile(ucxFile, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// difference returns the lines of part that whole does not have.
func difference(whole, part string) string {
	var b strings.Builder
	lines := strings.Split(whole, "\n")
	for line := range strings.Lines(part) {
		if !slices.Contains(lines, strings.TrimSuffix(line, "\n")) {
			b.WriteString(line)
		}
	}
	return cmp.Or(b.String(), "fewer lines than there")
}

// A ucxResult is how a test has ended. It has passed if both strings are empty.
type ucxResult struct{ skipped, failure string }

// ucxResults are the results of tests, by their names.
type ucxResults map[string]ucxResult

// failed returns the tests that have failed.
func (all ucxResults) failed() (names []string) {
	for name, r := range all {
		if r.failure != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// text returns the part of ucxFile for a suite.
func (all ucxResults) text(suite string) string {
	why := make(map[string][]string)
	for name, r := range all {
		if r.skipped != "" && !ucxInTime.MatchString(r.skipped) {
			why[r.skipped] = append(why[r.skipped], name)
		}
	}
	text := fmt.Sprintf("\n%s: %d tests\n", suite, len(all))
	for _, reason := range slices.Sorted(maps.Keys(why)) {
		text += fmt.Sprintf("  %d are skipped: %s\n", len(why[reason]), reason)
		slices.Sort(why[reason])
		for _, name := range why[reason] {
			text += "    " + name + "\n"
		}
	}
	return text
}

var (
	ucxBegins = regexp.MustCompile(`^\[ RUN      \] (\S+)`)
	ucxSkips  = regexp.MustCompile(`^\[     SKIP \] \(?(.*?)\)?$`)
	// how quick the machine is decides which tests are skipped for this
	ucxInTime = regexp.MustCompile(`^Can't (fill UCT resources|add to pending)`)
	ucxEnds   = regexp.MustCompile(`^\[ (      OK|  FAILED ) \] (\S+)`)
)

// runUCX runs the tests that a filter names, under a supervisor.
func runUCX(t *testing.T, gtest, filter string) ucxResults {
	c := under(gtest, "--gtest_filter="+filter)
	c.Dir = filepath.Dir(gtest)
	c.Env = append(os.Environ(), "UCX_HANDLE_ERRORS=none") // or a test that crashes waits for a debugger
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, &out
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	over := abortLate(t, prototest.Patience(t), c)
	err := c.Wait()
	over()
	all, name, text := ucxResults{}, "", ""
	for line := range strings.Lines(out.String()) {
		line = strings.TrimSuffix(line, "\n")
		if m := ucxBegins.FindStringSubmatch(line); m != nil {
			name, text = m[1], ""
			all[name] = ucxResult{}
			continue
		}
		text += line + "\n"
		r := all[name]
		if m := ucxSkips.FindStringSubmatch(line); m != nil {
			r.skipped = cmp.Or(m[1], "no reason")
			all[name] = r
		} else if m := ucxEnds.FindStringSubmatch(line); m != nil && m[2] == name {
			if strings.Contains(m[1], "FAILED") {
				all[name] = ucxResult{failure: text}
			}
			name = ""
		}
	}
	if name != "" || len(all) == 0 {
		t.Errorf("%v, in %s\n%s", err, name, text)
	}
	return all
}
