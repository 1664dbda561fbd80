package extsock

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe/kernel"
)

// This file holds methods of *net.TCPConn that programs use besides those of net.Conn. The settings
// of TCP apply to the operating system's connection in either mode, also below TLS. If there is no
// such connection, or if it does not have the setting, the error is errors.ErrUnsupported.

// tcp returns the connection that has the settings of TCP: the one below, and below TLS if there is
// TLS.
func (c *Conn) tcp() net.Conn {
	t, ok := c.under.(*tls.Conn)
	if !ok {
		return c.under
	}
	below := t.NetConn()
	if w, ok := below.(interface{ NetConn() net.Conn }); ok { // netconn.ForTLS
		return w.NetConn()
	}
	return below
}

// SetNoDelay sets whether TCP sends small segments at once (no Nagle's algorithm). The default is
// true. In DDP mode there is no reason to change it, because this package writes everything that is
// ready with one call. If TCP does not have this setting, the error is errors.ErrUnsupported.
func (c *Conn) SetNoDelay(noDelay bool) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	s, ok := c.tcp().(interface{ SetNoDelay(bool) error })
	return c.setting(ok, func() error { return s.SetNoDelay(noDelay) })
}

// SetKeepAlive sets whether TCP sends keep-alive messages. If TCP does not have this setting, the
// error is errors.ErrUnsupported.
func (c *Conn) SetKeepAlive(keepAlive bool) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	s, ok := c.tcp().(interface{ SetKeepAlive(bool) error })
	return c.setting(ok, func() error { return s.SetKeepAlive(keepAlive) })
}

// SetKeepAlivePeriod sets the time that the connection must be idle before TCP sends keep-alive
// messages. If TCP does not have this setting, the error is errors.ErrUnsupported.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	s, ok := c.tcp().(interface{ SetKeepAlivePeriod(time.Duration) error })
	return c.setting(ok, func() error { return s.SetKeepAlivePeriod(d) })
}

// SetKeepAliveConfig configures keep-alive messages, as for a net.TCPConn. If TCP does not have
// this setting, the error is errors.ErrUnsupported.
func (c *Conn) SetKeepAliveConfig(config net.KeepAliveConfig) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	s, ok := c.tcp().(interface {
		SetKeepAliveConfig(net.KeepAliveConfig) error
	})
	return c.setting(ok, func() error { return s.SetKeepAliveConfig(config) })
}

// MultipathTCP reports whether the connection uses MPTCP, as for a net.TCPConn. If TCP does not
// have this setting, the error is errors.ErrUnsupported.
func (c *Conn) MultipathTCP() (uses bool, err error) {
	if !c.ok() {
		return false, syscall.EINVAL
	}
	s, ok := c.tcp().(interface{ MultipathTCP() (bool, error) })
	err = c.setting(ok, func() (err error) {
		uses, err = s.MultipathTCP()
		return err
	})
	return uses, err
}

// SetLinger sets what TCP does at Close with data that the peer has not acknowledged, as for a
// net.TCPConn. With 0 seconds, Close in DDP mode ends the connection at once. The peer then sees a
// reset. If the stream below cannot reset, the peer at least sees a byte stream without its end. If
// TCP does not have this setting, the error is errors.ErrUnsupported; 0 seconds nevertheless has
// its effect on Close in DDP mode.
func (c *Conn) SetLinger(seconds int) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	if !c.isClosed() {
		c.abortive.Store(seconds == 0)
	}
	s, ok := c.tcp().(interface{ SetLinger(int) error })
	return c.setting(ok, func() error { return s.SetLinger(seconds) })
}

// SetReadBuffer sets the size in bytes of the operating system's receive buffer. If TCP does not
// have this setting, the error is errors.ErrUnsupported.
func (c *Conn) SetReadBuffer(octets int) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	s, ok := c.tcp().(interface{ SetReadBuffer(int) error })
	return c.setting(ok, func() error { return s.SetReadBuffer(octets) })
}

// SetWriteBuffer sets the size in bytes of the operating system's send buffer. If TCP does not have
// this setting, the error is errors.ErrUnsupported.
func (c *Conn) SetWriteBuffer(octets int) error {
	if !c.ok() {
		return syscall.EINVAL
	}
	s, ok := c.tcp().(interface{ SetWriteBuffer(int) error })
	return c.setting(ok, func() error { return s.SetWriteBuffer(octets) })
}

// setting calls set if the connection has the setting.
func (c *Conn) setting(has bool, set func() error) error {
	switch {
	case c.isClosed(): // the stream may not be closed yet
		return c.opError("set", net.ErrClosed)
	case !has:
		return c.opError("set", errors.ErrUnsupported)
	}
	err := set()
	if errors.Is(err, net.ErrClosed) && !c.isClosed() {
		return nil // the connection has failed: as over TCP, the setting has no effect
	}
	return c.opError("set", err)
}

