//go:build amd64 || arm64

package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
)

func init() {
	programs["netlink"], programs["netlink-many"], programs["netlink-late"] = netlinkProgram, netlinkManyProgram, netlinkLateProgram
	programs["netlink-threads"], programs["netlink-space"] = netlinkThreadsProgram, netlinkSpaceProgram
}

// The types of messages, and flags of requests.
const (
	ofNLDEV     = 5 << 10
	nldevGet    = ofNLDEV + 1
	nldevQP     = ofNLDEV + 10
	nldevSys    = ofNLDEV + 6
	dumpRequest = unix.NLM_F_REQUEST | unix.NLM_F_DUMP
)

// netlinkRequest returns a request with the attribute for the device.
func netlinkRequest(kind, flags uint16) []byte {
	b := native.AppendUint32(nil, 24)
	b = native.AppendUint16(native.AppendUint16(b, kind), flags)
	b = native.AppendUint32(native.AppendUint32(b, 1), 0)
	b = native.AppendUint16(native.AppendUint16(b, 8), 1)
	return native.AppendUint32(b, 0)
}

var kernelAddress = &unix.SockaddrNetlink{Family: unix.AF_NETLINK}

// netlinkProgram uses netlink sockets as programs do.
func netlinkProgram([]string) error {
	var all error
	for _, tt := range netlinkUses {
		if err := useNetlink(tt.use); err != nil {
			all = errors.Join(all, fmt.Errorf("%s: %w", tt.desc, err))
		}
	}
	return all
}

func useNetlink(use func(fd int) error) error {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, netlinkRDMA)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	wait := unix.NsecToTimeval(int64(60e9))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return err
	}
	return use(fd)
}

// answerTo sends a request, and receives its answer as from the kernel.
func answerTo(fd int, request []byte) ([]byte, error) {
	if err := unix.Sendto(fd, request, 0, kernelAddress); err != nil {
		return nil, err
	}
	return answerFrom(fd)
}

func answerFrom(fd int) ([]byte, error) {
	b := make([]byte, 65536)
	n, from, err := unix.Recvfrom(fd, b, 0)
	for errors.Is(err, syscall.EINTR) { // a signal of Go's scheduler
		n, from, err = unix.Recvfrom(fd, b, 0)
	}
	if err != nil {
		return nil, err
	}
	if a, ok := from.(*unix.SockaddrNetlink); !ok || a.Pid != 0 {
		return nil, fmt.Errorf("an answer from %v", from)
	}
	return b[:n], nil
}

// namesDevice returns an error if an answer is not about the device.
func namesDevice(answer []byte, err error) error {
	if err == nil && !bytes.Contains(answer, []byte(DeviceName+"\x00")) {
		err = fmt.Errorf("the answer is %x", answer)
	}
	return err
}

