package filecopy

import (
	"context"
	"errors"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
)

// dirModes are the directories of putTree and their bits.
var dirModes = map[string]fs.FileMode{"s": 0o755, "s/d1": 0o751, "s/d1/d2": 0o500, "s/empty": 0o711}

// putTree makes the directory s with directories and files.
func putTree(t *testing.T, dir string) {
	t.Helper()
	put(t, filepath.Join(dir, "s", "d1", "d2", "f"), content(100, 1))
	put(t, filepath.Join(dir, "s", "d1", "g"), content(10, 2))
	put(t, filepath.Join(dir, "s", "z"), content(20, 3))
	if err := os.Mkdir(filepath.Join(dir, "s", "empty"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, mode := range dirModes {
		d := filepath.Join(dir, name)
		if err := errors.Join(os.Chtimes(d, oldTime, oldTime), os.Chmod(d, mode)); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.Chmod(d, 0o700) })
	}
	for range 2 { // creating files in a directory changes its time
		for name := range dirModes {
			if err := os.Chtimes(filepath.Join(dir, name), oldTime, oldTime); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// startTree makes the directories, as at the beginning of a copy of that tree.
func startTree(t *testing.T, dir string) {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, d := range []string{"s", "s/d1"} {
		if unfinished, err := makeDir(root, d, &names{}); err != nil || !unfinished {
			t.Fatalf("makeDir(%s) = %v, %v", d, unfinished, err)
		}
	}
}

// wantTree checks a copy of putTree's tree.
func wantTree(t *testing.T, dir string) {
	t.Helper()
	want := []string{"s/", "s/d1/", "s/d1/d2/", "s/d1/d2/f 100", "s/d1/g 10", "s/empty/", "s/z 20"}
	if got := tree(t, dir); !slices.Equal(got, want) {
		t.Errorf("there are %q, want %q", got, want)
	}
	for name, mode := range dirModes {
		d := filepath.Join(dir, name)
		info, err := os.Stat(d)
		if err != nil {
			t.Error(err)
			continue
		}
		if info.Mode().Perm() != mode || !info.ModTime().Equal(oldTime) {
			t.Errorf("%s: %v, %v; want %v, %v", name, info.Mode(), info.ModTime(), mode, oldTime)
		}
		t.Cleanup(func() { os.Chmod(d, 0o700) })
	}
}

// A trigger is a Tap that calls f when left FPDUs have been sent.
type trigger struct {
	left *atomic.Int64
	f    func()
}

func (g trigger) Sent([]byte) {
	if g.left.Add(-1) == 0 {
		g.f()
	}
}
func (trigger) Received([]byte) {}
func (trigger) Closed()         {}

// TestInterruptedTree: after an interruption at any point, the same command continues a recursive
// copy, and the directories then have the bits and times of their sources.
func TestInterruptedTree(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			for step := int64(1); ; step++ {
				v, here := serve(t, nil), t.TempDir()
				from, to, _, _ := side(v, way.up, here)
				putTree(t, from)
				src, dst := v.name("s"), local(here)
				if way.up {
					src, dst = local(filepath.Join(here, "s")), v.name(".")
				}
				ctx, cancel := context.WithCancel(prototest.TimeLimit(t))
				left := &atomic.Int64{}
				left.Store(step)
				tap := func(_, _ net.Addr, _ bool) toe.Tap { return trigger{left, cancel} }
				_, err := Copy(ctx, []Name{src}, dst, &Config{Recursive: true, Socket: extsock.Config{Tap: tap}})
				cancel()
				if err != nil && !errors.Is(err, context.Canceled) {
					t.Fatalf("step %d: %v", step, err)
				}
				v.stop()
				restart(t, v, &src, &dst)
				mustCopy(t, Config{Recursive: true}, dst, src)
				v.stop()
				wantTree(t, to)
				if t.Failed() {
					t.Fatalf("interrupted when %d FPDUs had been sent", step)
				}
				if err == nil {
					return
				}
			}
		})
	}
}

// TestKilledBetweenSteps: an unfinished directory of a killed process is recognized, and a
// directory that existed before any copy keeps its bits.
func TestKilledBetweenSteps(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, _, _ := side(v, way.up, here)
			putTree(t, from)
			src, dst := v.name("s"), local(here)
			if way.up {
				src, dst = local(filepath.Join(here, "s")), v.name(".")
			}
			startTree(t, to)
			mustCopy(t, Config{Recursive: true}, dst, src)
			wantTree(t, to)
			for d, mode := range map[string]fs.FileMode{"s": 0o700, "s/empty": 0o770} {
				if err := os.Chmod(filepath.Join(to, d), mode); err != nil {
					t.Fatal(err)
				}
			}
			mustCopy(t, Config{Recursive: true}, dst, src)
			for d, mode := range map[string]fs.FileMode{"s": 0o700, "s/empty": 0o770} {
				if info, err := os.Stat(filepath.Join(to, d)); err != nil || info.Mode().Perm() != mode {
					t.Errorf("%s, which was there, has now %v, %v", d, info, err)
				}
			}
		})
	}
}

