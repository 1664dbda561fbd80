//go:build amd64 || arm64

package run

import (
	"bytes"
	"errors"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
)

// A channel carries events to the program: one end of a socket pair, whose other end is a descriptor
// of the program. Reading, polling and all that is the kernel's then.
type channel struct {
	// far is where the program has its end. This process keeps no copy of it, so that its own end
	// tells when the program has closed it.
	far struct {
		pid, fd int
		inode   uint64
	}

	mu   sync.Mutex
	near int // +checklocks:mu
}

// newChannel makes a channel and gives the process of the call its end.
func newChannel(l *seccomp.Listener, c *seccomp.Call, pid int) (*channel, error) {
	pair, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_SEQPACKET|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(pair[1])
	ch := &channel{near: pair[0]}
	ch.far.pid = pid
	var st unix.Stat_t
	if err = unix.Fstat(pair[1], &st); err == nil {
		ch.far.inode = st.Ino
		ch.far.fd, err = l.AddFD(c, pair[1], -1, true)
	}
	if err != nil {
		ch.Close()
		return nil, err
	}
	return ch, nil
}

// Send sends an event, unless the program has left hundreds of them unread.
func (c *channel) Send(event []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near >= 0 {
		_ = unix.Send(c.near, event, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}
}

// TakeBack removes the events that match from those that are not read. The program may read
// meanwhile; each event goes to one of the two.
func (c *channel) TakeBack(match func(event []byte) bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	far, err := c.borrow()
	if err != nil || c.near < 0 {
		return 0
	}
	defer unix.Close(far)
	var keep [][]byte
	var b [64]byte
	for {
		got, _, err := unix.Recvfrom(far, b[:], unix.MSG_DONTWAIT)
		if err != nil || got == 0 {
			break
		}
		if match(b[:got]) {
			n++
		} else {
			keep = append(keep, bytes.Clone(b[:got]))
		}
	}
	for _, e := range keep {
		_ = unix.Send(c.near, e, unix.MSG_DONTWAIT|unix.MSG_NOSIGNAL)
	}
	return n
}

// borrow returns a copy of the program's end.
func (c *channel) borrow() (int, error) {
	pid, err := unix.PidfdOpen(c.far.pid, 0)
	if err != nil {
		return -1, err
	}
	defer unix.Close(pid)
	fd, err := unix.PidfdGetfd(pid, c.far.fd, 0)
	if err != nil {
		return -1, err
	}
	var st unix.Stat_t
	if unix.Fstat(fd, &st) != nil || st.Ino != c.far.inode {
		unix.Close(fd)
		return -1, errMoved
	}
	return fd, nil
}

var errMoved = errors.New("the program has the channel elsewhere")

// copyNear returns a copy of this end.
func (c *channel) copyNear() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return unix.FcntlInt(uintptr(c.near), unix.F_DUPFD_CLOEXEC, 0)
}

// Close closes this end.
func (c *channel) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near >= 0 {
		unix.Close(c.near)
		c.near = -1
	}
}
