package rdmap

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// Each operation is sent as the message that figure 4 of RFC 5040, or §4.1 of RFC 7306, has for it:
// RV 01b, no reserved bit, its opcode, Tagged or on its queue, in every segment.
// TestRFC5040_4_1_ControlField reads the table of opcodes; here QPs post, answer and fail, and the
// test checks the octets.
//
// RDMAP-5040-4.1-2, RDMAP-5040-4.1-4 to RDMAP-5040-4.1-15, RDMAP-5040-4.1-18, RDMAP-5040-4.1-20,
// RDMAPX-7306-4.1-1 to RDMAPX-7306-4.1-7,
// RDMAPX-7306-10.2-1
func TestRFC5040_4_1_OpcodeOfEachOperation(t *testing.T) {
	for _, tt := range []struct {
		op     kind   // 0: the stream fails
		want   string // octets 1 to 9 of the segments: RDMAP control, Invalidate STag, QN; of a Tagged one octet 1
		answer string // the same of the answer; "": there is none
	}{
		{kind{WorkWrite, false}, "40", ""},
		{kind{WorkRead, false}, "41 00000000 00000001", "42"},
		{kind{WorkSend, false}, "43 00000000 00000000", ""},
		{kind{WorkSendInvalidate, false}, "44 12345601 00000000", ""},
		{kind{WorkSend, true}, "45 00000000 00000000", ""},
		{kind{WorkSendInvalidate, true}, "46 12345601 00000000", ""},
		{kind{0, false}, "47 00000000 00000002", ""},
		{kind{WorkImmediate, false}, "48 00000000 00000000", ""},
		{kind{WorkImmediate, true}, "49 00000000 00000000", ""},
		{kind{WorkFetchAdd, false}, "4a 00000000 00000001", "4b 00000000 00000003"},
		{kind{WorkCmpSwap, false}, "4a 00000000 00000001", "4b 00000000 00000003"},
		{kind{WorkSwap, false}, "4a 00000000 00000001", "4b 00000000 00000003"},
	} {
		t.Run(tt.op.String(), func(t *testing.T) {
			x := newPair(t, params{mulpdu: 80})
			r, _ := x.b.register(128, allAccess)
			wr := WorkRequest{Op: tt.op.WorkOp, Solicited: tt.op.solicited, Remote: handle(r), Invalidate: 0x12345601} // which most operations ignore
			switch tt.op.WorkOp {
			case WorkWrite, WorkRead, WorkSend, WorkSendInvalidate:
				wr.Data = make([]byte, 128) // more than one segment holds
			}
			if tt.op.WorkOp == 0 {
				x.a.qp.Fail(errTest)
			} else {
				x.a.post(wr)
			}
			x.a.transmit()
			wantSegments(t, x.a.wire, len(wr.Data) > 0 && tt.op.WorkOp != WorkRead, tt.want)
			if tt.op.WorkOp == WorkWrite {
				wantTarget(t, x.a.wire[0], ddp.TaggedHeader{STag: r.STag(), TO: r.TO()}.AppendTo(nil)[2:])
			}
			request := x.a.wire[0]
			if tt.answer != "" {
				x.b.receive()
				x.b.transmit()
				wantSegments(t, x.b.wire, tt.op.WorkOp == WorkRead, tt.answer)
			}
			if tt.op.WorkOp == WorkRead {
				wantTarget(t, x.b.wire[0], request[ddp.UntaggedHeaderLen:][:12]) // the sink's STag and TO
			}
		})
	}
}

// wantSegments checks that us are one message, of several segments or one, whose octets from the
// second on are want; it is Tagged if want is only the RDMAP control octet.
func wantSegments(t *testing.T, us [][]byte, several bool, want string) {
	t.Helper()
	if len(us) == 0 || several != (len(us) > 1) {
		t.Errorf("%d segments, several: %t", len(us), several)
	}
	w := unhex(want)
	for i, u := range us {
		control := byte(0x01) // DV
		if len(w) == 1 {
			control |= 0x80
		}
		if i == len(us)-1 {
			control |= 0x40
		}
		if u[0] != control || !bytes.HasPrefix(u[1:], w) {
			t.Errorf("segment %d begins with %x, want %02x%x", i, u[:1+len(w)], control, w)
		}
	}
}

// wantTarget checks the STag and the TO of a Tagged segment.
func wantTarget(t *testing.T, u, want []byte) {
	t.Helper()
	if got := u[2:ddp.TaggedHeaderLen]; !bytes.Equal(got, want) {
		t.Errorf("STag and TO are %x, want %x", got, want)
	}
}