// netlinkUses are ways in which programs use a netlink socket for RDMA.
var netlinkUses = []struct {
	desc string
	use  func(fd int) error
}{
	{"a request without bind", func(fd int) error { return namesDevice(answerTo(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST))) }},
	{"a dump", func(fd int) error {
		if err := namesDevice(answerTo(fd, netlinkRequest(nldevGet, dumpRequest))); err != nil {
			return err
		}
		end, err := answerFrom(fd)
		if err == nil && native.Uint16(end[4:]) != unix.NLMSG_DONE {
			err = fmt.Errorf("the end is %x", end)
		}
		return err
	}},
	{"bind", func(fd int) error {
		if err := unix.Bind(fd, kernelAddress); err != nil {
			return err
		}
		name, err := unix.Getsockname(fd)
		if err != nil {
			return err
		}
		answer, err := answerTo(fd, netlinkRequest(nldevSys, unix.NLM_F_REQUEST))
		if a, ok := name.(*unix.SockaddrNetlink); err == nil && (!ok || a.Pid == 0 || native.Uint32(answer[12:]) != a.Pid) {
			err = fmt.Errorf("the socket is %v, and the answer is %x", name, answer)
		}
		return err
	}},
	{"bind to a port and a group", func(fd int) error {
		port := uint32(os.Getpid()) + 1<<22
		if err := unix.Bind(fd, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: port, Groups: 1}); err != nil {
			return err
		}
		answer, err := answerTo(fd, netlinkRequest(nldevSys, unix.NLM_F_REQUEST))
		if err == nil && native.Uint32(answer[12:]) != port {
			err = fmt.Errorf("the answer is %x", answer)
		}
		return err
	}},
	{"options", func(fd int) error {
		return errors.Join(
			unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, 4),
			unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_DROP_MEMBERSHIP, 4),
			unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_EXT_ACK, 1),
			unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_CAP_ACK, 1),
			wantErrno(unix.SetsockoptInt(fd, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, 33), syscall.EINVAL))
	}},
	{"sendmsg in parts, and recvmsg", func(fd int) error {
		request := netlinkRequest(nldevGet, unix.NLM_F_REQUEST)
		if _, err := unix.SendmsgBuffers(fd, [][]byte{request[:7], request[7:]}, nil, kernelAddress, 0); err != nil {
			return err
		}
		b := make([]byte, 4096)
		n, _, flags, from, err := unix.Recvmsg(fd, b, nil, 0)
		if _, ok := from.(*unix.SockaddrNetlink); err == nil && (!ok || flags != 0) {
			err = fmt.Errorf("from %v, flags 0x%x", from, flags)
		}
		return namesDevice(b[:max(n, 0)], err)
	}},
	{"poll", func(fd int) error {
		if err := unix.Sendto(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST), 0, kernelAddress); err != nil {
			return err
		}
		n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, 60000)
		if err == nil && n != 1 {
			err = errors.New("nothing has come")
		}
		return err
	}},
	{"an error of the command", func(fd int) error {
		answer, err := answerTo(fd, netlinkRequest(ofNLDEV+2, unix.NLM_F_REQUEST|unix.NLM_F_ACK))
		if err == nil && (native.Uint16(answer[4:]) != unix.NLMSG_ERROR || int32(native.Uint32(answer[16:])) != -int32(syscall.EOPNOTSUPP)) {
			err = fmt.Errorf("the answer is %x", answer)
		}
		return err
	}},
	{"errors of the calls", func(fd int) error {
		request := netlinkRequest(nldevGet, unix.NLM_F_REQUEST)
		_, _, empty := unix.Recvfrom(fd, make([]byte, 9), unix.MSG_DONTWAIT)
		return errors.Join(
			wantErrno(empty, syscall.EAGAIN),
			wantErrno(unix.Sendto(fd, request, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: 1}), syscall.EPERM),
			wantErrno(unix.Sendto(fd, make([]byte, longestRequest+1), 0, kernelAddress), syscall.EMSGSIZE),
			wantErrno(sendFrom(fd, 8, 24), syscall.EFAULT))
	}},
	{"a message of another process", func(fd int) error {
		other, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_USERSOCK)
		if err != nil {
			return err
		}
		defer unix.Close(other)
		if err := unix.Bind(fd, kernelAddress); err != nil {
			return err
		}
		to, err := unix.Getsockname(fd)
		if err != nil {
			return err
		}
		forged := []byte("forged")
		before := wantErrno(unix.Sendto(other, forged, 0, to), syscall.ECONNREFUSED)
		if err := namesDevice(answerTo(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST))); err != nil {
			return err
		}
		return errors.Join(before, wantErrno(unix.Sendto(other, forged, 0, to), syscall.ECONNREFUSED))
	}},
	{"a message of another process before the socket is connected", func(fd int) error {
		const number = 1000 // the filter does not know it, so the kernel gives the socket a port
		if err := unix.Dup3(fd, number, unix.O_CLOEXEC); err != nil {
			return err
		}
		err := wantErrno(unix.Sendto(number, make([]byte, 16), 0, kernelAddress), syscall.ECONNREFUSED)
		if err := errors.Join(err, unix.Close(number)); err != nil {
			return err
		}
		to, err := unix.Getsockname(fd)
		if err != nil {
			return err
		}
		other, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_USERSOCK)
		if err != nil {
			return err
		}
		defer unix.Close(other)
		if err := unix.Sendto(other, []byte("forged"), 0, to); err != nil {
			return err
		}
		return namesDevice(answerTo(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST)))
	}},
	{"an overrun with messages of another process before the socket is connected", func(fd int) error {
		const number = 1000 // as above
		if err := unix.Dup3(fd, number, unix.O_CLOEXEC); err != nil {
			return err
		}
		err := unix.SetsockoptInt(number, unix.SOL_NETLINK, unix.NETLINK_ADD_MEMBERSHIP, 1)
		if errors.Is(err, syscall.EPERM) {
			return unix.Close(number) // only root may join a group
		}
		port := wantErrno(unix.Sendto(number, make([]byte, 16), 0, kernelAddress), syscall.ECONNREFUSED)
		err = errors.Join(err, port, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4096), unix.Close(number))
		if err != nil {
			return err
		}
		other, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_USERSOCK)
		if err != nil {
			return err
		}
		defer unix.Close(other)
		for range 16 { // the group gets each message, and its sender an error
			_ = unix.Sendto(other, []byte("forged"), 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Groups: 1})
		}
		return namesDevice(answerTo(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST)))
	}},
	{"addresses of several lengths", func(fd int) error {
		request := netlinkRequest(nldevGet, unix.NLM_F_REQUEST)
		for _, n := range []uintptr{12, 16, 28, 128} {
			if err := sendTo(fd, request, n); err != nil {
				return fmt.Errorf("%d bytes: %w", n, err)
			}
			if err := namesDevice(answerFrom(fd)); err != nil {
				return fmt.Errorf("%d bytes: %w", n, err)
			}
		}
		return errors.Join(wantErrno(sendTo(fd, request, 11), syscall.EINVAL), wantErrno(sendTo(fd, request, 129), syscall.EINVAL))
	}},
	{"sendmmsg", func(fd int) error {
		n, sent, err := sendTwo(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST), netlinkRequest(nldevSys, unix.NLM_F_REQUEST))
		if err != nil || n != 2 || sent != [2]uint32{24, 24} {
			return fmt.Errorf("%d messages of %d bytes, %w", n, sent, err)
		}
		if err := namesDevice(answerFrom(fd)); err != nil {
			return err
		}
		answer, err := answerFrom(fd)
		if err == nil && native.Uint16(answer[4:]) != nldevSys {
			err = fmt.Errorf("the answer is %x", answer)
		}
		n, _, err2 := sendTwo(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST), make([]byte, longestRequest+1))
		if err2 != nil || n != 1 {
			err = errors.Join(err, fmt.Errorf("with a message that is too long: %d, %w", n, err2))
		}
		_, _, err2 = sendTwo(fd, make([]byte, longestRequest+1), nil)
		return errors.Join(err, wantErrno(err2, syscall.EMSGSIZE))
	}},
	{"an answer without waiting", func(fd int) error {
		b := make([]byte, 4096)
		for range 500 {
			if err := unix.Sendto(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST), 0, kernelAddress); err != nil {
				return err
			}
			if _, _, err := unix.Recvfrom(fd, b, unix.MSG_DONTWAIT); err != nil {
				return err
			}
		}
		return nil
	}},
	{"another socket of the program", func(int) error {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_ROUTE)
		if err != nil {
			return err
		}
		defer unix.Close(fd)
		number := 32
		if err := unix.Dup3(fd, number, unix.O_CLOEXEC); err != nil {
			return err
		}
		defer unix.Close(number)
		request := netlinkRequest(unix.RTM_GETLINK, dumpRequest)
		answer, err := answerTo(number, request)
		if err == nil && native.Uint16(answer[4:]) != unix.RTM_NEWLINK {
			err = fmt.Errorf("the answer is %x", answer)
		}
		return err
	}},
}

