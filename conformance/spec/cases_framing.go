package spec

import (
	"fmt"
	"strings"
	"time"
)

// These are MPA's codes in a Terminate.
var (
	mpaCRC    = code{2, 0, 2}
	mpaMarker = code{2, 0, 3}
)

// damaged sends an FPDU with one wrong bit in the byte at index i, counted from its end, and a
// valid FPDU after it. The RFC leaves the end of the stream to DDP's user: with a Terminate or
// without.
func damaged(i int) func(*session) {
	return func(s *session) {
		s.start()
		s.alive()
		b := s.octets(fpdu{ulpdu: s.sends("corrupted!").octets()}) // 32 octets with two pad octets, then the CRC
		good := s.octets(fpdu{ulpdu: s.sends("behind it").octets()})
		b[len(b)-i] ^= 0x10
		s.write(append(b, good...))
		s.wantEnd(mpaCRC)
	}
}

func framing() []Case {
	crcIDs := "MPA-5044-4.4-19 MPA-5044-4.4-20 MPA-5044-8-2 MPA-5044-8-12 DDP-5041-3-8"
	return []Case{
		question("5044/4.1/lengths", both, 0, "MPA-5044-4.1-2 MPA-5044-4.1-3 MPA-5044-4.1-7",
			"FPDUs of all lengths modulo 4 carry their bytes and no others.", func(s *session) {
				s.start()
				for n := range 9 {
					s.echo(strings.Repeat("x", n))
				}
			}),
		question("5044/4.1/pad-of-zero", both, 0, "MPA-5044-4.1-5",
			"Pad bytes are sent as zero.", padOfZero),
		question("5044/4.1/pad-ignored", both, 0, "MPA-5044-4.1-6",
			"Received pad bytes are ignored except in the CRC.", func(s *session) {
				s.start()
				for _, p := range []string{"", "1", "333", "7777777"} {
					s.sendFPDUs(fpdu{ulpdu: s.sends(p).octets(), pad: 0xA5})
					s.wantSend(p)
				}
			}),
		question("5044/4.1/empty-ulpdu", both, 0, "MPA-5044-4.1-2 DDP-5041-3-9 DDP-5041-6.2.2-3",
			"An FPDU without a ULPDU holds no DDP segment: the stream ends, with any Terminate or none.", tooShort(nil)),
		question("5044/4.1/one-octet-ulpdu", both, 0, "DDP-5041-3-9 DDP-5041-6.2.2-3",
			"A ULPDU of one byte holds no DDP header: the stream ends, with any Terminate or none.", tooShort([]byte{0x41})),
		question("5044/4.1/cut-tagged-header", both, 0, "DDP-5041-3-9 DDP-5041-6.2.2-3",
			"A tagged ULPDU of 13 bytes holds no DDP header: the stream ends, with any Terminate or none.",
			tooShort(tagged(opWrite, 0, 0, nil).octets()[:taggedLen-1])),
		question("5044/4.1/cut-untagged-header", both, 0, "DDP-5041-3-9 DDP-5041-6.2.2-3",
			"An untagged ULPDU of 17 bytes holds no DDP header: the stream ends, with any Terminate or none.",
			tooShort(untagged(opSend, qnSend, 1, nil).octets()[:untaggedLen-1])),
		question("5044/4.1/split-anywhere", both, 0, "MPA-5044-1.2-3 DDP-5041-3-5",
			"An FPDU that arrives in two pieces is the same FPDU, wherever it is split.", func(s *session) {
				s.start()
				for i := 1; s.err == nil; i++ {
					b := s.octets(fpdu{ulpdu: s.sends("split").octets()})
					if i >= len(b) {
						break
					}
					s.write(b[:i])
					s.pause(2 * time.Millisecond)
					s.write(b[i:])
					s.wantSend("split")
				}
			}),
		question("5044/4.1/octet-by-octet", both, 0, "MPA-5044-1.2-3 DDP-5041-3-5",
			"An FPDU that arrives in single bytes is the same FPDU.", func(s *session) {
				s.start()
				s.trickle(s.octets(fpdu{ulpdu: s.sends("crumbs").octets()}))
				s.wantSend("crumbs")
			}),
		question("5044/4.1/many-in-one-write", both, 0, "MPA-5044-1.2-3 MPA-5044-4.3-17",
			"FPDUs that arrive together are handled one by one, in order.", func(s *session) {
				s.start()
				var list []segment
				for i := range MinReceives {
					list = append(list, s.sends(fmt.Sprintf("message %d", i)))
				}
				s.send(list...)
				for i := range list {
					s.wantSend(fmt.Sprintf("message %d", i))
				}
			}),
		question("5044/4.1/long-fpdu", both, 0, "MPA-5044-4.1-2",
			"An FPDU that is longer than a TCP segment is accepted.", func(s *session) {
				s.start()
				s.echo(strings.Repeat("long", MinReceive/4))
			}),
		question("5044/4.4/crc-payload", both, 0, crcIDs,
			"An FPDU with a wrong bit in its payload is not delivered, nor is anything after it.", damaged(7)),
		question("5044/4.4/crc-header", both, 0, crcIDs,
			"An FPDU with a wrong bit in its DDP header is not delivered, nor is anything after it.", damaged(17)),
		question("5044/4.4/crc-pad", both, 0, crcIDs+" MPA-5044-4.1-6",
			"An FPDU with a wrong bit in its pad is not delivered: the pad is part of the CRC.", damaged(5)),
		question("5044/4.4/crc-field", both, 0, crcIDs,
			"An FPDU with a wrong bit in its CRC field is not delivered, nor is anything after it.", damaged(1)),
		question("5044/4.4/wrong-length", both, 0, crcIDs,
			"An FPDU whose ULPDU_Length is too small fails its CRC check.", func(s *session) {
				s.start()
				s.alive()
				u := s.sends("shorter than this").octets()
				s.sendFPDUs(fpdu{ulpdu: u, length: len(u) - 4})
				s.wantEnd(mpaCRC)
			}),
		question("5044/8/cut-fpdu", both, 0, "MPA-5044-8-1 DDP-5041-6.2.2-1",
			"An FPDU that a FIN cuts off is not delivered; the connection ends.", func(s *session) {
				s.start()
				s.alive()
				b := s.octets(fpdu{ulpdu: s.sends("cut off").octets()})
				s.write(b[:len(b)-3])
				s.finish()
				s.wantEnd()
			}),
	}
}

