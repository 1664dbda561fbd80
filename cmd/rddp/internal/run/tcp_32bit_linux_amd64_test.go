package run

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program32 is a program that connects, or listens and is done.
const program32 = `package main

import (
	"fmt"
	"net"
	"os"
)

func main() {
	var err error
	if os.Args[1] == "connect" {
		_, err = net.Dial("tcp", os.Args[2])
	} else {
		_, err = net.Listen("tcp", os.Args[2])
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
`

// TestTCP32Bit: what a 32-bit program connects to, or listens at, by a rule stays untouched, and the log
// says so. If it must have TLS it is refused.
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
		var log bytes.Buffer
		c := under(tt.rule, binary, tt.does, tt.address)
		c.Args[0], c.Stderr, c.Env = tt.as, &log, tt.env
		if err := c.Run(); (err != nil) != tt.fails || slices.ContainsFunc(tt.want, func(s string) bool { return !strings.Contains(log.String(), s) }) {
			t.Errorf("%s, %v: %v; want %q in\n%s", tt.does, tt.env != nil, err, tt.want, log.Bytes())
		}
	}
}