// wantErrno returns an error unless err is the expected one.
func wantErrno(err error, want syscall.Errno) error {
	if !errors.Is(err, want) {
		return fmt.Errorf("%v, want %v", err, want) //nolint:errorlint // it is not wrapped
	}
	return nil
}

// sendFrom sends n bytes at an address.
func sendFrom(fd int, at, n uintptr) error {
	a := unix.RawSockaddrNetlink{Family: unix.AF_NETLINK}
	_, _, e := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), at, n, 0, uintptr(unsafe.Pointer(&a)), unsafe.Sizeof(a))
	return e
}

// sendTo is sendto with an address of the kernel that has n bytes.
func sendTo(fd int, b []byte, n uintptr) error {
	var a [256]byte
	native.PutUint16(a[:], unix.AF_NETLINK)
	_, _, e := unix.Syscall6(unix.SYS_SENDTO, uintptr(fd), uintptr(unsafe.Pointer(&b[0])), uintptr(len(b)), 0, uintptr(unsafe.Pointer(&a)), n)
	if e != 0 {
		return e
	}
	return nil
}

// sendTwo is sendmmsg with two messages. It returns how many are sent, and their lengths.
func sendTwo(fd int, one, two []byte) (n int, sent [2]uint32, err error) {
	type header struct {
		unix.Msghdr
		n uint32
		_ uint32
	}
	a := unix.RawSockaddrNetlink{Family: unix.AF_NETLINK}
	var all [2]header
	var parts [2]unix.Iovec
	for i, b := range [][]byte{one, two} {
		parts[i].Base = unsafe.SliceData(b)
		parts[i].SetLen(len(b))
		all[i].Name, all[i].Namelen, all[i].Iov = (*byte)(unsafe.Pointer(&a)), unix.SizeofSockaddrNetlink, &parts[i]
		all[i].SetIovlen(1)
	}
	k, _, e := unix.Syscall6(unix.SYS_SENDMMSG, uintptr(fd), uintptr(unsafe.Pointer(&all)), 2, 0, 0, 0)
	if e != 0 {
		err = e
	}
	return int(k), [2]uint32{all[0].n, all[1].n}, err
}

