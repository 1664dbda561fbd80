package filecopy

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
)

// Files of all sizes arrive unchanged in both directions, and nothing else is left.
func TestRoundTrip(t *testing.T) {
	v := serve(t, &ServerConfig{Writable: true})
	for _, size := range []int{0, 1, 4095, 1<<20 - 1, 1 << 20, 1<<20 + 1, 40 << 20} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			here := t.TempDir()
			b := content(size, uint64(size))
			put(t, filepath.Join(here, "a"), b)
			up := mustCopy(t, Config{}, v.name("b"), local(filepath.Join(here, "a")))
			wantFile(t, filepath.Join(v.dir, "b"), b)
			down := mustCopy(t, Config{}, local(filepath.Join(here, "c")), v.name("b"))
			wantFile(t, filepath.Join(here, "c"), b)
			want := Summary{Files: 1, Octets: int64(size)}
			if up.Summary != want || down.Summary != want {
				t.Errorf("up %+v, down %+v, want %+v", up.Summary, down.Summary, want)
			}
			if got, want := tree(t, here), []string{fmt.Sprintf("a %d", size), fmt.Sprintf("c %d", size)}; !slices.Equal(got, want) {
				t.Errorf("client has %q, want %q", got, want)
			}
			if got, want := tree(t, v.dir), []string{fmt.Sprintf("b %d", size)}; !slices.Equal(got, want) {
				t.Errorf("server has %q, want %q", got, want)
			}
		})
	}
}

// A directory arrives with all its files and directories, their bits and times; links and parts are
// not copied.
func TestDirectories(t *testing.T) {
	v := serve(t, nil)
	here := t.TempDir()
	src := filepath.Join(here, "src")
	const n = 500
	for i := range n {
		put(t, filepath.Join(src, fmt.Sprintf("d%d", i%7), fmt.Sprintf("file %d", i)), content(i*7, uint64(i)))
	}
	put(t, filepath.Join(src, "d1", ".x.rddp-part"), []byte("half"))
	put(t, filepath.Join(here, "outside"), []byte("secret"))
	if err := os.Symlink(filepath.Join(here, "outside"), filepath.Join(src, "link")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(src, "empty"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(src, "d2"), 0o500); err != nil { // copied into, and then like this
		t.Fatal(err)
	}
	for _, d := range []string{"d0", "d2", "empty"} {
		if err := os.Chtimes(filepath.Join(src, d), oldTime, oldTime); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		for _, d := range []string{src, filepath.Join(v.dir, "src"), filepath.Join(here, "back")} {
			os.Chmod(filepath.Join(d, "d2"), 0o700)
		}
	})
	up := mustCopy(t, Config{Recursive: true}, v.name("."), local(src))
	if up.Files != n || up.Skipped != 2 {
		t.Errorf("up: %+v, want %d files and 2 skipped", up.Summary, n)
	}
	down := mustCopy(t, Config{Recursive: true}, local(filepath.Join(here, "back")), v.name("src"))
	if down.Files != n || down.Octets != up.Octets {
		t.Errorf("down: %+v, up %+v", down.Summary, up.Summary)
	}
	os.Remove(filepath.Join(src, "d1", ".x.rddp-part"))
	os.Remove(filepath.Join(src, "link"))
	if got, want := tree(t, filepath.Join(here, "back")), tree(t, src); !slices.Equal(got, want) {
		t.Errorf("came back as %q, want %q", got, want)
	}
	for i := range n {
		wantFile(t, filepath.Join(here, "back", fmt.Sprintf("d%d", i%7), fmt.Sprintf("file %d", i)), content(i*7, uint64(i)))
	}
	for d, mode := range map[string]os.FileMode{"d0": 0o755, "d2": 0o500, "empty": 0o755} {
		info, err := os.Stat(filepath.Join(here, "back", d))
		if err != nil {
			t.Fatal(err)
		}
		if info.Mode().Perm() != mode || !info.ModTime().Equal(oldTime) {
			t.Errorf("%s: %v, %v; want %v, %v", d, info.Mode(), info.ModTime(), mode, oldTime)
		}
	}
}

// Links that lead outside an uploaded directory are not followed, even if they appear during the
// copy.
func TestLinksDuringUpload(t *testing.T) {
	v := serve(t, nil)
	here := t.TempDir()
	src, outside := filepath.Join(here, "src"), filepath.Join(here, "outside")
	for _, name := range []string{"a", "b", "c/secret"} {
		put(t, filepath.Join(src, name), []byte("mine"))
	}
	put(t, filepath.Join(outside, "secret"), []byte("secret"))
	swap := func(name, target string) {
		if err := errors.Join(os.RemoveAll(filepath.Join(src, name)), os.Symlink(target, filepath.Join(src, name))); err != nil {
			t.Error(err)
		}
	}
	var once sync.Once
	o := cp(t, Config{Recursive: true, Progress: func(Progress) { // a has been copied
		once.Do(func() {
			swap("b", filepath.Join(outside, "secret"))
			swap("c", outside)
		})
	}}, v.name("new"), local(src))
	if o.Files != 1 || o.Failed != 2 {
		t.Errorf("%+v, want 1 file, and 2 that failed", o.Summary)
	}
	if got, want := tree(t, v.dir), []string{"new/", "new/.rddp-part-of 0", "new/a 4", "new/c/", "new/c/.rddp-part-of 0"}; !slices.Equal(got, want) {
		t.Errorf("the server has %q, want %q", got, want)
	}
}

