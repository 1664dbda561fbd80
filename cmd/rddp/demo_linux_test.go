//go:build amd64 || arm64

package main

import (
	"bytes"
	"fmt"
	"html"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestDemo: the demo shows a device, reads the memory of a program that is stopped, and moves a
// file. Its recording in docs shows the same.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	p := newProcess(t, "demo", "--size", "1m", "--rounds", "1", "--capture", filepath.Join(dir, "c.pcapng"))
	var out, stderr bytes.Buffer
	p.cmd.Stdout, p.cmd.Stderr = &out, &stderr
	if err := p.cmd.Run(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v\n%s%s", err, &stderr, &out)
	}
	want := regexp.MustCompile(`^device   RDMA devices of this host: .*;
         under rddp run: rxe_rddp0.*
stopped  1000 RDMA Reads of a program's memory,
         \d+ µs each while it is stopped \(SIGSTOP\),
         \d+ µs while it runs; over TCP the stopped
         program answers nothing for 500ms
file     .* MiB of random bytes
server   process .*
Write    by RDMA .*, by plain TCP .*;
         ratio .*; SHA-256 equal there
Read     by RDMA .*, by plain TCP .*;
         ratio .*; SHA-256 equal here
messages .*;
         FetchAdd and CmpSwap right
capture  .*
         Wireshark opens it, and
         rddp dump .*
$`)
	if !want.MatchString(out.String()) {
		t.Errorf("the demo prints\n%s", &out)
	}
	text, err := os.ReadFile("../../docs/demo.svg")
	if err != nil {
		t.Fatal(err)
	}
	var recorded strings.Builder
	for _, line := range regexp.MustCompile(`<text[^>]*>(.*)</text>`).FindAllSubmatch(text, -1) {
		recorded.WriteString(html.UnescapeString(string(line[1])) + "\n")
	}
	if lines, ok := strings.CutPrefix(recorded.String(), "$ rddp demo\n"); !ok || !want.MatchString(lines) {
		t.Errorf("make recording would change docs/demo.svg, which says\n%s", &recorded)
	}
}

// TestDemoKilled: if the demo is killed while it has stopped the program whose memory it reads,
// nothing stays, although the program does not see the end of its standard input.
func TestDemoKilled(t *testing.T) {
	for {
		p := newProcess(t, "demo", "--size", "1m", "--rounds", "1", "--capture", filepath.Join(t.TempDir(), "c.pcapng"))
		p.start(t)
		lender := 0
		for ended := false; lender == 0 && !ended; {
			lender = lenderOf(t, p.cmd.Process.Pid)
			select {
			case _, open := <-p.lines:
				ended = !open
			default:
			}
		}
		if lender == 0 { // it was too fast
			p.cmd.Wait()
			continue
		}
		for _, s := range []struct {
			pid    int
			signal syscall.Signal
		}{{p.cmd.Process.Pid, syscall.SIGSTOP}, {lender, syscall.SIGSTOP}, {p.cmd.Process.Pid, syscall.SIGKILL}} {
			if err := syscall.Kill(s.pid, s.signal); err != nil {
				t.Fatal(err)
			}
		}
		// Each process that the demo has started has its standard error.
		for {
			select {
			case _, open := <-p.lines:
				if !open {
					p.cmd.Wait()
					return
				}
			case <-time.After(prototest.Patience(t)):
				syscall.Kill(lender, syscall.SIGKILL)
				t.Fatal("a process is left")
			}
		}
	}
}

// lenderOf returns the PID of the program that a demo stops, or 0.
func lenderOf(t *testing.T, demo int) int {
	t.Helper()
	stderr, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/2", demo))
	if err != nil { // it has ended
		return 0
	}
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		line, err := os.ReadFile(name)
		if _, args, _ := bytes.Cut(line, []byte{0}); err != nil || string(args) != "demo\x00--lender\x00" { // others start it
			continue
		}
		if to, _ := os.Readlink(filepath.Join(filepath.Dir(name), "fd/2")); to == stderr {
			var pid int
			fmt.Sscanf(name, "/proc/%d/", &pid)
			return pid
		}
	}
	return 0
}
