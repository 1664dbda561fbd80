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
		{"serve --connections 0 " + dir, "at least 1"},
		{"serve --timeout 0s " + dir, "at least 1s"},
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
		ended <- run(ctx, []string{"rddp", "serve", "-w", "-a", "127.0.0.1:0", served}, told, told, []*cli.Command{serveCommand()})
	}()
	line := strings.TrimSpace(<-told)
	address := line[strings.LastIndex(line, " ")+1:]
	if _, _, err := net.SplitHostPort(address); err != nil || !strings.Contains(line, "(writable)") {
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
