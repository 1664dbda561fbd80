package rdmap

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// busy is a pair whose side a has one request in each stage, and receives posted:
//
//	1 Read, sent and not answered    4 Send, being sent
//	2 FetchAdd, the same             5 Send, queued
//	3 Write, with TCP                6 Read, queued
//	                                 8, 9 receives; and an answer to the peer is due
func busy(t *testing.T) *pair {
	t.Helper()
	x := newPair(t, params{})
	a := x.a
	a.recv(8, 8)
	a.recv(9, 8)
	a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8), Remote: Handle{STag: 1}})
	a.post(WorkRequest{ID: 2, Op: WorkFetchAdd})
	a.post(WorkRequest{ID: 3, Op: WorkWrite, Data: []byte{1}})
	a.transmit()
	a.slow = true
	a.post(WorkRequest{ID: 4, Op: WorkSend, Data: []byte{1}})
	a.transmit()
	a.post(WorkRequest{ID: 5, Op: WorkSend, Data: []byte{1}, Unsignaled: true})
	a.post(WorkRequest{ID: 6, Op: WorkRead, Data: make([]byte, 8), Remote: Handle{STag: 1}})
	a.inject(untagged(OpReadRequest, 1, 1, ReadRequest{}.AppendTo(nil)))
	a.out = nil
	wantDone(t, "before the end", a.sendCQ, "")
	return x
}

// wantClosed checks that nothing can be posted, with an error that is ErrClosed and cause.
func wantClosed(t *testing.T, q *QP, cause error) {
	t.Helper()
	errs := map[string]error{
		"PostSend":           q.PostSend(&WorkRequest{Op: WorkSend}),
		"PostSend of a Read": q.PostSend(&WorkRequest{Op: WorkRead, Data: make([]byte, 4)}),
	}
	if q.now() != stateClosing { // then the peer may still send
		errs["PostRecv"] = q.PostRecv(RecvRequest{})
	}
	for what, err := range errs {
		if !errors.Is(err, ErrClosed) || cause != nil && !errors.Is(err, cause) {
			t.Errorf("%s in %v: %v, want ErrClosed because of %v", what, q.now(), err, cause)
		}
	}
}

// TestRFC5040_5_4_FailFlushes checks requests and traffic after each way to end (the verbs' state
// model has a table of all cases). "The RDMAP layer Completes in error all ULP operations that have
// not been provided to the DDP layer." "After sending a Terminate Message on an RDMAP Stream, the
// Local Peer MUST NOT send any more Messages on that specific RDMAP Stream." "the RDMAP layer MUST
// attempt to inform the local ULP that the error has occurred."
//
// RDMAP-5040-5.4-10, RDMAP-5040-5.4-11, RDMAP-5040-6.2.1-2, RDMAP-5040-7.1-1
func TestRFC5040_5_4_FailFlushes(t *testing.T) {
	x := busy(t)
	a := x.a
	a.qp.Fail(errTest)
	wantState(t, a.qp, stateTerminating)
	wantClosed(t, a.qp, errTest)
	all := wantDone(t, "at once", a.sendCQ, "1 flushed, 2 flushed, 3 success")
	all = append(all, wantDone(t, "receives", a.recvCQ, "8 flushed, 9 flushed")...)
	a.wantTerminate("0000 0000") // and not the answer
	a.wantOut("Terminate")
	if a.qp.Drained() {
		t.Error("drained although TCP has not taken the Terminate")
	}
	a.sent()
	all = append(all, wantDone(t, "what was being sent", a.sendCQ, "4 success, 5 flushed, 6 flushed")...)
	for _, c := range all {
		var e *TerminateError
		if c.Status != StatusOK && (!errors.As(c.Err, &e) || e.Remote || !errors.Is(c.Err, errTest)) {
			t.Errorf("%v: reason %v", c, c.Err)
		}
	}
	if !a.qp.Drained() {
		t.Error("not drained")
	}
	if got := regions(a.domain); got != 0 {
		t.Errorf("%d sinks are still registered", got)
	}
	before := a.qp.Err()
	a.qp.Fail(codedError{2, 0, 2}) // too late
	a.qp.Close()
	a.injectHex(strings.Replace(vTermCRC, " 2002 ", " 1100 ", 1)) // a Terminate that crosses ours
	wantState(t, a.qp, stateTerminating)
	if a.qp.Err() != before {
		t.Errorf("Err is %v now, was %v", a.qp.Err(), before)
	}
	a.wantNothing()
	a.qp.PeerClosed(nil)
	wantState(t, a.qp, stateError)
	wantDone(t, "nothing twice", a.sendCQ, "")
}

