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
// and the end. The program's socket is connected to that of the supervisor, and takes messages of
// no other.
//
// Such a socket has a value of SO_RCVLOWAT that no program sets, which has no effect on netlink.
// The kernel keeps it as long as the socket, and so do children.
type netlink struct {
	device nldev.Device
	opened atomic.Bool  // a program has opened such a socket
	late   atomic.Int32 // the calls of sendLater that run

	// mu is held from the end of a call of the program until its answers have been sent, or what it
	// has received has been removed: a program's next call comes later.
	mu locks.Mutex[locks.Netlink]
	// the supervisor's socket; -1 before the first request. It stays until this process ends,
	// because goroutines may be sending
	fd int // +checklocks:mu
	// its port
	port uint32 // +checklocks:mu
}

const (
	netlinkMark = 0x52444d41
	netlinkRDMA = 20
	// longestRequest is the maximum length of a send in bytes.
	longestRequest = 32 << 10
	// longestAnswer is longer than any answer.
	longestAnswer = 64 << 10
	// mostLate is the maximum number of programs that get answers as they read.
	mostLate = 64
	// lateTime is how long recvfrom waits for such an answer, in milliseconds.
	lateTime = 100
	// mostParts is the maximum number of parts of a sendmsg.
	mostParts = 64
	// mostStrange is how many messages of strangers a socket throws away when it is connected. A
	// program can make more come all the time.
	mostStrange = 1024
	// netlinkGroups is the number of multicast groups that a program may join.
	netlinkGroups = 32
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
		if !mayBorrow(c) { // programs look in /sys then
			return -1, syscall.EPROTONOSUPPORT
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
		s.netlink.opened.Store(true)
		return s.numbers.add(s.program.Listener, c, pid, seccomp.Sockets, fd, kind&unix.SOCK_CLOEXEC != 0)
	}()
	s.program.Answer(c, int64(number), errnoOf(err))
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

// borrowNetlink returns a copy of the descriptor of a call, or -1 if it is not that of a netlink
// socket for RDMA.
func borrowNetlink(c *seccomp.Call) int {
	fd, err := borrow(c)
	if err != nil {
		return -1
	}
	domain, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_DOMAIN)
	mark, err2 := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT)
	if err != nil || err2 != nil || domain != unix.AF_NETLINK || mark != netlinkMark {
		unix.Close(fd)
		return -1
	}
	return fd
}

// answerNetlink answers a call on a netlink socket for RDMA. It returns false if the kernel should
// answer.
func (s *supervisor) answerNetlink(t threadMemory, c *seccomp.Call) bool {
	if !s.netlink.opened.Load() || c.Kind == seccomp.SetOption && c.Args[2] != unix.NETLINK_ADD_MEMBERSHIP && c.Args[2] != unix.NETLINK_DROP_MEMBERSHIP {
		return false
	}
	fd := borrowNetlink(c)
	if fd < 0 {
		return false
	}
	defer unix.Close(fd)
	switch c.Kind {
	case seccomp.Bind:
		s.program.Answer(c, 0, bindNetlink(t, c, fd))
	case seccomp.SetOption:
		s.program.Answer(c, 0, joinGroup(t, c))
	case seccomp.RecvFrom:
		return s.receiveFrom(t, c, fd)
	default:
		s.request(t, c, fd)
	}
	return true
}

// bindNetlink gives a socket the port that the program asks for, or its PID, as the kernel would.
// It joins no group: the device sends no events, and everybody may send to groups of this protocol.
func bindNetlink(t threadMemory, c *seccomp.Call, fd int) syscall.Errno {
	a, e := readNetlinkAddress(t, c.Args[1], uint32(c.Args[2]))
	if e != 0 {
		return e
	}
	a.Groups = 0
	port, err := netlinkPort(fd)
	if err != nil || port != 0 || a.Pid != 0 {
		return errnoOf(unix.Bind(fd, a))
	}
	if pid, err := process.Leader(c.Thread); err == nil {
		a.Pid = uint32(pid)
	}
	if err = unix.Bind(fd, a); errors.Is(err, unix.EADDRINUSE) {
		a.Pid = 0
		err = unix.Bind(fd, a)
	}
	return errnoOf(err)
}

// readNetlinkAddress reads a struct sockaddr_nl from the memory of the program.
func readNetlinkAddress(t threadMemory, addr uint64, n uint32) (*unix.SockaddrNetlink, syscall.Errno) {
	var raw unix.RawSockaddrNetlink
	if n < unix.SizeofSockaddrNetlink {
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

// request answers a send: it answers the requests in it.
func (s *supervisor) request(t threadMemory, c *seccomp.Call, fd int) {
	b, e := sent(t, c)
	var port uint32
	var all [][]byte
	if e == 0 {
		port, e = s.netlink.connect(fd)
	}
	if e == 0 {
		capped, err := unix.GetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK)
		all = nldev.Answer(b, nldev.Socket{Port: port, Capped: err == nil && capped != 0}, &s.netlink.device, s.objects)
	}
	s.netlink.mu.Lock()
	defer s.netlink.mu.Unlock()
	// If a signal has come meanwhile, the program repeats the send.
	if !s.program.Answer(c, int64(len(b)), e) || e != 0 {
		return
	}
	from := s.netlink.fd
	for len(all) > 0 && unix.Sendto(from, all[0], unix.MSG_DONTWAIT, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: port}) == nil {
		all = all[1:]
	}
	if len(all) == 0 {
		return
	}
	// The program has to read first. If it never does, the answers to further requests are lost.
	if s.netlink.late.Add(1) > mostLate {
		s.netlink.late.Add(-1)
		return
	}
	go s.netlink.sendLater(from, port, all)
}

