//go:build amd64 || arm64

package seccomp

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A Kind is a kind of system call, independent of the architecture.
type Kind uint8

// The kinds.
const (
	Other        Kind = iota
	Open              // open(path, flags)
	OpenAt            // openat(dir, path, flags)
	OpenAt2           // openat2(dir, path, how, length)
	Stat              // stat(path, buffer)
	LStat             // lstat(path, buffer)
	StatAt            // newfstatat(dir, path, buffer, flags)
	FStat             // fstat(descriptor, buffer)
	StatX             // statx(dir, path, flags, mask, buffer)
	Access            // access(path, mode)
	AccessAt          // faccessat(dir, path, mode)
	ReadLink          // readlink(path, buffer, length)
	ReadLinkAt        // readlinkat(dir, path, buffer, length)
	List              // getdents64(descriptor, buffer, length)
	GetCwd            // getcwd(buffer, length)
	Chdir             // chdir(path)
	FChdir            // fchdir(descriptor)
	StatFS            // statfs(path, buffer)
	FStatFS           // fstatfs(descriptor, buffer)
	GetXAttr          // getxattr(path, name, value, length)
	LGetXAttr         // lgetxattr(path, name, value, length)
	ListXAttr         // listxattr(path, list, length)
	LListXAttr        // llistxattr(path, list, length)
	Ioctl             // ioctl(descriptor, number, argument)
	Exec              // execve and execveat
	Write             // write(descriptor, buffer, length)
	Dup2              // dup2(descriptor, number), and dup3
	DupOf             // dup(descriptor)
	DupFD             // fcntl(descriptor, F_DUPFD or F_DUPFD_CLOEXEC, least number)
	Socket            // socket(AF_NETLINK, type, NETLINK_RDMA)
	Bind              // bind(descriptor, address, length)
	SetOption         // setsockopt(descriptor, level, option, value, length)
	SendTo            // sendto(descriptor, buffer, length, flags, address, length)
	SendMsg           // sendmsg(descriptor, message, flags)
	SendMMsg          // sendmmsg(descriptor, messages, number, flags)
	RecvFrom          // recvfrom(descriptor, buffer, length, flags, address, length)
	Connect           // connect(descriptor, address, length)
	Listen            // listen(descriptor, backlog)
	Accept            // accept(descriptor, address, length)
	Accept4           // accept4(descriptor, address, length, flags)
	GetPeerName       // getpeername(descriptor, address, length)
	GetSockName       // getsockname(descriptor, address, length)
	URingSetup        // io_uring_setup(entries, parameters)
	Unmap             // munmap(address, length)
	Remap             // mremap(address, length, new length, flags, new address)
	Advise            // madvise(address, length, advice)
	Map               // mmap(address, length, protection, flags, descriptor, offset)
	Exit              // exit_group(status)
	Connect32         // connect of a 32-bit program
	Listen32          // listen of a 32-bit program
	SocketCall32      // socketcall(SYS_CONNECT or SYS_LISTEN, arguments) of a 32-bit program
)

// A Call is a system call that waits for an answer.
type Call struct {
	Kind   Kind
	Thread int // ID of the waiting thread
	Args   [6]uint64

	id uint64
}

// The structs of the kernel's interface: seccomp_notif, seccomp_notif_resp and seccomp_notif_addfd.
type (
	notification struct {
		id     uint64
		pid    uint32
		flags  uint32
		number int32
		arch   uint32
		ip     uint64
		args   [6]uint64
	}
	response struct {
		id    uint64
		value int64
		errno int32
		flags uint32
	}
	addition struct {
		id                          uint64
		flags, src, number, fdFlags uint32
	}
)

const (
	ioctlReceive  = 0xc0502100
	ioctlSend     = 0xc0182101
	ioctlWaits    = 0x40082102
	ioctlAdd      = 0x40182103
	ioctlSetFlags = 0x40082104

	flagContinue   = 1
	flagSetNumber  = 1
	flagSyncWakeUp = 1
)

// A Listener receives the intercepted calls. Only one goroutine at a time may call Next; any
// goroutine may call the other methods.
type Listener struct {
	fd int
	// ends says that the kernel ends a receive when no process with the filter is left
	ends bool
}

// newListener returns a Listener that owns the descriptor for notifications fd.
func newListener(fd int) *Listener {
	l := &Listener{fd: fd, ends: endsReceive()}
	l.setFlags(flagSyncWakeUp)
	return l
}

// setFlags sets the flags of the listener. With flagSyncWakeUp, the program's thread and ours run
// alternately on one processor, which halves the time of a call. Kernels before 6.6 do not know the
// flag and work without it.
func (l *Listener) setFlags(flags uintptr) {
	_, _ = again(func() (uintptr, syscall.Errno) {
		_, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(l.fd), ioctlSetFlags, flags)
		return 0, e
	})
}

// endsReceive reports whether the kernel is Linux 6.11 or later, whose receive of a call fails with
// ENOENT when no process with the filter is left. Before, it waits for ever.
func endsReceive() bool {
	var name unix.Utsname
	if unix.Uname(&name) != nil {
		return false
	}
	return isFrom(unix.ByteSliceToString(name.Release[:]), 6, 11)
}

// isFrom reports whether a release of Linux, such as "6.11.0-rc1", is that version or a later one.
func isFrom(release string, major, minor int) bool {
	var a, b int
	if n, _ := fmt.Sscanf(release, "%d.%d", &a, &b); n != 2 {
		return false
	}
	return a > major || a == major && b >= minor
}

