//go:build amd64 || arm64

package seccomp

import (
	"os"
	"os/exec"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// handsOver is the argv[0] of a process of TestHandOver.
const handsOver = "hands-over"

// TestMain runs the tests, or is that process. Its filter intercepts all calls but the sending, and
// the two that block and unblock signals.
func TestMain(m *testing.M) {
	if os.Args[0] == handsOver {
		for range 2 {
			go func() {
				for {
					runtime.GC() // preempts all goroutines, again and again
				}
			}()
		}
		runtime.LockOSThread()
		a := &assembler{jumps: make(map[int][2]string), labels: make(map[string]int)}
		a.add(loadWord, dataNumber)
		a.jump(jumpEqual, unix.SYS_SENDMSG, "allow", "")
		a.jump(jumpEqual, unix.SYS_RT_SIGPROCMASK, "allow", "notify")
		a.label("notify")
		a.add(returnConstant, notify)
		a.label("allow")
		a.add(returnConstant, allow)
		_ = handOver(3, a.finish())
		select {}
	}
	os.Exit(m.Run())
}

// TestHandOver: whatever Go's runtime does meanwhile, the thread that installs a filter makes no
// other call before the supervisor has the descriptor. Such a call would wait for ever.
func TestHandOver(t *testing.T) {
	for range 20 {
		func() {
			ends, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer unix.Close(ends[0])
			theirs := os.NewFile(uintptr(ends[1]), "")
			defer theirs.Close()
			c := exec.Command("/proc/self/exe")
			c.Args[0], c.ExtraFiles, c.Stderr = handsOver, []*os.File{theirs}, os.Stderr
			if err := c.Start(); err != nil {
				t.Fatal(err)
			}
			defer c.Wait()
			defer c.Process.Kill()
			theirs.Close()
			fd, err := receiveListener(ends[0]) // hangs if the process waits for an answer
			if err != nil {
				t.Fatal(err)
			}
			unix.Close(fd)
		}()
	}
}
