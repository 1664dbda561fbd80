package mpa

import (
	"bytes"
	"reflect"
	"testing"
)

// FuzzParseFrame checks that ParseFrame either refuses a frame with CodeFrame, or returns a Frame
// that says the same after it has been encoded and parsed again.
// MPA-6581-12-1, MPA-5044-7.1.2-24
func FuzzParseFrame(f *testing.F) {
	for _, tt := range frames {
		f.Add(unhex(tt.wire), tt.frame.Reply)
	}
	f.Add(unhex(reqKey+"ff 02 0004 ffff ffff"), false)
	f.Add(unhex(repKey+"bf 01 0201"), true)
	f.Fuzz(func(t *testing.T, b []byte, reply bool) {
		n, lenErr := FrameLen(b)
		got, err := parseFrame(b, reply)
		if err != nil {
			wantCode(t, err, CodeFrame)
			return
		}
		if lenErr != nil || n != len(b) {
			t.Fatalf("ParseFrame(%x) = %+v, but FrameLen = %d, %v", b, got, n, lenErr)
		}
		again := got.AppendTo(nil)
		// Only ignored bits are lost: R of a Request, reserved bits, and B, C and D without A.
		if len(again) != len(b) || again[16]&^b[16] != 0 || !bytes.Equal(again[17:20], b[17:20]) {
			t.Errorf("%x became %x", b, again)
		}
		if back, err := parseFrame(again, reply); err != nil || !reflect.DeepEqual(back, got) {
			t.Errorf("%x: %+v, then %+v, %v", b, got, back, err)
		}
		if !reply {
			if r, _, err := (Config{}).Accept(got); err != nil || r.Revision != got.Revision || r.Enhanced != got.Enhanced {
				t.Errorf("%+v accepted with %+v, %v", got, r, err)
			}
		}
	})
}
