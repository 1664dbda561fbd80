package rdmap

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// Tests of RFC 7306 §5.4, §6 and §7: the order of messages.

// inOrder lets two segments arrive, the second one early if DDP takes it so: it has no effect,
// neither a Completion nor a message, until the first one has arrived too.
func (s *side) inOrder(first, second []byte) {
	s.t.Helper()
	shown := s.rx.TryPlace(s.off+uint64(len(first))+6, second)
	if s.rx.Deliver(s.off) {
		s.t.Errorf("delivered before its turn: %+v", s.rx.Message())
	}
	s.wantNothing()
	wantDone(s.t, "before its turn", s.recvCQ, "")
	s.inject(first)
	if !shown {
		return
	}
	s.off += uint64(len(second)) + 6
	for s.rx.Deliver(s.off) {
		s.qp.Handle(s.rx.Message())
	}
}

// posted returns the segments of requests, each of which is one.
func (s *side) posted(wrs ...WorkRequest) (segments [][]byte) {
	s.t.Helper()
	for i, wr := range wrs {
		wr.ID = uint64(i + 1)
		s.post(wr)
	}
	s.transmit()
	segments, s.wire, s.out = s.wire, nil, nil
	if len(segments) != len(wrs) {
		s.t.Fatalf("%d segments of %d requests", len(segments), len(wrs))
	}
	return segments
}

// The rows of §7 in which both "Completed in Order": Immediate Data and Sends of all kinds, in
// every pair, also if the second arrives first. "Ordering and completion rules for Immediate Data
// are the same as those for a Send" (§6.4).
//
// RDMAPX-7306-6.4-1, RDMAPX-7306-7-1, RDMAPX-7306-7-5
func TestRFC7306_7_CompletedInOrder(t *testing.T) {
	kinds := []kind{
		{WorkImmediate, false}, {WorkImmediate, true}, {WorkSend, false}, {WorkSend, true},
		{WorkSendInvalidate, false}, {WorkSendInvalidate, true},
	}
	for _, first := range kinds {
		for _, second := range kinds {
			if !first.isImmediate() && !second.isImmediate() {
				continue // RFC 5040 covers this pair
			}
			for _, early := range []bool{false, true} {
				t.Run(fmt.Sprintf("%v, %v, early %t", first, second, early), func(t *testing.T) {
					x := newPair(t, params{})
					bufs := [][]byte{x.b.recv(11, 8), x.b.recv(12, 8)}
					wrs := make([]WorkRequest, 2)
					for i, op := range []kind{first, second} {
						wrs[i] = WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Immediate: uint64(i + 1)}
						if op.WorkOp == WorkSendInvalidate {
							r, _ := x.b.register(8, allAccess)
							wrs[i].Invalidate = r.STag()
						}
						if !op.isImmediate() {
							wrs[i].Data = []byte{0, 0, 0, 0, 0, 0, 0, byte(i + 1)}
						}
					}
					u := x.a.posted(wrs...)
					if early {
						x.b.inOrder(u[0], u[1])
						if x.b.rx.Err() == nil && x.b.recvCQ.Len() == 1 { // DDP did not take the second early
							x.b.inject(u[1])
						}
					} else {
						x.b.inject(u[0])
						x.b.inject(u[1])
					}
					for i, c := range wantDone(t, "receiver", x.b.recvCQ, "11 success, 12 success") {
						got := c.Immediate
						if !c.HasImmediate {
							got = binary.BigEndian.Uint64(bufs[i])
						}
						if got != uint64(i+1) || c.HasImmediate != wrs[i].Op.isImmediate() {
							t.Errorf("completion %d is %v with %x", i, c, bufs[i])
						}
					}
				})
			}
		}
	}
}

// "causing an RDMA Completion to be generated immediately following the RDMA Write operation. This
// RDMA Completion delivers 8 bytes of Immediate Data", as "RDMA Write with Immediate Data" of
// InfiniBand; one "that is not preceded by an RDMA Write operation causes an RDMA Completion" too.
// "Immediate Data is Completed after RDMA Write is Placed and Delivered".
//
// RDMAPX-7306-6-1, RDMAPX-7306-6-2, RDMAPX-7306-7-6
func TestRFC7306_6_WriteWithImmediate(t *testing.T) {
	for _, n := range []int{-1, 0, 1, 50} { // octets of the Write; -1: there is none
		x := newPair(t, params{mulpdu: 30})
		r, b := x.b.register(50, ddp.RemoteWrite)
		x.b.recv(1, 0)
		want := bytes.Clone(b)
		if n >= 0 {
			copy(want, pattern(n, 9))
			x.a.post(WorkRequest{Op: WorkWrite, Data: pattern(n, 9), Remote: handle(r)})
		}
		x.a.post(WorkRequest{Op: WorkImmediate, Immediate: 0x0807060504030201})
		x.a.transmit()
		u := x.a.wire
		for len(u) > 2 { // all but the last segment of the Write, and the Immediate Data
			x.b.inject(u[0])
			u = u[1:]
		}
		if n >= 0 {
			x.b.inOrder(u[0], u[1])
			u = u[1:]
			if x.b.recvCQ.Len() > 0 {
				u = nil
			}
		}
		for _, u := range u {
			x.b.inject(u)
		}
		all := wantDone(t, "after the Immediate Data", x.b.recvCQ, "1 success")
		if len(all) == 1 && (!all[0].HasImmediate || all[0].Immediate != 0x0807060504030201 || all[0].Len != 0) {
			t.Errorf("Write of %d: completion %+v", n, all[0])
		}
		if !bytes.Equal(b, want) {
			t.Errorf("Write of %d: at the Completion the memory is %x, want %x", n, b, want)
		}
	}
}

