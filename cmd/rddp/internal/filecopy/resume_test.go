package filecopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A counter counts the bytes that connections transfer.
type counter struct{ octets atomic.Int64 }

func (c *counter) Sent(p []byte)     { c.octets.Add(int64(len(p))) }
func (c *counter) Received(p []byte) { c.octets.Add(int64(len(p))) }
func (c *counter) Closed()           {}

func (c *counter) tap(_, _ net.Addr, _ bool) toe.Tap { return c }

// ways are the two directions of a copy.
var ways = []struct {
	desc string
	up   bool
}{{"download", false}, {"upload", true}}

// side returns the directories and names of source and destination for copying "f" in one
// direction.
func side(v *serving, up bool, here string) (from, to string, src, dst Name) {
	if up {
		return here, v.dir, local(filepath.Join(here, "f")), v.name("f")
	}
	return v.dir, here, v.name("f"), local(filepath.Join(here, "f"))
}

// partLen returns the length of the part of "f", or -1 if there is none.
func partLen(dir string) int64 {
	info, err := os.Stat(filepath.Join(dir, ".f.rddp-part"))
	if err != nil {
		return -1
	}
	return info.Size()
}

// A connection that is cut during a copy leaves a part, and the next copy transfers only the rest.
func TestResumeAfterCut(t *testing.T) {
	const size, cut = 6<<20 + 5, 3 << 20
	for _, way := range ways {
		for _, how := range []simtoe.CutHow{simtoe.RST, simtoe.FIN} {
			t.Run(fmt.Sprint(way.desc, how), func(t *testing.T) {
				dir, here := t.TempDir(), t.TempDir()
				cutting := simtoe.New(simtoe.Config{CutAfter: cut, CutHow: how})
				v := serveDir(t, dir, "cut:1", &ServerConfig{Writable: true, chunk: testChunk, Socket: extsock.Config{Backend: cutting}})
				from, to, src, dst := side(v, way.up, here)
				b := content(size, 7)
				put(t, filepath.Join(from, "f"), b)
				first := cp(t, Config{Socket: extsock.Config{Backend: cutting}}, dst, src)
				first.wantFailure(t, ErrLost, "the same command continues")
				v.stop()
				have := partLen(to)
				if have < cut/4 || have > cut {
					t.Fatalf("the part has %d bytes after a cut at %d", have, cut)
				}
				if _, err := os.Stat(filepath.Join(to, "f")); err == nil {
					t.Fatal("half a file under the whole one's name")
				}

				whole := simtoe.New(simtoe.Config{})
				v = serveDir(t, dir, "whole:1", &ServerConfig{Writable: true, chunk: testChunk, Socket: extsock.Config{Backend: whole}})
				_, _, src, dst = side(v, way.up, here)
				var wire counter
				second := mustCopy(t, Config{Socket: extsock.Config{Backend: whole, Tap: wire.tap}}, dst, src)
				if want := (Summary{Files: 1, Octets: size - have, Resumed: have}); second.Summary != want {
					t.Errorf("the second copy: %+v, want %+v", second.Summary, want)
				}
				if n, least := wire.octets.Load(), size-have; n < least || n > least+least/50 {
					t.Errorf("%d bytes crossed for the %d that were missing", n, least)
				}
				wantFile(t, filepath.Join(to, "f"), b)
				if got := tree(t, to); len(got) != 1 {
					t.Errorf("left: %q", got)
				}
			})
		}
	}
}

// An ending is a channel, and a Tap, that is closed when its connection ends.
type ending chan struct{}

func (ending) Sent([]byte)     {}
func (ending) Received([]byte) {}
func (e ending) Closed()       { close(e) }

// interrupt makes a part with about half of "f", by ending the copy there. Copy then transfers
// nothing until the connection has ended; otherwise the rest of the file could arrive first.
func interrupt(t *testing.T, src, dst Name, size int64) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(ending)
	cfg := Config{Socket: extsock.Config{Tap: func(_, _ net.Addr, _ bool) toe.Tap { return ended }}}
	cfg.Progress = func(p Progress) {
		if p.Octets > size/2 {
			cancel()
			<-ended
		}
	}
	if _, err := Copy(ctx, []Name{src}, dst, &cfg); !errors.Is(err, context.Canceled) {
		t.Fatalf("Copy that was canceled: %v", err)
	}
}

