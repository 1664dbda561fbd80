package spec

import (
	"fmt"
	"strings"
	"time"
)

// noReply is the expected answer of a Responder to an improperly formatted Request: none.
const noReply = "the end of the connection without a Reply"

// refused sends a changed Request, for which the Responder must close the connection.
func refused(change func(*frame)) func(*session) {
	return func(s *session) {
		s.open()
		s.request = frame{key: keyRequest, flags: flagC, revision: 1}
		change(&s.request)
		s.write(s.request.octets())
		s.wantClosed(noReply)
	}
}

// accepted sends a changed Request that the Responder must accept. judge checks the Reply. Then a
// Send must come back.
func accepted(change func(*frame), judge func(*session, frame)) func(*session) {
	return func(s *session) {
		s.startWith(change)
		if s.err == nil && judge != nil {
			judge(s, s.reply)
		}
		s.alive()
	}
}

func plain(f *frame) { f.flags, f.revision, f.private = flagC, 1, nil }

// changedKey returns the key with one changed octet.
func changedKey(key string, i int) string {
	b := []byte(key)
	b[i] ^= 0x20
	return string(b)
}

func responderStartup() []Case {
	return []Case{
		question("5044/7.1.1/key-first-octet", Responder, 0, "MPA-5044-7.1.1-3 MPA-5044-7.1.2-4 MPA-5044-7.1.2-17 MPA-5044-8-9",
			"A Responder closes the connection when the first byte of the key is not that of a Request.",
			refused(func(f *frame) { f.key = changedKey(keyRequest, 0) })),
		question("5044/7.1.1/key-last-octet", Responder, 0, "MPA-5044-7.1.1-3 MPA-5044-7.1.2-4 MPA-5044-7.1.2-17",
			"A Responder closes the connection when the last byte of the key is not that of a Request.",
			refused(func(f *frame) { f.key = changedKey(keyRequest, 15) })),
		question("5044/7.1.1/key-of-a-reply", Responder, 0, "MPA-5044-7.1.2-21 MPA-5044-7.1.1-3",
			"A Responder that gets a Reply finds that both ends are Responders, and closes the connection.",
			refused(func(f *frame) { f.key = keyReply })),
		question("5044/7.1.1/revision-3", Responder, 0, "MPA-5044-7.1.1-24 MPA-5044-7.1.1-25",
			"A Responder closes the connection when it cannot serve the revision.",
			refused(func(f *frame) { f.revision = 3 })),
		question("5044/7.1.1/revision-255", Responder, 0, "MPA-5044-7.1.1-24 MPA-5044-7.1.1-25",
			"A Responder closes the connection when it cannot serve the revision, including the greatest possible one.",
			refused(func(f *frame) { f.revision = 255 })),
		question("5044/7.1.1/revision-0", Responder, 0, "MPA-5044-7.1.1-24 MPA-5044-7.1.1-25",
			"Revision 0 is the RDMA Consortium's: a Responder that does not serve it closes the connection; one that does answers in it.",
			revision0),
		question("5044/7.1.1/revision-1", Responder, 0, "MPA-5044-7.1.1-23 MPA-6581-6-9 MPA-6581-10-5",
			"A Responder serves a Request of revision 1.",
			accepted(plain, func(s *session, f frame) {
				if f.revision != 1 {
					s.fail("a Reply of revision 1", "%v", f)
				}
			})),
		question("5044/7.1.1/reserved-bits", Responder, 0, "MPA-5044-7.1.1-22 MPA-5044-7.1.1-21",
			"A Responder ignores the reserved bits of a Request, and sends its own as zero.",
			accepted(func(f *frame) { plain(f); f.flags |= flagRes }, nil)),
		question("5044/7.1.1/r-bit-in-request", Responder, 0, "MPA-5044-7.1.1-19 MPA-5044-7.1.1-20",
			"A Responder ignores the R bit of a Request.",
			accepted(func(f *frame) { plain(f); f.flags |= flagR }, nil)),
		question("5044/7.1.1/private-data-513", Responder, 0, "MPA-5044-7.1.1-29 MPA-5044-7.1.2-23 MPA-5044-7.1.2-26",
			"A Responder closes the connection when PD_Length is more than 512.",
			refused(func(f *frame) { f.private = make([]byte, 513) })),
		question("5044/7.1.1/private-data-65535", Responder, 0, "MPA-5044-7.1.1-29 MPA-5044-7.1.2-25",
			"A Responder closes the connection when PD_Length is more than 512, and does not wait for that many bytes.",
			refused(func(f *frame) { f.length = 65535 })),
		question("5044/7.1.1/private-data-512", Responder, 0, "MPA-5044-7.1.1-31 MPA-5044-7.1.2-24",
			"A Responder accepts 512 bytes of Private Data.",
			accepted(func(f *frame) { plain(f); f.private = make([]byte, 512) }, nil)),
		question("5044/7.1.1/no-private-data", Responder, 0, "MPA-5044-7.1.1-28",
			"A Request without Private Data has 20 bytes, and a Responder does not wait for more.",
			accepted(plain, nil)),
		question("5044/7.1.1/crc-wanted", Responder, 0, "MPA-5044-7.1.1-14 MPA-5044-4.4-8",
			"With C in the Request the Responder's FPDUs have a CRC, whatever its Reply says.",
			accepted(plain, nil)),
		question("5044/7.1.1/crc-off", Responder, 0, "MPA-5044-7.1.1-12 MPA-5044-7.1.1-17 MPA-5044-4.1-10",
			"With C in neither frame the CRC field is ignored.", func(s *session) {
				s.startWith(func(f *frame) { plain(f); f.flags = 0 })
				crcOff(s)
			}),
		question("5044/7.1.2/octet-by-octet", Responder, 0, "MPA-5044-7.1.2-3",
			"A Request that arrives in single bytes is the same Request.", func(s *session) {
				s.open()
				s.request = frame{key: keyRequest, flags: flagC, revision: 1, private: []byte("slowly")}
				s.trickle(s.request.octets())
				s.reply, _ = s.readFrame(keyReply, false)
				s.agree()
				s.first()
				s.alive()
			}),
		question("5044/7.1.2/cut-request", Responder, 0, "MPA-5044-7.1.2-3 MPA-5044-7.1.1-29",
			"A Request that ends too soon, by a FIN, gets no Reply.", cutRequest),
		question("5044/7.1.2/first-fpdu-glued", Responder, 0, "MPA-5044-7.1.2-11",
			"An FPDU in one write with the Request comes before its time: the Responder either closes the connection without a Reply, "+
				"or takes the FPDU as the first one behind the Request. It must not lose it.", gluedRequest),
		question("5044/7.1.2/silent-until-first-fpdu", Responder, 0, "MPA-5044-7.1.2-16",
			"A Responder sends neither an FPDU nor a Marker before it has the Initiator's first FPDU.", func(s *session) {
				s.start()
				s.wantNothing("no byte before the Initiator's first FPDU")
				s.alive()
			}),
		question("5044/7.1.2/silent-with-markers", Responder, 0, "MPA-5044-7.1.2-16 MPA-5044-4.3-22",
			"A Responder that must send Markers sends none before it has the Initiator's first FPDU.", func(s *session) {
				s.startWith(func(f *frame) { f.flags |= flagM })
				s.wantNothing("no byte before the Initiator's first FPDU")
				s.alive()
			}),
	}
}

