package demo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/dissect"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestMain makes the test binary act as the server process too.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "demo-server" {
		if err := Serve(os.Stdin, os.Stdout); err != nil {
			os.Stderr.WriteString(err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	testmode.Hurry()
	nopanic.Exit(m.Run())
}

func TestDemoMovesTheFile(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	temporary, name := t.TempDir(), filepath.Join(t.TempDir(), "demo.pcapng")
	t.Setenv("TMPDIR", temporary)
	const size = 5<<20 + 1
	var out bytes.Buffer
	var moved, total int64
	err = Run(t.Context(), Options{
		Size: size, Rounds: 1, Capture: name, Server: []string{self, "demo-server"},
		Progress: func(n, all int64) { moved, total = moved+n, all },
	}, &out)
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, &out)
	}
	isEmpty(t, temporary)
	if moved != total || moved != 2*size {
		t.Errorf("progress came to %d of %d, want twice %d", moved, total, size)
	}
	if !regexp.MustCompile(`Write .* plain TCP .*\n *ratio`).MatchString(out.String()) {
		t.Errorf("no ratio to plain TCP in:\n%s", &out)
	}
	checkCapture(t, name)
}

// isEmpty reports what is in a folder.
func isEmpty(t *testing.T, folder string) {
	t.Helper()
	if entries, err := os.ReadDir(folder); err != nil || len(entries) > 0 {
		t.Errorf("%s has %v, %v", folder, entries, err)
	}
}

// TestStore: the server stores the bytes, says what the file has, and leaves no file. An error
// names the variable that chooses the folder.
func TestStore(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("TMPDIR", folder)
	p := bytes.Repeat([]byte("stored"), 100_000)
	want := sha256.Sum256(p)
	if got, err := store(p); err != nil || !bytes.Equal(got, want[:]) {
		t.Errorf("store = %x, %v, want %x", got, err, want)
	}
	isEmpty(t, folder)
	t.Setenv("TMPDIR", filepath.Join(folder, "missing"))
	if _, err := store(p); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("store in a folder that is not there: %v", err)
	}
}

// TestRoom: a folder with enough room is no error, and one with less says how much is needed where.
func TestRoom(t *testing.T) {
	folder := t.TempDir()
	if err := checkRoom(folder, 1); err != nil {
		t.Error(err)
	}
	if free, err := freeBytes(folder); err != nil {
		t.Error(err)
	} else if free == math.MaxInt64 {
		t.Skip("this system does not say how much is free")
	}
	const need = math.MaxInt64 - 1
	err := checkRoom(folder, need)
	if room := new(NoRoomError); !errors.As(err, &room) || room.Folder != folder || room.Need != need || room.Free < 1 {
		t.Errorf("checkRoom: %v", err)
	}
	if err := checkRoom(filepath.Join(folder, "missing"), 1); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "TMPDIR") {
		t.Errorf("checkRoom of a folder that is not there: %v", err)
	}
}

// TestDemoKeepsOlderCapture: an interrupted or failed run leaves an earlier capture unchanged, and
// no other file.
func TestDemoKeepsOlderCapture(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"interrupted", "failed"} {
		place := t.TempDir()
		older := filepath.Join(place, "demo.pcapng")
		if err := os.WriteFile(older, []byte("older"), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o := Options{Size: 1 << 20, Rounds: 1, Capture: older, Server: []string{self, "demo-server"}}
		if name == "failed" {
			o.Server = []string{filepath.Join(place, "no-such-program")}
		} else {
			o.Progress = func(int64, int64) { cancel() }
		}
		var out bytes.Buffer
		if err := Run(ctx, o, &out); err == nil || errors.Is(err, context.Canceled) != (name == "interrupted") {
			t.Errorf("%s: %v", name, err)
		}
		cancel()
		entries, err := os.ReadDir(place)
		if err != nil || len(entries) != 1 {
			t.Errorf("%s: files %v, %v", name, entries, err)
		}
		if got, err := os.ReadFile(older); string(got) != "older" {
			t.Errorf("%s: the older capture is %q, %v", name, got, err)
		}
	}
}

// checkCapture checks that every operation of the short run is in the capture, and that every CRC
// is correct.
func checkCapture(t *testing.T, path string) {
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	seen := map[string]int{}
	if err := dissect.Read(f, func(r dissect.Record) error {
		seen[r.Kind+" "+r.Op]++
		if r.Kind == "fpdu" && r.CRC != "good" {
			t.Errorf("FPDU with CRC %q: %+v", r.CRC, r)
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"mpa-request ", "mpa-reply ", "fpdu send", "fpdu rdma-write", "fpdu rdma-read-request",
		"fpdu rdma-read-response", "fpdu atomic-request", "fpdu atomic-response"} {
		if seen[want] == 0 {
			t.Errorf("no %q in the capture, only %v", strings.TrimSpace(want), seen)
		}
	}
}