// The rows of §7 in which a response "will not be generated until" what came before "has been
// Completed", or "will not be Placed at the Local Peer until" a Write "is Placed at the Remote
// Peer".
//
// RDMAPX-7306-7-3, RDMAPX-7306-7-4, RDMAPX-7306-7-13, RDMAPX-7306-7-14
func TestRFC7306_7_ResponseAfterWhatCameBefore(t *testing.T) {
	for _, first := range []kind{
		{WorkImmediate, false}, {WorkImmediate, true}, {WorkSend, false}, {WorkSend, true},
		{WorkSendInvalidate, false}, {WorkSendInvalidate, true}, {WorkWrite, false},
	} {
		for _, second := range []WorkOp{WorkRead, WorkFetchAdd, WorkCmpSwap} {
			t.Run(fmt.Sprintf("%v, %v", first, second), func(t *testing.T) {
				x := newPair(t, params{})
				r, b := x.b.register(8, allAccess)
				victim, _ := x.b.register(8, allAccess)
				x.b.recv(11, 8)
				sink := make([]byte, 8)
				wrs := []WorkRequest{
					{Op: first.WorkOp, Solicited: first.solicited, Remote: handle(r)},
					{Op: second, Remote: handle(r), Operand: 1, Compare: 1},
				}
				if second == WorkRead {
					wrs[1].Data = sink
				}
				if !first.isImmediate() {
					wrs[0].Data = pattern(8, 5)
				}
				if first.WorkOp == WorkSendInvalidate {
					wrs[0].Invalidate = victim.STag()
				}
				want := bytes.Clone(b)
				if first.WorkOp == WorkWrite {
					copy(want, wrs[0].Data)
				}
				u := x.a.posted(wrs...)
				x.b.inOrder(u[0], u[1])
				if first.WorkOp == WorkWrite {
					wantDone(t, "a Write has none", x.b.recvCQ, "")
				} else {
					wantDone(t, "before any response", x.b.recvCQ, "11 success")
				}
				x.b.wantNothing() // the request has not arrived yet
				x.b.inject(u[1])
				x.run()
				all := wantDone(t, "requester", x.a.sendCQ, "1 success, 2 success")
				got := sink
				if second != WorkRead && len(all) == 2 {
					got = binary.NativeEndian.AppendUint64(nil, all[1].Original)
				}
				if !bytes.Equal(got, want) {
					t.Errorf("the response has %x, want %x", got, want)
				}
			})
		}
	}
}

