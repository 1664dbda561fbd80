//go:build amd64 || arm64

package run

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/locks"
)

// A channel carries events to the program: a pipe, of which the program has the end for reading.
// Reading, polling and all that is the kernel's then. The events of a channel have one length, so
// each read of the program gets whole ones.
//
// This process keeps no copy of the program's end, so that its own end tells when the last one is
// closed. It knows the pipe by its inode, whatever process has a descriptor of it, and whatever
// number that has.
type channel struct {
	in    *eventChannels
	inode uint64

	mu   locks.Mutex[locks.Leaf]
	near int // +checklocks:mu
	// the length of an event in bytes; 0 before the first one
	eventLen int // +checklocks:mu
	// events for which the pipe has no room
	later backlog // +checklocks:mu
}

// eventChannels are the channels that are not closed.
type eventChannels struct {
	mu locks.Mutex[locks.Leaf]
	// by inode
	all map[uint64]*channel // +checklocks:mu
}

// add makes a channel and gives the process of the call its end, whose number there is fd.
func (s *eventChannels) add(l *seccomp.Listener, c *seccomp.Call) (ch *channel, fd int, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, err
	}
	defer unix.Close(ends[0])
	ch = &channel{in: s, near: ends[1]}
	var st unix.Stat_t
	err = unix.SetNonblock(ends[1], true) // the program's end stays as libibverbs expects it
	if err == nil {
		err = unix.Fstat(ends[0], &st)
	}
	if err == nil {
		ch.inode = st.Ino
		fd, err = l.AddFD(c, ends[0], -1, true)
	}
	if err != nil {
		unix.Close(ends[1])
		return nil, -1, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint64]*channel)
	}
	s.all[ch.inode] = ch
	return ch, fd, nil
}

// find returns the channel that a descriptor of a thread's process stands for, or nil.
func (s *eventChannels) find(thread, fd int) *channel {
	inode, ok := pipeOf(thread, fd)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[inode]
}

// pipeOf returns the inode of the pipe that a descriptor of a thread's process stands for. ok is
// false if that is no pipe. The link has the inode in it; to ask the file itself might take as long
// as a file system likes.
func pipeOf(thread, fd int) (inode uint64, ok bool) {
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", thread, fd))
	if err != nil {
		return 0, false
	}
	link, ok = strings.CutPrefix(link, "pipe:[")
	if !ok {
		return 0, false
	}
	inode, err = strconv.ParseUint(strings.TrimSuffix(link, "]"), 10, 64)
	return inode, err == nil
}

// Send sends an event. If the program has left thousands of them unread, the event waits; if it
// waits already, sent is false.
func (c *channel) Send(event []byte) (sent bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near < 0 {
		return false
	}
	c.eventLen = len(event)
	if len(c.later.events) > 0 {
		return c.sendLater(event)
	}
	_, err := unix.Write(c.near, event)
	if err == unix.EAGAIN { //nolint:errorlint // as the call returns it
		return c.sendLater(event)
	}
	return err == nil
}

// TakeBack removes the events that match from those that are not read. The program may read
// meanwhile; each event goes to one of the two.
func (c *channel) TakeBack(match func(event []byte) bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near < 0 || c.eventLen == 0 {
		return 0
	}
	// The end for writing, opened again, is one for reading.
	far, err := unix.Open(fmt.Sprintf("/proc/self/fd/%d", c.near), unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
	if err != nil {
		return 0
	}
	defer unix.Close(far)
	var unread []byte
	var b [4096]byte
	for len(unread) < pipeMost {
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
	return n + c.later.remove(match)
}

// pipeMost is the most that a pipe holds without privilege. A program that writes into its own pipe
// all the time does not keep TakeBack.
const pipeMost = 1 << 20

// IsClosed reports whether nothing is left of the program's end.
func (c *channel) IsClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := []unix.PollFd{{Fd: int32(c.near)}}
	n, err := unix.Poll(p, 0)
	return c.near < 0 || err == nil && n > 0
}

// copyNear returns a copy of this end.
func (c *channel) copyNear() (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return unix.FcntlInt(uintptr(c.near), unix.F_DUPFD_CLOEXEC, 0)
}

// Close closes this end.
func (c *channel) Close() {
	c.in.mu.Lock()
	delete(c.in.all, c.inode) // before another pipe can have the number
	c.in.mu.Unlock()
	c.mu.Lock()
	if c.near >= 0 {
		unix.Close(c.near)
		c.near = -1
	}
	end := c.later.end
	c.mu.Unlock()
	if end != nil {
		_ = end.Close() // ends the goroutine. It waits for the goroutine, which needs mu
	}
}
