package ddp

import (
	"bytes"
	"testing"
)

// Tests of the figures of RFC 5041 §4, octet by octet, worked out by hand. The tests use no codec
// of this package to compute the expected octets.

// wantParts checks that a Sender encodes m as these octets, and that a Receiver decodes them to the
// same message.
func wantParts(t *testing.T, p *pair, m Message, wire string) *Message {
	t.Helper()
	want := unhex(wire)
	got := cut(&p.s, &m, 1500)
	if len(got) != 1 || !bytes.Equal(got[0], want) {
		t.Fatalf("sent %x, want one segment %x", got, want)
	}
	p.place(want)
	return p.wantMessage("what was sent")
}

// Figure 4. "T is set to one." "RsvdULP [...] 8 bits", "STag - Steering Tag: 32 bits", "TO - Tagged
// Offset: 64 bits". DDP-5041-4.2-2 to DDP-5041-4.2-5, DDP-5041-2.3-2
func TestRFC5041_4_2_Figure4(t *testing.T) {
	p := newPair(t)
	g := newGuarded(4)
	p.move(p.register(g.mem, RemoteWrite), 0xA1B2C3D4, 0x0102030405060708)
	m := Message{Tagged: true, RsvdULP: 0x5E, STag: 0xA1B2C3D4, TO: 0x0102030405060708, Payload: [][]byte{[]byte("data")}, Len: 4}
	got := wantParts(t, p, m, "c1"+"5e"+"a1b2c3d4"+"0102030405060708"+"64617461")
	if got.RsvdULP != 0x5E || got.STag != 0xA1B2C3D4 || got.TO != 0x0102030405060708 || string(g.mem) != "data" {
		t.Errorf("delivered %+v, memory %q", got, g.mem)
	}
}

// Figure 5. "T is set to zero." "RsvdULP [...] 40 bits", of which 0 to 7 lie in the first word of
// the figure and 8 to 39 in the second; QN, MSN and MO of 32 bits each. DDP-5041-4.3-2 to
// DDP-5041-4.3-6, DDP-5041-4.3-21, DDP-5041-2.3-2
func TestRFC5041_4_3_Figure5(t *testing.T) {
	// The Receiver refuses a QN that it does not know, which distinguishes the octets of the QN
	// from their neighbors.
	p := newPair(t)
	bad := unhex("41" + "5e" + "a1b2c3d4" + "01020300" + "00000001" + "00000000")
	p.place(bad)
	p.wantFailure(bad, CodeInvalidQN)

	p = newPair(t)
	p.s.sent[3], p.r.message(3).MSN = 0x0506070A-1, 0x0506070A
	posted := p.post(3, 0x00010205, 9)
	m := Message{RsvdULP: 0x5E, RsvdULP32: 0xA1B2C3D4, QN: 3, Payload: [][]byte{make([]byte, 0x00010203), []byte("ab")}, Len: 0x00010205}
	p.s.Start(&m)
	if !p.s.Next(18 + 0x00010203) {
		t.Fatal("no first segment")
	}
	if got, want := wire(&p.s)[:18], unhex("01"+"5e"+"a1b2c3d4"+"00000003"+"0506070a"+"00000000"); !bytes.Equal(got, want) {
		t.Errorf("first header %x, want %x", got, want)
	}
	p.place(wire(&p.s))
	if !p.s.Next(1500) {
		t.Fatal("no second segment")
	}
	second := unhex("41" + "5e" + "a1b2c3d4" + "00000003" + "0506070a" + "00010203" + "6162")
	if got := wire(&p.s); !bytes.Equal(got, second) {
		t.Errorf("second segment %x, want %x", got, second)
	}
	p.place(second)
	got := p.wantMessage("both")
	if got.RsvdULP != 0x5E || got.RsvdULP32 != 0xA1B2C3D4 || got.QN != 3 || got.MSN != 0x0506070A || got.Len != 0x00010205 || got.ID != 9 {
		t.Errorf("delivered %+v", got)
	}
	if tail := posted.mem[0x00010203:]; string(tail) != "ab" || !posted.intact() {
		t.Errorf("the buffer ends in %q", tail)
	}
}

// Figure 3. Every octet that a Control Field can be: T 0x80, L 0x40, Rsvd 0x3C, DV 0x03.
// DDP-5041-4.1-4, DDP-5041-4.1-5, DDP-5041-4.1-18
func TestRFC5041_4_1_Figure3(t *testing.T) {
	for c := range 256 {
		p := newPair(t)
		p.post(0, 0, 1)
		ulpdu := make([]byte, 14, 18)
		if c&0x80 == 0 {
			ulpdu = ulpdu[:18]
			ulpdu[13] = 1 // MSN
		}
		ulpdu[0] = byte(c)
		p.place(ulpdu)
		switch {
		case c&0x03 != 1 && c&0x80 != 0:
			p.wantFailure(ulpdu, CodeTaggedVersion)
		case c&0x03 != 1:
			p.wantFailure(ulpdu, CodeUntaggedVersion)
		case c&0x40 == 0:
			p.wantIdle("L is not set")
		default:
			if m := p.wantMessage("whole"); m.Tagged != (c&0x80 != 0) {
				t.Errorf("Control Field %#02x: tagged %t", c, m.Tagged)
			}
		}
	}
	for _, s := range segmentCases(t) {
		for _, b := range s.segments {
			if b[0]&0x3C != 0 || b[0]&0x03 != 1 {
				t.Errorf("%s segment with Control Field %#02x", s.desc, b[0])
			}
		}
	}
}
