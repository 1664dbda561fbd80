//go:build amd64 || arm64

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// TestRunMetrics: the metrics are available while the program runs, and the command returns the
// program's status.
func TestRunMetrics(t *testing.T) {
	p := newProcess(t, "run", "--metrics", "127.0.0.1:0", "sh", "-c", "read word; exit 7")
	stdin, err := p.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p.start(t)
	line := p.text(t, ` msg=metrics address=127\.0\.0\.1:\d+$`)
	address := regexp.MustCompile(`127\.0\.0\.1:\d+$`).FindString(line)
	if text := scrape(t, "http://"+address+"/metrics"); !strings.Contains(text, "\n"+`rddp_run_tcp_connections_total{fate="ddp"} 0`+"\n") {
		t.Errorf("the metrics are\n%.2000s", text)
	}
	status, stdout, stderr := runs(t, commands(), "top", "--once", address)
	if status != exitOK || stderr != "" || !strings.HasPrefix(stdout, "rddp run, up ") {
		t.Errorf("rddp top: status %d, stderr %q\n%s", status, stderr, stdout)
	}
	stdin.Close()
	if err := p.end(t); err == nil || err.Error() != "exit status 7" {
		t.Errorf("the command ends with %v", err)
	}
}

// TestRunInterruptedEarly: an interrupt before the program starts ends the command, and the program
// does not run.
func TestRunInterruptedEarly(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT} {
		dir := t.TempDir()
		newAuthority(t, dir, "ours")
		pem, err := os.ReadFile(filepath.Join(dir, "ours.pem"))
		if err != nil {
			t.Fatal(err)
		}
		file, ran := filepath.Join(dir, "fifo"), filepath.Join(dir, "ran")
		if err := syscall.Mkfifo(file, 0o600); err != nil {
			t.Fatal(err)
		}
		p := startProcess(t, "run", "--tcp", "127.0.0.1:1", "--tls-ca", file, "touch", ran)
		f, err := os.OpenFile(file, os.O_WRONLY, 0) // waits until the command reads
		if err != nil {
			t.Fatal(err)
		}
		p.cmd.Process.Signal(s)
		for len(p.lines) == 0 && !(caught(t, p.cmd.Process.Pid, s) && isIdle(t, p.cmd.Process.Pid)) {
		}
		f.Write(pem)
		f.Close()
		p.line(t, "^rddp run: interrupted$")
		if err := p.end(t); err == nil || err.Error() != "exit status 130" {
			t.Errorf("%v: the command ends with %v", s, err)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%v: the program has run", s)
		}
	}
}

// caught reports whether a signal is no longer pending for a process.
func caught(t *testing.T, pid int, s syscall.Signal) bool {
	t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(status)) {
		if mask, ok := strings.CutPrefix(line, "ShdPnd:"); ok {
			pending, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
			return err == nil && pending&(1<<(s-1)) == 0
		}
	}
	return false
}

// isIdle reports whether all threads of a process sleep, and none has run in the meantime. Go's
// runtime has then passed on a caught signal.
func isIdle(t *testing.T, pid int) bool {
	t.Helper()
	var before string
	for range 2 {
		files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
		if err != nil {
			t.Fatal(err)
		}
		var now strings.Builder
		for _, file := range files {
			status, err := os.ReadFile(file)
			if err != nil || !strings.Contains(string(status), "\nState:\tS") {
				return false
			}
			_, switches, _ := strings.Cut(string(status), "\nvoluntary_ctxt_switches:")
			now.WriteString(switches)
		}
		if before != "" && before != now.String() {
			return false
		}
		before = now.String()
	}
	return true
}
