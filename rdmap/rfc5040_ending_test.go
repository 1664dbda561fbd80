package rdmap

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// "The RDMAP layer Completes in error all ULP operations that have not been provided to the DDP
// layer" (RFC 5040 §5.4), whatever they are, and whichever side sends the Terminate.
//
// RDMAP-5040-5.4-10
func TestRFC5040_5_4_EveryQueuedOperationFails(t *testing.T) {
	for _, op := range kinds() {
		for _, remote := range []bool{false, true} {
			t.Run(fmt.Sprintf("%v, the peer's Terminate %t", op, remote), func(t *testing.T) {
				x := newPair(t, params{})
				x.a.post(WorkRequest{ID: 1, Op: op.WorkOp, Solicited: op.solicited, Invalidate: 9})
				x.a.post(WorkRequest{ID: 2, Op: op.WorkOp, Solicited: op.solicited, Invalidate: 9, Unsignaled: true})
				if remote {
					x.a.inject(untagged(OpTerminate, 2, 1, unhex("1101 0000")))
				} else {
					x.a.qp.Fail(errTest)
				}
				for _, c := range wantDone(t, "requests", x.a.sendCQ, "1 flushed, 2 flushed") {
					var e *TerminateError
					if !errors.As(c.Err, &e) || e.Remote != remote {
						t.Errorf("%v: reason %v", c, c.Err)
					}
				}
			})
		}
	}
}

// "On a single RDMAP Stream, the RDMAP layer MUST guarantee placement of a single Terminate
// Message" (RFC 5040 §5.4): with receives or without, with Reads allowed or none, with a shared
// receive queue that is empty.
//
// RDMAP-5040-5.4-6
func TestRFC5040_5_4_TerminateFindsItsBuffer(t *testing.T) {
	empty, _ := shared(t, 0, 8)
	for desc, p := range map[string]params{
		"nothing posted":               {},
		"no Reads, no extensions":      {ird: -1, ord: -1, noExtensions: true},
		"an empty shared queue":        {srq: empty},
		"queues of one place, no more": {depth: 1, cqDepth: 1},
	} {
		t.Run(desc, func(t *testing.T) {
			x := newPair(t, p)
			x.b.injectHex(vTermReadSTag) // the longest there is
			var e *TerminateError
			if err := x.b.qp.Err(); !errors.As(err, &e) || !e.Remote {
				t.Errorf("it is taken as %v", err)
			}
		})
	}
}

// The sink of a Read that ends with the stream belongs to the ULP again: no later segment changes
// it (RFC 5040 §8.1.1).
//
// RDMAP-5040-8.1.1-7
func TestRFC5040_8_1_1_NoChangeAfterTheEnd(t *testing.T) {
	x, sink := halfAnswered(t)
	x.a.qp.Fail(errTest)
	wantDone(t, "reader", x.a.sendCQ, "1 flushed")
	after := bytes.Clone(sink)
	if after[0] == 0 || after[499] != 0 {
		t.Fatal("the test is wrong: not in the middle")
	}
	for _, u := range x.b.wire[4:] {
		x.a.inject(u)
	}
	if !bytes.Equal(sink, after) {
		t.Error("the sink changes after its Read has failed")
	}
}

// halfAnswered is a pair in which the Read with ID 1 of one end has been answered, four segments
// have arrived, and the others are in b.wire[4:].
func halfAnswered(t *testing.T) (x *pair, sink []byte) {
	x = newPair(t, params{mulpdu: 64})
	r, _ := x.b.register(500, ddp.RemoteRead)
	sink = make([]byte, 500)
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: handle(r)})
	x.a.transmit()
	x.b.receive()
	x.b.transmit()
	for _, u := range x.b.wire[:4] {
		x.a.inject(u)
	}
	return x, sink
}
