package ddp

import (
	"bytes"
	"encoding/binary"
	"testing"
)

// Tests of RFC 5041 §4: headers, and the values of their fields. Each test names its requirement
// and the row of that requirement in the table of requirements.

// segmentCase is a message of several segments of either kind, and how it looks on the wire.
type segmentCase struct {
	desc     string
	m        Message
	segments [][]byte
}

// segmentCases cuts messages of 1, 2, 3 and 100 segments of both kinds, the Tagged ones out of a
// Region too, all with MULPDU 128. One of those of 1 has no payload. Together they have each bit of
// RsvdULP set and not set, and go to all queues.
func segmentCases(t testing.TB) (cases []segmentCase) {
	data := randomBytes(seeded(t), 100*114)
	source := register(t, new(Domain), data, RemoteRead, stream)
	var s Sender
	for i, n := range []int{0, 1, 2, 3, 100} {
		rsvd := []uint8{0x40, 0xA5, 0x5A, 0xFF, 0x00}[i]
		tagged := Message{Tagged: true, RsvdULP: rsvd, STag: 0x12345601, TO: 0x1000, Payload: [][]byte{data}, Len: uint32(n * 114)}
		untagged := Message{RsvdULP: rsvd, RsvdULP32: 0xA1B2C3D4, QN: QN(i % NumQueues), Payload: [][]byte{data}, Len: uint32(n * 110)}
		fromRegion := tagged
		fromRegion.Source, fromRegion.SourceTO = source, source.TO()
		for _, m := range []Message{tagged, untagged, fromRegion} {
			c := segmentCase{desc: "untagged", m: m}
			if m.Tagged {
				c.desc = "tagged"
			}
			c.segments = cut(&s, &c.m, 128)
			if want := max(n, 1); len(c.segments) != want {
				t.Fatalf("%s message cut into %d segments, want %d", c.desc, len(c.segments), want)
			}
			cases = append(cases, c)
		}
	}
	return cases
}

// "If set to one, the ULP Payload carried in this DDP Segment MUST be Placed into a Tagged Buffer."
// "If set to zero, the ULP Payload carried in this DDP Segment MUST be Placed into an Untagged
// Buffer."
// DDP-5041-4.1-2 DDP-5041-4.1-7 DDP-5041-4.1-8
func TestRFC5041_4_1_TBitChoosesBuffer(t *testing.T) {
	p := newPair(t)
	tagged, untagged := newGuarded(16), p.post(0, 16, 1)
	r := p.register(tagged.mem, RemoteWrite)
	p.send(write(r, 0, []byte{1}), 128)
	p.wantMessage("Write")
	if tagged.mem[0] != 1 || !untouched(untagged.all) {
		t.Errorf("after a tagged segment: Region %x, posted buffer %x", tagged.mem, untagged.mem)
	}
	m := send([]byte{2}) // with a field that looks like the STag, to no effect
	m.RsvdULP32 = uint32(r.STag())
	p.send(m, 128)
	p.wantMessage("Send")
	if untagged.mem[0] != 2 || tagged.mem[0] != 1 || !untouched(tagged.mem[1:]) {
		t.Errorf("after an untagged segment: Region %x, posted buffer %x", tagged.mem, untagged.mem)
	}
}

// "It MUST be set to one on the last DDP Segment of every DDP Message. It MUST NOT be set to one on
// any other DDP Segment. The DDP Segment with the L bit set to 1 MUST be posted to the LLP after
// all other DDP Segments of the associated DDP Message have been posted to the LLP. For an Untagged
// DDP Message, the DDP Segment with the L bit set to 1 MUST carry the highest MO." DDP-5041-4.1-3
// DDP-5041-4.1-9 DDP-5041-4.1-10 DDP-5041-4.1-11 DDP-5041-4.1-12
func TestRFC5041_4_1_LastBit(t *testing.T) {
	for _, c := range segmentCases(t) {
		for i, s := range c.segments {
			if last := s[0]&0x40 != 0; last != (i == len(c.segments)-1) {
				t.Errorf("%s segment %d of %d: L = %t", c.desc, i, len(c.segments), last)
			}
			if c.m.Tagged {
				continue
			}
			if mo := binary.BigEndian.Uint32(s[14:18]); mo != uint32(i*110) {
				t.Errorf("segment %d has MO %d, want %d", i, mo, i*110)
			}
		}
	}
}

