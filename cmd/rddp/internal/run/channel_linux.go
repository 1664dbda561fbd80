//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
)

// A channel carries events to the program: a pipe, of which the program has the end for reading.
// Reading, polling and all that is the kernel's then. The events of a channel have one length, so
// each read of the program gets whole ones.
type channel struct {
	// far is where the program has its end. This process keeps no copy of it, so that its own end
	// tells when the program has closed it.
	far struct {
		pid, fd int
		inode   uint64
	}

	mu   sync.Mutex
	near int // +checklocks:mu
	// the length of an event in bytes; 0 before the first one
	eventLen int // +checklocks:mu
}

// newChannel makes a channel and gives the process of the call its end.
func newChannel(l *seccomp.Listener, c *seccomp.Call, pid int) (*channel, error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, err
	}
	defer unix.Close(ends[0])
	ch := &channel{near: ends[1]}
	ch.far.pid = pid
	var st unix.Stat_t
	err := unix.SetNonblock(ends[1], true) // the program's end stays as libibverbs expects it
	if err == nil {
		err = unix.Fstat(ends[0], &st)
	}
	if err == nil {
		ch.far.inode = st.Ino
		ch.far.fd, err = l.AddFD(c, ends[0], -1, true)
	}
	if err != nil {
		ch.Close()
		return nil, err
	}
	return ch, nil
}

// Send sends an event, unless the program has left thousands of them unread.
func (c *channel) Send(event []byte) (sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near < 0 {
		return false
	}
	c.eventLen = len(event)
	_, err := unix.Write(c.near, event) // fails if the pipe is full
	return err == nil
}

// TakeBack removes the events that match from those that are not read. The program may read
// meanwhile; each event goes to one of the two.
func (c *channel) TakeBack(match func(event []byte) bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	far, err := c.borrow()
	if err != nil {
		return 0
	}
	defer unix.Close(far)
	if c.near < 0 || c.eventLen == 0 {
		return 0
	}
	var unread []byte
	var b [4096]byte
	for {
		got, err := unix.Read(far, b[:])
		if err != nil || got == 0 {
			break
		}
		unread = append(unread, b[:got]...)
	}
	for ; len(unread) >= c.eventLen; unread = unread[c.eventLen:] {
		if e := unread[:c.eventLen]; match(e) {
			n++
		} else {
			_, _ = unix.Write(c.near, e)
		}
	}
	return n
}

// borrow opens the program's end for this process.
func (c *channel) borrow() (int, error) {
	fd, err := unix.Open(fmt.Sprintf("/proc/%d/fd/%d", c.far.pid, c.far.fd), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
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
