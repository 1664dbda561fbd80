package rdmap

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// Tests of RFC 5042 §5 and §6.1 to §6.3: which memory a peer can reach, with every message that can
// name memory.

// An attack is a message that names an STag.
type attack struct {
	name string
	// segment returns the message; n is the number of octets that it accesses, 8 for an atomic.
	segment func(s ddp.STag, to uint64, n int) []byte
	tagged  bool // DDP finds the fault, not RDMAP
}

func attacks() []attack {
	atomic := func(op AtomicOp) func(s ddp.STag, to uint64, n int) []byte {
		return func(s ddp.STag, to uint64, _ int) []byte {
			r := AtomicRequest{Op: op, ID: 1, STag: s, TO: to, Data: 1, Mask: allBits}
			return untagged(OpAtomicRequest, 1, 1, r.AppendTo(nil))
		}
	}
	return []attack{
		{"RDMA Write", func(s ddp.STag, to uint64, n int) []byte {
			return tagged(OpWrite, s, to, bytes.Repeat([]byte{0xAA}, n))
		}, true},
		{"RDMA Read", func(s ddp.STag, to uint64, n int) []byte {
			r := ReadRequest{SinkSTag: 9, Size: uint32(n), SourceSTag: s, SourceTO: to}
			return untagged(OpReadRequest, 1, 1, r.AppendTo(nil))
		}, false},
		{"FetchAdd", atomic(AtomicFetchAdd), false},
		{"CmpSwap", atomic(AtomicCmpSwap), false},
	}
}

// "if the Remote Peer sends an invalid STag to the Local Peer, per the DDP and RDMAP
// specifications, the Stream must be torn down." "If the Protection Domains do not match, access to
// the buffer is denied, an error is generated, and the RDMAP Stream associated with the attacking
// Stream is terminated." "any attempt to use that STag on a different Stream will result in an
// error, and the RDMAP Stream is terminated." All this applies to atomics, too (RFC 7306 §9).
//
// SEC-5042-5.1.1-1, SEC-5042-6.1.1-1, SEC-5042-6.1.1-2, SEC-5042-6.1.1-5, SEC-5042-6.1.1-6,
// RDMAPX-7306-9-1
func TestRFC5042_6_1_1_STagOfAnotherStream(t *testing.T) {
	for _, tt := range []struct {
		desc                      string
		domain, stream            bool // of the Region: the same as the attacked stream's
		gone                      bool
		ddpCode, code, invalidate TerminateCode // for a Write, for a request, for an invalidation
	}{
		{"never valid", true, true, true, 0x1100, codeInvalidSTag, codeInvalidate},
		{"another domain, another stream", false, false, false, 0x1100, codeInvalidSTag, codeInvalidate},
		{"another domain, a stream of the same number", false, true, false, 0x1100, codeInvalidSTag, codeInvalidate},
		{"another stream of the domain", true, false, false, 0x1102, codeNotAssociated, codeProtectedInvalidate},
	} {
		setup := func(t *testing.T) (x *pair, r *ddp.Region, b, before []byte) {
			x = newPair(t, params{}) // b is stream 2
			d, stream := x.b.domain, uint64(2)
			if !tt.domain {
				d = new(ddp.Domain)
			}
			if !tt.stream {
				stream = 1
			}
			b = aligned(8)
			r, err := d.Register(b, allAccess, stream)
			if err != nil {
				t.Fatal(err)
			}
			if tt.gone {
				r.Deregister()
			}
			x.b.recv(11, 8)
			return x, r, b, bytes.Clone(b)
		}
		for _, a := range attacks() {
			t.Run(tt.desc+", "+a.name, func(t *testing.T) {
				x, r, b, before := setup(t)
				x.b.inject(a.segment(r.STag(), r.TO(), 8))
				if a.tagged {
					x.b.wantTerminate(fmt.Sprintf("%04x c000", uint16(tt.ddpCode)))
				} else {
					x.b.wantTerminate(fmt.Sprintf("%04x", uint16(tt.code)))
				}
				x.b.wantOut("Terminate")
				wantDone(t, "the stream is over", x.b.recvCQ, "11 flushed")
				if !bytes.Equal(b, before) {
					t.Errorf("memory %x", b)
				}
				if x.b.qp.Err() == nil {
					t.Error("no error is surfaced")
				}
			})
		}
		t.Run(tt.desc+", Send with Invalidate", func(t *testing.T) {
			x, r, _, _ := setup(t)
			h := ddp.UntaggedHeader{Last: true, RsvdULP: Control(OpSendInvalidate), RsvdULP32: uint32(r.STag()), MSN: 1}
			x.b.inject(h.AppendTo(nil))
			x.b.wantTerminate(fmt.Sprintf("%04x c000", uint16(tt.invalidate)))
			wantDone(t, "the stream is over", x.b.recvCQ, "11 general error")
			if _, err := r.Window(0, 8, ddp.RemoteRead); (err == nil) == tt.gone {
				t.Errorf("afterwards a window of the Region: %v", err)
			}
		})
	}
}

