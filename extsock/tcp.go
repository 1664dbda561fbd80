package extsock

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rddp/rddp/extsock/internal/startup"
	"github.com/rddp/rddp/toe/kernel"
)

// This file holds what users of a *net.TCPConn rely on besides net.Conn. The settings of TCP go to the
// operating system's connection in either mode, also to the one below TLS; where there is none, or it
// does not have the setting, the error is errors.ErrUnsupported.

// SetNoDelay says whether TCP sends small segments at once. The default is true; in DDP mode nothing is
// gained by changing it, because what is posted together is written together.
func (c *Conn) SetNoDelay(noDelay bool) error {
	s, ok := c.tcp.(interface{ SetNoDelay(bool) error })
	return c.setting(ok, func() error { return s.SetNoDelay(noDelay) })
}

// SetKeepAlive says whether TCP sends keep-alives.
func (c *Conn) SetKeepAlive(keepAlive bool) error {
	s, ok := c.tcp.(interface{ SetKeepAlive(bool) error })
	return c.setting(ok, func() error { return s.SetKeepAlive(keepAlive) })
}

// SetKeepAlivePeriod sets the time between keep-alives.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	s, ok := c.tcp.(interface{ SetKeepAlivePeriod(time.Duration) error })
	return c.setting(ok, func() error { return s.SetKeepAlivePeriod(d) })
}

// SetKeepAliveConfig configures keep-alives, as for a net.TCPConn.
func (c *Conn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	s, ok := c.tcp.(interface {
		SetKeepAliveConfig(net.KeepAliveConfig) error
	})
	return c.setting(ok, func() error { return s.SetKeepAliveConfig(config) })
}

// SetLinger says what TCP does at Close with octets that the peer has not acknowledged, as for a
// net.TCPConn. With 0 seconds Close in DDP mode ends the connection at once: the peer sees a reset, or, where the
// stream has none, at least a byte stream without an end.
func (c *Conn) SetLinger(seconds int) error {
	if !c.isClosed() {
		c.abortive.Store(seconds == 0)
	}
	s, ok := c.tcp.(interface{ SetLinger(int) error })
	return c.setting(ok, func() error { return s.SetLinger(seconds) })
}

// SetReadBuffer sets the size of the operating system's receive buffer, in octets.
func (c *Conn) SetReadBuffer(octets int) error {
	s, ok := c.tcp.(interface{ SetReadBuffer(int) error })
	return c.setting(ok, func() error { return s.SetReadBuffer(octets) })
}

// SetWriteBuffer sets the size of the operating system's send buffer, in octets.
func (c *Conn) SetWriteBuffer(octets int) error {
	s, ok := c.tcp.(interface{ SetWriteBuffer(int) error })
	return c.setting(ok, func() error { return s.SetWriteBuffer(octets) })
}

// setting calls set if the connection has it.
func (c *Conn) setting(has bool, set func() error) error {
	switch {
	case c.isClosed(): // the stream may not be closed yet
		return c.opError("set", net.ErrClosed)
	case !has:
		return c.opError("set", errors.ErrUnsupported)
	}
	return c.opError("set", set())
}

// MultipathTCP reports whether the connection uses Multipath TCP, as for a net.TCPConn.
func (c *Conn) MultipathTCP() (bool, error) {
	s, ok := c.tcp.(interface{ MultipathTCP() (bool, error) })
	if !ok {
		return false, c.opError("get", errors.ErrUnsupported)
	}
	return s.MultipathTCP()
}

// CloseRead closes the way in, as for a net.TCPConn: a Read that finds nothing gives io.EOF. In DDP mode what comes
// from now on is thrown away, and Close resets the connection if something was. The error is errors.ErrUnsupported
// for a stream that can't, and where the application posts the receive buffers.
func (c *Conn) CloseRead() error {
	var never deadline
	inDDP, err := c.enter(startup.Writing, &never) // as a Write: a silent peer is not waited for
	if err != nil {
		return c.opError("close", err)
	}
	if inDDP {
		return c.opError("close", c.closeReadDDP())
	}
	defer c.startup.Leave(startup.Writing)
	s, ok := c.direct().(interface{ CloseRead() error })
	if !ok {
		return c.opError("close", errors.ErrUnsupported)
	}
	return s.CloseRead()
}

func (c *Conn) closeReadDDP() error {
	pump := c.verbs.pump
	switch {
	case c.isClosed():
		return net.ErrClosed
	case pump.in == nil:
		return errors.ErrUnsupported
	}
	pump.in.closeRead()
	pump.interrupt()
	pump.wake() // what waits for room can be thrown away
	return nil
}

// SyscallConn gives access to the file descriptor of the operating system's connection where there is
// one; else the error is errors.ErrUnsupported. It is for settings: octets that are read or written
// through it pass by the captures, by TLS, and in DDP mode destroy the stream.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	s, ok := c.tcp.(syscall.Conn)
	if !ok {
		return nil, c.opError("raw", errors.ErrUnsupported)
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}
	// Not the type that package net has: os.File's ReadFrom and WriteTo would know it, and send a file's
	// octets past DDP.
	return rawConn{raw, c}, nil
}

