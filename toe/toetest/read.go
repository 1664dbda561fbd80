package toetest

import (
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/rddp/rddp/toe"
)

// testOffsetsBeginAfterRead: "offset 0 is the first octet that ReadSegment
// gives", whatever Read and Readable did before.
func testOffsetsBeginAfterRead(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error {
		_, err := a.Write([]byte("startup, then the stream"))
		return err
	})
	for range 3 {
		if err := b.Readable(); err != nil {
			t.Fatalf("Readable() = %v", err)
		}
	}
	p := make([]byte, len("startup, "))
	if _, err := io.ReadFull(b, p); err != nil || string(p) != "startup, " {
		t.Fatalf("Read = %q, %v, want %q", p, err, "startup, ")
	}
	if got, want := readString(t, b, 0, len("then the stream")), "then the stream"; got != want {
		t.Errorf("ReadSegment = %q, want %q", got, want)
	}
	wantErr(t, "Write", write(), nil)
}

func testReadable(t *testing.T, a, b toe.Stream) {
	off := uint64(0)
	for _, s := range []string{"x", "yz", "a longer one"} {
		readable := inBackground(b.Readable)
		write := inBackground(func() error { return a.WriteBatch([][]byte{[]byte(s)}) })
		if err := readable(); err != nil {
			t.Fatalf("Readable() = %v", err)
		}
		if err := b.Readable(); err != nil { // it takes nothing
			t.Fatalf("second Readable() = %v", err)
		}
		if got := readString(t, b, off, len(s)); got != s {
			t.Errorf("read %q, want %q", got, s)
		}
		wantErr(t, "WriteBatch", write(), nil)
		off += uint64(len(s))
	}
}

func testEmptyReadSegment(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error { return a.WriteBatch([][]byte{[]byte("ab")}) })
	if got := readString(t, b, 0, 1); got != "a" {
		t.Errorf("read %q, want %q", got, "a")
	}
	if n, off, err := b.ReadSegment(nil); n != 0 || off != 1 || err != nil {
		t.Errorf("ReadSegment(nil) = %d, %d, %v, want 0, 1, nil", n, off, err)
	}
	if got := readString(t, b, 1, 1); got != "b" {
		t.Errorf("read %q, want %q", got, "b")
	}
	wantErr(t, "WriteBatch", write(), nil)
}

// testReadLazily reads the two ways in turn: the offsets count what either has read. A buffer is out when something was read, and
// none while ReadLazily waits.
func testReadLazily(t *testing.T, a, b toe.Stream) {
	r, ok := b.(toe.LazyReader)
	if !ok {
		t.Skip("no LazyReader")
	}
	buf, lent, waits := make([]byte, 2), 0, make(chan bool, 1)
	read := func(p []byte, want string, at uint64) {
		t.Helper()
		n, off, err := r.ReadLazily(0, func() []byte { lent++; return p }, func() {
			lent--
			select {
			case waits <- true:
			default:
			}
		})
		if err != nil || off != at || string(p[:n]) != want || lent != 1 {
			t.Errorf("ReadLazily = %q, %d, %v with %d buffers out, want %q, %d, nil with 1", p[:n], off, err, lent, want, at)
		}
		lent = 0
	}
	write := inBackground(func() error {
		<-waits
		return a.WriteBatch([][]byte{[]byte("abcdef")})
	})
	read(buf, "ab", 0)
	read(nil, "", 2)
	if got := readString(t, b, 2, 1); got != "c" {
		t.Errorf("read %q, want %q", got, "c")
	}
	read(buf, "de", 3)
	read(buf, "f", 5)
	wantErr(t, "WriteBatch", write(), nil)
	wantErr(t, "Close", a.Close(), nil)
	n, off, err := r.ReadLazily(0, func() []byte { return buf }, func() {})
	if n != 0 || off != 6 || err != io.EOF {
		t.Errorf("ReadLazily at the end = %d, %d, %v, want 0, 6, io.EOF", n, off, err)
	}
}

func testHalfClose(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error { return a.WriteBatch([][]byte{[]byte("last words")}) })
	if got := readString(t, b, 0, 10); got != "last words" {
		t.Errorf("read %q, want %q", got, "last words")
	}
	wantErr(t, "WriteBatch", write(), nil)
	err := a.CloseWrite()
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("no half-close")
	}
	wantErr(t, "CloseWrite", err, nil)
	for range 2 { // for ever
		if err := b.Readable(); err != nil {
			t.Errorf("Readable at the end = %v, want nil", err)
		}
		if _, err := readInOrder(b, make([]byte, 8), 10); err != io.EOF {
			t.Errorf("ReadSegment at the end = %v, want io.EOF", err)
		}
	}
	if err := a.WriteBatch([][]byte{{1}}); err == nil {
		t.Error("WriteBatch after CloseWrite = nil, want an error")
	}
	// The other direction goes on.
	write = inBackground(func() error { return b.WriteBatch([][]byte{[]byte("an answer")}) })
	if got := readString(t, a, 0, 9); got != "an answer" {
		t.Errorf("read %q, want %q", got, "an answer")
	}
	wantErr(t, "WriteBatch against the half-close", write(), nil)
}

func testPeerCloses(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error {
		defer a.Close()
		return a.WriteBatch([][]byte{[]byte("bye")})
	})
	if got := readString(t, b, 0, 3); got != "bye" {
		t.Errorf("read %q, want %q", got, "bye")
	}
	wantErr(t, "WriteBatch", write(), nil)
	if err := b.Readable(); err != nil {
		t.Errorf("Readable at the end = %v, want nil", err)
	}
	if _, err := readInOrder(b, make([]byte, 8), 3); err != io.EOF {
		t.Errorf("ReadSegment at the end = %v, want io.EOF", err)
	}
	if err := b.WriteBatch(overfill()); err == nil {
		t.Error("WriteBatch to a closed peer = nil, want an error")
	}
}

func testPending(t *testing.T, a, b toe.Stream) {
	p, ok := b.(toe.Pender)
	if !ok {
		t.Skip("no Pender")
	}
	want := func(n int) {
		t.Helper()
		if got, err := p.Pending(); got != n || err != nil {
			t.Errorf("Pending() = %d, %v, want %d, nil", got, err, n)
		}
	}
	want(0)
	if err := a.WriteBatch([][]byte{[]byte("pen"), []byte("ding")}); err != nil {
		t.Fatalf("WriteBatch = %v", err)
	}
	if got := readString(t, b, 0, 1); got != "p" {
		t.Errorf("read %q, want %q", got, "p")
	}
	waitPending(t, b, 6)
	want(6) // octets that have been seen do not go away
	if got := readString(t, b, 1, 6); got != "ending" {
		t.Errorf("read %q, want %q", got, "ending")
	}
	want(0)
	if err := a.CloseWrite(); err != nil {
		t.Fatalf("CloseWrite = %v", err)
	}
	if err := b.Readable(); err != nil {
		t.Errorf("Readable at the end = %v", err)
	}
	want(0) // a FIN is no octet
}

// waitPending waits until n octets are pending.
func waitPending(t *testing.T, s toe.Stream, n int) {
	t.Helper()
	for limit := time.Now().Add(patience); ; runtime.Gosched() {
		got, err := s.(toe.Pender).Pending()
		if err != nil || got > n || time.Now().After(limit) {
			t.Fatalf("Pending() = %d, %v, want %d", got, err, n)
		}
		if got == n {
			return
		}
	}
}
