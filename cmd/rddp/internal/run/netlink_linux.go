//go:build amd64 || arm64

package run

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/rdmaabi/nldev"
	"github.com/rddp/rddp/internal/softrnic"
)

// A program that opens a netlink socket for RDMA gets one of the protocol NETLINK_USERSOCK, at a
// number of seccomp.Sockets. Its requests come to the supervisor, which sends the answers from a
// socket of its own, so the kernel handles everything else: receiving, polling, time limits, names,
// and the end. The program's socket is connected to that of the supervisor as soon as it has a
// port, and takes messages of no other.
//
// Such a socket has a value of SO_RCVLOWAT that no program sets, which has no effect on netlink.
// The kernel keeps it as long as the socket, and so do children.
type netlink struct {
	device nldev.Device
	opened atomic.Bool // a program has opened such a socket

	// mu is held while answers are sent, so that those of two requests do not mix.
	mu locks.Mutex[locks.Netlink]
	// the supervisor's socket; -1 before the program has one. It stays until this process ends.
	fd int // +checklocks:mu
	// its port, and the cookie of its network namespace
	port  uint32 // +checklocks:mu
	space uint64 // +checklocks:mu
	// the answers for which a socket has had no room yet, by the socket's inode
	late    map[uint64]*lateAnswers // +checklocks:mu
	sending bool                    // +checklocks:mu
	// copies of the programs' sockets by their inodes, if the supervisor cannot borrow descriptors
	copies map[uint64]int // +checklocks:mu
	// the number of calls of awaitMessage that run, by the process that waits
	waiting map[int]int // +checklocks:mu
}

const (
	netlinkMark = 0x52444d41
	netlinkRDMA = 20
	// mostDrained is the maximum number of messages that drain takes. 2 MiB have room for fewer.
	mostDrained = 4096
	// netlinkGroups is the number of multicast groups that a program may join.
	netlinkGroups = 32
	// longestAddress is the length in bytes of a struct sockaddr_storage.
	longestAddress = 128
)

// rxe is the number of the driver rxe.
const rxe = 14

// newNetlink returns what netlink says of a device.
func newNetlink(d *softrnic.Device, iwarp bool) *netlink {
	n := &netlink{fd: -1, device: nldev.Device{
		Name: DeviceName, NodeType: nldev.ChannelAdapter, Protocol: "roce", GUID: d.GUID(), Caps: d.Caps(),
		Files: []nldev.File{
			{Type: "uverbs", Name: "uverbs0", Major: devMajor, Minor: devMinor, ABI: devABI, OfDevice: true, Driver: rxe},
			{Type: "rdma_cm", Name: "rdma_cm", Major: cmMajor, Minor: cmMinor, ABI: cmABI},
		},
	}}
	if iwarp {
		n.device.NodeType, n.device.Protocol = nldev.RNIC, "iw"
	}
	n.device.Interface, _ = interfaceOf(d.Addresses()[0])
	if i, err := net.InterfaceByName(n.device.Interface); err == nil {
		n.device.InterfaceIndex = uint32(i.Index)
	}
	return n
}

// openSocket answers socket for NETLINK_RDMA.
func (s *supervisor) openSocket(c *seccomp.Call) {
	number, err := func() (int, error) {
		pid, err := process.Leader(c.Thread)
		if err != nil {
			return -1, err
		}
		if err := s.netlink.open(); err != nil {
			return -1, err
		}
		kind := int(c.Args[1])
		fd, err := unix.Socket(unix.AF_NETLINK, kind|unix.SOCK_CLOEXEC, unix.NETLINK_USERSOCK)
		if err != nil {
			return -1, err
		}
		defer unix.Close(fd)
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, netlinkMark); err != nil {
			return -1, err
		}
		if !mayBorrow(c) {
			if err := s.netlink.keepCopy(fd); err != nil {
				return -1, err
			}
		}
		s.netlink.opened.Store(true)
		return s.numbers.add(s.program.Listener, c, pid, seccomp.Sockets, fd, kind&unix.SOCK_CLOEXEC != 0)
	}()
	s.program.Answer(c, int64(number), errnoOf(err))
}

// answerNetlink answers a call on a netlink socket for RDMA. It returns false if the kernel should
// answer.
func (s *supervisor) answerNetlink(t threadMemory, c *seccomp.Call) bool {
	if c.Kind == seccomp.SetOption && c.Args[2] != unix.NETLINK_ADD_MEMBERSHIP && c.Args[2] != unix.NETLINK_DROP_MEMBERSHIP {
		return false
	}
	k, ok := s.netlinkSocket(c)
	if !ok {
		return false
	}
	if c.Kind == seccomp.RecvFrom {
		return s.receiveFrom(t, c, k)
	}
	var n int64
	var e syscall.Errno
	switch c.Kind {
	case seccomp.Bind:
		e = s.netlink.bind(t, c, k.fd)
	case seccomp.SetOption:
		e = joinGroup(t, c)
	case seccomp.SendMMsg:
		n, e = s.sendMany(t, c, k)
	default:
		var b []byte
		if b, e = sent(t, c); e == 0 {
			e = s.request(c, k, b)
		}
		n = int64(len(b))
	}
	k.answer(s, c, n, e)
	return true
}

