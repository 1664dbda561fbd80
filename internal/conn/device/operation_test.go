package device

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

// A lostDevice returns operations as the Region for operations, so a test learns when the Engine
// uses or closes it.
type lostDevice struct {
	rnic.Device
	operations *lostRegion
}

func (d lostDevice) IsRNIC() bool { return false }

func (d lostDevice) NewRegion(n int, _ ddp.Access) (rnic.Region, error) {
	if n == opSlots*opSlotLen {
		return d.operations, nil
	}
	return &lostRegion{b: make([]byte, n)}, nil
}

type lostRegion struct {
	b      []byte
	looks  func()
	closed atomic.Bool
}

func (r *lostRegion) Handle() rdmap.Handle { return rdmap.Handle{} }
func (r *lostRegion) Close() error         { r.closed.Store(true); return nil }
func (r *lostRegion) Bytes() []byte {
	if r.looks != nil {
		r.looks()
	}
	return r.b
}

// A lostQP has no completions.
type lostQP struct {
	rnic.QP
	closed chan struct{}
	once   *sync.Once
}

func newLostQP() lostQP { return lostQP{closed: make(chan struct{}), once: new(sync.Once)} }

func (q lostQP) Post(rnic.Request, ...rnic.Segment) error  { return os.ErrClosed }
func (q lostQP) PostReceive(uint64, ...rnic.Segment) error { return nil }
func (q lostQP) Close() error                              { q.once.Do(func() { close(q.closed) }); return nil }
func (q lostQP) Wait(context.Context, []rnic.Completion) (int, error) {
	<-q.closed
	return 0, os.ErrClosed
}

// TestOperationAtTheEnd: the connection ends while a Write copies its bytes to the registered
// memory. The memory stays until they are copied. A device's memory is not on Go's heap, so a copy
// to memory that is gone would crash the process.
func TestOperationAtTheEnd(t *testing.T) {
	lost := errors.New("lost")
	region := &lostRegion{b: make([]byte, opSlots*opSlotLen)}
	e := New(Config{Device: lostDevice{operations: region}, RecvDepth: 4, RecvSize: 512, SendDepth: 2, SendSize: 512})
	var background wait.Background
	background.Begin()
	qp := newLostQP()
	if err := e.Prepare(qp); err != nil {
		t.Fatal(err)
	}
	e.Begin(Link{QP: qp, Messages: true, Background: &background})
	region.looks = func() {
		go e.Kill(lost)
		for n := 0; n < 100_000 && !region.closed.Load(); n++ {
			runtime.Gosched()
		}
		if region.closed.Load() {
			t.Error("the memory has gone while the bytes of a Write are being copied there")
		}
	}
	go e.Receive()
	if _, err := e.Do(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte("abc")}, nil, nil); !errors.Is(err, lost) {
		t.Errorf("the Write fails with %v, want why the connection has ended", err)
	}
	if err := background.Wait(t.Context()); err != nil || !region.closed.Load() {
		t.Errorf("the memory is kept behind the end: %v, %v", !region.closed.Load(), err)
	}
}

// A failingQP completes each work request with an error. As with rxe, no event says that the
// connection has ended.
type failingQP struct {
	lostQP
	done chan rnic.Completion
}

func (q failingQP) Post(r rnic.Request, _ ...rnic.Segment) error {
	q.done <- rnic.Completion{ID: r.ID, Op: r.Op, Err: failure(rdmap.StatusRemoteAccess)}
	return nil
}

func (q failingQP) Wait(ctx context.Context, dst []rnic.Completion) (int, error) {
	select {
	case dst[0] = <-q.done:
		return 1, nil
	case <-q.closed:
		return 0, os.ErrClosed
	}
}

// TestOperationFails: the first work request that fails ends the connection, and a Read that waits
// returns, even if the device does not report an end.
func TestOperationFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		e := New(Config{Device: lostDevice{operations: &lostRegion{b: make([]byte, opSlots*opSlotLen)}}, RecvDepth: 4, RecvSize: 512, SendDepth: 2, SendSize: 512})
		var background wait.Background
		background.Begin()
		var closed wait.Latch
		qp := failingQP{newLostQP(), make(chan rnic.Completion, 1)}
		if err := e.Prepare(qp); err != nil {
			t.Fatal(err)
		}
		e.Begin(Link{QP: qp, Messages: true, Closed: &closed, Background: &background})
		go e.Receive()
		read := make(chan error, 1)
		go func() {
			_, err := e.ReadMessage(make([]byte, 1), nil, nil)
			read <- err
		}()
		synctest.Wait()
		want := failure(rdmap.StatusRemoteAccess)
		if _, err := e.Do(&rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 8)}, nil, nil); !errors.Is(err, want) {
			t.Errorf("the operation fails with %v, want %v", err, want)
		}
		if err := <-read; !errors.Is(err, want) {
			t.Errorf("the Read fails with %v, want %v", err, want)
		}
		if err := background.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}
