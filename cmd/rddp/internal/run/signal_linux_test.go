//go:build amd64 || arm64

package run

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestSignal: a signal to the supervisor reaches the program, and the program can wait for its own
// children. The supervisor is in its own process group, to which no terminal sends signals.
func TestSignal(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1, syscall.SIGUSR2, syscall.SIGINT, syscall.SIGQUIT} {
		t.Run(unix.SignalName(s), func(t *testing.T) {
			c := under("sh", "-c", fmt.Sprintf(`trap "exit 7" %d; echo ready; while :; do sleep 0.01; done`, s))
			c.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
			out, err := c.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			signal.Notify(make(chan os.Signal, 1), s) // the supervisor does not ignore it, even if this test does
			err = c.Start()
			signal.Reset(s)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := bufio.NewReader(out).ReadString('\n'); err != nil {
				t.Fatal(err)
			}
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
			wantStatus(t, c.Wait(), 7)
		})
	}
}

func wantStatus(t *testing.T, err error, status int) {
	t.Helper()
	if got := (*exec.ExitError)(nil); !errors.As(err, &got) || got.ExitCode() != status {
		t.Errorf("the end is %v, want status %d", err, status)
	}
}

// TestSignalsIgnored: under nohup, or in the background of a script, neither the end of the
// terminal nor its keys end the supervisor or the program.
func TestSignalsIgnored(t *testing.T) {
	signals := []os.Signal{syscall.SIGHUP, syscall.SIGINT}
	c := under("sh", "-c", "kill -HUP $$; kill -INT $$; echo alive; read word; exit 7")
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(signals...)
	err = c.Start()
	signal.Reset(signals...)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := bufio.NewReader(out).ReadString('\n'); err != nil || said != "alive\n" {
		t.Errorf("the program says %q, %v", said, err)
	}
	for _, s := range signals {
		if err := c.Process.Signal(s); err != nil {
			t.Error(err)
		}
	}
	in.Close()
	wantStatus(t, c.Wait(), 7)
}

func init() {
	programs["ignores"] = func([]string) error {
		status, err := os.ReadFile("/proc/self/status")
		_, rest, _ := strings.Cut(string(status), "SigIgn:")
		ignored, _, _ := strings.Cut(rest, "\n")
		tell("ignores %s", strings.TrimSpace(ignored))
		return err
	}
}

// TestStopsIgnored: a program inherits ignored signals of job control.
func TestStopsIgnored(t *testing.T) {
	program := performance(t, "ignores")
	c := exec.Command(program[0], program[1:]...)
	signals := []os.Signal{syscall.SIGTSTP, syscall.SIGTTIN, syscall.SIGTTOU}
	signal.Ignore(signals...)
	out, err := c.Output()
	signal.Reset(signals...)
	if err != nil {
		t.Fatal(err)
	}
	var ignored uint64
	const stops = 1<<(syscall.SIGTSTP-1) | 1<<(syscall.SIGTTIN-1) | 1<<(syscall.SIGTTOU-1)
	if _, err := fmt.Sscanf(string(out), "ignores %x", &ignored); err != nil || ignored&stops != stops {
		t.Errorf("%q: %v", out, err)
	}
}

func init() {
	programs["foreground"] = func([]string) error {
		tell("foreground %v", inForeground())
		return nil
	}
}

// TestInForeground: a process knows whether it gets the signals of the terminal's keys.
func TestInForeground(t *testing.T) {
	program := performance(t, "foreground")
	for _, tt := range []struct {
		desc string
		attr syscall.SysProcAttr
		want string
	}{
		{"at a terminal", syscall.SysProcAttr{Setsid: true, Setctty: true}, "foreground true"},
		{"without a terminal", syscall.SysProcAttr{Setsid: true}, "foreground false"},
		{"in the background", syscall.SysProcAttr{Setpgid: true}, "foreground false"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			near, far := terminal(t)
			c := exec.Command(program[0], program[1:]...)
			c.Stdin, c.Stdout, c.Stderr, c.SysProcAttr = far, far, far, &tt.attr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			far.Close()
			if line, err := bufio.NewReader(near).ReadString('\n'); strings.TrimSpace(line) != tt.want {
				t.Errorf("the program says %q, %v; want %s", line, err, tt.want)
			}
			if err := c.Wait(); err != nil {
				t.Error(err)
			}
		})
	}
}

// terminal returns the two ends of a new terminal. The far end is for the program.
func terminal(t *testing.T) (near, far *os.File) {
	t.Helper()
	near, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { near.Close() })
	number := 0
	conn, err := near.SyscallConn()
	if err == nil {
		err = conn.Control(func(fd uintptr) {
			if number, err = unix.IoctlGetInt(int(fd), unix.TIOCGPTN); err == nil {
				err = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0)
			}
		})
	}
	if err == nil {
		far, err = os.OpenFile(fmt.Sprint("/dev/pts/", number), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
	return near, far
}
