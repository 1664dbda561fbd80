package ddp

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// Tests of RFC 5041 §1.2 and §5: segmentation, ordering, delivery.

// A message uses up one buffer, filled or not, and the next message goes to the next buffer.
// DDP-5041-1.2-2 DDP-5041-5.1.2-1
func TestRFC5041_1_2_OneBufferPerMessage(t *testing.T) {
	p := newPair(t)
	var posted []guarded
	for id := range uint64(3) {
		posted = append(posted, p.post(0, 100, id))
	}
	for i, n := range []int{10, 0, 10} {
		p.send(send(bytes.Repeat([]byte{byte(i)}, n)), 128)
		m := p.wantMessage("Send")
		if m.ID != uint64(i) || m.Len != uint32(n) || !bytes.Equal(m.Buffer, bytes.Repeat([]byte{byte(i)}, n)) ||
			!bytes.Equal(posted[i].mem[:n], m.Buffer) || !untouched(posted[i].mem[n:]) || !posted[i].intact() {
			t.Errorf("delivered %+v, want %d octets in buffer %d", m, n, i)
		}
	}
}

// "At the Data Source, the DDP layer MUST segment the data contained in a ULP message into a series
// of DDP Segments, where each DDP Segment contains a DDP Header and ULP Payload, and MUST be no
// larger than the MULPDU value Advertised by the LLP." "At the Data Source, the DDP layer MUST send
// all the data contained in the ULP message. At the Data Sink, the DDP layer MUST Place the ULP
// Payload contained in all valid incoming DDP Segments associated with a DDP Message into the ULP
// Buffer." DDP-5041-5.2-1 DDP-5041-5.2-2 DDP-5041-5.2-4 DDP-5041-5.2-5 DDP-5041-5.2-11
// DDP-5041-1.1-1
func TestRFC5041_5_2_AllOctetsArrive(t *testing.T) {
	rnd := seeded(t)
	for _, mulpdu := range []int{128, 1448, 64768} {
		sizes := []int{
			0, 1, 2, 3, 4, 5, 127, 128, mulpdu - 19, mulpdu - 18, mulpdu - 17, mulpdu - 15, mulpdu - 14, mulpdu - 13,
			mulpdu - 1, mulpdu, mulpdu + 1, 65536, 16<<20 + 1,
		}
		for _, n := range sizes {
			if n > 1<<20 && mulpdu < 10000 && testmode.Slow() {
				continue
			}
			t.Run(fmt.Sprintf("%d octets, MULPDU %d", n, mulpdu), func(t *testing.T) {
				testTransfer(t, randomBytes(rnd, min(n, 70000)), n, mulpdu)
			})
		}
	}
}

// testTransfer sends n octets, data again and again, both ways.
func testTransfer(t *testing.T, data []byte, n, mulpdu int) {
	p := newPair(t)
	var pieces [][]byte
	for left := n; left > 0; left -= len(pieces[len(pieces)-1]) {
		pieces = append(pieces, data[:min(left, len(data))])
	}
	g := newGuarded(n + 7)
	r := p.register(g.mem, RemoteWrite)
	posted := p.post(0, n, 1)

	m := Message{Tagged: true, STag: r.STag(), TO: r.TO() + 7, Payload: pieces, Len: uint32(n)}
	checkSegments(t, cut(&p.s, &m, mulpdu), n, mulpdu, TaggedHeaderLen)
	p.send(m, mulpdu)
	if got := p.wantMessage("tagged"); got.Len != uint32(n) || !got.Contiguous {
		t.Errorf("delivered %+v", got)
	}
	p.send(Message{Payload: pieces, Len: uint32(n)}, mulpdu)
	if got := p.wantMessage("untagged"); got.Len != uint32(n) || !bytes.Equal(got.Buffer, posted.mem) {
		t.Errorf("delivered %d octets", got.Len)
	}
	if n > 0 { // and out of a Region, as a Read Response is
		back := newGuarded(n)
		sink, source := p.register(back.mem, RemoteWrite), p.register(g.mem, RemoteRead)
		m := Message{Tagged: true, STag: sink.STag(), TO: sink.TO(), Source: source, SourceTO: source.TO() + 7, Len: uint32(n)}
		checkSegments(t, cut(&p.s, &m, mulpdu), n, mulpdu, TaggedHeaderLen)
		p.send(m, mulpdu)
		if got := p.wantMessage("from a Region"); got.Len != uint32(n) || !got.Contiguous || !bytes.Equal(back.mem, g.mem[7:]) || !back.intact() {
			t.Errorf("delivered %+v from a Region", got)
		}
	}
	for off := 0; off < n; off += len(data) {
		want := data[:min(len(data), n-off)]
		if !bytes.Equal(g.mem[7+off:][:len(want)], want) || !bytes.Equal(posted.mem[off:][:len(want)], want) {
			t.Fatalf("octets from %d on differ", off)
		}
	}
	if !untouched(g.mem[:7]) || !g.intact() || !posted.intact() {
		t.Error("octets around the buffer have changed")
	}
}

