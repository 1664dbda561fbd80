package run

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// program32 is a program that connects to a port of this host, or listens at one and ends. It
// imports no package that takes long to compile.
const program32 = `package main

import (
	"os"
	"strconv"
	"syscall"
)

func main() {
	port, err := strconv.Atoi(os.Args[2])
	must(err)
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	must(err)
	address := &syscall.SockaddrInet4{Port: port, Addr: [4]byte{127, 0, 0, 1}}
	if os.Args[1] == "connect" {
		must(syscall.Connect(fd, address))
		return
	}
	must(syscall.Bind(fd, address))
	must(syscall.Listen(fd, 1))
}

func must(err error) {
	if err != nil {
		println(err.Error())
		os.Exit(1)
	}
}
`

// TestTCP32Bit: connections and listeners of a 32-bit program that a rule has chosen stay
// untouched, and the log says so. If TLS is required, they are refused. If the kernel cannot run
// such a program, rddp run says so.
func TestTCP32Bit(t *testing.T) {
	dir := t.TempDir()
	source, binary := filepath.Join(dir, "main.go"), filepath.Join(dir, "program")
	if err := os.WriteFile(source, []byte(program32), 0o600); err != nil {
		t.Fatal(err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, source)
	build.Env = append(os.Environ(), "GOARCH=386", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	native := exec.CommandContext(t.Context(), binary, "listen", "0")
	cannotRun := errors.Is(native.Run(), syscall.ENOEXEC)
	echo, _ := serveEcho(t, "tcp", "127.0.0.1:0")
	_, _, pin := identity(t)
	trust := append(os.Environ(), envTrust+"="+pin.String())
	for _, tt := range []struct {
		as, rule, does, address string
		env                     []string
		want                    []string
		fails                   bool
	}{
		{superviseTCP, echo, "connect", echo, nil, []string{`connection stays untouched" to=` + echo + ` why="it is a 32-bit program`, "untouched=1"}, false},
		{superviseTCP, echo, "connect", echo, trust, []string{"connection refused", "it is a 32-bit program", "untouched=1"}, true},
		{superviseListen, "127.0.0.1:1-65535", "listen", "127.0.0.1:0", nil, []string{"listener stays untouched", "it is a 32-bit program"}, false},
		{superviseListen, "127.0.0.1:1-65535", "listen", "127.0.0.1:0", trust, []string{"listener is refused", "it is a 32-bit program"}, true},
	} {
		if cannotRun {
			tt.want, tt.fails = []string{"exec format error"}, true
		}
		var log bytes.Buffer
		_, port, _ := strings.Cut(tt.address, ":")
		c := under(tt.rule, binary, tt.does, port)
		c.Args[0], c.Stderr, c.Env = tt.as, &log, tt.env
		if err := c.Run(); (err != nil) != tt.fails || slices.ContainsFunc(tt.want, func(s string) bool { return !strings.Contains(log.String(), s) }) {
			t.Errorf("%s, %v: %v; want %q in\n%s", tt.does, tt.env != nil, err, tt.want, log.Bytes())
		}
	}
}
