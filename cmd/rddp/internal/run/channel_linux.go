//go:build amd64 || arm64

package run

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/process"
)

// A channel carries events to the program through a pipe. The program has the read end, so the
// kernel handles reading and polling. All events of a channel have the same length, so each read by
// the program returns whole events.
//
// This process keeps no copy of the read end, so its own end shows when the last copy is closed. It
// identifies the pipe by its inode, in any process and under any descriptor number.
type channel struct {
	in    *eventChannels
	inode uint64
	maker int // the process that has made it
	fd    int // the number of the descriptor there

	mu   locks.Mutex[locks.Leaf]
	near int // +checklocks:mu
	// the length of an event in bytes; 0 before the first one
	eventLen int // +checklocks:mu
	// events for which the pipe has no room
	later backlog // +checklocks:mu
}

// eventChannels is the set of open channels.
type eventChannels struct {
	mu locks.Mutex[locks.Leaf]
	// by inode
	all map[uint64]*channel // +checklocks:mu
}

// add makes a channel and gives the read end to the process of the call, where its number is fd.
func (s *eventChannels) add(l *seccomp.Listener, c *seccomp.Call) (ch *channel, fd int, err error) {
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC); err != nil {
		return nil, -1, err
	}
	defer unix.Close(ends[0])
	ch = &channel{in: s, near: ends[1], maker: c.Thread}
	if pid, err := process.Leader(c.Thread); err == nil {
		ch.maker = pid
	}
	var st unix.Stat_t
	err = unix.SetNonblock(ends[1], true) // the program's end stays blocking, as libibverbs expects
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
	ch.fd = fd
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint64]*channel)
	}
	s.all[ch.inode] = ch
	return ch, fd, nil
}

// find returns the channel behind a descriptor of a thread's process, or nil.
func (s *eventChannels) find(thread, fd int) *channel {
	inode, ok := pipeOf(thread, fd)
	if !ok {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[inode]
}

// pipeOf returns the inode of the pipe behind a descriptor of a thread's process. ok is false if it
// is not a pipe. The link contains the inode; a stat of the file itself could take arbitrarily long
// on some file systems.
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

// Send sends an event. If the pipe is full, the event waits in the backlog. sent is false if the
// same event is already waiting there, or the channel is closed.
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

// TakeBack removes the unread events that match, and returns their number. The program may read at
// the same time; each event is either read or removed.
func (c *channel) TakeBack(match func(event []byte) bool) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.near < 0 || c.eventLen == 0 {
		return 0
	}
	// Opening the write end again yields a read end.
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

// pipeMost is the maximum size of a pipe without privilege. It ends the loop of TakeBack even if
// the program keeps writing into the pipe.
const pipeMost = 1 << 20

// IsClosed reports whether every copy of the program's end is closed.
func (c *channel) IsClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	p := []unix.PollFd{{Fd: int32(c.near)}}
	n, err := unix.Poll(p, 0)
	return c.near < 0 || err == nil && n > 0
}

// IsLeft is a method of softrnic.Channel.
func (c *channel) IsLeft() bool {
	if c.IsClosed() {
		return false
	}
	return hasPipe(c.maker, c.fd, c.inode)
}

// hasPipe reports whether a process has a pipe, most likely under the number fd.
func hasPipe(pid, fd int, inode uint64) bool {
	if x, ok := pipeOf(pid, fd); ok && x == inode {
		return true
	}
	all, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid)) // the program may have moved it
	return err == nil && slices.ContainsFunc(all, func(e os.DirEntry) bool {
		fd, err := strconv.Atoi(e.Name())
		x, ok := pipeOf(pid, fd)
		return err == nil && ok && x == inode
	})
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
	delete(c.in.all, c.inode) // before another pipe can have the same inode
	c.in.mu.Unlock()
	c.mu.Lock()
	if c.near >= 0 {
		unix.Close(c.near)
		c.near = -1
	}
	end := c.later.end
	c.mu.Unlock()
	if end != nil {
		_ = end.Close() // ends writeLater. Close waits for writeLater, which needs mu
	}
}