// "RDMA Read Response Message will not be generated until Atomic Response Message has been
// generated", "Second Atomic Request Message will not be processed until first Atomic Response has
// been generated", "Atomic Response Message will not be generated until RDMA Read Response has been
// generated".
//
// RDMAPX-7306-7-11, RDMAPX-7306-7-12, RDMAPX-7306-7-15
func TestRFC7306_7_ResponsesInOrder(t *testing.T) {
	for _, ops := range [][2]WorkOp{
		{WorkFetchAdd, WorkRead}, {WorkCmpSwap, WorkRead}, {WorkFetchAdd, WorkFetchAdd}, {WorkFetchAdd, WorkCmpSwap},
		{WorkCmpSwap, WorkFetchAdd}, {WorkCmpSwap, WorkCmpSwap}, {WorkRead, WorkFetchAdd}, {WorkRead, WorkCmpSwap},
	} {
		t.Run(fmt.Sprintf("%v, %v", ops[0], ops[1]), func(t *testing.T) {
			x := newPair(t, params{})
			r, b := x.b.register(8, allAccess)
			binary.NativeEndian.PutUint64(b, 40)
			sinks := [][]byte{make([]byte, 8), make([]byte, 8)}
			wrs := make([]WorkRequest, 2)
			value, want := uint64(40), make([]uint64, 2) // what each must see
			for i, op := range ops {
				wrs[i] = WorkRequest{Op: op, Remote: handle(r), Operand: 1}
				want[i] = value
				switch op {
				case WorkRead:
					wrs[i].Data = sinks[i]
				case WorkFetchAdd:
					value++
				case WorkCmpSwap: // it succeeds only if it is done in its turn
					wrs[i].Compare, wrs[i].Operand = value, value*10
					value *= 10
				}
			}
			for _, u := range x.a.posted(wrs...) {
				x.b.inject(u)
			}
			if got := binary.NativeEndian.Uint64(b); got != 40 && got != want[1] {
				t.Errorf("before a response is generated the word is %d: both requests have been processed", got)
			}
			for i, op := range ops {
				x.b.transmitOne()
				name := OpAtomicResponse.String()
				if op == WorkRead {
					name = OpReadResponse.String()
				}
				x.b.wantOut(name)
				if now := binary.NativeEndian.Uint64(b); i == 0 && ops[1] != WorkRead && now != want[1] {
					t.Errorf("when the first response is out the word is %d, want %d", now, want[1])
				}
			}
			x.a.receive()
			for i, c := range wantDone(t, "requester", x.a.sendCQ, "1 success, 2 success") {
				got := c.Original
				if ops[i] == WorkRead {
					got = binary.NativeEndian.Uint64(sinks[i])
				}
				if got != want[i] {
					t.Errorf("%v sees %d, want %d", ops[i], got, want[i])
				}
			}
			if got := binary.NativeEndian.Uint64(b); got != value {
				t.Errorf("in the end the word is %d, want %d", got, value)
			}
		})
	}
}

// handOver places the peer's next segment and then delivers it. In between it calls nothing, which
// checks that the segment has had no effect.
func (s *side) handOver(u []byte, nothing func()) {
	s.t.Helper()
	s.rx.Place(s.off, u)
	for _, edge := range []uint64{s.off, s.off + uint64(len(u)) + 6} {
		for s.rx.Deliver(edge) {
			s.qp.Handle(s.rx.Message())
		}
		if edge == s.off {
			nothing()
		}
	}
	s.off += uint64(len(u)) + 6
}

// No work on an Atomic Request begins before DDP has Delivered it (the Responder, §5.4), and the
// requester does not complete its operation before the response is Delivered.
//
// RDMAPX-7306-5.4-1, RDMAPX-7306-5.4-4, RDMAPX-7306-5.4-6, RDMAPX-7306-5.4-8
func TestRFC7306_5_4_NothingBeforeDelivery(t *testing.T) {
	for _, op := range []WorkOp{WorkFetchAdd, WorkCmpSwap, WorkSwap} {
		x := newPair(t, params{})
		r, b := x.b.register(8, allAccess)
		before := bytes.Clone(b)
		old := binary.NativeEndian.Uint64(b)
		u := x.a.posted(WorkRequest{Op: op, Remote: handle(r), Operand: 1 << 40, Compare: old})
		x.b.handOver(u[0], func() {
			x.b.wantNothing()
			if !bytes.Equal(b, before) {
				t.Errorf("%v: memory %x before the request is Delivered", op, b)
			}
		})
		x.b.transmit()
		x.b.wantOut("Atomic Response")
		if bytes.Equal(b, before) {
			t.Errorf("%v: memory has not changed", op)
		}
		x.a.handOver(x.b.wire[0], func() { wantDone(t, "before the response is Delivered", x.a.sendCQ, "") })
		if all := wantDone(t, "afterwards", x.a.sendCQ, "1 success"); len(all) == 1 && all[0].Original != old {
			t.Errorf("%v: original %#x, want %#x", op, all[0].Original, old)
		}
	}
}

// "Atomic Operation Response Messages MAY be generated at the Responder after subsequent RDMA Write
// Messages or Send Messages have been Placed or Delivered", "Send Messages MAY be Completed at the
// Responder before prior incoming Atomic Operation Request Messages have completed their response
// processing", and so with Reads and Immediate Data in §7. Messages that need no answer do not wait
// for answers to others. Here TCP takes no answer.
//
// RDMAPX-7306-5.4-5, RDMAPX-7306-5.4-7, RDMAPX-7306-7-7 to RDMAPX-7306-7-10
func TestRFC7306_7_AnswersHoldUpNothing(t *testing.T) {
	for _, first := range []WorkOp{WorkFetchAdd, WorkCmpSwap, WorkRead} {
		for _, second := range []WorkOp{WorkSend, WorkImmediate, WorkWrite} {
			t.Run(fmt.Sprintf("%v, %v", first, second), func(t *testing.T) {
				x := newPair(t, params{})
				word, _ := x.b.register(8, allAccess)
				r, b := x.b.register(8, allAccess)
				buf := x.b.recv(11, 8)
				wrs := []WorkRequest{{Op: first, Remote: handle(word)}, {Op: second, Remote: handle(r), Immediate: 5}}
				if second != WorkImmediate {
					wrs[1].Data = []byte("payload!")
				}
				for _, u := range x.a.posted(wrs...) {
					x.b.inject(u)
				}
				switch second {
				case WorkWrite:
					wantDone(t, "a Write has none", x.b.recvCQ, "")
					buf = b
				default:
					wantDone(t, "before the response", x.b.recvCQ, "11 success")
				}
				if second != WorkImmediate && string(buf) != "payload!" {
					t.Errorf("before the response the payload is %q", buf)
				}
				if !x.b.qp.HasOutput() || len(x.b.out) != 0 {
					t.Errorf("the response does not wait: %v", x.b.out)
				}
				x.run()
				wantDone(t, "requester", x.a.sendCQ, "1 success, 2 success")
			})
		}
	}
}

