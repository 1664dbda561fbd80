package spec

import (
	"fmt"
	"strings"
)

// DDP's codes in a Terminate (RFC 5041 §7.2).
var (
	ddpInvalidSTag     = code{1, 1, 0}
	ddpBounds          = code{1, 1, 1}
	ddpWrap            = code{1, 1, 3}
	ddpTaggedVersion   = code{1, 1, 4}
	ddpInvalidQN       = code{1, 2, 1}
	ddpNoBuffer        = code{1, 2, 2}
	ddpMSNRange        = code{1, 2, 3}
	ddpInvalidMO       = code{1, 2, 4}
	ddpTooLong         = code{1, 2, 5}
	ddpUntaggedVersion = code{1, 2, 6}
)

// wrong sends one incorrect segment, and after it a Send that must not be delivered. It expects one
// of the codes.
func wrong(make func(*session) segment, codes ...code) func(*session) {
	return func(s *session) {
		s.start()
		s.alive()
		if s.err != nil {
			return
		}
		g := make(s)
		behind := s.txMSN[qnSend] + 1
		s.send(g, untagged(opSend, qnSend, behind, []byte("behind it")))
		s.wantTerminate(codes...)
	}
}

// orHeld sends one segment that belongs to no message that can be delivered now. A receiver that
// places segments in any order may hold it forever. A receiver that expects segments in order
// reports the error. Neither delivers it.
func orHeld(make func(*session) segment, codes ...code) func(*session) {
	return func(s *session) {
		s.start()
		s.alive()
		if s.err != nil {
			return
		}
		s.send(make(s))
		o := s.brief()
		want := fmt.Sprintf("silence, or the Terminate %v", codes)
		match := o.term == nil && s.ended == stillOpen
		for _, c := range codes {
			match = match || o.term != nil && o.term.code == c
		}
		if s.err == nil && (len(o.messages) > 0 || !match) {
			s.fail(want, "%d messages; %v; %v", len(o.messages), o.term, s.ended)
		}
	}
}

