//go:build unix

package main

import (
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
