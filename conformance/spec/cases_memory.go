package spec

import (
	"fmt"
)

// These are RDMAP's codes in a Terminate (RFC 5040 §4.8).
var (
	rdmapInvalidSTag  = code{0, 1, 0}
	rdmapBounds       = code{0, 1, 1}
	rdmapAccess       = code{0, 1, 2}
	rdmapWrap         = code{0, 1, 4}
	rdmapVersion      = code{0, 2, 5}
	rdmapOpcode       = code{0, 2, 6}
	rdmapCatastrophic = code{0, 2, 7}
)

// pattern returns n bytes that depend on from. The first bytes are not zero, unlike new memory.
func pattern(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(0xA1 + i + i/251)
	}
	return b
}

// otherSTag returns an STag that the peer has not named.
func (s *session) otherSTag() uint32 {
	other := s.record.Region.STag ^ 0x005A5A00
	for other == s.record.Region.STag || other == s.record.ReadOnly.STag || other == s.record.WriteOnly.STag {
		other += 0x00010100
	}
	return other
}

// places writes p at offset off, once in one segment and once in several, and reads it back with
// the bytes around it.
func places(offset func(Region) uint64, n int) func(*session) {
	return func(s *session) {
		s.start()
		if s.err != nil {
			return
		}
		off := offset(s.record.Region)
		from := uint64(0)
		if off > 8 {
			from = off - 8
		}
		to := min(off+uint64(n)+8, uint64(s.record.Region.Len))
		around := make([]byte, to-from)
		s.send(s.put(from, around))
		p := pattern(n)
		s.send(s.put(off, p))
		want := append([]byte(nil), around...)
		copy(want[off-from:], p)
		s.wantMemory(from, want)
		// Write the same in segments, the last of which has L.
		s.send(s.put(from, around))
		for i := 0; i < n; i += 5 {
			g := s.put(off+uint64(i), p[i:min(i+5, n)])
			if i+5 < n {
				g.ddp &^= ddpLast
			}
			s.send(g)
		}
		s.wantMemory(from, want)
		s.alive()
	}
}

func fromStart(Region) uint64 { return 0 }

// wrongWrite sends a Write of 8 bytes that the peer must not place.
func wrongWrite(change func(*session, *segment), codes ...code) func(*session) {
	return wrong(func(s *session) segment {
		g := s.put(0, []byte("no place"))
		change(s, &g)
		return g
	}, codes...)
}

// otherBit is a Write to an STag with one wrong bit. By chance the peer may have this STag, unnamed
// and without rights.
func otherBit(bit uint32) func(*session) {
	return wrongWrite(func(s *session, g *segment) {
		if g.stag ^= bit; g.stag == s.record.ReadOnly.STag || g.stag == s.record.WriteOnly.STag {
			s.skip("the peer has named that STag for another region")
		}
	}, ddpInvalidSTag, rdmapAccess)
}

