package spec

import "fmt"

var (
	insufficientIRD = code{2, 0, 6}
	noMatchingRTR   = code{2, 0, 7}
)

// withWord sends an enhanced frame with these enhanced data.
func withWord(word uint32) func(*frame) {
	return func(f *frame) { f.flags |= flagS; f.revision = 2; f.private = enhanced(word) }
}

// wantEnhanced checks that a Reply is enhanced.
func wantEnhanced(s *session, f frame) {
	if !f.isEnhanced() {
		s.fail("an enhanced Reply", "%v", f)
	}
}

func wantPlain(s *session, f frame) {
	if f.flags&flagS != 0 {
		s.fail("a Reply that is not enhanced", "%v", f)
	}
}

// depthCase states an IRD and ORD; the Responder's ORD must not be more than that IRD.
func depthCase(ird, ord int) Case {
	return question(fmt.Sprintf("6581/9.1/ird-%d-ord-%d", ird, ord), Responder, 0, "MPA-6581-9.1-4 MPA-6581-9.1-9 MPA-6581-9-2 MPA-6581-9-3",
		"The ORD of a Responder's Reply is at most the IRD of the Request.",
		accepted(withWord(depths(ird, ord)), func(s *session, f frame) {
			wantEnhanced(s, f)
			if s.err == nil && f.ord() > ird {
				s.fail(fmt.Sprintf("an ORD of %d at most", ird), "%v", f)
			}
		}))
}

func enhancedResponder() []Case {
	return []Case{
		question("6581/10/enhanced", Responder, 0, "MPA-6581-10-1 MPA-6581-10-7 MPA-6581-6-1 MPA-6581-6-11 MPA-6581-9-4",
			"An enhanced Request gets an enhanced Reply.", accepted(withWord(depths(4, 4)), wantEnhanced)),
		question("6581/10/revision-1", Responder, 0, "MPA-6581-10-3 MPA-6581-10-5 MPA-6581-10-8",
			"A Request of revision 1 gets a Reply that is not enhanced.", accepted(plain, wantPlain)),
		question("6581/10/revision-2-plain", Responder, 0, "MPA-6581-10-3 MPA-6581-10-8 MPA-6581-6-6",
			"A Request of revision 2 without S gets a Reply without S.",
			accepted(func(f *frame) { plain(f); f.revision = 2 }, wantPlain)),
		question("6581/6/s-in-revision-1", Responder, 0, "MPA-6581-6-7 MPA-5044-7.1.1-22",
			"In revision 1 the S bit is reserved, and a Responder ignores it: the Reply is not enhanced.",
			accepted(func(f *frame) { plain(f); f.flags |= flagS; f.private = enhanced(depths(4, 4)) }, wantPlain)),
		question("6581/6/reserved-bits", Responder, 0, "MPA-6581-6-4 MPA-6581-6-5",
			"A Responder ignores the four bits that RFC 6581 leaves reserved.",
			accepted(func(f *frame) { withWord(depths(4, 4))(f); f.flags |= flagRes }, wantEnhanced)),
		question("6581/6/enhanced-data-cut", Responder, 0, "MPA-6581-6-11 MPA-5044-7.1.2-26",
			"An enhanced Request with less than four bytes of Private Data is improperly formatted: the Responder closes the connection.",
			refused(func(f *frame) { f.flags |= flagS; f.revision = 2; f.private = []byte{0, 4} })),
		question("6581/6/private-data-512", Responder, 0, "MPA-6581-6-10 MPA-6581-9-4",
			"The enhanced data count in PD_Length: they leave 508 bytes for the program.",
			accepted(func(f *frame) {
				withWord(depths(4, 4))(f)
				f.private = append(f.private, make([]byte, 508)...)
			}, wantEnhanced)),
		depthCase(0, 0), depthCase(1, 1), depthCase(2, 16), depthCase(16, 2), depthCase(16382, 16382),
		question("6581/9.1/ord-left-to-ulp", Responder, 0, "MPA-6581-9.1-17 MPA-6581-9.1-18",
			"A Request whose ORD is 0x3FFF, left to the programs, gets a Reply whose IRD is 0x3FFF.",
			accepted(withWord(depths(4, depthULP)), func(s *session, f frame) {
				if f.ird() != depthULP {
					s.fail("an IRD of 0x3FFF", "%v", f)
				}
			})),
		question("6581/9.1/ird-left-to-ulp", Responder, 0, "MPA-6581-9.1-17 MPA-6581-9.1-20",
			"A Request whose IRD is 0x3FFF, left to the programs, gets a Reply whose ORD is 0x3FFF.",
			accepted(withWord(depths(depthULP, 4)), func(s *session, f frame) {
				if f.ord() != depthULP {
					s.fail("an ORD of 0x3FFF", "%v", f)
				}
			})),
		question("6581/9.2/client-server", Responder, 0, "MPA-6581-9.2-17 MPA-6581-9.2-18 MPA-6581-9.2-19",
			"Without A the other three flags of a Request are ignored, and the Reply has none of the four.",
			accepted(withWord(depths(4, 4)|bitB|bitC|bitD), func(s *session, f frame) {
				if f.word()&(bitA|bitB|bitC|bitD) != 0 {
					s.fail("a Reply with A, B, C and D of zero", "%v", f)
				}
			})),
		question("6581/9.2/peer-to-peer", Responder, 0, "MPA-6581-9.2-6 MPA-6581-9.2-9 MPA-6581-9.2-5",
			"A Request with A and all RTR kinds gets a Reply with A and at least one kind.", func(s *session) {
				s.startWith(withWord(depths(4, 4) | bitA | bitB | bitC | bitD))
				wantKinds(s)
				s.rtr(s.reply.word())
			}),
		question("6581/9.2/no-kind-asked-for", Responder, 0, "MPA-6581-9.2-11",
			"A Request with A and no RTR kind gets a Reply with A and at least one kind that the Responder supports.", func(s *session) {
				s.startWith(withWord(depths(4, 4) | bitA))
				wantKinds(s)
				s.rtr(s.reply.word())
			}),
		question("6581/9.2/rtr-write", Responder, 0, "MPA-6581-9.2-7 MPA-6581-1.1-1 MPA-6581-9.3-1",
			"A Responder that has agreed to it accepts a Write of length 0 as the Ready to Receive indication.", rtrCase(bitC)),
		question("6581/9.2/rtr-read", Responder, 0, "MPA-6581-9.2-7 MPA-6581-1.1-1 RDMAP-5040-5.2.1-18",
			"A Responder that has agreed to it accepts a Read of length 0 as the Ready to Receive indication, and answers it.", rtrCase(bitD)),
		question("6581/9.2/rtr-send", Responder, 0, "MPA-6581-9.2-7 MPA-6581-1.1-1",
			"A Responder that has agreed to it accepts a Send of length 0 as the Ready to Receive indication; its program may see it or not.", rtrCase(bitB)),
	}
}

