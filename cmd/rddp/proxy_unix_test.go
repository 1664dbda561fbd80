//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

const commandEnv = "RDDP_TEST_IS_THE_COMMAND"

// TestMain makes the test binary act as the command too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && programs[os.Args[1]] != nil {
		programs[os.Args[1]](os.Args[2:])
		os.Exit(0)
	}
	if os.Getenv(commandEnv) != "" {
		main()
	}
	testmode.Hurry()
	nopanic.Exit(m.Run())
}

// programs are the programs for `rddp run` that this test binary can act as, by its first argument.
var programs = make(map[string]func(args []string))

// A process is a running rddp.
type process struct {
	cmd   *exec.Cmd
	lines chan string // of its standard error; closed at its end
}

// startProcess starts `rddp args`, which ends with the test.
func startProcess(t *testing.T, args ...string) *process {
	t.Helper()
	p := newProcess(t, args...)
	p.start(t)
	return p
}

// newProcess returns the process for `rddp args`.
func newProcess(t *testing.T, args ...string) *process {
	p := &process{cmd: exec.CommandContext(t.Context(), os.Args[0], args...), lines: make(chan string, 1000)}
	p.cmd.Env = append(os.Environ(), commandEnv+"=1")
	return p
}

func (p *process) start(t *testing.T) {
	t.Helper()
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.lines)
		for s := bufio.NewScanner(stderr); s.Scan(); {
			p.lines <- s.Text()
		}
	}()
	t.Cleanup(func() { p.cmd.Process.Kill() })
}

// line takes the next line of the process, which must match what. It returns the address in it.
func (p *process) line(t *testing.T, what string) (address string) {
	t.Helper()
	_, address, _ = strings.Cut(p.text(t, what), " address=")
	return address
}

// text takes the next line of the process, which must match what.
func (p *process) text(t *testing.T, what string) string {
	t.Helper()
	select {
	case line, ok := <-p.lines:
		if !regexp.MustCompile(what).MatchString(line) {
			t.Fatalf("the process says %q, %v; want %s", line, ok, what)
		}
		return line
	case <-time.After(prototest.Patience(t)):
		t.Fatalf("the process does not say %s", what)
		return ""
	}
}

// end waits for the end of the process.
func (p *process) end(t *testing.T) error {
	t.Helper()
	kill := time.AfterFunc(prototest.Patience(t), func() { p.cmd.Process.Kill() })
	defer kill.Stop()
	for line := range p.lines { // before Wait, which closes the pipe
		t.Logf("%d: %s", p.cmd.Process.Pid, line)
	}
	return p.cmd.Wait()
}

// Two processes carry connections. When interrupted, they wait for the open connection to end.
func TestProxyProcesses(t *testing.T) {
	service := tcptest.Serve(t, tcptest.Echo)
	exit := startProcess(t, "proxy", "-v", "-listen", "rddp://127.0.0.1:0", "-to", service)
	far := exit.line(t, ` msg=listening part=exit to=127\.0\.0\.1:\d+ address=rddp://127\.0\.0\.1:\d+$`)
	entrance := startProcess(t, "proxy", "-v", "-no-crc", "-l", "127.0.0.1:0", "-to", far, "-grace", "1h")
	near := entrance.line(t, ` msg=listening part=entrance to=rddp://127\.0\.0\.1:\d+ address=127\.0\.0\.1:\d+$`)
	exit.line(t, ` level=DEBUG msg="an entrance has tried this exit" peer=127\.0\.0\.1:\d+$`)

	const conns, n = 8, 1 << 20
	want := bytes.Repeat([]byte("0123456789abcdef"), n/16)
	var clients sync.WaitGroup
	for range conns {
		c := tcptest.Dial(t, near)
		clients.Go(func() {
			c.Write(want)
			c.CloseWrite()
		})
		clients.Go(func() {
			if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
				t.Errorf("%d bytes of %d came back, %v", len(got), n, err)
			}
		})
	}
	clients.Wait()
	const ended = ` level=DEBUG msg="connection ended" from=127\.0\.0\.1:\d+ to=\S+ there=1048576 back=1048576 ddp=true time=[0-9.]+m?s$`
	for range conns {
		entrance.line(t, ended)
		exit.line(t, ended)
	}

	c := tcptest.Dial(t, near)
	b := make([]byte, 4)
	io.WriteString(c, "open")
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	entrance.cmd.Process.Signal(os.Interrupt)
	entrance.line(t, ` msg=interrupted open=1 grace=1h0m0s$`)
	io.WriteString(c, "more")
	c.CloseWrite()
	if got, err := io.ReadAll(c); err != nil || string(got) != "more" {
		t.Errorf("after the interrupt: %q, %v", got, err)
	}
	if err := entrance.end(t); err != nil {
		t.Errorf("the entrance: %v", err)
	}
	exit.cmd.Process.Signal(syscall.SIGTERM)
	if err := exit.end(t); err != nil {
		t.Errorf("the exit: %v", err)
	}
}

// A second interrupt ends a proxy at once, even with open connections.
func TestProxySecondInterrupt(t *testing.T) {
	exit := startProcess(t, "proxy", "-l", "rddp://127.0.0.1:0", "-to", tcptest.Serve(t, tcptest.Echo))
	far := exit.line(t, " msg=listening ")
	entrance := startProcess(t, "proxy", "-l", "127.0.0.1:0", "-to", far, "-grace", "1h", "-stats", "100ms")
	c := tcptest.Dial(t, entrance.line(t, " msg=listening "))
	b := make([]byte, 1)
	c.Write(b)
	if _, err := io.ReadFull(c, b); err != nil {
		t.Fatal(err)
	}
	entrance.line(t, ` msg=connections open=\d ended=0 failed=0 fallbacks=0 there=\d back=\d$`)
	interrupt := syscall.SIGINT
	if signal.Ignored(interrupt) { // as in a background job of a shell; the process inherits this
		interrupt = syscall.SIGTERM
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	go func() { // one that follows at once counts as the first, so this needs more than two
		for entrance.cmd.Process.Signal(interrupt) == nil {
			<-tick.C
		}
	}()
	exitError := (*exec.ExitError)(nil)
	if err := entrance.end(t); !errors.As(err, &exitError) || exitError.Sys().(syscall.WaitStatus).Signal() != interrupt {
		t.Errorf("the entrance: %v, want the end by the signal", err)
	}
	exit.line(t, ` level=WARN msg="connection failed" .* err="reading from the entrance: the peer ended the connection early"$`)
}
