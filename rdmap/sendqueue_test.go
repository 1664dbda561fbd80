package rdmap

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// regions returns how many Regions d has.
func regions(d *ddp.Domain) int {
	return reflect.ValueOf(d).Elem().FieldByName("regions").Len()
}

// "A Send or RDMA Write Message MUST NOT be considered Complete at the Local Peer (Data Source)
// until it has been successfully completed at the DDP layer."
//
// RDMAP-5040-5.5-16
func TestRFC5040_5_5_SendCompletesWhenSent(t *testing.T) {
	x := newPair(t, params{})
	x.a.slow = true
	for id, op := range []WorkOp{WorkSend, WorkWrite, WorkImmediate} {
		x.a.post(WorkRequest{ID: uint64(id), Op: op})
	}
	x.a.transmit()
	wantDone(t, "given out, not sent", x.a.sendCQ, "")
	x.a.qp.Sent(1)
	wantDone(t, "first one sent", x.a.sendCQ, "0 success")
	x.a.qp.Sent(0)
	wantDone(t, "nothing sent", x.a.sendCQ, "")
	x.a.qp.Sent(2)
	wantDone(t, "all sent", x.a.sendCQ, "1 success, 2 success")
}

// "RDMA Operations MUST be Completed at the Local Peer in the order that they were submitted by the
// ULP." "An RDMA Read operation MUST NOT be Completed at the Local Peer until the DDP layer
// Delivers the associated incoming RDMA Read Response Message." The same holds for atomics (RFC
// 7306 §5.4).
//
// RDMAP-5040-5.5-17, RDMAP-5040-5.5-21, RDMAPX-7306-5.4-1, RDMAPX-7306-5.4-8
func TestRFC5040_5_5_CompletionsInPostingOrder(t *testing.T) {
	x := newPair(t, params{mulpdu: 100})
	r, memory := x.b.register(256, allAccess)
	for range 2 {
		x.b.recv(0, 16)
	}
	x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Data: []byte{1}, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: make([]byte, 256), Remote: handle(r)})
	x.a.post(WorkRequest{ID: 3, Op: WorkSend, Data: []byte{1}})
	x.a.post(WorkRequest{ID: 4, Op: WorkFetchAdd, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 5, Op: WorkSend, Data: []byte{1}})
	x.a.transmit()
	wantDone(t, "all sent, nothing answered", x.a.sendCQ, "1 success")
	x.b.receive()
	x.b.transmit()
	if len(x.b.wire) != 4 {
		t.Fatalf("%d segments come back, want 3 of the Read Response and 1 Atomic Response", len(x.b.wire))
	}
	for i := range 2 {
		x.a.inject(x.b.wire[i])
	}
	wantDone(t, "response without its last segment", x.a.sendCQ, "")
	x.a.inject(x.b.wire[2])
	wantDone(t, "Read answered", x.a.sendCQ, "2 success, 3 success")
	x.a.inject(x.b.wire[3])
	all := wantDone(t, "atomic answered", x.a.sendCQ, "4 success, 5 success")
	if len(all) > 0 && all[0].Original != binary.NativeEndian.Uint64(memory) {
		t.Errorf("original value %#x, want %x", all[0].Original, memory[:8])
	}
	x.b.wire = nil // it has arrived
	x.a.post(WorkRequest{ID: 6, Op: WorkRead})
	x.a.transmit()
	wantDone(t, "Read of no octets sent", x.a.sendCQ, "")
	x.run()
	wantDone(t, "Read of no octets answered", x.a.sendCQ, "6 success")
}

// If a response is faster than Sent, the transmitter still holds the request, so it is not
// complete.
func TestReadCompletesWhenAnsweredAndSent(t *testing.T) {
	x := newPair(t, params{})
	r, _ := x.b.register(8, allAccess)
	x.a.slow = true
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8), Remote: handle(r)})
	x.run()
	wantDone(t, "answered, not reported sent", x.a.sendCQ, "")
	x.a.sent()
	wantDone(t, "reported", x.a.sendCQ, "1 success")
}

