package ddp

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"testing"
)

// TestReceiverInterleaves interleaves the segments of messages of different kinds.
func TestReceiverInterleaves(t *testing.T) {
	p := newPair(t)
	mem := make([]byte, 64)
	r := p.register(mem, RemoteWrite)
	send0, send1 := p.post(0, 100, 10), p.post(1, 100, 11)
	w := write(r, 8, []byte("tagged payload"))
	m0 := Message{QN: 0, RsvdULP: 3, RsvdULP32: 0xAABBCCDD, Payload: [][]byte{[]byte("queue zero")}, Len: 10}
	m1 := Message{QN: 1, RsvdULP: 1, Payload: [][]byte{[]byte("queue one.")}, Len: 10}
	ws, s0, s1 := cut(&p.s, &w, 19), cut(&p.s, &m0, 23), cut(&p.s, &m1, 23)
	p.place(ws[0])
	p.place(s0[0])
	p.place(ws[1])
	p.place(s1[0])
	p.wantIdle("nothing is whole")
	p.place(s1[1])
	if m := p.wantMessage("queue 1"); m.QN != 1 || string(m.Buffer) != "queue one." || m.ID != 11 || &m.Buffer[0] != &send1.mem[0] {
		t.Errorf("message %+v", m)
	}
	p.place(ws[2])
	if m := p.wantMessage("tagged"); !m.Tagged || m.Len != 14 || !m.Contiguous || m.STag != r.STag() || m.TO != r.TO()+8 {
		t.Errorf("message %+v", m)
	}
	p.place(s0[1])
	m := p.wantMessage("queue 0")
	if string(m.Buffer) != "queue zero" || m.ID != 10 || m.RsvdULP32 != 0xAABBCCDD || m.Tagged || &m.Buffer[0] != &send0.mem[0] {
		t.Errorf("message %+v", m)
	}
	p.wantIdle("all is delivered")
	if got := string(mem[8:22]); got != "tagged payload" {
		t.Errorf("memory = %q", got)
	}
}

// TestReceiverUnfinished: Unfinished returns true while a message of any queue, or a tagged one,
// has begun and its last segment has not arrived.
func TestReceiverUnfinished(t *testing.T) {
	p := newPair(t)
	r := p.register(make([]byte, 64), RemoteWrite)
	p.post(0, 100, 10)
	p.post(1, 100, 11)
	w := write(r, 8, []byte("tagged payload"))
	m0 := Message{QN: 0, Payload: [][]byte{[]byte("queue zero")}, Len: 10}
	m1 := Message{QN: 1, Payload: [][]byte{[]byte("queue one.")}, Len: 10}
	for _, m := range []*Message{&w, &m0, &m1} {
		segments := cut(&p.s, m, 23)
		for i, s := range segments {
			p.place(s)
			p.r.Deliver(p.off)
			if got, want := p.r.Unfinished(), i+1 < len(segments); got != want {
				t.Errorf("after segment %d of %d: Unfinished = %t", i+1, len(segments), got)
			}
		}
	}
}

func TestReceiverContiguous(t *testing.T) {
	p := newPair(t)
	r1, r2 := p.register(make([]byte, 100), RemoteWrite), p.register(make([]byte, 100), RemoteWrite)
	p.move(r2, r2.stag, r1.base)
	at := func(r *Region, off uint64, n int, last bool) []byte {
		return TaggedHeader{Last: last, STag: r.STag(), TO: r.TO() + off}.AppendTo(make([]byte, 0, 14+n))[:14+n]
	}
	bad := TaggedHeader{STag: 0xBAD, TO: math.MaxUint64}
	badLast := bad
	badLast.Last = true
	tests := []struct {
		desc     string
		segments [][]byte
		from     *Region
		off      uint64
		len      uint32
		want     bool
	}{
		{"one", [][]byte{at(r1, 5, 10, true)}, r1, 5, 10, true},
		{"in a row", [][]byte{at(r1, 5, 10, false), at(r1, 15, 1, false), at(r1, 16, 4, true)}, r1, 5, 15, true},
		{"a gap", [][]byte{at(r1, 5, 10, false), at(r1, 16, 4, true)}, r1, 5, 14, false},
		{"backwards", [][]byte{at(r1, 15, 10, false), at(r1, 5, 10, true)}, r1, 15, 20, false},
		{"another Region", [][]byte{at(r1, 5, 10, false), at(r2, 15, 4, true)}, r1, 5, 14, false},
		{"empty segments between", [][]byte{bad.AppendTo(nil), at(r1, 5, 10, false), bad.AppendTo(nil), at(r1, 15, 4, false), badLast.AppendTo(nil)}, r1, 5, 14, true},
		{"nothing", [][]byte{at(r1, 500, 0, true)}, r1, 500, 0, true},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			p.TB = t
			for _, s := range tt.segments {
				p.place(s)
			}
			if m := p.wantMessage("tagged"); m.Contiguous != tt.want || m.Len != tt.len || m.STag != tt.from.STag() || m.TO != tt.from.TO()+tt.off {
				t.Errorf("message %+v, want Contiguous %t, Len %d, TO %#x", m, tt.want, tt.len, tt.from.TO()+tt.off)
			}
		})
	}
}