// "If the Last flag is set to one, the DDP Message payload MUST be Delivered to the ULP after: o
// Placement of all DDP Segments of this DDP Message and all prior DDP Messages, and o Delivery of
// each prior DDP Message." DDP-5041-4.1-13 DDP-5041-4.1-14 DDP-5041-5.4-2
func TestRFC5041_4_1_DeliveredWhenAllIsPlaced(t *testing.T) {
	p := newPair(t)
	r := p.register(make([]byte, 500), RemoteWrite)
	p.post(0, 500, 0)
	for _, m := range []Message{write(r, 0, make([]byte, 200)), send(make([]byte, 200))} {
		segments := cut(&p.s, &m, 118)
		for i, s := range segments {
			p.wantIdle("L=1 has not come")
			if i == len(segments)-1 {
				break
			}
			p.place(s)
		}
		// The last segment comes early: it is placed, but the one before it is not.
		last := segments[len(segments)-1]
		if !p.r.TryPlace(p.off+1000, last) {
			t.Fatal("the last segment is not placed early")
		}
		p.wantIdle("the edge has not come to the last segment")
		p.off += 1000 + fpduLen(last)
		p.wantMessage("whole")
		p.wantIdle("delivered once")
	}
}

// "Reserved for future use by the DDP protocol. This field MUST be set to zero on transmit, and not
// checked on receive." "The version of the DDP Protocol in use. This field MUST be set to one".
// "The value of DV MUST be the same for all the DDP Segments transmitted or received on a DDP
// Stream." DDP-5041-4.1-6 DDP-5041-4.1-15 DDP-5041-4.1-16 DDP-5041-4.1-17 DDP-5041-4.1-18
func TestRFC5041_4_1_ControlField(t *testing.T) {
	for _, c := range segmentCases(t) {
		for i, s := range c.segments {
			want := byte(0x01)
			if c.m.Tagged {
				want |= 0x80
			}
			if i == len(c.segments)-1 {
				want |= 0x40
			}
			if s[0] != want {
				t.Errorf("%s segment %d of %d: control field %#x, want %#x", c.desc, i, len(c.segments), s[0], want)
			}
		}
	}
	p := newPair(t)
	for rsvd := range byte(16) {
		p.post(0, 0, uint64(rsvd))
		u := UntaggedHeader{Last: true, MSN: uint32(rsvd) + 1}.AppendTo(nil)
		u[0] |= rsvd << 2
		p.place(u)
		if p.wantMessage("reserved bits in an untagged segment").Tagged {
			t.Error("message is tagged")
		}
		g := TaggedHeader{Last: true}.AppendTo(nil)
		g[0] |= rsvd << 2
		p.place(g)
		if !p.wantMessage("reserved bits in a tagged segment").Tagged {
			t.Error("message is not tagged")
		}
	}
}

// "Figure 4 shows the DDP Header format that MUST be used in all DDP Segments that target Tagged
// Buffers." "At the Data Source, DDP MUST set RsvdULP Field to the value specified by the ULP."
// "Each DDP Segment within a specific DDP Message MUST contain the same value for this field. The
// Data Source MUST ensure that". The same holds for the STag. DDP-5041-4.2-1 DDP-5041-4.2-6
// DDP-5041-4.2-9 DDP-5041-4.2-10 DDP-5041-4.2-12 DDP-5041-4.2-14 DDP-5041-4.2-15 DDP-5041-4.2-16
// DDP-5041-4.4-1
func TestRFC5041_4_2_TaggedHeader(t *testing.T) {
	for _, c := range segmentCases(t) {
		for i, s := range c.segments {
			if !c.m.Tagged {
				continue
			}
			if want := []byte{c.m.RsvdULP, 0x12, 0x34, 0x56, 0x01}; !bytes.Equal(s[1:6], want) {
				t.Errorf("segment %d: RsvdULP and STag = %x, want %x", i, s[1:6], want)
			}
			if to := binary.BigEndian.Uint64(s[6:]); to != 0x1000+uint64(i*114) {
				t.Errorf("segment %d: TO = %#x", i, to)
			}
			if !bytes.Equal(s[14:], c.m.Payload[0][i*114:min((i+1)*114, int(c.m.Len))]) {
				t.Errorf("segment %d: payload does not begin at octet 14", i)
			}
		}
	}
}

