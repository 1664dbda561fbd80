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

// With --rows the command measures exactly these, and their references.
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

// With --self --tls-self everything is under TLS, each server has its own certificate, and the client
// knows all of them.
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