// "the RDMAP layer MUST NOT exceed the maximum number of outstanding, outbound RDMA Read Requests";
// "MUST provide the maximum number": the QP keeps to the limit and reports it. Atomics count too
// (RFC 7306 §5.2).
//
// RDMAP-5040-6.1-6, RDMAP-5040-6.1-8, RDMAPX-7306-5.2-2
func TestRFC5040_6_1_ORD(t *testing.T) {
	x := newPair(t, params{ord: 2})
	if got := x.a.qp.ord; got != 2 { // +checklocksignore: no other goroutine is at work
		t.Errorf("ORD is %d, want 2", got)
	}
	r, _ := x.b.register(8, allAccess)
	for id := range uint64(5) {
		op := WorkRead
		if id%2 == 1 {
			op = WorkFetchAdd
		}
		x.a.post(WorkRequest{ID: id, Op: op, Remote: handle(r)})
	}
	x.a.post(WorkRequest{ID: 5, Op: WorkSend})
	x.a.transmit()
	x.a.wantOut("RDMA Read Request", "Atomic Request")
	x.a.wantNothing()
	x.b.recv(0, 0)
	x.b.receive()
	x.b.transmitOne()
	x.a.receive()
	x.a.transmit() // one answered, one more goes out; the Send waits its turn
	x.a.wantOut("RDMA Read Request")
	x.run()
	x.a.wantOut("Atomic Request", "RDMA Read Request", "Send")
	wantDone(t, "all", x.a.sendCQ, "0 success, 1 success, 2 success, 3 success, 4 success, 5 success")
}

// "the Local Peer ULP must Fence the later RDMA write (or Send) by withholding the RDMA Write
// Message until all outstanding RDMA Read Responses have been Delivered."
//
// RDMAP-5040-5.5-14
func TestRFC5040_5_5_Fence(t *testing.T) {
	for _, op := range kinds() {
		t.Run(op.String(), func(t *testing.T) {
			x := newPair(t, params{})
			r, b := x.b.register(64, allAccess)
			victim, _ := x.b.register(8, allAccess)
			old := bytes.Clone(b)
			x.b.recv(0, 8)
			sink := make([]byte, 64)
			x.a.post(WorkRequest{ID: 1, Op: WorkFetchAdd, Remote: handle(r)})
			x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: sink, Remote: handle(r)})
			wr := WorkRequest{ID: 3, Op: op.WorkOp, Solicited: op.solicited, Remote: handle(r), Operand: 1, Fence: true, Invalidate: victim.STag()}
			if op.WorkOp == WorkSend || op.WorkOp == WorkWrite {
				wr.Data = []byte{0xAA}
			}
			x.a.post(wr)
			x.a.transmit()
			x.a.wantOut("Atomic Request", "RDMA Read Request")
			x.b.receive()
			x.b.transmitOne()
			x.a.receive() // the atomic is answered, the Read is not
			x.a.wantNothing()
			x.run()
			opcode, _ := op.opcode()
			x.a.wantOut(opcode.String())
			wantDone(t, "all", x.a.sendCQ, "1 success, 2 success, 3 success")
			if !bytes.Equal(sink, old) {
				t.Error("the Read saw what the fenced operation did")
			}
		})
	}
	t.Run("nothing outstanding", func(t *testing.T) {
		x := newPair(t, params{})
		x.a.post(WorkRequest{Op: WorkSend, Fence: true})
		x.a.transmit()
		x.a.wantOut("Send")
	})
}

