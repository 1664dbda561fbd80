//go:build amd64 || arm64

package run

import (
	"bufio"
	"bytes"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func init() { programs["leaderless"] = leaderlessProgram }

// leaderlessProgram opens a socket, and ends its main thread. Then it tells the socket's inode, and
// waits for the end of its input.
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
		tell("%d", inode)
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

// TestDescriptorsWithoutMainThread: the descriptors of a process are found when its main thread has
// ended.
func TestDescriptorsWithoutMainThread(t *testing.T) {
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
	defer func() {
		in.Close()
		if err := c.Wait(); err != nil {
			t.Error(err)
		}
	}()
	line, _ := bufio.NewReader(out).ReadString('\n')
	inode, err := strconv.ParseUint(strings.TrimSpace(line), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	if open := openSockets([]uint64{1 << 62, inode}); len(open) != 1 || !open[inode] {
		t.Errorf("the open sockets are %v, want %d", open, inode)
	}
}