func segments() []Case {
	list := []Case{
		question("5041/4.1/reserved-bits", both, 0, "DDP-5041-4.1-16",
			"The reserved bits of the DDP Control Field are ignored.", func(s *session) {
				s.start()
				g := s.sends("reserved")
				g.ddp |= ddpRsvd
				s.send(g)
				s.wantSend("reserved")
			}),
		question("5041/4.1/last-decides", both, 0, "DDP-5041-4.1-14 DDP-5041-5.4-2 DDP-5041-4.1-13",
			"A message is delivered when its segment with L has arrived, not before.", func(s *session) {
				s.start()
				g := s.pieces("first part, ", "last part")
				s.send(g[0])
				s.wantNothing("no echo of a message without its last segment")
				s.send(g[1])
				s.wantSend("first part, last part")
			}),
		question("5041/4.3/msn-zero", both, 0, "DDP-5041-4.3-16 DDP-5041-7.1-10",
			"The first MSN is 1; 0 is out of range.",
			wrong(func(s *session) segment { return untagged(opSend, qnSend, 0, []byte("zero")) }, ddpMSNRange)),
		question("5041/4.3/msn-replayed", both, 0, "DDP-5041-7.1-10 DDP-5041-7.2-10 DDP-5041-5.3-6",
			"An MSN whose message has been delivered is out of range.",
			wrong(func(s *session) segment { return untagged(opSend, qnSend, s.txMSN[qnSend], []byte("again")) }, ddpMSNRange)),
		question("5041/4.3/msn-far-ahead", both, 0, "DDP-5041-7.1-10 DDP-5041-7.2-10",
			"An MSN far beyond the posted buffers is out of range, or has no buffer.",
			wrong(func(s *session) segment { return untagged(opSend, qnSend, 0x40000000, []byte("far")) }, ddpMSNRange, ddpNoBuffer)),
		question("5041/4.3/msn-gap", both, 0, "DDP-5041-4.3-15 DDP-5041-7.2-10 DDP-5041-5.3-7",
			"A message after a gap in the MSNs is not delivered. Its buffer may be posted, so a receiver may hold it or find it out of range.",
			orHeld(func(s *session) segment { return untagged(opSend, qnSend, s.txMSN[qnSend]+2, []byte("gap")) }, ddpMSNRange)),
		question("5041/4.3/mo-not-zero", both, 0, "DDP-5041-4.3-22 DDP-5041-7.2-11",
			"A message that does not begin at MO 0 is not delivered; a receiver may hold it or find its MO invalid.",
			orHeld(func(s *session) segment {
				g := s.sends("begins late")
				g.mo = 4
				return g
			}, ddpInvalidMO)),
		question("5041/7.1/mo-beyond-buffer", both, 0, "DDP-5041-7.1-8 DDP-5041-7.2-11",
			"An MO beyond the buffer is invalid.",
			wrong(func(s *session) segment {
				g := untagged(opSend, qnSend, s.txMSN[qnSend]+1, []byte("beyond"))
				g.mo = 0x7FFFFFFC
				return g
			}, ddpInvalidMO, ddpTooLong)),
		question("5041/7.1/mo-wraps", both, 0, "DDP-5041-7.1-9",
			"An MO that wraps with the length of the payload is invalid.",
			wrong(func(s *session) segment {
				g := untagged(opSend, qnSend, s.txMSN[qnSend]+1, []byte("around the corner"))
				g.mo = 0xFFFFFFFC
				return g
			}, ddpInvalidMO, ddpTooLong)),
		question("5041/7.1/longest-message", both, 0, "DDP-5041-1.2-2 DDP-5041-7.1-9",
			"A message as long as the receive buffer is delivered whole.", func(s *session) {
				s.start()
				n := s.receiveSize()
				s.send(s.cut(n)...)
				s.wantSend(strings.Repeat("b", n))
			}),
		question("5041/7.1/too-long", both, 0, "DDP-5041-1.2-3 DDP-5041-7.2-12 RDMAP-5040-5.3-6",
			"A message one byte longer than the receive buffer is an error.", func(s *session) {
				s.start()
				s.alive()
				s.send(s.cut(s.receiveSize() + 1)...)
				s.wantTerminate(ddpTooLong)
			}),
		question("5041/5.2/segments-of-one-octet", both, 0, "DDP-5041-5.2-5 DDP-5041-5.2-7 RDMAP-5040-3.1-5",
			"A message in segments of one byte is delivered whole.", func(s *session) {
				s.start()
				text := "one byte in each of the segments"
				s.send(s.pieces(strings.Split(text, "")...)...)
				s.wantSend(text)
			}),
		question("5041/5.2/empty-segments", both, 0, "DDP-5041-7.1-18 DDP-5041-5.4-4",
			"Segments without payload add nothing to a message, not even the last one.", func(s *session) {
				s.start()
				s.send(s.pieces("", "some", "", "thing", "")...)
				s.wantSend("something")
			}),
		question("5041/5.2/zero-length", both, 0, "DDP-5041-5.2-12 RDMAP-5040-5.3-12 RDMAP-5040-5.3-13",
			"A message of length 0 is a message: it is delivered.", func(s *session) {
				s.start()
				s.echo("")
				s.alive()
			}),
		question("5041/5.3/in-order", both, 0, "DDP-5041-5.3-7 RDMAP-5040-5.3-7 DDP-5041-4.3-15",
			"Messages are delivered in the order in which they were sent.", func(s *session) {
				s.start()
				for round := range 4 {
					var list []segment
					for i := range MinReceives {
						list = append(list, s.pieces(fmt.Sprintf("round %d", round), fmt.Sprintf(", message %d", i))...)
					}
					s.send(list...)
					for i := range MinReceives {
						s.wantSend(fmt.Sprintf("round %d, message %d", round, i))
					}
				}
			}),
	}
	for _, dv := range []byte{0, 2, 3} {
		list = append(list,
			question(fmt.Sprintf("5041/4.1/untagged-version-%d", dv), both, 0, "DDP-5041-4.1-18 DDP-5041-4.1-19 DDP-5041-7.2-13",
				"An untagged segment of another DDP version is an error.",
				wrong(func(s *session) segment {
					g := s.sends("version")
					g.ddp = g.ddp&^ddpDV | dv
					return g
				}, ddpUntaggedVersion)),
			question(fmt.Sprintf("5041/4.1/tagged-version-%d", dv), both, FlagMemory, "DDP-5041-4.1-18 DDP-5041-4.1-19 DDP-5041-7.2-7",
				"A tagged segment of another DDP version is an error.",
				wrong(func(s *session) segment {
					g := s.put(0, []byte("version"))
					g.ddp = g.ddp&^ddpDV | dv
					return g
				}, ddpTaggedVersion)))
	}
	for _, qn := range []uint32{4, 255, 0xFFFFFFFF} {
		list = append(list, question(fmt.Sprintf("5041/7.1/qn-%d", qn), both, 0, "DDP-5041-7.1-2 DDP-5041-7.2-8",
			"A segment for a queue that does not exist is an error.",
			wrong(func(s *session) segment { return untagged(opSend, qn, 1, []byte("no such queue")) }, ddpInvalidQN)))
	}
	return list
}

// receiveSize returns the length of the peer's receive buffers. It skips the case if the length is
// not known, or so long that the case has no time to fill a buffer.
func (s *session) receiveSize() int {
	n := s.record.ReceiveSize
	if s.err == nil && (!s.known || n > 1<<20) {
		s.skip("the peer's record has no receive size of 1 MiB at most")
	}
	return int(min(n, 1<<20))
}

// cut returns the next Send, of n bytes, in segments of 1024.
func (s *session) cut(n int) []segment {
	const size = 1024
	var parts []string
	for ; n > 0; n -= size {
		parts = append(parts, strings.Repeat("b", min(n, size)))
	}
	return s.pieces(parts...)
}
