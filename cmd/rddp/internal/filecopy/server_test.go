package filecopy

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

// A serving is a running Server with its own directory.
type serving struct {
	dir       string
	addr      string
	interrupt func() // stops the server
	stop      func() // stops the server and waits
}

// testChunk is a length with which even small files have many chunks.
const testChunk = 64 << 10

// serve starts a Server on loopback, which is writable unless cfg is not nil.
func serve(t testing.TB, cfg *ServerConfig) *serving {
	t.Helper()
	return serveDir(t, t.TempDir(), "127.0.0.1:0", cfg)
}

func serveDir(t testing.TB, dir, address string, cfg *ServerConfig) *serving {
	t.Helper()
	if cfg == nil {
		cfg = &ServerConfig{Writable: true, chunk: testChunk}
	}
	s, err := Listen(address, dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Serve(ctx) }()
	stopped := false
	v := &serving{dir: dir, addr: s.Addr().String(), interrupt: cancel}
	v.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Serve: %v", err)
		}
	}
	t.Cleanup(v.stop)
	return v
}

// name returns the remote name of a path.
func (v *serving) name(path string) Name { return Name{Address: v.addr, Path: path} }

func local(path string) Name { return Name{Path: path} }

// An outcome contains the results of a Copy.
type outcome struct {
	Summary
	failures map[string]error
	skipped  []string
	err      error
}

// cp runs Copy and returns its outcome.
func cp(t testing.TB, cfg Config, dst Name, sources ...Name) outcome {
	t.Helper()
	o := outcome{failures: map[string]error{}}
	cfg.Failed = func(name string, err error) { o.failures[name] = err }
	cfg.Skipped = func(name string, _ error) { o.skipped = append(o.skipped, name) }
	o.Summary, o.err = Copy(prototest.TimeLimit(t), sources, dst, &cfg)
	return o
}

// mustCopy is cp, but fails the test on an error.
func mustCopy(t testing.TB, cfg Config, dst Name, sources ...Name) outcome {
	t.Helper()
	o := cp(t, cfg, dst, sources...)
	if o.err != nil || len(o.failures) > 0 {
		t.Fatalf("Copy(%v, %v) = %+v, %v; failures %v", sources, dst, o.Summary, o.err, o.failures)
	}
	return o
}

// wantFailure checks that exactly one file has failed, with the error want and with words in its
// text.
func (o outcome) wantFailure(t testing.TB, want error, words ...string) {
	t.Helper()
	if !errors.Is(o.err, ErrFailed) || len(o.failures) != 1 {
		t.Fatalf("Copy: %v, failures %v; want one", o.err, o.failures)
	}
	for name, err := range o.failures {
		if want != nil && !errors.Is(err, want) {
			t.Errorf("failure of %s is %v, want %v", name, err, want)
		}
		for _, w := range words {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("failure of %s says %q, want %q in it", name, err, w)
			}
		}
	}
}

// oldTime is a modification time that no new file has.
var oldTime = time.Unix(1_234_567_890, 123_456_000)

// content returns n bytes derived from seed.
func content(n int, seed uint64) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8)})
	r.Read(b) //nolint:errcheck // never fails
	return b
}

// put makes a file with the content b, and with distinctive bits and time.
func put(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, oldTime, oldTime); err != nil {
		t.Fatal(err)
	}
}

// wantFile checks the content, bits and time of a file that put has made, or of its copy.
func wantFile(t testing.TB, path string, b []byte) {
	t.Helper()
	got, err := os.ReadFile(path)
	if err != nil {
		t.Error(err)
		return
	}
	if sha256.Sum256(got) != sha256.Sum256(b) {
		t.Errorf("%s: %d bytes that differ from the %d that were copied", path, len(got), len(b))
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Error(err)
		return
	}
	if mode := info.Mode(); mode.Perm() != 0o640 || !info.ModTime().Equal(oldTime) {
		t.Errorf("%s: mode %v, time %v; want 0640, %v", path, mode, info.ModTime(), oldTime)
	}
}

// tree lists the names below dir with their sizes, including parts.
func tree(t testing.TB, dir string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(p string, d fs.DirEntry, err error) error {
		if err != nil || p == dir {
			return err
		}
		rel, err := filepath.Rel(dir, p)
		if err != nil {
			return err
		}
		info, err := d.Info()
		if d.IsDir() {
			names = append(names, rel+"/")
		} else {
			names = append(names, fmt.Sprintf("%s %d", rel, info.Size()))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(names)
	return names
}