// netlinkThreadsProgram has threads that use one socket at a time.
func netlinkThreadsProgram([]string) error {
	return errors.Join(
		useNetlink(func(fd int) error { // a signal ends a wait with a time limit
			got := make(chan error, 1)
			begun := make(chan int, 1)
			go func() {
				runtime.LockOSThread()
				begun <- unix.Gettid()
				_, _, err := unix.Recvfrom(fd, make([]byte, 16), 0)
				got <- wantErrno(err, syscall.EINTR)
			}()
			thread := <-begun
			until(func() bool { return isIn(thread, unix.SYS_RECVFROM) })
			return errors.Join(unix.Tgkill(os.Getpid(), thread, syscall.SIGURG), <-got)
		}),
		useNetlink(func(fd int) error { // a thread waits for what another one asks for
			if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, new(unix.Timeval)); err != nil {
				return err
			}
			got := make(chan error, 1)
			begun := make(chan int, 1)
			go func() {
				runtime.LockOSThread()
				begun <- unix.Gettid()
				got <- namesDevice(answerFrom(fd))
			}()
			thread := <-begun
			for range 3 { // signals for the thread do not end its wait, as the handler is one with SA_RESTART
				until(func() bool { return isIn(thread, unix.SYS_RECVFROM) })
				if err := unix.Tgkill(os.Getpid(), thread, syscall.SIGURG); err != nil {
					return err
				}
				until(func() bool {
					own, _, _ := signalsOf(thread)
					return !own
				})
			}
			until(func() bool { return isIn(thread, unix.SYS_RECVFROM) })
			if err := unix.Sendto(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST), 0, kernelAddress); err != nil {
				return err
			}
			return <-got
		}),
		useNetlink(func(fd int) error { // each message reaches one thread
			const n = 400
			got := make(chan uint32, n)
			over := make(chan error, 2)
			for range 2 {
				go func() {
					for {
						b, err := answerFrom(fd)
						if err != nil || native.Uint16(b[4:]) == nldevSys {
							over <- err
							return
						}
						got <- native.Uint32(b[8:])
					}
				}()
			}
			send := func(kind uint16, seq uint32) error {
				b := netlinkRequest(kind, unix.NLM_F_REQUEST)
				native.PutUint32(b[8:], seq)
				return unix.Sendto(fd, b, 0, kernelAddress)
			}
			for seq := range uint32(n) {
				if err := send(nldevGet, seq); err != nil {
					return err
				}
			}
			if err := errors.Join(send(nldevSys, 0), send(nldevSys, 0), <-over, <-over); err != nil {
				return err
			}
			close(got)
			times := make(map[uint32]int)
			for seq := range got {
				times[seq]++
			}
			for seq := range uint32(n) {
				if times[seq] != 1 {
					return fmt.Errorf("the answer %d has come %d times", seq, times[seq])
				}
			}
			return nil
		}))
}

