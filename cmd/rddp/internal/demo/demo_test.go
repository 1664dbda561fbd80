package demo

import (
	"bytes"
	"context"
	"errors"
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
	dir := t.TempDir()
	var out bytes.Buffer
	var moved, total int64
	err = Run(t.Context(), Options{
		Size: 5<<20 + 1, Rounds: 1, Dir: dir, Capture: filepath.Join(dir, "demo.pcapng"), Server: []string{self, "demo-server"},
		Progress: func(n, all int64) { moved, total = moved+n, all },
	}, &out)
	if err != nil {
		t.Fatalf("Run: %v\n%s", err, &out)
	}
	original, err := os.ReadFile(filepath.Join(dir, "original"))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := os.ReadFile(filepath.Join(dir, "stored-by-server"))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(original, stored) {
		t.Error("the server has stored another file")
	}
	if moved != total || moved != 2*int64(len(original)) {
		t.Errorf("progress came to %d of %d, want twice %d", moved, total, len(original))
	}
	if !regexp.MustCompile(`RDMA Write .* ratio`).MatchString(out.String()) {
		t.Errorf("no ratio to plain TCP in:\n%s", &out)
	}
	checkCapture(t, filepath.Join(dir, "demo.pcapng"))
}

// TestDemoKeepsOlderCapture: an interrupted or failed run leaves an earlier capture unchanged, and
// no other file.
func TestDemoKeepsOlderCapture(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"interrupted", "failed"} {
		dir, place := t.TempDir(), t.TempDir()
		older := filepath.Join(place, "demo.pcapng")
		if err := os.WriteFile(older, []byte("older"), 0o600); err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		o := Options{Size: 1 << 20, Rounds: 1, Dir: dir, Capture: older, Server: []string{self, "demo-server"}}
		if name == "failed" {
			o.Server = []string{filepath.Join(dir, "no-such-program")}
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