func TestInline(t *testing.T) {
	x := newPair(t, params{})
	for _, n := range []int{0, 1, 100, 100_000} {
		got := x.b.recv(1, n)
		want := pattern(n, 3)
		data := bytes.Clone(want)
		x.a.post(WorkRequest{Op: WorkSend, Data: data, Inline: true})
		clear(data) // it belongs to the caller again
		x.run()
		if !bytes.Equal(got, want) {
			t.Errorf("%d octets inline arrive changed", n)
		}
	}
	got := x.b.recv(2, 6)
	gather := [][]byte{[]byte("ab"), nil, []byte("cdef")}
	x.a.post(WorkRequest{Op: WorkSend, Gather: gather, Inline: true})
	copy(gather[2], "xxxx")
	x.run()
	if string(got) != "abcdef" {
		t.Errorf("gathered inline: %q", got)
	}
}

// "the data blocks would be combined by the Data Source and sent as a single RDMA Write Message"
// RDMAP-5040-5.1-7
func TestRFC5040_5_1_Gather(t *testing.T) {
	for _, op := range []WorkOp{WorkSend, WorkWrite} {
		t.Run(op.String(), func(t *testing.T) {
			x := newPair(t, params{mulpdu: 50})
			r, target := x.b.register(200, allAccess)
			buf := x.b.recv(1, 200)
			want := pattern(200, 9)
			x.a.post(WorkRequest{Op: op, Remote: handle(r), Gather: [][]byte{want[:1], {}, want[1:130], nil, want[130:]}})
			x.run()
			got := target
			if op == WorkSend {
				got = buf
			}
			if !bytes.Equal(got, want) {
				t.Error("the pieces arrive changed")
			}
			if len(x.a.out) != 1 {
				t.Errorf("%d messages, want 1", len(x.a.out))
			}
		})
	}
}

func TestSelectiveSignaling(t *testing.T) {
	x := newPair(t, params{cqDepth: 3})
	r, _ := x.b.register(8, allAccess)
	for range 3 {
		x.a.post(WorkRequest{ID: 1, Op: WorkWrite, Remote: handle(r), Data: []byte{1}, Unsignaled: true})
	}
	x.run()
	wantDone(t, "unsignaled, successful", x.a.sendCQ, "")
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Remote: handle(r), Unsignaled: true})
	x.a.post(WorkRequest{ID: 3, Op: WorkSend})
	x.a.transmit()
	x.a.post(WorkRequest{ID: 4, Op: WorkWrite, Data: []byte{1}, Unsignaled: true}) // the entries are free again
	wantDone(t, "Read not answered", x.a.sendCQ, "")
	x.a.qp.Abort(errTest)
	wantDone(t, "unsignaled, failed", x.a.sendCQ, "2 flushed, 3 success, 4 flushed")
}

// Blocking callers use their own completion queue. Completions are in order within the QP, not
// between queues.
func TestPrivateCompletionQueue(t *testing.T) {
	x := newPair(t, params{})
	own := NewCompletionQueue(1)
	x.b.recv(0, 0)
	x.b.recv(0, 0)
	x.a.post(WorkRequest{ID: 1, Op: WorkSend})
	x.a.post(WorkRequest{ID: 2, Op: WorkSend, CQ: own})
	if err := x.a.qp.PostSend(&WorkRequest{Op: WorkSend, CQ: own}); !errors.Is(err, ErrCompletionQueueFull) {
		t.Errorf("2nd request on a queue of 1: %v", err)
	}
	x.run()
	wantDone(t, "QP's queue", x.a.sendCQ, "1 success")
	wantDone(t, "own queue", own, "2 success")
}