// checkSegments checks that segments of n octets in all are as few and as long as possible.
func checkSegments(t *testing.T, segments [][]byte, n, mulpdu, headerLen int) {
	room := mulpdu - headerLen
	if want := max(1, (n+room-1)/room); len(segments) != want {
		t.Errorf("%d segments, want %d", len(segments), want)
	}
	for i, s := range segments {
		if want := headerLen + min(room, n-i*room); len(s) != want || len(s) > mulpdu {
			t.Fatalf("segment %d has %d octets, want %d", i, len(s), want)
		}
	}
}

// "LLPs MUST expose MULPDU and MULPDU changes." Each segment is as long as the MULPDU allows at
// that moment. DDP-5041-5.2-2 DDP-5041-3-2 DDP-5041-3-3
func TestRFC5041_5_2_MULPDUChanges(t *testing.T) {
	rnd := seeded(t)
	data := randomBytes(rnd, 20000)
	p := newPair(t)
	posted := p.post(0, len(data), 1)
	m := send(data)
	for p.s.Start(&m); ; {
		mulpdu := 128 + rnd.IntN(1400)
		if !p.s.Next(mulpdu) {
			break
		}
		if seg := p.s.Segment(); len(wire(&p.s)) != mulpdu && !seg.Last {
			t.Errorf("segment of %d octets, want %d", len(wire(&p.s)), mulpdu)
		}
		p.place(wire(&p.s))
	}
	if p.wantMessage("Send"); !bytes.Equal(posted.mem, data) {
		t.Error("octets differ")
	}
}

// "the MO MUST be set to the octet offset from the first octet in the associated ULP Message (which
// is defined to be zero) to the first octet in the ULP Payload contained in the DDP Segment."
// DDP-5041-5.2-7 DDP-5041-5.2-8 DDP-5041-5.4-4
func TestRFC5041_5_2_UntaggedExample(t *testing.T) {
	var s Sender
	m := send(make([]byte, 2048))
	segments := cut(&s, &m, 1500)
	if len(segments) != 2 || len(segments[0]) != 1500 || len(segments[1]) != 18+566 {
		t.Fatalf("%d segments", len(segments))
	}
	for i, want := range []uint32{0, 1482} {
		if mo := binary.BigEndian.Uint32(segments[i][14:]); mo != want {
			t.Errorf("segment %d: MO %d, want %d", i, mo, want)
		}
	}
	p := newPair(t)
	p.post(0, 4000, 1)
	p.place(segments[0])
	p.place(segments[1])
	if got := p.wantMessage("Send"); got.Len != 2048 || len(got.Buffer) != 2048 {
		t.Errorf("delivered %d octets, want 2048", got.Len)
	}
}

// "the TO MUST be set to the octet offset from the first octet in the associated ULP Message to the
// first octet in the ULP Payload contained in the DDP Segment, plus the TO assigned to the first
// octet in the associated ULP Message." DDP-5041-5.2-9 DDP-5041-5.2-10 DDP-5041-5.2-11
func TestRFC5041_5_2_TaggedExample(t *testing.T) {
	var s Sender
	m := Message{Tagged: true, STag: 0xA1B2C3D4, TO: 16384, Payload: [][]byte{make([]byte, 2048)}, Len: 2048}
	segments := cut(&s, &m, 1500)
	if len(segments) != 2 || len(segments[0]) != 1500 || len(segments[1]) != 14+562 {
		t.Fatalf("%d segments", len(segments))
	}
	for i, want := range []uint64{16384, 17870} {
		if to := binary.BigEndian.Uint64(segments[i][6:]); to != want {
			t.Errorf("segment %d: TO %d, want %d", i, to, want)
		}
		if s := binary.BigEndian.Uint32(segments[i][2:]); s != 0xA1B2C3D4 {
			t.Errorf("segment %d: STag %#x", i, s)
		}
	}
}

