package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

const (
	opSlots   = 4
	opSlotLen = 64 << 10
	opBit     = 1 << 60 // in the numbers of their work requests
)

func isEOF(err error) bool { return errors.Is(err, io.EOF) }

// The operations of a connection are the one-sided ones of Do that are under way. Each has a slot
// of registered memory, through which its bytes go.
type operations struct {
	e    *Engine
	free chan int // slots
	done [opSlots]chan error

	mu     locks.Mutex[locks.Regions]
	region rnic.Region // +checklocks:mu
	// why no operation begins any more
	ended error // +checklocks:mu
}

func (o *operations) init(e *Engine) {
	o.e, o.free = e, make(chan int, opSlots)
	for i := range opSlots {
		o.free <- i
		o.done[i] = make(chan error, 1)
	}
}

// copyIn returns the memory of slot i for n bytes, with data at its beginning. The first operation
// makes the Region, which may end as soon as mu is unlocked: Post fails then.
func (o *operations) copyIn(i, n int, data []byte) (rnic.Segment, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.ended != nil {
		return rnic.Segment{}, o.ended
	}
	if o.region == nil {
		r, err := o.e.cfg.Device.NewRegion(opSlots*opSlotLen, 0)
		if err != nil {
			return rnic.Segment{}, err
		}
		o.region = r
	}
	at := rnic.Segment{Region: o.region, Off: i * opSlotLen, Len: n}
	copy(at.Region.Bytes()[at.Off:], data)
	return at, nil
}

// completed takes a completion, if it is that of an operation.
func (o *operations) completed(c *rnic.Completion) bool {
	if c.ID&^(opSlots-1) != opBit {
		return false
	}
	o.done[c.ID&(opSlots-1)] <- c.Err
	return true
}

// end ends what is under way, because the connection is over.
func (o *operations) end(reason error) {
	o.mu.Lock()
	r := o.region
	o.region, o.ended = nil, reason
	o.mu.Unlock()
	for i := range o.done {
		select {
		case o.done[i] <- reason:
		default:
		}
	}
	if r != nil {
		_ = r.Close() // otherwise the device keeps the memory
	}
}

// Do runs one operation: an RDMA Write or Read, or an atomic. limit is a deadline, and canceled the
// channel of a context; either may be nil.
func (e *Engine) Do(wr *rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) (c rdmap.Completion, err error) {
	over := limit.Done()
	if wait.IsClosed(over) || wait.IsClosed(canceled) {
		return c, os.ErrDeadlineExceeded
	}
	switch wr.Op {
	case rdmap.WorkWrite, rdmap.WorkRead:
		for at := 0; at == 0 || at < len(wr.Data); at += opSlotLen {
			piece := wr.Data[at:min(at+opSlotLen, len(wr.Data))]
			r := rnic.Request{Op: rnic.OpWrite, Remote: rdmap.Handle{STag: wr.Remote.STag, TO: wr.Remote.TO + uint64(at)}}
			if wr.Op == rdmap.WorkRead {
				r.Op = rnic.OpRead
			}
			if err := e.ops.run(r, piece, over, canceled); err != nil {
				return c, err
			}
		}
		return rdmap.Completion{Op: wr.Op, Len: uint32(len(wr.Data))}, nil
	case rdmap.WorkFetchAdd, rdmap.WorkCmpSwap:
		r := rnic.Request{Op: rnic.OpFetchAdd, Remote: wr.Remote, Add: wr.Operand}
		if wr.Op == rdmap.WorkCmpSwap {
			r = rnic.Request{Op: rnic.OpCmpSwap, Remote: wr.Remote, Compare: wr.Compare, Swap: wr.Operand}
		}
		var b [8]byte
		if err := e.ops.run(r, b[:], over, canceled); err != nil {
			return c, err
		}
		return rdmap.Completion{Op: wr.Op, Original: binary.NativeEndian.Uint64(b[:])}, nil
	}
	return c, fmt.Errorf("%v on a device: %w", wr.Op, errors.ErrUnsupported)
}

// run runs one work request with p, through a slot. If it returns early, p is the caller's again.
func (o *operations) run(r rnic.Request, p []byte, over, canceled <-chan struct{}) error {
	var i int
	select {
	case i = <-o.free:
	case <-over:
		return os.ErrDeadlineExceeded
	case <-canceled:
		return os.ErrDeadlineExceeded
	case <-o.e.over:
		return o.why()
	}
	var data []byte
	if r.Op == rnic.OpWrite {
		data = p
	}
	at, err := o.copyIn(i, len(p), data)
	if err != nil {
		o.free <- i
		return err
	}
	r.ID = opBit | uint64(i)
	if err := o.e.link.QP.Post(r, at); err != nil {
		o.free <- i
		if errors.Is(err, rnic.ErrDisconnected) || errors.Is(err, os.ErrClosed) {
			<-o.e.over
			return o.why()
		}
		return err
	}
	select {
	case err = <-o.done[i]:
	case <-over:
		return o.leave(i)
	case <-canceled:
		return o.leave(i)
	}
	defer func() { o.free <- i }()
	if err != nil {
		return o.failed(err)
	}
	if r.Op != rnic.OpWrite {
		return o.copyOut(p, at)
	}
	return nil
}

// copyOut copies what has come to p, unless the connection has ended, and the Region with it.
func (o *operations) copyOut(p []byte, at rnic.Segment) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.region == nil {
		return o.ended
	}
	copy(p, at.Region.Bytes()[at.Off:])
	return nil
}

// leave ends a call whose operation goes on. The slot becomes free when the operation is complete.
func (o *operations) leave(i int) error {
	o.e.link.Background.Go(func() {
		<-o.done[i]
		o.free <- i
	})
	return os.ErrDeadlineExceeded
}

// failed returns the error of a call whose work request has failed with err. If the request was
// flushed, it waits for the end of the connection, and returns its reason.
func (o *operations) failed(err error) error {
	if rnic.StatusOf(err) == rdmap.StatusFlushed {
		<-o.e.over
		return o.why()
	}
	return err
}

// why returns why the connection is over.
func (o *operations) why() error {
	o.e.mu.Lock()
	defer o.e.mu.Unlock()
	if o.e.m.reason == nil {
		return net.ErrClosed
	}
	return o.e.m.reason
}
