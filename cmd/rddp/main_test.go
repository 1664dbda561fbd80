package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// runs runs a command line like main and returns its status and output.
func runs(t *testing.T, commands []*cli.Command, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"rddp"}, args...), &out, &errs, commands)
	return status, out.String(), errs.String()
}

// A listening is the stderr of a command that listens at a port chosen by the system.
type listening struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string // the first lines
}

func newListening() *listening { return &listening{lines: make(chan string, 16)} }

// Write takes one line.
func (l *listening) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.lines <- string(p):
	default:
	}
	return l.text.Write(p)
}

// address returns the address at which the command listens, from its log line.
func (*listening) address(line string) string {
	_, address, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " address=")
	return address
}

func (l *listening) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func TestExitStatus(t *testing.T) {
	tests := []struct {
		args   string
		status int
		stderr string // all of it
	}{
		{"works", 0, ""},
		{"works --name x", 0, ""},
		{"fails", 1, "rddp fails: no luck\n"},
		{"exits", 2, "rddp exits: not like this\n"},
		{"misused", 2, "rddp misused: not like that\n`rddp misused --help` shows the usage.\n"},
		{"works --nonsense", 2, "rddp works: there is no flag --nonsense\n`rddp works --help` shows the usage.\n"},
		{"works --nmae x", 2, "rddp works: there is no flag --nmae; did you mean --name?\n`rddp works --help` shows the usage.\n"},
		{"works --name", 2, "rddp works: flag needs an argument: --name\n`rddp works --help` shows the usage.\n"},
		{"nothing", 2, "rddp: there is no command \"nothing\"\n`rddp --help` shows the usage.\n"},
		{"--nonsense", 2, "rddp: there is no flag --nonsense\n`rddp --help` shows the usage.\n"},
		{"", 2, "rddp: no command given\n`rddp --help` shows the usage.\n"},
		{"--help", 0, ""},
		{"help", 0, ""},
		{"--version", 0, ""},
		{"works --help", 0, ""},
	}
	for _, tt := range tests {
		t.Run(tt.args, func(t *testing.T) {
			command := func(name string, err error) *cli.Command {
				return &cli.Command{
					Name: name, Flags: []cli.Flag{&cli.StringFlag{Name: "name"}},
					Action: func(context.Context, *cli.Command) error { return err },
				}
			}
			status, _, stderr := runs(t, []*cli.Command{
				command("works", nil), command("fails", errors.New("no luck")),
				command("exits", cli.Exit("not like this", 2)), command("misused", usage("not like %s", "that")),
			}, strings.Fields(tt.args)...)
			if status != tt.status || stderr != tt.stderr {
				t.Errorf("rddp %s: status %d, want %d; stderr\n%s, want\n%s", tt.args, status, tt.status, stderr, tt.stderr)
			}
		})
	}
}

// The commands in the documentation exist, and their names and flags do not collide.
func TestCommands(t *testing.T) {
	status, stdout, stderr := runs(t, commands(), "help")
	if status != 0 || stderr != "" {
		t.Errorf("rddp help: status %d, stderr %q", status, stderr)
	}
	for _, name := range []string{"demo", "ping", "perf", "serve", "cp", "ls", "proxy", "dump", "spec", "run", "version", "man", "completion"} {
		if !strings.Contains(stdout, "\n   "+name+" ") {
			t.Errorf("rddp help does not list %s:\n%s", name, stdout)
		}
	}
}

// TestInterrupted: a command that is interrupted before its work is done says so, and has the exit
// status for that.
func TestInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, tt := range []struct {
		err    error
		status int
		stderr string
	}{
		{nil, 0, ""},
		{context.Canceled, 130, "rddp works: interrupted\n"},
		{fmt.Errorf("send: %w", context.Canceled), 130, "rddp works: interrupted\n"},
		{errors.New("interrupted; the same command continues the copy"), 130, "rddp works: interrupted; the same command continues the copy\n"},
		{usage("not like that"), 2, "rddp works: not like that\n`rddp works --help` shows the usage.\n"},
	} {
		var errs strings.Builder
		works := &cli.Command{Name: "works", Action: func(context.Context, *cli.Command) error { return tt.err }}
		if status := run(ctx, []string{"rddp", "works"}, io.Discard, &errs, []*cli.Command{works}); status != tt.status || errs.String() != tt.stderr {
			t.Errorf("%v: status %d, want %d; stderr %q, want %q", tt.err, status, tt.status, errs.String(), tt.stderr)
		}
	}
}

// TestOutputFails: a command fails if its output cannot be written, whichever code writes it.
func TestOutputFails(t *testing.T) {
	for _, line := range []string{"version", "version --json", "man", "completion bash", "--help", "help", "--version", "ping --help", "help ping", "spec --list"} {
		full := &failingWriter{errors.New("no space left on device")}
		var errs strings.Builder
		status := run(t.Context(), strings.Fields("rddp "+line), full, &errs, commands())
		if status != exitFailure || strings.Count(errs.String(), "no space left on device") != 1 || strings.Count(errs.String(), "\n") != 1 {
			t.Errorf("rddp %s: status %d, stderr %q", line, status, &errs)
		}
	}
}

type failingWriter struct{ err error }

func (w *failingWriter) Write([]byte) (int, error) { return 0, w.err }

// TestArgumentHelp: "h" and "help" are arguments like others.
func TestArgumentHelp(t *testing.T) {
	for _, line := range []string{"ping h --count 0", "ping help --count 0"} {
		if status, stdout, stderr := runs(t, commands(), strings.Fields(line)...); status != exitUsage || stdout != "" || !strings.Contains(stderr, "--count 0: at least 1") {
			t.Errorf("rddp %s: status %d, stdout %q, stderr %q", line, status, stdout, stderr)
		}
	}
}

// TestLogJSON: with --log json everything on standard error is JSON.
func TestLogJSON(t *testing.T) {
	for _, line := range []string{
		"ping --listen 127.0.0.1:0 --tls-self", "perf --listen 127.0.0.1:0 --tls-self", "serve --listen 127.0.0.1:0 --tls-self " + t.TempDir(),
		"proxy --listen rddp://127.0.0.1:0 --to 127.0.0.1:1 --tls-self", "spec --peer --listen 127.0.0.1:0 --tls-self",
	} {
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		var errs strings.Builder
		run(ctx, strings.Fields("rddp "+line+" --log json"), io.Discard, &errs, commands())
		lines := 0
		for text := range strings.Lines(errs.String()) {
			var record struct{ Level, Msg string }
			if err := json.Unmarshal([]byte(text), &record); err != nil || record.Msg == "" || record.Level != "INFO" {
				t.Errorf("rddp %s says %q: %v", line, text, err)
			}
			lines++
		}
		if lines < 2 {
			t.Errorf("rddp %s says only\n%s", line, &errs)
		}
	}
}

// TestLogIsTheSame: a value that is one word in text is one string in JSON.
func TestLogIsTheSame(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	errs := newListening()
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"rddp", "serve", "--log", "json", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0", t.TempDir()}, io.Discard, errs, commands())
	}()
	prototest.Wait(t, "the server listens", func() bool { return strings.Contains(errs.String(), `"listening"`) })
	cancel()
	<-ended
	for _, want := range []string{`"address":"127.0.0.1:`, `"address":"127.0.0.1:`, `"writable":false`} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("%s is not in\n%s", want, errs)
		}
	}
}
