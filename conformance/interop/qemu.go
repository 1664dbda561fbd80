//go:build interop

package interop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

const (
	agentForward = "10.0.9.15:1" // guest.sh forwards a port of the host to this port
	endLimit     = 5 * time.Second
	monitorLimit = 5 * time.Second
	troubleLimit = time.Second
)

// script is the shell script that makes and boots guests, relative to this package's folder.
const script = "guest/guest.sh"

// build installs missing packages and makes the kernel and the initramfs, once per test run. If
// everything exists, it takes 0.1 s.
var build = sync.OnceValue(func() error {
	for _, step := range []string{"install", "build"} {
		cmd := exec.Command("./"+script, step)
		var log bytes.Buffer
		cmd.Stdout, cmd.Stderr = &log, &log
		if err := cmd.Run(); err != nil {
			return fmt.Errorf("%s %s: %w\n%s", script, step, err, log.String())
		}
	}
	return nil
})

// qemu is one QEMU process with its directory: console, monitor socket, output.
type qemu struct {
	cmd      *exec.Cmd
	dir      string
	done     chan struct{} // closed when the process has ended
	err      error         // how it ended; valid when done is closed
	stopping bool          // the harness ended it; guarded by mu
	mu       sync.Mutex
}

// startQEMU starts QEMU with additional environment variables. QEMU inherits the files as its
// descriptors 3 and up.
func startQEMU(files []*os.File, env ...string) (*qemu, error) {
	dir, err := os.MkdirTemp("", "rddp-guest-")
	if err != nil {
		return nil, err
	}
	output, err := os.Create(filepath.Join(dir, "output"))
	if err != nil {
		return nil, err
	}
	defer output.Close()
	q := &qemu{dir: dir, done: make(chan struct{})}
	q.cmd = exec.Command("./"+script, "boot", dir)
	q.cmd.Env = append(os.Environ(), env...)
	q.cmd.ExtraFiles = files
	q.cmd.Stdout, q.cmd.Stderr = output, output
	endWithParent(q.cmd)
	started := make(chan error)
	go func() {
		// The kernel sends the death signal when the thread that started the child ends, so keep
		// that thread.
		runtime.LockOSThread()
		err := q.cmd.Start()
		started <- err
		if err == nil {
			q.err = q.cmd.Wait()
			close(q.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, errors.Join(err, os.RemoveAll(dir))
	}
	return q, nil
}

// awaitHello waits for the connection with which the guest's agent announces itself.
func (q *qemu) awaitHello(l *net.TCPListener, deadline time.Time) (net.Conn, error) {
	if err := l.SetDeadline(deadline); err != nil {
		return nil, err
	}
	accepted := make(chan struct{})
	defer close(accepted)
	go func() {
		select {
		case <-q.done:
			_ = l.Close()
		case <-accepted:
		}
	}()
	c, err := l.Accept()
	if err != nil {
		return nil, fmt.Errorf("%w\nQEMU: %s\nconsole: %s", err, q.file("output"), q.file("console"))
	}
	_ = c.SetReadDeadline(deadline)
	if _, err := c.Read(make([]byte, 64)); err != nil {
		return nil, err
	}
	return c, c.SetReadDeadline(time.Time{})
}

func (q *qemu) file(name string) string {
	b, _ := os.ReadFile(filepath.Join(q.dir, name))
	return string(b)
}

func (q *qemu) ended() bool {
	select {
	case <-q.done:
		return true
	default:
		return false
	}
}

// trouble returns the error for a failure on a connection into the guest. If QEMU is about to end,
// the error includes that.
func (q *qemu) trouble(err error) error {
	select {
	case <-q.done:
		return errors.Join(err, q.crash())
	case <-time.After(troubleLimit):
		return err
	}
}

// crash returns nil unless the guest has ended by itself. Its error then quotes the console.
func (q *qemu) crash() error {
	if !q.ended() {
		return nil
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.stopping {
		return nil
	}
	return fmt.Errorf("the guest has ended by itself (%v); its console:\n%s%s", q.err, q.file("console"), q.file("output"))
}

// end stops this QEMU, by its pid, and removes its directory.
func (q *qemu) end() error {
	q.mu.Lock()
	q.stopping = q.stopping || !q.ended()
	q.mu.Unlock()
	for _, s := range []syscall.Signal{syscall.SIGTERM, syscall.SIGKILL} {
		if !q.ended() {
			_ = q.cmd.Process.Signal(s)
		}
		select {
		case <-q.done:
			return os.RemoveAll(q.dir)
		case <-time.After(endLimit):
		}
	}
	return fmt.Errorf("QEMU (pid %d) does not end", q.cmd.Process.Pid)
}

// monitor sends one command to QEMU's monitor and returns its answer.
func (q *qemu) monitor(command string) (string, error) {
	c, err := dialMonitor(q.dir)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(monitorLimit)); err != nil {
		return "", err
	}
	type answer struct {
		Return json.RawMessage
		Error  *struct{ Desc string }
	}
	dec := json.NewDecoder(c)
	var greeting json.RawMessage
	if err := dec.Decode(&greeting); err != nil {
		return "", err
	}
	var last answer
	for _, request := range []any{
		map[string]any{"execute": "qmp_capabilities"},
		map[string]any{"execute": "human-monitor-command", "arguments": map[string]any{"command-line": command}},
	} {
		if err := json.NewEncoder(c).Encode(request); err != nil {
			return "", err
		}
		last = answer{}
		for last.Return == nil && last.Error == nil { // skip events
			if err := dec.Decode(&last); err != nil {
				return "", err
			}
		}
		if last.Error != nil {
			return "", fmt.Errorf("monitor %q: %s", command, last.Error.Desc)
		}
	}
	var text string
	return text, json.Unmarshal(last.Return, &text)
}

// dialMonitor connects to the monitor's socket, whose path may be too long for a socket address.
func dialMonitor(dir string) (net.Conn, error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return net.DialTimeout("unix", fmt.Sprintf("/proc/self/fd/%d/qmp", f.Fd()), monitorLimit)
}

var forwardLine = regexp.MustCompile(`TCP\[HOST_FORWARD\]\s+\d+\s+(\S+)\s+(\d+)\s+(\S+)\s+(\d+)`)

// forward returns the host's address that is forwarded to the guest's address to.
func (q *qemu) forward(netdev, to string) (string, error) {
	text, err := q.monitor("info usernet")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(text) {
		if m := forwardLine.FindStringSubmatch(line); m != nil && net.JoinHostPort(m[3], m[4]) == to {
			return net.JoinHostPort(m[1], m[2]), nil
		}
	}
	return "", fmt.Errorf("%s forwards nothing to %s:\n%s", netdev, to, text)
}
