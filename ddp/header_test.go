package ddp

import (
	"bytes"
	"errors"
	"testing"
)

func TestHeaderVectors(t *testing.T) {
	for _, v := range vectors {
		t.Run(v.desc, func(t *testing.T) {
			wire := unhex(v.hex)
			if wire[0]&0x80 != 0 {
				h, payload, err := ParseTagged(wire)
				if h != v.tagged || err != nil {
					t.Errorf("ParseTagged(%x) = %+v, %v, want %+v", wire, h, err, v.tagged)
				}
				if !bytes.Equal(payload, wire[14:]) {
					t.Errorf("payload = %x, want %x", payload, wire[14:])
				}
				if got := v.tagged.AppendTo([]byte{0xAA}); !bytes.Equal(got, append([]byte{0xAA}, wire[:14]...)) {
					t.Errorf("AppendTo = %x, want aa %x", got, wire[:14])
				}
				if _, _, err := ParseUntagged(append(wire, make([]byte, 4)...)); !errors.Is(err, errModel) {
					t.Errorf("ParseUntagged of a tagged segment: %v, want errModel", err)
				}
				return
			}
			h, payload, err := ParseUntagged(wire)
			if h != v.untagged || err != nil {
				t.Errorf("ParseUntagged(%x) = %+v, %v, want %+v", wire, h, err, v.untagged)
			}
			if !bytes.Equal(payload, wire[18:]) {
				t.Errorf("payload = %x, want %x", payload, wire[18:])
			}
			if got := v.untagged.AppendTo([]byte{0xAA}); !bytes.Equal(got, append([]byte{0xAA}, wire[:18]...)) {
				t.Errorf("AppendTo = %x, want aa %x", got, wire[:18])
			}
			if _, _, err := ParseTagged(wire); !errors.Is(err, errModel) {
				t.Errorf("ParseTagged of an untagged segment: %v, want errModel", err)
			}
		})
	}
}

// TestMessageVectors sends and receives the same vectors as whole messages.
func TestMessageVectors(t *testing.T) {
	for _, v := range vectors {
		wire := unhex(v.hex)
		if wire[0]&0x40 == 0 {
			continue
		}
		t.Run(v.desc, func(t *testing.T) {
			var s Sender
			m := Message{Tagged: IsTagged(wire)}
			if m.Tagged {
				m.RsvdULP, m.STag, m.TO = v.tagged.RsvdULP, v.tagged.STag, v.tagged.TO
				m.Payload = [][]byte{wire[14:]}
			} else {
				m.RsvdULP, m.RsvdULP32, m.QN = v.untagged.RsvdULP, v.untagged.RsvdULP32, v.untagged.QN
				m.Payload = [][]byte{wire[18:]}
				s.sent[m.QN] = v.untagged.MSN - 1
			}
			m.Len = uint32(len(m.Payload[0]))
			if got := cut(&s, &m, 1500); len(got) != 1 || !bytes.Equal(got[0], wire) {
				t.Errorf("Sender: %x, want one segment %x", got, wire)
			}

			p := newPair(t)
			if m.Tagged && m.Len > 0 { // bring the Region to where the vector says
				r := p.register(make([]byte, 256), RemoteWrite|ReadSink)
				p.move(r, m.STag, m.TO)
			}
			if !m.Tagged {
				p.r.message(m.QN).MSN = m.MSN
				p.post(m.QN, 52, 7)
			}
			p.place(wire)
			got := p.wantMessage("the vector")
			if got.Tagged != m.Tagged || got.RsvdULP != m.RsvdULP || got.RsvdULP32 != m.RsvdULP32 || got.STag != m.STag ||
				got.TO != m.TO || got.QN != m.QN || got.MSN != m.MSN || got.Len != m.Len {
				t.Errorf("Receiver: %+v, want %+v", got, m)
			}
			if !m.Tagged && !bytes.Equal(got.Buffer, wire[18:]) {
				t.Errorf("Buffer = %x, want %x", got.Buffer, wire[18:])
			}
			if header, n := got.Header[:got.HeaderLen], got.SegmentLen; !bytes.Equal(header, wire[:headerLen(wire)]) || n != len(wire) {
				t.Errorf("Segment = %x, %d, want %x, %d", header, n, wire[:headerLen(wire)], len(wire))
			}
		})
	}
}
