//go:build verbs && (amd64 || arm64)

package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/softrnic/fault"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// legal returns a command that runs a program under a supervisor with faults.
func legal(spec string, args ...string) *exec.Cmd {
	c := under(args...)
	c.Stderr = nil
	c.Env = append(os.Environ(), faultOfTest+"="+spec, addressOfTest+"=127.0.0.1 127.0.0.2 127.0.0.3 127.0.0.4")
	return c
}

// statusOf returns the exit status of a command.
func statusOf(t *testing.T, c *exec.Cmd) int {
	t.Helper()
	out, err := c.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%v\n%s", err, out)
	}
	if s := c.ProcessState.ExitCode(); s > 1 {
		t.Errorf("status %d:\n%s", s, out)
	}
	return c.ProcessState.ExitCode()
}

// TestLegalPrograms: each program of testdata/legal works by luck, and no more if the device takes
// the liberty that its first line names. It has a twin that works whatever the device does.
func TestLegalPrograms(t *testing.T) {
	all, err := filepath.Glob("testdata/legal/*.c")
	if err != nil || len(all) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	dir := t.TempDir()
	var liberties []string
	for _, source := range all {
		name := strings.TrimSuffix(filepath.Base(source), ".c")
		text, err := os.ReadFile(source)
		liberty, _, ok := strings.Cut(strings.TrimPrefix(string(text), "// "), ":")
		if err != nil || !ok {
			t.Fatalf("%s: its first line does not name a liberty: %v", source, err)
		}
		liberties = append(liberties, liberty)
		t.Run(name, func(t *testing.T) {
			program := compile(t, dir, source)
			for _, seed := range []int{2, 3} {
				if statusOf(t, legal(fmt.Sprintf("legal=%s,seed=%d", liberty, seed), "timeout", "60", program, "fault")) == 0 {
					t.Errorf("seed %d: it still works", seed)
				}
				if statusOf(t, legal(fmt.Sprintf("legal,seed=%d", seed), "timeout", "60", program, "twin")) != 0 {
					t.Errorf("seed %d: the twin fails", seed)
				}
			}
		})
	}
	slices.Sort(liberties)
	if got, want := slices.Compact(liberties), fault.LibertyNames(); !slices.Equal(got, want) {
		t.Errorf("there are programs for %v, and the liberties %v", got, want)
	}
}

// compile compiles a program, and returns its path.
func compile(t *testing.T, dir, source string) string {
	t.Helper()
	program := filepath.Join(dir, strings.TrimSuffix(filepath.Base(source), ".c"))
	if out, err := exec.Command("gcc", "-O1", "-Wall", "-Werror", "-o", program, source, "-libverbs", "-lrdmacm", "-lpthread").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}

// TestLegalTwins: the programs of testdata/check without their mistakes work whatever the device
// does.
func TestLegalTwins(t *testing.T) {
	all, err := filepath.Glob("testdata/check/*.c")
	if err != nil || len(all) == 0 {
		t.Fatalf("no programs: %v", err)
	}
	dir := t.TempDir()
	for seed, source := range testmode.Share(t, all) {
		t.Run(filepath.Base(source), func(t *testing.T) {
			if statusOf(t, legal(fmt.Sprintf("legal,seed=%d", seed), "timeout", "60", compile(t, dir, source), "twin")) != 0 {
				t.Errorf("seed %d: it fails", seed)
			}
		})
	}
}

// TestLegalPairs: the programs of rdma-core, perftest and UCX work whatever the device does.
func TestLegalPairs(t *testing.T) {
	pairs := slices.Concat(connectedPairs, datagramPairs)
	for _, line := range programPairs {
		pairs = append(pairs, [2]string{line, line + " 127.0.0.1"})
	}
	for seed, lines := range testmode.Share(t, pairs) {
		t.Run(lines[1], func(t *testing.T) {
			t.Setenv(faultOfTest, fmt.Sprintf("legal,seed=%d", seed))
			runProgramPair(t, supervise, lines[0], lines[1])
		})
	}
}
