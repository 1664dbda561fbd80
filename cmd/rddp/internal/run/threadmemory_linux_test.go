//go:build amd64 || arm64

package run

import (
	"bytes"
	"io"
	"os"
	"syscall"
	"testing"
	"unsafe"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
)

// TestWaiting: the memory of a thread is written only while the thread waits. Later its number may
// be that of another thread; here it is that of the test.
func TestWaiting(t *testing.T) {
	p, err := seccomp.Start([]string{"/bin/true"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	b := make([]byte, 8)
	at := uint64(uintptr(unsafe.Pointer(unsafe.SliceData(b))))
	calls := 0
	for {
		c, err := p.Next()
		if err != nil {
			break // the program has ended
		}
		calls++
		w := threadMemory{process.Thread(os.Getpid()), p.Listener, c}
		if err := w.Write([]byte("yes"), at); err != nil || !bytes.HasPrefix(b, []byte("yes")) {
			t.Errorf("a thread that waits: %v, %q", err, b)
		}
		p.Continue(c)
		if err := w.Write([]byte("no"), at); err != syscall.ESRCH || !bytes.HasPrefix(b, []byte("yes")) {
			t.Errorf("a thread that has gone on: %v, %q", err, b)
		}
	}
	if calls == 0 {
		t.Error("the program has made no call")
	}
	if status := p.Wait(); !status.Exited() || status.ExitStatus() != 0 {
		t.Errorf("the program: %v", status)
	}
}

// TestKill: Kill ends all processes of a program, also those whose calls nobody answers.
func TestKill(t *testing.T) {
	p, err := seccomp.Start([]string{"sh", "-c", "sleep 1000 & sleep 1000"}, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	c, err := p.Next()
	if err != nil {
		t.Fatal(err)
	}
	p.Kill()
	if status := p.Wait(); status.Signal() != syscall.SIGKILL {
		t.Errorf("the program: %v", status)
	}
	if p.Waits(c) {
		t.Error("a thread still waits for an answer")
	}
	if _, err := p.Next(); err != io.EOF {
		t.Errorf("after the end of all processes: %v, want EOF", err)
	}
}