func revision0(s *session) {
	s.open()
	s.request = frame{key: keyRequest, flags: flagC}
	s.write(s.request.octets())
	b := s.read(frameLen)
	if s.err == nil && !(len(b) == 0 && s.ended != stillOpen) && !(len(b) == frameLen && string(b[:16]) == keyReply && b[17] == 0) {
		s.fail(noReply+", or a Reply of revision 0", "%s", s.silence(b))
	}
}

// crcOff sends an FPDU with an arbitrary CRC field, which the peer must ignore if no CRC was agreed
// on.
func crcOff(s *session) {
	if s.err == nil && s.crc {
		s.skip("the peer wants CRCs")
		return
	}
	s.sendFPDUs(fpdu{ulpdu: s.sends("no CRC").octets(), crcXor: 0xBADC0DE5})
	s.wantSend("no CRC")
}

func cutRequest(s *session) {
	whole := frame{key: keyRequest, flags: flagC, revision: 1, private: []byte("cut")}.octets()
	for _, n := range []int{0, 1, 16, 19, 20, len(whole) - 1} {
		s.open()
		s.write(whole[:n])
		s.finish()
		s.wantClosed(fmt.Sprintf("%s, which ends after %d bytes", noReply, n))
	}
}

func gluedRequest(s *session) {
	s.open()
	s.request = frame{key: keyRequest, flags: flagC, revision: 1}
	s.crc = true
	s.write(append(s.request.octets(), s.octets(fpdu{ulpdu: s.sends("glued").octets()})...))
	var ok bool
	if s.reply, ok = s.readFrame(keyReply, true); !ok {
		return // the peer has closed, or the case has failed
	}
	s.agree()
	if s.txMarkers {
		s.skip("the peer wants Markers, which the FPDU could not know")
	}
	s.wantSend("glued")
}

