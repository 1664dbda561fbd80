package shm

import (
	"net"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A bell is a unix socket that wakes the peer and waits to be woken by it. The bytes have no
// meaning. End of file means that the peer has closed the connection or has died.
type bell struct {
	conn *net.UnixConn
	raw  syscall.RawConn

	ready    func() bool           // for wait: reports whether the wait is over
	looks    int                   // calls of tryWait since the last drain
	waitFunc func(fd uintptr) bool // tryWait as a function value, made once to avoid allocations
	ringFunc func(fd uintptr)      // ringOnce, likewise
	hearFunc func(fd uintptr)      // drain, with its result in heard, likewise
	heard    bool                  // set by hearFunc
	again    bool                  // set by drain: it has received many bells, and must be called again
	gone     func()                // called when the peer is gone
}

func (b *bell) init(c *net.UnixConn, ready func() bool, gone func()) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	// If a peer passes descriptors along with a bell, the kernel would have to close them, which
	// may take forever. Linux 6.16 and later can refuse them.
	if err := raw.Control(func(fd uintptr) { _ = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_PASSRIGHTS, 0) }); err != nil {
		return err
	}
	b.conn, b.raw, b.ready, b.gone = c, raw, ready, gone
	b.waitFunc, b.ringFunc, b.hearFunc = b.tryWait, ringOnce, func(fd uintptr) { b.heard = b.drain(fd) }
	return nil
}

// ring wakes the peer, which has asked for it. If the socket is full, the peer has unread bells,
// which wake it.
func (b *bell) ring() { _ = b.raw.Control(b.ringFunc) } // an error means that this end is closed

// one is the content of a bell.
var one = [1]byte{1}

func ringOnce(fd uintptr) {
	for {
		_, _, e := unix.RawSyscall6(unix.SYS_SENDTO, fd, uintptr(unsafe.Pointer(&one)), 1, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL, 0, 0)
		if e != unix.EINTR {
			return
		}
	}
}

// wait waits until ready returns true, or the deadline passes. It calls ready whenever the peer has
// rung, and before each sleep.
func (b *bell) wait() error {
	for {
		if err := b.raw.Read(b.waitFunc); err != nil || !b.again {
			return err
		}
	}
}

// hearMost is the maximum number of reads between two checks of the deadline. A peer can ring
// faster than this end reads.
const hearMost = 16

// drainEvery is how many looks may pass before the bells are read. A look brings two bells at most,
// and a socket has room for about 270.
const drainEvery = 16

// tryWait returns false if the goroutine must sleep. Any later ring wakes it, because the runtime
// waits for edges, whether or not there are unread bells. So tryWait reads them only now and then:
// each read would also wake a thread of the peer, for whom the socket has become writable. But the
// end of file has one edge, which may have come before this wait.
func (b *bell) tryWait(fd uintptr) bool {
	b.again = false
	b.looks++
	if b.ready() {
		return true
	}
	if b.looks < drainEvery && !isHungUp(fd) {
		return false
	}
	return b.drain(fd)
}

// isHungUp reports whether the peer may have closed its end of the socket.
func isHungUp(fd uintptr) bool {
	p := unix.PollFd{Fd: int32(fd), Events: unix.POLLRDHUP}
	var atOnce unix.Timespec
	n, _, e := unix.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&p)), 1, uintptr(unsafe.Pointer(&atOnce)), 0, 0, 0)
	return n != 0 || e != 0
}

// drain reads the bells, and the end of file behind them. It returns false if the goroutine must
// sleep.
func (b *bell) drain(fd uintptr) bool {
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
			b.looks = 0
			return false
		default: // end of file, or an error, which also ends the connection
			b.gone()
			return true
		}
	}
	return true
}

// hear reports whether wait would return at once, regardless of the deadline. If the peer rings all
// the time, it may return true by mistake.
func (b *bell) hear() bool {
	err := b.raw.Control(b.hearFunc)
	return b.heard || err != nil
}

func (b *bell) setDeadline(t time.Time) error { return b.conn.SetReadDeadline(t) }