// isIn reports whether a thread is in a system call.
func isIn(thread int, call uintptr) bool {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/self/task/%d/syscall", thread))
	return bytes.HasPrefix(b, fmt.Appendf(nil, "%d ", call))
}

// netlinkLateProgram does not read the answers to many requests. A socket that gets the port of
// another one gets none of its answers, and other processes get theirs.
func netlinkLateProgram([]string) error {
	if _, err := pairsOf(400); err != nil {
		return err
	}
	late := func() (int, error) {
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, netlinkRDMA)
		if err != nil {
			return -1, err
		}
		return fd, unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4096)
	}
	dump := func(fd int) error { return unix.Sendto(fd, netlinkRequest(nldevQP, dumpRequest), 0, kernelAddress) }
	port := &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: uint32(os.Getpid()) + 1<<22}
	for range 20 {
		one, err := late()
		two, err2 := late()
		if err := errors.Join(err, err2, unix.Bind(one, port), dump(one), unix.Close(one)); err != nil {
			return err
		}
		if err := unix.Bind(two, port); err != nil {
			return fmt.Errorf("a port whose socket is closed: %w", err)
		}
		for range 10 {
			answer, err := answerTo(two, netlinkRequest(nldevSys, unix.NLM_F_REQUEST))
			if err != nil || native.Uint16(answer[4:]) != nldevSys {
				return fmt.Errorf("a socket with the port of another one: %.99x, %w", answer, err)
			}
		}
		if err := unix.Close(two); err != nil {
			return err
		}
	}
	two, err := late()
	if err != nil {
		return err
	}
	n := 0
	for refused := false; !refused && n < 100_000; n++ {
		err := dump(two)
		if refused = errors.Is(err, syscall.ENOBUFS); err != nil && !refused {
			return err
		}
	}
	if n < 40 || n == 100_000 {
		return fmt.Errorf("%d dumps before ENOBUFS", n)
	}
	for range 40 {
		fd, err := late()
		if err != nil {
			return err
		}
		if err := dump(fd); !errors.Is(err, syscall.ENOBUFS) {
			return fmt.Errorf("a dump for another socket of the process: %w, want ENOBUFS", err)
		}
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	c := exec.Command(self, perform, "netlink-many")
	c.Stderr = os.Stderr
	return c.Run()
}

// netlinkSpaceProgram has a socket that looks like one of the device, in another network namespace.
func netlinkSpaceProgram([]string) error {
	runtime.LockOSThread()
	return useNetlink(func(int) error {
		if err := unix.Unshare(unix.CLONE_NEWNET); err != nil {
			return err
		}
		fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_USERSOCK)
		if err != nil {
			return err
		}
		number := 32
		err = errors.Join(unix.Dup3(fd, number, unix.O_CLOEXEC), unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVLOWAT, netlinkMark))
		return errors.Join(err, wantErrno(unix.Sendto(number, netlinkRequest(nldevGet, unix.NLM_F_REQUEST), 0, kernelAddress), syscall.ECONNREFUSED))
	})
}

