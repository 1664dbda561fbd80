package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/pcapng"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// requested returns an unfinished capture: a connection whose MPA Request has been sent.
func requested(t *testing.T) []byte {
	t.Helper()
	var file bytes.Buffer
	w, err := pcapng.NewWriter(&file)
	if err != nil {
		t.Fatal(err)
	}
	w.Flow(nil, nil, true).Sent(append([]byte("MPA ID Req Frame"), 0x40, 1, 0, 0))
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return file.Bytes()
}

// A readerFunc is an io.Reader.
type readerFunc func(p []byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

// TestDumpOfALiveCapture: `rddp dump` writes all records so far before it waits for more of the
// capture.
func TestDumpOfALiveCapture(t *testing.T) {
	for _, form := range [][]string{{"-"}, {"--json", "-"}} {
		var out, errs strings.Builder
		seen := ""
		more := readerFunc(func([]byte) (int, error) {
			seen = out.String()
			return 0, io.EOF
		})
		in := io.MultiReader(bytes.NewReader(requested(t)), more)
		status := runInput(t.Context(), append([]string{"rddp", "dump"}, form...), in, &out, &errs, commands())
		if status != exitOK || !strings.Contains(seen, "mpa-request") || strings.Contains(seen, "the capture ends") {
			t.Errorf("rddp dump %q: status %d, stderr %q; before it waits for more it has written %q", form, status, &errs, seen)
		}
	}
}

// TestDumpInterrupted: an interrupt ends the wait for more of the capture.
func TestDumpInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	limit := prototest.TimeLimit(t)
	returned := make(chan struct{})
	in := io.MultiReader(bytes.NewReader(requested(t)), readerFunc(func([]byte) (int, error) {
		interrupt()
		select {
		case <-returned:
		case <-limit.Done():
		}
		return 0, io.EOF
	}))
	var errs strings.Builder
	status := runInput(ctx, []string{"rddp", "dump", "-"}, in, io.Discard, &errs, commands())
	close(returned)
	if status != exitInterrupted || errs.String() != "rddp dump: interrupted\n" {
		t.Errorf("status %d, stderr %q", status, &errs)
	}
}