// "The RDMAP layer MUST Deliver the Terminate Message to the ULP"; it is placed in any case: "On a
// single RDMAP Stream, the RDMAP layer MUST guarantee placement of a single Terminate Message",
// which "MUST consume one Untagged Buffer" of its own. No answer, no more messages.
//
// RDMAP-5040-5.4-5 to RDMAP-5040-5.4-8, RDMAP-5040-5.4-12, RDMAP-5040-3.2-5
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestRFC5040_5_4_TerminateArrives(t *testing.T) {
	x := busy(t)
	a := x.a
	sink := fmt.Sprintf("%08x", uint32(a.qp.sq.at(0).sinkSTag))
	u := unhex(strings.Replace(vTermReadSTag, "0a0b0c01", sink, 1)) // the longest Terminate there is
	a.inject(u)
	wantState(t, a.qp, stateTerminating)
	all := wantDone(t, "at once", a.sendCQ, "1 remote access error, 2 flushed, 3 success")
	all = append(all, wantDone(t, "receives", a.recvCQ, "8 flushed, 9 flushed")...)
	a.wantNothing()
	a.sent()
	all = append(all, wantDone(t, "what was being sent", a.sendCQ, "4 flushed, 5 flushed, 6 flushed")...)
	for _, c := range all {
		var e *TerminateError
		if c.Status == StatusOK {
			continue
		}
		if !errors.As(c.Err, &e) || !e.Remote || !bytes.Equal(e.Terminate.appendTo(nil), u[18:]) {
			t.Errorf("%v: reason %+v", c, c.Err)
		}
	}
	if err := a.qp.Err(); err == nil || !strings.Contains(err.Error(), "the peer terminated the stream: RDMA remote protection error: invalid STag") {
		t.Errorf("Err() = %v", err)
	}
	wantClosed(t, a.qp, a.qp.Err())
	if !a.qp.Drained() {
		t.Error("not drained")
	}
	a.inject(untagged(OpTerminate, 2, 2, []byte{0x11, 0, 0, 0}))
	var none *ddp.Error
	if err := a.rx.Err(); !errors.As(err, &none) || none.Code != ddp.CodeNoBuffer {
		t.Errorf("a second Terminate: %v, want that the first has used up the buffer", err)
	}
	a.qp.PeerClosed(nil)
	wantState(t, a.qp, stateError)
}

// The returned MSN tells which of the requests of queue 1 a Terminate is about, or the returned
// Read Request tells its sink.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestTerminateNamesTheRequest(t *testing.T) {
	header := func(op Opcode, qn ddp.QN, msn uint32) []byte { return untagged(op, qn, msn, nil) }
	for _, tt := range []struct {
		desc string
		t    func(second *sendEntry) Terminate
		done string
	}{
		{"Read, by its sink, whatever the MSN", func(e *sendEntry) Terminate {
			read := ReadRequest{SinkSTag: e.sinkSTag, SinkTO: e.sinkTO + 3, Size: 5}
			return Terminate{Code: 0x0100, M: true, D: true, R: true,
				DDPHeader: header(OpReadRequest, 1, 8), RDMAHeader: read.AppendTo(nil)}
		}, "1 flushed, 2 remote access error, 3 flushed, 4 flushed"},
		{"Read, by its MSN", func(*sendEntry) Terminate {
			return Terminate{Code: 0x0200, M: true, D: true, DDPHeader: header(OpReadRequest, 1, 2)}
		}, "1 flushed, 2 remote operation error, 3 flushed, 4 flushed"},
		{"atomic, by its MSN", func(*sendEntry) Terminate {
			return Terminate{Code: 0x0102, M: true, D: true, DDPHeader: header(OpAtomicRequest, 1, 3)}
		}, "1 flushed, 2 flushed, 3 remote access error, 4 flushed"},
		{"MSN of one that is queued", func(*sendEntry) Terminate {
			return Terminate{Code: 0x0100, M: true, D: true, DDPHeader: header(OpReadRequest, 1, 4)}
		}, "1 flushed, 2 flushed, 3 flushed, 4 flushed"},
		{"a Send", func(*sendEntry) Terminate {
			return Terminate{Code: 0x0200, M: true, D: true, DDPHeader: header(OpSend, 0, 2)}
		}, "1 flushed, 2 flushed, 3 flushed, 4 flushed"},
		{"DDP's error", func(*sendEntry) Terminate {
			return Terminate{Code: 0x1202, M: true, D: true, DDPHeader: header(OpReadRequest, 1, 2)}
		}, "1 flushed, 2 flushed, 3 flushed, 4 flushed"},
		{"a sink of nobody", func(*sendEntry) Terminate {
			return Terminate{Code: 0x0100, M: true, D: true, R: true,
				DDPHeader: header(OpReadRequest, 1, 2), RDMAHeader: ReadRequest{SinkSTag: 3}.AppendTo(nil)}
		}, "1 flushed, 2 flushed, 3 flushed, 4 flushed"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{ord: 3})
			for id := range uint64(4) {
				wr := WorkRequest{ID: id + 1, Op: WorkRead, Data: make([]byte, 8)}
				if id == 2 {
					wr = WorkRequest{ID: id + 1, Op: WorkFetchAdd}
				}
				x.a.post(wr)
			}
			x.a.transmit()
			x.a.inject(untagged(OpTerminate, 2, 1, tt.t(x.a.qp.sq.at(1)).appendTo(nil))) // +checklocksignore: no other goroutine is at work
			wantDone(t, "requests", x.a.sendCQ, tt.done)
		})
	}
}

