package spec

import (
	"bytes"
	"fmt"
)

func operations() []Case {
	list := []Case{
		question("5040/5.3/send", both, 0, "RDMAP-5040-5.3-3 RDMAP-5040-5.3-5 RDMAP-5040-4.1-9 RDMAP-5040-4.1-20",
			"A Send is delivered, and so is one of any length up to that of the buffer.", func(s *session) {
				s.start()
				for _, n := range []int{1, 100, MinReceive - 1, MinReceive} {
					s.echo(string(pattern(n)))
				}
			}),
		question("5040/5.3/send-with-se", both, 0, "RDMAP-5040-4.1-11 RDMAP-5040-5.3-8",
			"A Send with Solicited Event is delivered like a Send.", func(s *session) {
				s.start()
				g := s.sends("solicited")
				g.rdmap = version<<6 | opSendSE
				s.send(g)
				s.wantSend("solicited")
			}),
		question("5040/4.1/reserved-bits", both, 0, "RDMAP-5040-4.1-19",
			"The reserved bits of the RDMAP Control Field are ignored.", func(s *session) {
				s.start()
				g := s.sends("reserved")
				g.rdmap |= rdmapRsv
				s.send(g)
				s.wantSend("reserved")
			}),
		question("5040/4.1/invalidate-field-ignored", both, FlagMemory, "RDMAP-5040-4.1-21",
			"The Invalidate STag field of a plain Send is ignored: nothing is invalidated.", func(s *session) {
				s.start()
				g := s.sends("just a Send")
				g.inv = s.record.Region.STag
				s.send(g)
				s.wantSend("just a Send")
				s.wantMemory(0, s.filled(8))
			}),
		question("5040/4.1/version-0", both, 0, "RDMAP-5040-4.1-16 RDMAP-5040-4.1-17",
			"RDMAP version 0 is the RDMA Consortium's: a peer that does not serve it ends the stream; one that does delivers the Send.", func(s *session) {
				s.start()
				s.alive()
				g := s.sends("version 0")
				g.rdmap &^= rdmapRV
				s.send(g)
				o := s.outcomeOf(1)
				delivered := len(o.messages) == 1 && string(o.messages[0].payload) == "version 0"
				if s.err == nil && !delivered && (o.term == nil || o.term.code != rdmapVersion || s.ended == stillOpen) {
					s.fail("the Terminate "+rdmapVersion.String()+" and the end of the connection, or the Send's echo", "%v; %v", o.term, s.ended)
				}
			}),
		question("5040/4.1/send-in-tagged-segment", both, FlagMemory, "RDMAP-5040-7.2-2 RDMAP-5040-4.1-5",
			"A Send in a tagged segment is an opcode in the wrong place.",
			wrong(func(s *session) segment {
				g := s.put(0, []byte("misplaced"))
				g.rdmap = version<<6 | opSend
				return g
			}, rdmapOpcode)),
		question("5040/4.1/write-in-untagged-segment", both, 0, "RDMAP-5040-7.2-2 RDMAP-5040-4.1-5",
			"A Write in an untagged segment is an opcode in the wrong place.",
			wrong(func(s *session) segment { return untagged(opWrite, qnSend, s.msn(qnSend), []byte("misplaced")) }, rdmapOpcode)),
		question("5040/4.2/send-on-read-queue", both, 0, "RDMAP-5040-7.2-2 RDMAP-5040-5.3-10",
			"A Send on the queue of Read Requests is an opcode in the wrong place.",
			wrong(func(s *session) segment { return untagged(opSend, qnRead, s.msn(qnRead), []byte("misplaced")) }, rdmapOpcode, ddpInvalidQN)),
		question("5040/5.2.2/unasked-response", both, FlagMemory, "RDMAP-5040-5.2.2-6 RDMAP-5040-7.2-2",
			"A Read Response that answers no Read is an error, of the opcode or of the STag, which is no Read's sink.",
			wrong(func(s *session) segment {
				g := s.put(0, []byte("not asked"))
				g.rdmap = version<<6 | opReadResponse
				return g
			}, rdmapOpcode, ddpInvalidSTag, rdmapInvalidSTag, rdmapAccess)),
		question("5040/5.2.2/unasked-response-of-length-0", both, 0, "RDMAP-5040-5.2.2-6",
			"A Read Response of length 0 that answers no Read is also an error; its STag is ignored.",
			wrong(func(*session) segment { return tagged(opReadResponse, 1, 0, nil) }, rdmapOpcode, ddpInvalidSTag, rdmapInvalidSTag, rdmapAccess)),
	}
	for _, rv := range []byte{2, 3} {
		list = append(list, question(fmt.Sprintf("5040/4.1/version-%d", rv), both, 0, "RDMAP-5040-4.8-16 RDMAP-5040-7.2-3",
			"A message of an RDMAP version that does not exist is an error.",
			wrong(func(s *session) segment {
				g := s.sends("version")
				g.rdmap = g.rdmap&^rdmapRV | rv<<6
				return g
			}, rdmapVersion)))
	}
	for op := byte(0xC); op <= 0xF; op++ {
		list = append(list, question(fmt.Sprintf("5040/4.1/opcode-%d", op), both, 0, "RDMAP-5040-4.1-22 RDMAP-5040-4.8-17 RDMAP-5040-7.2-2",
			"A reserved opcode is an error.",
			wrong(func(s *session) segment { return untagged(op, qnSend, s.msn(qnSend), []byte("reserved")) }, rdmapOpcode)))
	}
	return list
}