func TestCancel(t *testing.T) {
	x := newPair(t, params{ord: 1})
	r, memory := x.b.register(8, allAccess)
	sink, abandoned := make([]byte, 8), make([]byte, 8)
	copy(memory, "response")
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: abandoned, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkRead, Data: sink, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 3, Op: WorkSend, Data: []byte("x"), Inline: true})
	x.a.post(WorkRequest{ID: 4, Op: WorkSend})
	x.a.transmit()
	x.a.wantOut("RDMA Read Request")
	other := NewCompletionQueue(1)
	for _, tt := range []struct {
		desc string
		cq   *CompletionQueue
		id   uint64
		want bool
		done string
	}{
		{"Read under way", x.a.sendCQ, 1, true, "1 flushed"},
		{"queued Read", x.a.sendCQ, 2, true, "2 flushed"},
		{"queued Send", x.a.sendCQ, 3, true, "3 flushed"},
		{"canceled before", x.a.sendCQ, 3, true, ""},
		{"another queue's", other, 4, true, ""},
		{"unknown", x.a.sendCQ, 9, true, ""},
	} {
		if got := x.a.qp.Cancel(tt.cq, tt.id); got != tt.want {
			t.Errorf("Cancel, %s: %t, want %t", tt.desc, got, tt.want)
		}
		for _, c := range wantDone(t, tt.desc, x.a.sendCQ, tt.done) {
			if !errors.Is(c.Err, ErrCanceled) {
				t.Errorf("%s: reason %v", tt.desc, c.Err)
			}
		}
	}
	if n := regions(x.a.domain); n != 1 {
		t.Errorf("%d sinks are registered, want that of the Read under way", n)
	}
	x.b.recv(0, 8)
	x.a.post(WorkRequest{ID: 7, Op: WorkRead})
	x.a.transmit()
	x.a.wantOut("Send") // the limit of one Read holds: the first one is still under way
	x.run()
	x.a.wantOut("RDMA Read Request")
	wantDone(t, "the rest", x.a.sendCQ, "4 success, 7 success")
	if !bytes.Equal(abandoned, make([]byte, 8)) {
		t.Errorf("the response to the canceled Read was placed: %q", abandoned)
	}
	if n := regions(x.a.domain); n != 0 {
		t.Errorf("%d sinks are left after the response", n)
	}
	x.a.post(WorkRequest{ID: 5, Op: WorkSend})
	x.a.transmit()
	if !x.a.qp.Cancel(x.a.sendCQ, 5) {
		t.Error("Cancel of a completed request: false")
	}
	x.a.post(WorkRequest{ID: 6, Op: WorkSend})
	if !x.a.qp.NextMessage() || x.a.qp.Cancel(x.a.sendCQ, 6) {
		t.Error("Cancel of a Send that was given out: true")
	}
}

// Between the two steps of Cancel other goroutines can use the QP: the response may arrive, or the
// stream may end. Neither completes the request a second time, and its place in the queue is free
// for another one.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func TestAbandonedCompletesOnce(t *testing.T) {
	for _, tt := range []struct {
		desc string
		op   WorkOp
		then func(x *pair)
	}{
		{"response to a Read", WorkRead, (*pair).run},
		{"response to an atomic", WorkFetchAdd, (*pair).run},
		{"end of the stream, Read", WorkRead, func(x *pair) { x.a.qp.Abort(errTest) }},
		{"end of the stream, atomic", WorkFetchAdd, func(x *pair) { x.a.qp.Abort(errTest) }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			r, _ := x.b.register(8, allAccess)
			wr := WorkRequest{ID: 1, Op: tt.op, Remote: handle(r)}
			if tt.op == WorkRead {
				wr.Data = make([]byte, 8)
			}
			x.a.post(wr)
			x.a.transmit()
			q := x.a.qp
			q.mu.Lock()
			a := q.sq.at(q.sq.ring.Head()).abandon(q)
			q.mu.Unlock()
			tt.then(x)
			if wantDone(t, "meanwhile", x.a.sendCQ, ""); t.Failed() {
				return // a second Completion would have no entry
			}
			a.release()
			wantDone(t, "released", x.a.sendCQ, "1 flushed")
			if q.sq.ring.Head() != q.sq.ring.Tail() { // +checklocksignore: no other goroutine is at work
				t.Error("the request is still in the queue")
			}
			if x.a.sendCQ.promised() != 0 {
				t.Errorf("%d entries stay reserved", x.a.sendCQ.promised())
			}
		})
	}
}