// CloseRead shuts down the reading side of the connection, as for a net.TCPConn. A Read that finds
// no data returns io.EOF. In DDP mode, data that arrives later is discarded, and Close resets the
// connection if there was such data. The error is errors.ErrUnsupported if the stream below cannot
// do this, or if the program posts the receive buffers.
func (c *Conn) CloseRead() error {
	if !c.ok() {
		return syscall.EINVAL
	}
	var never wait.Deadline
	e, err := c.enter(startup.Writing, &never) // as a Write: a silent peer may delay it by 1 s
	if err != nil {
		return c.opError("close", err)
	}
	return e.closeRead()
}

// NetConn returns the connection below: the net.Conn that was passed to NewConn, the operating
// system's *net.TCPConn, or the *tls.Conn of Config.TLS.
//
// It returns nil unless the connection is in TCP mode. It also returns nil while startup has not
// yet chosen a mode, or while Read has not returned all bytes that startup read ahead: bytes that
// the program moved past this package would be missing here. The program must not use the result
// once the switch to DDP mode begins.
func (c *Conn) NetConn() net.Conn {
	if !c.ok() {
		return nil
	}
	under, err := c.plain()
	if err != nil {
		return nil
	}
	return under
}

// File returns a copy of the operating system's connection, as for a net.TCPConn. The caller must
// close it. If there is no such connection, or if NetConn returns nil, the error is
// errors.ErrUnsupported.
func (c *Conn) File() (*os.File, error) {
	if !c.ok() {
		return nil, syscall.EINVAL
	}
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

// plain returns the connection below if all bytes pass through it unchanged.
func (c *Conn) plain() (net.Conn, error) {
	switch {
	case c.isClosed():
		return nil, net.ErrClosed
	case !c.startup.IsPlain():
		return nil, errors.ErrUnsupported
	}
	return c.direct(), nil
}

// direct returns the connection below as a type of package net, if it has one.
func (c *Conn) direct() net.Conn {
	if s, ok := c.under.(*kernel.Stream); ok {
		return s.TCPConn
	}
	return c.under
}

// copySize is the number of bytes that ReadFrom and WriteTo move at a time.
const copySize = 32 << 10

var copyBuffers = sync.Pool{New: func() any { return new([copySize]byte) }}

// ReadFrom writes all data of r to the connection until r returns io.EOF, which is not an error. It
// returns the number of bytes read. io.Copy uses it. In TCP mode, while there is no Tap, the kernel
// sends a file or data of another connection without a copy in the program; ReadFrom counts as one
// Write that lasts as long as ReadFrom. In DDP mode it calls Write with at most 32 KiB at a time.
func (c *Conn) ReadFrom(r io.Reader) (int64, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	e, err := c.enter(startup.Writing, &c.writeDeadline)
	if err != nil {
		return 0, c.opError("readfrom", err)
	}
	return e.readFrom(r)
}

// WriteTo writes all data that it reads from the connection to w until io.EOF, which is not an
// error. It returns the number of bytes written. io.Copy uses it. In TCP mode, while there is no
// Tap, the kernel moves data to another TCP connection or to a file; WriteTo counts as one Read
// that lasts as long as WriteTo. In DDP mode it calls Read with a buffer of 32 KiB.
func (c *Conn) WriteTo(w io.Writer) (int64, error) {
	if !c.ok() {
		return 0, syscall.EINVAL
	}
	e, err := c.enter(startup.Reading, &c.readDeadline)
	if err != nil {
		return 0, c.opError("writeto", err)
	}
	return e.writeTo(w)
}

// copyError wraps an error of a copy, on either side, as net.TCPConn does.
func (c *Conn) copyError(op string, err error) error {
	if err == nil {
		return nil
	}
	return &net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// copyThrough is io.Copy with a buffer from a pool.
func copyThrough(w io.Writer, r io.Reader) (int64, error) {
	b := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(b)
	return io.CopyBuffer(w, r, b[:])
}

// onlyReader and onlyWriter hide the other methods of a connection. plainReader and plainWriter are
// Read and Write of tcpMode inside a call.
type (
	onlyReader  struct{ io.Reader }
	onlyWriter  struct{ io.Writer }
	plainReader struct{ c *Conn }
	plainWriter struct{ c *Conn }
)

func (r plainReader) Read(p []byte) (int, error)  { return r.c.readPlain(p) }
func (w plainWriter) Write(p []byte) (int, error) { return w.c.writePlain(p) }
