//go:build amd64 || arm64

package process

import (
	"os"
	"os/exec"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestEnd: once a process has ended, the memory of another process that has its PID is not
// accessed. Here the other process is the test itself.
func TestEnd(t *testing.T) {
	c := exec.Command("/proc/self/exe")
	c.Args[0] = first
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	p, err := Open(c.Process.Pid)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.HasEnded() {
		t.Error("a process that runs has ended")
	}
	in.Close()
	if err := c.Wait(); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the end", p.HasEnded)
	p.PID = os.Getpid()
	b := pages(t, 2)
	copy(b, "hello")
	if err := p.Write([]byte("J"), address(b)); err == nil || b[0] != 'h' {
		t.Errorf("Write: %v, %q", err, b[:5])
	}
	if err := p.Read(make([]byte, 1), address(b)); err == nil {
		t.Error("Read: no error")
	}
}

// TestEndIsKnown: HasEnded does not wait, even if the process withholds its memory and calls
// execve.
func TestEndIsKnown(t *testing.T) {
	p, err := Open(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	p.mu.RLock() // like a call that waits for memory
	left := make(chan struct{})
	go func() {
		defer close(left)
		p.Leave()
	}()
	prototest.Wait(t, "Leave", func() bool { // it waits now, and so does whoever comes behind it
		free := p.mu.TryRLock()
		if free {
			p.mu.RUnlock() // +checklocksforce: TryRLock has locked it
		}
		return !free
	})
	known := make(chan struct{})
	go func() {
		defer close(known)
		p.HasEnded()
	}()
	prototest.Wait(t, "the answer", func() bool {
		select {
		case <-known:
			return true
		default:
			return false
		}
	})
	p.mu.RUnlock()
	<-left
}
