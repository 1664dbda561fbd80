package rdmap

import (
	"testing"
)

// TestTerminateTime: the messages that go out before the Terminate for an error in the peer's data.
func TestTerminateTime(t *testing.T) {
	for _, tt := range []struct {
		desc  string
		time  TerminateTime
		close bool // the program calls Close when TCP has taken everything that can go out
		want  []Opcode
		reads string // Completions of the peer
	}{
		{"at once", TerminateAtOnce, false, []Opcode{OpTerminate}, "1 flushed, 2 flushed"},
		{"after the answers", TerminateAfterAnswers, false,
			[]Opcode{OpReadResponse, OpAtomicResponse, OpTerminate}, "1 success, 2 success"},
		{"at Close", TerminateAtClose, true,
			[]Opcode{OpReadResponse, OpSend, OpAtomicResponse, OpTerminate}, "1 success, 2 success"},
		{"not before Close", TerminateAtClose, false,
			[]Opcode{OpReadResponse, OpSend, OpAtomicResponse}, "1 success, 2 success"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			x.b.qp.cfg.Terminate = tt.time
			x.a.recv(9, 8)
			r, _ := x.b.register(64, allAccess)
			x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 64), Remote: handle(r)})
			x.a.post(WorkRequest{ID: 2, Op: WorkFetchAdd, Operand: 1, Remote: Handle{STag: r.STag(), TO: r.TO(), Len: 8}})
			x.a.transmit()
			x.b.receive()
			x.b.inject(tagged(OpWrite, r.STag()+1, 0, []byte{1}))
			if x.b.qp.TakesMessages() {
				t.Error("more of the peer is handled")
			}
			err := x.b.qp.PostSend(&WorkRequest{ID: 3, Op: WorkSend, Data: []byte("done")})
			if (err == nil) != (tt.time == TerminateAtClose) {
				t.Errorf("a Send behind the error: %v", err)
			}
			if x.b.qp.PostSend(&WorkRequest{ID: 4, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)}) == nil {
				t.Error("a Read was taken, whose answer nobody would handle")
			}
			x.b.transmit()
			if tt.close {
				x.b.qp.Close()
				x.b.transmit()
			}
			x.b.wantOut(eachOpcode(tt.want)...)
			x.a.receive()
			wantDone(t, "the peer", x.a.sendCQ, tt.reads)
			if x.b.qp.OwesAnswer() {
				t.Error("an answer is owed")
			}
		})
	}
}

func eachOpcode(ops []Opcode) (names []string) {
	for _, op := range ops {
		names = append(names, op.String())
	}
	return names
}

// TestTerminateOfAnswer: if an answer to an earlier request cannot be given, the Terminate about
// that request replaces it at once.
func TestTerminateOfAnswer(t *testing.T) {
	x := newPair(t, params{})
	x.b.qp.cfg.Terminate = TerminateAtClose
	r, _ := x.b.register(64, allAccess)
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 64), Remote: handle(r)})
	x.a.transmit()
	x.b.receive()
	if !x.b.qp.OwesAnswer() {
		t.Error("no answer is owed")
	}
	x.b.inject(tagged(OpWrite, r.STag()+1, 0, []byte{1}))
	r.Deregister()
	x.b.wantTerminate("0100")
	x.a.receive()
	wantDone(t, "the peer", x.a.sendCQ, "1 remote access error")
}
