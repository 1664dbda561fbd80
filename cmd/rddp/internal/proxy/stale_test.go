package proxy

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestStaleSocket: the unix socket of a killed process is replaced. A socket with a listener stays,
// and so does a file that is not a socket.
func TestStaleSocket(t *testing.T) {
	dir := t.TempDir()
	bind := func(name string) *net.UnixListener {
		t.Helper()
		l, err := net.ListenUnix("unix", &net.UnixAddr{Name: filepath.Join(dir, name)})
		if err != nil {
			t.Fatal(err)
		}
		l.SetUnlinkOnClose(false) // as if the process had been killed
		return l
	}
	bind("stale").Close()
	defer bind("busy").Close()
	if err := os.WriteFile(filepath.Join(dir, "file"), []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	listen := func(name string) error {
		p, err := Listen(t.Context(), Address{Network: "unix", Address: filepath.Join(dir, name)}, Address{DDP: true, Network: "tcp", Address: "127.0.0.1:1"}, nil)
		if err == nil {
			p.Close()
		}
		return err
	}
	if err := listen("stale"); err != nil {
		t.Errorf("a stale socket: %v", err)
	}
	for _, name := range []string{"busy", "file"} {
		if err := listen(name); !errors.Is(err, syscall.EADDRINUSE) {
			t.Errorf("%s: %v, want %v", name, err, syscall.EADDRINUSE)
		}
		if _, err := os.Lstat(filepath.Join(dir, name)); err != nil {
			t.Errorf("%s has gone: %v", name, err)
		}
	}
}
