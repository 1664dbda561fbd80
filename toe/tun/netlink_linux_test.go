package tun

import (
	"bytes"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

// TestReceiveGoesOnAfterSignal: receive continues to wait for a message after signals.
func TestReceiveGoesOnAfterSignal(t *testing.T) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pair[0])
	defer unix.Close(pair[1])
	if err := unix.SetsockoptTimeval(pair[0], unix.SOL_SOCKET, unix.SO_RCVTIMEO, &unix.Timeval{Sec: 3600}); err != nil {
		t.Fatal(err)
	}
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, unix.SIGUSR1)
	defer signal.Stop(signals)
	thread := make(chan int)
	result := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		thread <- unix.Gettid()
		n, err := receive(pair[0], make([]byte, 100))
		if err == nil && n != 5 {
			err = fmt.Errorf("%d bytes", n)
		}
		result <- err
	}()
	tid := <-thread
	for range 10 { // the thread may still be on its way to the first wait
		for !sleeps(t, tid) {
			runtime.Gosched()
		}
		if err := unix.Tgkill(os.Getpid(), tid, unix.SIGUSR1); err != nil {
			t.Fatal(err)
		}
		<-signals // the thread has got the signal, so the kernel has ended its wait
	}
	if _, err := unix.Write(pair[1], []byte("after")); err != nil {
		t.Fatal(err)
	}
	if err := <-result; err != nil {
		t.Errorf("receive: %v", err)
	}
}

// sleeps reports whether a thread of this process waits in the kernel.
func sleeps(t *testing.T, tid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/stat", tid))
	if err != nil {
		t.Fatal(err)
	}
	_, state, _ := bytes.Cut(stat, []byte(") ")) // the name in parentheses comes before
	return len(state) > 0 && state[0] == 'S'
}