// A tagged message may write to one place again and again, but not without end.
func TestReceiverTaggedMessageTooLong(t *testing.T) {
	p := newPair(t)
	g := newGuarded(8)
	r := p.register(g.mem, RemoteWrite)
	h := TaggedHeader{STag: r.STag(), TO: r.TO()}
	p.place(append(h.AppendTo(nil), 1, 2, 3, 4))
	p.r.tagged.Len = math.MaxUint32 - 4 // as if that much had arrived
	p.place(append(h.AppendTo(nil), 5, 6, 7, 8))
	p.wantIdle("2^32-1 octets")
	bad := append(h.AppendTo(nil), 9)
	p.place(bad)
	p.wantFailure(bad, CodeBounds)
	if !bytes.Equal(g.mem, []byte{5, 6, 7, 8, guard, guard, guard, guard}) || !g.intact() {
		t.Errorf("memory = %x", g.all)
	}
}

func TestReceiverRsvdULPChanges(t *testing.T) {
	p := newPair(t)
	r := p.register(make([]byte, 100), RemoteWrite)
	p.post(0, 100, 0)
	payload := make([]byte, 20)
	w, u := write(r, 0, payload), send(payload)
	for _, m := range []Message{w, u} {
		p := newPair(t)
		p.r.config.Stream, p.r.config.Queues = NewStream(r.domain, stream), [NumQueues]*Queue{NewQueue(1, 0)}
		p.queues = p.r.config.Queues
		g := p.post(0, 100, 0)
		segments := cut(&p.s, &m, 30)
		segments[1][1]++
		p.place(segments[0])
		p.place(segments[1])
		if p.r.Deliver(p.off) {
			t.Error("message delivered")
		}
		var e *Error
		if err := p.r.Err(); !errors.Is(err, errRsvdULPChanged) || !errors.As(err, &e) || e.Code != CodeULP {
			t.Fatalf("Err = %v, want errRsvdULPChanged in an Error with CodeULP", err)
		}
		if header, n := e.Header, e.SegmentLen; !bytes.Equal(header, segments[1][:headerLen(segments[1])]) || n != len(segments[1]) {
			t.Errorf("Segment = %x, %d", header, n)
		}
		if !m.Tagged && !untouched(g.mem[12:]) {
			t.Errorf("octets of the second segment placed: %x", g.mem)
		}
	}
}