// judged provokes an error with one segment, and checks the contents of the Terminate. codes are
// the codes that it may have.
func judged(make func(*session) segment, judge func(s *session, cause segment, o outcome), codes ...code) func(*session) {
	return func(s *session) {
		s.start()
		s.alive()
		if s.err != nil {
			return
		}
		g := make(s)
		s.send(g)
		o := s.wantTerminate(codes...)
		if s.err == nil {
			judge(s, g, o)
		}
	}
}

// wantHeaders checks the headers in a Terminate: they must be those of the incorrect segment, with
// R only for a Read Request.
func wantHeaders(s *session, cause segment, o outcome) {
	b := cause.octets()
	header, flags := b[:len(b)-len(cause.payload)], byte(termM|termD)
	var rdmap []byte
	if cause.op() == opReadRequest {
		flags, rdmap = flags|termR, cause.payload
	}
	switch t := o.term; {
	case t.flags != flags:
		s.fail(fmt.Sprintf("the flags M, D and R as %03b", flags>>5), "%03b; %v", t.flags>>5, t)
	case t.length != len(b):
		s.fail(fmt.Sprintf("a DDP Segment Length of %d", len(b)), "%d; %v", t.length, t)
	case !bytes.Equal(t.header, header):
		s.fail(fmt.Sprintf("the DDP header %x", header), "%x", t.header)
	case !bytes.Equal(t.rdmap, rdmap):
		s.fail(fmt.Sprintf("the RDMAP header %x", rdmap), "%x", t.rdmap)
	}
}

func badQueue(s *session) segment { return untagged(opSend, 9, 1, []byte("no such queue")) }

// ourTerminate returns a Terminate from this end.
func ourTerminate(payload ...byte) segment { return untagged(opTerminate, qnTerminate, 1, payload) }

// hears sends a Terminate, and a Send after it. The peer must answer neither.
func hears(payload ...byte) func(*session) {
	return func(s *session) {
		s.start()
		s.alive()
		s.send(ourTerminate(payload...), s.sends("behind the Terminate"))
		s.wantClosed("the end of the connection without an answer to the Terminate")
	}
}

