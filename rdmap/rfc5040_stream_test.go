package rdmap

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
)

// "For a given RDMAP Stream, the number of outstanding RDMA Read Requests is limited per RDMAP
// Stream direction": the two directions, and another stream, have separate limits.
//
// RDMAP-5040-6.1-3
func TestRFC5040_6_1_LimitsPerStreamAndDirection(t *testing.T) {
	const there, back = 3, 2
	start := func() *pair {
		x := newPair(t, params{})
		for _, s := range []struct {
			s        *side
			ird, ord int
		}{{x.a, back, there}, {x.b, there, back}} {
			s.s.qp = NewQP(Config{Domain: s.s.domain, QPNum: 1, SendCQ: s.s.sendCQ, RecvCQ: s.s.recvCQ})
			s.s.rx = ddp.NewReceiver(s.s.qp.Start(StartParams{IRD: s.ird, ORD: s.ord}))
		}
		return x
	}
	x, y := start(), start()
	for _, s := range []*side{x.a, x.b, y.a, y.b} {
		for id := range uint64(5) {
			s.post(WorkRequest{ID: id, Op: WorkRead})
		}
		s.transmit()
	}
	for _, tt := range []struct {
		s    *side
		want int
	}{{x.a, there}, {x.b, back}, {y.a, there}, {y.b, back}} {
		ord := tt.s.qp.ord // +checklocksignore: no other goroutine is at work
		if len(tt.s.out) != tt.want || ord != tt.want {
			t.Errorf("%d Read Requests are out at ORD %d, want %d", len(tt.s.out), ord, tt.want)
		}
	}
	x.run()
	for _, s := range []*side{x.a, x.b} {
		wantDone(t, "all in the end", s.sendCQ, "0 success, 1 success, 2 success, 3 success, 4 success")
	}
	y.a.inject(untagged(OpReadRequest, 1, 1, ReadRequest{}.AppendTo(nil)))
	y.a.inject(untagged(OpReadRequest, 1, 2, ReadRequest{}.AppendTo(nil)))
	wantState(t, y.a.qp, stateRTS)
	y.a.inject(untagged(OpReadRequest, 1, 3, ReadRequest{}.AppendTo(nil))) // ORD does not limit this direction
	y.a.wantTerminate("1202")
}

// "RDMAP defines a Terminate operation that SHOULD be invoked when either an RDMAP error is
// encountered or an LLP error is surfaced to the RDMAP layer": each kind of error has one
// Terminate.
//
// RDMAP-5040-6.2.1-1
func TestRFC5040_6_2_1_EveryErrorHasATerminate(t *testing.T) {
	for _, tt := range errorCases() {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.recv(1, 8)
			tt.cause(x)
			x.b.transmit()
			x.b.wantOut("Terminate")
			x.a.receive()
			var e *TerminateError
			if !errors.As(x.a.qp.Err(), &e) || !e.Remote {
				t.Errorf("the peer is told %v", x.a.qp.Err())
			}
		})
	}
}

// "the state of all outstanding RDMA Messages is indeterminate, and the Messages SHOULD be
// considered Completed in error": at both ends.
//
// RDMAP-5040-6.2.1-2
func TestRFC5040_6_2_1_OutstandingRequestsFail(t *testing.T) {
	x := newPair(t, params{ord: 1})
	for _, s := range []*side{x.a, x.b} {
		s.recv(10, 8)
		s.recv(11, 8)
		s.slow = true
		s.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8)})
		s.transmitOne()
		s.post(WorkRequest{ID: 2, Op: WorkRead, Data: make([]byte, 8)})
		s.post(WorkRequest{ID: 3, Op: WorkWrite})
		s.wire = nil
	}
	x.a.qp.Fail(errTest)
	x.a.transmit()
	x.a.sent()
	x.b.receive()
	x.b.sent()
	for what, s := range map[string]*side{"sent": x.a, "received": x.b} {
		wantDone(t, "a Terminate was "+what+", requests", s.sendCQ, "1 flushed, 2 flushed, 3 flushed")
		wantDone(t, "a Terminate was "+what+", receives", s.recvCQ, "10 flushed, 11 flushed")
	}
}