// TestLackingDirectory: an incomplete directory, and the directories above it, are finished by the
// copy that completes it.
func TestLackingDirectory(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, _, _ := side(v, way.up, here)
			putTree(t, from)
			src, dst := v.name("s"), local(here)
			if way.up {
				src, dst = local(filepath.Join(here, "s")), v.name(".")
			}
			inTheWay := filepath.Join(to, "s", "d1", "g", "in the way")
			startTree(t, to)
			put(t, inTheWay, nil)
			o := cp(t, Config{Recursive: true}, dst, src)
			o.wantFailure(t, ErrIsDirectory)
			for d, want := range map[string]fs.FileMode{"s": 0o700, "s/d1": 0o700, "s/d1/d2": dirModes["s/d1/d2"], "s/empty": dirModes["s/empty"]} {
				if info, err := os.Stat(filepath.Join(to, d)); err != nil || info.Mode().Perm() != want {
					t.Errorf("%s: %v, %v; want %v", d, info.Mode(), err, want)
				}
			}
			if err := os.RemoveAll(filepath.Dir(inTheWay)); err != nil {
				t.Fatal(err)
			}
			mustCopy(t, Config{Recursive: true}, dst, src)
			wantTree(t, to)
		})
	}
}

// TestInnermostFirst: a directory gets its attributes after those below it, because without search
// permission they would be inaccessible.
func TestInnermostFirst(t *testing.T) {
	var finished []string
	p := &plan{}
	for _, name := range []string{"a", "a/b", "a/b/c", "d"} {
		p.add(job{to: name, attr: attr{Type: typeDir}})
	}
	c := &copier{ctx: t.Context(), lacking: make(map[string]bool)}
	if err := c.targets.check([]*plan{p}); err != nil {
		t.Fatal(err)
	}
	c.run([]*plan{p}, steps{
		mkdir:  func(job) (bool, error) { return true, nil },
		finish: func(j job) error { finished = append(finished, j.to); return nil },
	})
	if want := []string{"d", "a/b/c", "a/b", "a"}; !slices.Equal(finished, want) {
		t.Errorf("%q, want %q", finished, want)
	}
}

// TestReservedNames: all files with names like those of unfinished copies are skipped and reported.
func TestReservedNames(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, _, _ := side(v, way.up, here)
			put(t, filepath.Join(from, "s", ".mine.rddp-part"), []byte("mine"))
			put(t, filepath.Join(from, "s", ".x.rddp-part", "f"), []byte("in it"))
			put(t, filepath.Join(from, "s", ".y.rddp-part-of"), nil)
			put(t, filepath.Join(from, "s", "f"), []byte("f"))
			src, dst := v.name("s"), local(here)
			if way.up {
				src, dst = local(filepath.Join(here, "s")), v.name(".")
			}
			o := mustCopy(t, Config{Recursive: true}, dst, src)
			slices.Sort(o.skipped)
			if len(o.skipped) != 3 || !strings.HasSuffix(o.skipped[0], ".mine.rddp-part") || o.Skipped != 3 {
				t.Errorf("skipped are %q, %d", o.skipped, o.Skipped)
			}
			if got, want := tree(t, to), []string{"s/", "s/f 1"}; !slices.Equal(got, want) {
				t.Errorf("there are %q, want %q", got, want)
			}
		})
	}
}

// TestIntoItself: a directory that is copied into itself, through a server for it, is copied as it
// was before.
func TestIntoItself(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v := serve(t, nil)
			put(t, filepath.Join(v.dir, "s", "f"), []byte("f"))
			src, dst := v.name("s"), local(filepath.Join(v.dir, "s"))
			if way.up {
				src, dst = local(filepath.Join(v.dir, "s")), v.name("s")
			}
			mustCopy(t, Config{Recursive: true}, dst, src)
			if got, want := tree(t, v.dir), []string{"s/", "s/f 1", "s/s/", "s/s/f 1"}; !slices.Equal(got, want) {
				t.Errorf("there are %q, want %q", got, want)
			}
		})
	}
}