// After a FIN of the peer "DDP SHOULD indicate the half-closed state to the ULP, and continue to
// process outbound data transfer requests normally" (RFC 5041 §6.2.1).
func TestPeerClosed(t *testing.T) {
	x := busy(t)
	a := x.a
	a.qp.PeerClosed(errTest)
	wantState(t, a.qp, stateRTS)
	wantDone(t, "at once", a.sendCQ, "1 flushed, 2 flushed, 3 success")
	for _, c := range wantDone(t, "receives", a.recvCQ, "8 flushed, 9 flushed") {
		if !errors.Is(c.Err, errTest) {
			t.Errorf("%v: reason %v", c, c.Err)
		}
	}
	a.sent()
	a.post(WorkRequest{ID: 7, Op: WorkSend})
	for _, op := range []WorkOp{WorkRead, WorkSwap} {
		if err := a.qp.PostSend(&WorkRequest{Op: op}); !errors.Is(err, ErrPeerClosed) {
			t.Errorf("PostSend(%v): %v, want ErrPeerClosed", op, err)
		}
	}
	if err := a.qp.PostRecv(RecvRequest{}); !errors.Is(err, ErrPeerClosed) {
		t.Errorf("PostRecv: %v, want ErrPeerClosed", err)
	}
	a.slow = false
	a.transmit()
	a.wantOut("RDMA Read Response", "Send", "Send")
	wantDone(t, "the rest", a.sendCQ, "4 success, 6 flushed, 7 success")
	a.qp.PeerClosed(nil) // nothing completes twice
	a.qp.Close()
	wantState(t, a.qp, stateClosed)
	if a.qp.Err() != nil {
		t.Errorf("Err() = %v after an orderly end", a.qp.Err())
	}
	t.Run("the default reason", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.recv(1, 1)
		x.a.qp.PeerClosed(nil)
		if all := done(x.a.recvCQ); len(all) != 1 || !errors.Is(all[0].Err, ErrPeerClosed) {
			t.Errorf("completions %v", all)
		}
	})
	t.Run("a local error afterwards still gets its Terminate", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.qp.PeerClosed(nil)
		x.a.qp.Fail(errTest)
		x.a.wantTerminate("0000 0000")
		wantState(t, x.a.qp, stateError)
	})
}