// TestReceiverAdmit checks that the ULP decides about the control octet.
func TestReceiverAdmit(t *testing.T) {
	refused := errors.New("refused")
	var asked []string
	p := newPairWith(t, func(c *ReceiverConfig) {
		c.Queues[3] = nil
		c.Admit = func(tagged bool, rsvdULP uint8, qn QN) (Access, error) {
			asked = append(asked, fmt.Sprint(tagged, rsvdULP, qn))
			switch rsvdULP {
			case 0xEE:
				return 0, refused
			case 0x42:
				return ReadSink, nil
			}
			return RemoteWrite, nil
		}
	})
	g := newGuarded(8)
	sink := p.register(g.mem, ReadSink)
	tests := []struct {
		desc    string
		ulpdu   []byte
		code    Code // 0: no error
		refused bool
		asked   string
	}{
		{"Read Response to a sink", TaggedHeader{Last: true, RsvdULP: 0x42, STag: sink.STag(), TO: sink.TO()}.AppendTo(nil), 0, false, "true 66 0"},
		{"Write to a sink", TaggedHeader{Last: true, RsvdULP: 0x40, STag: sink.STag(), TO: sink.TO()}.AppendTo(nil), CodeInvalidSTag, false, "true 64 0"},
		{"refused, tagged", TaggedHeader{RsvdULP: 0xEE}.AppendTo(nil), 0, true, "true 238 0"},
		{"refused, untagged", UntaggedHeader{RsvdULP: 0xEE, QN: 1, MSN: 99}.AppendTo(nil), 0, true, "false 238 1"},
		{"refused, before the QN is looked at", UntaggedHeader{RsvdULP: 0xEE, QN: 7}.AppendTo(nil), 0, true, "false 238 7"},
		{"QN without a queue", UntaggedHeader{QN: 3, MSN: 1}.AppendTo(nil), CodeInvalidQN, false, "false 0 3"},
		{"version, before the ULP is asked", append([]byte{0x42, 0xEE}, make([]byte, 16)...), CodeUntaggedVersion, false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			p.TB, p.r = t, NewReceiver(p.r.config)
			asked = nil
			ulpdu := append(bytes.Clone(tt.ulpdu), 1)
			p.place(ulpdu)
			if tt.asked != "" && (len(asked) == 0 || asked[0] != tt.asked) || tt.asked == "" && asked != nil {
				t.Errorf("Admit asked with %q, want %q", asked, tt.asked)
			}
			switch {
			case tt.refused:
				p.r.Deliver(p.off)
				var e *Error
				if err := p.r.Err(); !errors.Is(err, refused) || !errors.As(err, &e) || e.Code != CodeULP || !bytes.Equal(e.Header, tt.ulpdu) || e.SegmentLen != len(ulpdu) {
					t.Errorf("Err = %v", err)
				}
			case tt.code != 0:
				p.wantFailure(ulpdu, tt.code)
			default:
				p.wantMessage("admitted")
			}
		})
	}
	if g.mem[0] != 1 || !untouched(g.mem[1:]) || !g.intact() {
		t.Errorf("memory = %x", g.all)
	}
}

// Immediate Data comes in the Message; the buffer that it uses up may be of any length.
func TestReceiverInMessage(t *testing.T) {
	p := newPairWith(t, func(c *ReceiverConfig) {
		c.InMessage = func(rsvdULP uint8, qn QN) bool { return rsvdULP == 0x48 && qn == QNSend }
	})
	data := []byte("8 octets")
	buffers := []guarded{p.post(0, 0, 1), p.post(0, 20, 2), p.post(0, 20, 3), p.post(0, 20, 4)}
	for i, n := range []int{8, 8, 3} {
		p.send(Message{RsvdULP: 0x48, Payload: [][]byte{data}, Len: uint32(n)}, 22)
		if m := p.wantMessage("in the message"); !bytes.Equal(m.Buffer, data[:n]) || m.ID != uint64(i+1) {
			t.Errorf("message %+v, want %q", m, data[:n])
		}
	}
	p.send(send([]byte("an ordinary Send")), 128)
	if m := p.wantMessage("Send"); string(m.Buffer) != "an ordinary Send" || m.ID != 4 || &m.Buffer[0] != &buffers[3].mem[0] {
		t.Errorf("message %+v", m)
	}
	for i, g := range buffers[:3] {
		if !untouched(g.all) {
			t.Errorf("octets placed in buffer %d", i+1)
		}
	}
	p.post(0, 20, 5)
	bad := UntaggedHeader{Last: true, RsvdULP: 0x48, MSN: 5}.AppendTo(nil)
	bad = append(bad, make([]byte, 9)...)
	p.place(bad)
	p.wantFailure(bad, CodeTooLong)
}