// wantKinds checks a Reply to a Request with A.
func wantKinds(s *session) {
	if s.err == nil && (s.reply.word()&bitA == 0 || s.reply.word()&(bitB|bitC|bitD) == 0) {
		s.fail("a Reply with A and at least one of B, C and D", "%v", s.reply)
	}
}

func rtrCase(kind uint32) func(*session) {
	return func(s *session) {
		s.startWith(withWord(depths(4, 4) | bitA | kind))
		wantKinds(s)
		if s.err == nil && s.reply.word()&kind == 0 {
			// The Initiator must send an RTR, because the two ends have agreed on one.
			s.rtr(s.reply.word())
			s.skip("the peer's Reply does not have this kind")
		}
		s.rtr(kind)
	}
}

// rtr sends the first of these RTR kinds, and then a Send that must come back.
func (s *session) rtr(kinds uint32) {
	switch {
	case kinds&bitC != 0:
		s.send(tagged(opWrite, 0x00C0FFEE, 0, nil))
	case kinds&bitD != 0:
		s.send(s.readOf(0x00C0FFEE, 0, 0, 0x00BADBAD, 0))
		s.wantResponse(0x00C0FFEE, 0, nil)
	default:
		s.send(s.sends(""))
		s.send(s.sends("behind the RTR"))
		m, ok := s.message()
		if ok && m.op() == opSend && len(m.payload) == 0 { // the peer's program has seen it
			m, ok = s.message()
		}
		if s.err == nil && (!ok || string(m.payload) != "behind the RTR") {
			s.fail("the Send that followed the RTR", "%s", s.came(m, ok))
		}
		return
	}
	s.alive()
}

// needEnhanced skips the case if the peer's Request is not enhanced.
func needEnhanced(s *session) {
	s.open()
	s.request, _ = s.readFrame(keyRequest, false)
	if s.err == nil && !s.request.isEnhanced() {
		s.skip("the peer's Request is not enhanced")
	}
}

