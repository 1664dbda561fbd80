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
	"sync/atomic"
	"syscall"
	"time"

	"github.com/rddp/rddp/conformance/interop/guest/wire"
)

// drain is how long the output of a process may stay open without any output, after the process and
// its group have ended: another process may still hold it.
const drain = 10 * time.Second

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
	// The harness closes the connection then. If the agent closed it first, with a frame of the
	// harness unread, TCP would send a reset, which can destroy what is still on its way.
	_, _ = io.Copy(io.Discard, c)
}

// run starts the process, passes it the input from the connection, and returns when it has ended
// and the harness has all of its output.
func run(c net.Conn, req wire.Request, send func(wire.Kind, []byte) error) wire.Result {
	cmd := exec.Command(req.Args[0], req.Args[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return wire.Result{Code: 127, Err: err.Error()}
	}
	defer stdin.Close()
	var outputs []*output
	for kind, open := range map[wire.Kind]func() (io.ReadCloser, error){wire.Stdout: cmd.StdoutPipe, wire.Stderr: cmd.StderrPipe} {
		from, err := open()
		if err != nil {
			return wire.Result{Code: 127, Err: err.Error()}
		}
		outputs = append(outputs, &output{kind: kind, from: from, send: send, moved: make(chan struct{}, 1), done: make(chan struct{})})
	}
	if err := cmd.Start(); err != nil {
		return wire.Result{Code: 127, Err: err.Error()}
	}
	for _, o := range outputs {
		go o.copy()
	}
	g := &group{id: cmd.Process.Pid}
	go feed(c, stdin, g)
	state, err := cmd.Process.Wait() // not cmd.Wait, which closes the pipes
	g.end()
	for _, o := range outputs {
		o.wait()
	}
	if err != nil {
		return wire.Result{Code: 127, Err: err.Error()}
	}
	status := state.Sys().(syscall.WaitStatus)
	if status.Signaled() {
		return wire.Result{Code: 128 + int(status.Signal())}
	}
	return wire.Result{Code: status.ExitStatus()}
}

// feed executes the harness's frames until the connection ends. Then it kills the process group.
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

// A group is a process group. Once it has ended, its id must not be used.
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

// An output sends what a process writes to one of its outputs as frames.
type output struct {
	kind    wire.Kind
	from    io.ReadCloser
	send    func(wire.Kind, []byte) error
	sending atomic.Bool   // a frame is on its way
	moved   chan struct{} // has a value if something was sent since wait looked
	done    chan struct{} // closed when everything has been sent, or the harness has gone
}

func (o *output) copy() {
	defer close(o.done)
	b := make([]byte, 64<<10) // a pipe holds as much
	for {
		n, err := o.from.Read(b)
		o.sending.Store(true)
		if n > 0 && o.send(o.kind, b[:n]) != nil || err != nil {
			return
		}
		o.sending.Store(false)
		select {
		case o.moved <- struct{}{}:
		default:
		}
	}
}

// wait waits until everything has been sent, however long that takes. It waits at most drain for
// another process that holds the output and writes nothing.
func (o *output) wait() {
	defer o.from.Close()
	for {
		select {
		case <-o.done:
			return
		case <-o.moved:
		case <-time.After(drain):
			if !o.sending.Load() {
				return
			}
		}
	}
}