type rawConn struct {
	syscall.RawConn
	c *Conn
}

// Control is of no use after Close, though in DDP mode TCP may have something to do still.
func (r rawConn) Control(f func(fd uintptr)) error {
	if r.c.isClosed() {
		return r.c.opError("raw-control", net.ErrClosed)
	}
	return r.RawConn.Control(f)
}

// NetConn returns the connection below: the net.Conn that NewConn was given, the *net.TCPConn of the operating
// system, or the *tls.Conn of Config.TLS. It is nil unless the connection is in TCP mode, and nil while
// Config.Startup is undecided or its octets have not all been read: what is read or written through it
// then would be missing here. As soon as the connection is switched, it must not be used any more.
func (c *Conn) NetConn() net.Conn {
	under, err := c.plain()
	if err != nil {
		return nil
	}
	return under
}

// File returns a copy of the operating system's connection, as for a net.TCPConn. Where there is none and
// where NetConn is nil the error is errors.ErrUnsupported.
func (c *Conn) File() (*os.File, error) {
	under, err := c.plain()
	if err != nil {
		return nil, c.opError("file", err)
	}
	s, ok := under.(interface{ File() (*os.File, error) })
	if !ok {
		return nil, c.opError("file", errors.ErrUnsupported)
	}
	return s.File()
}

// plain returns what is below the connection, if plain octets, all of them, go through it.
func (c *Conn) plain() (net.Conn, error) {
	switch {
	case c.isClosed():
		return nil, net.ErrClosed
	case !c.startup.IsPlain():
		return nil, errors.ErrUnsupported
	}
	return c.direct(), nil
}

// direct returns the connection below as package net knows it.
func (c *Conn) direct() net.Conn {
	if s, ok := c.under.(*kernel.Stream); ok {
		return s.TCPConn
	}
	return c.under
}

// copySize is how many octets ReadFrom and WriteTo move at a time.
const copySize = 32 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// ReadFrom writes what r has until io.EOF; io.Copy uses it. In TCP mode it is TCP's ReadFrom, which a file
// or another connection may feed without a copy in the program, and a Write under way as long as it lasts. In
// DDP mode it is a loop of Writes of at most 32 KiB.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	inDDP, err := c.enter(startup.Writing, &c.writeDeadline)
	if err != nil {
		return 0, c.opError("readfrom", err)
	}
	if !inDDP {
		defer c.startup.Leave(startup.Writing)
		if s, ok := c.stream.(io.ReaderFrom); ok && !c.taps.on() {
			return s.ReadFrom(r)
		}
		n, err := copyThrough(plainWriter{c}, r)
		return n, c.copyError("readfrom", err)
	}
	n, err := copyThrough(onlyWriter{c}, r)
	return n, c.copyError("readfrom", err)
}

// WriteTo writes what is read to w until io.EOF; io.Copy uses it. In TCP mode it is TCP's WriteTo, and a Read
// under way as long as it lasts. In DDP mode it is a loop of Reads.
func (c *Conn) WriteTo(w io.Writer) (n int64, err error) {
	inDDP, err := c.enter(startup.Reading, &c.readDeadline)
	if err != nil {
		return 0, c.opError("writeto", err)
	}
	if inDDP {
		n, err = copyThrough(w, onlyReader{c})
		return n, c.copyError("writeto", err)
	}
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
	if err == io.EOF { //nolint:errorlint // as readPlain has it
		return n, nil
	}
	if err != nil {
		return n, c.copyError("writeto", err)
	}
	if s, ok := c.stream.(io.WriterTo); ok && !c.taps.on() {
		m, err := s.WriteTo(w)
		return n + m, err
	}
	m, err := copyThrough(w, plainReader{c})
	return n + m, c.copyError("writeto", err)
}

// copyError wraps an error of either end of a copy, as net.TCPConn does.
func (c *Conn) copyError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// copyThrough is io.Copy with a buffer that is used again.
func copyThrough(w io.Writer, r io.Reader) (int64, error) {
	b := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(b)
	return io.CopyBuffer(w, r, b[:])
}

// The connection without its other methods, and its Read and Write within a call that has entered.
type (
	onlyReader  struct{ io.Reader }
	onlyWriter  struct{ io.Writer }
	plainReader struct{ c *Conn }
	plainWriter struct{ c *Conn }
)

func (r plainReader) Read(p []byte) (int, error)  { return r.c.readPlain(p) }
func (w plainWriter) Write(p []byte) (int, error) { return w.c.writePlain(p) }

// writePlain is Write in TCP mode.
func (c *Conn) writePlain(p []byte) (int, error) {
	c.taps.plain(p, true)
	return c.stream.Write(p)
}
