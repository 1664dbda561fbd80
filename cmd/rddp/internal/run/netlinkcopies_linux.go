//go:build amd64 || arm64

package run

import (
	"errors"
	"fmt"
	"os"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
)

// Copies of the programs' netlink sockets that this process has.

// A netlinkSocket is this process's copy of a program's socket.
type netlinkSocket struct {
	fd    int
	inode uint64
}

// answer closes the copy and then answers a call: the program may close the socket at once, and
// want its port for another one. It returns what Answer returns.
func (k netlinkSocket) answer(s *supervisor, c *seccomp.Call, value int64, e syscall.Errno) bool {
	unix.Close(k.fd)
	return s.program.Answer(c, value, e)
}

// netlinkSocket returns a copy of the descriptor of a call. ok is false if it is not that of a
// netlink socket for RDMA. The same mark may be on a socket of another network namespace, whose
// ports are not those of this one.
func (s *supervisor) netlinkSocket(c *seccomp.Call) (k netlinkSocket, ok bool) {
	if !s.netlink.opened.Load() {
		return k, false
	}
	fd, err := borrow(c)
	if err != nil {
		return s.netlink.copyOf(c)
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	mark, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT)
	space, err3 := unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	inode, err4 := inodeOf(fd)
	if errors.Join(err, err2, err3, err4) != nil || domain != unix.AF_NETLINK || mark != netlinkMark || !s.netlink.isHere(space) {
		unix.Close(fd)
		return k, false
	}
	return netlinkSocket{fd, inode}, true
}

// inodeOf returns the inode of a descriptor.
func inodeOf(fd int) (uint64, error) {
	var st unix.Stat_t
	err := unix.Fstat(fd, &st)
	return st.Ino, err
}

// isHere reports whether a network namespace is that of the supervisor's socket.
func (n *netlink) isHere(space uint64) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.space == space
}

// mayBorrow reports whether the supervisor may have copies of the program's descriptors. Profiles
// of containers may forbid that.
func mayBorrow(c *seccomp.Call) bool {
	p, err := openProcess(c.Thread)
	if err != nil {
		return false
	}
	defer unix.Close(p)
	_, err = unix.PidfdGetfd(p, -1, 0)
	return errors.Is(err, unix.EBADF)
}

// keepCopy keeps a copy of a program's new socket until no process has that socket.
func (n *netlink) keepCopy(fd int) error {
	n.closeUnused()
	inode, err := inodeOf(fd)
	if err != nil {
		return err
	}
	if fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.copies == nil {
		n.copies = make(map[uint64]int)
	}
	n.copies[inode] = fd
	return nil
}

// copyOf returns a copy of the socket behind the descriptor of a call, if the supervisor has one.
func (n *netlink) copyOf(c *seccomp.Call) (k netlinkSocket, ok bool) {
	var inode uint64
	link, err := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", c.Thread, int32(c.Args[0])))
	if err != nil {
		return k, false
	}
	if _, err := fmt.Sscanf(link, socketLink, &inode); err != nil {
		return k, false
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	fd, ok := n.copies[inode]
	if !ok {
		return k, false
	}
	fd, err = unix.FcntlInt(uintptr(fd), unix.F_DUPFD_CLOEXEC, 0)
	return netlinkSocket{fd, inode}, err == nil
}

// closeUnused closes this process's copies of sockets that no other process has. It reports whether
// there were any.
func (n *netlink) closeUnused() (closed bool) {
	n.mu.Lock()
	var all []uint64
	for inode := range n.copies {
		all = append(all, inode)
	}
	for inode := range n.late {
		all = append(all, inode)
	}
	n.mu.Unlock()
	open := openSockets(all)
	for _, inode := range all {
		if open[inode] {
			continue
		}
		closed = true
		n.drop(inode)
		n.mu.Lock()
		if fd, ok := n.copies[inode]; ok {
			unix.Close(fd)
			delete(n.copies, inode)
		}
		n.mu.Unlock()
	}
	return closed
}
