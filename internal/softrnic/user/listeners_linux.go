package user

import (
	"golang.org/x/sys/unix"
)

// A Listener is a listening TCP socket in this network namespace.
type Listener struct {
	Port  uint16
	Inode uint32 // the socket's inode, as in fstat; also for the TCP socket below an MPTCP socket
}

// Listeners returns all listening TCP sockets in this network namespace.
func Listeners() (all []Listener, err error) {
	for _, family := range []uint8{unix.AF_INET, unix.AF_INET6} {
		if all, err = appendListeners(all, family); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// appendListeners appends the listeners of an address family.
func appendListeners(all []Listener, family uint8) ([]Listener, error) {
	const listening = 10 // TCP_LISTEN
	b := make([]byte, requestLen)
	native.PutUint32(b, requestLen)
	native.PutUint16(b[4:], sockDiagByFamily)
	native.PutUint16(b[6:], unix.NLM_F_REQUEST|unix.NLM_F_DUMP)
	b[16], b[17] = family, unix.IPPROTO_TCP
	native.PutUint32(b[20:], 1<<listening)
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, b, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return nil, err
	}
	in := make([]byte, 32<<10)
	for {
		n, from, err := unix.Recvfrom(fd, in, unix.MSG_DONTWAIT)
		if err != nil {
			return nil, err
		}
		if k, ok := from.(*unix.SockaddrNetlink); !ok || k.Pid != 0 {
			return nil, unix.EPERM // not from the kernel
		}
		var done bool
		if all, done, err = parseListeners(all, in[:n]); err != nil || done {
			return all, err
		}
	}
}

// parseListeners appends the listeners in a part of the kernel's answer. done is true for the last
// part.
func parseListeners(all []Listener, b []byte) (_ []Listener, done bool, err error) {
	for len(b) >= unix.SizeofNlMsghdr {
		n := int(native.Uint32(b))
		if n < unix.SizeofNlMsghdr || n > len(b) {
			return nil, false, unix.EBADMSG
		}
		switch m := b[:n]; native.Uint16(b[4:]) {
		case unix.NLMSG_DONE:
			return all, true, nil
		case sockDiagByFamily:
			if n < answerLen {
				return nil, false, unix.EBADMSG
			}
			all = append(all, Listener{Port: uint16(m[20])<<8 | uint16(m[21]), Inode: native.Uint32(m[16+4+48+16:])})
		default:
			return nil, false, unix.EBADMSG
		}
		b = b[min((n+unix.NLMSG_ALIGNTO-1)&^(unix.NLMSG_ALIGNTO-1), len(b)):]
	}
	return all, false, nil
}
