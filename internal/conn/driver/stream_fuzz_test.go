package driver

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"runtime"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A dialog is a Stream that delivers one FPDU in each read. Between the reads it also acts as the
// program: it begins Reads of the inbox, which wait or do not wait.
type dialog struct {
	script
	p      *Driver
	frames [][]byte
	calls  []byte // lengths of the Reads in units of 4 bytes; 0 for no Read
	want   []byte // memory of the waiting Read
	got    []byte
}

func (d *dialog) ReadSegment(l toe.Lender, _ time.Duration) (n int, off uint64, err error) {
	l.TakeBack()
	p := l.Lend()
	d.settle()
	if len(d.frames) == 0 {
		return 0, d.off, io.EOF
	}
	d.look()
	n, off = copy(p, d.frames[0]), d.off
	d.off += uint64(n)
	if d.frames[0] = d.frames[0][n:]; len(d.frames[0]) == 0 {
		d.frames = d.frames[1:]
	}
	return n, off, nil
}

// settle ends the waiting Read.
func (d *dialog) settle() {
	if d.want == nil {
		return
	}
	if r := d.p.in.leave(); r.ok {
		d.got = append(d.got, d.want[:r.n]...)
	}
	d.want = nil
}

// look begins the next Read.
func (d *dialog) look() {
	if len(d.calls) == 0 {
		return
	}
	n := int(d.calls[0])
	d.calls = d.calls[1:]
	if n > 0 {
		d.want = make([]byte, 4*n)
		if d.take(d.want) != waits {
			d.want = nil
		}
	}
}

// take begins a Read. Unless the Read waits, it has read what the inbox held.
func (d *dialog) take(p []byte) outcome {
	found, t := d.p.in.begin(p, nil)
	d.p.roomFor(t.freed, t.back)
	d.got = append(d.got, p[:t.n]...)
	return found
}

// FuzzByteStream feeds the receiving half with messages, each after its length, and each in an FPDU
// of its own or in two. The program must read exactly what the peer has sent before the first
// message that breaks the rules, and a credit must account for each message.
func FuzzByteStream(f *testing.F) {
	seed := func(messages ...string) []byte {
		var b []byte
		for _, m := range messages {
			b = append(append(b, byte(len(m)>>8), byte(len(m))), m...)
		}
		return b
	}
	f.Add(seed("\x00\x00\x00\x00hello", "\x00\x00\x00\x00", "\x00\x01\x00\x00world"), []byte{9, 1, 9})
	f.Add(seed("\x00\x01\x00\x00hello", "\x00\x00\x00\x00late"), []byte{0, 0})
	f.Add(seed("\x00\x00\x00\x05", "\x07\x00\x00\x00"), []byte{})
	f.Add(seed("\x00\x00\x00\x00hello", "\x00\x01\x00\x00"), []byte{9, 9})
	f.Add(seed("\x00\x00\x00", "\x00\x00\x00\x00x"), []byte{})
	many := make([]string, 12)
	for i := range many {
		many[i] = "\x00\x00\x00\x00" + string(bytes.Repeat([]byte{byte(i)}, 400))
	}
	f.Add(seed(many...), []byte{0, 0, 0, 0, 255, 0, 255, 3, 3, 3})
	f.Add(seed(many...), []byte{})
	f.Fuzz(func(t *testing.T, in, calls []byte) {
		const window, size, granted = 4, 512, 32
		var messages [][]byte
		for len(in) > 2 {
			n := min(int(binary.BigEndian.Uint16(in)%700), len(in)-2)
			m := bytes.Clone(in[2 : 2+n])
			if n > 0 && bytestream.Kind(m[0]) != bytestream.Data && bytestream.Kind(m[0]) <= bytestream.Cancel {
				m[0] += byte(bytestream.Cancel) // large Writes have a test of their own
			}
			messages = append(messages, m)
			in = in[2+n:]
		}
		d := &dialog{frames: inFPDUs(messages), calls: calls}
		qp := rdmap.NewQP(rdmap.Config{Domain: new(ddp.Domain), QPNum: 1, RecvDepth: window + bytestream.ExtraBuffers})
		p := New(Config{
			Stream: d, QP: qp, Start: rdmap.StartParams{Extensions: true}, Agreement: mpa.Agreement{CRC: true}, CloseTimeout: pairCloseTimeout,
			Receive: &ReceiveConfig{Depth: window, Size: size, Stream: &StreamConfig{
				Window: newWindow(window), Credits: granted, MaxMessage: size,
			}},
		})
		d.p = p
		p.Receive()
		for buf := make([]byte, 1000); d.take(buf) == took; {
		}
		// A goroutine sends the batches that were too many for one turn.
		for !p.tx.token.isFree() || p.tx.wanted() {
			runtime.Gosched()
		}
		inOrder, fin, sound := judge(messages, size)
		if !bytes.HasPrefix(inOrder, d.got) {
			t.Errorf("read %x, want the beginning of %x", d.got, inOrder)
		}
		why := p.end.life.why()
		var segment *ddp.Error
		switch {
		case why == io.EOF && !sound:
			t.Error("messages that break the rules were taken")
		case why == io.EOF && !bytes.Equal(d.got, inOrder):
			t.Errorf("read %d octets, want %d", len(d.got), len(inOrder))
		case why == io.EOF && hasEnded(p.in) != fin:
			t.Errorf("the end of the stream: %t, want %t", hasEnded(p.in), fin)
		case why != io.EOF && !errors.Is(why, bytestream.ErrStream) && (!errors.As(why, &segment) || segment.Code == ddp.CodeULP):
			t.Errorf("it ended with %v", why)
		case why == io.EOF:
			p.bytes.mu.Lock()
			n := p.bytes.tx.Owed() + announced(t, d.out.Bytes())
			p.bytes.mu.Unlock()
			want := 0
			for _, m := range messages {
				if len(m) > bytestream.HeaderLen || m[1]&flagFIN == 0 { // FIN without data uses no credit
					want++
				}
			}
			if n != want {
				t.Errorf("%d messages that use a credit, %d credits", want, n)
			}
		}
		p.Close()
		checkOutput(t, d.out.Bytes())
	})
}

