package main

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"testing"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// TestMain is also the program of the processes that a trial starts.
func TestMain(m *testing.M) {
	if harness.IsPart() {
		main()
		return
	}
	testmode.Hurry()
	nopanic.Exit(m.Run())
}

// few returns a trial with few pages and operations, so that updates meet requests.
func few(way string, busy int) trial {
	return trial{Way: way, Updates: 0.3, Busy: busy, Pages: 4, Work: 1, Proxies: 2, Clients: 3, Count: 300, Seed: 1}
}

// hasRun reports whether rddp run works on this system.
const hasRun = runtime.GOOS == "linux" && (runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64")

// TestNoStalePage: a proxy that validates serves no stale page, with an idle back end and with a
// busy one. The trial itself checks that each response has the bytes of its version.
func TestNoStalePage(t *testing.T) {
	command, err := harness.BuildCommand(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, way := range ways {
		if way == wayUnchecked || way == wayDevice && !hasRun {
			continue
		}
		for _, busy := range []int{0, 1} {
			trial := few(way, busy)
			trial.Command = command
			if busy > 0 {
				trial.Count = 20 // each may wait for the scheduler
			}
			o, err := trial.Run(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if sum := trial.Proxies * trial.Clients * trial.Count; o.Requests+o.Updates != sum || o.Stale != 0 {
				t.Errorf("%s: %d requests and %d updates, %d stale; want %d and none", way, o.Requests, o.Updates, o.Stale, sum)
			}
			if cached := way != wayNone; (o.Hits > 0) != cached {
				t.Errorf("%s: %d hits", way, o.Hits)
			}
			if o.BackendCPU <= 0 || o.ProxyCPU <= 0 {
				t.Errorf("%s: processor time %v and %v", way, o.BackendCPU, o.ProxyCPU)
			}
		}
	}
}

// TestStalePageIsFound: the check finds stale pages if a proxy does not validate.
func TestStalePageIsFound(t *testing.T) {
	o, err := few(wayUnchecked, 0).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if o.Stale == 0 || o.Stale > o.Hits {
		t.Errorf("%d stale pages among %d hits", o.Stale, o.Hits)
	}
}

// TestPage: a page has only the bytes of its version, and a changed byte is detected.
func TestPage(t *testing.T) {
	p, other := make([]byte, pageLen), make([]byte, pageLen)
	makePage(p, 7, 3, 2)
	makePage(other, 7, 4, 2)
	if bytes.Equal(p, other) {
		t.Error("two versions are equal")
	}
	if err := errors.Join(checkWhole(p), checkVersion(p, 7, 3)); err != nil {
		t.Error(err)
	}
	if err := checkVersion(p, 7, 4); !errors.Is(err, errVersion) {
		t.Errorf("another version: %v", err)
	}
	p[pageLen/2] ^= 1
	if err := checkWhole(p); !errors.Is(err, errBroken) {
		t.Errorf("a changed byte: %v", err)
	}
}

// TestCounters: a Read of a part of a counter is refused, and so is a write.
func TestCounters(t *testing.T) {
	c := make(counters, 2)
	c[1].Store(0x0102)
	p := make([]byte, counterLen)
	if _, err := c.ReadAt(p, counterLen); err != nil || binary.NativeEndian.Uint64(p) != 0x0102 {
		t.Errorf("%x, %v", p, err)
	}
	if _, err := c.ReadAt(p[:4], 0); !errors.Is(err, errAlign) {
		t.Error(err)
	}
	if _, err := c.WriteAt(p, 0); !errors.Is(err, errReadOnly) {
		t.Error(err)
	}
}
