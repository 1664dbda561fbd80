//go:build amd64 || arm64

package run

import (
	"errors"
	"net/netip"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
)

// Calls that connect or listen in ways that cannot be taken over.

var err32Bit = errors.New("it is a 32-bit program")

// call32 answers connect and listen of a 32-bit program, which cannot be taken over. It returns
// false if the call must continue.
func (t *tcpRelay) call32(c *seccomp.Call) bool {
	call := *c
	isListen := c.Kind == seccomp.Listen32
	if c.Kind == seccomp.SocketCall32 {
		const words = 3
		var b [4 * words]byte
		isListen = c.Args[0] != sysConnect
		if err := process.Thread(c.Thread).Read(b[:], c.Args[1]); err != nil {
			t.notLent("socketcall", c.Thread, err)
			return false
		}
		for i := range words {
			call.Args[i] = uint64(native.Uint32(b[4*i:]))
		}
	}
	if isListen {
		t.later(c, func() { t.listen32(&call) })
		return true
	}
	return t.ifChosen(&call, call.Args[1], uint32(call.Args[2]), func(to netip.AddrPort) (syscall.Errno, bool) {
		return t.untouched(to, err32Bit)
	})
}

// sysConnect is the number of connect in socketcall.
const sysConnect = 3

// listen32 handles a listener of a 32-bit program, which cannot be taken over.
func (t *tcpRelay) listen32(c *seccomp.Call) {
	fd, err := borrow(c)
	if err == nil {
		at, chosen, _ := t.listener(fd)
		unix.Close(fd) // as in listen
		if chosen && t.untouchedListener(c, at, err32Bit) {
			return
		}
	} else {
		t.notLent("listen", c.Thread, err)
	}
	t.program.Continue(c)
}

// fastOpen answers a send with MSG_FASTOPEN, which connects, to an address that a rule has chosen.
// It answers as a kernel with fast open disabled, so the program calls connect, which can be taken
// over. It returns false if the call must continue.
func (t *tcpRelay) fastOpen(c *seccomp.Call) bool {
	addr, n := c.Args[4], uint32(c.Args[5])
	switch c.Kind {
	case seccomp.SendMMsg: // the first message connects
		if c.Args[2] == 0 {
			return false
		}
		fallthrough
	case seccomp.SendMsg:
		var b [12]byte // struct msghdr and struct mmsghdr begin with the address and its length
		if err := process.Thread(c.Thread).Read(b[:], c.Args[1]); err != nil {
			t.notLent("sendmsg", c.Thread, err)
			return false
		}
		addr, n = native.Uint64(b[:]), native.Uint32(b[8:])
	}
	return t.ifChosen(c, addr, n, func(to netip.AddrPort) (syscall.Errno, bool) {
		t.log.Info("no MSG_FASTOPEN: the program has to connect", "to", to)
		return syscall.EOPNOTSUPP, true
	})
}

// ifChosen answers a call that connects a TCP socket, its first argument, to an address in the
// program's memory, if a rule has chosen that address. do returns the answer, or false if the call
// must continue. ifChosen returns false if the caller must continue the call.
func (t *tcpRelay) ifChosen(c *seccomp.Call, addr uint64, n uint32, do func(to netip.AddrPort) (syscall.Errno, bool)) bool {
	to, ok, err := readAddress(process.Thread(c.Thread), addr, n)
	if err != nil {
		t.notLent("connect", c.Thread, err)
	}
	to, chosen := t.chosen(to)
	if !ok || !chosen {
		return false
	}
	t.later(c, func() {
		var errno syscall.Errno
		answered := false
		fd, err := borrow(c)
		if err == nil {
			var fresh bool
			fresh, err = t.check(fd)
			unix.Close(fd) // as in listen
			if err == nil && fresh {
				errno, answered = do(to)
			}
		}
		if err != nil {
			errno, answered = t.untouched(to, err)
		}
		if answered {
			t.program.Answer(c, 0, errno)
		} else {
			t.program.Continue(c)
		}
	})
	return true
}
