package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

func shell(name, script string, limit time.Duration) step {
	return step{name: name, args: []string{"sh", "-c", script}, limit: limit}
}

// TestStepsRunOn: after a step that fails or hangs the others run, and the summary names it.
func TestStepsRunOn(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	t.Setenv(recordVariable, record)
	if err := appendRecord(record, record0); err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	err := runSteps(t.Context(), &out, []step{
		shell("good", "true", 0),
		shell("bad", "echo '--- FAIL: TestX (1.00s)'; exit 3", time.Minute),
		shell("hung", "sleep 1000 & sleep 1000", 100*time.Millisecond),
		shell("again", `echo '{"test":"TestY","package":"p","attempt":2,"result":"pass","seconds":1}' >>$RDDP_TIER_RECORD`, time.Minute),
	}, 0)
	if !errors.Is(err, errFailed) {
		t.Errorf("runSteps = %v", err)
	}
	got, err := readRecord(record)
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, r := range got {
		lines = append(lines, r.Step+r.Test+" "+r.Result)
	}
	if want := []string{"before pass", "good pass", "bad fail", "hung hung", "TestY pass", "again pass"}; !slices.Equal(lines, want) {
		t.Errorf("the record has %q, want %q", lines, want)
	}
	_, summary, _ := strings.Cut(out.String(), "== summary")
	for _, want := range []string{"good ", "bad ", "hung ", "again ", "p TestY: attempt 2: pass", "--- FAIL: TestX", errLimit.Error()} {
		if !strings.Contains(summary, want) {
			t.Errorf("the summary does not say %q:\n%s", want, summary)
		}
	}
	if strings.Contains(summary, "before") {
		t.Error("the summary has a step of another run")
	}
}

var record0 = record{Step: "before", Result: "pass", Seconds: 1}

// TestAllStepsTogether: when the time of all steps is over, no other step begins.
func TestAllStepsTogether(t *testing.T) {
	record := filepath.Join(t.TempDir(), "record")
	t.Setenv(recordVariable, record)
	var out strings.Builder
	err := runSteps(t.Context(), &out, []step{shell("hung", "sleep 1000", time.Hour), shell("late", "true", 0)}, 200*time.Millisecond)
	if !errors.Is(err, errFailed) {
		t.Errorf("runSteps = %v", err)
	}
	got, err := readRecord(record)
	if err != nil || len(got) != 2 || got[0].Result != "hung" || got[1].Result != "not run" {
		t.Errorf("%v, %v; want hung, not run", got, err)
	}
}

// TestLimitEndsWholeGroup: no process of a step is left, not even one that ignores SIGTERM or is
// stopped.
func TestLimitEndsWholeGroup(t *testing.T) {
	file := filepath.Join(t.TempDir(), "pids")
	script := fmt.Sprintf("(sleep 1000 & p=$!; kill -STOP $p; echo $p >>%[1]s; exec sleep 1000) & echo $! >>%[1]s; wait", file)
	var pids []string
	// On a busy machine it may take longer until both processes have begun.
	for limit := 500 * time.Millisecond; len(pids) != 2 && limit < time.Minute; limit *= 2 {
		if err := os.RemoveAll(file); err != nil {
			t.Fatal(err)
		}
		if o := shell("hung", script, limit).run(t.Context(), new(strings.Builder), false); o.result != "hung" {
			t.Fatalf("the step's result is %s", o.result)
		}
		written, _ := os.ReadFile(file) // there is no file if nothing has begun
		pids = strings.Fields(string(written))
	}
	if len(pids) != 2 {
		t.Fatalf("pids %q, want two", pids)
	}
	for _, pid := range pids {
		// A zombie that its new parent has not waited for yet does not count.
		out, _ := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
		if s := strings.TrimSpace(string(out)); s != "" && s[0] != 'Z' {
			t.Errorf("process %s is left, in state %s", pid, s)
		}
	}
}

func TestParseStep(t *testing.T) {
	s, err := parseStep("nightly SHARD=3/40:8m")
	if err != nil || s.limit != 8*time.Minute || !slices.Equal(s.args, []string{"make", "--no-print-directory", "nightly", "SHARD=3/40"}) {
		t.Errorf("%+v, %v", s, err)
	}
	if s, err := parseStep("test"); err != nil || s.limit != 0 || s.name != "test" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err := parseStep("test:soon"); err == nil {
		t.Error("a limit that is no time is taken")
	}
}

func TestFailures(t *testing.T) {
	var log []string
	log = append(log, "=== RUN   TestA", "--- PASS: TestA (0.00s)", "ok  \tp\t1s", "before", "--- FAIL: TestB (1.00s)", "    b_test.go:1: wrong")
	for i := range 100 {
		log = append(log, fmt.Sprint("line ", i))
	}
	got := failures(strings.Join(log, "\n") + "\n")
	if len(got) != 11+5 || got[0] != "--- FAIL: TestB (1.00s)" || got[len(got)-1] != "line 99" {
		t.Errorf("failures = %q", got)
	}
	if got := failures(strings.Repeat("panic: x\n", 100)); len(got) != mostLines {
		t.Errorf("%d lines", len(got))
	}
}