// "A zero-length DDP Message is allowed and MUST consume exactly one DDP Segment. Only the DDP
// Control and RsvdULP Fields MUST be valid for a zero-length Tagged DDP Segment. The STag and TO
// fields MUST NOT be checked for a zero-length Tagged DDP Message." DDP-5041-5.2-12 DDP-5041-5.2-13
// DDP-5041-5.2-14 DDP-5041-4.4-2 DDP-5041-7.1-18
func TestRFC5041_5_2_ZeroLength(t *testing.T) {
	p := newPair(t)
	write := Message{Tagged: true, STag: 0xFFFFFFFF, TO: 0xFFFFFFFFFFFFFFFF, RsvdULP: 0x40}
	segments := cut(&p.s, &write, 128)
	if len(segments) != 1 || len(segments[0]) != 14 || segments[0][0] != 0xC1 {
		t.Fatalf("segments = %x, want one of 14 octets with L=1", segments)
	}
	p.place(segments[0])
	if m := p.wantMessage("tagged, no payload"); m.Len != 0 || !m.Tagged || m.RsvdULP != 0x40 {
		t.Errorf("delivered %+v", m)
	}
	p.post(0, 10, 1)
	empty := Message{RsvdULP: 0x43}
	if segments = cut(&p.s, &empty, 128); len(segments) != 1 || len(segments[0]) != 18 || segments[0][0] != 0x41 {
		t.Fatalf("segments = %x, want one of 18 octets with L=1", segments)
	}
	p.place(segments[0])
	if m := p.wantMessage("untagged, no payload"); m.Len != 0 || m.Tagged || m.ID != 1 || m.Buffer == nil {
		t.Errorf("delivered %+v", m)
	}
	mem := make([]byte, 10)
	r := p.register(mem, RemoteWrite)
	fromRegion := Message{Tagged: true, Source: r, SourceTO: r.TO(), RsvdULP: 0x42}
	if segments = cut(&p.s, &fromRegion, 128); len(segments) != 1 || len(segments[0]) != 14 || segments[0][0] != 0xC1 {
		t.Fatalf("segments = %x, want one of 14 octets with L=1", segments)
	}
	// A longer message may have segments without payload, and they are not checked either.
	h := TaggedHeader{STag: r.STag(), TO: r.TO()}
	p.place(append(h.AppendTo(nil), 1, 2, 3))
	p.place(segmentsOf(t, write)[0])
	if m := p.wantMessage("the end has no payload"); m.Len != 3 || m.STag != r.STag() || !m.Contiguous {
		t.Errorf("delivered %+v", m)
	}
}

// segmentsOf cuts m for a stream of its own, with the RsvdULP that a header of zeros has.
func segmentsOf(t *testing.T, m Message) [][]byte {
	t.Helper()
	m.RsvdULP = 0
	var s Sender
	return cut(&s, &m, 128)
}

// "MUST transmit DDP Messages in the order they were submitted to the DDP layer", "SHOULD transmit
// DDP Segments within a DDP Message in increasing MO order for Untagged DDP Messages, and in
// increasing TO order for Tagged DDP Messages." "MUST Deliver a DDP Message to the ULP at most
// once", "MUST Deliver DDP Messages to the ULP in the order they were sent by the Data Source."
// DDP-5041-1.1-1 DDP-5041-5.3-1 DDP-5041-5.3-2 DDP-5041-5.3-3 DDP-5041-5.3-5 DDP-5041-5.3-6
// DDP-5041-5.3-7
func TestRFC5041_5_3_Order(t *testing.T) {
	rnd := seeded(t)
	p := newPair(t)
	r := p.register(make([]byte, 1000), RemoteWrite)
	var sent []Message
	var segments [][]byte
	for i := range 1000 {
		m := send(make([]byte, rnd.IntN(1000)))
		if rnd.IntN(2) == 0 {
			m = write(r, 0, m.Payload[0])
		} else if err := post(p.queues[0], nil, make([]byte, 1000), 0); err != nil {
			t.Fatal(err)
		}
		m.RsvdULP = uint8(i)
		p.s.Start(&m)
		sent = append(sent, m)
		from := len(segments)
		for p.s.Next(128) {
			segments = append(segments, wire(&p.s))
		}
		for j, s := range segments[from:] {
			n, got := uint64(j*114), binary.BigEndian.Uint64(s[6:])-m.TO
			if !m.Tagged {
				n, got = uint64(j*110), uint64(binary.BigEndian.Uint32(s[14:]))
			}
			if got != n {
				t.Fatalf("message %d segment %d is for octet %d, want %d", i, j, got, n)
			}
		}
		p.replay(segments[from:])
		if i%50 == 49 { // deliver some at a time
			for len(sent) > 0 {
				got := p.wantMessage("next")
				if got.RsvdULP != sent[0].RsvdULP || got.Tagged != sent[0].Tagged || got.Len != sent[0].Len || got.MSN != sent[0].MSN {
					t.Fatalf("delivered %+v, want %+v", got, sent[0])
				}
				sent = sent[1:]
			}
			p.wantIdle("all are delivered")
		}
	}
}

