package toetest

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
)

// testOffsetsBeginAfterRead: "Offset 0 is the first byte that ReadSegment gives", whatever Read did
// before.
func testOffsetsBeginAfterRead(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error {
		_, err := a.Write([]byte("startup, then the stream"))
		return err
	})
	p := make([]byte, len("startup, "))
	if _, err := io.ReadFull(b, p); err != nil || string(p) != "startup, " {
		t.Fatalf("Read = %q, %v, want %q", p, err, "startup, ")
	}
	if got, want := readString(t, b, 0, len("then the stream")), "then the stream"; got != want {
		t.Errorf("ReadSegment = %q, want %q", got, want)
	}
	wantErr(t, "Write", write(), nil)
}

func testEmptyReadSegment(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error { return WriteBatch(a, [][]byte{[]byte("ab")}) })
	if got := readString(t, b, 0, 1); got != "a" {
		t.Errorf("read %q, want %q", got, "a")
	}
	if n, off, err := ReadSegment(b, nil); n != 0 || off != 1 || err != nil {
		t.Errorf("ReadSegment(nil) = %d, %d, %v, want 0, 1, nil", n, off, err)
	}
	if got := readString(t, b, 1, 1); got != "b" {
		t.Errorf("read %q, want %q", got, "b")
	}
	wantErr(t, "WriteBatch", write(), nil)
}

// testPollSegment: "It is ReadSegment without the wait".
func testPollSegment(t *testing.T, a, b toe.Stream) {
	poller, ok := b.(interface {
		PollSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error)
	})
	if !ok {
		return
	}
	poll := func(patience time.Duration, want string, wantOff uint64, wantErr error) {
		t.Helper()
		l := &strict{t: t, size: 8}
		n, off, err := poller.PollSegment(l, patience)
		if n != len(want) || off != wantOff || !errors.Is(err, wantErr) || n > 0 && string(l.p[:n]) != want {
			t.Errorf("PollSegment = %d, %d, %v, want %d, %d, %v", n, off, err, len(want), wantOff, wantErr)
		}
	}
	for _, patience := range []time.Duration{0, time.Microsecond, 100 * time.Microsecond} {
		poll(patience, "", 0, nil)
	}
	wantErr(t, "WriteBatch", WriteBatch(a, [][]byte{[]byte("ab")}), nil)
	if got := readString(t, b, 0, 2); got != "ab" {
		t.Errorf("ReadSegment after PollSegment = %q, want %q", got, "ab")
	}
	poll(time.Microsecond, "", 2, nil)
	if err := b.SetReadDeadline(time.Unix(1, 0)); err == nil {
		poll(0, "", 2, os.ErrDeadlineExceeded)
		_ = b.SetReadDeadline(time.Time{})
	}
	wantErr(t, "Close", a.Close(), nil)
	if _, _, err := ReadSegment(b, make([]byte, 8)); err != io.EOF {
		t.Errorf("ReadSegment at the end: %v, want %v", err, io.EOF)
	}
	poll(0, "", 2, io.EOF)
}

// A strict Lender takes its memory back, and lends other memory each time. It fails the test if the
// Stream uses it against the contract.
type strict struct {
	t     *testing.T
	size  int
	keeps bool
	p     []byte // nil while nothing is lent
	waits chan struct{}
	lends int
}

func (l *strict) Lend() []byte {
	if l.p != nil && !l.keeps {
		for _, c := range l.p {
			if c != 0 {
				l.t.Error("the Stream has written to memory that it did not read into")
			}
		}
	}
	if l.p == nil || !l.keeps {
		l.p = make([]byte, l.size)
	}
	l.lends++
	return l.p
}

func (l *strict) TakeBack() bool {
	for _, c := range l.p {
		if c != 0 {
			l.t.Error("the Stream has written to memory that it gives back")
		}
	}
	if l.waits != nil {
		select {
		case l.waits <- struct{}{}:
		default:
		}
	}
	if l.keeps {
		return true
	}
	l.p = nil
	return false
}