func placement() []Case {
	return []Case{
		question("5041/5.2/write-at-start", both, FlagMemory, "DDP-5041-4.2-17 DDP-5041-5.2-5 DDP-5041-5.2-11 RDMAP-5040-5.1-6",
			"A Write at the first byte of the region places its bytes there and nowhere else.", places(fromStart, 64)),
		question("5041/5.2/write-at-odd-offset", both, FlagMemory, "DDP-5041-4.2-17 DDP-5041-4.2-18",
			"A Write may begin at any TO.", places(func(Region) uint64 { return 1021 }, 37)),
		question("5041/7.1/write-at-end", both, FlagMemory, "DDP-5041-7.1-16 DDP-5041-8.1-1",
			"A Write may end exactly at the end of the region.", places(func(r Region) uint64 { return uint64(r.Len) - 19 }, 19)),
		question("5041/5.2/write-in-one-fpdu", both, FlagMemory, "DDP-5041-5.2-5",
			"A Write of 4096 bytes in one FPDU is placed whole.", func(s *session) {
				s.start()
				s.send(s.put(0, pattern(MinRegion)))
				s.wantMemory(0, pattern(MinRegion))
			}),
		question("5041/5.2/write-of-length-0", both, FlagMemory, "DDP-5041-5.2-12 DDP-5041-5.2-13 DDP-5041-5.2-14 RDMAP-5040-5.1-11",
			"STag and TO of a Write of length 0 are ignored.", func(s *session) {
				s.start()
				for _, to := range []uint64{0, s.record.Region.TO - 1, 1<<64 - 1} {
					s.send(tagged(opWrite, s.otherSTag(), to, nil))
					s.alive()
				}
			}),
		question("5041/7.2/invalid-stag", both, FlagMemory, "DDP-5041-7.1-13 DDP-5041-7.2-3 DDP-5041-4.2-11",
			"A Write to an STag that does not exist is an error.",
			wrongWrite(func(s *session, g *segment) { g.stag = s.otherSTag() }, ddpInvalidSTag)),
		question("5041/7.2/stag-first-bit", both, FlagMemory, "DDP-5041-7.1-13 DDP-5041-7.2-3",
			"An STag that differs from a region's in its first bit does not name that region.", otherBit(1<<31)),
		question("5041/7.2/stag-last-bit", both, FlagMemory, "DDP-5041-7.1-13 DDP-5041-7.2-3",
			"An STag that differs from a region's in its last bit does not name that region.", otherBit(1)),
		question("5041/7.2/stag-zero", both, FlagMemory, "DDP-5041-7.1-13 DDP-5041-7.2-3",
			"A Write to STag 0 is an error.",
			wrongWrite(func(_ *session, g *segment) { g.stag = 0 }, ddpInvalidSTag)),
		question("5041/7.2/beyond-end", both, FlagMemory, "DDP-5041-7.1-15 DDP-5041-7.2-4 DDP-5041-8.3.1-4",
			"A Write beyond the end of the region is an error.",
			wrongWrite(func(s *session, g *segment) { g.to += uint64(s.record.Region.Len) }, ddpBounds)),
		question("5041/7.2/across-end", both, FlagMemory, "DDP-5041-7.1-16 DDP-5041-7.2-4",
			"A Write with only its last byte beyond the end of the region is an error.",
			wrongWrite(func(s *session, g *segment) { g.to += uint64(s.record.Region.Len) - 7 }, ddpBounds)),
		question("5041/7.2/before-start", both, FlagMemory, "DDP-5041-7.1-15 DDP-5041-7.2-4",
			"A Write that begins one byte before the region is an error.", func(s *session) {
				wrongWrite(func(s *session, g *segment) {
					if g.to == 0 {
						s.skip("the peer's region begins at TO 0")
					}
					g.to--
				}, ddpBounds)(s)
			}),
		question("5041/7.2/to-wraps", both, FlagMemory, "DDP-5041-7.1-17 DDP-5041-7.2-6",
			"A Write whose TO wraps with its length is an error, of the wrap or of the bounds: the RFC gives neither precedence.",
			wrongWrite(func(_ *session, g *segment) { g.to = 1<<64 - 4 }, ddpWrap, ddpBounds)),
		question("5041/7.1/no-right-to-write", both, FlagReadOnly, "DDP-5041-7.1-14",
			"A Write to memory that does not allow it is an error: RDMAP's for the access right, or DDP's for the STag.",
			wrong(func(s *session) segment {
				return tagged(opWrite, s.record.ReadOnly.STag, s.record.ReadOnly.TO, []byte("no right"))
			}, rdmapAccess, ddpInvalidSTag)),
		question("5041/7.1/second-segment-wrong", both, FlagMemory, "DDP-5041-7.1-12 DDP-5041-7.2-4",
			"A Write whose second segment is out of bounds is an error, though its first one is not.", func(s *session) {
				s.start()
				s.alive()
				first := s.put(uint64(s.record.Region.Len)-4, []byte("good"))
				first.ddp &^= ddpLast
				s.send(first, s.put(uint64(s.record.Region.Len), []byte("beyond")))
				s.wantTerminate(ddpBounds)
			}),
		question("5041/7.1/dropped-after-error", both, FlagMemory, "DDP-5041-7.1-22 DDP-5041-7.1-23 RDMAP-5040-7.1-7",
			"After an error everything is ignored: a second error is not reported, and a Send is not delivered.", func(s *session) {
				s.start()
				s.alive()
				s.send(tagged(opWrite, s.otherSTag(), 0, []byte("first")), s.sends("not delivered"),
					untagged(opSend, 77, 1, []byte("second")))
				s.wantTerminate(ddpInvalidSTag)
			}),
	}
}

