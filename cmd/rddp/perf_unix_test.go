//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/perf"
)

// With --self the command starts its peer, which is the same binary, and stops it.
func TestPerfSelf(t *testing.T) {
	t.Setenv(commandEnv, "1")
	status, stdout, stderr := runs(t, []*cli.Command{perfCommand()},
		strings.Fields("perf --self --peers 2 --op write,echo --size 1k --time 1ms --rounds 2 --json")...)
	if status != exitOK || stderr != "" {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	checkPerfJSON(t, stdout)
}

// If perf and its servers are interrupted together, as by a terminal, perf prints the completed
// rounds, and one line that says it was interrupted.
func TestPerfInterrupted(t *testing.T) {
	p := newProcess(t, "perf", "--self", "--op", "echo,write,read", "--size", "64", "--depth", "1", "--time", "1ms", "--rounds", "1000", "--no-gate", "--json", "-v")
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out strings.Builder
	p.cmd.Stdout = &out
	p.start(t)
	for range 100 { // about ten rounds; the pipe fills up long before the last one
		p.line(t, ` level=DEBUG msg=running done=\d+ of=\d+ `)
	}
	if err := syscall.Kill(-p.cmd.Process.Pid, syscall.SIGTERM); err != nil { // background jobs of a shell ignore SIGINT
		t.Fatal(err)
	}
	var rest []string
	for line := range p.lines {
		if !strings.Contains(line, " level=DEBUG ") {
			rest = append(rest, line)
		}
	}
	err := p.cmd.Wait()
	exitError := (*exec.ExitError)(nil)
	if !errors.As(err, &exitError) || exitError.ExitCode() != exitInterrupted || len(rest) != 1 || rest[0] != "rddp perf: interrupted" {
		t.Errorf("%v, stderr %q", err, rest)
	}
	settings, results, _ := strings.Cut(out.String(), "\n")
	if !strings.Contains(settings, `"incomplete":true`) {
		t.Errorf("settings %s", settings)
	}
	checked := 0
	for line := range strings.Lines(results) {
		var r perf.Result
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Errorf("%s: %v", line, err)
		} else if r.Rounds < 5 || r.Rounds > 900 || r.MsgsPerS <= 0 {
			t.Errorf("%+v", r)
		}
		checked++
	}
	if checked != 5 {
		t.Errorf("%d results in %s", checked, &out)
	}
}

// With --rows the command measures exactly these rows and their references.
func TestPerfRows(t *testing.T) {
	t.Setenv(commandEnv, "1")
	status, stdout, stderr := runs(t, []*cli.Command{perfCommand()},
		strings.Fields("perf --self --rows write/off/1k/4/batch,echo/on/64/1 --time 1ms --rounds 1 --json")...)
	if status != exitOK || stderr != "" || strings.Count(stdout, `"kind":"result"`) != 4 {
		t.Errorf("status %d, stdout %s, stderr %q", status, stdout, stderr)
	}
	for _, want := range []string{`"op":"write","crc":"off","size":1024,"depth":4,"post":"batch"`, `"op":"echo","crc":"on","size":64,"depth":1,`} {
		if !strings.Contains(stdout, want) {
			t.Errorf("no %s in %s", want, stdout)
		}
	}
}

// With --self --tls-self everything is under TLS, each server has its own certificate, and the
// client knows all of them.
func TestPerfSelfTLS(t *testing.T) {
	t.Setenv(commandEnv, "1")
	for _, load := range []string{"--op write,echo,stream", "--scale --conns 3 --op write,echo,stream --depth 1"} {
		status, stdout, stderr := runs(t, []*cli.Command{perfCommand()},
			strings.Fields("perf --self --tls-self --peers 2 --no-gate --size 1k --time 1ms --rounds 1 --json "+load)...)
		if status != exitOK || stderr != "" || !strings.Contains(stdout, `"tls":true`) || !strings.Contains(stdout, `"op":"tcp"`) {
			t.Errorf("%s: status %d, stdout %s, stderr %q", load, status, stdout, stderr)
		}
	}
}
