//go:build amd64 || arm64

package run

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
)

// What programs receive from their netlink sockets.

const (
	// longestAnswer is longer than any answer.
	longestAnswer = 64 << 10
	// mostWaiting is the maximum number of calls that wait in awaitMessage. Each occupies a thread
	// of this process. A process has at most as many as it leaves free, so none ever takes all.
	mostWaiting = 128
)

// receiveFrom answers recvfrom, because the kernel would name the supervisor as the sender, and
// some programs want the kernel. It closes the copy of the socket. It returns false if the kernel
// should answer: nothing has come, and the program does not wait.
func (s *supervisor) receiveFrom(t threadMemory, c *seccomp.Call, k netlinkSocket) bool {
	if s.receive(t, c, k) {
		return true
	}
	flags, err := unix.FcntlInt(uintptr(k.fd), unix.F_GETFL, 0)
	waits := err == nil && flags&unix.O_NONBLOCK == 0 && c.Args[3]&unix.MSG_DONTWAIT == 0
	pid, err := process.Leader(c.Thread)
	if !waits || err != nil || !s.netlink.beginWait(pid) {
		unix.Close(k.fd)
		return false
	}
	s.later(c, func() {
		defer s.netlink.endWait(pid)
		s.awaitMessage(t, c, k)
	})
	return true
}

// beginWait notes that a call of a process waits. It returns false if there is no room for one
// more.
func (n *netlink) beginWait(pid int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	own, free := 1, mostWaiting-1
	for p, calls := range n.waiting {
		free -= calls
		if p == pid {
			own += calls
		}
	}
	if own > free {
		return false
	}
	if n.waiting == nil {
		n.waiting = make(map[int]int)
	}
	n.waiting[pid]++
	return true
}

func (n *netlink) endWait(pid int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.waiting[pid]--; n.waiting[pid] == 0 {
		delete(n.waiting, pid)
	}
}

// awaitMessage answers recvfrom when a message comes, or after the time limit of the socket. If a
// signal comes, the kernel ends the call, or begins it anew.
func (s *supervisor) awaitMessage(t threadMemory, c *seccomp.Call, k netlinkSocket) {
	every := s.pollers.enter()
	defer s.pollers.leave()
	var end time.Time
	if limit, err := unix.GetsockoptTimeval(k.fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO); err == nil && limit.Nano() > 0 {
		end = time.Now().Add(time.Duration(limit.Nano()))
	}
	for {
		if !end.IsZero() {
			every = min(every, max(time.Until(end), 0))
		}
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(k.fd), Events: unix.POLLIN}}, int((every+time.Millisecond-1)/time.Millisecond))
		if s.receive(t, c, k) {
			return
		}
		switch own, shared, ok := signalsOf(c.Thread); {
		case own && end.IsZero():
			k.answer(s, c, 0, restart)
			return
		case own: // as in the kernel, which does not begin a time limit anew
			k.answer(s, c, 0, syscall.EINTR)
			return
		case shared || !ok: // if the signal is for another thread, the kernel goes on waiting
			unix.Close(k.fd)
			s.program.Continue(c)
			return
		}
		if !end.IsZero() && !time.Now().Before(end) {
			k.answer(s, c, 0, syscall.EAGAIN)
			return
		}
		every = s.pollers.interval()
	}
}

// receive answers recvfrom with the next message, and closes the copy of the socket. It returns
// false if there is none. As in the kernel, a message whose place is no memory of the program is
// lost.
func (s *supervisor) receive(t threadMemory, c *seccomp.Call, k netlinkSocket) bool {
	s.netlink.sendLate(k.inode)
	flags := int(c.Args[3])
	b := make([]byte, min(c.Args[2], longestAnswer))
	n, _, err := unix.Recvfrom(k.fd, b, flags|unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return false
	case err != nil:
		k.answer(s, c, 0, errnoOf(err))
		return true
	}
	b = b[:min(n, len(b))]
	e := errnoOf(t.Write(b, c.Args[1]))
	if e == 0 {
		e = writeSockaddr(t, bytesOf(&unix.RawSockaddrNetlink{Family: unix.AF_NETLINK}), c.Args[4], c.Args[5])
	}
	port, err := netlinkPort(k.fd)
	if !k.answer(s, c, int64(n), e) && flags&unix.MSG_PEEK == 0 && err == nil {
		s.netlink.putBack(port, b) // a signal has come (before Linux 5.19), or the thread has been killed
	}
	return true
}

// putBack sends a message to a port again that the program has not got.
func (n *netlink) putBack(port uint32, b []byte) {
	n.mu.Lock()
	defer n.mu.Unlock()
	_ = unix.Sendto(n.fd, b, unix.MSG_DONTWAIT, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: port})
}