// misanswered answers the peer's Request with a changed Reply, for which the Initiator must end the
// connection.
func misanswered(change func(*frame)) func(*session) {
	return func(s *session) {
		s.open()
		s.request, _ = s.readFrame(keyRequest, false)
		s.reply = answer(s.request)
		change(&s.reply)
		s.write(s.reply.octets())
		s.wantClosed("the end of the connection without an FPDU")
	}
}

// answered answers with a changed Reply, after which the Initiator must continue.
func answered(change func(*frame)) func(*session) {
	return func(s *session) {
		s.startWith(change)
		s.alive()
	}
}

// fill extends the Private Data of a Reply to n bytes, including the enhanced data.
func fill(n int) func(*frame) {
	return func(f *frame) { f.private = append(f.private, strings.Repeat("p", n-len(f.private))...) }
}

func initiatorStartup() []Case {
	return []Case{
		question("5044/7.1.1/request-format", Initiator, 0, "MPA-5044-7.1.1-2 MPA-5044-7.1.1-18 MPA-5044-7.1.1-21 MPA-5044-7.1.1-27 MPA-5044-7.1.2-1 MPA-5044-7.1.2-11",
			"An Initiator sends a correct Request, and nothing after it before the Reply.", func(s *session) {
				s.open()
				s.request, _ = s.readFrame(keyRequest, false)
				if s.err == nil && s.request.flags&flagR != 0 {
					s.fail("R as zero in a Request", "%v", s.request)
				}
				s.wantNothing("no byte behind the Request before the Reply")
			}),
		question("5044/7.1.1/reply-key-first-octet", Initiator, 0, "MPA-5044-7.1.1-5 MPA-5044-7.1.2-13 MPA-5044-7.1.2-17",
			"An Initiator closes the connection when the first byte of the key is not that of a Reply.",
			misanswered(func(f *frame) { f.key = changedKey(keyReply, 0) })),
		question("5044/7.1.1/reply-key-last-octet", Initiator, 0, "MPA-5044-7.1.1-5 MPA-5044-7.1.2-13",
			"An Initiator closes the connection when the last byte of the key is not that of a Reply.",
			misanswered(func(f *frame) { f.key = changedKey(keyReply, 15) })),
		question("5044/7.1.1/key-of-a-request", Initiator, 0, "MPA-5044-7.1.2-21 MPA-5044-7.1-9",
			"An Initiator that gets a Request finds that both ends are Initiators, and closes the connection.",
			misanswered(func(f *frame) { f.key = keyRequest })),
		question("5044/7.1.1/reply-revision-3", Initiator, 0, "MPA-5044-7.1.1-24 MPA-5044-7.1.1-25",
			"An Initiator closes the connection when it cannot serve the revision of the Reply.",
			misanswered(func(f *frame) { f.revision = 3 })),
		question("5044/7.1.1/reply-private-data-513", Initiator, 0, "MPA-5044-7.1.1-29 MPA-5044-7.1.2-26",
			"An Initiator closes the connection when PD_Length is more than 512.",
			misanswered(fill(513))),
		question("5044/7.1.1/reply-private-data-65535", Initiator, 0, "MPA-5044-7.1.1-29 MPA-5044-7.1.2-25",
			"An Initiator closes the connection when PD_Length is more than 512, and does not wait for that many bytes.",
			misanswered(func(f *frame) { f.length = 65535 })),
		question("5044/7.1.1/reply-private-data-512", Initiator, 0, "MPA-5044-7.1.1-31 MPA-5044-7.1.2-24",
			"An Initiator accepts 512 bytes of Private Data.",
			answered(fill(512))),
		question("5044/7.1.1/reply-reserved-bits", Initiator, 0, "MPA-5044-7.1.1-22 MPA-6581-6-5",
			"An Initiator ignores the reserved bits of a Reply.",
			answered(func(f *frame) { f.flags |= flagRes })),
		question("5044/7.1.1/reply-crc-off", Initiator, 0, "MPA-5044-7.1.1-12 MPA-5044-7.1.1-17",
			"With C in neither frame the CRC field is ignored.", func(s *session) {
				s.startWith(func(f *frame) { f.flags &^= flagC })
				crcOff(s)
			}),
		question("5044/7.1.1/reply-crc-wanted", Initiator, 0, "MPA-5044-7.1.1-14 MPA-5044-4.4-8",
			"With C in the Reply the Initiator's FPDUs have a CRC, whatever its Request says.",
			answered(func(f *frame) { f.flags |= flagC })),
		question("5044/7.1.2/rejected", Initiator, 0, "MPA-5044-7.1.2-14",
			"An Initiator that is rejected leaves MPA: it sends no FPDU, and its program, by the contract, closes the connection.",
			misanswered(func(f *frame) { f.flags |= flagR })),
		question("5044/7.1.2/rejected-with-private-data", Initiator, 0, "MPA-5044-7.1.2-14 MPA-5044-7.1.2-6",
			"An Initiator that is rejected with Private Data sends no FPDU either.",
			misanswered(func(f *frame) { f.flags |= flagR; fill(64)(f) })),
		question("5044/7.1.2/reply-octet-by-octet", Initiator, 0, "MPA-5044-7.1.2-12",
			"A Reply that arrives in single bytes is the same Reply.", func(s *session) {
				s.open()
				s.request, _ = s.readFrame(keyRequest, false)
				s.reply = answer(s.request)
				fill(32)(&s.reply)
				s.trickle(s.reply.octets())
				s.agree()
				s.first()
				s.alive()
			}),
		question("5044/7.1.2/cut-reply", Initiator, 0, "MPA-5044-7.1.2-13 MPA-5044-7.1.1-29",
			"An Initiator closes the connection when the Reply ends too soon, by a FIN.", cutReply),
		question("5044/7.1.2/reply-in-two-parts", Initiator, 0, "MPA-5044-7.1.2-12",
			"An Initiator waits for Private Data that arrives later than the first 20 bytes of a Reply.", func(s *session) {
				s.open()
				s.request, _ = s.readFrame(keyRequest, false)
				s.reply = answer(s.request)
				fill(100)(&s.reply)
				b := s.reply.octets()
				s.write(b[:frameLen])
				s.pause(20 * time.Millisecond)
				s.write(b[frameLen:])
				s.agree()
				s.first()
				s.alive()
			}),
	}
}

func cutReply(s *session) {
	for _, n := range []int{0, 1, 16, 19} {
		s.open()
		s.request, _ = s.readFrame(keyRequest, false)
		s.write(answer(s.request).octets()[:n])
		s.finish()
		s.wantClosed(fmt.Sprintf("the end of the connection after a Reply that ends after %d bytes", n))
	}
}
