package trace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestPipe: a pipe is opened without waiting for its reader, who gets everything.
func TestPipe(t *testing.T) {
	name := filepath.Join(t.TempDir(), "pipe")
	if err := syscall.Mkfifo(name, 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Create(name)
	if err != nil {
		t.Fatal(err)
	}
	tracer := New(f, new(Text))
	tracer.Put(Event{Kind: Note, Op: "hello"})
	r, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	b := make([]byte, 100)
	n, err := r.Read(b)
	if err != nil || !strings.HasSuffix(string(b[:n]), " hello\n") {
		t.Errorf("%q, %v", b[:n], err)
	}
	if lost, err := tracer.Close(); lost != 0 || err != nil {
		t.Errorf("%d are lost: %v", lost, err)
	}
}
