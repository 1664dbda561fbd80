//go:build interop

package interop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/conformance/interop/guest/wire"
)

const dialLimit = 10 * time.Second

// A Result says how a process in the guest ended. Code is its exit status, or 128+n after signal n.
type Result struct {
	Code           int
	Stdout, Stderr string
}

// A Process runs in the guest. Its output is kept until it is read, so it never waits for a reader.
type Process struct {
	Stdout, Stderr *Output

	conn net.Conn
	wMu  sync.Mutex // one frame at a time
	done chan struct{}
	code int   // valid when done is closed
	err  error // the reason why there is no code; valid when done is closed

	exited bool // the agent has said how the process ended
	stop   func() bool
}

// Run runs a program of the guest to its end. An exit status other than 0 is not an error. There is
// an error if the program could not be run, if ctx ended first (then the process is killed), or if
// the guest died.
func (g *Guest) Run(ctx context.Context, args ...string) (Result, error) {
	p, err := g.StartProcess(ctx, args...)
	if err != nil {
		return Result{}, err
	}
	p.CloseStdin()
	code, err := p.Wait()
	stdout, _ := io.ReadAll(p.Stdout)
	stderr, _ := io.ReadAll(p.Stderr)
	return Result{Code: code, Stdout: string(stdout), Stderr: string(stderr)}, err
}

// MustRun is Run with the harness's time limit for a short command. Every result except exit status
// 0 ends t.
func (g *Guest) MustRun(t testing.TB, args ...string) Result {
	t.Helper()
	r, err := g.run(commandLimit, args...)
	if err != nil || r.Code != 0 {
		t.Fatalf("%s in the guest: exit status %d, %v\n%s%s", strings.Join(args, " "), r.Code, err, r.Stdout, r.Stderr)
	}
	return r
}

// StartProcess starts a program in the guest. When ctx ends, the process is killed. The caller must
// wait for the process or end ctx.
func (g *Guest) StartProcess(ctx context.Context, args ...string) (*Process, error) {
	request, err := json.Marshal(wire.Request{Args: args})
	if err != nil {
		return nil, err
	}
	conn, err := (&net.Dialer{Timeout: dialLimit}).DialContext(ctx, "tcp", g.agent)
	if err != nil {
		return nil, g.qemu.trouble(err)
	}
	p := &Process{Stdout: newOutput(), Stderr: newOutput(), conn: conn, done: make(chan struct{})}
	p.stop = context.AfterFunc(ctx, func() { _ = conn.Close() })
	if err := wire.WriteFrame(conn, wire.Start, request); err != nil {
		_ = conn.Close()
		return nil, g.qemu.trouble(err)
	}
	go func() {
		p.code, p.err = p.receive()
		p.stop()
		_ = conn.Close()
		if p.err != nil {
			p.err = fmt.Errorf("%s in the guest: %w", strings.Join(args, " "), p.err)
			if ctx.Err() != nil {
				p.err = errors.Join(p.err, context.Cause(ctx))
			} else if !p.exited {
				p.err = g.qemu.trouble(p.err)
			}
		}
		close(p.done)
		p.Stdout.end()
		p.Stderr.end()
	}()
	return p, nil
}

// receive reads the agent's frames until the process has ended.
func (p *Process) receive() (code int, err error) {
	for {
		kind, data, err := wire.ReadFrame(p.conn)
		if err != nil {
			return -1, err
		}
		switch kind {
		case wire.Stdout:
			p.Stdout.add(data)
		case wire.Stderr:
			p.Stderr.add(data)
		case wire.Exit:
			p.exited = true
			var r wire.Result
			if err := json.Unmarshal(data, &r); err != nil {
				return -1, err
			}
			if r.Err != "" {
				return r.Code, errors.New(r.Err)
			}
			return r.Code, nil
		}
	}
}

// Wait waits until the process has ended.
func (p *Process) Wait() (code int, err error) {
	<-p.done
	return p.code, p.err
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Write writes to the process's standard input.
func (p *Process) Write(b []byte) (int, error) {
	for n := 0; n < len(b); n += wire.MaxData {
		if err := p.frame(wire.Stdin, b[n:min(n+wire.MaxData, len(b))]); err != nil {
			return n, err
		}
	}
	return len(b), nil
}

// CloseStdin closes the process's standard input.
func (p *Process) CloseStdin() { _ = p.frame(wire.CloseStdin, nil) }

// Signal sends a signal to the process and the children of its process group.
func (p *Process) Signal(s syscall.Signal) { _ = p.frame(wire.Signal, []byte{byte(s)}) }

// Kill kills the process and the children of its process group and waits for its end.
func (p *Process) Kill() {
	p.Signal(syscall.SIGKILL)
	<-p.done
}

func (p *Process) frame(k wire.Kind, data []byte) error {
	p.wMu.Lock()
	defer p.wMu.Unlock()
	return wire.WriteFrame(p.conn, k, data)
}

// An Output is the output of a process so far. Reading removes it. io.EOF comes after its end.
type Output struct {
	mu    sync.Mutex
	cond  *sync.Cond
	buf   bytes.Buffer
	ended bool
}

func newOutput() *Output {
	o := new(Output)
	o.cond = sync.NewCond(&o.mu)
	return o
}

func (o *Output) add(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.buf.Write(b)
	o.cond.Broadcast()
}

func (o *Output) end() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ended = true
	o.cond.Broadcast()
}

// Read waits for at least one byte, or for the end of the process.
func (o *Output) Read(b []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.buf.Len() == 0 && !o.ended {
		o.cond.Wait()
	}
	return o.buf.Read(b)
}

// Put writes a file into the guest, whose files are in memory. An example is a statically linked
// program (CGO_ENABLED=0 go test -c) that then talks to siw at GuestIP without QEMU's address
// translation.
func (g *Guest) Put(t testing.TB, path string, data []byte, mode uint32) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), commandLimit)
	defer cancel()
	p, err := g.StartProcess(ctx, "sh", "-c", `cat >"$0" && chmod "$1" "$0"`, path, fmt.Sprintf("%o", mode))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Write(data); err != nil {
		t.Fatal(err)
	}
	p.CloseStdin()
	if code, err := p.Wait(); err != nil || code != 0 {
		t.Fatalf("writing %s in the guest: exit status %d, %v", path, code, err)
	}
}

// Get reads a file of the guest.
func (g *Guest) Get(t testing.TB, path string) []byte {
	t.Helper()
	return []byte(g.MustRun(t, "cat", path).Stdout)
}
