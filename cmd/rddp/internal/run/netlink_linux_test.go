//go:build amd64 || arm64

package run

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"
	"syscall"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/guest"
)

func init() { programs["netlink"], programs["netlink-many"] = netlinkProgram, netlinkManyProgram }

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
		before := unix.Sendto(other, forged, 0, to)
		if err := namesDevice(answerTo(fd, netlinkRequest(nldevGet, unix.NLM_F_REQUEST))); err != nil {
			return err
		}
		return errors.Join(before, wantErrno(unix.Sendto(other, forged, 0, to), syscall.ECONNREFUSED))
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

// netlinkManyProgram has so many queue pairs that the answer is longer than the buffer of its
// socket, and finds each of them once.
func netlinkManyProgram([]string) error {
	const n = 400
	c, err := guest.OpenDevice()
	if err != nil {
		return err
	}
	pd, err := c.PD()
	if err != nil {
		return err
	}
	cq, err := c.CQ(16, -1, 1)
	if err != nil {
		return err
	}
	want := make([]uint32, n)
	for i := range want {
		q, err := c.QP(guest.QPConfig{PD: pd, Send: cq, Recv: cq, Depth: 1, SGEs: 1})
		if err != nil {
			return err
		}
		want[i] = q.Num
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
		slices.Sort(want)
		if !slices.Equal(got, want) {
			return fmt.Errorf("%d queue pairs, want %d", len(got), len(want))
		}
		return nil
	})
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
	for _, name := range []string{"netlink", "netlink-many"} {
		if err := under(performance(t, name)...).Run(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}