// reading reads n bytes from offset off of the region, to a sink STag without memory.
func reading(off uint64, n int, stag uint32, to uint64) func(*session) {
	return func(s *session) {
		s.start()
		s.send(s.put(0, pattern(MinRegion)))
		r := s.record.Region
		s.send(s.readOf(stag, to, uint32(n), r.STag, r.TO+off))
		s.wantResponse(stag, to, pattern(MinRegion)[off:off+uint64(n)])
		s.alive()
	}
}

// wrongRead sends a Read Request of 8 bytes that the peer must not answer.
func wrongRead(change func(*session, *Region), codes ...code) func(*session) {
	return wrong(func(s *session) segment {
		source := s.record.Region
		change(s, &source)
		return s.readOf(1, 0, 8, source.STag, source.TO)
	}, codes...)
}

func reads() []Case {
	list := []Case{
		question("5040/5.2.1/length-0", both, FlagMemory, "RDMAP-5040-5.2.1-15 RDMAP-5040-5.2.1-18",
			"A Read of length 0 is answered by a Read Response of length 0.", reading(0, 0, 0x11223344, 0x55)),
		question("5040/5.2.1/length-0-of-no-stag", both, 0, "RDMAP-5040-5.2.1-17 RDMAP-5040-5.2.1-18",
			"STag and TO of a Read of length 0 are ignored.", func(s *session) {
				s.start()
				s.send(s.readOf(5, 6, 0, 0xFFFFFFFF, 1<<64-1))
				s.wantResponse(5, 6, nil)
				s.alive()
			}),
		question("5040/4.4/sink-copied", both, FlagMemory, "RDMAP-5040-4.4-7 RDMAP-5040-4.4-8",
			"STag and TO of the sink come back unchanged, whatever they are.", reading(8, 40, 0xFFFFFFFF, 0xFEDCBA9876543210)),
		question("5040/4.4/odd-offsets", both, FlagMemory, "RDMAP-5040-4.4-9 RDMAP-5040-4.4-10",
			"A Read may begin at any TO of source and sink.", reading(1019, 31, 9, 13)),
		question("5040/5.2.2/in-order", both, FlagMemory, "RDMAP-5040-5.2.1-10 RDMAP-5040-5.2.2-8 RDMAP-5040-5.5-22",
			"Reads are answered in the order of their arrival.", func(s *session) {
				s.start()
				r := s.record.Region
				s.send(s.put(0, pattern(MinRegion)))
				n := uint32(min(4, s.peerIRD()))
				var list []segment
				for i := range n {
					list = append(list, s.readOf(i+1, uint64(i), 400-100*i, r.STag, r.TO+uint64(i)))
				}
				s.send(list...)
				for i := range n {
					s.wantResponse(i+1, uint64(i), pattern(MinRegion)[i:400-99*i])
				}
			}),
		question("5040/5.5/read-after-write", both, FlagMemory, "RDMAP-5040-5.5-12 RDMAP-5040-5.5-19",
			"A Read that follows a Write sees the bytes of the Write.", func(s *session) {
				s.start()
				r := s.record.Region
				for i := range 10 {
					p := []byte(fmt.Sprintf("%016d", i))
					s.send(s.put(64, p), s.readOf(1, 0, 16, r.STag, r.TO+64))
					s.wantResponse(1, 0, p)
				}
			}),
		question("5040/5.2.1/takes-no-receive", both, FlagMemory, "RDMAP-5040-5.2.1-3 RDMAP-5040-5.2.1-4 RDMAP-5040-5.2.1-5 DDP-5041-4.3-17",
			"Read Requests have their own numbers and use no receive buffer of the program.", func(s *session) {
				s.start()
				for range 3 * MinReceives {
					s.wantMemory(0, s.filled(16))
				}
				s.alive()
			}),
		question("5040/7.2/read-invalid-stag", both, FlagMemory, "RDMAP-5040-4.8-9 RDMAP-5040-5.2.1-16 RDMAP-5040-7.2-9",
			"A Read of an STag that does not exist is an error.",
			wrongRead(func(s *session, r *Region) { r.STag = s.otherSTag() }, rdmapInvalidSTag)),
		question("5040/7.2/read-beyond-end", both, FlagMemory, "RDMAP-5040-4.8-10 RDMAP-5040-7.2-11",
			"A Read beyond the end of the region is an error.",
			wrongRead(func(_ *session, r *Region) { r.TO += uint64(r.Len) }, rdmapBounds)),
		question("5040/7.2/read-across-end", both, FlagMemory, "RDMAP-5040-4.8-10 RDMAP-5040-7.2-12",
			"A Read with only its last byte beyond the end of the region is an error.",
			wrongRead(func(_ *session, r *Region) { r.TO += uint64(r.Len) - 7 }, rdmapBounds)),
		question("5040/7.2/read-before-start", both, FlagMemory, "RDMAP-5040-4.8-10 RDMAP-5040-7.2-11",
			"A Read that begins one byte before the region is an error.",
			wrongRead(func(s *session, r *Region) {
				if r.TO == 0 {
					s.skip("the peer's region begins at TO 0")
				}
				r.TO--
			}, rdmapBounds)),
		question("5040/7.2/read-wraps", both, FlagMemory, "RDMAP-5040-4.8-13 RDMAP-5040-7.2-13",
			"A Read whose source TO wraps with its length is an error, of the wrap or of the bounds: the RFC gives neither precedence.",
			wrongRead(func(_ *session, r *Region) { r.TO = 1<<64 - 4 }, rdmapWrap, rdmapBounds)),
		question("5040/7.2/no-right-to-read", both, FlagWriteOnly, "RDMAP-5040-4.8-11 RDMAP-5040-7.2-14",
			"A Read of memory that does not allow it is an error.",
			wrongRead(func(s *session, r *Region) { *r = s.record.WriteOnly }, rdmapAccess)),
		question("5040/7.2/read-msn", both, FlagMemory, "RDMAP-5040-7.2-6 DDP-5041-7.2-10",
			"A Read Request with an MSN far ahead is an error.",
			wrong(func(s *session) segment {
				r := s.record.Region
				g := s.readOf(1, 0, 8, r.STag, r.TO)
				g.msn += 0x40000000
				return g
			}, ddpMSNRange, ddpNoBuffer)),
		question("5040/4.4/short-header", both, FlagMemory, "RDMAP-5040-4.4-1 RDMAP-5040-5.2.1-6",
			"A Read Request of 27 bytes is malformed: the stream ends; no RFC states the code.",
			endsWith(func(s *session) segment {
				r := s.record.Region
				g := s.readOf(1, 0, 8, r.STag, r.TO)
				g.payload = g.payload[:27]
				return g
			})),
		question("5040/4.2/read-on-send-queue", both, FlagMemory, "RDMAP-5040-7.2-7 RDMAP-5040-5.2.1-7",
			"A Read Request on queue 0 is an error.",
			wrong(func(s *session) segment {
				r := s.record.Region
				return untagged(opReadRequest, qnSend, s.msn(qnSend), readHeader(1, 0, 8, r.STag, r.TO))
			}, rdmapOpcode, ddpInvalidQN)),
	}
	for _, n := range []int{1, 3, 1000, MinRegion} {
		list = append(list, question(fmt.Sprintf("5040/5.2.2/length-%d", n), both, FlagMemory,
			"RDMAP-5040-5.2-1 RDMAP-5040-5.2.1-14 RDMAP-5040-4.5-1 RDMAP-5040-5.2.2-3 RDMAP-5040-5.2.2-10",
			"A Read is answered by one Read Response with exactly the requested bytes.", reading(0, n, 0x5EC7A601, 0x1122334455667788)))
	}
	return list
}

