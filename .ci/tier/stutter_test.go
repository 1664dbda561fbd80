package main

import (
	"context"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestStutter: .ci/stutter stops and continues the program and its child until they end, and ends
// with the program's own code.
func TestStutter(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without stops the program would not end
	defer cancel()
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
