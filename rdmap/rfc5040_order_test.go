package rdmap

import (
	"bytes"
	"fmt"
	"slices"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// "RDMAP does not provide ordering among Messages on different RDMAP Streams": a stream that stops
// in the middle of a message does not block another one, even if the two share Domain and
// completion queue.
//
// RDMAP-5040-5.5-1
func TestRFC5040_5_5_StreamsDoNotWaitForEachOther(t *testing.T) {
	domain, cq := new(ddp.Domain), NewCompletionQueue(64)
	srq, _ := shared(t, 4, 100)
	slow := newPair(t, params{mulpdu: 40, domain: domain, srq: srq, srqCQ: cq})
	quick := newPair(t, params{mulpdu: 40, domain: domain, srq: srq, srqCQ: cq})
	slow.a.post(WorkRequest{ID: 1, Op: WorkSend, Data: make([]byte, 100)})
	slow.a.transmit()
	n := len(slow.a.wire)
	for _, u := range slow.a.wire[:n-1] {
		slow.b.inject(u)
	}
	quick.a.post(WorkRequest{ID: 2, Op: WorkSend, Data: make([]byte, 100)})
	quick.run()
	if all := wantDone(t, "the later Send on the other stream", cq, "2 success"); len(all) == 1 && all[0].QPNum != quick.b.qp.cfg.QPNum {
		t.Error("it is the slow stream's")
	}
	slow.b.inject(slow.a.wire[n-1])
	wantDone(t, "the earlier one", cq, "1 success")
}

// "RDMAP does not provide ordering between operations that are generated from the two ends of an
// RDMAP Stream": messages that cross on the way are delivered, whichever end receives first.
//
// RDMAP-5040-5.5-2
func TestRFC5040_5_5_CrossingOperations(t *testing.T) {
	for _, first := range []string{"a", "b"} {
		x := newPair(t, params{})
		ra, _ := x.a.register(8, allAccess)
		rb, _ := x.b.register(8, allAccess)
		x.a.recv(1, 8)
		x.b.recv(1, 8)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8), Remote: handle(rb)})
		x.b.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8), Remote: handle(ra)})
		x.a.post(WorkRequest{ID: 2, Op: WorkSend})
		x.b.post(WorkRequest{ID: 2, Op: WorkSend})
		x.a.transmit()
		x.b.transmit()
		if first == "a" {
			x.a.receive()
		} else {
			x.b.receive()
		}
		x.run()
		for _, s := range []*side{x.a, x.b} {
			wantDone(t, "requests", s.sendCQ, "1 success, 2 success")
			wantDone(t, "receives", s.recvCQ, "1 success")
		}
	}
}

// "RDMA Messages that use Tagged and Untagged Buffers MAY be Placed in any order." "the contents of
// an Untagged Buffer at the Data Sink MAY be indeterminate until the Send is Delivered", those of a
// Write's "until a subsequent Send is Delivered", those of a Read's sink "until the RDMA Read
// Response Message has been Delivered". rddp places a segment that arrives ahead of earlier ones,
// whatever the two are (appendix B), but does not deliver it.
//
// RDMAP-5040-5.5-3 to RDMAP-5040-5.5-6, RDMAP-5040-B-1, RDMAP-5040-B-2, RDMAP-5040-B-5
func TestRFC5040_5_5_PlacedBeforeDelivered(t *testing.T) {
	for _, first := range []WorkOp{WorkSend, WorkWrite} {
		for _, later := range []WorkOp{WorkSend, WorkWrite} {
			t.Run(fmt.Sprintf("%v, then %v", first, later), func(t *testing.T) {
				x := newPair(t, params{})
				var memory [2][]byte
				for i, op := range []WorkOp{first, later} {
					r, b := x.b.register(8, allAccess)
					memory[i] = b
					if op == WorkSend {
						memory[i] = x.b.recv(uint64(i), 8)
					}
					x.a.post(WorkRequest{Op: op, Data: bytes.Repeat([]byte{byte(i) + 0xA0}, 8-i), Remote: handle(r)})
				}
				x.b.recv(2, 0)
				x.a.post(WorkRequest{Op: WorkSend})
				x.a.transmit()
				var ids, want []uint64
				for i, op := range []WorkOp{first, later, WorkSend} {
					if op == WorkSend {
						want = append(want, uint64(i))
					}
				}
				arrived := 0
				x.b.arrive(x.a.wire, []int{1, 0, 2}, func() {
					arrived++
					placed := [2]bool{memory[0][0] == 0xA0, memory[1][0] == 0xA1}
					if want := [2]bool{arrived > 1, true}; placed != want {
						t.Errorf("after %d segments the messages are placed: %t, want %t", arrived, placed, want)
					}
					all := done(x.b.recvCQ)
					if arrived == 1 && len(all) != 0 {
						t.Errorf("%v is delivered before %v", all, first)
					}
					for _, c := range all {
						if n := map[uint64]uint32{0: 8, 1: 7}[c.ID]; c.Status != StatusOK || c.Len != n {
							t.Errorf("completion %v, want %d octets", c, n)
						}
						ids = append(ids, c.ID)
					}
				})
				if !slices.Equal(ids, want) { // "Completed in order"
					t.Errorf("completions of %v, want %v", ids, want)
				}
				wantState(t, x.b.qp, stateRTS)
			})
		}
	}
	t.Run("Read", func(t *testing.T) {
		x := newPair(t, params{mulpdu: 100})
		r, b := x.b.register(120, ddp.RemoteRead)
		sink := make([]byte, 120)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: handle(r)})
		x.a.transmit()
		x.b.receive()
		x.b.transmit()
		x.a.arrive(x.b.wire, []int{1, 0}, func() {
			if !bytes.Equal(sink[86:], b[86:]) {
				t.Error("the second segment is not placed")
			}
			if all := done(x.a.sendCQ); (len(all) == 1) != bytes.Equal(sink, b) {
				t.Errorf("the sink is %x, the completions %v", sink, all)
			}
		})
	})
}

