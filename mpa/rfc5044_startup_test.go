package mpa

import (
	"bytes"
	"errors"
	"reflect"
	"testing"
)

// This file tests the requirements of RFC 5044 §7.1 that frames and a Config meet by themselves.
// The tests of package extsock cover reading, writing and closing.

// "Responder mode receivers MUST check this field for the same value, and close the connection and
// report an error locally if any other value is detected." "Initiator mode receivers MUST check
// this field for the same value" "MPA implementations MUST use the difference between the MPA
// Request Frame and the MPA Reply Frame to check for incorrect "Initiator/Initiator" startups."
// MPA-5044-7.1.1-3, MPA-5044-7.1.1-5, MPA-5044-7.1.2-17, MPA-5044-7.1.2-21, MPA-5044-8-4
func TestRFC5044_7_1_1_Key(t *testing.T) {
	for _, reply := range []bool{false, true} {
		good := Frame{Reply: reply, CRC: true, Revision: 1}.AppendTo(nil)
		if key := Key(reply); !bytes.Equal(good[:16], key[:]) {
			t.Errorf("Key(%v) = %x, want %x", reply, key, good[:16])
		}
		for i := range 16 {
			for bit := range 8 {
				b := bytes.Clone(good)
				b[i] ^= 1 << bit
				_, err := parseFrame(b, reply)
				wantCode(t, err, CodeFrame)
				// Octet 9 alone tells the two keys apart: 'p' and 'q' differ in bit 0.
				if sameRole := i == 9 && bit == 0; errors.Is(err, ErrSameRole) != sameRole {
					t.Errorf("key %q: %v, wraps ErrSameRole: %v", b[:16], err, !sameRole)
				}
			}
		}
	}
}

// "Res: This field is reserved for future use. It MUST be set to zero when sending, and not checked
// on reception." "R: This bit is set to zero, and not checked on reception in the MPA Request
// Frame."
// MPA-5044-7.1.1-18, MPA-5044-7.1.1-19, MPA-5044-7.1.1-21, MPA-5044-7.1.1-22, MPA-6581-6-4,
// MPA-6581-6-5
func TestRFC5044_7_1_1_Reserved(t *testing.T) {
	for _, c := range []Config{{}, {Revision: 1}, {NoEnhanced: true}, {Markers: true, NoCRC: true}} {
		req, err := c.Request()
		if err != nil {
			t.Fatal(err)
		}
		reserved := byte(0x3f) // R and Res
		if req.Enhanced {
			reserved = 0x2f
		}
		b := req.AppendTo(nil)
		if b[16]&reserved != 0 {
			t.Errorf("%+v: octet 16 of the Request is %02x", c, b[16])
		}
		plain, _ := parseFrame(bytes.Clone(b), false)
		b[16] |= reserved & 0x2f // S is not reserved in revision 2
		if req.Revision == 1 {
			b[16] |= 0x1f
		}
		got, err := parseFrame(b, false)
		if err != nil {
			t.Errorf("octet 16 is %02x: %v", b[16], err)
		}
		want, _, _ := Config{}.Accept(plain)
		if reply, _, err := (Config{}).Accept(got); err != nil || !bytes.Equal(reply.AppendTo(nil), want.AppendTo(nil)) {
			t.Errorf("octet 16 is %02x: Reply %+v, %v, want %+v", b[16], reply, err, want)
		}
		// A Reply has R, and the other bits are reserved as well.
		reserved &= 0x1f
		b = want.AppendTo(nil)
		if b[16]&reserved != 0 {
			t.Errorf("%+v: octet 16 of the Reply is %02x", c, b[16])
		}
		plain, _ = parseFrame(bytes.Clone(b), true)
		b[16] |= reserved & 0x0f
		if want.Revision == 1 {
			b[16] |= 0x10
		}
		if got, err := parseFrame(b, true); err != nil || !reflect.DeepEqual(got, plain) {
			t.Errorf("octet 16 of the Reply is %02x: %+v, %v, want %+v", b[16], got, err, plain)
		}
	}
	if b := (Frame{Revision: 1, Reject: true}).AppendTo(nil); b[16] != 0 {
		t.Errorf("octet 16 of a Request with R is %02x", b[16])
	}
}

// "senders MUST set this field to one" (in a frame without what RFC 6581 adds). "MPA receivers
// compliant with this version of the specification MUST check this field. If the MPA receiver
// cannot interoperate with the received version, then it MUST close the connection and report an
// error locally. Otherwise, the MPA receiver should report the received version to the ULP." "MPA
// MUST provide the protocol version negotiated with its peer to DDP."
// MPA-5044-3-14, MPA-5044-7.1.1-23, MPA-5044-7.1.1-24, MPA-5044-7.1.1-25, MPA-5044-7.1.1-26,
// MPA-5044-C.1-1, MPA-5044-C.2.2-1, MPA-6581-6-8, MPA-6581-6-9, MPA-6581-10-5
func TestRFC5044_7_1_1_Rev(t *testing.T) {
	if req, err := (Config{Revision: 1}).Request(); err != nil || req.AppendTo(nil)[17] != 1 {
		t.Errorf("Request of revision 1: %x, %v", req.AppendTo(nil), err)
	}
	for rev := range 256 {
		for _, reply := range []bool{false, true} {
			b := Frame{Reply: reply, Revision: uint8(rev)}.AppendTo(nil)
			f, err := parseFrame(b, reply)
			if rev != 1 && rev != 2 {
				wantCode(t, err, CodeFrame)
				continue
			}
			if err != nil {
				t.Fatalf("ParseFrame(%x): %v", b, err)
			}
			var a Agreement
			if reply {
				a, err = Config{NoEnhanced: true}.HandleReply(Frame{Revision: 2}, f)
			} else {
				_, a, err = Config{}.Accept(f)
			}
			if err != nil || a.Revision != uint8(rev) {
				t.Errorf("revision %d: agreed on %d, %v", rev, a.Revision, err)
			}
		}
	}
	// An end that is limited to revision 1 cannot serve revision 2.
	_, _, err := Config{Revision: 1}.Accept(Frame{Revision: 2})
	wantCode(t, err, CodeFrame)
}

