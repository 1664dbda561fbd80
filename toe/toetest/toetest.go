// Package toetest checks that a toe.Stream keeps the contract. Every backend runs it in its tests:
//
//	func TestContract(t *testing.T) {
//		toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) { … })
//	}
//
// [ReadSegment] and [WriteBatch] are simple forms of the two calls of a Stream that tests need
// most.
package toetest

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
)

const (
	// soon is the time until a deadline that should pass.
	soon = 10 * time.Millisecond
	// tooMuch is more bytes than any stream buffers on the way to a peer that does not read.
	tooMuch = 256 << 20
)

// TestStream runs every check of the contract, each on a fresh connection. makePair returns the two
// sides of a connection, and TestStream closes them. A Stream may lack some capabilities, such as
// the half-close: a Stream that declares the capability must have it, and any other Stream must
// refuse the call as the contract says. A Stream without deadlines cannot be checked.
func TestStream(t *testing.T, makePair func(t *testing.T) (a, b toe.Stream)) {
	testStream(t, func(t *testing.T, f func(*testing.T)) { f(t) }, makePair)
}

// TestStreamInBubble is TestStream for Streams that work in a synctest bubble. Each check, and its
// makePair, runs in a bubble, so deadlines and delays take no real time.
func TestStreamInBubble(t *testing.T, makePair func(t *testing.T) (a, b toe.Stream)) {
	testStream(t, synctest.Test, makePair)
}

func testStream(t *testing.T, in func(*testing.T, func(*testing.T)), makePair func(t *testing.T) (a, b toe.Stream)) {
	for _, test := range []struct {
		name string
		run  func(t *testing.T, a, b toe.Stream)
	}{
		{"Capabilities", testCapabilities},
		{"Transfer", testTransfer},
		{"TransferBothWays", testTransferBothWays},
		{"OffsetsBeginAfterRead", testOffsetsBeginAfterRead},
		{"EmptyReadSegment", testEmptyReadSegment},
		{"PollSegment", testPollSegment},
		{"LendsLate", testLendsLate},
		{"LenderKeeps", testLenderKeeps},
		{"Patience", testPatience},
		{"EmptyBuffers", testEmptyBuffers},
		{"ManyBuffers", testManyBuffers},
		{"BatchKeepsOctets", testBatchKeepsOctets},
		{"ReadDeadline", testReadDeadline},
		{"WriteDeadline", testWriteDeadline},
		{"DeadlineMovedWhileWaiting", testDeadlineMovedWhileWaiting},
		{"HalfClose", testHalfClose},
		{"PeerCloses", testPeerCloses},
		{"PeerAborts", testPeerAborts},
		{"IdlePeerAborts", testIdlePeerAborts},
		{"CloseWakesReaders", testCloseWakesReaders},
		{"CloseWakesWriters", testCloseWakesWriters},
		{"Flush", testFlush},
		{"ClosedStream", testClosedStream},
		{"EMSS", testEMSS},
		{"TryWriteBatch", testTryWriteBatch},
		{"TryWriteBatchDeadline", testTryWriteBatchDeadline},
		{"TryWriteBatchThenWrite", testTryWriteBatchThenWrite},
		{"WaitWritable", testWaitWritable},
		{"WaitWritableEnds", testWaitWritableEnds},
		{"WaitWritablePeerCloses", testWaitWritablePeerCloses},
		{"WaitWritableCloseWrite", testWaitWritableCloseWrite},
		{"Pending", testPending},
		{"Watch", testWatch},
		{"WatchEnds", testWatchEnds},
		{"WatchPeerAborts", testWatchPeerAborts},
		{"WatchClosed", testWatchClosed},
		{"WatchReplaced", testWatchReplaced},
		{"WatchWhileReading", testWatchWhileReading},
		{"Addresses", testAddresses},
	} {
		t.Run(test.name, func(t *testing.T) {
			in(t, func(t *testing.T) {
				a, b := makePair(t)
				defer a.Close()
				defer b.Close()
				limit := prototest.Deadline(t)
				for _, s := range []toe.Stream{a, b} {
					if err := s.SetDeadline(limit); err != nil {
						t.Fatalf("SetDeadline = %v", err)
					}
				}
				test.run(t, a, b)
			})
		})
	}
}

