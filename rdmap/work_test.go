package rdmap

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// +checklocksignore: the test looks inside while no other goroutine is at work
func TestPostSendRefusesBadRequests(t *testing.T) {
	h := Handle{STag: 1, TO: 1}
	for _, tt := range []struct {
		desc string
		wr   WorkRequest
	}{
		{"no operation", WorkRequest{}},
		{"operation of receives", WorkRequest{Op: WorkRecv}},
		{"unknown operation", WorkRequest{Op: 200}},
		{"Data and Gather", WorkRequest{Op: WorkSend, Data: []byte{1}, Gather: [][]byte{{2}}}},
		{"Read with Gather", WorkRequest{Op: WorkRead, Remote: h, Gather: [][]byte{{2}}}},
		{"Read inline", WorkRequest{Op: WorkRead, Remote: h, Data: []byte{1}, Inline: true}},
		{"Send with Invalidate without an STag", WorkRequest{Op: WorkSendInvalidate}},
		{"Send with SE and Invalidate without an STag", WorkRequest{Op: WorkSendInvalidate, Solicited: true}},
		{"Write with a Solicited Event", WorkRequest{Op: WorkWrite, Remote: h, Solicited: true}},
		{"Read with a Solicited Event", WorkRequest{Op: WorkRead, Remote: h, Data: []byte{1}, Solicited: true}},
		{"FetchAdd with a Solicited Event", WorkRequest{Op: WorkFetchAdd, Remote: h, Solicited: true}},
		{"FetchAdd with a payload", WorkRequest{Op: WorkFetchAdd, Remote: h, Data: []byte{1}}},
		{"Immediate Data with a payload", WorkRequest{Op: WorkImmediate, Data: []byte{1}}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x := newPair(t, params{})
			if err := x.a.qp.PostSend(&tt.wr); !errors.Is(err, ErrBadRequest) {
				t.Errorf("PostSend: %v, want ErrBadRequest", err)
			}
			x.a.wantNothing()
			if x.a.sendCQ.promised() != 0 {
				t.Error("an entry of the completion queue stays reserved")
			}
		})
	}
}

// Operations "transfer up to 2^32 - 1 octets": no more is accepted.
// RDMAP-5040-1.1-1, DDP-5041-1.2-1, DDP-5041-5.2-3
func TestRFC5040_1_1_LengthLimit(t *testing.T) {
	if unsafe.Sizeof(uintptr(0)) == 4 {
		t.Skip("no slice is that long here")
	}
	x := newPair(t, params{})
	// The same 64 KiB again and again: 2^32 octets of payload without the memory for them.
	piece := make([]byte, 64<<10)
	gather := make([][]byte, 64<<10)
	for i := range gather {
		gather[i] = piece
	}
	for _, op := range []WorkOp{WorkSend, WorkWrite} {
		if err := x.a.qp.PostSend(&WorkRequest{Op: op, Gather: gather}); !errors.Is(err, ErrMessageTooLong) {
			t.Errorf("PostSend(%v) of 2^32 octets: %v, want ErrMessageTooLong", op, err)
		}
		gather[0] = piece[1:]
		if err := x.a.qp.PostSend(&WorkRequest{Op: op, Gather: gather}); err != nil {
			t.Errorf("PostSend(%v) of 2^32-1 octets: %v", op, err)
		}
		gather[0] = piece
	}
	if testmode.Race {
		return // its pointer checks would detect the following trick
	}
	n := uint64(1) << 32               // a variable, or this would not compile for 32 bits
	huge := unsafe.Slice(&piece[0], n) // never touched
	if err := x.a.qp.PostSend(&WorkRequest{Op: WorkRead, Data: huge}); !errors.Is(err, ErrMessageTooLong) {
		t.Errorf("PostSend(Read) of 2^32 octets: %v, want ErrMessageTooLong", err)
	}
	if err := x.a.qp.PostRecv(RecvRequest{Buf: huge}); !errors.Is(err, ErrMessageTooLong) {
		t.Errorf("PostRecv of 2^32 octets: %v, want ErrMessageTooLong", err)
	}
	if err := NewSharedReceiveQueue(1).PostRecv(RecvRequest{Buf: huge}); !errors.Is(err, ErrMessageTooLong) {
		t.Errorf("PostRecv of 2^32 octets to a shared queue: %v, want ErrMessageTooLong", err)
	}
}

