package spec

import (
	"encoding/binary"
	"fmt"
)

const all = 1<<64 - 1

// swap returns a CmpSwap that compares nothing: it sets the word.
func (s *session) swap(off, value uint64) atomic {
	return atomic{op: cmpSwap, to: off, data: value, mask: all}
}

func add(off, n, mask uint64) atomic {
	return atomic{op: fetchAdd, to: off, data: n, mask: mask, compMask: all}
}

// atomically returns the next Atomic Request. a.to counts from the start of the region.
func (s *session) atomically(a atomic) segment {
	a.stag, a.to = s.record.Region.STag, s.record.Region.TO+a.to
	msn := s.msn(qnRead)
	a.id = 0x1D000000 + msn
	return untagged(opAtomicRequest, qnRead, msn, a.octets())
}

// wantOriginal reads the Atomic Response to our request.
func (s *session) wantOriginal(request segment, value uint64) {
	m, ok := s.message()
	if s.err != nil {
		return
	}
	want := binary.BigEndian.AppendUint64(append([]byte(nil), request.payload[4:8]...), value)
	if !ok || m.op() != opAtomicResponse || string(m.payload) != string(want) {
		s.fail(fmt.Sprintf("an Atomic Response of the bytes %x", want), "%s, bytes %x", s.came(m, ok), m.payload)
	}
}

// does sends an Atomic Request and expects the word's previous value in the answer.
func (s *session) does(a atomic, original uint64) {
	g := s.atomically(a)
	s.send(g)
	s.wantOriginal(g, original)
}

// sets sets a word whose value is unknown.
func (s *session) sets(off, value uint64) {
	s.send(s.atomically(s.swap(off, value)))
	if m, ok := s.message(); s.err == nil && (!ok || m.op() != opAtomicResponse) {
		s.fail("an Atomic Response", "%s", s.came(m, ok))
	}
}

// steps runs atomics on the word at offset 64. Its value is first before them and last after them.
func steps(first, last uint64, list ...func(*session)) func(*session) {
	return func(s *session) {
		s.start()
		s.sets(64, first)
		for _, step := range list {
			step(s)
		}
		s.does(add(64, 0, 0), last)
		s.alive()
	}
}

func step(a atomic, original uint64) func(*session) {
	return func(s *session) { s.does(a, original) }
}

// wrongAtomic sends an Atomic Request that the peer must not carry out.
func wrongAtomic(change func(*session, *atomic), codes ...code) func(*session) {
	return wrong(func(s *session) segment {
		msn := s.msn(qnRead)
		a := add(64, 1, 0)
		a.id, a.stag, a.to = msn, s.record.Region.STag, s.record.Region.TO+64
		change(s, &a)
		return untagged(opAtomicRequest, qnRead, msn, a.octets())
	}, codes...)
}