// "The Completion of an RDMA Write or Send Operation at the Local Peer does not guarantee that the
// ULP Message has yet reached the Remote Peer ULP Buffer".
//
// RDMAP-5040-5.5-8
func TestRFC5040_5_5_CompletionSaysNothingOfThePeer(t *testing.T) {
	x := newPair(t, params{})
	r, b := x.b.register(8, allAccess)
	before := bytes.Clone(b)
	buf := x.b.recv(1, 8)
	x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Data: make([]byte, 8), Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkSend, Data: []byte("hello")})
	x.a.transmit() // and nothing arrives
	wantDone(t, "source", x.a.sendCQ, "1 success, 2 success")
	wantDone(t, "sink", x.b.recvCQ, "")
	if !bytes.Equal(b, before) || !bytes.Equal(buf, make([]byte, 8)) {
		t.Error("the test is wrong: something has arrived")
	}
}

// "Send Messages MUST be Delivered to the ULP at the Remote Peer after they are Delivered to RDMAP
// by DDP and in the order that they were Delivered to RDMAP", "only after the DDP Message has been
// Delivered to the RDMAP layer", and "RDMA Read Request Messages, including zero-length RDMA Read
// Requests, MUST NOT start processing at the Remote Peer until they have been Delivered": in
// whatever order the segments of both arrive. A Read sees everything that was sent before it.
//
// RDMAP-5040-5.5-9, RDMAP-5040-5.5-12, RDMAP-5040-5.5-18, RDMAP-5040-5.5-19, RDMAP-5040-B-3,
// RDMAP-5040-B-6
func TestRFC5040_5_5_NothingIsActedOnEarly(t *testing.T) {
	for _, order := range [][]int{
		{0, 1, 2, 3, 4, 5}, {5, 4, 3, 2, 1, 0}, {3, 4, 5, 0, 1, 2}, {1, 3, 5, 0, 2, 4}, {4, 1, 5, 3, 2, 0},
	} {
		t.Run(fmt.Sprint(order), func(t *testing.T) {
			x := newPair(t, params{})
			r, b := x.b.register(8, allAccess)
			bufs := [2][]byte{x.b.recv(0, 8), x.b.recv(1, 8)}
			want := []byte("written!")
			x.a.post(WorkRequest{Op: WorkWrite, Data: want[:4], Remote: handle(r)})
			h, err := handle(r).Slice(4, 4)
			if err != nil {
				t.Fatal(err)
			}
			sink := make([]byte, 8)
			x.a.post(WorkRequest{Op: WorkSend, Data: want})                              // 1
			x.a.post(WorkRequest{Op: WorkWrite, Data: want[4:], Remote: h})              // 2
			x.a.post(WorkRequest{Op: WorkRead, Data: sink, Remote: handle(r)})           // 3
			x.a.post(WorkRequest{Op: WorkSend, Data: want})                              // 4
			x.a.post(WorkRequest{ID: 5, Op: WorkRead, Remote: Handle{STag: 0xDEADBE00}}) // 5, of length 0
			x.a.transmit()
			if len(x.a.wire) != 6 {
				t.Fatalf("%d segments", len(x.a.wire))
			}
			here := map[int]bool{}
			arrived, answers, sends := 0, 0, 0
			x.b.arrive(x.a.wire, order, func() {
				here[order[arrived]] = true
				arrived++
				next := 0 // all before it have arrived
				for here[next] {
					next++
				}
				for _, c := range done(x.b.recvCQ) {
					if int(c.ID) != sends || !bytes.Equal(bufs[c.ID], want) {
						t.Errorf("completion %v, want %d", c, sends)
					}
					sends++
				}
				for x.b.transmitOne() {
					answers++
				}
				wantSends, wantAnswers := 0, 0
				for i := range next {
					switch i {
					case 1, 4:
						wantSends++
					case 3, 5:
						wantAnswers++
					}
				}
				if sends != wantSends || answers != wantAnswers {
					t.Errorf("with the first %d in order %d Sends are delivered and %d Reads answered, want %d and %d",
						next, sends, answers, wantSends, wantAnswers)
				}
			})
			x.a.receive()
			wantDone(t, "reader", x.a.sendCQ, "0 success, 0 success, 0 success, 0 success, 0 success, 5 success")
			if !bytes.Equal(b, want) || !bytes.Equal(sink, want) {
				t.Errorf("the Read gives %q, want %q", sink, want)
			}
		})
	}
}

