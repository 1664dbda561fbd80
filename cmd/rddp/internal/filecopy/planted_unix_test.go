//go:build unix

package filecopy

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// TestPlanted: a link, FIFO or file that another user has planted under the name of a part or a
// note is not followed, opened or used.
func TestPlanted(t *testing.T) {
	const size = resumeMin + 1 // so there is a note
	const victim = "victim"
	for _, way := range ways {
		for _, name := range []string{".f.rddp-part", ".f.rddp-part-of"} {
			for desc, plant := range map[string]func(path string) error{
				"a link to another file":      func(path string) error { return os.Symlink(victim, path) },
				"a link to nothing":           func(path string) error { return os.Symlink("nothing", path) },
				"another name of a file":      func(path string) error { return os.Link(filepath.Join(filepath.Dir(path), victim), path) },
				"a FIFO":                      func(path string) error { return syscall.Mkfifo(path, 0o666) },
				"an empty directory":          func(path string) error { return os.Mkdir(path, 0o777) },
				"a file that others can read": func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o666), os.Chmod(path, 0o644)) },
				"a file of another user":      func(path string) error { return errors.Join(os.WriteFile(path, nil, 0o600), chownAway(path)) },
			} {
				t.Run(way.desc+"/"+name+"/"+desc, func(t *testing.T) {
					v, here := serve(t, nil), t.TempDir()
					from, to, src, dst := side(v, way.up, here)
					put(t, filepath.Join(from, "f"), content(size, 1))
					put(t, filepath.Join(to, victim), []byte("precious"))
					path := filepath.Join(to, name)
					if err := plant(path); err != nil {
						t.Fatal(err)
					}
					planted, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // the other user has it open too
					if err == nil {
						defer planted.Close()
					}
					mustCopy(t, Config{}, dst, src)
					wantFile(t, filepath.Join(to, "f"), content(size, 1))
					wantFile(t, filepath.Join(to, victim), []byte("precious"))
					if got := tree(t, to); len(got) != 2 {
						t.Errorf("there are %q, want the file and the victim", got)
					}
					was, _ := planted.Stat() // nil for a dangling link
					if info, err := os.Lstat(filepath.Join(to, "f")); err != nil || !info.Mode().IsRegular() || was != nil && os.SameFile(info, was) {
						t.Errorf("what was planted is now the copy: %v, %v", info, err)
					}
				})
			}
		}
	}
}

// TestPlantedDuringCopy: if another user replaces a part during a copy, the replacement does not
// become the file, and keeps its attributes.
func TestPlantedDuringCopy(t *testing.T) {
	const size = 3 << 20
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, src, dst := side(v, way.up, here)
			put(t, filepath.Join(from, "f"), content(size, 1))
			put(t, filepath.Join(to, "victim"), []byte("precious"))
			replaced := false
			o := cp(t, Config{Progress: func(Progress) {
				if !replaced {
					replaced = true
					part := filepath.Join(to, ".f.rddp-part")
					if err := errors.Join(os.Remove(part), os.Symlink("victim", part)); err != nil {
						t.Error(err)
					}
				}
			}}, dst, src)
			o.wantFailure(t, ErrBusy)
			wantFile(t, filepath.Join(to, "victim"), []byte("precious"))
			if _, err := os.Lstat(filepath.Join(to, "f")); err == nil {
				t.Error("the copy is what the other user has put in the place of the part")
			}
		})
	}
}

// TestLinkForDirectory: a recursive copy does not follow a link in place of a directory at the
// destination.
func TestLinkForDirectory(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, _, _ := side(v, way.up, here)
			put(t, filepath.Join(from, "s", "d", "f"), []byte("new"))
			put(t, filepath.Join(to, "home", "f"), []byte("precious"))
			if err := errors.Join(os.Mkdir(filepath.Join(to, "s"), 0o777), os.Symlink("../home", filepath.Join(to, "s", "d"))); err != nil {
				t.Fatal(err)
			}
			src, dst := v.name("s"), local(here)
			if way.up {
				src, dst = local(filepath.Join(here, "s")), v.name(".")
			}
			cp(t, Config{Recursive: true}, dst, src).wantFailure(t, ErrNotDirectory)
			wantFile(t, filepath.Join(to, "home", "f"), []byte("precious"))
		})
	}
}

// TestLinkNamed: if the user names a link to a directory as the destination, the link is followed.
func TestLinkNamed(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, _, _ := side(v, way.up, here)
			put(t, filepath.Join(from, "f"), []byte("new"))
			if err := errors.Join(os.Mkdir(filepath.Join(to, "real"), 0o755), os.Symlink("real", filepath.Join(to, "link"))); err != nil {
				t.Fatal(err)
			}
			src, dst := v.name("."), local(filepath.Join(here, "link"))
			if way.up {
				t.Chdir(here)
				src, dst = local("."), v.name("link")
			}
			mustCopy(t, Config{Recursive: true}, dst, src)
			wantFile(t, filepath.Join(to, "real", "f"), []byte("new"))
			if got, err := os.Readlink(filepath.Join(to, "link")); err != nil || got != "real" {
				t.Errorf("the link leads to %q, %v", got, err)
			}
		})
	}
}

// chownAway gives a file to another user. Without root, it gives the group all rights instead,
// which has the same effect here.
func chownAway(path string) error {
	if os.Geteuid() == 0 {
		return os.Chown(path, nobody, nobody)
	}
	return os.Chmod(path, 0o660)
}