// "The RDMAP protocol does not have RDMAP- or DDP-layer error recovery": after an error the stream
// is labeled as erroneous, permanently, and "MUST NOT allow any further data transfer". (The driver
// gives DDP no more segments once the QP is in that state; the driver's package tests that.)
//
// RDMAP-5040-7-1 to RDMAP-5040-7-3
func TestRFC5040_7_NothingPassesAfterAnError(t *testing.T) {
	for _, tt := range errorCases() {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			r, b := x.b.register(8, allAccess)
			before := bytes.Clone(b)
			x.b.recv(1, 8)
			buf := x.b.recv(2, 8)
			x.b.post(WorkRequest{ID: 1, Op: WorkRead})
			tt.cause(x)
			wantState(t, x.b.qp, stateTerminating)
			x.b.transmit()
			x.b.wantOut("Terminate")
			if all := done(x.b.recvCQ); len(all) != 2 || all[0].Status == StatusOK || all[1].Status == StatusOK {
				t.Errorf("receives: %v", all)
			}
			wantDone(t, "requests", x.b.sendCQ, "1 flushed")
			// Segments that were good before.
			for _, u := range [][]byte{
				untagged(OpSend, 0, 1, make([]byte, 8)),
				untagged(OpSend, 0, 2, make([]byte, 8)),
				untagged(OpReadRequest, 1, 1, ReadRequest{Size: 8, SourceSTag: r.STag(), SourceTO: r.TO()}.AppendTo(nil)),
				ddp.UntaggedHeader{Last: true, RsvdULP: Control(OpSendInvalidate), RsvdULP32: uint32(r.STag()), MSN: 2}.AppendTo(nil),
			} {
				m := ddp.Message{RsvdULP: u[1], QN: ddp.QN(u[9]), MSN: 1, Len: 8, Buffer: u[18:], RsvdULP32: uint32(r.STag())}
				x.b.qp.Handle(&m) // even if DDP delivers it
				x.b.inject(u)
			}
			if x.b.rx.Err() != nil { // DDP knows by itself
				x.b.inject(tagged(OpWrite, r.STag(), r.TO(), make([]byte, 8)))
			}
			x.b.wantNothing()
			wantClosed(t, x.b.qp, x.b.qp.Err())
			wantDone(t, "receives after the error", x.b.recvCQ, "")
			if _, err := x.b.domain.Check(r.STag(), r.TO(), 8, allAccess, x.b.stream()); err != nil {
				t.Errorf("a Send with Invalidate after the error counts: %v", err)
			}
			if !bytes.Equal(buf, make([]byte, 8)) || !bytes.Equal(b, before) {
				t.Errorf("after the error something is placed: %x, %x", buf, b)
			}
			wantState(t, x.b.qp, stateTerminating)
			x.b.qp.PeerClosed(nil)
			wantState(t, x.b.qp, stateError)
		})
	}
}

// "the Terminate Message is sent at the earliest possible opportunity, preferably in the next
// outgoing RDMA Message": only a message that has begun goes before it.
//
// RDMAP-5040-7.1-6
func TestRFC5040_7_1_TerminateIsNext(t *testing.T) {
	x := newPair(t, params{mulpdu: 100})
	b := x.b
	for id := range uint64(4) {
		b.post(WorkRequest{ID: id, Op: WorkSend, Data: make([]byte, 300)})
	}
	b.inject(untagged(OpReadRequest, 1, 1, ReadRequest{}.AppendTo(nil)))
	if !b.qp.NextMessage() {
		t.Fatal("no message")
	}
	b.tx.Start(b.qp.Message())
	n := 0
	for b.tx.Next(b.mulpdu) {
		if b.put(&n); n == 1 { // in the middle of that message
			b.injectHex(vWrite)
		}
	}
	b.unset++
	begun := len(b.wire)
	if !b.transmitOne() {
		t.Fatal("no message after the error")
	}
	b.wantOut("Terminate")
	if h, _, err := ddp.ParseUntagged(b.wire[begun]); err != nil || h.QN != ddp.QNTerminate {
		t.Errorf("after the message that was begun comes %x", b.wire[begun])
	}
	b.wantNothing()
}