// replay gives the Receiver segments, some of them twice, at the same stream offset.
func (p *pair) replay(segments [][]byte) {
	for _, s := range segments {
		off := p.off
		p.place(s)
		p.r.Place(off, s)
		if p.r.TryPlace(off, s) {
			p.Error("a segment that was placed in order is placed again, early")
		}
	}
}

// "At the Data Sink, DDP MUST Deliver a DDP Message if and only if all of the following are true:"
// The test omits each of them in turn. DDP-5041-5.4-2 DDP-5041-5.3-4
func TestRFC5041_5_4_DeliveredIfAndOnlyIf(t *testing.T) {
	p := newPair(t)
	p.post(0, 300, 0)
	p.post(0, 300, 1)
	a, b := send(make([]byte, 200)), send(make([]byte, 200))
	segments := append(cut(&p.s, &a, 118), cut(&p.s, &b, 118)...)
	at := func(i int) uint64 { return uint64(i) * 128 }

	// The second message is all there; of the first nothing, then all but the end.
	for _, i := range []int{3, 2, 1} {
		if !p.r.TryPlace(at(i), segments[i]) {
			t.Fatalf("segment %d not placed early", i)
		}
		p.wantIdle("the first segment has not come")
	}
	p.r.Place(at(0), segments[0])
	p.off = at(1)
	p.wantIdle("the edge says that segments may be missing")
	p.off = at(4)
	for id := range uint64(2) {
		if m := p.wantMessage("now"); m.ID != id || m.Len != 200 {
			t.Errorf("delivered %+v, want buffer %d", m, id)
		}
	}
	p.wantIdle("both are delivered")
}

// "At the Data Sink, DDP MUST provide the ULP Message Length to the ULP when an Untagged DDP
// Message is Delivered." DDP-5041-5.4-3 DDP-5041-5.4-4
func TestRFC5041_5_4_MessageLength(t *testing.T) {
	p := newPair(t)
	for n := range 500 {
		p.post(0, 500, 0)
		p.send(send(make([]byte, n)), 128)
		if m := p.wantMessage("Send"); m.Len != uint32(n) || len(m.Buffer) != n {
			t.Errorf("delivered %d octets, Buffer of %d, want %d", m.Len, len(m.Buffer), n)
		}
	}
}

// A message placed before its turn is a message like any other: "DDP MUST Place the ULP Payload
// contained in all valid incoming DDP Segments", and "DDP MUST provide" STag, RsvdULP and length
// "when the DDP Message is delivered". Every other segment comes early, the last one of the message
// included or not. DDP-5041-5.2-5, DDP-5041-4.2-8, DDP-5041-4.2-13, DDP-5041-4.3-8, DDP-5041-5.4-3,
// DDP-5041-5.4-4, DDP-5041-5.4-5
func TestRFC5041_5_4_PartlyEarly(t *testing.T) {
	data := randomBytes(seeded(t), 500)
	for first := range 2 {
		for _, rsvd := range []uint8{0x00, 0x5A, 0xA5, 0xFF} {
			p := newPair(t)
			g, posted := newGuarded(500), p.post(0, 500, 1)
			r := p.register(g.mem, RemoteWrite)
			w, s := write(r, 0, data), send(data)
			w.RsvdULP, s.RsvdULP, s.RsvdULP32 = rsvd, rsvd, 0x01010101*uint32(rsvd)
			for _, m := range []Message{w, s} {
				segments := cut(&p.s, &m, 118)
				begin := p.off
				var at []uint64
				for _, b := range segments {
					at = append(at, p.off)
					p.off += fpduLen(b)
				}
				p.off = begin
				for i := first; i < len(segments); i += 2 {
					if !p.r.TryPlace(at[i], segments[i]) {
						t.Fatalf("segment %d is not placed early", i)
					}
				}
				for i, b := range segments {
					if i%2 == first {
						p.off += fpduLen(b)
						continue
					}
					p.place(b)
				}
				got := p.wantMessage("all segments have come")
				if got.Tagged != m.Tagged || got.RsvdULP != rsvd || got.RsvdULP32 != m.RsvdULP32 || got.Len != 500 || got.STag != m.STag {
					t.Errorf("delivered %+v, want %+v", got, m)
				}
			}
			if !bytes.Equal(g.mem, data) || !bytes.Equal(posted.mem, data) || !g.intact() || !posted.intact() {
				t.Errorf("other octets are placed: %x, %x", g.all, posted.all)
			}
		}
	}
}
