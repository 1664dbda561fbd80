package toetest

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe"
)

// transferSize is large enough to fill every buffer on the way many times, or at least most of
// them.
func transferSize() int { return testmode.Rounds(16<<20, 4<<20) }

// past is a deadline that ends waits at once.
var past = time.Unix(1, 0)

// Transfer sends size bytes from a to b in batches of many shapes, closes a's direction if it can,
// and checks every byte and offset that b reads. Early runs must agree with the bytes in order.
// seed determines the bytes and the shapes. If Transfer fails, the deadlines of a and b have
// passed.
func Transfer(a, b toe.Stream, size int, seed uint64) error {
	return transfer(a, b, size, seed, new(atomic.Uint64))
}

// transfer is Transfer. It adds to moved the bytes that are written and those that are read.
func transfer(a, b toe.Stream, size int, seed uint64, moved *atomic.Uint64) error {
	data := randomBytes(size, byte(seed))
	sent := inBackground(func() error {
		err := send(a, data, seed, moved)
		if err != nil {
			b.SetReadDeadline(past)
		}
		return err
	})
	received := receive(b, data, moved)
	if received != nil {
		a.SetWriteDeadline(past)
	}
	if err := errors.Join(sent(), received); err != nil {
		return err
	}
	if !a.Capabilities().HalfClose {
		return nil
	}
	if err := a.CloseWrite(); err != nil {
		return fmt.Errorf("CloseWrite: %w", err)
	}
	if n, err := readInOrder(b, make([]byte, 1), uint64(size)); err != io.EOF {
		return fmt.Errorf("read behind the end = %d, %v, want io.EOF", n, err)
	}
	return nil
}

// send writes data in batches of small, large and empty slices, and sometimes with Write.
func send(s toe.Stream, data []byte, seed uint64, moved *atomic.Uint64) error {
	random := rand.New(rand.NewPCG(seed, 0))
	var bufs [][]byte
	for len(data) > 0 {
		bufs = bufs[:0]
		rest := data
		for range random.IntN(64) {
			n := min(random.IntN(1<<random.IntN(18)), len(rest))
			bufs = append(bufs, rest[:n])
			rest = rest[n:]
		}
		if random.IntN(8) == 0 {
			if n, err := s.Write(data[:len(data)-len(rest)]); err != nil {
				return fmt.Errorf("write of %d bytes: %w", n, err)
			}
			moved.Add(uint64(len(data) - len(rest)))
			data = rest
			continue
		}
		n, err := s.TryWriteBatch(bufs)
		if err != nil {
			return fmt.Errorf("write without waiting: %w", err)
		}
		data = data[n:]
		moved.Add(uint64(n))
		if n < total(bufs) {
			if err := s.WaitWritable(); err != nil {
				return fmt.Errorf("waiting for room: %w", err)
			}
		}
	}
	return nil
}

// period is the number of bytes after which randomBytes repeats. It is a prime number, and no
// buffer or batch has this length.
const period = 1_000_003

// randomBytes returns n bytes.
func randomBytes(n int, seed byte) []byte {
	piece := make([]byte, min(n, period))
	rand.NewChaCha8([32]byte{seed}).Read(piece)
	b := make([]byte, 0, n)
	for len(b) < n {
		b = append(b, piece[:min(n-len(b), period)]...)
	}
	return b
}

// receive reads as many bytes as want has and compares them with want.
func receive(s toe.Stream, want []byte, moved *atomic.Uint64) error {
	p := make([]byte, 64<<10)
	for in := 0; in < len(want); {
		n, off, err := ReadSegment(s, p)
		switch {
		case err != nil:
			return fmt.Errorf("reading at offset %d: %w", in, err)
		case n == 0:
			return fmt.Errorf("read at offset %d gave nothing", in)
		case off < uint64(in), off+uint64(n) > uint64(len(want)), off > uint64(in) && !s.Capabilities().EarlyRuns:
			return fmt.Errorf("read at offset %d gave %d bytes at %d of %d", in, n, off, len(want))
		case !bytes.Equal(p[:n], want[off:][:n]):
			return fmt.Errorf("read at offset %d gave %d wrong bytes at %d", in, n, off)
		}
		if off == uint64(in) {
			in += n
			moved.Add(uint64(n))
		}
	}
	return nil
}

// watched returns a counter of bytes that move between a and b. If the counter stops changing, the
// test fails, and a and b are aborted.
func watched(t *testing.T, a, b toe.Stream) (moved *atomic.Uint64) {
	t.Helper()
	moved = new(atomic.Uint64)
	prototest.Watch(t, moved.Load, func() {
		for _, s := range []toe.Stream{a, b} {
			go s.Abort() // the lock that it needs may be what the test waits for
		}
	})
	return moved
}

func testTransfer(t *testing.T, a, b toe.Stream) {
	if err := transfer(a, b, transferSize(), 1, watched(t, a, b)); err != nil {
		t.Error(err)
	}
}