// bind gives a socket the port that the program asks for, or its PID, as the kernel would, and
// connects it. It joins no group: the device sends no events, and everybody may send to groups of
// this protocol.
func (n *netlink) bind(t threadMemory, c *seccomp.Call, fd int) syscall.Errno {
	a, e := readNetlinkAddress(t, c.Args[1], uint32(c.Args[2]))
	if e != 0 {
		return e
	}
	a.Groups = 0
	port, err := netlinkPort(fd)
	if err == nil && port == 0 {
		err = n.bindNew(c, fd, a)
	} else if err == nil {
		err = unix.Bind(fd, a)
	}
	if err != nil {
		return errnoOf(err)
	}
	_, e = n.connect(fd)
	return e
}

// bindNew binds a socket that has no port.
func (n *netlink) bindNew(c *seccomp.Call, fd int, a *unix.SockaddrNetlink) error {
	if a.Pid != 0 {
		err := unix.Bind(fd, a)
		if errors.Is(err, unix.EADDRINUSE) && n.closeUnused() { // this process may have the last copy of the socket with that port
			err = unix.Bind(fd, a)
		}
		return err
	}
	if pid, err := process.Leader(c.Thread); err == nil {
		a.Pid = uint32(pid)
	}
	err := unix.Bind(fd, a)
	if errors.Is(err, unix.EADDRINUSE) {
		a.Pid = 0
		err = unix.Bind(fd, a)
	}
	return err
}

// readNetlinkAddress reads a struct sockaddr_nl from the memory of the program.
func readNetlinkAddress(t threadMemory, addr uint64, n uint32) (*unix.SockaddrNetlink, syscall.Errno) {
	var raw unix.RawSockaddrNetlink
	if n < unix.SizeofSockaddrNetlink || n > longestAddress {
		return nil, syscall.EINVAL
	}
	if err := t.Read(bytesOf(&raw), addr); err != nil {
		return nil, syscall.EFAULT
	}
	if raw.Family != unix.AF_NETLINK {
		return nil, syscall.EINVAL
	}
	return &unix.SockaddrNetlink{Family: raw.Family, Pid: raw.Pid, Groups: raw.Groups}, 0
}

// netlinkPort returns the port of a socket, which is 0 if it has none.
func netlinkPort(fd int) (uint32, error) {
	a, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	n, ok := a.(*unix.SockaddrNetlink)
	if !ok {
		return 0, syscall.EINVAL
	}
	return n.Pid, nil
}

// joinGroup answers a program that joins or leaves a group.
func joinGroup(t threadMemory, c *seccomp.Call) syscall.Errno {
	var b [4]byte
	if c.Args[4] < uint64(len(b)) {
		return syscall.EINVAL
	}
	if t.Read(b[:], c.Args[3]) != nil {
		return syscall.EFAULT
	}
	if n := native.Uint32(b[:]); n == 0 || n > netlinkGroups {
		return syscall.EINVAL
	}
	return 0
}

// connect returns the port of a program's socket. It gives the socket a port if it has none, and
// connects it to the supervisor's.
func (n *netlink) connect(fd int) (port uint32, e syscall.Errno) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := connectOnce(fd, n.port); err != nil {
		return 0, errnoOf(err)
	}
	port, err := netlinkPort(fd)
	return port, errnoOf(err)
}

// connectOnce connects a socket to a port, if it is not connected yet. Nothing that it has received
// before is from there.
func connectOnce(fd int, port uint32) error {
	if peer, err := unix.Getpeername(fd); err == nil {
		if a, ok := peer.(*unix.SockaddrNetlink); ok && a.Pid == port {
			return nil
		}
	}
	if err := unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: port}); err != nil {
		return err
	}
	err := drain(fd)
	if err != nil {
		_ = unix.Connect(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}) // so the next call drains it again
	}
	return err
}

// drain takes what a socket has received. Another error than EAGAIN does not say that nothing is
// left: that of an overrun comes before the messages that the socket still has. drain fails if more
// messages are left than sockets have room for, as when the program connects the socket to others
// at the same time.
func drain(fd int) error {
	for range mostDrained {
		if _, _, err := unix.Recvfrom(fd, nil, unix.MSG_DONTWAIT); errors.Is(err, unix.EAGAIN) {
			return nil
		}
	}
	return unix.ENOBUFS
}

// open opens the supervisor's socket if it is not open yet. A filter drops what others send to it.
func (n *netlink) open() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fd >= 0 {
		return nil
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_USERSOCK)
	if err != nil {
		return err
	}
	drop := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K}}
	err = unix.SetsockoptSockFprog(fd, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER, &unix.SockFprog{Len: 1, Filter: unsafe.SliceData(drop)})
	if err == nil {
		err = unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK})
	}
	if err == nil {
		n.port, err = netlinkPort(fd)
	}
	if err == nil {
		n.space, err = unix.GetsockoptUint64(fd, unix.SOL_SOCKET, unix.SO_NETNS_COOKIE)
	}
	if err != nil {
		unix.Close(fd)
		return err
	}
	n.fd = fd
	return nil
}
