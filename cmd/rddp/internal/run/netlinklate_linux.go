//go:build amd64 || arm64

package run

import (
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// lateAnswers are the answers for which a program's socket has had no room yet. They are sent as
// the program reads.
type lateAnswers struct {
	// this process's copy of the socket: as long as it is open, no other socket gets the port
	netlinkSocket
	port  uint32
	pid   int // of the process that has asked
	all   [][]byte
	len   int // of all, in bytes
	stuck int // the rounds of sendAllLate since an answer has been sent
}

const (
	// mostLate is the maximum length of all late answers in bytes. A process has at most as many as
	// it leaves free, so one that does not read never takes all.
	mostLate = 32 << 20
	// The time between two rounds of sendAllLate doubles from leastRound to longestRound as long as
	// no program reads.
	leastRound   = 2 * time.Millisecond
	longestRound = 128 * time.Millisecond
	// roundsStuck is the number of rounds without success after which sendAllLate looks whether any
	// process has the socket.
	roundsStuck = 16
)

// send sends messages to a program's socket, or notes them as late. It fails if the process has too
// many of these.
func (n *netlink) send(k netlinkSocket, port uint32, pid int, all [][]byte) syscall.Errno {
	size := 0
	for _, b := range all {
		size += len(b)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.haveRoomLocked(pid, size) {
		return syscall.ENOBUFS
	}
	l := n.late[k.inode]
	if l == nil {
		l = &lateAnswers{netlinkSocket: k, port: port, pid: pid}
	}
	l.all, l.len = append(l.all, all...), l.len+size
	if n.late[k.inode] != nil || n.sendLocked(l) {
		return 0
	}
	fd, err := unix.FcntlInt(uintptr(k.fd), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return errnoOf(err)
	}
	l.fd = fd
	if n.late == nil {
		n.late = make(map[uint64]*lateAnswers)
	}
	n.late[k.inode] = l
	if !n.sending {
		n.sending = true
		go n.sendAllLate()
	}
	return 0
}

// haveRoomLocked reports whether a process may have size bytes of late answers more.
//
// +checklocks:n.mu
func (n *netlink) haveRoomLocked(pid, size int) bool {
	own, free := size, mostLate-size
	for _, l := range n.late {
		free -= l.len
		if l.pid == pid {
			own += l.len
		}
	}
	return own <= free
}

// sendLocked sends as many of the answers as the socket has room for. It returns true if none is
// left, or if the program does not take them: it has connected the socket to another one.
//
// +checklocks:n.mu
func (n *netlink) sendLocked(l *lateAnswers) (done bool) {
	for len(l.all) > 0 {
		err := unix.Sendto(n.fd, l.all[0], unix.MSG_DONTWAIT, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: l.port})
		switch {
		case errors.Is(err, unix.EINTR):
			continue
		case errors.Is(err, unix.ECONNREFUSED):
			return true
		case err != nil:
			return false
		}
		l.len -= len(l.all[0])
		l.all, l.stuck = l.all[1:], 0
	}
	return true
}

// sendLate sends the late answers of a socket for which there is room.
func (n *netlink) sendLate(inode uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.late[inode]; l != nil && n.sendLocked(l) {
		n.dropLocked(l)
	}
}

// dropLocked forgets late answers.
//
// +checklocks:n.mu
func (n *netlink) dropLocked(l *lateAnswers) {
	unix.Close(l.fd)
	delete(n.late, l.inode)
}

// sendAllLate sends the late answers of all sockets as the programs read, until none are left.
func (n *netlink) sendAllLate() {
	for round := leastRound; ; {
		time.Sleep(round)
		moved, left, suspects := n.sendRound()
		open := openSockets(suspects)
		for _, inode := range suspects {
			if !open[inode] {
				n.drop(inode)
			}
		}
		if !left {
			return
		}
		if round = min(2*round, longestRound); moved {
			round = leastRound
		}
	}
}

// sendRound sends the late answers for which there is room. It reports whether it has sent any and
// whether some are left, and returns the inodes of sockets whose programs may have closed them.
func (n *netlink) sendRound() (moved, left bool, suspects []uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for inode, l := range n.late {
		before := l.len
		if n.sendLocked(l) {
			n.dropLocked(l)
		} else if l.stuck++; l.stuck%roundsStuck == 0 {
			suspects = append(suspects, inode)
		}
		moved = moved || l.len < before
	}
	n.sending = len(n.late) > 0
	return moved, n.sending, suspects
}

// drop forgets the late answers for a socket.
func (n *netlink) drop(inode uint64) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if l := n.late[inode]; l != nil {
		n.dropLocked(l)
	}
}
