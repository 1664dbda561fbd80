package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/urfave/cli/v3"

	"github.com/rddp/rddp/cmd/rddp/internal/filecopy"
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
		{"cp - -", "neither - nor - is remote"},
		{"cp - " + dir, "neither - nor"},
		{"cp a - rddp://h/d", "- stands for one file"},
		{"cp -n rddp://h/a -", "- does not go with --dry-run"},
		{"cp --json rddp://h/a -", "--json does not go with -"},
		{"ls", "give at least one NAME"},
		{"ls " + dir, "is not remote: a remote name is rddp://HOST[:PORT]/PATH"},
		{"ls rddp://h:x/", "the port is a number"},
		{"ls --timeout 1ms rddp://h/", "at least 1s"},
		{"serve", "give one DIR"},
		{"serve a b", "give one DIR"},
		{"serve --max-conns 0 " + dir, "--max-conns 0: at least 1"},
		{"serve --max-conns many " + dir, `"many" is no number that this flag takes`},
		{"serve --idle 0s " + dir, "--idle 0s: at least 1s"},
		{"serve --grace -1s " + dir, "--grace -1s: must not be negative"},
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
		status, _, stderr := runs(t, []*cli.Command{serveCommand(), cpCommand(), lsCommand()}, strings.Fields(tt.args)...)
		if status != exitUsage || !strings.Contains(stderr, tt.want) {
			t.Errorf("rddp %s: status %d, stderr %q; want %d and %q in it", tt.args, status, stderr, exitUsage, tt.want)
		}
	}
}

// A serveOutput receives the lines that a server prints.
type serveOutput chan string

func (o serveOutput) Write(p []byte) (int, error) {
	select {
	case o <- string(p):
	default: // more lines than the test needs
	}
	return len(p), nil
}

// The two commands copy a directory there and back, report failures, and end when interrupted.
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
	for want, args := range map[string][]string{
		fmt.Sprintf(`{"files":1,"failed":1,"skipped":0,"bytes":0,"resumed_bytes":%d}`, len(want)):         {remote + "a/b/c", remote + "none", here},
		fmt.Sprintf(`{"from":%q,"to":%q,"size":%d}`, remote+"a/b/c", filepath.Join(here, "d"), len(want)): {"-n", remote + "a/b/c", filepath.Join(here, "d")},
	} {
		_, stdout, _ := runs(t, []*cli.Command{cpCommand()}, append([]string{"cp", "--json"}, args...)...)
		if stdout != want+"\n" {
			t.Errorf("cp --json %q prints %s, want %s", args, stdout, want)
		}
	}
	status, stderr = cp(remote+"none", here)
	if status != exitFailure || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "none: server: ") {
		t.Errorf("a missing file alone: status %d, stderr %q, want one line", status, stderr)
	}
	interrupt()
	if status := <-ended; status != exitOK {
		t.Errorf("interrupted server: status %d", status)
	}
}

// serve serves a new writable directory, and returns it and the prefix of its remote names.
func serve(t *testing.T) (dir, remote string) {
	t.Helper()
	dir = t.TempDir()
	address, _, _ := startTLS(t, tlsPair{server: "serve -w --listen 127.0.0.1:0 " + dir}, "", "")
	return dir, "rddp://" + address + "/"
}

// write writes files and makes their directories.
func write(t *testing.T, dir string, files ...string) {
	t.Helper()
	for _, name := range files {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte("content"), 0o640); err != nil {
			t.Fatal(err)
		}
	}
}

func TestList(t *testing.T) {
	dir, remote := serve(t)
	write(t, dir, "b", "a/x", "esc\x1b[1m")
	when := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, name := range []string{"a", "b", "esc\x1b[1m"} {
		if err := os.Chtimes(filepath.Join(dir, name), when, when); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		args, stdout, stderr string
		status               int
	}{
		{remote, "0755            0 2026-01-02T03:04:05Z a/\n0640            7 2026-01-02T03:04:05Z b\n0640            7 2026-01-02T03:04:05Z esc\ufffd[1m\n", "", 0},
		{remote + "b", "0640            7 2026-01-02T03:04:05Z b\n", "", 0},
		{"--json " + remote + "b", `{"name":"b","type":"file","mode":"0640","size":7,"mtime":"2026-01-02T03:04:05Z"}` + "\n", "", 0},
		{remote + "b " + remote + "none", "0640            7 2026-01-02T03:04:05Z b\n", "rddp ls: " + remote + "none: server: stat none: no such file or directory\n", 1},
		{remote + "b/", "", "rddp ls: " + remote + "b: is not a directory\n", 1},
	} {
		status, stdout, stderr := runs(t, commands(), append([]string{"ls"}, strings.Fields(tt.args)...)...)
		if status != tt.status || stdout != tt.stdout || stderr != tt.stderr {
			t.Errorf("rddp ls %s: status %d, stdout %q, stderr %q", tt.args, status, stdout, stderr)
		}
	}
}

// TestListedYear: ls --json can list a file whose year has five digits.
func TestListedYear(t *testing.T) {
	b, err := json.Marshal(listedOf(filecopy.Entry{Name: "x", Type: "file", Perm: 0o600, Mtime: time.Unix(400000000000, 5)}))
	if want := `{"name":"x","type":"file","mode":"0600","size":0,"mtime":"14645-06-30T15:06:40.000000005Z"}`; err != nil || string(b) != want {
		t.Errorf("%s, %v, want %s", b, err, want)
	}
}