// "At the Data Source: The ULP passes to the RDMAP Layer … 8 bytes of ULP Immediate Data. When the
// Immediate Data operation Completes, an indication of the Completion results. At the Data Sink: …
// 8 bytes of Immediate Data; An Event, if the Data Sink is configured to generate an Event."
//
// RDMAPX-7306-6.1-1, RDMAPX-7306-6.1-2
func TestRFC7306_6_1_BothULPsAreTold(t *testing.T) {
	for _, op := range []kind{{WorkImmediate, false}, {WorkImmediate, true}} {
		for _, data := range []uint64{0, 1, 0x0123456789ABCDEF, allBits} {
			x := newPair(t, params{})
			x.b.recv(7, 0)
			x.a.post(WorkRequest{ID: 3, Op: op.WorkOp, Solicited: op.solicited, Immediate: data})
			x.a.transmit()
			if all := wantDone(t, "source", x.a.sendCQ, "3 success"); len(all) == 1 && all[0].Op != op.WorkOp {
				t.Errorf("source: %v", all[0])
			}
			x.b.receive()
			ctx, cancel := context.WithCancel(context.Background())
			cancel() // a Completion that is there is returned anyway
			if !op.solicited {
				if c, err := waitOne(ctx, x.b.recvCQ, true); !errors.Is(err, context.Canceled) {
					t.Errorf("an Event without having been asked for: %v, %v", c, err)
				}
			}
			c, err := waitOne(ctx, x.b.recvCQ, false)
			if op.solicited {
				x.b.recv(8, 0)
				x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Immediate: data})
				x.run()
				c, err = waitOne(ctx, x.b.recvCQ, true)
				c.ID--
			}
			if err != nil || c.ID != 7 || !c.HasImmediate || c.Immediate != data || c.Solicited != op.solicited {
				t.Errorf("sink: %v, %v, want %#x", c, err, data)
			}
			wantDone(t, "sink", x.b.recvCQ, "")
		}
	}
	x := newPair(t, params{}) // there is no other length: payload is refused
	if err := x.a.qp.PostSend(&WorkRequest{Op: WorkImmediate, Data: []byte{1}}); !errors.Is(err, ErrBadRequest) {
		t.Errorf("PostSend of Immediate Data with payload: %v, want ErrBadRequest", err)
	}
}

// "If the Immediate Data operation is Completed in error, the Data Sink RDMAP Layer will pass up
// the corresponding error information to the Data Sink ULP and send a Terminate Message to the Data
// Source RDMAP Layer. The Data Source RDMAP Layer will then pass up the Terminate Message to the
// ULP."
//
// RDMAPX-7306-6.1-3
func TestRFC7306_6_1_ErrorsAtBothEnds(t *testing.T) {
	x := newPair(t, params{})
	x.b.recv(1, 0)
	x.a.post(WorkRequest{ID: 9, Op: WorkImmediate})
	x.a.transmit()
	u := x.a.wire[0]
	x.a.wire = nil
	x.a.post(WorkRequest{ID: 10, Op: WorkFetchAdd})
	x.b.inject(u[:len(u)-1]) // 7 octets of Immediate Data
	x.b.transmit()
	x.a.receive()
	all := wantDone(t, "sink", x.b.recvCQ, "1 general error")
	var te *TerminateError
	if len(all) == 1 && (!errors.As(all[0].Err, &te) || te.Remote || te.Terminate.Code != codeUnspecified) {
		t.Errorf("sink: %v", all[0].Err)
	}
	if err := x.a.qp.Err(); !errors.As(err, &te) || !te.Remote || !bytes.Equal(te.Terminate.DDPHeader, u[:18]) {
		t.Errorf("source: %v, want the peer's Terminate about %x", err, u[:18])
	}
	all = wantDone(t, "source", x.a.sendCQ, "9 success, 10 flushed")
	if len(all) == 2 && !errors.As(all[1].Err, &te) {
		t.Errorf("source: %v", all[1].Err)
	}
}
