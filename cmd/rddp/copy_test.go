package main

import (
	"bytes"
	"context"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/urfave/cli/v3"
)

func TestCopyUsage(t *testing.T) {
	dir := t.TempDir()
	tests := []struct{ args, want string }{
		{"cp", "give at least one SRC, and DST"},
		{"cp a", "give at least one SRC, and DST"},
		{"cp a b", "neither a nor b is remote"},
		{"cp rddp://h/a rddp://h/b", "are both remote"},
		{"cp rddp://h/../a " + dir, "invalid path"},
		{"cp rddp:///a " + dir, "a remote name is rddp://HOST[:PORT]/PATH"},
		{"cp --timeout 1ms rddp://h/a " + dir, "at least 1s"},
		{"serve", "give one DIR"},
		{"serve a b", "give one DIR"},
		{"serve --max-conns 0 " + dir, "--max-conns 0: at least 1"},
		{"serve --max-conns many " + dir, `"many" is no number that this flag takes`},
		{"serve --idle 0s " + dir, "--idle 0s: at least 1s"},
		{"serve --idle 5 " + dir, `"5" is no duration: write a number with a unit`},
		{"serve --idle long " + dir, `"long" is no duration: write a number with a unit`},
		{"serve --listen 7174 " + dir, "for a port on all addresses write :7174"},
		{"serve --listen 127.0.0.1:70000 " + dir, "the port is a number from 0 to 65535"},
		{"serve --listen unix:/tmp/x " + dir, "only `rddp proxy` has unix sockets"},
		{"serve --log loud " + dir, `"loud" is neither text nor json`},
		{"cp rddp://user@h/a " + dir, "an address has no user"},
		{"cp rddp://h:http/a " + dir, "the port is a number from 0 to 65535"},
	}
	for _, tt := range tests {
		status, _, stderr := runs(t, []*cli.Command{serveCommand(), cpCommand()}, strings.Fields(tt.args)...)
		if status != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("rddp %s: status %d, stderr %q; want %d and %q in it", tt.args, status, stderr, exitUsage, tt.want)
		}
	}
}

// A serveOutput gives the lines that a server prints as they come.
type serveOutput chan string

func (o serveOutput) Write(p []byte) (int, error) {
	select {
	case o <- string(p):
	default: // more than the test wants to see
	}
	return len(p), nil
}

// The two commands copy a directory there and back, tell what fails, and end when interrupted.
func TestServeAndCopy(t *testing.T) {
	served, here := t.TempDir(), t.TempDir()
	if err := os.MkdirAll(filepath.Join(here, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	want := bytes.Repeat([]byte("0123456789"), 300_000)
	if err := os.WriteFile(filepath.Join(here, "a", "b", "c"), want, 0o644); err != nil {
		t.Fatal(err)
	}
	ctx, interrupt := context.WithCancel(t.Context())
	told := make(serveOutput, 100)
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"rddp", "serve", "-w", "--listen", "127.0.0.1:0", served}, told, told, []*cli.Command{serveCommand()})
	}()
	line := strings.TrimSpace(<-told)
	_, address, _ := strings.Cut(line, " address=")
	if _, _, err := net.SplitHostPort(address); err != nil || !strings.Contains(line, "writable=true") {
		t.Fatalf("serve says %q", line)
	}
	cp := func(args ...string) (int, string) {
		status, _, stderr := runs(t, []*cli.Command{cpCommand()}, append([]string{"cp"}, args...)...)
		return status, stderr
	}
	remote := "rddp://" + address + "/"
	if status, stderr := cp("-r", filepath.Join(here, "a"), remote); status != exitOK || stderr != "" {
		t.Errorf("upload: status %d, stderr %q", status, stderr)
	}
	status, stderr := cp("-r", "--progress", remote+"a", filepath.Join(here, "back"))
	if status != exitOK || !strings.Contains(stderr, "100%") {
		t.Errorf("download: status %d, stderr %q", status, stderr)
	}
	if got, err := os.ReadFile(filepath.Join(here, "back", "b", "c")); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%d bytes came back of %d, %v", len(got), len(want), err)
	}
	status, stderr = cp(remote+"a/b/c", remote+"none", here)
	if status != exitFailure || !strings.Contains(stderr, "none: server: ") || !strings.HasSuffix(stderr, "not everything was copied: 1 failed\n") {
		t.Errorf("a missing file: status %d, stderr %q", status, stderr)
	}
	if _, err := os.Stat(filepath.Join(here, "c")); err != nil {
		t.Errorf("the file beside it: %v", err)
	}
	interrupt()
	if status := <-ended; status != exitOK {
		t.Errorf("interrupted server: status %d", status)
	}
}