// Close closes the Listener. Waiting calls, and all later intercepted calls, fail with ENOSYS.
func (l *Listener) Close() error { return unix.Close(l.fd) }

// Next waits for the next call. It returns io.EOF when no process with the filter is left.
func (l *Listener) Next() (*Call, error) {
	for waits := l.ends; ; waits = false {
		if !waits {
			if err := l.await(); err != nil {
				return nil, err
			}
		}
		var n notification
		_, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), ioctlReceive, uintptr(unsafe.Pointer(&n)))
		switch e {
		case 0:
			return &Call{Kind: kindOf(n.arch, n.number), Thread: int(n.pid), Args: n.args, id: n.id}, nil
		case unix.EINTR, unix.ENOENT: // the calling thread is gone, or all are
		default:
			return nil, e
		}
	}
}

// await waits until there is a call. It returns io.EOF when no process with the filter is left.
func (l *Listener) await() error {
	for {
		p := []unix.PollFd{{Fd: int32(l.fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(p, -1); err != nil && !errors.Is(err, syscall.EINTR) {
			return err
		}
		if heard, err := hears(p[0].Revents); heard {
			return err
		}
	}
}

// hears reports what a poll of a listener says: that there is a call, or, as io.EOF, that no
// process with the filter is left. A listener that a signal interrupts while the kernel waits for
// its lock has POLLERR, which says neither, and Go's scheduler sends many signals.
func hears(events int16) (heard bool, err error) {
	switch {
	case events&unix.POLLIN != 0:
		return true, nil
	case events&unix.POLLHUP != 0:
		return true, io.EOF
	case events&unix.POLLNVAL != 0:
		return true, syscall.EBADF
	}
	return false, nil
}

func kindOf(arch uint32, number int32) Kind {
	if arch == arch32 {
		for _, c := range calls32 {
			if c.number == uint32(number) {
				return c.Kind
			}
		}
		return Other
	}
	for i := range calls {
		if calls[i].number == uint32(number) {
			return calls[i].Kind
		}
	}
	for i := range selectedCalls {
		if selectedCalls[i].number == uint32(number) {
			return selectedCalls[i].Kind
		}
	}
	return Other
}

// Answer answers the call with a value or, if errno is not 0, with that error. It reports whether
// the thread was still waiting for the answer.
func (l *Listener) Answer(c *Call, value int64, errno syscall.Errno) bool {
	if errno != 0 {
		value = 0
	}
	return l.send(&response{id: c.id, value: value, errno: -int32(errno)})
}

// AnswerApart is Answer, but the thread goes on where the kernel likes, and not on the processor of
// this one, which may have moved to that of another program since the call. If that program polls
// and waits for this one, the thread would wait for the end of its time slice, which is 3 ms, even
// if another processor has nothing to do.
func (l *Listener) AnswerApart(c *Call, value int64, errno syscall.Errno) bool {
	l.setFlags(0)
	defer l.setFlags(flagSyncWakeUp)
	return l.Answer(c, value, errno)
}

// Waits reports whether the thread of the call still waits for an answer.
func (l *Listener) Waits(c *Call) bool {
	return l.control(ioctlWaits, unsafe.Pointer(&c.id)) == 0
}

// Continue lets the kernel execute the call, as if there were no supervisor.
func (l *Listener) Continue(c *Call) { l.send(&response{id: c.id, flags: flagContinue}) }

// send answers a call. It returns false if the calling thread is gone.
func (l *Listener) send(r *response) bool {
	return l.control(ioctlSend, unsafe.Pointer(r)) == 0
}

// control is an ioctl of the listener whose argument is a struct, and which does not wait for the
// program.
func (l *Listener) control(request uintptr, argument unsafe.Pointer) syscall.Errno {
	_, e := again(func() (uintptr, syscall.Errno) {
		n, _, e := unix.RawSyscall(unix.SYS_IOCTL, uintptr(l.fd), request, uintptr(argument))
		return n, e
	})
	return e
}

// again makes an ioctl of a listener until no signal interrupts it. Where the kernel waits for the
// listener's lock, a signal ends the call with EINTR before it has done anything, and Go's
// scheduler sends many signals. An answer that was not repeated would leave the program's thread
// waiting for ever.
func again(ioctl func() (uintptr, syscall.Errno)) (uintptr, syscall.Errno) {
	for {
		if n, e := ioctl(); e != unix.EINTR {
			return n, e
		}
	}
}

// AddFD gives the process of the call a copy of descriptor fd and returns its number there. That is
// number, or the lowest free one if number is negative.
func (l *Listener) AddFD(c *Call, fd, number int, closeOnExec bool) (int, error) {
	a := addition{id: c.id, src: uint32(fd)}
	if number >= 0 {
		a.number, a.flags = uint32(number), flagSetNumber
	}
	if closeOnExec {
		a.fdFlags = unix.O_CLOEXEC
	}
	// The kernel could do this and answer the call in one step. But if a signal arrives just then,
	// the call returns 0; Go's scheduler sends many signals.
	n, e := again(func() (uintptr, syscall.Errno) {
		n, _, e := unix.Syscall(unix.SYS_IOCTL, uintptr(l.fd), ioctlAdd, uintptr(unsafe.Pointer(&a)))
		return n, e
	})
	if e != 0 {
		return -1, e
	}
	return int(n), nil
}

// AnswerFD is AddFD with the lowest free number, and answers the call with that number.
func (l *Listener) AnswerFD(c *Call, fd int, closeOnExec bool) error {
	n, err := l.AddFD(c, fd, -1, closeOnExec)
	if err == nil {
		l.Answer(c, int64(n), 0)
	}
	return err
}
