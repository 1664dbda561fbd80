package main

import (
	"context"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// waits is the source of wait, which blocks forever, and writes the file "runs" once it is blocked.
// A signal before that would find the goroutine in another place.
const waits = `
func wait() {
	go func() {
		stacks := make([]byte, 1<<20)
		for !strings.Contains(string(stacks[:runtime.Stack(stacks, true)]), "[chan receive]:\nexample.test/m.wait(") {
			runtime.Gosched()
		}
		os.WriteFile("runs", nil, 0o644)
	}()
	<-make(chan int)
}
`

// TestTimeLimit: when a process exceeds the limit of go test, the output says which tests were
// running, and where.
func TestTimeLimit(t *testing.T) {
	module(t, `
func TestGood(t *testing.T) {}

func TestHang(t *testing.T) {
	t.Log("as far as here")
	t.Run("sub", func(t *testing.T) {
		t.Parallel()
		wait()
	})
}
`+waits)
	var log strings.Builder
	limit := 50 * time.Millisecond
	prototest.Wait(t, "a limit that lets the test begin", func() bool { // a busy machine may need more time
		log.Reset()
		limit *= 2
		attempts, ok, err := testAndRetry(t.Context(), []string{"-timeout=" + limit.String()}, []string{"."}, 2, &log)
		if err != nil || ok || len(attempts) != 0 {
			t.Fatalf("ok = %t, %v, %v", ok, attempts, err)
		}
		_, err = os.Stat("runs")
		return err == nil
	})
	for _, want := range []string{
		"== example.test/m does not run again: panic: test timed out after " + limit.String() + "\n",
		"as far as here",
		"[chan receive]:\n    m.wait " + dirOf(t) + "/m_test.go:",
		"lines: dump-example.test-m.txt\n",
	} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing", want)
		}
	}
	if !regexp.MustCompile(`running tests:\n\t\tTestHang/sub \(\d+m?\d*s\)\n`).MatchString(log.String()) {
		t.Error("it does not say for how long the test ran")
	}
	dump, err := os.ReadFile("dump-example.test-m.txt")
	if err != nil || !strings.Contains(string(dump), "created by testing.(*T).Run") {
		t.Errorf("the dump: %v\n%s", err, dump)
	}
	if t.Failed() {
		t.Log(log.String())
	}
	if summary := strings.Join(failures(log.String()), "\n"); !strings.Contains(summary, "m.wait") {
		t.Errorf("the summary does not say where the test was:\n%s", summary)
	}
}

// TestInterrupted: when a step's time is over, the output says which test was running, and where.
func TestInterrupted(t *testing.T) {
	module(t, "func TestHang(t *testing.T) { wait() }\n"+waits)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel() // also if Wait fails
		prototest.Wait(t, "the test", func() bool { _, err := os.Stat("runs"); return err == nil })
	}()
	var log strings.Builder
	if _, ok, err := testAndRetry(ctx, nil, []string{"."}, 2, &log); ok || err == nil {
		t.Errorf("ok = %t, %v", ok, err)
	}
	for _, want := range []string{"does not run again: SIGQUIT: quit\n", "    m.wait " + dirOf(t) + "/m_test.go:"} {
		if !strings.Contains(log.String(), want) {
			t.Errorf("%q is missing:\n%s", want, log.String())
		}
	}
}

func dirOf(t *testing.T) string {
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestDigestIsShort: the digest of many goroutines has those of tests first, then those of the
// package, and each kind of stack once.
func TestDigestIsShort(t *testing.T) {
	lines := []string{"    x_test.go:1: logged", "panic: test timed out after 10m0s", "\trunning tests:", "\t\tTestX (10m0s)", ""}
	for i := range 500 {
		lines = append(lines, "goroutine 7 [IO wait]:", "a.other(0x1)", "\t/a.go:1 +0x5", "")
		lines = append(lines, "goroutine 6 [sleep]:", fmt.Sprintf("a.f%d(0x1)", i), "\t/a.go:1 +0x5", "")
	}
	lines = append(lines, "goroutine 8 [select]:", "example.test/m.(*T).wait(0x1, {0x2, 0x3})", "\t/m.go:2 +0x5", "")
	lines = append(lines, "goroutine 9 [select]:")
	for range 9 {
		lines = append(lines, "b.deep()", "\t/b.go:3 +0x5")
	}
	lines = append(lines, "example.test/m.TestX(0x1)", "\t/m_test.go:4 +0x5", "created by testing.(*T).Run in goroutine 1", "\t/t.go:5 +0x5", "")
	got := digest(lines, "example.test/m")
	const deep = "    b.deep /b.go:3"
	want := []string{
		"panic: test timed out after 10m0s", "\trunning tests:", "\t\tTestX (10m0s)", "    x_test.go:1: logged",
		"goroutine 9 [select]:", deep, deep, deep, deep, "    m.TestX /m_test.go:4",
		"goroutine 8 [select]:", "    m.(*T).wait /m.go:2", "goroutine 7 [IO wait]:", "    a.other /a.go:1",
	}
	if len(got) != dumpLines || !slices.Equal(got[:len(want)], want) {
		t.Errorf("%d lines:\n%s", len(got), strings.Join(got, "\n"))
	}
}