// "PD_Length: This field MUST contain the length in octets of the Private Data field." "If the
// receiver detects that the PD_Length field does not match the length of the Private Data field, or
// if the length of the Private Data field exceeds 512 octets, the receiver MUST close the
// connection" "the amount of Private Data MUST not exceed the PD_Length or the application buffer.
// If any of the above fails, the startup frame MUST be considered improperly formatted."
// MPA-5044-7.1.1-27, MPA-5044-7.1.1-28, MPA-5044-7.1.1-29, MPA-5044-7.1.1-30, MPA-5044-7.1.1-31,
// MPA-5044-7.1.2-23, MPA-5044-7.1.2-24, MPA-5044-7.1.2-25, MPA-5044-7.1.2-26, MPA-6581-6-10,
// MPA-6581-7-4
func TestRFC5044_7_1_1_PDLength(t *testing.T) {
	for _, reply := range []bool{false, true} {
		for n := range maxPrivateData + 1 {
			data := counting(n, n)
			b := Frame{Reply: reply, Revision: 1, PrivateData: data}.AppendTo(nil)
			if len(b) != 20+n || int(b[18])<<8+int(b[19]) != n {
				t.Errorf("%d octets of Private Data: frame of %d, PD_Length %x", n, len(b), b[18:20])
			}
			f, err := parseFrame(b, reply)
			if err != nil || !bytes.Equal(f.PrivateData, data) {
				t.Errorf("%d octets of Private Data came as %d, %v", n, len(f.PrivateData), err)
			}
			if n < enhancedLen { // PD_Length includes the enhanced data
				continue
			}
			b = Frame{Reply: reply, Revision: 2, Enhanced: true, PrivateData: data[enhancedLen:]}.AppendTo(nil)
			if len(b) != 20+n || int(b[18])<<8+int(b[19]) != n {
				t.Errorf("%d octets with the enhanced data: frame of %d, PD_Length %x", n, len(b), b[18:20])
			}
		}
		for _, n := range []int{513, 514, 1024, 65535} {
			for _, flags := range []byte{0, flagEnhanced} {
				b := append(Frame{Reply: reply, Revision: 2}.AppendTo(nil), make([]byte, n)...)
				b[16], b[18], b[19] = flags, byte(n>>8), byte(n)
				_, err := FrameLen(b[:FrameHeaderLen]) // reads only the first 20 bytes
				wantCode(t, err, CodeFrame)
				_, err = parseFrame(b, reply)
				wantCode(t, err, CodeFrame)
			}
		}
		for _, stated := range []byte{10, 5, 3, 0} { // but there are 4
			b := append(Frame{Reply: reply, Revision: 1}.AppendTo(nil), 1, 2, 3, 4)
			b[19] = stated
			_, err := parseFrame(b, reply)
			wantCode(t, err, CodeFrame)
		}
	}
}

// "In the MPA Reply Frame, this bit is the Rejected Connection bit" "the MPA Reply Frame MAY
// include ULP-supplied Private Data; the implementation MUST exit MPA, leaving the TCP connection
// open." So a rejection differs from an improperly formatted frame.
// MPA-5044-7.1.1-20, MPA-5044-7.1.2-5, MPA-5044-7.1.2-6, MPA-5044-7.1.2-8, MPA-5044-7.1.2-9,
// MPA-5044-7.1.2-14, MPA-5044-7.1.2-19
func TestRFC5044_7_1_2_Reject(t *testing.T) {
	for _, i := range []Config{{Revision: 1}, {NoEnhanced: true}, {}} {
		req, err := i.Request()
		if err != nil {
			t.Fatal(err)
		}
		r := Config{PrivateData: []byte("no")}
		reply, err := r.Reject(req)
		if err != nil || reply.AppendTo(nil)[16]&0x20 == 0 {
			t.Fatalf("Reject = %+v, %v", reply, err)
		}
		a, err := i.HandleReply(req, overTheWire(t, reply))
		var e *RejectError
		if !errors.As(err, &e) || string(e.PrivateData) != "no" || a.Revision != 0 {
			t.Errorf("HandleReply = %+v, %v, want a rejection with its Private Data", a, err)
		}
		if reply, _, err = r.Accept(req); err != nil || reply.AppendTo(nil)[16]&0x20 != 0 {
			t.Errorf("Accept = %+v, %v", reply, err)
		}
	}
}
