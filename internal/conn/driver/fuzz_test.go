package driver

import (
	"bytes"
	"encoding/binary"
	"io"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A script is a Stream that delivers fixed bytes and accepts everything that is written.
type script struct {
	toe.NoWatch
	net.Conn // nil, because nothing calls its methods
	in       []byte
	off      uint64
	out      bytes.Buffer
}

// ReadSegment takes the buffer back and lends it again, like a stream that waits before each read.
func (s *script) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	l.TakeBack()
	return s.give(l.Lend())
}

func (s *script) give(p []byte) (n int, off uint64, err error) {
	if len(s.in) == 0 {
		return 0, s.off, io.EOF
	}
	n, off = copy(p, s.in), s.off
	s.in, s.off = s.in[n:], s.off+uint64(n)
	return n, off, nil
}

func (s *script) TryWriteBatch(bufs [][]byte) (n int, err error) {
	for _, b := range bufs {
		n += len(b)
		s.out.Write(b)
	}
	return n, nil
}
func (s *script) WaitWritable() error       { return nil }
func (s *script) Pending() (int, error)     { return len(s.in), nil }
func (s *script) Flush(time.Duration) error { return nil }
func (s *script) Abort() error              { return nil }
func (s *script) Capabilities() toe.Capabilities {
	return toe.Capabilities{Deadlines: true, HalfClose: true, Pending: true}
}
func (s *script) CloseWrite() error                 { return nil }
func (s *script) EMSS() int                         { return 1448 }
func (s *script) SetReadDeadline(t time.Time) error { return nil }
func (s *script) Close() error                      { return nil }

// sameKeys is a random source with a fixed output: every Domain gives its first Region the same
// STag and TO, so that the fuzzer can learn them.
type sameKeys struct{}

func (sameKeys) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(i%12) + 1 // the key of one Region takes 12 bytes
	}
	return len(p), nil
}

// FuzzReceive feeds a whole connection with what a peer may send. The input is ULPDUs, each after
// its length. They go out as FPDUs with good CRCs. If raw is set, the input is the stream itself.
// For every input, nothing panics, no byte outside the Region changes, and every posted request
// completes. The output is whole FPDUs, and only the last of them may be a Terminate.
//
// SEC-5042-6.4-1
func FuzzReceive(f *testing.F) {
	r, err := (&ddp.Domain{Random: sameKeys{}}).Register(make([]byte, 64), ddp.RemoteWrite, 1)
	if err != nil {
		f.Fatal(err)
	}
	h := ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite), STag: r.STag(), TO: r.TO()}
	u := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpSend), MSN: 1}
	read := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, MSN: 1}
	for _, ulpdu := range [][]byte{
		append(h.AppendTo(nil), "octets"...), append(u.AppendTo(nil), "octets"...),
		rdmap.ReadRequest{SinkSTag: 1, Size: 8, SourceSTag: h.STag, SourceTO: h.TO}.AppendTo(read.AppendTo(nil)),
	} {
		f.Add(append(binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu))), ulpdu...), false, false)
		f.Add(append(binary.BigEndian.AppendUint16(nil, uint16(len(ulpdu))), ulpdu...), true, true)
	}
	f.Fuzz(func(t *testing.T, in []byte, raw, markers bool) {
		s := &script{in: in}
		if !raw {
			s.in = frame(in, markers)
		}
		const guard, size = 32, 64
		memory := bytes.Repeat([]byte{0xaa}, guard+size+guard)
		domain := &ddp.Domain{Random: sameKeys{}}
		if _, err := domain.Register(memory[guard:][:size:size], ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic, 1); err != nil {
			t.Fatal(err)
		}
		const posted = 3
		cq := rdmap.NewCompletionQueue(posted)
		qp := rdmap.NewQP(rdmap.Config{Domain: domain, QPNum: 1, IRD: 2, ORD: 2, RecvCQ: cq})
		for range posted {
			if err := qp.PostRecv(rdmap.RecvRequest{Buf: make([]byte, 40)}); err != nil {
				t.Fatal(err)
			}
		}
		p := New(Config{Stream: s, QP: qp, Start: rdmap.StartParams{IRD: 2, ORD: 2, Extensions: true}, Agreement: mpa.Agreement{CRC: true, RxMarkers: markers}, CloseTimeout: pairCloseTimeout})
		p.Receive()
		p.Close()
		if !bytes.Equal(memory[:guard], bytes.Repeat([]byte{0xaa}, guard)) ||
			!bytes.Equal(memory[guard+size:], bytes.Repeat([]byte{0xaa}, guard)) {
			t.Error("octets outside the Region have changed")
		}
		if n := cq.Len(); n != posted {
			t.Errorf("%d of %d receives have completed", n, posted)
		}
		checkOutput(t, s.out.Bytes())
	})
}

// frame makes FPDUs of the ULPDUs in in, each of which follows its length.
func frame(in []byte, markers bool) []byte {
	var out []byte
	tx, b := mpa.NewSender(mpa.Agreement{CRC: true, TxMarkers: markers}), mpa.NewBatch(512<<10)
	for len(in) > 2 {
		n := min(int(binary.BigEndian.Uint16(in)), len(in)-2, mpa.MaxULPDU)
		if n > 0 {
			tx.Append(b, true, in[2:2+n])
			out = append(out, bytes.Join(b.Bufs(), nil)...)
			b.Reset()
		}
		in = in[2+n:]
	}
	return out
}

// checkOutput checks that the output is whole, good FPDUs, and that nothing follows a Terminate.
func checkOutput(t *testing.T, out []byte) {
	rx := mpa.NewReceiver(mpa.Agreement{CRC: true})
	rx.SetBuffer(make([]byte, 1<<20))
	terminated := false
	for off := 0; off < len(out); {
		n := copy(rx.Free(), out[off:])
		rx.Fill(uint64(off), n)
		off += n
		for rx.Next() {
			if terminated {
				t.Error("an FPDU behind the Terminate")
			}
			h, _, err := ddp.ParseUntagged(rx.ULPDU().Data)
			terminated = err == nil && h.QN == ddp.QNTerminate
		}
	}
	if err := rx.Err(); err != nil || rx.Edge() != uint64(len(out)) {
		t.Errorf("what was sent back is not whole FPDUs: %d of %d octets, %v", rx.Edge(), len(out), err)
	}
}