func testTransferBothWays(t *testing.T, a, b toe.Stream) {
	moved := watched(t, a, b)
	back := inBackground(func() error { return transfer(b, a, transferSize()/4, 2, moved) })
	if err := transfer(a, b, transferSize()/4, 3, moved); err != nil {
		t.Error(err)
	}
	if err := back(); err != nil {
		t.Error("way back:", err)
	}
}

func testEmptyBuffers(t *testing.T, a, b toe.Stream) {
	write := inBackground(func() error {
		for _, bufs := range [][][]byte{
			nil,
			{nil, {}},
			{{}, []byte("he"), {}, nil, []byte("llo")},
			{[]byte(", "), {}},
			{{}},
			{[]byte("world")},
		} {
			if err := WriteBatch(a, bufs); err != nil {
				return err
			}
		}
		return nil
	})
	if got := readString(t, b, 0, 12); got != "hello, world" {
		t.Errorf("read %q, want %q", got, "hello, world")
	}
	wantErr(t, "WriteBatch", write(), nil)
}

// testManyBuffers writes more slices than one system call takes.
func testManyBuffers(t *testing.T, a, b toe.Stream) {
	const many = 5000
	var bufs [][]byte
	var want []byte
	for i := range many {
		p := bytes.Repeat([]byte{byte(i)}, i%23)
		bufs, want = append(bufs, p), append(want, p...)
	}
	write := inBackground(func() error { return WriteBatch(a, bufs) })
	if got := readString(t, b, 0, len(want)); got != string(want) {
		t.Errorf("%d slices in a batch did not come in order", many)
	}
	wantErr(t, "WriteBatch", write(), nil)
}

// testBatchKeepsOctets checks that WriteBatch does not change the bytes, and does not use them
// after it returns.
func testBatchKeepsOctets(t *testing.T, a, b toe.Stream) {
	const rounds = 50
	write := inBackground(func() error {
		p := make([]byte, 3000)
		for i := range rounds {
			for j := range p {
				p[j] = byte(i)
			}
			if err := WriteBatch(a, [][]byte{p[:1000], p[1000:2000], p[2000:]}); err != nil {
				return err
			}
			if !bytes.Equal(p, bytes.Repeat([]byte{byte(i)}, len(p))) {
				return errors.New("changed the bytes")
			}
		}
		return nil
	})
	for i := range rounds {
		want := string(bytes.Repeat([]byte{byte(i)}, 3000))
		if got := readString(t, b, uint64(i)*3000, 3000); got != want {
			t.Fatalf("round %d: bytes were changed after WriteBatch returned", i)
		}
	}
	wantErr(t, "WriteBatch", write(), nil)
}

// testTryWriteBatch fills the send buffer without a reader, in pieces of uneven length, and then
// checks what arrives.
func testTryWriteBatch(t *testing.T, a, b toe.Stream) {
	piece := randomBytes(30_011, 4)
	bufs := make([][]byte, 1100)
	for i := range bufs {
		bufs[i] = piece
	}
	taken := 0
	for {
		n, err := a.TryWriteBatch(bufs)
		if err != nil {
			t.Fatalf("TryWriteBatch = %d, %v", n, err)
		}
		for i := range bufs {
			if len(bufs[i]) != len(piece) {
				t.Fatalf("TryWriteBatch changed slice %d of the batch", i)
			}
		}
		taken += n
		if n < total(bufs) {
			break
		}
		if taken > tooMuch {
			t.Fatalf("TryWriteBatch took %d bytes without a reader", taken)
		}
	}
	// All bytes of the whole batches must arrive, and the first bytes of the last batch.
	batch := bytes.Repeat(piece, len(bufs))
	for in := 0; in < taken; {
		want := batch[in%len(batch):]
		p := make([]byte, min(64<<10, taken-in, len(want)))
		n, err := readInOrder(b, p, uint64(in))
		if err != nil {
			t.Fatalf("ReadSegment at offset %d = %v", in, err)
		}
		if !bytes.Equal(p[:n], want[:n]) {
			t.Fatalf("wrong bytes at offset %d of %d", in, taken)
		}
		in += n
	}
}

// testTryWriteBatchDeadline checks that TryWriteBatch ignores the deadline, because it does not
// wait.
func testTryWriteBatchDeadline(t *testing.T, a, b toe.Stream) {
	a.SetWriteDeadline(past)
	if n, err := a.TryWriteBatch([][]byte{[]byte("la"), []byte("te")}); n != 4 || err != nil {
		t.Errorf("TryWriteBatch behind the deadline = %d, %v, want 4, nil", n, err)
	}
	if got := readString(t, b, 0, 4); got != "late" {
		t.Errorf("read %q, want %q", got, "late")
	}
}

// testTryWriteBatchThenWrite calls Write after a TryWriteBatch that wrote a part, and checks that
// the bytes are in order.
func testTryWriteBatchThenWrite(t *testing.T, a, b toe.Stream) {
	half := testmode.Rounds(12<<20, 4<<20)
	data := randomBytes(2*half, 5)
	write := inBackground(func() error {
		n, err := a.TryWriteBatch([][]byte{data[:half], data[half:]})
		if err != nil {
			return err
		}
		_, err = a.Write(data[n:])
		return err
	})
	if err := receive(b, data, new(atomic.Uint64)); err != nil {
		t.Error(err)
	}
	wantErr(t, "write", write(), nil)
}

