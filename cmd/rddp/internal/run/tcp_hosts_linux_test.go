//go:build verbs && (amd64 || arm64)

package run

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// twoHosts makes two connected network namespaces, which requires root. In them, IPv6 sockets are
// IPv6-only by default. twoHosts returns functions that run a function in one of the namespaces;
// processes that it starts are there too.
func twoHosts(t *testing.T) (a, b func(func())) {
	t.Helper()
	pids := make([]int, 2)
	for i := range pids {
		holder := exec.Command("cat")
		holder.SysProcAttr = &syscall.SysProcAttr{Cloneflags: unix.CLONE_NEWNET}
		stdin, err := holder.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := holder.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			stdin.Close()
			_ = holder.Wait() // a failure does not matter
		})
		pids[i] = holder.Process.Pid
	}
	lines := []string{fmt.Sprintf("nsenter -t %d -n ip link add rddp0 type veth peer name rddp0 netns %d", pids[0], pids[1])}
	for i, pid := range pids {
		for _, line := range []string{fmt.Sprintf("addr add 10.99.0.%d/24 dev rddp0", i+1), "link set rddp0 up", "link set lo up"} {
			lines = append(lines, fmt.Sprintf("nsenter -t %d -n ip %s", pid, line))
		}
		lines = append(lines, fmt.Sprintf("nsenter -t %d -n sh -c 'echo 1 >/proc/sys/net/ipv6/bindv6only'", pid))
	}
	if out, err := exec.Command("sh", "-c", strings.Join(lines, " && ")).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return inHost(t, pids[0]), inHost(t, pids[1])
}

// inHost returns a function that runs another one in the network namespace of a process.
func inHost(t *testing.T, pid int) func(func()) {
	return func(f func()) {
		t.Helper()
		done := make(chan struct{})
		go func() {
			defer close(done)
			runtime.LockOSThread() // so the thread ends with the goroutine
			if unix.Gettid() == unix.Getpid() {
				// The main thread does not end, and /proc/net would then show the namespace. While
				// this goroutine locks it, another thread runs f.
				inHost(t, pid)(f)
				runtime.UnlockOSThread()
				return
			}
			ns, err := os.Open(fmt.Sprintf("/proc/%d/ns/net", pid))
			if err == nil {
				defer ns.Close()
				err = unix.Setns(int(ns.Fd()), unix.CLONE_NEWNET)
			}
			if err != nil {
				t.Error(err)
				return
			}
			f()
		}()
		<-done
		if t.Failed() {
			t.FailNow()
		}
	}
}

// TestTCPBetweenHosts runs each end under a supervisor, in its own network namespace: without TLS,
// if that is allowed, and with TLS.
func TestTCPBetweenHosts(t *testing.T) {
	here, there := twoHosts(t)
	files, _, pin := identity(t)
	for _, c := range []struct{ desc, at, listen, connect, sees string }{
		{"without TLS", "10.99.0.1:0", envInsecure + "=1", "", "plain=1"},
		{"with TLS", "10.99.0.1:0", envIdentity + "=" + files, envTrust + "=" + pin.String(), "plain=0"},
		{"a listener for IPv6 and IPv4", "[::]:0", envInsecure + "=1", "", "plain=1"},
	} {
		t.Run(c.desc, func(t *testing.T) {
			var l *listening
			here(func() { l = startListening(t, []string{c.listen}, "accept-echo", c.at) })
			address := "10.99.0.1" + l.address[strings.LastIndexByte(l.address, ':'):]
			there(func() {
				var log bytes.Buffer
				cmd := underTCP(t, address, &log, "tcp-echo", "10", "100000")
				cmd.Env = append(os.Environ(), c.connect)
				mustSucceed(t, cmd, &log, "ddp=10 plain=0 untouched=0")
				plain := exec.Command("sh", "-c", fmt.Sprintf("echo hello | nc -N %s", strings.Replace(address, ":", " ", 1)))
				if out, _ := plain.Output(); (string(out) == "hello\n") != (c.sees == "plain=1") { // its status is nc's affair
					t.Errorf("plain TCP has the answer %q", out)
				}
			})
			if from := l.line(t); !strings.HasPrefix(from, "10.99.0.2:") {
				t.Errorf("the program sees %s", from)
			}
			l.end(t, "ddp=10 "+c.sees+" untouched=0")
		})
	}
}
