// Package harness has the common code of all studies: it starts the processes of a trial, and
// summarizes times.
package harness

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// A Process is this program, started again for one part in a trial. A part that serves must end
// when its standard input ends, so that it does not outlive the study.
type Process struct {
	cmd   *exec.Cmd
	stdin io.Closer
	out   *bufio.Reader
	errs  strings.Builder
}

// NotPinned is the CPU of a process that may run on all CPUs.
const NotPinned = -1

// waitDelay bounds the time for which a killed process may keep its output open.
const waitDelay = time.Second

// Start starts a part, on one CPU or NotPinned. The process is killed when ctx is done. The caller
// must call Stop or Report.
func Start(ctx context.Context, cpu int, part string, argument any) (*Process, error) {
	return StartUnder(ctx, nil, cpu, part, argument)
}

// StartUnder is Start for a part that runs under another command. under is that command with its
// options.
func StartUnder(ctx context.Context, under []string, cpu int, part string, argument any) (*Process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(argument)
	if err != nil {
		return nil, err
	}
	argv := append(slices.Clone(under), self, partMark, part, string(text))
	if cpu != NotPinned {
		argv = append([]string{"taskset", "--cpu-list", strconv.Itoa(cpu)}, argv...)
	}
	p := &Process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...)}
	p.cmd.Stderr, p.cmd.WaitDelay = &p.errs, waitDelay
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	p.out = bufio.NewReader(out)
	if err := p.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", part, err)
	}
	return p, nil
}

// Line returns the next line that the process prints, without the newline.
func (p *Process) Line() (string, error) {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return "", fmt.Errorf("a process has ended early: %w", err)
	}
	return strings.TrimSuffix(line, "\n"), nil
}

// Stop ends the process and waits for its end.
func (p *Process) Stop() error {
	p.stdin.Close()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("%w: %s", err, strings.TrimSpace(p.errs.String()))
	}
	return nil
}

// CPU returns the processor time that the process took. It must have ended.
func (p *Process) CPU() time.Duration {
	return p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// CPUOf returns the CPU of a part: cpu if processes are pinned.
func CPUOf(pin bool, cpu int) int {
	if !pin {
		return NotPinned
	}
	return cpu
}

// A Group is parts that serve.
type Group struct{ processes []*Process }

// Start starts a part, and returns the lines that it prints first.
func (g *Group) Start(ctx context.Context, cpu int, part string, argument any, lines int) (printed []string, err error) {
	p, err := Start(ctx, cpu, part, argument)
	if err != nil {
		return nil, err
	}
	g.processes = append(g.processes, p)
	for range lines {
		line, err := p.Line()
		if err != nil {
			return nil, err
		}
		printed = append(printed, line)
	}
	return printed, nil
}

// Stop stops all parts, and returns the processor time that they took.
func (g *Group) Stop() (cpu time.Duration, err error) {
	for _, p := range g.processes {
		err = errors.Join(err, p.Stop())
		cpu += p.CPU()
	}
	return cpu, err
}

// Outcome runs a part to its end, puts its report into outcome, and returns the processor time that
// it took.
func Outcome(ctx context.Context, cpu int, part string, argument, outcome any) (time.Duration, error) {
	p, err := Start(ctx, cpu, part, argument)
	if err != nil {
		return 0, err
	}
	err = p.Report(outcome)
	return p.CPU(), err
}

// BuildCommand builds the command rddp in a directory, and returns its name.
func BuildCommand(ctx context.Context, dir string) (string, error) {
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/rddp/rddp")
	root, err := list.Output()
	if err != nil {
		return "", fmt.Errorf("go list: %w", err)
	}
	name := filepath.Join(dir, "rddp")
	build := exec.CommandContext(ctx, "go", "build", "-o", name, "./cmd/rddp")
	build.Dir = strings.TrimSpace(string(root))
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return name, nil
}

// SharedDir returns a directory whose files are in memory, or "" for the directory of temporary
// files.
func SharedDir() string {
	const shm = "/dev/shm"
	if _, err := os.Stat(shm); errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return shm
}

// CanPin returns nil if each process of a trial can have its own CPU, and otherwise the reason.
func CanPin() error {
	if runtime.NumCPU() < 2 {
		return errors.New("there is one CPU")
	}
	_, err := exec.LookPath("taskset")
	return err
}

// Times is a histogram of times between 1 ns and a minute, with an error of at most 1 %.
type Times struct{ h *hdrhistogram.Histogram }

// NewTimes returns an empty histogram.
func NewTimes() Times { return Times{hdrhistogram.New(1, int64(time.Minute), 2)} }

// Add adds a time. A time above a minute counts as a minute.
func (t Times) Add(d time.Duration) { _ = t.h.RecordValue(int64(min(max(d, 1), time.Minute))) }

// Merge adds the times of another histogram.
func (t Times) Merge(other Times) { t.h.Merge(other.h) }

// At returns a percentile, or 0 if there are no times.
func (t Times) At(percent float64) time.Duration { return time.Duration(t.h.ValueAtQuantile(percent)) }

// Table returns a Markdown table.
func Table(head []string, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) { fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | ")) }
	line(head)
	rule := make([]string, len(head))
	for i := range rule {
		rule[i] = "---"
	}
	line(rule)
	for _, row := range rows {
		line(row)
	}
	return b.String()
}