// TestReceiverForgetsBuffer: a delivered buffer is not kept for longer than the Message.
func TestReceiverForgetsBuffer(t *testing.T) {
	p := newPair(t)
	p.post(0, 100, 1)
	p.place(untagged(UntaggedHeader{Last: true, RsvdULP: 0x43, MSN: 1}, 10))
	if m := p.wantMessage("the only one"); len(m.Buffer) != 10 {
		t.Fatalf("buffer of %d octets, want 10", len(m.Buffer))
	}
	p.wantIdle("no other")
	for _, d := range p.r.ready.list {
		if d.message.Buffer != nil {
			t.Error("the buffer is still referred to")
		}
	}
}

// Any number of messages may wait for delivery, for any time.
func TestReceiverDeliversLater(t *testing.T) {
	rnd := seeded(t)
	p := newPair(t)
	r := p.register(make([]byte, 1), RemoteWrite)
	const each = 24 // octets of the stream for one message
	placed, delivered, backlog := 0, 0, 0
	for range 20000 {
		if rnd.IntN(2) == 0 {
			p.send(Message{Tagged: true, RsvdULP: uint8(placed), STag: r.STag(), TO: r.TO(), Payload: [][]byte{{1}}, Len: 1}, 128)
			placed++
			backlog = max(backlog, placed-delivered)
			continue
		}
		below := rnd.IntN(placed + 1) // messages below the edge
		for ; delivered < below; delivered++ {
			if !p.r.Deliver(uint64(below*each)) || p.r.Message().RsvdULP != uint8(delivered) {
				t.Fatalf("message %d of %d not delivered at edge %d", delivered, placed, below*each)
			}
		}
		if p.r.Deliver(uint64(below * each)) {
			t.Fatalf("message %d delivered before the edge, %d, came to it", delivered, below*each)
		}
	}
	if p.off != uint64(placed*each) || delivered == 0 || cap(p.r.ready.list) > 2*backlog+8 {
		t.Errorf("%d placed, %d delivered, at most %d in between; room for %d", placed, delivered, backlog, cap(p.r.ready.list))
	}
}

// The error, too, is reported at its place in the stream.
func TestReceiverErrorWaitsForEdge(t *testing.T) {
	p := newPair(t)
	p.post(0, 10, 1)
	p.send(send([]byte("good")), 128)
	edge := p.off
	bad := untagged(UntaggedHeader{Last: true, MSN: 1}, 1)
	p.place(bad)
	if p.r.Deliver(0) || p.r.Err() != nil {
		t.Errorf("at edge 0: delivered %+v, %v", p.r.Message(), p.r.Err())
	}
	if !p.r.Deliver(edge) || p.r.Deliver(edge) || p.r.Err() != nil {
		t.Errorf("below the bad segment: Err = %v, want one message", p.r.Err())
	}
	p.wantFailure(bad, CodeMSNRange)
}

// Offsets of 2^32-1 and so on do not wrap, whatever has been received.
// DDP-5041-7.1-9
func TestReceiverUntaggedMessageNear32Bits(t *testing.T) {
	p := newPair(t)
	g := p.post(0, 32, 1)
	p.place(untagged(UntaggedHeader{MSN: 1}, 0))
	p.r.untagged[0].Len = math.MaxUint32 - 1 // as if that much had arrived
	bad := untagged(UntaggedHeader{Last: true, MSN: 1, MO: math.MaxUint32 - 1}, 4)
	p.place(bad)
	p.wantFailure(bad, CodeTooLong)
	if !untouched(g.all) {
		t.Errorf("memory = %x", g.all)
	}
}

func TestReceiverWithNothing(t *testing.T) {
	for _, ulpdu := range [][]byte{
		append(TaggedHeader{Last: true, STag: 1}.AppendTo(nil), 1),
		UntaggedHeader{Last: true, MSN: 1}.AppendTo(nil),
	} {
		p := &pair{TB: t, r: NewReceiver(ReceiverConfig{})}
		p.place(ulpdu)
		if IsTagged(ulpdu) {
			p.wantFailure(ulpdu, CodeInvalidSTag)
		} else {
			p.wantFailure(ulpdu, CodeInvalidQN)
		}
		if r := NewReceiver(ReceiverConfig{}); r.TryPlace(0, ulpdu) {
			t.Errorf("TryPlace(%x) = true", ulpdu)
		}
	}
}