// +checklocksignore: the test looks inside while no other goroutine is at work
func TestCancelAheadOfTurn(t *testing.T) {
	x := newPair(t, params{})
	r, _ := x.b.register(8, allAccess)
	x.a.post(WorkRequest{ID: 1, Op: WorkRead, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 2, Op: WorkFetchAdd, Remote: handle(r), Unsignaled: true})
	x.a.post(WorkRequest{ID: 3, Op: WorkWrite, Remote: handle(r)})
	x.a.post(WorkRequest{ID: 4, Op: WorkFetchAdd, Remote: handle(r), Fence: true})
	x.a.transmit()
	wantDone(t, "all wait for the Read", x.a.sendCQ, "")
	for id, want := range map[uint64]string{2: "2 flushed", 3: "3 success"} {
		if !x.a.qp.Cancel(x.a.sendCQ, id) {
			t.Errorf("Cancel(%d): false", id)
		}
		wantDone(t, "ahead of its turn", x.a.sendCQ, want)
	}
	x.a.wantNothing() // an atomic without its user still holds the fence
	x.run()
	wantDone(t, "the rest", x.a.sendCQ, "1 success, 4 success")
	wantState(t, x.a.qp, stateRTS)
	if x.a.sendCQ.promised() != 0 {
		t.Errorf("%d entries stay reserved", x.a.sendCQ.promised())
	}
}

// TestCancelMakesRoom: a canceled request makes room for another one, unless the peer still owes
// its answer. It does so also after a request that continues. The remaining requests keep their
// order.
func TestCancelMakesRoom(t *testing.T) {
	x := newPair(t, params{depth: 6, ord: 2})
	r, memory := x.b.register(8, allAccess)
	copy(memory, "response")
	full := func(desc string) {
		t.Helper()
		if err := x.a.qp.PostSend(&WorkRequest{Op: WorkWrite}); !errors.Is(err, ErrQueueFull) {
			t.Fatalf("%s: %v, want ErrQueueFull", desc, err)
		}
	}
	sinks := make([][8]byte, 100)
	read := func(id uint64) {
		t.Helper()
		x.a.post(WorkRequest{ID: id, Op: WorkRead, Data: sinks[id][:], Remote: handle(r)})
	}
	for id := range uint64(2) {
		read(id)
	}
	x.a.post(WorkRequest{ID: 2, Op: WorkWrite, Data: []byte("x"), Remote: handle(r)})
	x.a.transmit()
	x.a.wantOut("RDMA Read Request", "RDMA Read Request", "RDMA Write")
	for id := uint64(3); id < 6; id++ {
		read(id)
	}
	full("six requests")
	next := uint64(6)
	for range 10 { // each time all requests that can leave do, and as many new ones are posted
		var want []string
		for id := next - 3; id < next; id++ {
			if !x.a.qp.Cancel(x.a.sendCQ, id) {
				t.Fatalf("Cancel(%d): false", id)
			}
			want = append(want, fmt.Sprintf("%d flushed", id))
		}
		wantDone(t, "canceled", x.a.sendCQ, strings.Join(want, ", "))
		for range 3 {
			read(next)
			next++
		}
		full("as many others")
	}
	x.a.qp.Cancel(x.a.sendCQ, 2)
	wantDone(t, "the Write, which is done", x.a.sendCQ, "2 success")
	read(next)
	full("a Read in the place of the Write")
	x.a.qp.Cancel(x.a.sendCQ, 0)
	wantDone(t, "a Read under way", x.a.sendCQ, "0 flushed")
	full("the peer still owes an answer")
	x.run()
	wantDone(t, "the rest", x.a.sendCQ, fmt.Sprintf("1 success, %d success, %d success, %d success, %d success", next-3, next-2, next-1, next))
	for id, sink := range sinks {
		answered := id == 1 || uint64(id) >= next-3 && uint64(id) <= next
		if got := string(sink[:]); answered != (got == "xesponse") && answered != (got == "response") {
			t.Errorf("the sink of Read %d has %q", id, got)
		}
	}
	if x.a.sendCQ.promised() != 0 || regions(x.a.domain) != 0 {
		t.Errorf("%d entries stay reserved, %d sinks registered", x.a.sendCQ.promised(), regions(x.a.domain))
	}
}

