package main

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A socket with SO_REUSEADDR may listen at a reserved port. A socket without it may not even be
// bound to it. Go's net sets SO_REUSEADDR.
func TestReserve(t *testing.T) {
	port, release, err := reserve()
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	address := "127.0.0.1:" + strconv.Itoa(port)
	without := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) (err error) {
		e := c.Control(func(fd uintptr) { err = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 0) })
		if e != nil {
			return e
		}
		return err
	}}
	if l, err := without.Listen(context.Background(), "tcp", address); err == nil {
		l.Close()
		t.Error("another socket got the reserved port")
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if got, err := listening(os.Getpid()); err != nil || got != port {
		t.Errorf("listening at %d, %v, want %d", got, err, port)
	}
}

func TestListening(t *testing.T) {
	if port, err := listening(os.Getpid()); port != 0 || err != nil {
		t.Errorf("without a listener: %d, %v", port, err)
	}
	for _, address := range []string{"127.0.0.1:0", "[::1]:0"} {
		l, err := net.Listen("tcp", address)
		if err != nil {
			t.Fatal(err)
		}
		if port, err := listening(os.Getpid()); err != nil || port != l.Addr().(*net.TCPAddr).Port {
			t.Errorf("%v: %d, %v", l.Addr(), port, err)
		}
		l.Close()
	}
	if port, err := listening(1 << 30); port != 0 || err != nil {
		t.Errorf("of no process: %d, %v", port, err)
	}
}

// TestListeningOfEnded: a process that has ended listens nowhere, even before its parent has waited
// for it. Its files in /proc then belong to root, so the test runs as another user.
func TestListeningOfEnded(t *testing.T) {
	tools(t, "iperf3")
	t.Setenv("PEERS_FAIL", "iperf3")
	p := exec.Command("iperf3", "-s", "-1")
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the end", func() bool { return ends(fmt.Sprintf("/proc/%d", p.Process.Pid)) })
	asked := make(chan error)
	go func() {
		runtime.LockOSThread() // never unlocked: nothing else runs as that user
		err := syscall.Setfsuid(65534)
		if err == nil {
			var port int
			if port, err = listening(p.Process.Pid); port != 0 {
				err = fmt.Errorf("it listens at port %d", port)
			}
		}
		asked <- err
	}()
	if err := <-asked; err != nil {
		t.Error(err)
	}
	if err := p.Wait(); err == nil {
		t.Error("the process has not failed")
	}
}

func FuzzParseListeners(f *testing.F) {
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		if b, err := os.ReadFile(name); err == nil {
			f.Add(string(b))
		}
	}
	f.Add("   0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1145 1 000000000829b022 100 0 0 10 0\n")
	f.Fuzz(func(t *testing.T, table string) {
		for _, l := range parseListeners(table) {
			if l.port < 1 || l.port > 65535 || l.inode == "" {
				t.Errorf("%+v", l)
			}
		}
	})
}

func TestParseListeners(t *testing.T) {
	const table = `  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:07E8 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 1145 1 000000000829b022 100 0 0 10 0
   1: 0100007F:8608 0100007F:A8DB 06 00000000:00000000 03:00000B45 00000000     0        0 0 3 0000000029912885
`
	got := parseListeners(table)
	if len(got) != 1 || got[0] != (listener{2024, "1145"}) {
		t.Errorf("%+v", got)
	}
}