// sendLater sends messages as the program reads. It ends when the program's socket is closed.
func (n *netlink) sendLater(from int, port uint32, all [][]byte) {
	defer n.late.Add(-1)
	for len(all) > 0 {
		switch err := unix.Sendto(from, all[0], 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: port}); {
		case err == nil:
			all = all[1:]
		case !errors.Is(err, unix.EINTR) && !errors.Is(err, unix.EAGAIN):
			return
		}
	}
}

// connect returns the port of a program's socket. It gives the socket a port if it has none, and
// connects it to the supervisor's.
func (n *netlink) connect(fd int) (port uint32, e syscall.Errno) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fd < 0 {
		if err := n.openLocked(); err != nil {
			return 0, errnoOf(err)
		}
	}
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
	for range mostStrange {
		if _, _, err := unix.Recvfrom(fd, nil, unix.MSG_DONTWAIT); err != nil {
			break // nothing is left
		}
	}
	return nil
}

// openLocked opens the supervisor's socket. A filter drops what others send to it.
//
// +checklocks:n.mu
func (n *netlink) openLocked() error {
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
	if err != nil {
		unix.Close(fd)
		return err
	}
	n.fd = fd
	return nil
}

// sent returns the bytes of a sendto or sendmsg to the kernel.
func sent(t threadMemory, c *seccomp.Call) ([]byte, syscall.Errno) {
	if c.Kind == seccomp.SendTo {
		if e := isToKernel(t, c.Args[4], uint32(c.Args[5])); e != 0 {
			return nil, e
		}
		return appendMemory(t, nil, c.Args[1], c.Args[2])
	}
	var m struct { // struct msghdr
		name    uint64
		nameLen uint64
		parts   uint64
		n       uint64
	}
	if t.Read(bytesOf(&m), c.Args[1]) != nil {
		return nil, syscall.EFAULT
	}
	if e := isToKernel(t, m.name, uint32(m.nameLen)); e != 0 {
		return nil, e
	}
	if m.n > mostParts {
		return nil, syscall.EMSGSIZE
	}
	parts := make([]struct{ at, n uint64 }, m.n)
	var b []byte
	for i := range parts {
		if t.Read(bytesOf(&parts[i]), m.parts+uint64(i)*uint64(unsafe.Sizeof(parts[i]))) != nil {
			return nil, syscall.EFAULT
		}
		var e syscall.Errno
		if b, e = appendMemory(t, b, parts[i].at, parts[i].n); e != 0 {
			return nil, e
		}
	}
	return b, 0
}

// isToKernel returns an error unless the address of a send is missing or that of the kernel.
// Programs cannot send to each other by this protocol.
func isToKernel(t threadMemory, addr uint64, n uint32) syscall.Errno {
	if addr == 0 {
		return 0
	}
	a, e := readNetlinkAddress(t, addr, n)
	if e == 0 && (a.Pid != 0 || a.Groups != 0) {
		return syscall.EPERM
	}
	return e
}

// appendMemory appends n bytes of the program's memory.
func appendMemory(t threadMemory, b []byte, at, n uint64) ([]byte, syscall.Errno) {
	if n > longestRequest-uint64(len(b)) {
		return nil, syscall.EMSGSIZE
	}
	part := make([]byte, n)
	if n > 0 && t.Read(part, at) != nil {
		return nil, syscall.EFAULT
	}
	return append(b, part...), 0
}

// receiveFrom answers recvfrom, if something has come: the kernel would name the supervisor as the
// sender, and some programs want the kernel. Otherwise the kernel waits.
func (s *supervisor) receiveFrom(t threadMemory, c *seccomp.Call, fd int) bool {
	if s.netlink.late.Load() > 0 && c.Args[3]&unix.MSG_DONTWAIT == 0 { // more may be about to come
		_, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, lateTime)
	}
	flags := int(c.Args[3])
	b := make([]byte, min(c.Args[2], longestAnswer))
	s.netlink.mu.Lock() // not while the program's memory is written, which may wait for the program
	n, _, err := unix.Recvfrom(fd, b, flags|unix.MSG_PEEK|unix.MSG_DONTWAIT)
	s.netlink.mu.Unlock()
	if err != nil {
		return false
	}
	e := errnoOf(t.Write(b[:min(n, len(b))], c.Args[1]))
	if e == 0 {
		e = writeSockaddr(t, bytesOf(&unix.RawSockaddrNetlink{Family: unix.AF_NETLINK}), c.Args[4], c.Args[5])
	}
	s.netlink.mu.Lock()
	defer s.netlink.mu.Unlock()
	// If a signal has come meanwhile, the program repeats the call.
	if s.program.Answer(c, int64(n), e) && flags&unix.MSG_PEEK == 0 {
		_, _, _ = unix.Recvfrom(fd, nil, unix.MSG_DONTWAIT)
	}
	return true
}

// objects returns the objects of the device.
func (s *supervisor) objects() []nldev.Object {
	all := s.cm.Objects()
	s.mu.Lock()
	files := make([]*openFile, 0, len(s.files))
	for f := range s.files {
		files = append(files, f)
	}
	s.mu.Unlock()
	for _, f := range files {
		all = append(all, f.ctx.Objects(f.opener.PID)...)
	}
	return all
}