// inBackground runs f in a goroutine. It returns a function that waits for f and returns its error.
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

// A memory is a Lender of fixed memory, which it never takes back.
type memory struct{ p []byte }

func (m *memory) Lend() []byte   { return m.p }
func (m *memory) TakeBack() bool { return true }

// Into returns a Lender that lends p, also while the Stream waits.
func Into(p []byte) toe.Lender { return &memory{p} }

// ReadSegment is s.ReadSegment into p, without patience.
func ReadSegment(s toe.Stream, p []byte) (n int, off uint64, err error) {
	return s.ReadSegment(Into(p), 0)
}

// WriteBatch writes all bytes of bufs in order, and waits while the send buffer is full. It does
// not change bufs.
func WriteBatch(s toe.Stream, bufs [][]byte) error {
	bufs = append([][]byte(nil), bufs...)
	for {
		n, err := s.TryWriteBatch(bufs)
		if err != nil {
			return err
		}
		for len(bufs) > 0 && n >= len(bufs[0]) {
			n -= len(bufs[0])
			bufs = bufs[1:]
		}
		if len(bufs) == 0 {
			return nil
		}
		bufs[0] = bufs[0][n:]
		if err := s.WaitWritable(); err != nil {
			return err
		}
	}
}

// readInOrder reads one run that is not early into p, and checks its offset.
func readInOrder(s toe.Stream, p []byte, want uint64) (int, error) {
	for {
		n, off, err := ReadSegment(s, p)
		switch {
		case err != nil && n != 0:
			return 0, errors.New("ReadSegment gave bytes and an error")
		case err == nil && n == 0 && len(p) > 0:
			return 0, errors.New("ReadSegment gave neither bytes nor an error")
		case off < want:
			return 0, errors.New("ReadSegment gave bytes again")
		case off == want:
			return n, err
		case !s.Capabilities().EarlyRuns:
			return 0, errors.New("ReadSegment gave a run early, which is not declared")
		case err != nil:
			return 0, errors.New("ReadSegment gave an error at an offset that is not in order")
		}
	}
}

// readString reads n bytes in order.
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

// overfill returns a batch of tooMuch bytes that needs little memory.
func overfill() [][]byte {
	piece := make([]byte, 1<<20)
	bufs := make([][]byte, tooMuch/len(piece))
	for i := range bufs {
		bufs[i] = piece
	}
	return bufs
}

// total returns the number of bytes in bufs.
func total(bufs [][]byte) int {
	n := 0
	for _, b := range bufs {
		n += len(b)
	}
	return n
}