// Destinations are chosen as by cp.
func TestDestinations(t *testing.T) {
	tests := []struct {
		desc    string
		sources []string // below the source's directory; a trailing slash means a directory
		dst     string   // below the destination's directory, which contains a directory d and a file f
		want    []string // new or changed files there
		fails   bool
	}{
		{"file to a new name", []string{"a"}, "n", []string{"n 1"}, false},
		{"file over a file", []string{"a"}, "f", []string{"f 1"}, false},
		{"file into a directory", []string{"a"}, "d", []string{"d/a 1"}, false},
		{"files into a directory", []string{"a", "b"}, "d", []string{"d/a 1", "d/b 2"}, false},
		{"files to a new name", []string{"a", "b"}, "n", nil, true},
		{"file to a new directory", []string{"a"}, "n/", nil, true},
		{"file below a missing directory", []string{"a"}, "n/a", nil, true},
		{"file below a file", []string{"a"}, "f/a", nil, true},
		{"missing file", []string{"z"}, "d", nil, true},
		{"missing file among others", []string{"a", "z", "b"}, "d", []string{"d/a 1", "d/b 2"}, true},
		{"directory to a new name", []string{"s/"}, "n", []string{"n/", "n/c 3"}, false},
		{"directory into a directory", []string{"s/"}, "d", []string{"d/s/", "d/s/c 3"}, false},
		{"directory over a file", []string{"s/"}, "f", nil, true},
	}
	for _, up := range []bool{true, false} {
		for _, tt := range tests {
			t.Run(fmt.Sprintf("up=%v/%s", up, tt.desc), func(t *testing.T) {
				v := serve(t, nil)
				from, to := t.TempDir(), v.dir
				if !up {
					from, to = to, from
				}
				name := func(dir, path string) Name {
					n := Name{Path: filepath.Join(dir, path)}
					if dir == v.dir {
						n = v.name(filepath.ToSlash(filepath.Clean(path)))
					}
					n.Directory = path[len(path)-1] == '/'
					return n
				}
				for path, n := range map[string]int{"a": 1, "b": 2, "s/c": 3} {
					put(t, filepath.Join(from, path), content(n, 1))
				}
				put(t, filepath.Join(to, "f"), content(9, 1))
				if err := os.Mkdir(filepath.Join(to, "d"), 0o755); err != nil {
					t.Fatal(err)
				}
				var sources []Name
				for _, s := range tt.sources {
					sources = append(sources, name(from, s))
				}
				before := tree(t, to)
				o := cp(t, Config{Recursive: true}, name(to, tt.dst), sources...)
				if (o.err != nil) != tt.fails {
					t.Errorf("Copy: %v, failures %v; want a failure: %v", o.err, o.failures, tt.fails)
				}
				after := slices.DeleteFunc(tree(t, to), func(s string) bool { return slices.Contains(before, s) })
				if !slices.Equal(after, tt.want) {
					t.Errorf("new are %q, want %q", after, tt.want)
				}
			})
		}
	}
}

// The progress ends at the totals minus the failed files.
func TestProgress(t *testing.T) {
	v := serve(t, nil)
	put(t, filepath.Join(v.dir, "s", "a"), content(3<<20, 1))
	put(t, filepath.Join(v.dir, "s", "b"), content(10, 1))
	here := t.TempDir()
	put(t, filepath.Join(here, "s", "b", "in the way"), nil)
	var last Progress
	cfg := Config{Recursive: true, Progress: func(p Progress) {
		if p.Octets < last.Octets || p.Files < last.Files {
			t.Errorf("progress went from %+v to %+v", last, p)
		}
		last = p
	}}
	cp(t, cfg, local(here), v.name("s")).wantFailure(t, ErrIsDirectory)
	if last.Files != 2 || last.TotalFiles != 2 || last.Octets != 3<<20 || last.TotalOctets != 3<<20+10 {
		t.Errorf("progress ended at %+v", last)
	}
}

// TestDestinationLink: a link that the user names as the destination stays, and the file that it
// leads to is replaced. A link to a device or a dangling link is refused.
func TestDestinationLink(t *testing.T) {
	v, here := serve(t, nil), t.TempDir()
	put(t, filepath.Join(v.dir, "f"), content(10, 1))
	put(t, filepath.Join(here, "d", "old"), content(20, 2))
	for _, tt := range []struct {
		target string
		fails  bool
		want   error
	}{
		{filepath.Join("d", "old"), false, nil},
		{os.DevNull, true, ErrNotRegular},
		{"nothing", true, fs.ErrNotExist},
	} {
		link := filepath.Join(here, "link")
		if err := os.Symlink(tt.target, link); err != nil {
			t.Fatal(err)
		}
		before := tree(t, here)
		o := cp(t, Config{}, local(link), v.name("f"))
		if (o.err != nil) != tt.fails || !errors.Is(o.err, tt.want) {
			t.Errorf("a link to %s: %v", tt.target, o.err)
		}
		if got, err := os.Readlink(link); err != nil || got != tt.target {
			t.Errorf("the link to %s leads to %q, %v", tt.target, got, err)
		}
		if tt.fails {
			if after := tree(t, here); !slices.Equal(after, before) {
				t.Errorf("a link to %s: there are %q, and were %q", tt.target, after, before)
			}
		} else {
			wantFile(t, filepath.Join(here, tt.target), content(10, 1))
		}
		if err := os.Remove(link); err != nil {
			t.Fatal(err)
		}
	}
}