// "At the Data Sink, DDP MUST provide the RsvdULP field to the ULP when the DDP Message is
// delivered." "At the Data Sink, the DDP MUST provide the STag field when the ULP Message is
// delivered." DDP-5041-4.2-7 DDP-5041-4.2-8 DDP-5041-4.2-13 DDP-5041-5.4-5
func TestRFC5041_4_2_TaggedFieldsDelivered(t *testing.T) {
	p := newPair(t)
	r := p.register(make([]byte, 300), RemoteWrite)
	for v := range 256 {
		m := write(r, 3, make([]byte, 200))
		m.RsvdULP = uint8(v)
		p.send(m, 114)
		if got := p.wantMessage("Write"); got.RsvdULP != uint8(v) || got.STag != r.STag() || got.TO != r.TO()+3 || got.Len != 200 {
			t.Errorf("delivered %+v, want RsvdULP %#x, STag %v", got, v, r.STag())
		}
	}
}

// "The STag MUST be valid for this DDP Stream."
// DDP-5041-4.2-11 DDP-5041-8.3-2
func TestRFC5041_4_2_STagValid(t *testing.T) {
	for _, desc := range []string{"unknown", "revoked", "of another stream"} {
		t.Run(desc, func(t *testing.T) {
			p := newPair(t)
			g := newGuarded(16)
			r := p.register(g.mem, RemoteWrite)
			m := write(r, 0, make([]byte, 16))
			code := Code(CodeInvalidSTag)
			switch desc {
			case "unknown":
				m.STag++
			case "revoked":
				r.Deregister()
			case "of another stream":
				other := register(t, p.domain, g.mem, RemoteWrite, stream+1)
				m.STag, m.TO, code = other.STag(), other.TO(), CodeNotAssociated
			}
			bad := cut(&p.s, &m, 128)[0]
			if p.r.TryPlace(p.off, bad) {
				t.Error("placed early")
			}
			p.place(bad)
			p.wantFailure(bad, code)
			if !untouched(g.all) {
				t.Errorf("memory = %x", g.all)
			}
		})
	}
}

// "Figure 5 shows the DDP Header format that MUST be used in all DDP Segments that target Untagged
// Buffers." RsvdULP, QN and MSN: "Each DDP segment within a specific DDP message MUST contain the
// same value for this field". "The MO referencing the first octet of the DDP Message MUST be set to
// zero by the DDP layer." DDP-5041-4.3-1 DDP-5041-4.3-7 DDP-5041-4.3-9 DDP-5041-4.3-12
// DDP-5041-4.3-13 DDP-5041-4.3-14 DDP-5041-4.3-19 DDP-5041-4.3-20 DDP-5041-4.3-22 DDP-5041-4.4-1
func TestRFC5041_4_3_UntaggedHeader(t *testing.T) {
	for _, c := range segmentCases(t) {
		for i, s := range c.segments {
			if c.m.Tagged {
				continue
			}
			want := []byte{c.m.RsvdULP, 0xA1, 0xB2, 0xC3, 0xD4, 0, 0, 0, byte(c.m.QN)} // RsvdULP, then QN
			want = binary.BigEndian.AppendUint32(want, c.m.MSN)
			want = binary.BigEndian.AppendUint32(want, uint32(i*110))
			if !bytes.Equal(s[1:18], want) {
				t.Errorf("segment %d: header %x, want %x", i, s[1:18], want)
			}
			if !bytes.Equal(s[18:], c.m.Payload[0][i*110:min((i+1)*110, int(c.m.Len))]) {
				t.Errorf("segment %d: payload does not begin at octet 18", i)
			}
		}
	}
}

// "At the Data Sink, DDP MUST provide RsvdULP field to the ULP when the ULP Message is Delivered."
// It "MAY provide the value from any one of the received DDP Segment": here it is the first value,
// and octets 2 to 5 of later segments are ignored. DDP-5041-4.3-8 DDP-5041-4.3-10 DDP-5041-4.3-11
// DDP-5041-5.4-5
func TestRFC5041_4_3_RsvdULPDelivered(t *testing.T) {
	p := newPair(t)
	p.post(0, 300, 1)
	m := send(make([]byte, 200))
	m.RsvdULP, m.RsvdULP32 = 0xF4, 0x01020304
	segments := cut(&p.s, &m, 118)
	p.place(segments[0])
	binary.BigEndian.PutUint32(segments[1][2:], 0xFFFFFFFF)
	p.place(segments[1])
	if got := p.wantMessage("Send"); got.RsvdULP != 0xF4 || got.RsvdULP32 != 0x01020304 || got.Len != 200 {
		t.Errorf("delivered %+v", got)
	}
}

