package extsock

import (
	"errors"
	"io"
	"net"
	"syscall"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// A here has the methods that the engines in this process share. These engines reach all memory of
// the program, and see the bytes of the connection.
type here struct{ c *Conn }

func (here) device() string { return "" }
func (here) mayTap() error  { return nil }

func (h here) share(m *Memory) (Region, error) { return h.c.Register(m.b, m.access) }

func (h here) register(b []byte, access ddp.Access) (Region, error) {
	c := h.c
	v := c.endpoint()
	if c.isClosed() {
		return Region{}, c.opError("register", net.ErrClosed)
	}
	r, err := v.domain.Register(b, access, v.stream)
	if err == nil && access&ddp.RemoteAtomic != 0 && r.TO()%8 != 0 { // the TO is congruent to the address
		r.Deregister()
		err = ddp.ErrMisaligned
	}
	if err != nil {
		return Region{}, c.opError("register", err)
	}
	if !v.enlist(r) { // Close came first
		r.Deregister()
		return Region{}, c.opError("register", net.ErrClosed)
	}
	return Region{r: r, v: v}, nil
}

// An inProcess is the engine of a connection whose driver runs in this process.
type inProcess struct {
	here
	*driver.Driver
}

func (p *inProcess) read(b []byte, m *rdmap.Completion) (int, error) {
	if !p.Receives() {
		return 0, p.c.readError(errReceiveOwner)
	}
	n, err := p.ReadMessage(b, &p.c.readDeadline, m)
	return n, p.c.readError(err)
}

func (p *inProcess) write(b []byte) (int, error) {
	if !p.IsByteStream() && p.c.isTooLong(len(b)) {
		return 0, p.c.writeError(errMessageLength)
	}
	n, err := p.Write(b, &p.c.writeDeadline)
	return n, p.c.writeError(err)
}

// isTooLong reports whether a message of n bytes is longer than the peer has announced to accept.
func (c *Conn) isTooLong(n int) bool {
	limit := c.peer.Load().Capabilities.MaxMessage
	return limit > 0 && uint64(n) > uint64(limit)
}

func (p *inProcess) readFrom(r io.Reader) (int64, error) { return p.c.copyFrom(r) }
func (p *inProcess) writeTo(w io.Writer) (int64, error)  { return p.c.copyTo(w) }

// copyFrom is ReadFrom in DDP mode, and copyTo is WriteTo.
func (c *Conn) copyFrom(r io.Reader) (int64, error) {
	n, err := copyThrough(onlyWriter{c}, r)
	return n, c.copyError("readfrom", err)
}

func (c *Conn) copyTo(w io.Writer) (int64, error) {
	n, err := copyThrough(w, onlyReader{c})
	return n, c.copyError("writeto", err)
}

func (p *inProcess) rawRead(_ rawConn, f func(fd uintptr) (done bool)) error {
	return p.c.lookDDP(p.Look, f)
}

func (p *inProcess) rawWrite(rawConn, func(fd uintptr) (done bool)) error {
	return p.c.opError("raw-write", errNotPlain)
}

func (p *inProcess) closeRead() error {
	switch {
	case p.c.isClosed():
		return p.c.opError("close", net.ErrClosed)
	case !p.Receives():
		return p.c.opError("close", errors.ErrUnsupported)
	}
	p.CloseRead()
	return nil
}

func (p *inProcess) closeWrite() error {
	switch {
	case !p.IsByteStream():
		return p.c.opError("close", errors.ErrUnsupported)
	case p.c.isClosed():
		return p.c.opError("close", net.ErrClosed)
	}
	p.CloseWrite(syscall.EPIPE)
	return nil
}

func (p *inProcess) awaitEnd(limit *wait.Deadline) error {
	if p.Receives() {
		return errReceiveOwner
	}
	return p.AwaitEnd(limit)
}

func (p *inProcess) deadlineSet(d *wait.Deadline) {
	if d == &p.c.readDeadline {
		p.Interrupt()
	}
}

func (p *inProcess) mayPost(wr *rdmap.WorkRequest) error {
	if p.IsByteStream() && sends(wr.Op) {
		return errByteStream
	}
	return nil
}

func (p *inProcess) Post(wr *rdmap.WorkRequest) error {
	if err := p.mayPost(wr); err != nil {
		return err
	}
	return p.Driver.Post(wr)
}

func (p *inProcess) PostBatch(wrs []rdmap.WorkRequest) (int, error) {
	return p.Driver.PostBatch(wrs, p.mayPost)
}

// do takes wr by value: with a pointer, the WorkRequest of each caller would escape to the heap.
func (p *inProcess) do(wr rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) (rdmap.Completion, error) {
	return p.Do(&wr, limit, canceled)
}

func (p *inProcess) close(abort bool) error {
	if abort {
		p.Interrupt()          // the Stream's Abort may be the program's, and take long
		_ = p.c.stream.Abort() // tells the peer that data is lost, also below TLS
		p.Reset(net.ErrClosed)
		return nil
	}
	return p.c.opError("close", p.Close())
}

func (p *inProcess) describe(t *observe.Trace) {
	switch {
	case !p.Receives():
		t.Info("application receives")
	case p.IsByteStream():
		p.c.describeStream(t, p.Longest(), p.Window())
	default:
		p.c.describeMessages(t)
	}
}
