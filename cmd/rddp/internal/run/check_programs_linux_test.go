//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestCheckedPrograms: each program of testdata/check makes one mistake, which is found, and has a
// twin without it, in which nothing is found. The first line of a program says of which kind the
// mistake is. The log has how many are found, by kind. See
// checkPlaces for the places that are found.
func TestCheckedPrograms(t *testing.T) {
	all, err := filepath.Glob("testdata/check/*.c")
	if err != nil || len(all) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	dir := t.TempDir()
	type score struct{ programs, found, alarms int }
	scores := make(map[string]*score)
	for _, source := range all {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		text, err := os.ReadFile(source)
		kind, _, ok := strings.Cut(strings.TrimPrefix(string(text), "// "), ":")
		if err != nil || !ok {
			t.Fatalf("%s: its first line does not name a kind: %v", source, err)
		}
		s := scores[kind]
		if s == nil {
			s = new(score)
			scores[kind] = s
		}
		s.programs++
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(dir, name)
			if out, err := exec.Command("gcc", "-g", "-O1", "-Wall", "-Werror", "-o", program, source, "-libverbs", "-lrdmacm", "-lpthread").CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			faulty := checked("timeout", "60", program, "fault")
			log := new(bytes.Buffer)
			faulty.Stderr = log
			if strings.Contains(string(text), "\n// ended:") {
				faulty.Stderr = &ending{log: log, kind: kind}
			}
			lines, _ := findingsIn(t, faulty, log)
			if !strings.Contains(strings.Join(lines, "\n"), "="+kind+" ") {
				t.Errorf("the mistake is not found:\n%s", strings.Join(lines, "\n"))
			} else {
				s.found++
			}
			checkPlaces(t, string(text), kind, lines)
			lines, status := findings(t, checked("timeout", "60", program, "twin"))
			if status != 0 || len(lines) != 1 || !strings.Contains(lines[0], "findings=0 notes=0") {
				s.alarms++
				t.Errorf("the twin has status %d:\n%s", status, strings.Join(lines, "\n"))
			}
		})
	}
	table := fmt.Sprintf("%-18s %8s %6s %12s\n", "kind", "programs", "found", "false alarms")
	for _, kind := range slices.Sorted(maps.Keys(scores)) {
		s := scores[kind]
		table += fmt.Sprintf("%-18s %8d %6d %12d\n", kind, s.programs, s.found, s.alarms)
	}
	t.Logf("\n%s", table)
}

// An ending is the log of a program that waits in vain because of its mistake. It ends the program
// when the finding is there.
type ending struct {
	log   *bytes.Buffer
	kind  string
	ended bool
}

func (e *ending) Write(b []byte) (int, error) {
	e.log.Write(b)
	m := regexp.MustCompile(`=` + e.kind + ` .*?process=\S*\[(\d+)\]`).FindSubmatch(e.log.Bytes())
	if m != nil && !e.ended {
		e.ended = true
		pid, _ := strconv.Atoi(string(m[1]))
		_ = unix.Kill(pid, unix.SIGTERM) // or it has ended
	}
	return len(b), nil
}

// checkPlaces checks the places of a finding. A line of a program such as
//
//	// created: ibv_alloc_pd(
//
// says that the log names one by that word, and what the line of the source there contains.
// "caller" stands for the caller of the function in which the mistake is.
func checkPlaces(t *testing.T, program, kind string, log []string) {
	t.Helper()
	i := slices.IndexFunc(log, func(line string) bool { return strings.Contains(line, "="+kind+" ") })
	if i < 0 || runtime.GOARCH != "amd64" {
		return
	}
	_, after, _ := strings.Cut(program, "\n")
	for _, m := range regexp.MustCompile(`(?m)^// (at|armed|posted|created|registered|caller): (.*)$`).FindAllStringSubmatch(after, -1) {
		pattern := ` ` + m[1] + `="[^"]*? at ([^ ",]+):(\d+)`
		if m[1] == "caller" { // of the function that has made the mistake
			pattern = `(?:at|posted)="[^"]*, called by \w+ at ([^ ",]+):(\d+)`
		}
		place := regexp.MustCompile(pattern).FindStringSubmatch(log[i])
		if place == nil {
			t.Errorf("no place %q: %s", m[1], log[i])
			continue
		}
		text, err := os.ReadFile(place[1])
		if err != nil {
			t.Error(err)
		}
		n, _ := strconv.Atoi(place[2])
		if lines := strings.Split(string(text), "\n"); n == 0 || n > len(lines) || !strings.Contains(lines[n-1], m[2]) {
			t.Errorf("%s is %s:%d, want a line with %q", m[1], place[1], n, m[2])
		}
	}
}

// realFindings are the findings in programs of others that are right: docs/check.md has them. The
// command line matches program, and the line of the log what.
var realFindings = []struct{ program, what string }{
	{`^ib_\w+ -R`, `msg="(context|PD|rdma_cm id) .* check=leak`},
	{`^ib_send_bw .*127.0.0.1`, `msg="CQ .* check=leak`},
	{`^ib_atomic_lat `, `check=leak`},
	{`^r(io)?stream -p`, `msg="rdma_cm id .* check=leak`},
	{`ucx_perftest`, `note=(unmapped|same-buffer)`},
	{`^(ib|ucmatose|udaddy)`, `note=same-buffer`},
	{`^ib_send_bw .*-r 64`, `check=receives`},
	{`^fi_pingpong`, `note=same-buffer`},
	{`^ibv_srq_pingpong`, `note=unfinished`},
	{`^udaddy|ucx_perftest`, `msg="QP .* none of its .* note=reuse`},
	{`^(ib_send_bw|ibv_srq_pingpong|ucmatose|udaddy)`, `check=overwritten`},
}

// TestCheckedPairs: in the programs of rdma-core, perftest, UCX and libfabric nothing is found that
// is wrong.
func TestCheckedPairs(t *testing.T) {
	pairs := slices.Concat(connectedPairs, datagramPairs, fabricPairs)
	for _, line := range programPairs {
		pairs = append(pairs, [2]string{line, line + " 127.0.0.1"})
	}
	for _, lines := range testmode.Share(t, pairs) {
		t.Run(lines[1], func(t *testing.T) {
			for i, text := range runProgramPair(t, superviseNote, lines[0], lines[1]) {
				for line := range strings.Lines(text) {
					if strings.HasPrefix(line, "time=") && !strings.Contains(line, "msg=checked ") && !isReal(lines[i], line) {
						t.Errorf("%s: %s", lines[i], line)
					}
				}
			}
		})
	}
}

func isReal(program, line string) bool {
	for _, r := range realFindings {
		if regexp.MustCompile(r.program).MatchString(program) && regexp.MustCompile(r.what).MatchString(line) {
			return true
		}
	}
	return false
}
