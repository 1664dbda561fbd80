package mpa

import (
	"bytes"
	"slices"
	"testing"
)

// "M: [...] When this bit is '1' in an MPA Request Frame, the Initiator declares that Markers are
// REQUIRED in FPDUs sent from the Responder. When set to '1' in an MPA Reply Frame, this bit
// declares that Markers are REQUIRED in FPDUs sent from the Initiator." "when [...] the value is
// '0', Markers MUST NOT be added to the data stream by that endpoint."
// MPA-5044-7.1.1-7, MPA-5044-7.1.1-8, MPA-5044-7.1.1-9, MPA-5044-7.1.1-10, MPA-5044-7.1.1-11,
// MPA-5044-4.3-1, MPA-5044-4.3-20, MPA-6581-6-3
func TestRFC5044_7_1_1_MarkersEachWay(t *testing.T) {
	for _, revision := range []uint8{1, 2} {
		for _, im := range []bool{false, true} {
			for _, rm := range []bool{false, true} {
				s := start(t, Config{Revision: revision, Markers: im}, Config{Markers: rm})
				if s.iErr != nil || s.rErr != nil {
					t.Fatal(s.iErr, s.rErr)
				}
				for _, way := range []struct {
					desc   string
					tx, rx Agreement
					want   bool
				}{{"Responder", s.r, s.i, im}, {"Initiator", s.i, s.r, rm}} {
					got := appendAll(NewSender(way.tx), worked()...)
					want, begins := refStream(worked(), way.want, true)
					if !bytes.Equal(got, want) {
						t.Errorf("Request M=%v, Reply M=%v: the %s sends %x …, want %x …", im, rm, way.desc, got[:8], want[:8])
					}
					newSink(way.rx.CRC, way.rx.RxMarkers).feed(got, 0).want(t, worked(), begins)
				}
			}
		}
	}
}

// "When this bit is '1' in either the MPA Request Frame or MPA Reply Frame, CRCs MUST be generated
// and checked by both endpoints." "disable CRC checking (and possibly generation) if both the local
// and remote endpoints indicate preference not to use CRCs" "an MPA instance MUST continue
// generating and checking CRCs until the connection terminates" "MUST turn off CRC checking
// immediately after receipt of an MPA mode declaration indicating that its peer also does not
// require CRCs"
// MPA-5044-4.4-5, MPA-5044-4.4-8, MPA-5044-4.4-9, MPA-5044-7.1.1-12, MPA-5044-7.1.1-14,
// MPA-5044-7.1.1-15, MPA-5044-7.1.1-16, MPA-5044-C.1-3
func TestRFC5044_7_1_1_CRCEither(t *testing.T) {
	for _, revision := range []uint8{1, 2} {
		for _, ic := range []bool{false, true} {
			for _, rc := range []bool{false, true} {
				s := start(t, Config{Revision: revision, NoCRC: !ic}, Config{NoCRC: !rc})
				want := ic || rc
				if s.i.CRC != want || s.r.CRC != want || s.req.CRC != ic || s.reply.CRC != want {
					t.Errorf("C=%v, C=%v: Initiator %v, Responder %v, C of the Reply %v, want %v", ic, rc, s.i.CRC, s.r.CRC, s.reply.CRC, want)
				}
				// A Responder of another implementation states only its own wish in the Reply.
				s.reply.CRC = rc
				a, err := Config{Revision: revision, NoCRC: !ic}.HandleReply(s.req, s.reply)
				if err != nil || a.CRC != want {
					t.Errorf("C=%v, C=%v: Initiator %v, %v, want %v", ic, rc, a.CRC, err, want)
				}
				for _, end := range []Agreement{s.i, s.r} {
					b := refFPDU(figure5, 0, false, want)
					// "until the connection terminates"
					got, want100 := appendAll(NewSender(Agreement{CRC: end.CRC}), slices.Repeat([][]byte{figure5}, 100)...), bytes.Repeat(b, 100)
					if !bytes.Equal(got, want100) {
						t.Errorf("C=%v, C=%v: sends %x, want %x a hundred times", ic, rc, got, b)
					}
					r := newSink(end.CRC, false)
					for range 100 {
						r.feed(b, 0)
					}
					b[20] ^= 1
					if r.feed(b, 0); (r.Err() == nil) == want || len(r.got) != 100 && want {
						t.Errorf("C=%v, C=%v: %d ULPDUs, then Err %v", ic, rc, len(r.got), r.Err())
					}
				}
			}
		}
	}
}
