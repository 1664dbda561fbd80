package verbs

import (
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"runtime"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaabi/ring"
	"github.com/rddp/rddp/internal/rdmaabi/siw"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

// newQueues returns a QP whose queues are in memory of the test, which plays the device.
func newQueues(t testing.TB, depth uint32) (q *QP, completions *ring.Ring) {
	t.Helper()
	make1 := func(n, entryLen uint32) *ring.Ring {
		size, ok := ring.Size(n, entryLen)
		if !ok {
			t.Fatalf("no ring of %d entries of %d bytes", n, entryLen)
		}
		return ring.New(make([]byte, size), n, entryLen)
	}
	completions = make1(2*depth, uverbs.CQElementLen)
	d := &Device{ends: map[uint64]*end{}, rnic: true, provider: providers[0]}
	q = &QP{end: makeEnd(d, 1, 1, 4), done: newCompletionRing(completions)}
	q.sends, q.sq = sendRing{make1(depth, uverbs.SendElementLen(1, 0))}, account{depth: int(depth)}
	q.receives, q.rq = receiveRing{make1(depth, uverbs.RecvElementLen(1))}, account{depth: int(depth)}
	return q, completions
}

// post posts a receive of 8 bytes and a Send, with the IDs 10 and 20.
func post(t testing.TB, q *QP) {
	t.Helper()
	list := []uverbs.SGE{{Addr: 0x1000, Len: 8, LKey: 3}}
	if err := errors.Join(
		q.put(&q.rq, work{10, OpReceive, 8}, nil, func(n uint64) bool { return q.receives.Put(n|receiveBit, list) }),
		q.put(&q.sq, work{20, OpSend, 8}, nil, func(n uint64) bool { return q.sends.Put(&uverbs.SendWR{ID: n, Op: uverbs.OpSend}, list) }),
	); err != nil {
		t.Fatal(err)
	}
}

func TestCompletions(t *testing.T) {
	const first = receiveBit // number 0 of the receives
	for _, tt := range []struct {
		desc string
		wc   []uverbs.WC
		want []Completion // until the error
		err  bool
	}{
		{"both", []uverbs.WC{{ID: 0, Op: uverbs.WCSend}, {ID: first, Op: uverbs.WCRecv, Len: 8}}, []Completion{{ID: 20, Op: OpSend}, {ID: 10, Op: OpReceive, Len: 8}}, false},
		{"twice", []uverbs.WC{{ID: 0, Op: uverbs.WCSend}, {ID: 0, Op: uverbs.WCSend}}, []Completion{{ID: 20, Op: OpSend}}, true},
		{"one that was not posted", []uverbs.WC{{ID: 1, Op: uverbs.WCSend}}, nil, true},
		{"another operation", []uverbs.WC{{ID: 0, Op: uverbs.WCRead}}, nil, true},
		{"more than there is room for", []uverbs.WC{{ID: first, Op: uverbs.WCRecv, Len: 9}}, nil, true},
		{
			"a Send with Immediate Data", []uverbs.WC{{ID: first, Op: uverbs.WCRecv, Len: 8, Flags: uverbs.WCHasImm, Immediate: [4]byte{1, 2, 3, 4}}},
			[]Completion{{ID: 10, Op: OpReceive, Len: 8, From: OpSendImmediate, Immediate: 0x01020304}}, false,
		},
		{
			"a Write with Immediate Data", []uverbs.WC{{ID: first, Op: uverbs.WCRecvImm, Len: 9, Flags: uverbs.WCHasImm, Immediate: [4]byte{3: 4}}},
			[]Completion{{ID: 10, Op: OpReceive, Len: 9, From: OpWriteImmediate, Immediate: 4}}, false,
		},
		{"a Write with Immediate Data without it", []uverbs.WC{{ID: first, Op: uverbs.WCRecvImm, Len: 9}}, nil, true},
		{"a Send in the place of a receive", []uverbs.WC{{ID: first, Op: uverbs.WCSend}}, nil, true},
		{"no such status", []uverbs.WC{{ID: first, Status: 22}}, nil, true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			q, device := newQueues(t, 4)
			post(t, q)
			for _, w := range tt.wc {
				device.Put(func(b []byte) { w.Put(b) })
			}
			got := make([]Completion, 4)
			n, err := q.take(got)
			if n != len(tt.want) || (err != nil) != tt.err {
				t.Fatalf("take = %d, %v, want %d, error %v", n, err, len(tt.want), tt.err)
			}
			for i, want := range tt.want {
				if got[i] != want {
					t.Errorf("completion %d = %+v, want %+v", i, got[i], want)
				}
			}
			if cause := q.cause(); (cause != nil) != tt.err {
				t.Errorf("the connection's error is %v", cause)
			}
		})
	}
}