// "A Protection Domain (PD) is a local construct to the RDMA implementation, and never visible over
// the wire": the same traffic, in one Domain or in two, is the same to the octet.
//
// SEC-5042-2.2.4-1
func TestRFC5042_2_2_4_DomainIsNotOnTheWire(t *testing.T) {
	traffic := func(x *pair) (all [][]byte) {
		r, err := x.b.domain.Register(aligned(64), allAccess, x.b.stream())
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			x.b.recv(1, 64)
		}
		h := handle(r)
		for _, wr := range []WorkRequest{
			{Op: WorkWrite, Data: pattern(30, 1), Remote: h}, {Op: WorkSend, Data: pattern(30, 2)}, {Op: WorkImmediate},
			{Op: WorkRead, Remote: h}, {Op: WorkFetchAdd, Remote: h}, {Op: WorkSendInvalidate, Invalidate: r.STag(), Fence: true},
		} {
			x.a.post(wr)
		}
		x.run()
		x.b.qp.Fail(errTest)
		x.b.transmit()
		return append(x.a.first, x.b.first...)
	}
	fixed := func() *ddp.Domain { return &ddp.Domain{Random: fixedKeys(0x12345601)} }
	one := newPair(t, params{domain: fixed()}) // both ends in one Domain
	want := traffic(one)
	if len(want) != 9 {
		t.Fatalf("%d messages, want 9", len(want))
	}
	two := newPair(t, params{domain: fixed()})
	two.a.domain = new(ddp.Domain) // each in its own; no memory of a's is on the wire
	two.a.qp = NewQP(Config{SendCQ: two.a.sendCQ, RecvCQ: two.a.recvCQ, Domain: two.a.domain, QPNum: 77})
	two.a.rx = ddp.NewReceiver(two.a.qp.Start(StartParams{IRD: 16, ORD: 16, Extensions: true}))
	got := traffic(two)
	for i := range want {
		if i >= len(got) || !bytes.Equal(got[i], want[i]) {
			t.Fatalf("message %d differs:\n%x\n%x", i, got, want)
		}
	}
}

// The attack of §6.2.1 by an "RDMA Read Response to memory outside of the valid length range of the
// Data Buffer": every range in and around the sink, which lies in the middle of registered memory.
// Only the whole answer at the right place succeeds.
//
// SEC-5042-6.2.1-2, SEC-5042-6.2.1-3
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5042_6_2_1_ReadResponseBounds(t *testing.T) {
	const size, off, n = 32, 10, 8
	for from := off - 3; from <= off+n+3; from++ {
		for length := 1; length <= n+3; length++ {
			x := newPair(t, params{})
			b := pattern(size, 3)
			if _, err := x.a.domain.Register(b, allAccess, x.a.stream()); err != nil {
				t.Fatal(err)
			}
			x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: b[off : off+n]})
			e := *x.a.qp.sq.at(0)
			x.a.transmit()
			want := bytes.Clone(b)
			x.a.inject(tagged(OpReadResponse, e.sinkSTag, e.sinkTO+uint64(from-off), bytes.Repeat([]byte{0xAA}, length)))
			if from == off && length == n {
				copy(want[off:], bytes.Repeat([]byte{0xAA}, n))
				wantDone(t, "the right answer", x.a.sendCQ, "1 success")
			} else {
				x.a.wantTerminate("1101 c000")
				wantDone(t, "another answer", x.a.sendCQ, "1 local protection error")
			}
			if !bytes.Equal(b[:off], want[:off]) || !bytes.Equal(b[off+n:], want[off+n:]) {
				t.Errorf("[%d, %d): memory %x, want %x", from-off, from-off+length, b, want)
			}
		}
	}
}

