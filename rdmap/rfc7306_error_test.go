package rdmap

import (
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// Tests of RFC 7306 §8, and of the fields that a receiver must ignore.

// extensionSegments are one good segment of each of the four messages, first on their queues.
func extensionSegments(r *ddp.Region) map[Opcode][]byte {
	request := AtomicRequest{ID: 1, STag: r.STag(), TO: r.TO(), Data: 1}
	return map[Opcode][]byte{
		OpImmediate:      untagged(OpImmediate, 0, 1, make([]byte, 8)),
		OpImmediateSE:    untagged(OpImmediateSE, 0, 1, make([]byte, 8)),
		OpAtomicRequest:  untagged(OpAtomicRequest, 1, 1, request.AppendTo(nil)),
		OpAtomicResponse: untagged(OpAtomicResponse, 3, 1, AtomicResponse{ID: 1}.AppendTo(nil)),
	}
}

// extensionTarget is a side that takes all of them.
func extensionTarget(t *testing.T) (*side, *ddp.Region) {
	x := newPair(t, params{})
	r, _ := x.b.register(8, allAccess)
	x.b.recv(1, 8)
	x.b.post(WorkRequest{ID: 2, Op: WorkFetchAdd})
	x.b.transmit()
	x.b.wire, x.b.out = nil, nil
	return x.b, r
}

// "On incoming Atomic Requests, Atomic Responses, Immediate Data, and Immediate Data with Solicited
// Event, the following MUST be validated: … The DDP layer MUST validate all DDP Segment fields. …
// The RDMA OpCode MUST be valid. … The RDMA Version MUST be valid." One octet of a good segment is
// changed. "the Error Type, Error Code, and Terminated DDP Header fields are included in the
// Terminate Message, but the Terminated RDMA Header field is set to zero", for which read: absent.
//
// RDMAPX-7306-8.1-1, RDMAPX-7306-8.1-3, RDMAPX-7306-8.2-1 to RDMAPX-7306-8.2-4, RDMAPX-7306-10.2-1
func TestRFC7306_8_2_EveryFieldOfEveryMessage(t *testing.T) {
	for op := OpImmediate; op <= OpAtomicResponse; op++ {
		qn := byte(op.Queue())
		tests := []struct {
			desc  string
			at    int
			value byte
			want  string // layer and error type, error code
		}{
			{"as it is", 0, 0x41, ""},
			{"reserved bits of DDP", 0, 0x7D, ""},
			{"reserved bits of RDMAP", 1, 0x70 | byte(op), ""},
			{"DV 0", 0, 0x40, "1206"}, {"DV 2", 0, 0x42, "1206"}, {"DV 3", 0, 0x43, "1206"},
			{"RV 0", 1, byte(op), "0205"}, {"RV 2", 1, 0x80 | byte(op), "0205"}, {"RV 3", 1, 0xC0 | byte(op), "0205"},
			{"Tagged", 0, 0xC1, "0206"},
			{"opcode of nothing", 1, 0x4C, "0206"},
			{"QN 4", 9, 4, "1201"}, {"QN 2^24 more", 6, 1, "1201"},
			{"MSN 0", 13, 0, "1203"}, {"MSN 2", 13, 2, "1203"}, {"MSN 2^24 more", 10, 1, "1203"},
			{"MO 1", 17, 1, "1204"}, {"MO 2^24", 14, 1, "1204"},
		}
		for other := range byte(4) {
			if other != qn {
				tests = append(tests, struct {
					desc  string
					at    int
					value byte
					want  string
				}{fmt.Sprintf("QN %d", other), 9, other, "0206"})
			}
		}
		for _, tt := range tests {
			t.Run(fmt.Sprintf("%v, %s", op, tt.desc), func(t *testing.T) {
				s, r := extensionTarget(t)
				u := extensionSegments(r)[op]
				u[tt.at] = tt.value
				s.inject(u)
				if tt.want == "" {
					if err := s.qp.Err(); err != nil {
						t.Errorf("refused: %v", err)
					}
					return
				}
				n := ddp.UntaggedHeaderLen
				if ddp.IsTagged(u) {
					n = ddp.TaggedHeaderLen
				}
				h := s.wantTerminate(fmt.Sprintf("%s c000 %04x %x", tt.want, len(u), u[:n]))
				if len(h) != 6+n {
					t.Errorf("Terminate Header of %d octets, want %d", len(h), 6+n)
				}
				s.wantOut("Terminate")
			})
		}
	}
}

// "Invalidate STag: Set to zero by the sender, ignored by the receiver."
//
// RDMAPX-7306-4.1-8
func TestRFC7306_4_1_InvalidateSTagIsIgnored(t *testing.T) {
	for op := OpImmediate; op <= OpAtomicResponse; op++ {
		s, r := extensionTarget(t)
		u := extensionSegments(r)[op]
		victim, _ := s.register(8, allAccess)
		n := regions(s.domain)
		copy(u[2:6], []byte{byte(victim.STag() >> 24), byte(victim.STag() >> 16), byte(victim.STag() >> 8), byte(victim.STag())})
		s.inject(u)
		if got := regions(s.domain); got != n || s.qp.Err() != nil {
			t.Errorf("%v: %d of %d Regions are valid afterwards, error %v", op, got, n, s.qp.Err())
		}
		switch op {
		case OpAtomicRequest:
			s.transmit()
			s.wantOut("Atomic Response")
		case OpAtomicResponse:
			wantDone(t, "the atomic", s.sendCQ, "2 success")
		default:
			if all := wantDone(t, "receiver", s.recvCQ, "1 success"); len(all) == 1 && all[0].HasInvalidated {
				t.Errorf("%v: completion %v", op, all[0])
			}
		}
	}
}

// receiveAtOnce takes the peer's segments: all are placed before any message is delivered.
func (s *side) receiveAtOnce() {
	for _, u := range s.peer.wire {
		s.rx.Place(s.off, u)
		s.off += uint64(len(u)) + 6
	}
	s.peer.wire = nil
	for s.rx.Deliver(s.off) {
		s.qp.Handle(s.rx.Message())
	}
	if err := s.rx.Err(); err != nil {
		s.qp.Fail(err)
	}
}

// "The Responder MUST ensure that a sufficient number of Untagged Buffers are available on the RDMA
// Read Request Queue … to support the maximum number of Atomic Operation Requests negotiated by the
// ULP in addition to the maximum number of RDMA Read Requests", where one number is negotiated for
// both together; "The Requester MUST ensure that a sufficient number of Untagged Buffers are
// available on the RDMA Atomic Response Queue": the maximum number of outstanding requests arrive
// at once, of one kind or mixed, again and again.
//
// RDMAPX-7306-5.2.2-8, RDMAPX-7306-5.2.2-9
func TestRFC7306_5_2_2_BuffersForAllOutstanding(t *testing.T) {
	for _, depth := range []int{1, 2, 16} {
		for every := range 3 { // every second, third request is a Read; 0: none
			x := newPair(t, params{ird: depth, ord: depth})
			r, _ := x.b.register(8, allAccess)
			for range 3 {
				want := ""
				for i := range depth {
					wr := WorkRequest{ID: uint64(i), Op: WorkFetchAdd, Remote: handle(r)}
					if every > 0 && i%(every+1) == 0 {
						wr.Op = WorkRead
					}
					x.a.post(wr)
					if i > 0 {
						want += ", "
					}
					want += fmt.Sprintf("%d success", i)
				}
				x.a.transmit()
				if len(x.a.out) != depth {
					t.Fatalf("%d requests at once, want %d", len(x.a.out), depth)
				}
				x.b.receiveAtOnce()
				x.b.transmit()
				x.a.receiveAtOnce()
				wantDone(t, fmt.Sprintf("depth %d", depth), x.a.sendCQ, want)
				x.a.out = nil
			}
			for range depth + 1 { // the response to one more would find no buffer
				x.a.post(WorkRequest{Op: WorkCmpSwap, Remote: handle(r)})
			}
			x.a.transmit()
			if len(x.a.out) != depth {
				t.Errorf("%d atomics at once, want %d", len(x.a.out), depth)
			}
		}
	}
}