func TestFlushedCompletion(t *testing.T) {
	q, device := newQueues(t, 4)
	post(t, q)
	device.Put(func(b []byte) { (&uverbs.WC{ID: 0, Status: uverbs.FlushErr, Op: uverbs.WCRead}).Put(b) })
	got := make([]Completion, 1)
	var w *WorkError
	if n, err := q.take(got); n != 1 || err != nil || got[0].ID != 20 || !errors.As(got[0].Err, &w) || w.Kind() != rdmap.StatusFlushed {
		t.Errorf("take = %d, %v, %+v", n, err, got)
	}
}

// TestCloseWhileFlushing: Close ends a Wait that waits for flushed work requests.
func TestCloseWhileFlushing(t *testing.T) {
	q, _ := newQueues(t, 4)
	post(t, q)
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	q.done = armedQueue{}
	wakes := 0
	q.channel, q.wake = r, func() {
		wakes++
		_ = r.SetReadDeadline(time.Unix(1, 0))
	}
	q.fail(ErrDisconnected)
	wakes = 0
	q.flushBy = time.Now().Add(time.Hour) // the device has been told to flush
	waited := make(chan error, 1)
	go func() {
		_, err := q.Wait(t.Context(), make([]Completion, 1))
		waited <- err
	}()
	for q.poll.TryLock() { // until Wait has it
		q.poll.Unlock() // +checklocksignore: the analyzer does not know TryLock
		runtime.Gosched()
	}
	d, err := os.CreateTemp(t.TempDir(), "no device") // DESTROY_ID goes there
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	q.d.cm = d
	q.close()
	if wakes == 0 {
		t.Fatal("Close does not wake Wait")
	}
	if err := <-waited; !errors.Is(err, os.ErrClosed) {
		t.Errorf("Wait = %v, want os.ErrClosed", err)
	}
}

// An armedQueue has no completions.
type armedQueue struct{}

func (armedQueue) Take() (w uverbs.WC, ok bool, err error) { return w, false, nil }
func (armedQueue) Arm()                                    {}

// The package refuses an operation that a device lacks before the device sees it.
func TestNotSupported(t *testing.T) {
	q, _ := newQueues(t, 4)
	var u *UnavailableError
	for _, o := range []Op{OpReceive, OpFetchAdd, OpCmpSwap, OpSendImmediate, OpWriteImmediate, 99} {
		if err := q.Post(Request{Op: o}); !errors.As(err, &u) || u.Reason != NotSupported {
			t.Errorf("Post of %v = %v, want NotSupported", o, err)
		}
	}
	if _, err := q.d.NewRegion(8, ddp.RemoteAtomic); !errors.As(err, &u) || u.Reason != NotSupported {
		t.Errorf("a Region for atomics = %v, want NotSupported", err)
	}
}

// A queue holds as many work requests as it was made for, although the ring may have more places.
func TestQueueFull(t *testing.T) {
	q, _ := newQueues(t, 5)
	add := func() error { return q.PostReceive(1) }
	for i := range 5 {
		if err := add(); err != nil {
			t.Fatalf("receive %d: %v", i, err)
		}
	}
	if err := add(); err != ErrQueueFull {
		t.Errorf("receive 5: %v, want ErrQueueFull", err)
	}
	// A ring whose consumer index does not move is full too, whatever completes.
	for n := uint64(0); n < 3; n++ {
		if _, err := q.rq.take(n); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		_ = add()
	}
	if err := add(); err != ErrQueueFull {
		t.Errorf("in a ring that nobody empties: %v, want ErrQueueFull", err)
	}
}

