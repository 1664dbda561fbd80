// Package toetest checks that a toe.Stream keeps the contract. Every backend
// runs it in its tests:
//
//	func TestContract(t *testing.T) {
//		toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) { … })
//	}
package toetest

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"time"

	"github.com/rddp/rddp/toe"
)

const (
	// patience ends a test that hangs.
	patience = 20 * time.Second
	// soon is a deadline that is meant to pass.
	soon = 10 * time.Millisecond
	// tooMuch is more octets than any stream buffers, on its way to a peer that
	// does not read.
	tooMuch = 256 << 20
)

// TestStream runs every check of the contract on fresh connections. makePair
// returns the two sides of one; TestStream closes them. What the streams do not
// offer (half-close, toe.TryWriter, toe.WaitWriter, toe.LazyReader, toe.Pender) is not
// checked.
func TestStream(t *testing.T, makePair func(t *testing.T) (a, b toe.Stream)) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, a, b toe.Stream)
	}{
		{"Transfer", testTransfer},
		{"TransferBothWays", testTransferBothWays},
		{"OffsetsBeginAfterRead", testOffsetsBeginAfterRead},
		{"Readable", testReadable},
		{"EmptyReadSegment", testEmptyReadSegment},
		{"ReadLazily", testReadLazily},
		{"EmptyBuffers", testEmptyBuffers},
		{"ManyBuffers", testManyBuffers},
		{"BatchKeepsOctets", testBatchKeepsOctets},
		{"ReadDeadline", testReadDeadline},
		{"WriteDeadline", testWriteDeadline},
		{"DeadlineMovedWhileWaiting", testDeadlineMovedWhileWaiting},
		{"HalfClose", testHalfClose},
		{"PeerCloses", testPeerCloses},
		{"CloseWakesReaders", testCloseWakesReaders},
		{"CloseWakesWriters", testCloseWakesWriters},
		{"ClosedStream", testClosedStream},
		{"EMSS", testEMSS},
		{"TryWriteBatch", testTryWriteBatch},
		{"TryWriteBatchDeadline", testTryWriteBatchDeadline},
		{"TryWriteBatchThenWriteBatch", testTryWriteBatchThenWriteBatch},
		{"WaitWritable", testWaitWritable},
		{"WaitWritableEnds", testWaitWritableEnds},
		{"WaitWritablePeerCloses", testWaitWritablePeerCloses},
		{"Pending", testPending},
		{"Addresses", testAddresses},
	} {
		t.Run(test.name, func(t *testing.T) {
			a, b := makePair(t)
			defer a.Close()
			defer b.Close()
			limit := time.Now().Add(patience)
			for _, s := range []toe.Stream{a, b} {
				if err := s.SetDeadline(limit); err != nil {
					t.Fatalf("SetDeadline = %v", err)
				}
			}
			test.run(t, a, b)
		})
	}
}

// inBackground runs f in a goroutine and returns a function that waits for it
// and gives its error.
func inBackground(f func() error) (wait func() error) {
	done := make(chan error, 1)
	go func() { done <- f() }()
	return func() error { return <-done }
}

// wantErr fails the test unless err is want, as errors.Is sees it.
func wantErr(t *testing.T, what string, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("%s = %v, want %v", what, err, want)
	}
}

// readInOrder reads one run that is not early into p and checks its offset.
func readInOrder(s toe.Stream, p []byte, want uint64) (int, error) {
	for {
		n, off, err := s.ReadSegment(p)
		switch {
		case err != nil && n != 0:
			return 0, errors.New("ReadSegment gave octets and an error")
		case err == nil && n == 0 && len(p) > 0:
			return 0, errors.New("ReadSegment gave neither octets nor an error")
		case off < want:
			return 0, errors.New("ReadSegment gave octets again")
		case off == want:
			return n, err
		case err != nil:
			return 0, errors.New("ReadSegment gave an error at an offset that is not in order")
		}
	}
}

// readString reads n octets in order.
func readString(t *testing.T, s toe.Stream, off uint64, n int) string {
	t.Helper()
	p := make([]byte, n)
	for i := 0; i < n; {
		m, err := readInOrder(s, p[i:], off+uint64(i))
		if err != nil {
			t.Fatalf("ReadSegment at offset %d = %v", off+uint64(i), err)
		}
		i += m
	}
	return string(p)
}

// overfill is a batch of tooMuch octets in little memory.
func overfill() [][]byte {
	piece := make([]byte, 1<<20)
	bufs := make([][]byte, tooMuch/len(piece))
	for i := range bufs {
		bufs[i] = piece
	}
	return bufs
}

// total returns the number of octets in bufs.
func total(bufs [][]byte) int {
	n := 0
	for _, b := range bufs {
		n += len(b)
	}
	return n
}

func testEMSS(t *testing.T, a, b toe.Stream) {
	for _, s := range []toe.Stream{a, b} {
		for range 1000 { // past whatever is cached
			if n := s.EMSS(); n <= 0 {
				t.Fatalf("EMSS() = %d, want > 0", n)
			}
		}
	}
	a.Close()
	if n := a.EMSS(); n <= 0 {
		t.Errorf("EMSS() after Close = %d, want > 0", n)
	}
}