// testLendsLate checks that a waiting Stream holds no memory of the caller, and that it reads into
// the memory that it was lent last.
func testLendsLate(t *testing.T, a, b toe.Stream) {
	waits := make(chan struct{}, 1)
	write := inBackground(func() error {
		<-waits // otherwise the read below never ends
		return WriteBatch(a, [][]byte{[]byte("abcdef")})
	})
	read := func(size int, want string, at uint64) {
		t.Helper()
		var l *strict
		var n int
		off := uint64(1 << 40) // an early run
		var err error
		for off > at && err == nil {
			l = &strict{t: t, size: size, waits: waits}
			n, off, err = b.ReadSegment(l, 0)
		}
		if err != nil || off != at || l.p == nil && size > 0 || string(l.p[:n]) != want[:n] || n == 0 && size > 0 {
			t.Fatalf("ReadSegment = %q, %d, %v with %v lent, want the beginning of %q, %d, nil", l.p[:n], off, err, l.p != nil, want, at)
		}
		if n < len(want) {
			if got := readString(t, b, at+uint64(n), len(want)-n); got != want[n:] {
				t.Errorf("read %q, want %q", got, want[n:])
			}
		}
	}
	read(2, "ab", 0)
	read(0, "", 2)
	read(3, "cde", 2)
	read(2, "f", 5)
	wantErr(t, "WriteBatch", write(), nil)
	wantErr(t, "Close", a.Close(), nil)
	for range 2 { // again and again
		n, off, err := b.ReadSegment(&strict{t: t, size: 2}, 0)
		if n != 0 || off != 6 || err != io.EOF {
			t.Errorf("ReadSegment at the end = %d, %d, %v, want 0, 6, io.EOF", n, off, err)
		}
	}
}

// testLenderKeeps checks that a Lender that keeps its memory while the Stream waits gets the bytes
// in that memory.
func testLenderKeeps(t *testing.T, a, b toe.Stream) {
	waits := make(chan struct{}, 1)
	write := inBackground(func() error {
		<-waits
		return WriteBatch(a, [][]byte{[]byte("kept")})
	})
	l := &strict{t: t, size: 8, keeps: true, waits: waits}
	n, off, err := b.ReadSegment(l, 0)
	if err != nil || n == 0 || l.lends == 0 || string(l.p[:n]) != "kept"[off:][:n] {
		t.Errorf("ReadSegment = %q, %d, %v after %d Lends", l.p[:n], off, err, l.lends)
	}
	if off == 0 && n < 4 {
		readString(t, b, uint64(n), 4-n)
	}
	wantErr(t, "WriteBatch", write(), nil)
}

// testPatience checks that the bytes arrive with any patience, and that the deadline applies once
// the patience is over.
func testPatience(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error { return WriteBatch(a, [][]byte{[]byte("x")}) })
	l := &strict{t: t, size: 1}
	if n, off, err := b.ReadSegment(l, time.Millisecond); n != 1 || off != 0 || err != nil || l.p[0] != 'x' {
		t.Errorf("ReadSegment = %d, %d, %v", n, off, err)
	}
	wantErr(t, "WriteBatch", write(), nil)
	b.SetReadDeadline(time.Now().Add(soon))
	_, _, err := b.ReadSegment(&strict{t: t, size: 1}, time.Millisecond)
	wantErr(t, "ReadSegment with a deadline", err, os.ErrDeadlineExceeded)
}

func testHalfClose(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error { return WriteBatch(a, [][]byte{[]byte("last words")}) })
	if got := readString(t, b, 0, 10); got != "last words" {
		t.Errorf("read %q, want %q", got, "last words")
	}
	wantErr(t, "WriteBatch", write(), nil)
	want := error(nil)
	if !a.Capabilities().HalfClose {
		want = errors.ErrUnsupported
	}
	wantErr(t, "CloseWrite", a.CloseWrite(), want)
	if want != nil { // nothing has changed
		write := inBackground(func() error { return WriteBatch(a, [][]byte{[]byte("more")}) })
		if got := readString(t, b, 10, 4); got != "more" {
			t.Errorf("read %q, want %q", got, "more")
		}
		wantErr(t, "WriteBatch", write(), nil)
		return
	}
	for range 2 { // again and again
		if _, err := readInOrder(b, make([]byte, 8), 10); err != io.EOF {
			t.Errorf("ReadSegment at the end = %v, want io.EOF", err)
		}
	}
	if err := WriteBatch(a, [][]byte{{1}}); err == nil {
		t.Error("WriteBatch after CloseWrite = nil, want an error")
	}
	// The other direction continues.
	write = inBackground(func() error { return WriteBatch(b, [][]byte{[]byte("an answer")}) })
	if got := readString(t, a, 0, 9); got != "an answer" {
		t.Errorf("read %q, want %q", got, "an answer")
	}
	wantErr(t, "WriteBatch against the half-close", write(), nil)
}

