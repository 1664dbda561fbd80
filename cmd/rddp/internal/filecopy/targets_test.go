package filecopy

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestSameTarget: sources that would become one file are refused before anything is copied or
// created. Directories are merged.
func TestSameTarget(t *testing.T) {
	for _, tt := range []struct {
		desc    string
		sources []string // a trailing slash means a directory
		fails   bool
	}{
		{"two files", []string{"a/x", "b/x"}, true},
		{"one file twice", []string{"a/x", "a/x"}, true},
		{"two files after a directory", []string{"a/d/", "a/x", "b/x"}, true},
		{"a file and a directory", []string{"a/x", "c/x/"}, true},
		{"a directory and a file", []string{"c/x/", "a/x"}, true},
		{"files in two directories", []string{"a/d/", "b/d/"}, true},
		{"a file and a directory in two directories", []string{"a/d/", "e/d/"}, true},
		{"directories with other files", []string{"a/d/", "c/d/"}, false},
		{"other files", []string{"a/x", "b/y"}, false},
	} {
		for _, way := range ways {
			for _, servers := range []int{1, 2} {
				if servers == 2 && way.up {
					continue
				}
				t.Run(way.desc+"/"+tt.desc, func(t *testing.T) {
					v, here := serve(t, nil), t.TempDir()
					from, to, _, _ := side(v, way.up, here)
					for _, f := range []string{"a/x", "b/x", "b/y", "c/x/f", "a/d/f", "b/d/f", "c/d/g", "e/d/f/h"} {
						put(t, filepath.Join(from, f), []byte(f))
					}
					var sources []Name
					for i, s := range tt.sources {
						on := v
						if i%2 == 1 && servers == 2 {
							on = serveDir(t, v.dir, "127.0.0.1:0", nil)
						}
						n := on.name(path.Clean(s))
						if way.up {
							n = local(filepath.Join(here, s))
						}
						sources = append(sources, n)
					}
					dst := local(to)
					if way.up {
						dst = v.name(".")
					}
					o := cp(t, Config{Recursive: true}, dst, sources...)
					if errors.Is(o.err, ErrNames) != tt.fails || !tt.fails && o.err != nil {
						t.Errorf("Copy: %v, %v", o.err, o.failures)
					}
					if got := tree(t, to); (len(got) == 0) != tt.fails {
						t.Errorf("there are %q", got)
					}
				})
			}
		}
	}
}

// A foldedDisk is a destination whose file system ignores case, unless exact is set.
type foldedDisk struct {
	exact bool
	names []string
}

func (d *foldedDisk) find(name string) int {
	return slices.IndexFunc(d.names, func(n string) bool { return n == name || !d.exact && strings.EqualFold(n, name) })
}

func (d *foldedDisk) steps() steps {
	add := func(name string) {
		if d.find(name) < 0 {
			d.names = append(d.names, name)
		}
	}
	return steps{
		file:   func(j job) error { add(j.to); return nil },
		mkdir:  func(j job) (bool, error) { add(j.to); return false, nil },
		finish: func(job) error { return nil },
		stat: func(name string) error {
			if d.find(name) < 0 {
				return fs.ErrNotExist
			}
			return nil
		},
		list: func(dir string) (names []string, err error) {
			for _, n := range d.names {
				if strings.EqualFold(path.Dir(n), dir) && (!d.exact || path.Dir(n) == dir) {
					names = append(names, path.Base(n))
				}
			}
			return names, nil
		},
	}
}

// TestTwins: names that differ only in case are copied if the destination distinguishes them.
// Otherwise one of them fails, and nothing is replaced.
func TestTwins(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		dirs  []string
		files []string
		there []string // before
		lost  []string // if the destination ignores case
	}{
		{"files", nil, []string{"x", "X", "y"}, nil, []string{"X"}},
		{"letters of other languages", nil, []string{"Straße", "STRAßE", "ΑΣ", "ας"}, nil, []string{"STRAßE", "ας"}},
		{"files that were there", nil, []string{"X", "x"}, []string{"x"}, []string{"X"}},
		{"directories", []string{"d", "D"}, []string{"d/x", "D/x", "D/y"}, nil, []string{"D"}},
		{"a file and a directory", []string{"d"}, []string{"d/x", "D"}, nil, []string{"D"}},
		{"three", nil, []string{"ab", "aB", "AB"}, nil, []string{"aB", "AB"}},
	} {
		for _, exact := range []bool{true, false} {
			t.Run(tt.desc, func(t *testing.T) {
				server := serve(t, nil) // try dials it
				d := &foldedDisk{exact: exact, names: slices.Clone(tt.there)}
				p := &plan{address: server.addr}
				for _, name := range tt.dirs {
					p.add(job{to: name, shown: name, attr: attr{Type: typeDir}})
				}
				for _, name := range tt.files {
					p.add(job{to: name, shown: name, attr: attr{Type: typeFile}})
				}
				var failed []string
				c := &copier{ctx: t.Context(), lacking: make(map[string]bool)}
				c.cfg.IdleTimeout = DefaultIdleTimeout
				c.cfg.Failed = func(name string, err error) {
					if !errors.Is(err, ErrNames) {
						t.Error(err)
					}
					failed = append(failed, name)
				}
				defer c.hangUp()
				if err := c.targets.check([]*plan{p}); err != nil {
					t.Fatal(err)
				}
				c.run([]*plan{p}, d.steps())
				want := tt.lost
				if exact {
					want = nil
				}
				if !slices.Equal(failed, want) {
					t.Errorf("on a destination with exact = %v %q failed, want %q", exact, failed, want)
				}
			})
		}
	}
}

// TestTwinsOnDisk: this machine's file system distinguishes both names, or one of them fails.
func TestTwinsOnDisk(t *testing.T) {
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, _, _ := side(v, way.up, here)
			for _, f := range []string{"s/x", "s/X", "s/D/f", "s/d/f"} {
				put(t, filepath.Join(from, f), []byte(f))
			}
			if entries, err := os.ReadDir(filepath.Join(from, "s")); err != nil || len(entries) != 4 {
				t.Logf("the source has %v, %v: there is nothing to lose", entries, err)
			}
			src, dst := v.name("s"), local(here)
			if way.up {
				src, dst = local(filepath.Join(here, "s")), v.name(".")
			}
			mustCopy(t, Config{Recursive: true}, dst, src)
			if got, want := tree(t, to), tree(t, from); !slices.Equal(got, want) {
				t.Errorf("there are %q, want %q", got, want)
			}
		})
	}
}
