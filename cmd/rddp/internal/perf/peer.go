package perf

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

// A Peer is a server in another process of this machine.
type Peer struct {
	Address string
	Word    string // the argument word of its ServePeer

	cmd  *exec.Cmd
	hold io.Closer // closing it ends the process
}

// peerTime bounds the start and the end of a Peer.
const peerTime = 10 * time.Second

// StartPeer starts command, which must call ServePeer.
func StartPeer(ctx context.Context, command []string, env []string) (*Peer, error) {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stderr, cmd.Env, cmd.WaitDelay = os.Stderr, append(os.Environ(), env...), peerTime
	hold, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	// ctx ends the process like Stop. The error means that its orderly end is not a failure.
	cmd.Cancel = func() error {
		hold.Close()
		return os.ErrProcessDone
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Peer{cmd: cmd, hold: hold}
	late := time.AfterFunc(peerTime, func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(io.LimitReader(out, 1<<10)).ReadString('\n')
	late.Stop()
	if p.Address, p.Word, _ = strings.Cut(strings.TrimSpace(line), " "); err != nil {
		return nil, errors.Join(fmt.Errorf("the server process did not say where it listens: %w", err), p.Stop())
	}
	return p, nil
}

// Stop ends the process.
func (p *Peer) Stop() error {
	p.hold.Close()
	late := time.AfterFunc(peerTime, func() { p.cmd.Process.Kill() })
	defer late.Stop()
	if err := p.cmd.Wait(); err != nil {
		return fmt.Errorf("the server process: %w", err)
	}
	return nil
}

// ServePeer runs the other process. It listens at a free loopback port, writes its address and the
// word to out as a line, and serves until in ends, over TLS if cfg is not nil.
func ServePeer(ctx context.Context, in io.Reader, out io.Writer, cfg *tls.Config, word string) error {
	s, err := Listen(ctx, "127.0.0.1:0", nil)
	if err != nil {
		return err
	}
	s.TLS = cfg
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if _, err := fmt.Fprintln(out, s.Addr(), word); err != nil {
		s.l.Close()
		return err
	}
	go func() {
		defer cancel()
		io.Copy(io.Discard, in) //nolint:errcheck // its end is all that matters
	}()
	return s.Serve(ctx)
}
