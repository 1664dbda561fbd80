package rdmap

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// TestIdle checks which calls are allowed before the stream has started.
func TestIdle(t *testing.T) {
	q := NewQP(Config{IRD: 3, ORD: 5, RecvDepth: 2})
	wantState(t, q, stateIdle)
	ird, ord := q.ird, q.ord // +checklocksignore: no other goroutine is at work
	if ird != 3 || ord != 5 {
		t.Errorf("IRD %d, ORD %d, want what the Config offers", ird, ord)
	}
	if err := q.PostSend(&WorkRequest{Op: WorkSend}); !errors.Is(err, errNotConnected) {
		t.Errorf("PostSend: %v, want errNotConnected", err)
	}
	for id := range uint64(2) {
		if err := q.PostRecv(RecvRequest{ID: id}); err != nil {
			t.Errorf("PostRecv: %v", err)
		}
	}
	if err := q.PostRecv(RecvRequest{}); !errors.Is(err, ErrQueueFull) {
		t.Errorf("PostRecv: %v, want ErrQueueFull", err)
	}
	if q.HasOutput() || q.NextMessage() {
		t.Error("there is output")
	}
	for _, tt := range []struct {
		desc string
		end  func(*QP)
		want state
	}{
		{"Abort", func(q *QP) { q.Abort(errTest) }, stateError},
		{"Fail", func(q *QP) { q.Fail(errTest) }, stateError},
		{"Close", func(q *QP) { q.Close() }, stateClosed},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			q := NewQP(Config{})
			if err := q.PostRecv(RecvRequest{ID: 4}); err != nil {
				t.Fatal(err)
			}
			tt.end(q)
			wantState(t, q, tt.want)
			wantDone(t, tt.desc, q.cfg.RecvCQ, "4 flushed")
			q.Start(StartParams{})
			wantState(t, q, tt.want)
			if q.HasOutput() {
				t.Error("there is output") // not before RTS
			}
			wantClosed(t, q, nil)
		})
	}
}

func TestStateAndErrorTexts(t *testing.T) {
	for s, want := range map[state]string{
		stateIdle: "Idle", stateRTS: "RTS", stateClosing: "Closing", stateTerminating: "Terminate",
		stateError: "Error", stateClosed: "Closed",
	} {
		if got := s.String(); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	e := &streamError{Code: 0x0103, Reason: "a reason", Err: errTest}
	if got, want := e.Error(), "rdmap: RDMA remote protection error: STag not associated with RDMAP Stream: a reason: test error"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if !errors.Is(e, errTest) {
		t.Error("the cause is not wrapped")
	}
	terminated := &TerminateError{Err: e}
	if got, want := terminated.Error(), "rdmap: stream terminated: "+e.Error(); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestConfigWithoutQPNumPanics(t *testing.T) {
	defer func() {
		if r := recover(); r == nil {
			t.Error("NewQP accepts a Domain without a QPNum")
		}
	}()
	NewQP(Config{Domain: new(ddp.Domain)})
}

func TestRTR(t *testing.T) {
	for _, tt := range []struct {
		op   WorkOp
		want string
	}{
		{WorkSend, "4143 00000000 00000000 00000001 00000000"},
		{WorkWrite, "c140 00000001 0000000000000000"},
		{WorkRead, "4141 00000000 00000001 00000001 00000000 00000001 0000000000000000 00000000 00000001 0000000000000000"},
	} {
		t.Run(tt.op.String(), func(t *testing.T) {
			// Neither a full queue nor ORD 0 stops it.
			x := newPair(t, params{
				depth: 2, ord: -1, startA: StartParams{SendRTR: tt.op},
				startB: StartParams{ExpectRTRSend: tt.op == WorkSend},
			})
			x.b.recv(7, 8)
			x.b.recv(8, 8)
			if err := x.b.qp.PostRecv(RecvRequest{}); (err == nil) != (tt.op == WorkSend) && !errors.Is(err, ErrQueueFull) {
				t.Errorf("PostRecv: %v", err)
			}
			x.a.post(WorkRequest{ID: 1, Op: WorkSend, Data: []byte("hi")})
			x.a.post(WorkRequest{ID: 2, Op: WorkSend, Data: []byte("ho")})
			x.a.transmit()
			if got := x.a.wire[0]; !bytes.Equal(got, unhex(tt.want)) {
				t.Errorf("first message %x, want %s", got, tt.want)
			}
			x.run()
			wantDone(t, "sender", x.a.sendCQ, "1 success, 2 success")
			wantDone(t, "receiver", x.b.recvCQ, "7 success, 8 success")
			wantState(t, x.a.qp, stateRTS)
			wantState(t, x.b.qp, stateRTS)
		})
	}
	t.Run("receives posted before Start stay behind the RTR's", func(t *testing.T) {
		q := NewQP(Config{RecvDepth: 2})
		for id := range uint64(2) {
			if err := q.PostRecv(RecvRequest{ID: id + 1, Buf: make([]byte, 4)}); err != nil {
				t.Fatal(err)
			}
		}
		rx := ddp.NewReceiver(q.Start(StartParams{ExpectRTRSend: true}))
		for msn := range uint32(3) {
			rx.Place(uint64(msn), untagged(OpSend, 0, msn+1, pattern(int(msn), 0)))
		}
		for rx.Deliver(3) {
			q.Handle(rx.Message())
		}
		if err := rx.Err(); err != nil {
			t.Fatal(err)
		}
		all := wantDone(t, "receives", q.cfg.RecvCQ, "1 success, 2 success")
		if len(all) == 2 && (all[0].Len != 1 || all[1].Len != 2) {
			t.Errorf("lengths %d, %d, want 1, 2", all[0].Len, all[1].Len)
		}
	})
	t.Run("an RTR with a payload is too long", func(t *testing.T) {
		x := newPair(t, params{startB: StartParams{ExpectRTRSend: true}})
		x.b.recv(1, 100)
		x.b.inject(untagged(OpSend, 0, 1, []byte{1}))
		x.b.wantTerminate("1205 c000 0013")
		wantDone(t, "the user's receive", x.b.recvCQ, "1 flushed")
	})
}

// Completions carry the number of their queue pair, with or without a Domain in its Config.
func TestCompletionCarriesQPNum(t *testing.T) {
	cq := NewCompletionQueue(3)
	for _, cfg := range []Config{
		{RecvCQ: cq, QPNum: 7},
		{RecvCQ: cq, QPNum: 8, Domain: new(ddp.Domain)},
		{RecvCQ: cq},
	} {
		q := NewQP(cfg)
		if err := q.PostRecv(RecvRequest{}); err != nil {
			t.Fatal(err)
		}
		q.Abort(errTest)
	}
	for i, c := range done(cq) {
		if want := []uint64{7, 8, 1}[i]; c.QPNum != want {
			t.Errorf("QPNum %d, want %d", c.QPNum, want)
		}
	}
}