// A part is trusted only if it belongs to exactly the same source.
func TestResumeTrust(t *testing.T) {
	const size = 3 << 20
	tests := []struct {
		desc    string
		between func(t *testing.T, from, to string) []byte // returns the expected content
		resumes bool
	}{
		{"nothing changed", func(*testing.T, string, string) []byte { return content(size, 1) }, true},
		{"all of the part there, but not its name", func(t *testing.T, _, to string) []byte {
			if err := os.WriteFile(filepath.Join(to, ".f.rddp-part"), content(size, 1), 0o600); err != nil {
				t.Fatal(err)
			}
			return content(size, 1)
		}, true},
		{"source written anew, later", func(t *testing.T, from, _ string) []byte {
			b := content(size, 2)
			if err := os.WriteFile(filepath.Join(from, "f"), b, 0o640); err != nil {
				t.Fatal(err)
			}
			return b
		}, false},
		{"source with another content but the same time", func(t *testing.T, from, _ string) []byte {
			put(t, filepath.Join(from, "f"), content(size, 2))
			return content(size, 2)
		}, false},
		{"source longer, same time", func(t *testing.T, from, _ string) []byte {
			put(t, filepath.Join(from, "f"), content(size+1, 1))
			return content(size+1, 1)
		}, false},
		{"source shorter than the part", func(t *testing.T, from, _ string) []byte {
			put(t, filepath.Join(from, "f"), content(1000, 1))
			return content(1000, 1)
		}, false},
		{"one bit of the part flipped", func(t *testing.T, _, to string) []byte {
			f, err := os.OpenFile(filepath.Join(to, ".f.rddp-part"), os.O_RDWR, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer f.Close()
			b := make([]byte, 1)
			f.ReadAt(b, 12345)
			b[0] ^= 0x10
			f.WriteAt(b, 12345)
			return content(size, 1)
		}, false},
		{"part longer than the source", func(t *testing.T, _, to string) []byte {
			if err := os.Truncate(filepath.Join(to, ".f.rddp-part"), size+1); err != nil {
				t.Fatal(err)
			}
			return content(size, 1)
		}, false},
		{"note lost", func(t *testing.T, _, to string) []byte {
			if err := os.Remove(filepath.Join(to, ".f.rddp-part-of")); err != nil {
				t.Fatal(err)
			}
			return content(size, 1)
		}, false},
		{"note mangled", func(t *testing.T, _, to string) []byte {
			if err := os.WriteFile(filepath.Join(to, ".f.rddp-part-of"), content(1<<20, 3), 0o600); err != nil {
				t.Fatal(err)
			}
			return content(size, 1)
		}, false},
	}
	for _, way := range ways {
		for _, tt := range tests {
			t.Run(way.desc+"/"+tt.desc, func(t *testing.T) {
				v, here := serve(t, nil), t.TempDir()
				from, to, src, dst := side(v, way.up, here)
				put(t, filepath.Join(from, "f"), content(size, 1))
				interrupt(t, src, dst, size)
				restart(t, v, &src, &dst) // so that the server releases the part of the interrupted client
				if n := partLen(to); n < size/4 || n >= size {
					t.Fatalf("the part has %d bytes", n)
				}
				b := tt.between(t, from, to)
				o := mustCopy(t, Config{}, dst, src)
				wantContent(t, filepath.Join(to, "f"), b)
				if resumed := o.Resumed > 0; resumed != tt.resumes || o.Octets+o.Resumed != int64(len(b)) {
					t.Errorf("%+v, want it to go on: %v", o.Summary, tt.resumes)
				}
				if got := tree(t, to); len(got) != 1 {
					t.Errorf("left: %q", got)
				}
			})
		}
	}
}

// restart ends the server and starts another one for its directory. The port is new, because any
// program may have taken the old one. restart changes the port in remote names.
func restart(t *testing.T, v *serving, names ...*Name) {
	t.Helper()
	v.stop()
	*v = *serveDir(t, v.dir, "127.0.0.1:0", nil)
	for _, n := range names {
		if n.IsRemote() {
			n.Address = v.addr
		}
	}
}

// wantContent is wantFile for content only.
func wantContent(t *testing.T, path string, want []byte) {
	t.Helper()
	if got, err := os.ReadFile(path); err != nil || string(got) != string(want) {
		t.Errorf("%s: %d bytes that differ from the %d wanted, %v", path, len(got), len(want), err)
	}
}

// A file that is already there is not sent again. A file that only looks the same is.
func TestSameFile(t *testing.T) {
	const size = 3 << 20
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, src, dst := side(v, way.up, here)
			b := content(size, 1)
			put(t, filepath.Join(from, "f"), b)
			mustCopy(t, Config{}, dst, src)
			if err := os.Chmod(filepath.Join(to, "f"), 0o600); err != nil {
				t.Fatal(err)
			}
			var wire counter
			o := mustCopy(t, Config{Socket: extsock.Config{Tap: wire.tap}}, dst, src)
			if o.Octets != 0 || o.Resumed != size || wire.octets.Load() > 4096 {
				t.Errorf("the same file: %+v, %d bytes crossed", o.Summary, wire.octets.Load())
			}
			wantFile(t, filepath.Join(to, "f"), b) // its bits have come back
			put(t, filepath.Join(to, "f"), content(size, 2))
			o = mustCopy(t, Config{}, dst, src)
			if o.Octets != size || o.Resumed != 0 {
				t.Errorf("another file of the same size and time: %+v", o.Summary)
			}
			wantFile(t, filepath.Join(to, "f"), b)
		})
	}
}