// A dry run prints the files that would be copied, and creates nothing at either end.
func TestCopyDryRun(t *testing.T) {
	served, remote := serve(t)
	here := t.TempDir()
	write(t, here, "up/x", "up/deep/y")
	write(t, served, "down/x", "down/deep/y")
	for _, tt := range []struct{ from, to, want string }{
		{filepath.Join(here, "up"), remote, here + "/up/deep/y -> " + remote + "up/deep/y (7 bytes)\n" + here + "/up/x -> " + remote + "up/x (7 bytes)\n"},
		{remote + "down", here, remote + "down/deep/y -> " + here + "/down/deep/y (7 bytes)\n" + remote + "down/x -> " + here + "/down/x (7 bytes)\n"},
	} {
		status, stdout, stderr := runs(t, commands(), "cp", "-n", "-r", tt.from, tt.to)
		lines := strings.SplitAfter(stdout, "\n")
		slices.Sort(lines)
		if got := strings.Join(lines, ""); status != exitOK || filepath.ToSlash(got) != filepath.ToSlash(tt.want) || stderr != "" {
			t.Errorf("rddp cp -n -r %s %s: status %d, stdout %q, want %q, stderr %q", tt.from, tt.to, status, got, tt.want, stderr)
		}
	}
	for _, name := range []string{filepath.Join(served, "up"), filepath.Join(here, "down")} {
		if _, err := os.Stat(name); err == nil {
			t.Errorf("the dry run has made %s", name)
		}
	}
}

// - is standard input and output.
func TestCopyStandard(t *testing.T) {
	dir, remote := serve(t)
	want := strings.Repeat("0123456789", 100_000)
	input := func(text string, args ...string) (status int, stdout, stderr string) {
		var out, errs strings.Builder
		status = runInput(t.Context(), append([]string{"rddp"}, args...), strings.NewReader(text), &out, &errs, commands())
		return status, out.String(), errs.String()
	}
	if status, stdout, stderr := input(want, "cp", "-", remote+"f"); status != exitOK || stdout != "" || stderr != "" {
		t.Errorf("upload: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "f")); err != nil || string(got) != want {
		t.Errorf("the server has %d bytes, %v", len(got), err)
	}
	if status, stdout, stderr := input("", "cp", remote+"f", "-"); status != exitOK || stdout != want || stderr != "" {
		t.Errorf("download: status %d, %d bytes, stderr %q", status, len(stdout), stderr)
	}
	if status, stdout, stderr := input("", "cp", remote+"none", "-"); status != exitFailure || stdout != "" || !strings.Contains(stderr, "none: server: stat none: no such file") {
		t.Errorf("download of nothing: status %d, stdout %q, stderr %q", status, stdout, stderr)
	}
	if status, _, stderr := input("x", "cp", "-", remote); status != exitOK || stderr != "" {
		t.Errorf("upload to a directory: status %d, stderr %q", status, stderr)
	}
	if got, err := os.ReadFile(filepath.Join(dir, "stdin")); err != nil || string(got) != "x" {
		t.Errorf("the server has %q, %v", got, err)
	}
	full := &failingWriter{errors.New("no space left on device")}
	var errs strings.Builder
	if status := run(t.Context(), []string{"rddp", "cp", remote + "f", "-"}, full, &errs, commands()); status != exitFailure || !strings.Contains(errs.String(), "no space left") {
		t.Errorf("to a full output: status %d, stderr %q", status, &errs)
	}
}

// No error message contains the name of a system call.
func TestCopyErrors(t *testing.T) {
	dir, remote := serve(t)
	here := t.TempDir()
	write(t, dir, "f")
	write(t, here, "f")
	if err := os.Symlink("/etc", filepath.Join(dir, "link")); err != nil {
		t.Skip("no symbolic links here")
	}
	for _, tt := range []struct{ from, to, want string }{
		{remote + "none", here, "server: stat none: no such file or directory\n"},
		{remote + "link/passwd", here, "server: stat link/passwd: a symbolic link or the path leads outside the directory\n"},
		{filepath.Join(here, "none"), remote, "stat " + filepath.Join(here, "none") + ": no such file or directory\n"},
		{filepath.Join(here, "f"), remote + "link/f", "stat link/f: a symbolic link or the path leads outside the directory\n"},
		{filepath.Join(here, "f"), remote + "none/f", "no such file or directory\n"},
		{remote + "f", filepath.Join(here, "none", "f"), "no such file or directory\n"},
	} {
		status, stdout, stderr := runs(t, commands(), "cp", tt.from, tt.to)
		if status != exitFailure || stdout != "" || !strings.Contains(stderr, tt.want) || regexp.MustCompile(`(stat|open|mkdir|rename|unlink)at `).MatchString(stderr) {
			t.Errorf("rddp cp %s %s: status %d, stdout %q, stderr %q, want %q", tt.from, tt.to, status, stdout, stderr, tt.want)
		}
	}
}

// TestListedBytes: names that are not UTF-8 are listed exactly, so different names stay different.
func TestListedBytes(t *testing.T) {
	for name, want := range map[string]string{"\xff1": `"name_base64":"/zE="`, "\xfe1": `"name_base64":"/jE="`} {
		b, err := json.Marshal(listedOf(filecopy.Entry{Name: name, Type: "file"}))
		if err != nil || !strings.Contains(string(b), want) {
			t.Errorf("%q is %s, %v, want %s", name, b, err, want)
		}
	}
	if b, err := json.Marshal(listedOf(filecopy.Entry{Name: "ü", Type: "file"})); err != nil || strings.Contains(string(b), "base64") {
		t.Errorf("a name in UTF-8 is %s, %v", b, err)
	}
}