func terminates() []Case {
	whole := append([]byte{0x11, 0x01, termM | termD, 0, 0, 20}, tagged(opWrite, 0x12345678, 0, nil).octets()...)
	return []Case{
		question("5040/4.8/header-of-tagged", both, FlagMemory, "RDMAP-5040-4.8-5 RDMAP-5040-4.8-27 RDMAP-5040-4.8-29 RDMAP-5040-4.8-31 RDMAP-5040-7.1-4 DDP-5041-7.1-21",
			"The Terminate for a Write has the DDP header and the length of the incorrect segment.",
			judged(func(s *session) segment { return tagged(opWrite, s.otherSTag(), 0x1020304050607080, []byte("six by")) }, wantHeaders, ddpInvalidSTag)),
		question("5040/4.8/header-of-untagged", both, 0, "RDMAP-5040-4.8-5 RDMAP-5040-4.8-27 RDMAP-5040-4.8-29 RDMAP-5040-7.1-4 DDP-5041-7.1-21",
			"The Terminate for a Send has the DDP header and the length of the incorrect segment.",
			judged(badQueue, wantHeaders, ddpInvalidQN)),
		question("5040/4.8/header-of-read", both, FlagMemory, "RDMAP-5040-4.8-7 RDMAP-5040-4.8-32 RDMAP-5040-4.8-33 RDMAP-5040-7.1-5",
			"The Terminate for a Read Request has the DDP header and the RDMAP header, and the length of the segment.",
			judged(func(s *session) segment { return s.readOf(7, 8, 9, s.otherSTag(), 10) }, wantHeaders, rdmapInvalidSTag)),
		question("5040/4.8/control", both, 0, "RDMAP-5040-4.8-2 RDMAP-5040-4.8-24 RDMAP-5040-4.8-4",
			"The Terminate Control has layer, error type, code and flags in their places, and everything else is zero.",
			judged(badQueue, func(s *session, _ segment, o outcome) {
				if o.term.reserved {
					s.fail("reserved bits of zero", "%v", o.term)
				}
			}, ddpInvalidQN)),
		question("5040/5.4/one-segment", both, 0, "RDMAP-5040-5.4-3 RDMAP-5040-5.4-4 RDMAP-5040-5.4-2",
			"A Terminate is one segment: queue 2, MSN 1, MO 0, with L.",
			judged(badQueue, func(s *session, _ segment, o outcome) {
				if g := o.at; !g.last() || g.msn != 1 || g.mo != 0 || g.qn != qnTerminate {
					s.fail("queue 2, MSN 1, MO 0, with L", "%v", g)
				}
			})),
		question("5040/5.4/nothing-behind", both, 0, "RDMAP-5040-5.4-11 RDMAP-5040-6.2.1-4 RDMAP-5040-6.2.1-1",
			"After its Terminate a peer sends a FIN and nothing else.",
			judged(badQueue, func(s *session, _ segment, _ outcome) {
				if s.ended != byFIN {
					s.fail("a FIN behind the Terminate", "%v", s.ended)
				}
			})),
		question("5040/5.4/received", both, 0, "RDMAP-5040-5.4-7 RDMAP-5040-5.4-12 RDMAP-5040-5.4-5",
			"A peer that gets a Terminate ends the connection and sends nothing more, not even a Terminate.", hears(whole...)),
		question("5040/4.8/received-without-headers", both, 0, "RDMAP-5040-4.8-8 RDMAP-5040-5.4-7",
			"A Terminate for a catastrophic error has no headers, and any code.", hears(0x00, 0xAB, 0, 0)),
		question("5040/4.8/received-reserved-bits", both, 0, "RDMAP-5040-4.8-25",
			"The reserved bits of a Terminate are ignored.", hears(0x02, 0xFF, 0x1F, 0xFF)),
		question("5040/4.8/received-unknown-code", both, 0, "RDMAP-5040-4.8-15 RDMAP-5040-4.8-21",
			"A Terminate with an undefined layer, type and code is still a Terminate.", hears(0xFE, 0xDC, 0, 0)),
		question("5040/5.4/received-cut", both, 0, "RDMAP-5040-5.4-9",
			"A Terminate of 3 bytes is malformed: the stream still ends, with a Terminate or without.", func(s *session) {
				s.start()
				s.alive()
				s.send(ourTerminate(0, 0, 0))
				s.wantEnd()
			}),
	}
}