// A fullDisk accepts left bytes.
type fullDisk struct {
	w    io.Writer
	left int
}

func (f *fullDisk) Write(b []byte) (int, error) {
	if len(b) <= f.left {
		f.left -= len(b)
		return f.w.Write(b)
	}
	n, err := f.w.Write(b[:f.left])
	f.left = 0
	if err == nil {
		err = &os.PathError{Op: "write", Path: "f", Err: syscall.ENOSPC}
	}
	return n, err
}

// A full disk makes only one file fail, whose part is kept for later.
func TestDiskFull(t *testing.T) {
	const size, room = 9 << 20, 3 << 20
	limit := func(w io.Writer) io.Writer { return &fullDisk{w, room} }
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			here := t.TempDir()
			v := serve(t, &ServerConfig{Writable: true, chunk: testChunk, limit: limit})
			from, to, _, _ := side(v, way.up, here)
			src, dst := v.name("s"), local(filepath.Join(here, "t"))
			if way.up {
				src, dst = local(filepath.Join(here, "s")), v.name("t")
			}
			for _, f := range []string{"a", "f", "z"} {
				n := size
				if f != "f" {
					n = 100
				}
				put(t, filepath.Join(from, "s", f), content(n, 1))
			}
			o := cp(t, Config{Recursive: true, limit: limit}, dst, src)
			o.wantFailure(t, syscall.ENOSPC, "no space left", "the same command continues")
			if o.Files != 2 {
				t.Errorf("%+v, want 2 files copied", o.Summary)
			}
			v.stop()
			if n := partLen(filepath.Join(to, "t")); n != room {
				t.Fatalf("the part has %d bytes, the disk had room for %d", n, room)
			}
			restart(t, v, &src, &dst)
			o = mustCopy(t, Config{Recursive: true}, Name{Address: dst.Address, Path: filepath.ToSlash(dst.Path)}, joined(src, "f"))
			if o.Resumed != room {
				t.Errorf("with room: %+v, want it to go on at %d", o.Summary, room)
			}
			wantFile(t, filepath.Join(to, "t", "f"), content(size, 1))
		})
	}
}

// The error of a failed copy of a temporary file does not promise that another copy continues.
func TestTemporaryIsNotContinued(t *testing.T) {
	limit := func(w io.Writer) io.Writer { return &fullDisk{w, 3 << 20} }
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			here := t.TempDir()
			v := serve(t, &ServerConfig{Writable: true, limit: limit})
			from, _, src, dst := side(v, way.up, here)
			put(t, filepath.Join(from, "f"), content(9<<20, 1))
			o := cp(t, Config{Temporary: true, limit: limit}, dst, src)
			o.wantFailure(t, syscall.ENOSPC)
			for _, err := range o.failures {
				if strings.Contains(err.Error(), "continues") {
					t.Error(err)
				}
			}
		})
	}
}

// joined returns the name of a file in the directory n.
func joined(n Name, file string) Name {
	n.Path = strings.TrimSuffix(n.Path, "/") + "/" + file
	return n
}

// If a server dies during a copy, the file fails with a clear error; the next server continues it.
func TestServerKilled(t *testing.T) {
	const size = 6 << 20
	for _, way := range ways {
		t.Run(way.desc, func(t *testing.T) {
			v, here := serve(t, nil), t.TempDir()
			from, to, src, dst := side(v, way.up, here)
			put(t, filepath.Join(from, "f"), content(size, 1))
			o := cp(t, Config{Progress: func(p Progress) {
				if p.Octets > 1<<20 {
					v.stop() // the second call does nothing
				}
			}}, dst, src)
			o.wantFailure(t, ErrLost, "the same command continues")
			have := partLen(to)
			if have <= 0 {
				t.Fatalf("the part has %d bytes", have)
			}
			restart(t, v, &src, &dst)
			o = mustCopy(t, Config{}, dst, src)
			if o.Resumed != have || o.Octets != size-have {
				t.Errorf("%+v, want it to go on at %d", o.Summary, have)
			}
			wantFile(t, filepath.Join(to, "f"), content(size, 1))
		})
	}
}
