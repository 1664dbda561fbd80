package rdmap

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// injectBound lets a segment arrive that is a whole message, with a buffer of n octets bound for
// it.
func (s *side) injectBound(ulpdu []byte, n int) (c Completion, ok bool) {
	s.t.Helper()
	if !s.rx.Bind(ddp.QNSend, nil, make([]byte, n)) {
		s.t.Fatal("Bind = false")
	}
	s.rx.Place(s.off, ulpdu)
	s.off += uint64(len(ulpdu)) + 6
	if s.rx.Deliver(s.off) {
		c, ok = s.qp.Receive(s.rx.Message())
	}
	if err := s.rx.Err(); err != nil {
		s.qp.Fail(err)
	}
	return c, ok
}

// Receive returns the same Completion as a posted buffer gets, for all messages that use one.
func TestReceive(t *testing.T) {
	for _, op := range allSends {
		t.Run(op.String(), func(t *testing.T) { testReceive(t, op) })
	}
	for _, solicited := range []bool{false, true} {
		k := kind{WorkImmediate, solicited}
		t.Run(k.String(), func(t *testing.T) { testReceive(t, k) })
	}
}

func testReceive(t *testing.T, k kind) {
	d, err := new(ddp.Domain), error(nil)
	x := newPair(t, params{domain: d})
	var got [2]Completion
	var regions [2]*ddp.Region
	for i := range got {
		if regions[i], err = d.Register(make([]byte, 8), ddp.RemoteWrite, x.b.stream()); err != nil {
			t.Fatal(err)
		}
		wr := WorkRequest{Op: k.WorkOp, Solicited: k.solicited}
		switch k.WorkOp {
		case WorkImmediate:
			wr.Immediate = 0x0102030405060708
		case WorkSendInvalidate:
			wr.Invalidate = regions[i].STag()
			fallthrough
		default:
			wr.Data = []byte("hello")
		}
		x.a.post(wr)
		x.a.transmit()
		u := x.a.wire[0]
		x.a.wire = nil
		if i == 0 {
			x.b.recv(0, 100)
			x.b.inject(u)
			got[0] = wantDone(t, "posted", x.b.recvCQ, "0 success")[0]
			continue
		}
		var ok bool
		if got[1], ok = x.b.injectBound(u, 100); !ok {
			t.Fatalf("Receive = false: %v", x.b.qp.Err())
		}
	}
	if k.WorkOp == WorkSendInvalidate {
		for i, r := range regions {
			if got[i].Invalidated != r.STag() {
				t.Errorf("invalidated %v, want %v", got[i].Invalidated, r.STag())
			}
			if _, err := d.Check(r.STag(), r.TO(), 1, ddp.RemoteWrite, x.b.stream()); err == nil {
				t.Error("the STag is still valid")
			}
			got[i].Invalidated = 0
		}
	}
	if got[0] != got[1] {
		t.Errorf("Receive = %+v, want %+v", got[1], got[0])
	}
	if x.b.recvCQ.Len() != 0 || x.b.recvCQ.promised() != 0 {
		t.Error("Receive has completed something in a queue")
	}
	wantState(t, x.b.qp, stateRTS)
}

// A message that is wrong ends the stream as Handle ends it, with the same Terminate.
func TestReceiveFails(t *testing.T) {
	invalidate := untagged(OpSendInvalidate, ddp.QNSend, 1, []byte("hello"))
	copy(invalidate[2:], []byte{0xDE, 0xAD, 0xBE, 0xEF})
	for _, tt := range []struct {
		desc  string
		ulpdu []byte
		code  TerminateCode
	}{
		{"Immediate Data of 7 octets", untagged(OpImmediate, ddp.QNSend, 1, make([]byte, 7)), codeUnspecified},
		{"STag that can't be invalidated", invalidate, codeInvalidate},
		{"too long", untagged(OpSend, ddp.QNSend, 1, make([]byte, 101)), codeOfDDP(ddp.CodeTooLong)},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			var headers [2]string
			for i := range headers {
				x := newPair(t, params{})
				if i == 0 {
					x.b.recv(0, 100)
					x.b.inject(tt.ulpdu)
				} else if c, ok := x.b.injectBound(tt.ulpdu, 100); ok || c != (Completion{}) {
					t.Errorf("Receive = %+v, %t", c, ok)
				}
				wantState(t, x.b.qp, stateTerminating)
				var e *TerminateError
				if !errors.As(x.b.qp.Err(), &e) || e.Terminate.Code != tt.code {
					t.Errorf("error %v, want %v", x.b.qp.Err(), tt.code)
				}
				headers[i] = fmt.Sprintf("%x", x.b.wantTerminate(""))
			}
			if headers[0] != headers[1] {
				t.Errorf("Receive sends the Terminate %s, Handle %s", headers[1], headers[0])
			}
		})
	}
}

