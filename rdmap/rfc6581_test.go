package rdmap

import (
	"testing"
)

// The registry of RFC 6580 §3.3 and RFC 6581 §8, as the ULP sees it when the peer has sent such a
// Terminate. MPA-6580-3.3-1, MPA-6581-8-1 to MPA-6581-8-4
func TestRFC6581_8_ReceivedCodes(t *testing.T) {
	for octets, want := range map[string]string{
		"20020000": "MPA error: MPA CRC error",
		"20030000": "MPA error: MPA Marker and ULPDU Length field mismatch",
		"20050000": "MPA error: local catastrophic error",
		"20060000": "MPA error: insufficient IRD resources",
		"20070000": "MPA error: no matching RTR option",
	} {
		x := newPair(t, params{})
		x.a.inject(untagged(OpTerminate, 2, 1, unhex(octets)))
		const text = "the peer terminated the stream: "
		if err := x.a.qp.Err(); err == nil || err.Error() != "rdmap: "+text+want {
			t.Errorf("Terminate %s: %v, want %q", octets, err, want)
		}
	}
}