// "On incoming RDMA Request Messages, the following must be validated: 1. The DDP layer MUST
// validate all Untagged DDP Segment fields. 2. The RDMA OpCode MUST be valid. 3. The RDMA Version
// MUST be valid." If one of them is not valid, nothing is read.
//
// RDMAP-5040-7.2-6 to RDMAP-5040-7.2-8
func TestRFC5040_7_2_ReadRequestIsValidated(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		octet int // of the DDP header
		value byte
		want  string // empty: it is a good request
	}{
		{"nothing", 0, 0x41, ""},
		{"reserved bits", 1, 0x71, ""},
		{"DDP version", 0, 0x40, "1206"},
		{"QN in use", 9, 0, "0206"},
		{"QN of nobody", 9, 7, "1201"},
		{"MSN before", 13, 0, "1203"},
		{"MSN beyond", 13, 2, "1203"},
		{"MO", 17, 1, "1204"},
		{"opcode of a Send", 1, 0x43, "0206"},
		{"opcode of a Write", 1, 0x40, "0206"},
		{"opcode that is reserved", 1, 0x4D, "0206"},
		{"RV 00b", 1, 0x01, "0205"},
		{"RV 10b", 1, 0x81, "0205"},
		{"RV 11b", 1, 0xC1, "0205"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			r, _ := x.b.register(8, ddp.RemoteRead)
			x.b.recv(1, 100)
			u := untagged(OpReadRequest, 1, 1, ReadRequest{Size: 8, SourceSTag: r.STag(), SourceTO: r.TO()}.AppendTo(nil))
			u[tt.octet] = tt.value
			x.b.inject(u)
			if tt.want != "" {
				x.b.wantTerminate(tt.want)
				x.b.wantOut("Terminate")
				return
			}
			x.b.transmit()
			x.b.wantOut("RDMA Read Response")
		})
	}
}

// "An Event, if the Data Sink is configured to generate an Event" (RFC 5040 §3.2): the ULP waits
// for it with WaitSolicited. The two Sends with Solicited Event wake it, and the other two do not.
//
// RDMAP-5040-1.2-4, RDMAP-5040-3.2-3, RDMAP-5040-5.3-8
func TestRFC5040_3_2_EventOfEachSend(t *testing.T) {
	for op, wakes := range map[kind]bool{
		{WorkSend, false}: false, {WorkSendInvalidate, false}: false, {WorkSend, true}: true, {WorkSendInvalidate, true}: true,
	} {
		for _, n := range []int{0, 100} {
			t.Run(fmt.Sprintf("%v of %d octets", op, n), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					x := newPair(t, params{mulpdu: 40})
					victim, _ := x.b.register(8, allAccess)
					x.b.recv(7, 100)
					ctx, stop := context.WithCancel(context.Background())
					woken := make(chan error, 1)
					go func() { _, err := waitOne(ctx, x.b.recvCQ, true); woken <- err }()
					synctest.Wait()
					x.a.post(WorkRequest{Op: op.WorkOp, Solicited: op.solicited, Data: make([]byte, n), Invalidate: victim.STag()})
					x.run()
					synctest.Wait()
					if got := len(woken) == 1; got != wakes {
						t.Errorf("an Event is raised: %t, want %t", got, wakes)
					}
					stop()
					if err := <-woken; (err == nil) != wakes {
						t.Errorf("WaitSolicited: %v", err)
					}
					if got := x.b.recvCQ.Len() == 0; got != wakes {
						t.Errorf("the Completion was taken with the Event: %t, want %t", got, wakes)
					}
				})
			})
		}
	}
}
