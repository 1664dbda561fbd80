package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// This file runs testdata/transcripts: the commands that a user types, and their output. -update
// writes the current output to the files; check the difference before you commit it.
//
// A line that begins with "$ " is a command for sh, which runs in a folder for this transcript. The
// lines after it are the standard output and standard error, and the exit status unless it is 0. A
// line that begins with "## " is a comment. Three commands are not for sh:
//
//	start NAME COMMAND   start it in the background; its standard input stays open
//	await NAME TEXT      wait until its output contains TEXT. Then $NAME is the last address that it has
//	                     printed, and $NAME_PIN the last pin
//	stop NAME            interrupt it, and show what it has printed and its exit status

var update = flag.Bool("update", false, "write the transcripts anew")

func TestTranscripts(t *testing.T) {
	files, err := filepath.Glob("testdata/transcripts/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no transcripts: %v", err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txt"), func(t *testing.T) { runTranscript(t, file) })
	}
}

func runTranscript(t *testing.T, file string) {
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	s := newShell(t)
	var got strings.Builder
	for line := range strings.Lines(string(text)) {
		if command, is := strings.CutPrefix(line, "$ "); is {
			got.WriteString(line)
			got.WriteString(s.do(t, strings.TrimSuffix(command, "\n")))
		} else if strings.HasPrefix(line, "## ") {
			got.WriteString(line)
		}
	}
	if *update {
		if err := os.WriteFile(file, []byte(got.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got.String() != string(text) {
		t.Errorf("%s is not what is seen now; `go test ./cmd/rddp -run=Transcripts -update` would change\n%s", file, firstChange(string(text), got.String()))
	}
}

// firstChange returns the first differing lines, with the command above them.
func firstChange(want, got string) string {
	w, g := strings.SplitAfter(want, "\n"), strings.SplitAfter(got, "\n")
	i := 0
	for i < min(len(w), len(g)) && w[i] == g[i] {
		i++
	}
	from := i
	for from > 0 && (from >= len(g) || !strings.HasPrefix(g[from], "$ ")) {
		from--
	}
	return strings.Join(g[from:i], "") + "-" + strings.Join(w[i:min(i+8, len(w))], "-") + "+" + strings.Join(g[i:min(i+8, len(g))], "+")
}

// A shell runs the commands of one transcript.
type shell struct {
	dir        string
	env        []string
	background map[string]*started
}

// newShell returns a shell in which rddp is this test binary.
func newShell(t *testing.T) *shell {
	bin, dir := t.TempDir(), t.TempDir()
	command := "#!/bin/sh\n" + commandEnv + `=1 exec "` + os.Args[0] + `" "$@"` + "\n"
	if err := os.WriteFile(filepath.Join(bin, "rddp"), []byte(command), 0o755); err != nil {
		t.Fatal(err)
	}
	captures, err := filepath.Abs("../../conformance/testdata/siw")
	if err != nil {
		t.Fatal(err)
	}
	return &shell{dir: dir, background: map[string]*started{}, env: []string{
		"PATH=" + bin + ":" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + t.TempDir(), "LC_ALL=C", "CAPTURES=" + captures,
		"GORACE=" + os.Getenv("GORACE"),
	}}
}

// do runs a command and returns its output in the form of a transcript.
func (s *shell) do(t *testing.T, command string) string {
	words := strings.SplitN(command, " ", 3)
	switch words[0] {
	case "start":
		s.start(t, words[1], words[2])
		return ""
	case "await":
		s.await(t, s.background[words[1]], words[2])
		return ""
	case "stop":
		b := s.background[words[1]]
		b.cmd.Process.Signal(syscall.SIGTERM) // background jobs of a shell ignore SIGINT
		<-b.ended
		return s.plain(b.String(), b.err)
	}
	cmd := s.command(t, "sh", "-c", command)
	out, err := cmd.CombinedOutput()
	return s.plain(string(out), err)
}

// command returns a process that ends at the end of the test at the latest.
func (s *shell) command(t *testing.T, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(prototest.TimeLimit(t), args[0], args[1:]...)
	cmd.Dir, cmd.Env = s.dir, s.env
	return cmd
}

var (
	logTime  = regexp.MustCompile(`(time=|"time":")[^ "]+`)
	anyPin   = regexp.MustCompile(`sha256//[A-Za-z0-9+/]{43}=`)
	tempDir  = regexp.MustCompile(`rddp-(cp|demo)-\d+`)
	loopPort = regexp.MustCompile(`127\.0\.0\.1:\d+`)
	anyAt    = regexp.MustCompile(`address=(?:rddp://)?(\S+)`)
)

// firstEphemeral is the first of Linux's ephemeral ports.
const firstEphemeral = 32768

// plain returns the output of a command, with the parts that differ each time replaced, and its
// status.
func (s *shell) plain(out string, err error) string {
	out = strings.ReplaceAll(out, s.dir, "DIR")
	out = anyPin.ReplaceAllString(logTime.ReplaceAllString(out, "${1}TIME"), "sha256//PIN")
	out = tempDir.ReplaceAllString(out, "rddp-$1-N")
	out = loopPort.ReplaceAllStringFunc(out, func(address string) string {
		host, port, _ := strings.Cut(address, ":")
		if n, err := strconv.Atoi(port); err != nil || n < firstEphemeral || n > math.MaxUint16 {
			return address
		}
		return host + ":PORT"
	})
	if out != "" && !strings.HasSuffix(out, "\n") {
		out += "\n[no newline]\n"
	}
	exit := (*exec.ExitError)(nil)
	switch {
	case err == nil:
		return out
	case !errors.As(err, &exit):
		return fmt.Sprintf("%s[%v]\n", out, err)
	case exit.Sys().(syscall.WaitStatus).Signaled():
		return fmt.Sprintf("%s[signal: %v]\n", out, exit.Sys().(syscall.WaitStatus).Signal())
	}
	return fmt.Sprintf("%s[exit status %d]\n", out, exit.ExitCode())
}

// A started is a process in the background, and its output so far.
type started struct {
	name  string
	cmd   *exec.Cmd
	ended chan struct{}
	err   error // of its end

	mu  sync.Mutex
	out bytes.Buffer
}

func (b *started) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.Write(p)
}

func (b *started) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.out.String()
}

func (s *shell) start(t *testing.T, name, command string) {
	t.Helper()
	b := &started{name: name, cmd: s.command(t, "sh", "-c", "exec "+command), ended: make(chan struct{})}
	b.cmd.Stdout, b.cmd.Stderr = b, b
	stdin, err := b.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := b.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(b.ended)
		b.err = b.cmd.Wait()
	}()
	t.Cleanup(func() {
		b.cmd.Process.Kill()
		<-b.ended
		stdin.Close()
	})
	s.background[name] = b
}

func (s *shell) await(t *testing.T, b *started, text string) {
	t.Helper()
	prototest.Wait(t, b.name+" says "+text, func() bool {
		select {
		case <-b.ended:
			if !strings.Contains(b.String(), text) {
				t.Fatalf("%s has ended, %v:\n%s", b.name, b.err, b)
			}
		default:
		}
		return strings.Contains(b.String(), text)
	})
	if all := anyAt.FindAllStringSubmatch(b.String(), -1); all != nil {
		s.env = append(s.env, b.name+"="+all[len(all)-1][1])
	}
	if pin := anyPin.FindString(b.String()); pin != "" {
		s.env = append(s.env, b.name+"_PIN="+pin)
	}
}

// TestTranscriptsAreWhole: the help text of each command is in a transcript.
func TestTranscriptsAreWhole(t *testing.T) {
	help, err := os.ReadFile("testdata/transcripts/help.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(help), "\n")
	for _, c := range commands() {
		if !slices.Contains(lines, "$ rddp help "+c.Name) {
			t.Errorf("help.txt has no line $ rddp help %s", c.Name)
		}
	}
}
