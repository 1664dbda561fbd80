//go:build unix

package filecopy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// mapOwners simulates a file system that shows another owner than this user for every file, until
// the test ends.
func mapOwners(t *testing.T) {
	t.Helper()
	was := ownUser
	ownUser = func() int { return was() + 1 }
	t.Cleanup(func() { ownUser = was })
}

// TestMappedOwners: on a file system that shows another owner for this user's files, directories
// are finished, also after an interrupted copy.
func TestMappedOwners(t *testing.T) {
	mapOwners(t)
	for _, way := range ways {
		for _, interrupted := range []bool{false, true} {
			v, here := serve(t, nil), t.TempDir()
			from, to, _, _ := side(v, way.up, here)
			putTree(t, from)
			src, dst := v.name("s"), local(here)
			if way.up {
				src, dst = local(filepath.Join(here, "s")), v.name(".")
			}
			if interrupted {
				startTree(t, to)
			}
			mustCopy(t, Config{Recursive: true}, dst, src)
			wantTree(t, to)
			v.stop()
		}
	}
}

// TestForeignNote: a directory with a note that differs from this user's new files keeps its
// attributes, and is not reported as unfinished. finishDir returns an error for it.
func TestForeignNote(t *testing.T) {
	for desc, mapped := range map[string]bool{"a file system with owners": false, "one that maps them": true} {
		for what, change := range map[string]func(note string) error{
			"bits":         func(note string) error { return os.Chmod(note, 0o640) },
			"another name": func(note string) error { return os.Link(note, filepath.Join(filepath.Dir(note), "other")) },
			"a link":       func(note string) error { return errors.Join(os.Remove(note), os.Symlink("other", note)) },
			"an owner": func(note string) error {
				if os.Geteuid() != 0 {
					return os.Chmod(note, 0o640) // only root can change the owner
				}
				return os.Chown(note, nobody, -1)
			},
		} {
			t.Run(desc+"/"+what, func(t *testing.T) {
				if mapped {
					mapOwners(t)
				}
				dir := t.TempDir()
				startTree(t, dir)
				if err := change(filepath.Join(dir, "s", "d1", dirNote)); err != nil {
					t.Fatal(err)
				}
				root, err := os.OpenRoot(dir)
				if err != nil {
					t.Fatal(err)
				}
				defer root.Close()
				if unfinished, err := makeDir(root, "s/d1", &names{}); err != nil || unfinished {
					t.Errorf("makeDir = %v, %v; want false", unfinished, err)
				}
				if err := finishDir(root, "s/d1", attr{Perm: 0o777}); !errors.Is(err, os.ErrPermission) {
					t.Errorf("finishDir = %v", err)
				}
				if info, err := os.Stat(filepath.Join(dir, "s", "d1")); err != nil || info.Mode().Perm() != 0o700 {
					t.Errorf("the directory is now %v, %v", info.Mode(), err)
				}
				if _, err := os.Lstat(filepath.Join(dir, "s", "d1", partSuffix)); err == nil {
					t.Error("the file for comparison is still there")
				}
			})
		}
	}
}
