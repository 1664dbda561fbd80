package perf

import (
	"crypto/tls"
	"errors"
	"net"
	"syscall"
)

// tune sets TCP's congestion control and the buffer sizes of a connection, for plain TCP and for
// rddp.
func tune(c net.Conn, congestion string, buffer int) error {
	if over, ok := c.(*tls.Conn); ok {
		c = over.NetConn()
		if w, ok := c.(interface{ NetConn() net.Conn }); ok { // netconn.ForTLS
			c = w.NetConn()
		}
	}
	t, ok := c.(interface { // a *net.TCPConn or an extended socket
		SetReadBuffer(bytes int) error
		SetWriteBuffer(bytes int) error
		syscall.Conn
	})
	if !ok {
		return errors.ErrUnsupported
	}
	if buffer > 0 {
		if err := errors.Join(t.SetReadBuffer(buffer), t.SetWriteBuffer(buffer)); err != nil {
			return err
		}
	}
	if congestion == "" {
		return nil
	}
	raw, err := t.SyscallConn()
	if err != nil {
		return err
	}
	return setCongestion(raw, congestion)
}

// beginWith returns a function that sets the congestion control of a socket before the socket
// connects or listens, or nil if congestion is empty. A connection that has begun with bbr paces
// its segments by a timer, even after tune has changed the congestion control.
func beginWith(congestion string) func(network, address string, raw syscall.RawConn) error {
	if congestion == "" {
		return nil
	}
	return func(_, _ string, raw syscall.RawConn) error { return setCongestion(raw, congestion) }
}

// control calls set with the file descriptor of raw.
func control(raw syscall.RawConn, set func(fd int) error) error {
	var err error
	if e := raw.Control(func(fd uintptr) { err = set(int(fd)) }); e != nil {
		return e
	}
	return err
}
