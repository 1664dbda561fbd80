//go:build unix

package main

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

// TestNotify: a server tells systemd when clients can connect, and when it begins to end.
func TestNotify(t *testing.T) {
	for name, args := range map[string][]string{
		"serve": {"serve", "--listen", "127.0.0.1:0", t.TempDir()},
		"proxy": {"proxy", "--listen", "rddp://127.0.0.1:0", "--to", tcptest.Serve(t, tcptest.Echo)},
	} {
		t.Run(name, func(t *testing.T) {
			folder, err := os.MkdirTemp("", "") // shorter than t.TempDir: a socket's name has at most 104 bytes
			if err != nil {
				t.Fatal(err)
			}
			defer os.RemoveAll(folder)
			manager, err := net.ListenUnixgram("unixgram", &net.UnixAddr{Name: filepath.Join(folder, "notify"), Net: "unixgram"})
			if err != nil {
				t.Fatal(err)
			}
			defer manager.Close()
			server := newProcess(t, args...)
			server.cmd.Env = append(server.cmd.Env, "NOTIFY_SOCKET="+manager.LocalAddr().String())
			server.start(t)
			told := func(want string) {
				t.Helper()
				manager.SetReadDeadline(time.Now().Add(prototest.Patience(t)))
				b := make([]byte, 100)
				if n, err := manager.Read(b); err != nil || string(b[:n]) != want {
					t.Fatalf("systemd gets %q, %v; want %q", b[:n], err, want)
				}
			}
			told("READY=1")
			address := strings.TrimPrefix(server.line(t, " msg=listening "), "rddp://")
			tcptest.Dial(t, address).Close()
			server.cmd.Process.Signal(syscall.SIGTERM)
			told("STOPPING=1")
			if err := server.end(t); err != nil {
				t.Error(err)
			}
		})
	}
}

// A server serves also if it cannot tell systemd that it is ready.
func TestNotifyNobody(t *testing.T) {
	for name, args := range map[string][]string{
		"serve": {"serve", "--listen", "127.0.0.1:0", t.TempDir()},
		"proxy": {"proxy", "--listen", "rddp://127.0.0.1:0", "--to", tcptest.Serve(t, tcptest.Echo)},
	} {
		t.Run(name, func(t *testing.T) {
			server := newProcess(t, args...)
			server.cmd.Env = append(server.cmd.Env, "NOTIFY_SOCKET="+filepath.Join(t.TempDir(), "none"))
			server.start(t)
			address := strings.TrimPrefix(server.line(t, " msg=listening "), "rddp://")
			server.text(t, " level=WARN .*telling the service manager READY=1: ")
			tcptest.Dial(t, address).Close()
			server.cmd.Process.Signal(syscall.SIGTERM)
			if err := server.end(t); err != nil {
				t.Error(err)
			}
		})
	}
}
