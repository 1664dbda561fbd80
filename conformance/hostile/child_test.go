package hostile

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// A child is a peer process: this test binary in one of the roles.
type child struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// startChild starts a process in a role, with additional environment variables. It ends with the
// test at the latest.
func startChild(t testing.TB, role string, env ...string) *child {
	t.Helper()
	return startChildWith(t, role, func(*exec.Cmd) {}, env...)
}

// startChildWith is startChild with other process attributes.
func startChildWith(t testing.TB, role string, set func(*exec.Cmd), env ...string) *child {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, os.Args[0])
	cmd.Env = append(append(os.Environ(), roleEnv+"="+role), env...)
	cmd.Stderr = os.Stderr
	set(cmd)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd, in, bufio.NewReader(out)}
	t.Cleanup(func() {
		cancel()
		cmd.Wait()
	})
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// line returns the next line that the child prints.
func (c *child) line(t testing.TB) string {
	t.Helper()
	s, err := c.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the other process: %v", err)
	}
	return strings.TrimSpace(s)
}

// ask sends the child a line and returns its answer.
func (c *child) ask(t testing.TB, question string) string {
	t.Helper()
	if _, err := fmt.Fprintln(c.in, question); err != nil {
		t.Fatal(err)
	}
	return c.line(t)
}

// end closes the child's standard input and waits until the child has ended.
func (c *child) end(t testing.TB) {
	t.Helper()
	c.in.Close()
	if err := c.cmd.Wait(); err != nil {
		t.Errorf("the other process: %v", err)
	}
}

// orphaned ends this process, a child, when its parent is gone.
func orphaned() {
	io.Copy(io.Discard, os.Stdin)
	os.Exit(0)
}