func testEMSS(t *testing.T, a, b toe.Stream) {
	for _, s := range []toe.Stream{a, b} {
		for range 1000 { // more than any cache
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

func testCapabilities(t *testing.T, a, b toe.Stream) {
	for _, s := range []toe.Stream{a, b} {
		if !s.Capabilities().Deadlines {
			t.Fatal("a Stream without deadlines cannot be checked")
		}
		if x, y := s.Capabilities(), s.Capabilities(); x != y {
			t.Errorf("Capabilities() = %+v, then %+v, want the same", x, y)
		}
	}
	before := a.Capabilities()
	a.Close()
	if after := a.Capabilities(); after != before {
		t.Errorf("Capabilities() of a closed Stream = %+v, want %+v, as before", after, before)
	}
}

func testReadDeadline(t *testing.T, a, b toe.Stream) {
	for _, what := range []string{"with a deadline", "behind the deadline"} {
		if what == "with a deadline" {
			a.SetReadDeadline(time.Now().Add(soon))
		}
		n, off, err := ReadSegment(a, make([]byte, 8))
		wantErr(t, "ReadSegment "+what, err, os.ErrDeadlineExceeded)
		if n != 0 || off != 0 {
			t.Errorf("ReadSegment %s = %d bytes at %d, want 0 at 0", what, n, off)
		}
	}

	// A Lender that takes its memory back must get it back in this case too.
	a.SetReadDeadline(time.Now().Add(soon))
	l := &strict{t: t, size: 8}
	_, _, err := a.ReadSegment(l, 0)
	wantErr(t, "ReadSegment with a deadline", err, os.ErrDeadlineExceeded)

	// The stream is unharmed.
	a.SetReadDeadline(prototest.Deadline(t))
	write := inBackground(func() error { return WriteBatch(b, [][]byte{[]byte("later")}) })
	if got := readString(t, a, 0, 5); got != "later" {
		t.Errorf("read %q, want %q", got, "later")
	}
	wantErr(t, "WriteBatch", write(), nil)
}

func testWriteDeadline(t *testing.T, a, _ toe.Stream) {
	a.SetWriteDeadline(time.Now().Add(soon))
	wantErr(t, "WriteBatch with a deadline", WriteBatch(a, overfill()), os.ErrDeadlineExceeded)
	wantErr(t, "WaitWritable behind the deadline", a.WaitWritable(), os.ErrDeadlineExceeded)
	_, err := a.Write([]byte{1})
	wantErr(t, "Write behind the deadline", err, os.ErrDeadlineExceeded)
}

func testDeadlineMovedWhileWaiting(t *testing.T, a, _ toe.Stream) {
	read := inBackground(func() error { _, _, err := a.ReadSegment(&strict{t: t, size: 8}, 0); return err })
	write := inBackground(func() error { return WriteBatch(a, overfill()) })
	a.SetDeadline(time.Now().Add(soon))
	wantErr(t, "ReadSegment", read(), os.ErrDeadlineExceeded)
	wantErr(t, "WriteBatch", write(), os.ErrDeadlineExceeded)
}

// endings are the two ways to close a Stream.
var endings = []struct {
	name string
	end  func(toe.Stream) error
}{{"Close", toe.Stream.Close}, {"Abort", toe.Stream.Abort}}

func testClosedStream(t *testing.T, a, b toe.Stream) {
	for i, s := range []toe.Stream{a, b} {
		name, end := endings[i].name, endings[i].end
		if err := end(s); err != nil && s == a { // b may have failed already
			t.Errorf("%s() = %v", name, err)
		}
		for _, again := range endings {
			if err := again.end(s); err != nil && !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s() after %s = %v, want nil or net.ErrClosed", again.name, name, err)
			}
		}
		_, _, err := ReadSegment(s, make([]byte, 8))
		wantErr(t, "ReadSegment after "+name, err, net.ErrClosed)
		_, err = s.Read(make([]byte, 8))
		wantErr(t, "Read after "+name, err, net.ErrClosed)
		_, err = s.Write([]byte{1})
		wantErr(t, "Write after "+name, err, net.ErrClosed)
		_, err = s.TryWriteBatch([][]byte{{1}})
		wantErr(t, "TryWriteBatch after "+name, err, net.ErrClosed)
		wantErr(t, "WaitWritable after "+name, s.WaitWritable(), net.ErrClosed)
		_, err = s.Pending()
		wantErr(t, "Pending after "+name, err, net.ErrClosed)
		if s.Capabilities().HalfClose {
			wantErr(t, "CloseWrite after "+name, s.CloseWrite(), net.ErrClosed)
		}
		if err := s.Flush(prototest.Patience(t)); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Flush after %s = %v", name, err)
		}
	}
}

func testCloseWakesReaders(t *testing.T, a, b toe.Stream) {
	mine := inBackground(func() error { _, _, err := a.ReadSegment(&strict{t: t, size: 8}, 0); return err })
	peers := inBackground(func() error { _, _, err := ReadSegment(b, make([]byte, 8)); return err })
	a.Close()
	wantErr(t, "ReadSegment during Close", mine(), net.ErrClosed)
	// The other side sees the peer's close.
	wantErr(t, "ReadSegment during the peer's Close", peers(), io.EOF)
}

func testCloseWakesWriters(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error { return WriteBatch(a, overfill()) })
	readString(t, b, 0, 1) // the write has begun
	a.Close()
	wantErr(t, "WriteBatch during Close", write(), net.ErrClosed)
}
