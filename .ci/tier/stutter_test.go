package main

import (
	"context"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestStutter: the program and its child are stopped and continued until they end, and stutter
// returns the program's own code.
func TestStutter(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute) // without stops the program would not end
	defer cancel()
	const threeTimes = `n=0; trap 'n=$((n+1))' CONT; while [ $n -lt 3 ]; do sleep 0.01; done`
	var out strings.Builder
	cmd := exec.Command("sh", "-c", "sh -c '"+strings.ReplaceAll(threeTimes, "'", `'\''`)+"; echo child'; "+threeTimes+"; echo parent; exit 7")
	cmd.Stdout = &out
	if err := stutter(ctx, cmd, 20*time.Millisecond, 20*time.Millisecond); !failedItself(err) || cmd.ProcessState.ExitCode() != 7 {
		t.Errorf("stutter = %v", err)
	}
	if out.String() != "child\nparent\n" {
		t.Errorf("the program printed %q", out.String())
	}
}