func testAddresses(t *testing.T, a, b toe.Stream) {
	for _, s := range []toe.Stream{a, b} {
		if s.LocalAddr() == nil || s.RemoteAddr() == nil {
			t.Errorf("LocalAddr() = %v, RemoteAddr() = %v, want both", s.LocalAddr(), s.RemoteAddr())
		}
	}
}

func testReadDeadline(t *testing.T, a, b toe.Stream) {
	a.SetReadDeadline(time.Now().Add(soon))
	wantErr(t, "Readable with a deadline", a.Readable(), os.ErrDeadlineExceeded)
	wantErr(t, "Readable behind the deadline", a.Readable(), os.ErrDeadlineExceeded)
	n, _, err := a.ReadSegment(make([]byte, 8))
	wantErr(t, "ReadSegment behind the deadline", err, os.ErrDeadlineExceeded)
	if n != 0 {
		t.Errorf("ReadSegment behind the deadline = %d octets, want 0", n)
	}

	a.SetReadDeadline(time.Now().Add(soon))
	_, _, err = a.ReadSegment(make([]byte, 8))
	wantErr(t, "ReadSegment with a deadline", err, os.ErrDeadlineExceeded)

	// The stream is unharmed.
	a.SetReadDeadline(time.Now().Add(patience))
	write := inBackground(func() error { return b.WriteBatch([][]byte{[]byte("later")}) })
	if err := a.Readable(); err != nil {
		t.Errorf("Readable after the deadline was moved = %v", err)
	}
	if got := readString(t, a, 0, 5); got != "later" {
		t.Errorf("read %q, want %q", got, "later")
	}
	wantErr(t, "WriteBatch", write(), nil)
}

func testWriteDeadline(t *testing.T, a, _ toe.Stream) {
	a.SetWriteDeadline(time.Now().Add(soon))
	wantErr(t, "WriteBatch with a deadline", a.WriteBatch(overfill()), os.ErrDeadlineExceeded)
	wantErr(t, "WriteBatch behind the deadline", a.WriteBatch([][]byte{{1}}), os.ErrDeadlineExceeded)
	_, err := a.Write([]byte{1})
	wantErr(t, "Write behind the deadline", err, os.ErrDeadlineExceeded)
}

func testDeadlineMovedWhileWaiting(t *testing.T, a, _ toe.Stream) {
	readable := inBackground(a.Readable)
	write := inBackground(func() error { return a.WriteBatch(overfill()) })
	a.SetDeadline(time.Now().Add(soon))
	wantErr(t, "Readable", readable(), os.ErrDeadlineExceeded)
	wantErr(t, "WriteBatch", write(), os.ErrDeadlineExceeded)
}

func testClosedStream(t *testing.T, a, _ toe.Stream) {
	if err := a.Close(); err != nil {
		t.Errorf("Close() = %v", err)
	}
	if err := a.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
		t.Errorf("second Close() = %v, want nil or net.ErrClosed", err)
	}
	_, _, err := a.ReadSegment(make([]byte, 8))
	wantErr(t, "ReadSegment", err, net.ErrClosed)
	_, err = a.Read(make([]byte, 8))
	wantErr(t, "Read", err, net.ErrClosed)
	wantErr(t, "Readable", a.Readable(), net.ErrClosed)
	wantErr(t, "WriteBatch", a.WriteBatch([][]byte{{1}}), net.ErrClosed)
	_, err = a.Write([]byte{1})
	wantErr(t, "Write", err, net.ErrClosed)
	if w, ok := a.(toe.TryWriter); ok {
		_, err = w.TryWriteBatch([][]byte{{1}})
		wantErr(t, "TryWriteBatch", err, net.ErrClosed)
	}
	if w, ok := a.(toe.WaitWriter); ok {
		wantErr(t, "WaitWritable", w.WaitWritable(), net.ErrClosed)
	}
	if p, ok := a.(toe.Pender); ok {
		_, err = p.Pending()
		wantErr(t, "Pending", err, net.ErrClosed)
	}
	wantErr(t, "CloseWrite", a.CloseWrite(), net.ErrClosed)
}

func testCloseWakesReaders(t *testing.T, a, b toe.Stream) {
	readable := inBackground(a.Readable)
	segment := inBackground(func() error {
		_, _, err := b.ReadSegment(make([]byte, 8))
		return err
	})
	a.Close()
	wantErr(t, "Readable during Close", readable(), net.ErrClosed)
	// At the other side it is the peer's close.
	wantErr(t, "ReadSegment during the peer's Close", segment(), io.EOF)
}

func testCloseWakesWriters(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error { return a.WriteBatch(overfill()) })
	if err := b.Readable(); err != nil { // the write has begun
		t.Errorf("Readable() = %v", err)
	}
	a.Close()
	wantErr(t, "WriteBatch during Close", write(), net.ErrClosed)
}