func TestReasons(t *testing.T) {
	for err, want := range map[error]Reason{
		fs.ErrNotExist: NoDevice, syscall.EACCES: NoPermission, syscall.EPERM: NoPermission, syscall.ENOMEM: NoResources, syscall.EMFILE: NoResources,
		syscall.EOPNOTSUPP: NotSupported, syscall.EPROTONOSUPPORT: NotSupported,
	} {
		var u *UnavailableError
		if got := failed("op", err); !errors.As(got, &u) || u.Reason != want || !errors.Is(got, err) {
			t.Errorf("failed(%v) = %v, want the reason %q", err, got, want)
		}
	}
	for _, err := range []error{syscall.EIO, syscall.ENOSYS, syscall.EINVAL} {
		var d *DeviceError
		if got := failed("op", err); !errors.As(got, &d) || !errors.Is(got, err) {
			t.Errorf("failed(%v) = %v, want a DeviceError", err, got)
		}
	}
	if got := failed("op", os.ErrClosed); got != os.ErrClosed {
		t.Errorf("failed(os.ErrClosed) = %v", got)
	}
	var u *UnavailableError
	if got := refused(ucma.Event{Type: ucma.AddrError, Status: -int32(syscall.ENODEV)}); !errors.As(got, &u) || u.Reason != NotSupported {
		t.Errorf("no device on the way: %v", got)
	}
	var c *ConnectError
	if got := refused(ucma.Event{Type: ucma.AddrError, Status: -int32(syscall.EHOSTUNREACH)}); !errors.As(got, &c) {
		t.Errorf("no way: %v", got)
	}
}

// TestWorkErrorKind: the statuses of verbs and their counterparts in package rdmap.
func TestWorkErrorKind(t *testing.T) {
	want := map[uverbs.WCStatus]rdmap.Status{
		uverbs.FlushErr: rdmap.StatusFlushed, uverbs.LocalLengthErr: rdmap.StatusLocalLength, uverbs.LocalProtErr: rdmap.StatusLocalProtection,
		uverbs.LocalAccessErr: rdmap.StatusLocalProtection, uverbs.RemoteAccessErr: rdmap.StatusRemoteAccess,
		uverbs.RemoteInvalidErr: rdmap.StatusRemoteOperation, uverbs.RemoteOpErr: rdmap.StatusRemoteOperation, uverbs.RemoteAbortedErr: rdmap.StatusRemoteOperation,
	}
	for s := uverbs.Success + 1; s <= uverbs.GeneralErr; s++ {
		if got := rnic.StatusOf(&WorkError{uint32(s)}); got != cmp.Or(want[s], rdmap.StatusGeneral) {
			t.Errorf("%v is %v, want %v", s, got, want[s])
		}
	}
	if got := rnic.StatusOf(os.ErrClosed); got != rdmap.StatusGeneral {
		t.Errorf("another error is %v", got)
	}
	if got := rnic.StatusOf(nil); got != rdmap.StatusOK {
		t.Errorf("no error is %v", got)
	}
}

// TestSolicited: a Send that asks for an Event sets the device's flag.
func TestSolicited(t *testing.T) {
	for _, solicited := range []bool{false, true} {
		if w := sendWR(&Request{Op: OpSend, Solicited: solicited}, 1); w.Flags&uverbs.Solicited != 0 != solicited {
			t.Errorf("solicited %t: flags %b", solicited, w.Flags)
		}
	}
}

