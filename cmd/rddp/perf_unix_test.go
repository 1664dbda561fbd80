//go:build unix

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

// With --self the command starts its peer, which is the same binary, and ends it.
func TestPerfSelf(t *testing.T) {
	t.Setenv(commandEnv, "1")
	status, stdout, stderr := runs(t, []*cli.Command{perfCommand()},
		strings.Fields("perf --self --peers 2 --op write,echo --size 1k --time 1ms --rounds 2 --json")...)
	if status != exitOK || stderr != "" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	checkPerfJSON(t, stdout)
}

// A baseline that is missing or does not fit fails the command before it measures anything.
func TestPerfCheckFiles(t *testing.T) {
	dir := t.TempDir()
	wrong := filepath.Join(dir, "wrong.json")
	if err := os.WriteFile(wrong, []byte(`{"rows": []}`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(commandEnv, "1")
	for _, tt := range []struct{ args, want string }{
		{"--check " + wrong, "the baseline does not fit"},
		{"--check " + filepath.Join(dir, "missing"), "missing"},
		{"--baseline " + filepath.Join(dir, "no", "directory"), "directory"},
	} {
		status, stdout, stderr := runs(t, []*cli.Command{perfCommand()}, append([]string{"perf", "--self"}, strings.Fields(tt.args)...)...)
		if status != exitFailure || stdout != "" || !strings.HasPrefix(stderr, "rddp perf: ") || !strings.Contains(stderr, tt.want) {
			t.Errorf("rddp perf --self %s: status %d, stdout %q, stderr %q", tt.args, status, stdout, stderr)
		}
	}
}