// "the DDP layer on the Local Peer SHOULD ensure that all ULP data would be transferred before the
// underlying LLP Stream and Connection are torn down, and any further data transfer requests by the
// Local Peer ULP MUST return an error" (RFC 5041 §6.2.1).
func TestClose(t *testing.T) {
	t.Run("with work", func(t *testing.T) {
		x := busy(t)
		a := x.a
		a.qp.Close()
		wantState(t, a.qp, stateClosing)
		wantClosed(t, a.qp, nil)
		wantDone(t, "at once", a.sendCQ, "")
		if a.qp.Drained() {
			t.Error("drained with work left")
		}
		// New requests of the peer are dropped. Requests that have arrived are answered.
		for msn := range uint32(20) {
			a.inject(untagged(OpReadRequest, 1, msn+2, ReadRequest{}.AppendTo(nil)))
		}
		a.transmit()
		a.wantOut("RDMA Read Response", "Send", "RDMA Read Request")
		wantState(t, a.qp, stateClosing)
		a.inject(untagged(OpSend, 0, 1, []byte{1})) // still received
		wantDone(t, "receive", a.recvCQ, "8 success")
		a.recv(10, 1) // and buffers are still accepted
		a.sent()
		wantState(t, a.qp, stateClosed)
		wantDone(t, "all", a.sendCQ, "1 flushed, 2 flushed, 3 success, 4 success, 6 flushed")
		wantDone(t, "receives", a.recvCQ, "9 flushed, 10 flushed")
		wantClosed(t, a.qp, nil)
		if !a.qp.Drained() || a.qp.Err() != nil {
			t.Errorf("drained %t, error %v", a.qp.Drained(), a.qp.Err())
		}
		a.qp.Abort(errTest) // too late to matter
		a.qp.PeerClosed(nil)
		wantState(t, a.qp, stateClosed)
		a.wantNothing()
	})
	t.Run("idle", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.recv(1, 1)
		x.a.qp.Close()
		wantState(t, x.a.qp, stateClosed)
		for _, c := range wantDone(t, "receives", x.a.recvCQ, "1 flushed") {
			if !errors.Is(c.Err, ErrClosed) {
				t.Errorf("reason %v", c.Err)
			}
		}
	})
	t.Run("only an answer is due", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.injectHex(vZeroRead)
		x.a.qp.Close()
		wantState(t, x.a.qp, stateClosing)
		x.a.transmit()
		x.a.wantOut("RDMA Read Response")
		wantState(t, x.a.qp, stateClosed)
	})
	t.Run("a fenced Send waits for the answer", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.post(WorkRequest{ID: 1, Op: WorkRead})
		x.a.post(WorkRequest{ID: 2, Op: WorkSend, Fence: true})
		x.a.qp.Close()
		x.b.recv(1, 1)
		x.a.transmit()
		wantState(t, x.a.qp, stateClosing)
		x.run()
		wantDone(t, "sends", x.a.sendCQ, "1 success, 2 success")
		wantState(t, x.a.qp, stateClosed)
	})
	t.Run("the peer's FIN frees what waits for it", func(t *testing.T) {
		x := newPair(t, params{ord: 1})
		x.a.post(WorkRequest{ID: 1, Op: WorkRead})
		x.a.post(WorkRequest{ID: 2, Op: WorkRead})
		x.a.transmit()
		x.a.qp.Close()
		wantState(t, x.a.qp, stateClosing)
		x.a.qp.PeerClosed(nil)
		wantState(t, x.a.qp, stateClosed)
		wantDone(t, "sends", x.a.sendCQ, "1 flushed, 2 flushed")
	})
	t.Run("Cancel of the last request", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.post(WorkRequest{ID: 1, Op: WorkSend})
		x.a.qp.Close()
		x.a.qp.Cancel(x.a.sendCQ, 1)
		wantState(t, x.a.qp, stateClosed)
	})
	t.Run("an error while closing", func(t *testing.T) {
		x := busy(t)
		x.a.qp.Close()
		x.a.injectHex(vWrite)
		x.a.wantTerminate("1100 c000")
		wantState(t, x.a.qp, stateTerminating)
	})
	t.Run("an error when closed", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.qp.Close()
		x.a.injectHex(vWrite)
		x.a.wantNothing()
		wantState(t, x.a.qp, stateError)
	})
}

func TestAbort(t *testing.T) {
	x := busy(t)
	a := x.a
	a.qp.Abort(errTest)
	wantState(t, a.qp, stateError)
	wantClosed(t, a.qp, errTest)
	all := wantDone(t, "all at once", a.sendCQ, "1 flushed, 2 flushed, 3 success, 4 flushed, 5 flushed, 6 flushed")
	all = append(all, wantDone(t, "receives", a.recvCQ, "8 flushed, 9 flushed")...)
	for _, c := range all {
		if c.Status != StatusOK && !errors.Is(c.Err, errTest) {
			t.Errorf("%v: reason %v", c, c.Err)
		}
	}
	a.wantNothing()
	if !a.qp.Drained() {
		t.Error("not drained")
	}
	a.sent() // a late report of the driver does no harm
	a.qp.Fail(codedError{2, 0, 2})
	a.injectHex(vTermCRC)
	a.qp.Close()
	a.qp.PeerClosed(nil)
	wantState(t, a.qp, stateError)
	a.wantNothing()
	if a.qp.Err() != errTest {
		t.Errorf("Err() = %v, want the first one", a.qp.Err())
	}
	t.Run("takes back a Terminate that has not gone out", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.qp.Fail(errTest)
		x.a.qp.Abort(nil)
		x.a.wantNothing()
		if !x.a.qp.Drained() {
			t.Error("not drained")
		}
		wantState(t, x.a.qp, stateError)
	})
}