func atomics() []Case {
	const able = FlagMemory | FlagAtomic
	compare := func(compare, compMask, data, mask uint64) atomic {
		return atomic{op: cmpSwap, to: 64, data: data, mask: mask, compare: compare, compMask: compMask}
	}
	return []Case{
		question("7306/5.1.1/fetch-add", both, able, "RDMAPX-7306-5.1.1-1 RDMAPX-7306-5.1.1-3 RDMAPX-7306-5.2.1-12 RDMAPX-7306-5.2.2-1 RDMAPX-7306-5.2.2-6",
			"FetchAdd returns the previous value, with the identifier of the request, and adds modulo 2^64.",
			steps(1<<64-3, 7, step(add(64, 10, 0), 1<<64-3))),
		question("7306/5.1.1/fetch-add-fields", both, able, "RDMAPX-7306-5.1.1-2 RDMAPX-7306-5.1.1-4",
			"A bit of the mask marks the top of a field: no carry crosses it.",
			steps(0x00000001_FFFFFFFF, 0x00000002_00000001, step(add(64, 0x00000001_00000002, 1<<31), 0x00000001_FFFFFFFF))),
		question("7306/5.1.1/fetch-add-nothing", both, able, "RDMAPX-7306-1.1-4",
			"FetchAdd of 0 changes nothing.", steps(42, 42, step(add(64, 0, 0), 42))),
		question("7306/5.1.2/cmp-swap-match", both, able, "RDMAPX-7306-5.1.2-1 RDMAPX-7306-5.1.2-4 RDMAPX-7306-5.1.2-5",
			"CmpSwap stores its data if the word is as expected.",
			steps(5, 6, step(compare(5, all, 6, all), 5))),
		question("7306/5.1.2/cmp-swap-mismatch", both, able, "RDMAPX-7306-5.1.2-3 RDMAPX-7306-5.1.2-4",
			"CmpSwap stores nothing if the word is not as expected, and returns its value.",
			steps(5, 5, step(compare(4, all, 6, all), 5))),
		question("7306/5.1.2/cmp-swap-masks", both, able, "RDMAPX-7306-5.1.2-1 RDMAPX-7306-5.1.2-2",
			"CmpSwap compares the bits of one mask and stores those of the other.",
			steps(0xAAAA_BBBB, 0xAAAA_CCBB, step(compare(0x0000_BB00, 0xFF00, 0xFFFF_CCFF, 0xFF00), 0xAAAA_BBBB))),
		question("7306/5.2.1/ignored-fields", both, able, "RDMAPX-7306-5.2.1-9 RDMAPX-7306-5.2.1-15",
			"The reserved bits of an Atomic Request are ignored, and so are the compare fields of a FetchAdd.",
			steps(1, 3, step(atomic{op: fetchAdd | 0xFFFFFFF0, to: 64, data: 2, compare: 99, compMask: 1}, 1))),
		question("7306/5.4/in-order", both, able, "RDMAPX-7306-5.2.1-26 RDMAPX-7306-5.2.2-12 RDMAPX-7306-5.4-9 RDMAPX-7306-5.2-1",
			"Atomics, and Reads among them, are executed and answered in the order of their arrival.", func(s *session) {
				s.start()
				s.sets(64, 100)
				n := min(4, s.peerIRD())
				var list []segment
				for range n {
					list = append(list, s.atomically(add(64, 1, 0)))
				}
				s.send(list...)
				for i, g := range list {
					s.wantOriginal(g, 100+uint64(i))
				}
				s.wantMemory(0, s.filled(8))
				s.does(add(64, 0, 0), 100+uint64(n))
			}),
		question("7306/8.2/misaligned", both, able, "RDMAPX-7306-8.2-6 RDMAPX-7306-8.2-7 RDMAPX-7306-5.1.1-6 RDMAPX-7306-5.1.1-9",
			"An atomic on an address that is not a multiple of 8 is an error.",
			wrongAtomic(func(_ *session, a *atomic) { a.to += 4 }, rdmapCatastrophic)),
		question("7306/8.2/invalid-stag", both, able, "RDMAPX-7306-8.2-8",
			"An atomic on an STag that does not exist is an error.",
			wrongAtomic(func(s *session, a *atomic) { a.stag = s.otherSTag() }, rdmapInvalidSTag)),
		question("7306/8.2/beyond-end", both, able, "RDMAPX-7306-8.2-8",
			"An atomic beyond the end of the region is an error.",
			wrongAtomic(func(s *session, a *atomic) { a.to = s.record.Region.TO + uint64(s.record.Region.Len+7)&^7 }, rdmapBounds)),
		question("7306/8.2/no-right", both, able|FlagReadOnly, "RDMAPX-7306-8.2-8",
			"An atomic on memory that allows only Reads is an error.",
			wrongAtomic(func(s *session, a *atomic) { a.stag, a.to = s.record.ReadOnly.STag, s.record.ReadOnly.TO }, rdmapAccess)),
		question("7306/5.2.1/reserved-operation", both, able, "RDMAPX-7306-5.2.1-22 RDMAPX-7306-5.2.1-11",
			"An atomic operation that does not exist is an error, for which the RFC has no code.",
			wrongAtomic(func(_ *session, a *atomic) { a.op = 1 })),
		question("7306/4.1/atomics-not-offered", both, 0, "RDMAPX-7306-1.1-3",
			"A peer that offers no atomics has no such opcode.", func(s *session) {
				notOffered(FlagAtomic, func(s *session) segment {
					return untagged(opAtomicRequest, qnRead, s.msn(qnRead), add(0, 0, 0).octets())
				})(s)
			}),
	}
}

