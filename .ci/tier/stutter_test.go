package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestStutter: .ci/stutter stops and continues the program and its child until they end, and ends
// with the program's own code.
func TestStutter(t *testing.T) {
	t.Run("at once", stutters)
	t.Run("the program begins late", func(t *testing.T) {
		setsid, err := exec.LookPath("setsid")
		if err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		slow := "#!/bin/sh\nsleep 0.1\nexec " + setsid + " \"$@\"\n"
		if err := os.WriteFile(filepath.Join(dir, "setsid"), []byte(slow), 0o755); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir+":"+os.Getenv("PATH"))
		stutters(t)
	})
}

func stutters(t *testing.T) {
	ctx := prototest.TimeLimit(t) // without stops the program would not end
	t.Setenv("OFF", "0.02")
	t.Setenv("ON", "0.02")
	const threeTimes = `n=0; trap 'n=$((n+1))' CONT; while [ $n -lt 3 ]; do sleep 0.01; done`
	var out strings.Builder
	cmd := exec.Command("../stutter", "sh", "-c", "sh -c '"+strings.ReplaceAll(threeTimes, "'", `'\''`)+"; echo child'; "+threeTimes+"; echo parent; exit 7")
	cmd.Stdout = &out
	if err := inGroup(ctx, cmd, syscall.SIGTERM); !failedItself(err) || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("stutter = %v", err)
	}
	if out.String() != "child\nparent\n" {
		t.Errorf("the program printed %q", out.String())
	}
}
