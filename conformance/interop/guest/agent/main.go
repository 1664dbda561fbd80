//go:build interop && linux

// Command agent runs in the guest. It tells the host that the guest is up, and runs processes for
// it. When the connection on which it announced itself is closed, the agent ends, and so does the
// guest. So a guest does not outlive the test run that booted it.
package main

import (
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"os/exec"
	"sync"
	"syscall"
	"time"

	"github.com/rddp/rddp/conformance/interop/guest/wire"
)

// drain is how long a process's output may stay open after the process has ended, because a child
// may still hold it.
const drain = time.Second

func main() {
	log.SetFlags(0)
	log.SetPrefix("agent: ")
	l, err := net.Listen("tcp", fmt.Sprintf("10.0.9.15:%d", wire.AgentPort))
	if err != nil {
		log.Fatal(err)
	}
	go accept(l)
	if len(os.Args) < 2 || os.Args[1] == "" {
		select {} // the guest was booted by hand, so there is no harness to tell
	}
	c, err := net.Dial("tcp", "10.0.9.2:"+os.Args[1]) // not over eth0, which may lead elsewhere
	if err != nil {
		log.Fatal(err)
	}
	uptime, _ := os.ReadFile("/proc/uptime")
	fmt.Fprintf(c, "%s", uptime)
	_, _ = io.Copy(io.Discard, c)
}

func accept(l net.Listener) {
	for {
		c, err := l.Accept()
		if err != nil {
			log.Fatal(err)
		}
		go serve(c)
	}
}

// serve runs the one process of a connection.
func serve(c net.Conn) {
	defer c.Close()
	kind, data, err := wire.ReadFrame(c)
	if err != nil {
		return
	}
	var req wire.Request
	if err := json.Unmarshal(data, &req); err != nil || kind != wire.Start || len(req.Args) == 0 {
		log.Printf("bad request: kind %d, %q", kind, data)
		return
	}
	var mu sync.Mutex // one frame at a time
	send := func(k wire.Kind, b []byte) error {
		mu.Lock()
		defer mu.Unlock()
		return wire.WriteFrame(c, k, b)
	}
	result, err := json.Marshal(run(c, req, send))
	if err != nil {
		log.Fatal(err)
	}
	_ = send(wire.Exit, result)
}

// run starts the process, passes it the input from the connection, and returns when it has ended.
func run(c net.Conn, req wire.Request, send func(wire.Kind, []byte) error) wire.Result {
	cmd := exec.Command(req.Args[0], req.Args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.WaitDelay = drain
	cmd.Stdout = output{wire.Stdout, send}
	cmd.Stderr = output{wire.Stderr, send}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return wire.Result{Code: 127, Err: err.Error()}
	}
	if err := cmd.Start(); err != nil {
		return wire.Result{Code: 127, Err: err.Error()}
	}
	g := &group{id: cmd.Process.Pid}
	go feed(c, stdin, g)
	_ = cmd.Wait()
	g.end()
	status := cmd.ProcessState.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return wire.Result{Code: 128 + int(status.Signal())}
	}
	return wire.Result{Code: status.ExitStatus()}
}

// feed carries out what the harness sends until the connection ends; then it kills the process
// group.
func feed(c net.Conn, stdin io.WriteCloser, g *group) {
	defer g.signal(syscall.SIGKILL)
	for {
		kind, data, err := wire.ReadFrame(c)
		if err != nil {
			return
		}
		switch kind {
		case wire.Stdin:
			// The process may have closed its input; its exit status then tells whether that was an
			// error.
			_, _ = stdin.Write(data)
		case wire.CloseStdin:
			_ = stdin.Close()
		case wire.Signal:
			if len(data) == 1 {
				g.signal(syscall.Signal(data[0]))
			}
		}
	}
}

// A group is a process group. Once it has ended, its id must not be used any more.
type group struct {
	mu    sync.Mutex
	id    int
	ended bool
}

func (g *group) signal(s syscall.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		_ = syscall.Kill(-g.id, s)
	}
}

// end kills the processes that are left in the group.
func (g *group) end() {
	g.signal(syscall.SIGKILL)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = true
}

// output sends what a process writes as frames.
type output struct {
	kind wire.Kind
	send func(wire.Kind, []byte) error
}

func (o output) Write(p []byte) (int, error) {
	for n := 0; n < len(p); n += wire.MaxData {
		if err := o.send(o.kind, p[n:min(n+wire.MaxData, len(p))]); err != nil {
			return n, err
		}
	}
	return len(p), nil
}