// answerWith answers an enhanced Request with these enhanced data; judge checks the result. need,
// if not nil, may skip the case because of the Request, before the answer.
func answerWith(need func(*session), word func(req frame) uint32, judge func(*session)) func(*session) {
	return func(s *session) {
		needEnhanced(s)
		if need != nil {
			need(s)
		}
		s.reply = answer(s.request)
		if s.err == nil {
			s.reply.private = enhanced(word(s.request))
			s.write(s.reply.octets())
		}
		s.agree()
		judge(s)
	}
}

func goesOn(s *session) {
	s.first()
	s.alive()
}

// flagsOf returns the flags that a Reply to req must keep.
func flagsOf(req frame) uint32 { return answer(req).word() & (bitA | bitB | bitC | bitD) }

func enhancedInitiator() []Case {
	return []Case{
		question("6581/6/request-format", Initiator, 0, "MPA-6581-6-2 MPA-6581-6-7 MPA-6581-9.2-18 MPA-6581-9.2-4",
			"An enhanced Request has revision 2, its data, and B, C and D only with A.", func(s *session) {
				needEnhanced(s)
				w := s.request.word()
				if s.err == nil && w&bitA == 0 && w&(bitB|bitC|bitD) != 0 || w&bitA != 0 && w&(bitB|bitC|bitD) == 0 {
					s.fail("A with one at least of B, C and D, or none of them", "%v", s.request)
				}
			}),
		question("6581/9.1/reply-depths-zero", Initiator, 0, "MPA-6581-9.1-13",
			"An Initiator continues after a Reply whose IRD and ORD are 0: it then sends no Reads.",
			answerWith(nil, func(r frame) uint32 { return flagsOf(r) &^ bitD }, goesOn)),
		question("6581/9.1/reply-left-to-ulp", Initiator, 0, "MPA-6581-9.1-17 MPA-6581-9.1-19 MPA-6581-9.1-21",
			"An Initiator continues after a Reply that leaves IRD and ORD to the programs.",
			answerWith(nil, func(r frame) uint32 { return flagsOf(r) | depths(depthULP, depthULP) }, goesOn)),
		question("6581/9.1/reply-ord-too-big", Initiator, 0, "MPA-6581-9.1-12 MPA-6581-9.1-14 MPA-6581-9.1-15",
			"An Initiator raises its IRD to the Reply's ORD and continues, or sends the Terminate for insufficient resources.",
			answerWith(nil, func(r frame) uint32 { return flagsOf(r) | depths(ourDepth, depthULP-1) }, func(s *session) {
				o := s.outcomeOf(1)
				switch {
				case s.err != nil || len(o.messages) == 1:
				case o.term == nil || o.term.code != insufficientIRD || s.ended == stillOpen:
					s.fail("a message, or "+insufficientIRD.String()+" and the end of the connection", "%v; %v", o.term, s.ended)
				}
			})),
		question("6581/9.2/reply-flags-without-a", Initiator, 0, "MPA-6581-9.2-19",
			"Without A the other three flags of a Reply are ignored.",
			answerWith(func(s *session) {
				if s.request.word()&bitA != 0 {
					s.skip("the peer asks for the peer-to-peer model")
				}
			}, func(frame) uint32 { return depths(ourDepth, 1) | bitB | bitC | bitD }, goesOn)),
		kindCase("send", bitB), kindCase("write", bitC), kindCase("read", bitD),
		question("6581/9.2/no-matching-rtr", Initiator, 0, "MPA-6581-9.2-13 MPA-6581-9.2-14 MPA-6581-9.3-2",
			"If the Reply has none of the Initiator's RTR kinds, the Initiator sends the Terminate for that, and nothing else.",
			answerWith(needA, func(r frame) uint32 {
				return depths(ourDepth, 1) | bitA | ^r.word()&(bitB|bitC|bitD)
			}, func(s *session) { s.wantTerminate(noMatchingRTR) })),
	}
}

func needA(s *session) {
	if s.err == nil && s.request.word()&bitA == 0 {
		s.skip("the peer does not ask for the peer-to-peer model")
	}
}

// kindCase makes the Initiator send one kind of RTR.
func kindCase(name string, kind uint32) Case {
	return question("6581/9.2/sends-rtr-"+name, Initiator, 0, "MPA-6581-9.2-12 MPA-6581-5-2 MPA-6581-9.3-1",
		"The first FPDU of a peer-to-peer Initiator is an RTR of the kind that the Reply has.",
		answerWith(func(s *session) {
			needA(s)
			if s.request.word()&kind == 0 {
				s.skip("the peer's Request does not have this kind")
			}
		}, func(frame) uint32 { return depths(ourDepth, 1) | bitA | kind }, goesOn))
}
