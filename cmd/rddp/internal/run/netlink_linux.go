//go:build amd64 || arm64

package run

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"time"
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

// A netlinkSocket is this process's copy of a program's socket.
type netlinkSocket struct {
	fd    int
	inode uint64
}

const (
	netlinkMark = 0x52444d41
	netlinkRDMA = 20
	// longestRequest is the maximum length of a send in bytes.
	longestRequest = 32 << 10
	// longestAnswer is longer than any answer.
	longestAnswer = 64 << 10
	// mostParts is the maximum number of parts of a sendmsg, and of messages of a sendmmsg.
	mostParts = 64
	// mostWaiting is the maximum number of calls that wait in awaitMessage. Each occupies a thread
	// of this process. A process has at most as many as it leaves free, so none ever takes all.
	mostWaiting = 128
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
	defer unix.Close(k.fd)
	switch c.Kind {
	case seccomp.Bind:
		s.program.Answer(c, 0, s.netlink.bind(t, c, k.fd))
	case seccomp.SetOption:
		s.program.Answer(c, 0, joinGroup(t, c))
	case seccomp.SendMMsg:
		n, e := s.sendMany(t, c, k)
		s.program.Answer(c, n, e)
	default:
		b, e := sent(t, c)
		if e == 0 {
			e = s.request(c, k, b)
		}
		s.program.Answer(c, int64(len(b)), e)
	}
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

// request sends the answers to the requests in b to a program's socket. They are there before the
// call ends, as those of the kernel: the program may look for them without waiting.
func (s *supervisor) request(c *seccomp.Call, k netlinkSocket, b []byte) syscall.Errno {
	port, e := s.netlink.connect(k.fd)
	if e != 0 {
		return e
	}
	pid, err := process.Leader(c.Thread)
	if err != nil {
		return syscall.ESRCH
	}
	capped, err := unix.GetsockoptInt(k.fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK)
	all := nldev.Answer(b, nldev.Socket{Port: port, Capped: err == nil && capped != 0}, &s.netlink.device, s.objects)
	if !s.program.Waits(c) { // a signal has come meanwhile (before Linux 5.19), and the program repeats the send
		return syscall.EINTR
	}
	return s.netlink.send(k, port, pid, all)
}

// sendMany answers sendmmsg. It returns how many messages have been sent, or the error of the first
// one.
func (s *supervisor) sendMany(t threadMemory, c *seccomp.Call, k netlinkSocket) (n int64, e syscall.Errno) {
	const (
		messageLen = 64 // of a struct mmsghdr, which begins with a struct msghdr
		sentAt     = 56 // in it: the number of bytes sent
	)
	for ; n < int64(min(uint32(c.Args[2]), mostParts)); n++ {
		at := c.Args[1] + messageLen*uint64(n)
		b, e := sentMessage(t, at)
		if e == 0 {
			e = s.request(c, k, b)
		}
		if e == 0 && t.Write(native.AppendUint32(nil, uint32(len(b))), at+sentAt) != nil {
			e = syscall.EFAULT
		}
		if e != 0 && n == 0 {
			return 0, e
		}
		if e != 0 {
			break
		}
	}
	return n, 0
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

// sent returns the bytes of a sendto or sendmsg to the kernel.
func sent(t threadMemory, c *seccomp.Call) ([]byte, syscall.Errno) {
	if c.Kind == seccomp.SendTo {
		if e := isToKernel(t, c.Args[4], uint32(c.Args[5])); e != 0 {
			return nil, e
		}
		return appendMemory(t, nil, c.Args[1], c.Args[2])
	}
	return sentMessage(t, c.Args[1])
}

// sentMessage returns the bytes of the struct msghdr at an address.
func sentMessage(t threadMemory, at uint64) ([]byte, syscall.Errno) {
	var m struct { // struct msghdr
		name    uint64
		nameLen uint64
		parts   uint64
		n       uint64
	}
	if t.Read(bytesOf(&m), at) != nil {
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

// receiveFrom answers recvfrom, because the kernel would name the supervisor as the sender, and
// some programs want the kernel. It closes the copy of the socket. It returns false if the kernel
// should answer: nothing has come, and the program does not wait.
func (s *supervisor) receiveFrom(t threadMemory, c *seccomp.Call, k netlinkSocket) bool {
	if s.receive(t, c, k) {
		unix.Close(k.fd)
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
	defer unix.Close(k.fd)
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
			s.program.Answer(c, 0, restart)
			return
		case own: // as in the kernel, which does not begin a time limit anew
			s.program.Answer(c, 0, syscall.EINTR)
			return
		case shared || !ok: // if the signal is for another thread, the kernel goes on waiting
			s.program.Continue(c)
			return
		}
		if !end.IsZero() && !time.Now().Before(end) {
			s.program.Answer(c, 0, syscall.EAGAIN)
			return
		}
		every = s.pollers.interval()
	}
}

// receive answers recvfrom with the next message. It returns false if there is none. As in the
// kernel, a message whose place is no memory of the program is lost.
func (s *supervisor) receive(t threadMemory, c *seccomp.Call, k netlinkSocket) bool {
	s.netlink.sendLate(k.inode)
	flags := int(c.Args[3])
	b := make([]byte, min(c.Args[2], longestAnswer))
	n, _, err := unix.Recvfrom(k.fd, b, flags|unix.MSG_DONTWAIT)
	switch {
	case errors.Is(err, unix.EAGAIN), errors.Is(err, unix.EINTR):
		return false
	case err != nil:
		s.program.Answer(c, 0, errnoOf(err))
		return true
	}
	b = b[:min(n, len(b))]
	e := errnoOf(t.Write(b, c.Args[1]))
	if e == 0 {
		e = writeSockaddr(t, bytesOf(&unix.RawSockaddrNetlink{Family: unix.AF_NETLINK}), c.Args[4], c.Args[5])
	}
	if !s.program.Answer(c, int64(n), e) && flags&unix.MSG_PEEK == 0 {
		s.netlink.putBack(k, b) // a signal has come (before Linux 5.19), or the thread has been killed
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
