package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"time"
)

// A process is one end of a run.
type process struct {
	cmd    *exec.Cmd
	out    output // standard output
	errs   output // standard error
	ended  chan struct{}
	status error // how the process ended; written before ended is closed
}

// An output keeps the first bytes that a process writes.
type output struct {
	mu sync.Mutex
	b  bytes.Buffer // +checklocks:mu
}

// maxOutput is the number of bytes that an output keeps. The largest output, iperf3's, has 3 KiB.
const maxOutput = 1 << 20

// Write keeps the bytes for which there is room. It never fails.
func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.b.Write(p[:min(len(p), maxOutput-o.b.Len())])
	return len(p), nil
}

// bytes returns a copy of the output so far.
func (o *output) bytes() []byte {
	o.mu.Lock()
	defer o.mu.Unlock()
	return bytes.Clone(o.b.Bytes())
}

// lastLine returns the last line that is not empty.
func (o *output) lastLine() string {
	text := strings.TrimSpace(string(o.bytes()))
	return text[strings.LastIndexByte(text, '\n')+1:]
}

// waitDelay bounds the time for which a killed process may keep its output open.
const waitDelay = time.Second

// start starts a process, which is killed when ctx is done. env is added to the environment.
func start(ctx context.Context, argv, env []string) (*process, error) {
	p := &process{cmd: exec.CommandContext(ctx, argv[0], argv[1:]...), ended: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr, p.cmd.WaitDelay = &p.out, &p.errs, waitDelay
	p.cmd.Env = append(os.Environ(), env...)
	if err := p.cmd.Start(); err != nil {
		return nil, &processError{Command: argv[0], Err: err}
	}
	go func() {
		defer close(p.ended)
		if err := p.cmd.Wait(); err != nil {
			p.status = p.fail(errors.Join(ctx.Err(), err))
		}
	}()
	return p, nil
}

func (p *process) fail(err error) error {
	return &processError{strings.Join(p.cmd.Args, " "), err, p.errs.lastLine()}
}

// wait waits for the end of the process. The context of start bounds the wait.
func (p *process) wait() error {
	<-p.ended
	return p.status
}

// poll is the time between two checks whether a server listens.
const poll = 2 * time.Millisecond

// awaitPort waits until the process listens at a TCP port, and returns the port.
func (p *process) awaitPort(ctx context.Context) (int, error) {
	tick := time.NewTicker(poll)
	defer tick.Stop()
	for {
		if port, err := listening(p.cmd.Process.Pid); err != nil || port > 0 {
			return port, err
		}
		select {
		case <-p.ended:
			return 0, p.fail(errors.Join(errNoPort, p.status))
		case <-ctx.Done():
			return 0, p.fail(ctx.Err())
		case <-tick.C:
		}
	}
}

var errNoPort = errors.New("the server has ended without listening at a port")

// A pair is the two processes of a run.
type pair struct {
	server func(port int) []string // with port 0, or with a reserved one
	client func(port int) []string
	env    []string
	// reserve is true for tools that accept no port 0.
	reserve bool
}

// run runs the server and the client until both have ended, and returns their output. No process of
// the run is left when run returns.
func (r *pair) run(ctx context.Context) (server, client []byte, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	port := 0
	if r.reserve {
		var release func()
		if port, release, err = reserve(); err != nil {
			return nil, nil, err
		}
		defer release()
	}
	s, err := start(ctx, r.server(port), r.env)
	if err != nil {
		return nil, nil, err
	}
	defer func() {
		cancel()
		_ = s.wait() // it has ended by itself, or another error says why it was killed
	}()
	if port, err = s.awaitPort(ctx); err != nil {
		return nil, nil, err
	}
	c, err := start(ctx, r.client(port), r.env)
	if err != nil {
		return nil, nil, err
	}
	if err := c.wait(); err != nil {
		return nil, nil, err
	}
	if err := s.wait(); err != nil {
		return nil, nil, err
	}
	return s.out.bytes(), c.out.bytes(), nil
}
