package usertcp

import (
	"net"
	"os"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip"
	"gvisor.dev/gvisor/pkg/tcpip/transport/tcp"
)

// This file contains the ways in which a Stream ends, and its options.

// CloseWrite sends a FIN after the written data.
func (c *Stream) CloseWrite() error {
	if c.isClosed() {
		return c.opError("close", net.ErrClosed)
	}
	if err := c.ep.Shutdown(tcpip.ShutdownWrite); err != nil {
		return c.opError("close", systemError(err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.shut = true
	c.writable.Broadcast()
	return nil
}

// Close closes the connection. TCP continues in the background until the peer has all written data,
// but gives up if Config.UserTimeout passes without an ACK. If received data have not been read,
// the peer sees a reset, as with sockets. Further calls do nothing.
func (c *Stream) Close() error {
	if c.markClosed() {
		setUserTimeout(c.ep, or(c.stack.cfg.UserTimeout, closedTimeout))
		c.keepAliveClosed()
		c.ep.Close()
		c.leave()
	}
	return nil
}

// Abort resets the connection. Abort of a closed Stream does nothing.
func (c *Stream) Abort() error {
	if c.markClosed() {
		c.ep.Abort()
		c.leave()
	}
	return nil
}

// markClosed marks the Stream as closed and wakes all waiting goroutines. It returns false if the
// Stream was already closed.
func (c *Stream) markClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.closed = true
	c.readDeadline.Stop()
	c.writeDeadline.Stop()
	c.readable.Broadcast()
	c.writable.Broadcast()
	return true
}

// leave unregisters the Stream from the endpoint's events and from the tap.
func (c *Stream) leave() {
	c.queue.EventUnregister(&c.entry)
	c.stack.tap.detach(c.flow)
}

const (
	firstLook = 100 * time.Microsecond
	lastLook  = 10 * time.Millisecond

	// A connection in state CLOSING is probed after every probeLooks looks. The probe goes out when
	// the connection has been idle for probeIdle.
	probeLooks = 16
	probeIdle  = 10 * time.Millisecond

	// closedIdle is the idle time of a closed Stream before a keep-alive probe. A connection that
	// ends by itself takes less time: gVisor's TIME-WAIT and FIN-WAIT-2 last 60 seconds. A probe of
	// a closed window comes after at most MaxRTO; each answer to a keep-alive probe would delay it,
	// and closedTimeout with it.
	closedIdle = tcp.MaxRTO + time.Minute
)

// Flush waits until the peer has acknowledged everything and the FIN: until then a segment may have
// to be sent again, and only this process can do that. gVisor has no event for it, so Flush polls,
// at most every 10 ms.
func (c *Stream) Flush(timeout time.Duration) error {
	limit := time.Now().Add(timeout)
	pause := firstLook
	for looks := 1; ; looks++ {
		switch tcp.EndpointState(c.ep.State()) {
		case tcp.StateFinWait2, tcp.StateTimeWait, tcp.StateClose:
			if looks > probeLooks {
				c.keepAliveClosed()
			}
			return nil
		case tcp.StateError:
			return c.opError("flush", c.breakWith(systemError(&tcpip.ErrConnectionAborted{})))
		case tcp.StateClosing:
			if looks%probeLooks == 0 {
				c.probe()
			}
		}
		if !time.Now().Before(limit) {
			return c.opError("flush", os.ErrDeadlineExceeded)
		}
		time.Sleep(min(pause, time.Until(limit)))
		pause = min(2*pause, lastLook)
	}
}

// probe makes TCP send keep-alive probes soon, unless something waits for an ACK. The peer answers
// with its last ACK. If the ACK of our FIN has overtaken the peer's FIN, gVisor has ignored that
// ACK, and would remain in CLOSING forever.
func (c *Stream) probe() {
	c.ep.SocketOptions().SetKeepAlive(true)
	setKeepAlivePeriod(c.ep, probeIdle)
}

// keepAliveClosed makes TCP probe a connection rarely once its Stream is closed. gVisor sends
// probes in TIME-WAIT too, where the peer may have forgotten the connection already and answers
// with a RST. But without a probe a connection might remain in CLOSING, as probe says.
func (c *Stream) keepAliveClosed() {
	c.ep.SocketOptions().SetKeepAlive(true)
	setKeepAlivePeriod(c.ep, closedIdle)
}

// SetNoDelay switches Nagle's algorithm off, or on. It is off from the beginning.
func (c *Stream) SetNoDelay(noDelay bool) error {
	if c.isClosed() {
		return c.opError("set", net.ErrClosed)
	}
	c.ep.SocketOptions().SetDelayOption(!noDelay)
	return nil
}

// SetKeepAlive switches keep-alive probes on or off.
func (c *Stream) SetKeepAlive(keepAlive bool) error {
	if c.isClosed() {
		return c.opError("set", net.ErrClosed)
	}
	c.ep.SocketOptions().SetKeepAlive(keepAlive)
	return nil
}

// SetKeepAlivePeriod sets the idle time before the first keep-alive probe, and the time between
// probes. As for a net.TCPConn, zero means 15 seconds, a negative value changes nothing, and the
// shortest time is a second.
func (c *Stream) SetKeepAlivePeriod(d time.Duration) error {
	switch {
	case c.isClosed():
		return c.opError("set", net.ErrClosed)
	case d < 0:
		return nil
	}
	return c.opError("set", setKeepAlivePeriod(c.ep, keepAlivePeriod(d)))
}

// keepAlivePeriod returns the period that a program means by d, which is not negative. With a
// period of zero, gVisor would send all probes at once, and give up before any answer.
func keepAlivePeriod(d time.Duration) time.Duration {
	return max(or(d, defaultKeepAlive), minKeepAlive)
}

func setKeepAlivePeriod(ep tcpip.Endpoint, d time.Duration) error {
	idle, interval := tcpip.KeepaliveIdleOption(d), tcpip.KeepaliveIntervalOption(d)
	if err := ep.SetSockOpt(&idle); err != nil {
		return systemError(err)
	}
	if err := ep.SetSockOpt(&interval); err != nil {
		return systemError(err)
	}
	return systemError(ep.SetSockOptInt(tcpip.KeepaliveCountOption, keepAliveProbes))
}

// setUserTimeout sets the time after which TCP gives up on data that it cannot send. Zero means
// none.
func setUserTimeout(ep tcpip.Endpoint, d time.Duration) {
	option := tcpip.TCPUserTimeoutOption(d)
	ep.SetSockOpt(&option) // it only sets a field, and cannot fail
}