// "This is essentially the same attack …, except that an RDMA Read Request is used": for every
// range in and around a Region either exactly its octets go out, or none.
//
// SEC-5042-6.2.1-2, SEC-5042-6.3.1-1
func TestRFC5042_6_3_1_NoProbing(t *testing.T) {
	const size, off, n = 40, 16, 9
	b := aligned(size)
	copy(b, pattern(size, 7))
	for from := off - 9; from <= off+n+2; from++ {
		for length := 1; length <= n+2; length++ {
			x := newPair(t, params{mulpdu: 20}) // the answer has several segments
			r, err := x.b.domain.Register(b[off:off+n], ddp.RemoteRead|ddp.RemoteAtomic, x.b.stream())
			if err != nil {
				t.Fatal(err)
			}
			inside := func(length int) bool { return from >= off && from+length <= off+n }
			for _, a := range attacks()[1:] {
				if a.name != "RDMA Read" && length > 1 {
					continue
				}
				x := newPair(t, params{mulpdu: 20, domain: x.b.domain})
				before := bytes.Clone(b)
				x.b.inject(a.segment(r.STag(), r.TO()+uint64(from)-off, length))
				x.b.transmit()
				var got []byte
				for _, u := range x.b.wire {
					if ddp.IsTagged(u) {
						got = append(got, u[ddp.TaggedHeaderLen:]...)
					}
				}
				switch {
				case a.name != "RDMA Read":
					ok := inside(8) && (from-off)%8 == 0
					if x.b.wire[0][1] != Control(OpAtomicResponse) && ok || x.b.wire[0][1] != Control(OpTerminate) && !ok {
						t.Errorf("%s at %d: answered by %x", a.name, from-off, x.b.wire)
					}
					if ok {
						copy(b, before)
					}
				case inside(length):
					if !bytes.Equal(got, b[from:from+length]) {
						t.Errorf("Read of [%d, %d): %x, want %x", from-off, from-off+length, got, b[from:from+length])
					}
				default:
					x.b.wantOut("Terminate")
					if u := x.b.wire[0]; len(got) > 0 || binary.BigEndian.Uint16(u[18:]) != 0x0101 {
						t.Errorf("Read of [%d, %d): answered by %x", from-off, from-off+length, u)
					}
				}
				if !bytes.Equal(b, before) {
					t.Errorf("%s at %d has changed memory", a.name, from-off)
				}
			}
		}
	}
}

// "revoking remote access when the original data transfer has completed and before it validates the
// contents of the buffer", "either by explicitly revoking remote access rights for the STag …, or
// by checking to make sure the Remote Peer invalidated the STag": the program learns of an
// invalidation. From then on, or from the return of Deregister, no message changes or reads the
// buffer. So "remote read access rights" last no longer than the program wants (§6.3.3).
//
// SEC-5042-6.2.2-1, SEC-5042-6.2.2-2, SEC-5042-6.3.3-1
func TestRFC5042_6_2_2_RevokedBeforeUse(t *testing.T) {
	for _, byPeer := range []bool{true, false} {
		for _, a := range attacks() {
			t.Run(fmt.Sprintf("%s, invalidated by the peer: %t", a.name, byPeer), func(t *testing.T) {
				x := newPair(t, params{})
				r, b := x.b.register(8, allAccess)
				x.b.recv(11, 8)
				x.a.post(WorkRequest{Op: WorkWrite, Data: pattern(8, 1), Remote: handle(r)})
				wr := WorkRequest{Op: WorkSend}
				if byPeer {
					wr.Op, wr.Invalidate = WorkSendInvalidate, r.STag()
				}
				x.a.post(wr)
				x.run()
				all := wantDone(t, "the transfer is complete", x.b.recvCQ, "11 success")
				if len(all) == 1 && (all[0].HasInvalidated != byPeer || byPeer && all[0].Invalidated != r.STag()) {
					t.Errorf("completion %v, STag %v", all[0], r.STag())
				}
				if !byPeer {
					r.Deregister()
				}
				x.b.inject(a.segment(r.STag(), r.TO(), 8))
				if a.tagged {
					x.b.wantTerminate("1100 c000")
				} else {
					x.b.wantTerminate("0100")
				}
				x.b.wantOut("Terminate")
				if !bytes.Equal(b, pattern(8, 1)) {
					t.Errorf("afterwards the buffer has %x", b)
				}
			})
		}
	}
}

// "only an Untagged Data Transfer can cause completion information to be put in the Completion
// Queue" of the one whose memory it is (§2.3.2).
//
// SEC-5042-2.2.6-1
func TestRFC5042_2_2_6_TaggedTransferCompletesNothing(t *testing.T) {
	x := newPair(t, params{mulpdu: 40})
	r, _ := x.b.register(64, allAccess)
	x.b.recv(11, 8)
	for i, op := range []WorkOp{WorkWrite, WorkRead, WorkFetchAdd, WorkCmpSwap, WorkSwap} {
		wr := WorkRequest{ID: uint64(i), Op: op, Remote: handle(r)}
		if !op.isAtomic() {
			wr.Data = make([]byte, 64)
		}
		x.a.post(wr)
	}
	x.run()
	wantDone(t, "sink, receives", x.b.recvCQ, "")
	wantDone(t, "sink, sends", x.b.sendCQ, "")
	wantDone(t, "source", x.a.sendCQ, "0 success, 1 success, 2 success, 3 success, 4 success")
	x.a.post(WorkRequest{Op: WorkSend})
	x.run()
	wantDone(t, "after a Send", x.b.recvCQ, "11 success")
}
