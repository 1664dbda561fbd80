package extsock

import (
	"errors"
	"time"
)

// This file holds the settings of TCP itself. They go to the stream in either mode; a stream that does
// not have one, because it is not TCP or its backend does not offer it, gives errors.ErrUnsupported.

// SetNoDelay says whether TCP sends small segments at once. The default is true; in DDP mode nothing is
// gained by changing it, because what is posted together is written together.
func (c *Conn) SetNoDelay(noDelay bool) error {
	s, ok := c.stream.(interface{ SetNoDelay(bool) error })
	return c.setting(ok, func() error { return s.SetNoDelay(noDelay) })
}

// SetKeepAlive says whether TCP sends keep-alives.
func (c *Conn) SetKeepAlive(keepAlive bool) error {
	s, ok := c.stream.(interface{ SetKeepAlive(bool) error })
	return c.setting(ok, func() error { return s.SetKeepAlive(keepAlive) })
}

// SetKeepAlivePeriod sets the time between keep-alives.
func (c *Conn) SetKeepAlivePeriod(d time.Duration) error {
	s, ok := c.stream.(interface{ SetKeepAlivePeriod(time.Duration) error })
	return c.setting(ok, func() error { return s.SetKeepAlivePeriod(d) })
}

// SetLinger says what TCP does at Close with octets that the peer has not acknowledged, as for a
// net.TCPConn.
func (c *Conn) SetLinger(seconds int) error {
	s, ok := c.stream.(interface{ SetLinger(int) error })
	return c.setting(ok, func() error { return s.SetLinger(seconds) })
}

// SetReadBuffer sets the size of the operating system's receive buffer, in octets.
func (c *Conn) SetReadBuffer(octets int) error {
	s, ok := c.stream.(interface{ SetReadBuffer(int) error })
	return c.setting(ok, func() error { return s.SetReadBuffer(octets) })
}

// SetWriteBuffer sets the size of the operating system's send buffer, in octets.
func (c *Conn) SetWriteBuffer(octets int) error {
	s, ok := c.stream.(interface{ SetWriteBuffer(int) error })
	return c.setting(ok, func() error { return s.SetWriteBuffer(octets) })
}

// setting calls set if the stream has it.
func (c *Conn) setting(has bool, set func() error) error {
	if !has {
		return c.opError("set", errors.ErrUnsupported)
	}
	return c.opError("set", set())
}