// After its Completion a receive buffer belongs to the user again: nothing more is placed in it.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestFlushedBuffersStayUntouched(t *testing.T) {
	x := newPair(t, params{})
	buf := x.a.recv(1, 8)
	sink := make([]byte, 8)
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink})
	e := *x.a.qp.sq.at(0)
	x.a.transmit()
	x.a.qp.Abort(errTest)
	for _, u := range [][]byte{unhex(vSend), tagged(OpReadResponse, e.sinkSTag, e.sinkTO, pattern(8, 1))} {
		x.a.rx = ddp.NewReceiver(x.a.qp.receiverConfig()) // one that has not seen the end
		x.a.off = 0
		x.a.inject(u)
	}
	if !bytes.Equal(buf, make([]byte, 8)) || !bytes.Equal(sink, make([]byte, 8)) {
		t.Errorf("after the end the buffer is %x and the sink %x", buf, sink)
	}
}

// Errors for which no Terminate can be sent (RFC 5044 §8): the TCP connection is gone, or startup
// failed. The ULP gets the error anyway.
//
// RDMAP-5040-7.1-1
func TestFailWithoutTerminate(t *testing.T) {
	for _, code := range []uint8{1, 4} {
		x := busy(t)
		x.a.qp.Fail(codedError{2, 0, code})
		x.a.wantNothing()
		wantState(t, x.a.qp, stateError)
		wantDone(t, "all at once", x.a.sendCQ, "1 flushed, 2 flushed, 3 success, 4 flushed, 5 flushed, 6 flushed")
		if err := x.a.qp.Err(); err != error(codedError{2, 0, code}) {
			t.Errorf("Err() = %v", err)
		}
	}
}

// The vectors of Terminates for local errors: "the Error Type and Error Code fields are included in
// the Terminate Message, but the Terminated DDP Header and Terminated RDMA Header fields are set to
// zero", for which read: absent. The Terminate is the one message on queue 2: MSN 1, MO 0, one
// segment.
//
// RDMAP-5040-7.1-2, RDMAP-5040-7.1-3, RDMAPX-7306-8.1-2, RDMAP-5040-5.4-4
func TestRFC5040_7_1_LocalErrors(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{errTest, vTermCatastrophic},
		{&streamError{}, vTermCatastrophic},
		{codedError{2, 0, 2}, vTermCRC},
	} {
		x := newPair(t, params{})
		x.a.qp.Fail(tt.err)
		x.a.transmit()
		if len(x.a.wire) != 1 || !bytes.Equal(x.a.wire[0], unhex(tt.want)) {
			t.Errorf("Fail(%v) sends %x, want %s", tt.err, x.a.wire, tt.want)
		}
	}
}

// TestCloseAtBothEnds: two ends that close while Reads, or a fenced Send, wait for the answers to
// others do not wait for each other.
func TestCloseAtBothEnds(t *testing.T) {
	for _, tt := range []struct {
		desc string
		last WorkRequest
	}{
		{"a Read beyond the ORD", WorkRequest{Op: WorkRead, Data: make([]byte, 8)}},
		{"a fenced Send", WorkRequest{Op: WorkSend, Fence: true}},
	} {
		x := newPair(t, params{ird: 1, ord: 1})
		for _, s := range []*side{x.a, x.b} {
			s.recv(9, 8)
			r, err := s.peer.domain.Register(make([]byte, 8), ddp.RemoteRead, 0)
			if err != nil {
				t.Fatal(err)
			}
			h := Handle{STag: r.STag(), TO: r.TO(), Len: 8}
			s.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8), Remote: h})
			tt.last.ID, tt.last.Remote = 2, h
			s.post(tt.last)
			s.qp.Close()
		}
		for range 4 {
			x.a.transmit()
			x.b.transmit()
			for _, s := range []*side{x.a, x.b} {
				if s.qp.TakesMessages() {
					s.receive()
				}
			}
		}
		wantState(t, x.a.qp, stateClosed)
		wantState(t, x.b.qp, stateClosed)
	}
}