func TestEveryOperationEverySize(t *testing.T) {
	for _, mulpdu := range []int{64, 1000} {
		for _, n := range []int{0, 1, 7, 45, 46, 47, 50, 986, 1000, 4096, 100_001} {
			t.Run(fmt.Sprintf("%d octets, MULPDU %d", n, mulpdu), func(t *testing.T) {
				x := newPair(t, params{mulpdu: mulpdu})
				r, target := x.b.register(n+3, allAccess)
				data := pattern(n, n)
				buf := x.b.recv(1, n)
				h, err := handle(r).Slice(3, n) // an odd offset
				if err != nil {
					t.Fatal(err)
				}
				sink := make([]byte, n)
				x.a.post(WorkRequest{ID: 1, Op: WorkSend, Data: data})
				x.a.post(WorkRequest{ID: 2, Op: WorkWrite, Data: data, Remote: h})
				x.a.post(WorkRequest{ID: 3, Op: WorkRead, Data: sink, Remote: h})
				x.run()
				all := wantDone(t, "sender", x.a.sendCQ, "1 success, 2 success, 3 success")
				for _, c := range all {
					if c.Len != uint32(n) || c.QPNum != x.a.qp.cfg.QPNum {
						t.Errorf("%v: length %d", c, c.Len)
					}
				}
				all = wantDone(t, "receiver", x.b.recvCQ, "1 success")
				if len(all) == 1 && all[0].Len != uint32(n) {
					t.Errorf("received length %d, want %d", all[0].Len, n)
				}
				if !bytes.Equal(buf, data) || !bytes.Equal(target[3:], data) || !bytes.Equal(sink, data) {
					t.Error("octets differ")
				}
				if got := regions(x.a.domain); got != 0 {
					t.Errorf("%d sinks are still registered", got)
				}
			})
		}
	}
}

// A farSink is the sink of a Read in other memory.
type farSink struct{ b []byte }

func (s *farSink) WriteAt(p []byte, off int64) (int, error) { return copy(s.b[off:], p), nil }

// TestSink: the response to a Read goes to its Sink, unless the Read is canceled before.
func TestSink(t *testing.T) {
	x := newPair(t, params{mulpdu: 100})
	r, memory := x.b.register(1000, allAccess)
	for _, canceled := range []bool{false, true} {
		s := &farSink{make([]byte, 900)}
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Sink: s, SinkLen: 900, Remote: handle(r)})
		x.a.transmit()
		want := memory[:900]
		if canceled {
			if !x.a.qp.Cancel(x.a.sendCQ, 1) {
				t.Error("Cancel: false")
			}
			wantDone(t, "canceled", x.a.sendCQ, "1 flushed")
			want = make([]byte, 900)
		}
		x.run()
		if !canceled {
			wantDone(t, "the Read", x.a.sendCQ, "1 success")
		}
		if !bytes.Equal(s.b, want) {
			t.Errorf("canceled %t: other bytes in the sink", canceled)
		}
		if n := regions(x.a.domain); n != 0 {
			t.Errorf("%d sinks are left", n)
		}
	}
	s := &farSink{make([]byte, 8)}
	for _, wr := range []WorkRequest{
		{Op: WorkWrite, Sink: s, SinkLen: 8}, {Op: WorkSend, Sink: s}, {Op: WorkRead, Sink: s, SinkLen: 8, Data: make([]byte, 8)},
		{Op: WorkRead, SinkLen: 8}, {Op: WorkFetchAdd, Sink: s, SinkLen: 8},
	} {
		if err := x.a.qp.PostSend(&wr); !errors.Is(err, ErrBadRequest) {
			t.Errorf("%v with a sink of %d bytes: %v", wr.Op, wr.SinkLen, err)
		}
	}
}
