package rdmap

import (
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// Tests of RFC 5041 §6.2 and §7.1 at the seam between DDP and its ULP, which RDMAP is.

// "DDP MUST NOT independently initiate Stream Teardown." "If the underlying LLP Stream is still
// intact, DDP SHOULD continue to allow the ULP to transfer additional DDP Messages on the outgoing
// half connection after the fatal error was indicated to the ULP." "After indicating to the ULP a
// fatal error has occurred, the DDP Stream MUST NOT be terminated until the Local Peer ULP
// indicates to the DDP layer that the DDP Stream should be abortively torn down." "DDP SHOULD
// enable the ULP to send one additional DDP Message before terminating the DDP Stream."
//
// A side gets a segment that DDP refuses, and for a while does not react: its messages still reach
// the peer. Then it fails the stream, and one more message goes out, the Terminate. DDP-5041-6.2-1,
// DDP-5041-6.2.2-6, DDP-5041-6.2.2-7, DDP-5041-7.1-23
func TestRFC5041_6_2_ULPEndsTheStream(t *testing.T) {
	for _, tt := range []struct {
		desc, terminate string
		bad             func() []byte
	}{
		{"STag not valid", "1100 c000", func() []byte { return tagged(OpWrite, 0xDEADBE00, 0x1000, []byte{1}) }},
		{"QN not valid", "1201 c000", func() []byte { return untagged(OpSend, 7, 1, []byte{1}) }},
		{"no buffer", "1202 c000", func() []byte { return untagged(OpSend, 0, 1, []byte{1}) }},
		{"DDP version 3", "1206 c000", func() []byte {
			b := untagged(OpSend, 0, 1, []byte{1})
			b[0] |= 3
			return b
		}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			bad := tt.bad()
			x.a.rx.Place(x.a.off, bad)
			x.a.off += uint64(len(bad))
			if x.a.rx.Deliver(x.a.off) {
				t.Fatalf("delivered %+v", x.a.rx.Message())
			}
			failure := x.a.rx.Err()
			if failure == nil {
				t.Fatal("no error is told")
			}
			wantState(t, x.a.qp, stateRTS)
			x.b.recv(1, 8)
			x.a.post(WorkRequest{ID: 1, Op: WorkSend, Data: []byte("more")})
			x.a.transmit()
			x.b.receive()
			wantDone(t, "a Send after the error", x.b.recvCQ, "1 success")

			x.a.qp.Fail(failure)
			x.a.wantTerminate(tt.terminate)
			x.a.wantOut("Send", "Terminate")
			if err := x.a.qp.PostSend(&WorkRequest{Op: WorkSend}); err == nil {
				t.Error("a Send is accepted behind the Terminate")
			}
			x.b.receive()
			var te *TerminateError
			if !errors.As(x.b.qp.Err(), &te) || !te.Remote {
				t.Errorf("the peer's error: %v, want the Terminate", x.b.qp.Err())
			}
		})
	}
}

// "DDP implementations SHOULD consider lack of an associated buffer as a system fault." The QP and
// its peer can distinguish it from all other errors. "DDP implementations SHOULD NOT permit system
// faults to occur repeatedly or frequently. If there is not an associated buffer, DDP
// implementations MAY choose to disable the stream for the reception and report an error to the ULP
// at the Data Sink." Nothing is received after the first fault, although there are buffers again.
// DDP-5041-7.1-4, DDP-5041-7.1-6, DDP-5041-7.1-7
func TestRFC5041_7_1_NoBuffer(t *testing.T) {
	x := newPair(t, params{})
	x.b.recv(1, 8)
	x.b.inject(untagged(OpSend, 0, 1, []byte("first")))
	wantDone(t, "with a buffer", x.b.recvCQ, "1 success")
	x.b.inject(untagged(OpSend, 0, 2, []byte("second")))
	var e *ddp.Error
	if !errors.As(x.b.qp.Err(), &e) || e.Code != ddp.CodeNoBuffer {
		t.Errorf("error %v, want that there is no buffer", x.b.qp.Err())
	}
	if err := x.b.qp.PostRecv(RecvRequest{ID: 2, Buf: make([]byte, 8)}); err == nil {
		t.Error("a buffer is accepted, but nothing can come")
	}
	for msn := range uint32(5) {
		x.b.inject(untagged(OpSend, 0, msn+2, []byte("again")))
	}
	wantDone(t, "behind the fault", x.b.recvCQ, "")
	x.b.wantTerminate("1202 c000")
	x.b.wantOut("Terminate")
}
