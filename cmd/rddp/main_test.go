package main

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/urfave/cli/v3"
)

// runs runs a command line as main does and returns all that main would show.
func runs(t *testing.T, commands []*cli.Command, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	status = run(t.Context(), append([]string{"rddp"}, args...), &out, &errs, commands)
	return status, out.String(), errs.String()
}

// A listening is the stderr of a command that listens at a port which the system chooses.
type listening struct {
	mu    sync.Mutex
	text  bytes.Buffer
	lines chan string // the first ones, as they come
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

// address returns where the command listens, from the line that says so.
func (*listening) address(line string) string {
	_, address, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "listening at ")
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
		{"works --nonsense", 2, "rddp works: flag provided but not defined: -nonsense\n`rddp works --help` shows the usage.\n"},
		{"works --name", 2, "rddp works: flag needs an argument: --name\n`rddp works --help` shows the usage.\n"},
		{"nothing", 2, "rddp: there is no command \"nothing\"\n`rddp --help` shows the usage.\n"},
		{"--nonsense", 2, "rddp: flag provided but not defined: -nonsense\n`rddp --help` shows the usage.\n"},
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

// The commands that the documentation names are there, with names and flags that do not collide.
func TestCommands(t *testing.T) {
	status, stdout, stderr := runs(t, commands(), "help")
	if status != 0 || stderr != "" {
		t.Errorf("rddp help: status %d, stderr %q", status, stderr)
	}
	for _, name := range []string{"demo", "ping", "perf", "serve", "cp", "proxy", "dump", "spec", "model"} {
		if !strings.Contains(stdout, "\n   "+name+" ") {
			t.Errorf("rddp help does not list %s:\n%s", name, stdout)
		}
	}
}