func testPeerCloses(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error {
		defer a.Close()
		return WriteBatch(a, [][]byte{[]byte("bye")})
	})
	if got := readString(t, b, 0, 3); got != "bye" {
		t.Errorf("read %q, want %q", got, "bye")
	}
	wantErr(t, "WriteBatch", write(), nil)
	if _, err := readInOrder(b, make([]byte, 8), 3); err != io.EOF {
		t.Errorf("ReadSegment at the end = %v, want io.EOF", err)
	}
	if err := WriteBatch(b, overfill()); err == nil {
		t.Error("WriteBatch to a closed peer = nil, want an error")
	}
}

// testPeerAborts checks that a reader sees the end of an aborted stream, and no orderly end if the
// Stream declares Reset. Bytes that were sent before may be lost.
func testPeerAborts(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error { return WriteBatch(b, [][]byte{[]byte("unread")}) })
	if got := readString(t, a, 0, 2); got != "un" {
		t.Errorf("read %q, want %q", got, "un")
	}
	wantErr(t, "WriteBatch", write(), nil)
	mine := inBackground(func() error { return WriteBatch(a, overfill()) })
	readString(t, b, 0, 1) // the write has begun
	wantErr(t, "Abort", a.Abort(), nil)
	wantErr(t, "WriteBatch during Abort", mine(), net.ErrClosed)
	p := make([]byte, 64<<10)
	var err error
	for err == nil {
		_, _, err = ReadSegment(b, p)
	}
	if errors.Is(err, os.ErrDeadlineExceeded) || b.Capabilities().Reset && err == io.EOF {
		t.Errorf("ReadSegment after the peer's Abort = %v, want the end, and no orderly one of a reset", err)
	}
	if err := WriteBatch(b, overfill()); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("WriteBatch after the peer's Abort = %v, want an error of the connection", err)
	}
}

// testIdlePeerAborts checks the same for a stream on which nothing is in progress. A Close would be
// an orderly end there.
func testIdlePeerAborts(t *testing.T, a, b toe.Stream) {
	if err := WriteBatch(a, [][]byte{[]byte("sent")}); err != nil {
		t.Fatalf("WriteBatch = %v", err)
	}
	if got := readString(t, b, 0, 4); got != "sent" {
		t.Errorf("read %q, want %q", got, "sent")
	}
	wantErr(t, "Abort", a.Abort(), nil)
	_, _, err := ReadSegment(b, make([]byte, 1))
	if err == nil || errors.Is(err, os.ErrDeadlineExceeded) || b.Capabilities().Reset && err == io.EOF {
		t.Errorf("ReadSegment after the peer's Abort = %v, want the end, and no orderly one of a reset", err)
	}
}

func testPending(t *testing.T, a, b toe.Stream) {
	want := func(n int) {
		t.Helper()
		got, err := b.Pending()
		if b.Capabilities().Pending && got != n || got < 0 || got > n || err != nil {
			t.Errorf("Pending() = %d, %v, want %d, nil", got, err, n)
		}
	}
	want(0)
	if err := WriteBatch(a, [][]byte{[]byte("pen"), []byte("ding")}); err != nil {
		t.Fatalf("WriteBatch = %v", err)
	}
	if got := readString(t, b, 0, 1); got != "p" {
		t.Errorf("read %q, want %q", got, "p")
	}
	if b.Capabilities().Pending {
		waitPending(t, b, 6)
	}
	want(6) // bytes that have been seen do not go away
	if got := readString(t, b, 1, 6); got != "ending" {
		t.Errorf("read %q, want %q", got, "ending")
	}
	want(0)
	a.Close()
	if _, err := readInOrder(b, make([]byte, 1), 7); err != io.EOF {
		t.Errorf("ReadSegment at the end = %v, want io.EOF", err)
	}
	want(0) // a FIN does not count as a byte
}

// waitPending waits until n bytes are pending.
func waitPending(t *testing.T, s toe.Stream, n int) {
	t.Helper()
	prototest.Wait(t, fmt.Sprintf("Pending() = %d", n), func() bool {
		got, err := s.Pending()
		if err != nil || got > n {
			t.Fatalf("Pending() = %d, %v, want %d", got, err, n)
		}
		return got == n
	})
}