func padOfZero(s *session) {
	s.start()
	for n := range 8 {
		p := strings.Repeat("\xFF", n)
		s.send(s.sends(p))
		m, ok := s.message()
		if s.err == nil && !ok {
			s.fail("a Send", "%s", s.silence(nil))
		}
		for _, g := range m.segments {
			if g.padSet {
				s.fail("pad bytes of zero", "a pad byte that is not zero, after a payload of %d bytes", n)
			}
		}
	}
}

// tooShort sends a ULPDU that is shorter than its header. Neither DDP nor MPA has an error code for
// this.
func tooShort(ulpdu []byte) func(*session) {
	return func(s *session) {
		s.start()
		s.alive()
		s.sendFPDUs(fpdu{ulpdu: ulpdu}, fpdu{ulpdu: s.sends("behind it").octets()})
		s.wantEnd()
	}
}

// withMarkers is a start after which the peer must send Markers.
func withMarkers(s *session) { s.startWith(func(f *frame) { f.flags |= flagM }) }

// toMarkers is a start after which this end sends Markers. It skips the case if the peer did not
// ask for Markers.
func toMarkers(s *session) {
	s.start()
	if s.err == nil && !s.txMarkers {
		s.skip("the peer does not ask for Markers")
	}
}

// marked is a payload that is long enough for Markers in it.
var marked = strings.Repeat("in the midst of it ", 40)

func markers() []Case {
	return []Case{
		question("5044/4.3/sent", both, 0, "MPA-5044-4.3-1 MPA-5044-4.3-2 MPA-5044-4.3-3 MPA-5044-4.3-9 MPA-5044-4.3-14 MPA-5044-7.1.1-10",
			"A peer that is asked for Markers puts one at every 512th byte of its stream, and each points back to its FPDU.", func(s *session) {
				withMarkers(s)
				for range 3 {
					s.echo(strings.Repeat("m", 1500))
				}
			}),
		question("5044/4.3/sent-with-short-fpdus", both, 0, "MPA-5044-4.3-7 MPA-5044-4.3-15 MPA-5044-4.3-16 MPA-5044-4.2-2 MPA-5044-4.2-5 MPA-5044-4.4-17",
			"Markers fall before, between and inside short FPDUs and point to the right one.", func(s *session) {
				withMarkers(s)
				for n := range 48 {
					s.echo(strings.Repeat("m", n))
				}
			}),
		question("5044/4.3/received", both, 0, "MPA-5044-4.3-4 MPA-5044-4.3-18 MPA-5044-4.3-19",
			"A peer that has asked for Markers removes them.", func(s *session) {
				toMarkers(s)
				for range 3 {
					s.echo(marked)
				}
				for n := range 48 {
					s.echo(strings.Repeat("m", n))
				}
			}),
		question("5044/4.2/reserved-ignored", both, 0, "MPA-5044-4.2-3",
			"The reserved bytes of a Marker are ignored except in the CRC.", func(s *session) {
				toMarkers(s)
				s.sendFPDUs(fpdu{ulpdu: s.sends(marked).octets(), markerRes: 0xFFFF})
				s.wantSend(marked)
			}),
		question("5044/4.2/low-bits-ignored", both, 0, "MPA-5044-4.2-6 MPA-5044-4.3-8",
			"The two low bits of FPDUPTR are treated as zero.", func(s *session) {
				toMarkers(s)
				s.sendFPDUs(fpdu{ulpdu: s.sends(marked).octets(), ptrXor: 3})
				s.wantSend(marked)
			}),
		question("5044/8/wrong-marker", both, 0, "MPA-5044-8-3 MPA-5044-8-6 MPA-5044-8-8",
			"Markers that point to the wrong place end the stream; a receiver may also not look at them, as bytes come in order, "+
				"and then takes the FPDU as it is.", func(s *session) {
				toMarkers(s)
				s.alive()
				s.sendFPDUs(fpdu{ulpdu: s.sends(marked).octets(), ptrXor: 0x0100})
				if o := s.outcomeOf(1); s.err == nil && len(o.messages) == 1 && string(o.messages[0].payload) != marked {
					s.fail("the message as it was sent, or the end of the stream", "%v", o.messages[0].segment)
				} else if s.err == nil && o.term != nil && o.term.code != mpaMarker {
					s.fail(mpaMarker.String(), "%v", o.term)
				} else if s.err == nil && len(o.messages) == 0 && s.ended == stillOpen {
					s.fail("the message, or the end of the stream", "%s", s.silence(nil))
				}
			}),
	}
}