// A message that arrives after the end of the stream is dropped.
func TestReceiveAfterTheEnd(t *testing.T) {
	for desc, end := range map[string]func(q *QP){
		"Abort":      func(q *QP) { q.Abort(errTest) },
		"Fail":       func(q *QP) { q.Fail(errTest) },
		"PeerClosed": func(q *QP) { q.PeerClosed(nil) },
	} {
		t.Run(desc, func(t *testing.T) {
			x := newPair(t, params{})
			end(x.b.qp)
			if c, ok := x.b.injectBound(untagged(OpSend, ddp.QNSend, 1, []byte("late")), 100); ok || c != (Completion{}) {
				t.Errorf("Receive = %+v, %t", c, ok)
			}
		})
	}
	t.Run("Close", func(t *testing.T) { // answers are still sent, so messages still arrive
		x := newPair(t, params{})
		x.b.post(WorkRequest{Op: WorkSend})
		x.b.qp.Close()
		wantState(t, x.b.qp, stateClosing)
		if c, ok := x.b.injectBound(untagged(OpSend, ddp.QNSend, 1, []byte("late")), 100); !ok || c.Len != 4 {
			t.Errorf("Receive = %+v, %t", c, ok)
		}
	})
}

// Each kind of buffer has its own call.
func TestReceiveIsForBoundBuffers(t *testing.T) {
	for _, bound := range []bool{false, true} {
		func() {
			defer func() {
				if v, _ := recover().(string); !strings.HasPrefix(v, "BUG: ") {
					t.Errorf("bound=%t: panic %q", bound, v)
				}
			}()
			x := newPair(t, params{})
			m := ddp.Message{RsvdULP: Control(OpSend), Bound: bound}
			if bound {
				x.b.qp.Handle(&m)
			} else {
				x.b.qp.Receive(&m)
			}
		}()
	}
}

// The peer's RTR takes the QP's own buffer, and later Sends take bound ones.
func TestReceiveAfterRTR(t *testing.T) {
	x := newPair(t, params{startA: StartParams{Initiator: true, SendRTR: WorkSend}, startB: StartParams{ExpectRTRSend: true}})
	x.a.transmit()
	x.b.receive()
	for i := range 3 {
		x.a.post(WorkRequest{Op: WorkSend, Data: make([]byte, i)})
		x.a.transmit()
		c, ok := x.b.injectBound(x.a.wire[0], 100)
		x.a.wire = nil
		if !ok || c.Len != uint32(i) {
			t.Errorf("Receive = %+v, %t: %v", c, ok, x.b.qp.Err())
		}
	}
	wantState(t, x.b.qp, stateRTS)
}

// Another goroutine ends the stream while messages arrive. A message is received whole or not at
// all, none is received after the first that was not, and the end does not wait.
func TestReceiveWhileTheStreamEnds(t *testing.T) {
	for desc, end := range map[string]func(q *QP){
		"Abort": func(q *QP) { q.Abort(errTest) },
		"Fail":  func(q *QP) { q.Fail(errTest) },
		"Close": (*QP).Close,
	} {
		t.Run(desc, func(t *testing.T) {
			for range testmode.Count(200, 50) {
				x := newPair(t, params{})
				var wg sync.WaitGroup
				begin := make(chan struct{})
				wg.Go(func() {
					<-begin
					end(x.b.qp)
				})
				over := false
				for msn := uint32(1); msn < 200; msn++ {
					if msn == 20 {
						close(begin)
					}
					c, ok := x.b.injectBound(untagged(OpSend, ddp.QNSend, msn, []byte("hello")), 100)
					if ok && (over || c.Len != 5 || c.Op != WorkRecv) || !ok && c != (Completion{}) {
						t.Errorf("message %d: %+v, %t after the end: %t", msn, c, ok, over)
					}
					over = !ok
				}
				wg.Wait()
				if _, ok := x.b.injectBound(untagged(OpSend, ddp.QNSend, 200, nil), 100); ok {
					t.Error("a message is received after the end")
				}
				if x.b.recvCQ.Len() != 0 || x.b.recvCQ.promised() != 0 {
					t.Error("there is a Completion of a posted buffer")
				}
			}
		})
	}
}
