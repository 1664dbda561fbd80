package shm

import (
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A bell wakes the peer, and waits for the peer's bell: a unix socket. The bytes in it mean
// nothing, and its end means that the peer has closed the connection or has died.
type bell struct {
	conn *net.UnixConn
	raw  syscall.RawConn

	ready    func() bool           // for wait: what is waited for is there
	waitFunc func(fd uintptr) bool // wait, made a function once so that passing it costs no allocation
	ringFunc func(fd uintptr)      // ring, likewise
	hearFunc func(fd uintptr)      // hear, likewise
	heard    bool                  // from hear
	again    bool                  // from tryWait: it has heard many bells, and must be called again
	gone     func()                // called when the peer is gone
}

func (b *bell) init(c *net.UnixConn, ready func() bool, gone func()) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	// The kernel would close descriptors that a peer passes along with a bell, which may take
	// forever. Linux can refuse them from 6.16 on.
	if err := raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) }); err != nil {
		return err
	}
	b.conn, b.raw, b.ready, b.gone = c, raw, ready, gone
	b.waitFunc, b.ringFunc, b.hearFunc = b.tryWait, ringOnce, func(fd uintptr) { b.heard = b.tryWait(fd) }
	return nil
}

// ring wakes the peer, which has asked for it. If the socket is full, the peer has bells to hear.
func (b *bell) ring() { _ = b.raw.Control(b.ringFunc) } // an error means that this end is closed

// one is what a bell sends.
var one = [1]byte{1}

func ringOnce(fd uintptr) {
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&one)), 1, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if e != unix.EINTR {
			return
		}
	}
}

// wait waits until ready says true, or the deadline passes. ready is asked again each time the bell
// has rung, and before each sleep.
func (b *bell) wait() error {
	for {
		if err := b.raw.Read(b.waitFunc); err != nil || !b.again {
			return err
		}
	}
}

// hearMost is the maximum number of calls that hear bells between two looks at the deadline. A peer
// can ring faster than this end hears.
const hearMost = 16

// tryWait returns false if the goroutine must sleep. What rings from here on wakes it.
func (b *bell) tryWait(fd uintptr) bool {
	b.again = false
	for calls := 0; !b.ready(); calls++ {
		if calls == hearMost {
			b.again = true
			return true
		}
		var heard [64]byte
		n, _, e := unix.RawSyscall6(unix.SYS_RECVFROM, fd, uintptr(unsafe.Pointer(&heard)), uintptr(len(heard)), unix.MSG_DONTWAIT, 0, 0)
		switch {
		case e == unix.EINTR, e == 0 && n > 0:
		case e == unix.EAGAIN:
			return false
		default: // the end, or an error, which is one
			b.gone()
			return true
		}
	}
	return true
}

// hear is wait without waiting, and without a deadline: it reports whether wait would return at
// once. It may report so wrongly if the peer rings without end.
func (b *bell) hear() bool {
	err := b.raw.Control(b.hearFunc)
	return b.heard || err != nil
}

func (b *bell) setDeadline(t time.Time) error { return b.conn.SetReadDeadline(t) }