// "RDMA Read Response Messages MAY be generated at the Remote Peer after subsequent RDMA Write
// Messages or Send Messages have been Placed or Delivered": the Read may return the data of a later
// Write, and a later Send may complete first.
//
// RDMAP-5040-5.5-13, RDMAP-5040-5.5-20, RDMAP-5040-B-7, RDMAP-5040-B-8
func TestRFC5040_5_5_LaterMessagesOvertakeTheReading(t *testing.T) {
	for _, fence := range []bool{false, true} {
		x := newPair(t, params{})
		r, b := x.b.register(8, allAccess)
		old := bytes.Clone(b)
		buf := x.b.recv(7, 8)
		sink := make([]byte, 8)
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: sink, Remote: handle(r)})
		x.a.post(WorkRequest{ID: 2, Op: WorkWrite, Data: []byte("later..."), Remote: handle(r), Fence: fence})
		x.a.post(WorkRequest{ID: 3, Op: WorkSend, Data: []byte("and this")})
		x.a.transmit()
		x.b.receive() // all of it, before anything is answered
		if fence {
			wantDone(t, "behind a fence", x.b.recvCQ, "")
		} else {
			wantDone(t, "before the answer", x.b.recvCQ, "7 success")
			if string(buf) != "and this" {
				t.Errorf("the Send is placed as %q", buf)
			}
		}
		x.run()
		wantDone(t, "requests", x.a.sendCQ, "1 success, 2 success, 3 success")
		want := []byte("later...")
		if fence {
			want = old
		}
		if !bytes.Equal(sink, want) {
			t.Errorf("fence %t: the Read gives %q, want %q", fence, sink, want)
		}
	}
}

// "Second RDMA Read Response will not be generated until first RDMA Read Response is generated"
// (appendix B).
//
// RDMAP-5040-B-9
func TestRFC5040_B_SecondResponseAfterTheFirst(t *testing.T) {
	x := newPair(t, params{mulpdu: 100})
	long, _ := x.b.register(1000, ddp.RemoteRead)
	short, _ := x.b.register(1, ddp.RemoteRead)
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 1000), Remote: handle(long)})
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: make([]byte, 1), Remote: handle(short)})
	x.a.transmit()
	first, _, err := ParseReadRequest(x.a.wire[0][18:])
	if err != nil {
		t.Fatal(err)
	}
	x.b.receive()
	x.b.transmit()
	n := len(x.b.wire)
	for i, u := range x.b.wire {
		h, _, err := ddp.ParseTagged(u)
		if err != nil || (h.STag == first.SinkSTag) != (i < n-1) {
			t.Errorf("segment %d of %d is for STag %v (%v)", i, n, h.STag, err)
		}
	}
}