// netlinkManyProgram has so many queue pairs that the answer is longer than the buffer of its
// socket, and finds each of them once.
func netlinkManyProgram([]string) error {
	want, err := pairsOf(400)
	if err != nil {
		return err
	}
	return useNetlink(func(fd int) error {
		if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 4096); err != nil {
			return err
		}
		if err := unix.Sendto(fd, netlinkRequest(nldevQP, dumpRequest), 0, kernelAddress); err != nil {
			return err
		}
		var got []uint32
		for {
			b, err := answerFrom(fd)
			if err != nil {
				return err
			}
			if native.Uint16(b[4:]) == unix.NLMSG_DONE {
				break
			}
			got = append(got, numbersIn(b)...)
		}
		slices.Sort(got)
		for i, n := range got {
			if i > 0 && n == got[i-1] {
				return fmt.Errorf("queue pair %d twice", n)
			}
		}
		for _, n := range want {
			if !slices.Contains(got, n) {
				return fmt.Errorf("no queue pair %d among %d", n, len(got))
			}
		}
		return nil
	})
}

// pairsOf makes n queue pairs and returns their numbers.
func pairsOf(n int) (numbers []uint32, err error) {
	c, err := guest.OpenDevice()
	if err != nil {
		return nil, err
	}
	pd, err := c.PD()
	if err != nil {
		return nil, err
	}
	cq, err := c.CQ(16, -1, 1)
	if err != nil {
		return nil, err
	}
	for range n {
		q, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 1, SGEs: 1})
		if err != nil {
			return nil, err
		}
		numbers = append(numbers, q.Num)
	}
	return numbers, nil
}

// numbersIn returns the numbers of the queue pairs in an answer.
func numbersIn(b []byte) (all []uint32) {
	const pair, number = 20, 21
	for at := 40; at < len(b); {
		kind := native.Uint16(b[at+2:])
		switch kind {
		case number:
			all = append(all, native.Uint32(b[at+4:]))
			fallthrough
		default:
			at += (int(native.Uint16(b[at:])) + 3) &^ 3
		case pair - 1, pair: // the attributes in it follow
			at += 4
		}
	}
	return all
}

func TestNetlink(t *testing.T) {
	for _, name := range []string{"netlink", "netlink-many", "netlink-late", "netlink-threads"} {
		if err := under(performance(t, name)...).Run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestWaitsOfProcess: a process whose calls wait leaves room for those of others.
func TestWaitsOfProcess(t *testing.T) {
	n := new(netlink)
	fill := func(pid int) (calls int) {
		for n.beginWait(pid) {
			calls++
		}
		return calls
	}
	if one, two, three := fill(1), fill(2), fill(3); one != mostWaiting/2 || two != one/2 || three != two/2 {
		t.Errorf("%d, %d and %d calls of %d may wait", one, two, three, mostWaiting)
	}
	for range mostWaiting / 2 {
		n.endWait(1)
	}
	if calls := fill(4); calls == 0 || len(n.waiting) != 3 { // +checklocksignore: nobody else has it
		t.Errorf("%d calls may wait after others have ended", calls)
	}
}

// TestDrainEnds: drain ends even if a socket is never empty.
func TestDrainEnds(t *testing.T) {
	if err := drain(-1); !errors.Is(err, unix.ENOBUFS) {
		t.Errorf("%v, want ENOBUFS", err)
	}
}

// TestNetlinkSpace checks that a socket of another network namespace is not taken for one of the
// device.
func TestNetlinkSpace(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may make a network namespace")
	}
	if err := under(performance(t, "netlink-space")...).Run(); err != nil {
		t.Error(err)
	}
}
