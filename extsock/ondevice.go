package extsock

import (
	"cmp"
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/device"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// An onDevice is the engine of a connection on an RDMA device. Only Read takes its messages, and
// the device reaches only memory that is registered with it.
type onDevice struct {
	*device.Engine
	c    *Conn
	name string // of the device
}

func (d *onDevice) device() string { return d.name }
func (d *onDevice) mayTap() error  { return errors.ErrUnsupported }

func (d *onDevice) StandsBy() bool { return false }

func (d *onDevice) register([]byte, ddp.Access) (Region, error) {
	return Region{}, d.c.opError("register", errMemory)
}

func (d *onDevice) share(m *Memory) (Region, error) {
	if m.region == nil {
		return Region{}, d.c.opError("register", cmp.Or(m.why, errMemory)) // the zero Memory has no why
	}
	return Region{m: m}, nil
}

func (d *onDevice) read(b []byte, m *rdmap.Completion) (int, error) {
	n, err := d.ReadMessage(b, &d.c.readDeadline, m)
	return n, d.c.readError(err)
}

func (d *onDevice) write(b []byte) (int, error) {
	if !d.IsByteStream() && (d.c.isTooLong(len(b)) || len(b) > d.Longest()) {
		return 0, d.c.writeError(errMessageLength)
	}
	n, err := d.Write(b, &d.c.writeDeadline)
	return n, d.c.writeError(err)
}

func (d *onDevice) readFrom(r io.Reader) (int64, error) { return d.c.copyFrom(r) }
func (d *onDevice) writeTo(w io.Writer) (int64, error)  { return d.c.copyTo(w) }

func (d *onDevice) rawRead(_ rawConn, f func(fd uintptr) (done bool)) error {
	return d.c.lookDDP(d.Look, f)
}

func (d *onDevice) rawWrite(rawConn, func(fd uintptr) (done bool)) error {
	return d.c.opError("raw-write", errNotPlain)
}

func (d *onDevice) closeRead() error {
	if d.c.isClosed() {
		return d.c.opError("close", net.ErrClosed)
	}
	d.CloseRead()
	return nil
}

func (d *onDevice) closeWrite() error {
	switch {
	case !d.IsByteStream():
		return d.c.opError("close", errors.ErrUnsupported)
	case d.c.isClosed():
		return d.c.opError("close", net.ErrClosed)
	}
	d.CloseWrite(syscall.EPIPE)
	return nil
}

func (d *onDevice) awaitEnd(*wait.Deadline) error { return errReceiveOwner }

// deadlineSet does nothing: a Read that waits looks at its deadline itself.
func (d *onDevice) deadlineSet(*wait.Deadline) {}

func (d *onDevice) mayPost(wr *rdmap.WorkRequest) error {
	if d.IsByteStream() && sends(wr.Op) {
		return errByteStream
	}
	return nil
}

func (d *onDevice) Post(wr *rdmap.WorkRequest) error {
	if err := d.mayPost(wr); err != nil {
		return err
	}
	return d.Engine.Post(wr)
}

func (d *onDevice) PostBatch(wrs []rdmap.WorkRequest) (int, error) {
	return d.Engine.PostBatch(wrs, d.mayPost)
}

func (d *onDevice) do(wr rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) (rdmap.Completion, error) {
	return d.Do(&wr, limit, canceled)
}

func (d *onDevice) close(abort bool) error {
	if abort {
		d.Kill(net.ErrClosed)
		return nil
	}
	return d.c.opError("close", d.Close())
}

func (d *onDevice) describe(t *observe.Trace) {
	if d.IsByteStream() {
		d.c.describeStream(t, d.Longest(), d.Window())
	} else {
		d.c.describeMessages(t)
	}
}

// TraceTerminate does nothing: a device does not show the Terminate.
func (d *onDevice) TraceTerminate() {}
