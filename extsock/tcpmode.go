package extsock

import (
	"errors"
	"io"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// A tcpMode is the engine of a connection that is not in DDP mode. Its calls use the stream
// directly: plain.go moves the bytes.
type tcpMode struct{ here }

func (t tcpMode) read(p []byte, _ *rdmap.Completion) (int, error) {
	defer t.c.startup.Leave(startup.Reading)
	return t.c.readPlain(p)
}

func (t tcpMode) write(p []byte) (int, error) {
	defer t.c.startup.Leave(startup.Writing)
	return t.c.writePlain(p)
}

func (t tcpMode) readFrom(r io.Reader) (int64, error) {
	c := t.c
	defer c.startup.Leave(startup.Writing)
	n, end, err := c.sendInKernel(r)
	if end || err != nil {
		return n, err
	}
	m, err := copyThrough(plainWriter{c}, r)
	return n + m, c.copyError("readfrom", err)
}

func (t tcpMode) writeTo(w io.Writer) (n int64, err error) {
	c := t.c
	defer c.startup.Leave(startup.Reading)
	for c.startup.IsAhead() && err == nil {
		var b [startup.KeyLen]byte
		var m, written int
		m, err = c.readPlain(b[:])
		if m > 0 {
			written, err = w.Write(b[:m])
			n += int64(written)
		}
	}
	if err == io.EOF { //nolint:errorlint // as readPlain returns it
		return n, nil
	}
	if err != nil {
		return n, c.copyError("writeto", err)
	}
	m, end, err := c.receiveInKernel(w)
	if n += m; end || err != nil {
		return n, err
	}
	m, err = copyThrough(w, plainReader{c})
	return n + m, c.copyError("writeto", err)
}

func (t tcpMode) rawRead(r rawConn, f func(fd uintptr) (done bool)) error {
	c := t.c
	defer c.startup.Leave(startup.Reading)
	if c.under == c.tcp() && r.below != nil && !c.startup.IsAhead() {
		return r.below.Read(f)
	}
	return c.lookPlain(f)
}

func (t tcpMode) rawWrite(r rawConn, f func(fd uintptr) (done bool)) error {
	defer t.c.startup.Leave(startup.Writing)
	if r.below == nil {
		return t.c.opError("raw-write", errors.ErrUnsupported)
	}
	return r.below.Write(f)
}

func (t tcpMode) closeRead() error {
	defer t.c.startup.Leave(startup.Writing)
	s, ok := t.c.direct().(interface{ CloseRead() error })
	if !ok {
		return t.c.opError("close", errors.ErrUnsupported)
	}
	return s.CloseRead()
}

func (t tcpMode) closeWrite() error {
	defer t.c.startup.Leave(startup.Writing)
	return t.c.stream.CloseWrite()
}

func (tcpMode) awaitEnd(*wait.Deadline) error { return errNotInDDP }

// deadlineSet does nothing: the stream has the deadline too.
func (tcpMode) deadlineSet(*wait.Deadline) {}

func (tcpMode) IsByteStream() bool { return false }

func (tcpMode) Counts() *counters.Counters { return &noCounts }

var noCounts counters.Counters