// filled writes n bytes to the beginning of the region, and returns them.
func (s *session) filled(n int) []byte {
	p := pattern(n)
	s.send(s.put(0, p))
	return p
}

// peerIRD returns how many Reads the peer answers at a time, or 1 if the peer has not stated it.
func (s *session) peerIRD() int {
	theirs := s.request
	if s.initiator() {
		theirs = s.reply
	}
	if n := theirs.ird(); n > 0 && n != depthULP {
		return n
	}
	return 1
}

// endsWith sends one incorrect segment for which the RFCs define no code.
func endsWith(make func(*session) segment) func(*session) {
	return func(s *session) {
		s.start()
		s.alive()
		if s.err == nil {
			s.send(make(s), untagged(opSend, qnSend, s.txMSN[qnSend]+1, []byte("behind it")))
			s.wantEnd()
		}
	}
}

func invalidation() []Case {
	return []Case{
		question("5040/5.3/send-with-invalidate", both, FlagMemory|FlagInvalidate, "RDMAP-5040-1.2-3 RDMAP-5040-5.3-17 RDMAP-5040-4.1-3",
			"A Send with Invalidate is delivered, and then its STag is invalid for Writes.", func(s *session) {
				invalidates(s, opSendInv)
				s.send(s.put(0, []byte("revoked")))
				s.wantTerminate(ddpInvalidSTag)
			}),
		question("5040/5.3/send-with-se-and-invalidate", both, FlagMemory|FlagInvalidate, "RDMAP-5040-1.2-3 RDMAP-5040-5.3-17 RDMAP-5040-4.1-12",
			"A Send with Solicited Event and Invalidate is delivered, and then its STag is invalid for Reads.", func(s *session) {
				invalidates(s, opSendSEInv)
				r := s.record.Region
				s.send(s.readOf(1, 0, 8, r.STag, r.TO))
				s.wantTerminate(rdmapInvalidSTag)
			}),
		question("5040/5.3/write-before-invalidate", both, FlagMemory|FlagInvalidate, "RDMAP-5040-5.3-19",
			"Writes sent before a Send with Invalidate of their STag are placed.", func(s *session) {
				s.start()
				s.alive()
				s.send(s.put(0, pattern(64)), s.invalidate(opSendInv, s.record.Region.STag))
				s.wantSend("invalidate")
				s.alive()
			}),
		question("5040/5.3/invalidate-unknown", both, 0, "RDMAP-5040-5.3-18 RDMAP-5040-7.2-4 RDMAP-5040-4.8-14 RDMAP-5040-4.8-20",
			"A Send with Invalidate of an STag that does not exist ends the stream with the code 0x09; RFC 5040 has it in two error types.", func(s *session) {
				s.start()
				s.alive()
				s.send(s.invalidate(opSendInv, s.otherSTag()))
				s.wantTerminate(code{0, 1, 9}, code{0, 2, 9})
			}),
	}
}

func (s *session) invalidate(op byte, stag uint32) segment {
	g := s.sends("invalidate")
	g.rdmap, g.inv = version<<6|op, stag
	return g
}

func invalidates(s *session, op byte) {
	s.start()
	s.wantMemory(0, s.filled(8))
	s.send(s.invalidate(op, s.record.Region.STag))
	s.wantSend("invalidate")
}