// An error which means that the peer is gone, or has refused, matches the errno that a program with
// TCP looks for.
func TestErrno(t *testing.T) {
	gone := map[uverbs.WCStatus]bool{
		uverbs.LocalQPErr: true, uverbs.RemoteOpErr: true, uverbs.RetryExceeded: true, uverbs.RNRRetryExceeded: true,
		uverbs.RemoteAbortedErr: true, uverbs.ResponseTimeout: true, uverbs.GeneralErr: true,
	}
	for s := range uverbs.GeneralErr + 1 {
		var err error = fmt.Errorf("read: %w", &WorkError{uint32(s)})
		var w *WorkError
		if errors.Is(err, syscall.ECONNRESET) != gone[s] || errors.Is(err, syscall.EPIPE) || !errors.As(err, &w) || (w.Kind() == rdmap.StatusFlushed) != (s == uverbs.FlushErr) {
			t.Errorf("%v: is ECONNRESET: %v, want %v", s, !gone[s], gone[s])
		}
	}
	for _, tt := range []struct {
		event  ucma.EventType
		status int32
		want   error
		is     bool
	}{
		{ucma.Rejected, 28, syscall.ECONNREFUSED, true},
		{ucma.Rejected, -int32(syscall.ECONNRESET), syscall.ECONNRESET, true},
		{ucma.Rejected, -int32(syscall.ECONNRESET), syscall.ECONNREFUSED, false},
		{ucma.Unreachable, -int32(syscall.ETIMEDOUT), syscall.ETIMEDOUT, true},
		{ucma.RouteError, 0, syscall.ECONNREFUSED, false},
	} {
		if err := refused(ucma.Event{Type: tt.event, Status: tt.status}); errors.Is(err, tt.want) != tt.is {
			t.Errorf("%v is %v: %v, want %v", err, tt.want, !tt.is, tt.is)
		}
	}
}

// A fuzzed is a QP, the memory of its completion queue, and the place of the entries in it.
type fuzzed struct {
	q       *QP
	memory  []byte
	entries int
}

func newFuzzed(t testing.TB, overSiw bool, producer uint32) fuzzed {
	const depth = 4
	q, _ := newQueues(t, depth)
	post(t, q)
	if !overSiw {
		size, _ := ring.Size(2*depth, uverbs.CQElementLen)
		memory := make([]byte, size)
		q.done = newCompletionRing(ring.New(memory, 2*depth, uverbs.CQElementLen))
		binary.NativeEndian.PutUint32(memory[128:], producer)
		return fuzzed{q, memory, 384}
	}
	q.sq.overtakes = true
	answer := make([]byte, siw.CQLen)
	answer[4] = 2 * depth
	memory := make([]byte, 4096)
	var err error
	if q.done, err = openSiwCQ(func(uverbs.Mapping) ([]byte, error) { return memory, nil }, answer, depths{depth, depth, 1}); err != nil {
		t.Fatal(err)
	}
	return fuzzed{q, memory, 0}
}

// FuzzCompletions: whatever is in a completion queue, and whatever its indices are, each work
// request completes at most once, and never with more bytes than it has room for.
func FuzzCompletions(f *testing.F) {
	b := make([]byte, uverbs.CQElementLen)
	(&uverbs.WC{ID: receiveBit, Op: uverbs.WCRecv, Len: 8}).Put(b)
	f.Add(b, uint32(1), false)
	f.Add(append(b, make([]byte, uverbs.CQElementLen)...), uint32(2), false)
	f.Add([]byte{0, 0, 0, 0, 0, 0, 0, 0x80, 1, 8, 0, 0, 8, 0, 0, 0}, uint32(0), true)
	f.Fuzz(func(t *testing.T, entries []byte, producer uint32, overSiw bool) {
		d := newFuzzed(t, overSiw, producer)
		copy(d.memory[d.entries:], entries)
		seen := map[uint64]bool{}
		for range 8 {
			got := make([]Completion, 1)
			n, err := d.q.take(got)
			if err != nil {
				var e *DeviceError
				if !errors.As(err, &e) || d.q.cause() == nil {
					t.Fatalf("take = %v, and the connection has %v", err, d.q.cause())
				}
				return
			}
			if n == 0 {
				return
			}
			if c := got[0]; seen[c.ID] || c.Len > 8 && c.From != OpWriteImmediate || c.Len < 0 || c.ID != 10 && c.ID != 20 {
				t.Fatalf("completion %+v", c)
			}
			seen[got[0].ID] = true
		}
	})
}