// "it is RECOMMENDED that RDMA applications and/or ULPs negotiate at the application or ULP level
// the usage of these extensions": they are off until enabled.
// RDMAPX-7306-1.1-2
func TestRFC7306_1_1_ExtensionsOff(t *testing.T) {
	x := newPair(t, params{noExtensions: true})
	for _, op := range []kind{
		{WorkFetchAdd, false}, {WorkCmpSwap, false}, {WorkSwap, false}, {WorkImmediate, false},
		{WorkImmediate, true},
	} {
		if err := x.a.qp.PostSend(&WorkRequest{Op: op.WorkOp, Solicited: op.solicited}); !errors.Is(err, ErrNoExtensions) {
			t.Errorf("PostSend(%v): %v, want ErrNoExtensions", op, err)
		}
	}
}

func TestExtensionsByConfig(t *testing.T) {
	q := NewQP(Config{Extensions: true})
	q.Start(StartParams{ORD: 1})
	if err := q.PostSend(&WorkRequest{Op: WorkFetchAdd}); err != nil {
		t.Errorf("PostSend(FetchAdd): %v", err)
	}
	if q.receiverConfig().Queues[3] == nil {
		t.Error("no queue for Atomic Responses")
	}
}

func TestPostLimits(t *testing.T) {
	t.Run("send queue", func(t *testing.T) {
		x := newPair(t, params{depth: 3})
		for range 3 {
			x.a.post(WorkRequest{Op: WorkSend})
		}
		if err := x.a.qp.PostSend(&WorkRequest{Op: WorkSend}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("4th of 3 Sends: %v, want ErrQueueFull", err)
		}
		x.a.transmit()
		x.a.post(WorkRequest{Op: WorkSend})
	})
	t.Run("receive queue", func(t *testing.T) {
		x := newPair(t, params{depth: 3})
		for range 3 {
			x.a.recv(1, 1)
		}
		if err := x.a.qp.PostRecv(RecvRequest{}); !errors.Is(err, ErrQueueFull) {
			t.Errorf("4th of 3 receives: %v, want ErrQueueFull", err)
		}
	})
	t.Run("completion queue of sends", func(t *testing.T) {
		x := newPair(t, params{cqDepth: 2})
		x.a.post(WorkRequest{Op: WorkSend})
		x.a.post(WorkRequest{Op: WorkSend})
		x.a.transmit()
		if err := x.a.qp.PostSend(&WorkRequest{Op: WorkSend}); !errors.Is(err, ErrCompletionQueueFull) {
			t.Errorf("with 2 of 2 Completions not taken: %v, want ErrCompletionQueueFull", err)
		}
		done(x.a.sendCQ)
		x.a.post(WorkRequest{Op: WorkSend})
	})
	t.Run("completion queue of receives", func(t *testing.T) {
		x := newPair(t, params{cqDepth: 1})
		x.a.recv(1, 1)
		if err := x.a.qp.PostRecv(RecvRequest{}); !errors.Is(err, ErrCompletionQueueFull) {
			t.Errorf("2nd receive: %v, want ErrCompletionQueueFull", err)
		}
	})
	t.Run("no ORD", func(t *testing.T) {
		x := newPair(t, params{ord: -1})
		for _, op := range []WorkOp{WorkRead, WorkFetchAdd} {
			if err := x.a.qp.PostSend(&WorkRequest{Op: op}); !errors.Is(err, ErrNoORD) {
				t.Errorf("PostSend(%v): %v, want ErrNoORD", op, err)
			}
		}
	})
	t.Run("a refused Read leaves no region", func(t *testing.T) {
		x := newPair(t, params{depth: 1})
		x.a.post(WorkRequest{Op: WorkSend})
		sink := make([]byte, 8)
		if err := x.a.qp.PostSend(&WorkRequest{Op: WorkRead, Data: sink}); !errors.Is(err, ErrQueueFull) {
			t.Fatalf("PostSend: %v, want ErrQueueFull", err)
		}
		if n := regions(x.a.domain); n != 0 {
			t.Errorf("%d regions are registered, want 0", n)
		}
	})
}
