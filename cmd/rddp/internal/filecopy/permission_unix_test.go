//go:build unix

package filecopy

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// nobody is a user without rights, for tests that root would pass.
const nobody = 65534

// TestNoPermission: a file that the server may not read is refused with a clear error. Root may
// read everything, so root runs this test as another user.
func TestNoPermission(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	v := serve(t, nil)
	put(t, filepath.Join(v.dir, "secret"), []byte("f"))
	if err := os.Chmod(filepath.Join(v.dir, "secret"), 0); err != nil {
		t.Fatal(err)
	}
	cp(t, Config{}, local(t.TempDir()), v.name("secret")).wantFailure(t, fs.ErrPermission, "permission denied")
}

// TestReadOnlyDirectory: the copy of a directory that even its owner may not write is continued.
// Root may write everywhere, so root runs this test as another user.
func TestReadOnlyDirectory(t *testing.T) {
	if os.Geteuid() == 0 {
		asNobody(t)
		return
	}
	for _, way := range ways {
		v, here := serve(t, nil), t.TempDir()
		from, to, _, _ := side(v, way.up, here)
		src, dst := v.name("s"), local(here)
		if way.up {
			src, dst = local(filepath.Join(here, "s")), v.name(".")
		}
		for _, f := range []string{"a", "b", "c"} {
			put(t, filepath.Join(from, "s", f), content(100, 1))
		}
		if err := os.Chmod(filepath.Join(from, "s"), 0o555); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		if _, err := Copy(ctx, []Name{src}, dst, &Config{Recursive: true, Progress: func(Progress) { cancel() }}); !errors.Is(err, context.Canceled) {
			t.Errorf("Copy that was canceled: %v", err)
		}
		mustCopy(t, Config{Recursive: true}, dst, src)
		if info, err := os.Stat(filepath.Join(to, "s")); err != nil || info.Mode().Perm() != 0o555 {
			t.Errorf("s: %v, %v", info, err)
		}
		if got := tree(t, to); len(got) != 4 {
			t.Errorf("there are %q", got)
		}
		for _, dir := range []string{from, to} {
			os.Chmod(filepath.Join(dir, "s"), 0o755)
		}
	}
}

// TestNoReplacement: neither end replaces a pipe or a device by a file.
func TestNoReplacement(t *testing.T) {
	v := serve(t, &ServerConfig{Writable: true})
	here := t.TempDir()
	put(t, filepath.Join(v.dir, "f"), []byte("there"))
	put(t, filepath.Join(here, "f"), []byte("here"))
	for _, dir := range []string{v.dir, here} {
		if err := syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cp(t, Config{}, local(filepath.Join(here, "pipe")), v.name("f")).wantFailure(t, ErrNotRegular, "pipe: is not a regular file")
	cp(t, Config{}, v.name("pipe"), local(filepath.Join(here, "f"))).wantFailure(t, ErrNotRegular, "pipe: is not a regular file")
	for _, dir := range []string{v.dir, here} {
		if info, err := os.Lstat(filepath.Join(dir, "pipe")); err != nil || info.Mode().Type() != fs.ModeNamedPipe {
			t.Errorf("%s/pipe is now %v, %v", dir, info, err)
		}
		if all, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(all) != 2 {
			t.Errorf("%s has %q, %v", dir, all, err)
		}
	}
}

// A pipe that replaces a directory does not keep a connection from ending.
func TestPipeForDirectory(t *testing.T) {
	v := serve(t, nil)
	here := t.TempDir()
	put(t, filepath.Join(here, "f"), []byte("here"))
	put(t, filepath.Join(v.dir, "d", "old"), nil)
	mustCopy(t, Config{Progress: func(p Progress) {
		if p.Files == 0 {
			return
		}
		d := filepath.Join(v.dir, "d")
		if err := errors.Join(os.Rename(d, d+"2"), syscall.Mkfifo(d, 0o600)); err != nil {
			t.Error(err)
		}
	}}, v.name("d"), local(filepath.Join(here, "f")))
	v.stop()
}

// asNobody runs the test again in a process of user nobody.
func asNobody(t *testing.T) {
	t.Helper()
	dir, err := os.MkdirTemp("", "rddp-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	binary, err := os.ReadFile(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "test")
	if err := os.WriteFile(program, binary, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("as nobody: %v\n%s", err, out)
	}
}