// "The Message Sequence Number specifies a sequence number that MUST be increased by one (modulo
// 2^32) with each DDP Message targeting the specific Queue Number on the DDP Stream associated with
// this DDP Segment. The initial value for MSN MUST be one." DDP-5041-4.3-15 DDP-5041-4.3-16
// DDP-5041-4.3-17
func TestRFC5041_4_3_MSNCounts(t *testing.T) {
	rnd := seeded(t)
	var s Sender
	var sent [NumQueues]uint32
	for range 4000 {
		m := Message{QN: QN(rnd.Uint32N(NumQueues)), Payload: [][]byte{make([]byte, 200)}, Len: rnd.Uint32N(200)}
		sent[m.QN]++
		for _, segment := range cut(&s, &m, 128) {
			if h, _, err := ParseUntagged(segment); err != nil || h.MSN != sent[m.QN] || m.MSN != h.MSN {
				t.Fatalf("message %d on QN %d: MSN %d, %v", sent[m.QN], m.QN, h.MSN, err)
			}
		}
		cut(&s, &Message{Tagged: true}, 128) // has none
	}
	p := newPair(t)
	for range 1000 {
		qn := QN(rnd.Uint32N(NumQueues))
		p.post(qn, 0, 0)
		p.send(Message{QN: qn}, 128)
		if m := p.wantMessage("message"); m.QN != qn || m.MSN != p.s.sent[qn] {
			t.Fatalf("delivered QN %d MSN %d, want %d %d", m.QN, m.MSN, qn, p.s.sent[qn])
		}
	}
}

// "The MSN value MUST wrap to 0 after a value of 0xFFFFFFFF."
// DDP-5041-4.3-18
func TestRFC5041_4_3_MSNWraps(t *testing.T) {
	p := newPair(t)
	p.s.sent[2] = 0xFFFFFFFD
	p.r.message(2).MSN = 0xFFFFFFFE
	for _, want := range []uint32{0xFFFFFFFE, 0xFFFFFFFF, 0, 1} {
		p.post(2, 300, uint64(want))
		m := Message{QN: 2, Payload: [][]byte{make([]byte, 300)}, Len: 300}
		segments := cut(&p.s, &m, 118)
		for _, s := range segments {
			if got := binary.BigEndian.Uint32(s[10:]); got != want {
				t.Errorf("MSN %#x sent, want %#x", got, want)
			}
			p.place(s)
		}
		if got := p.wantMessage("message"); got.MSN != want || got.ID != uint64(want) {
			t.Errorf("MSN %#x delivered in buffer %#x, want %#x", got.MSN, got.ID, want)
		}
	}
}

// Hints reach beyond the wrap, too.
// DDP-5041-4.3-18
func TestRFC5041_4_3_MSNWrapsEarly(t *testing.T) {
	p := newPair(t)
	p.s.sent[0] = 0xFFFFFFFD
	p.r.untagged[0].MSN = 0xFFFFFFFE
	var segments [][]byte
	for id := range uint64(4) {
		p.post(0, 10, id)
		m := send([]byte{byte(id), 1, 2, 3})
		segments = append(segments, cut(&p.s, &m, 118)...)
	}
	for i := len(segments) - 1; i >= 0; i-- {
		if !p.r.TryPlace(uint64(i)*100, segments[i]) {
			t.Errorf("segment %d not placed early", i)
		}
	}
	for id := range uint64(4) {
		p.off = id*100 + 1
		if m := p.wantMessage("message"); m.ID != id || m.MSN != 0xFFFFFFFE+uint32(id) || m.Buffer[0] != byte(id) || m.Len != 4 {
			t.Errorf("delivered %+v, want buffer %d", m, id)
		}
	}
}

// "Each DDP Segment MUST contain a DDP Header."
// DDP-5041-4.4-1
func TestRFC5041_4_4_EverySegmentHasHeader(t *testing.T) {
	tagged, untagged := TaggedHeader{Last: true}.AppendTo(nil), UntaggedHeader{Last: true, MSN: 1}.AppendTo(nil)
	for _, full := range [][]byte{tagged, untagged} {
		for n := range full {
			p := newPair(t)
			p.post(0, 10, 0)
			p.place(full[:n])
			p.wantFailure(full[:n], CodeLocalCatastrophic)
			if p.r.TryPlace(p.off, full[:n]) {
				t.Errorf("TryPlace(%x) = true", full[:n])
			}
		}
		p := newPair(t)
		p.post(0, 10, 0)
		p.place(full)
		p.wantMessage("a header and nothing else")
	}
}