// testWaitWritable fills the send buffer without a reader, until WaitWritable would wait forever,
// and then lets the peer read.
func testWaitWritable(t *testing.T, a, b toe.Stream) {
	if err := a.WaitWritable(); err != nil {
		t.Fatalf("WaitWritable of a new stream = %v", err)
	}
	bufs := overfill()[:16]
	taken := 0
	for {
		n, err := a.TryWriteBatch(bufs)
		if err != nil {
			t.Fatalf("TryWriteBatch = %d, %v", n, err)
		}
		if taken += n; taken > tooMuch {
			t.Fatalf("TryWriteBatch took %d bytes without a reader", taken)
		}
		a.SetWriteDeadline(time.Now().Add(soon))
		if err := a.WaitWritable(); errors.Is(err, os.ErrDeadlineExceeded) {
			break
		} else if err != nil {
			t.Fatalf("WaitWritable = %v", err)
		}
	}
	wantErr(t, "WaitWritable behind the deadline", a.WaitWritable(), os.ErrDeadlineExceeded)

	a.SetWriteDeadline(prototest.Deadline(t))
	wait := inBackground(a.WaitWritable)
	p := make([]byte, 64<<10)
	for in := 0; in < taken; {
		n, err := readInOrder(b, p[:min(len(p), taken-in)], uint64(in))
		if err != nil {
			t.Fatalf("ReadSegment at offset %d = %v", in, err)
		}
		in += n
	}
	wantErr(t, "WaitWritable", wait(), nil)
	if n, err := a.TryWriteBatch([][]byte{{}, {1}}); n != 1 || err != nil {
		t.Errorf("TryWriteBatch behind WaitWritable = %d, %v, want 1, nil", n, err)
	}
	a.SetWriteDeadline(past)
	wantErr(t, "WaitWritable with room, behind the deadline", a.WaitWritable(), os.ErrDeadlineExceeded)
}

// transmit writes whenever there is room, until a call fails. It returns when the peer has read
// something.
func transmit(t *testing.T, a, peer toe.Stream) (wait func() error) {
	bufs := overfill()[:16]
	wait = inBackground(func() error {
		for {
			if _, err := a.TryWriteBatch(bufs); err != nil {
				return err
			}
			if err := a.WaitWritable(); err != nil {
				return err
			}
		}
	})
	if _, _, err := ReadSegment(peer, make([]byte, 1)); err != nil {
		t.Errorf("ReadSegment = %v", err)
	}
	return wait
}

// testWaitWritableEnds checks that a moved deadline, and Close, end the wait for room.
func testWaitWritableEnds(t *testing.T, a, b toe.Stream) {
	ends := transmit(t, a, b)
	a.SetWriteDeadline(time.Now().Add(soon))
	wantErr(t, "a transmitter whose deadline is moved", ends(), os.ErrDeadlineExceeded)

	a.SetWriteDeadline(prototest.Deadline(t))
	ends = transmit(t, a, b)
	a.Close()
	wantErr(t, "a transmitter during Close", ends(), net.ErrClosed)
}

// testWaitWritablePeerCloses checks that the peer's Close ends the wait for room.
func testWaitWritablePeerCloses(t *testing.T, a, b toe.Stream) {
	ends := transmit(t, a, b)
	b.Close()
	if err := ends(); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("a transmitter during the peer's Close = %v, want an error of the connection", err)
	}
}

// testWaitWritableCloseWrite checks that CloseWrite ends the wait for room, and that nobody waits
// after it.
func testWaitWritableCloseWrite(t *testing.T, a, b toe.Stream) {
	if !a.Capabilities().HalfClose {
		return
	}
	ends := transmit(t, a, b)
	wantErr(t, "CloseWrite", a.CloseWrite(), nil)
	wantErr(t, "a transmitter during CloseWrite", ends(), syscall.EPIPE)
	if err := a.WaitWritable(); err != nil && !errors.Is(err, syscall.EPIPE) {
		t.Errorf("WaitWritable after CloseWrite = %v", err)
	}
}

// testFlush checks that everything written before Close has left when Flush returns. If the bytes
// cannot leave, Flush must not return before its timeout.
func testFlush(t *testing.T, a, b toe.Stream) {
	data := randomBytes(100_000, 6)
	received := inBackground(func() error { return receive(b, data, new(atomic.Uint64)) })
	wantErr(t, "WriteBatch", WriteBatch(a, [][]byte{data}), nil)
	wantErr(t, "Close", a.Close(), nil)
	wantErr(t, "Flush", a.Flush(prototest.Patience(t)), nil)
	wantErr(t, "receive", received(), nil)
	if _, err := readInOrder(b, make([]byte, 1), uint64(len(data))); err != io.EOF {
		t.Errorf("ReadSegment at the end = %v, want io.EOF", err)
	}
}