// hasEnded reports whether the end of the stream has arrived.
func hasEnded(in *lockedDelivery) bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.delivery.unread.HasEnded()
}

// newWindow returns a window of n messages that takes nothing from the budget.
func newWindow(n int) Window {
	return Window{bytestream.Window{Now: n, Most: n, Least: n, Unit: 1}}
}

// flagFIN is the flag of the header that says that no data follows the message.
const flagFIN = 1

// inFPDUs makes one FPDU of each message with an even index, and two FPDUs of the others.
func inFPDUs(messages [][]byte) (frames [][]byte) {
	tx, b := mpa.NewSender(mpa.Agreement{CRC: true}), mpa.NewBatch(512<<10)
	for i, m := range messages {
		cut := len(m)
		if i%2 == 1 {
			cut /= 2
		}
		for mo := 0; ; {
			h := ddp.UntaggedHeader{Last: cut == len(m), RsvdULP: rdmap.Control(rdmap.OpSend), QN: ddp.QNSend, MSN: uint32(i + 1), MO: uint32(mo)}
			tx.Append(b, true, append(h.AppendTo(nil), m[mo:cut]...))
			frames = append(frames, bytes.Join(b.Bufs(), nil))
			b.Reset()
			if cut == len(m) {
				break
			}
			mo, cut = cut, len(m)
		}
	}
	return frames
}

// judge returns the data of the messages before the first message that breaks the rules, and
// whether the end of the stream is among these messages. All of them are accepted. We send nothing
// to this peer, so it has no credits to give back.
func judge(messages [][]byte, size int) (data []byte, fin, sound bool) {
	for _, m := range messages {
		if len(m) < bytestream.HeaderLen || len(m) > size {
			return data, fin, false
		}
		// A message that is not data is not for Read.
		if m[0] != byte(bytestream.Data) || m[1]&^flagFIN != 0 || fin && len(m) > bytestream.HeaderLen {
			return data, fin, false
		}
		data = append(data, m[bytestream.HeaderLen:]...)
		fin = fin || m[1]&flagFIN != 0
	}
	return data, fin, true
}

// announced returns the sum of the credits in the messages that were sent.
func announced(t *testing.T, out []byte) (n int) {
	rx := mpa.NewReceiver(mpa.Agreement{CRC: true})
	rx.SetBuffer(make([]byte, 1<<20))
	rx.Fill(0, copy(rx.Free(), out))
	for rx.Next() {
		h, payload, err := ddp.ParseUntagged(rx.ULPDU().Data)
		if err != nil || h.QN != ddp.QNSend || len(payload) != bytestream.HeaderLen {
			t.Errorf("sent %x, %v", payload, err)
			continue
		}
		n += int(binary.BigEndian.Uint16(payload[2:]))
	}
	return n
}
