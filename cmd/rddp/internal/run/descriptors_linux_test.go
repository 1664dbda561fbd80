//go:build amd64 || arm64

package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func init() { programs["leaderless"] = leaderlessProgram }

// leaderlessProgram opens a socket, and ends its main thread. Then it tells the socket's inode, the
// number of a thread and the address of a word of memory. It ends the thread once it gets a byte,
// and waits for the end of its input.
func leaderlessProgram([]string) error {
	fd, err := unix.Socket(unix.AF_UNIX, unix.SOCK_STREAM, 0)
	if err != nil {
		return err
	}
	inode, err := inodeOf(fd)
	if err != nil {
		return err
	}
	go func() {
		until(func() bool {
			b, _ := os.ReadFile("/proc/self/status")
			return bytes.Contains(b, []byte("State:\tZ"))
		})
		thread, ends := make(chan int), make(chan struct{})
		go func() {
			runtime.LockOSThread() // without an unlock, so the thread ends
			thread <- unix.Gettid()
			<-ends
		}()
		tell("%d %d %d", inode, <-thread, uintptr(unsafe.Pointer(&leaderlessWord)))
		_, _ = os.Stdin.Read(make([]byte, 1))
		close(ends)
		untilInput()
	}()
	endMainThread()
	return nil
}

// endMainThread ends the main thread, which runs one of its goroutines sooner or later.
func endMainThread() {
	runtime.LockOSThread()
	if unix.Gettid() == os.Getpid() {
		_, _, _ = unix.Syscall(unix.SYS_EXIT, 0, 0, 0)
	}
	go endMainThread()
	select {}
}

// leaderlessWord is a word of memory that can be written.
var leaderlessWord uint64

// leaderless starts leaderlessProgram. It returns its PID, what it tells, and a function that lets
// the thread end.
func leaderless(t *testing.T) (pid int, inode uint64, thread int, word uint64, endThread func()) {
	args := performance(t, "leaderless")
	c := exec.Command(args[0], args[1:]...)
	c.Stderr = os.Stderr
	in, err := c.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	})
	if _, err := fmt.Fscanln(out, &inode, &thread, &word); err != nil {
		t.Fatal(err)
	}
	return c.Process.Pid, inode, thread, word, func() {
		if _, err := in.Write([]byte{1}); err != nil {
			t.Fatal(err)
		}
		prototest.Wait(t, "the end of the thread", func() bool {
			_, err := os.Stat(fmt.Sprintf("/proc/%d/task/%d", c.Process.Pid, thread))
			return errors.Is(err, os.ErrNotExist)
		})
	}
}

// TestDescriptorsWithoutMainThread: the descriptors of a process are found when its main thread has
// ended.
func TestDescriptorsWithoutMainThread(t *testing.T) {
	_, inode, _, _, _ := leaderless(t)
	if open := openSockets([]uint64{1 << 62, inode}); len(open) != 1 || !open[inode] {
		t.Errorf("the open sockets are %v, want %d", open, inode)
	}
}

// TestMemoryWithoutMainThread: a thread opens its process when the main thread has ended. The
// memory can be reached then, also once that thread has ended, too.
func TestMemoryWithoutMainThread(t *testing.T) {
	pid, _, thread, word, endThread := leaderless(t)
	p, err := process.Open(thread)
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	if p.PID != pid {
		t.Errorf("the process is %d, want %d", p.PID, pid)
	}
	want := []byte("a word 1")
	for range 2 {
		got := make([]byte, len(want))
		if err := errors.Join(p.Write(want, word), p.Read(got, word)); err != nil || !bytes.Equal(got, want) {
			t.Fatalf("the memory has %q (%v), want %q", got, err, want)
		}
		if want[7] == '1' {
			endThread()
		}
		want[7]++
	}
}
