//go:build amd64 || arm64

package run

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/rdmaabi/nldev"
)

// What programs send to their netlink sockets.

const (
	// longestRequest is the maximum length of a send in bytes.
	longestRequest = 32 << 10
	// mostParts is the maximum number of parts of a sendmsg, and of messages of a sendmmsg.
	mostParts = 64
)

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