// notOffered sends a message that the peer's record does not offer.
func notOffered(flag Flags, make func(*session) segment) func(*session) {
	return func(s *session) {
		s.start()
		if s.err == nil && (!s.known || s.record.Flags&flag != 0) {
			s.skip("the peer has them, or has no record that says so")
			return
		}
		s.alive()
		if s.err == nil {
			s.send(make(s))
			s.wantTerminate(rdmapOpcode)
		}
	}
}

// immediately returns the next Immediate Data.
func (s *session) immediately(op byte, payload string) segment {
	g := s.sends(payload)
	g.rdmap = version<<6 | op
	return g
}

func wrongImmediate(payload string) func(*session) {
	return func(s *session) {
		s.start()
		s.alive()
		s.send(s.immediately(opImmediate, payload))
		s.wantTerminate()
	}
}

func immediate() []Case {
	return []Case{
		question("7306/6.2/immediate", both, FlagImmediate, "RDMAPX-7306-6.1-2 RDMAPX-7306-6.2-1 RDMAPX-7306-6-1",
			"Immediate Data is delivered with its 8 bytes in order.", func(s *session) {
				s.start()
				s.send(s.immediately(opImmediate, "12345678"))
				s.wantSend("12345678")
			}),
		question("7306/6.2/immediate-with-se", both, FlagImmediate, "RDMAPX-7306-4.1-4 RDMAPX-7306-6.1-2",
			"Immediate Data with Solicited Event is delivered like Immediate Data.", func(s *session) {
				s.start()
				s.send(s.immediately(opImmediateSE, "abcdefgh"))
				s.wantSend("abcdefgh")
			}),
		question("7306/6.3/among-sends", both, FlagImmediate, "RDMAPX-7306-6.3-3 RDMAPX-7306-6.3-4 RDMAPX-7306-6.3-5 RDMAPX-7306-7-5",
			"Immediate Data shares queue 0 with the Sends, and is delivered in order with them.", func(s *session) {
				s.start()
				s.send(s.sends("before"), s.immediately(opImmediate, "between."), s.sends("after"))
				s.wantSend("before")
				s.wantSend("between.")
				s.wantSend("after")
			}),
		question("7306/6.3/behind-write", both, FlagImmediate|FlagMemory, "RDMAPX-7306-6-2 RDMAPX-7306-7-6",
			"Immediate Data after a Write is delivered, and the Write is placed.", func(s *session) {
				s.start()
				s.send(s.put(0, pattern(32)), s.immediately(opImmediate, "written."))
				s.wantSend("written.")
				s.wantMemory(0, pattern(32))
			}),
		question("7306/6.3/seven-octets", both, FlagImmediate, "RDMAPX-7306-6.3-9 RDMAPX-7306-6.1-3",
			"Immediate Data of 7 bytes is an error, for which the RFC has no code.", wrongImmediate("1234567")),
		question("7306/6.3/nine-octets", both, FlagImmediate, "RDMAPX-7306-6.3-9 RDMAPX-7306-6.1-3",
			"Immediate Data of 9 bytes is an error, for which the RFC has no code.", wrongImmediate("123456789")),
		question("7306/4.1/immediate-not-offered", both, 0, "RDMAPX-7306-1.1-3",
			"A peer that offers no Immediate Data has no such opcode.", func(s *session) {
				notOffered(FlagImmediate, func(s *session) segment { return s.immediately(opImmediate, "12345678") })(s)
			}),
	}
}
