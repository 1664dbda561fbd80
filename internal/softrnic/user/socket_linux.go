package user

import (
	"encoding/binary"
	"net"
	"net/netip"
	"slices"

	"golang.org/x/sys/unix"
)

// OfTCP returns the relation of the peer of a TCP connection; local is this end. The peer is
// Unknown if its end is in another network namespace. The kernel forgets the user of a closing end,
// so OfTCP then returns Ending if the peer's address belongs to this namespace.
func OfTCP(local, remote netip.AddrPort) Relation {
	q, err := ask(request(remote, local))
	switch {
	case err == nil && q.state == established:
		return Of(q.uid)
	case err == nil, isHere(remote.Addr().Unmap()):
		return Ending
	}
	return Unknown
}

// isHere reports whether an address belongs to this network namespace. It returns true if the
// addresses cannot be listed.
func isHere(a netip.Addr) bool {
	if a.IsLoopback() {
		return true
	}
	all, err := net.InterfaceAddrs()
	return err != nil || slices.ContainsFunc(all, func(i net.Addr) bool {
		p, err := netip.ParsePrefix(i.String())
		return err == nil && p.Addr().WithZone("") == a.WithZone("")
	})
}

// The kernel's interface (linux/inet_diag.h): a request names a socket by its two addresses, and
// the answer contains its state and user.
const (
	sockDiagByFamily = 20
	established      = 1  // TCP_ESTABLISHED
	listening        = 10 // TCP_LISTEN

	requestLen = 16 + 8 + 48
	answerLen  = 16 + 4 + 48 + 5*4
)

// An answer is the kernel's answer about a socket.
type answer struct {
	state uint8
	uid   uint32
}

// request returns the request about the TCP socket with the local address at and the peer address
// to.
func request(at, to netip.AddrPort) []byte {
	family, from, dest := uint8(unix.AF_INET), at.Addr().Unmap(), to.Addr().Unmap()
	if !from.Is4() || !dest.Is4() {
		family = unix.AF_INET6
	}
	b := make([]byte, 0, requestLen)
	b = native.AppendUint32(b, requestLen)
	b = native.AppendUint16(b, sockDiagByFamily)
	b = native.AppendUint16(b, unix.NLM_F_REQUEST)
	b = append(b, make([]byte, 8)...) // the sequence number, and the port of the sender
	b = append(b, family, unix.IPPROTO_TCP, 0, 0)
	b = native.AppendUint32(b, 1<<32-1) // all states
	b = binary.BigEndian.AppendUint16(b, at.Port())
	b = binary.BigEndian.AppendUint16(b, to.Port())
	for _, a := range [...]netip.Addr{from, dest} {
		raw := a.AsSlice()
		b = append(append(b, raw...), make([]byte, 16-len(raw))...)
	}
	b = native.AppendUint32(b, index(dest.Zone()))
	return native.AppendUint64(b, 1<<64-1) // any cookie
}

// index returns the index of the interface that a zone names, or 0.
func index(zone string) uint32 {
	if zone == "" {
		return 0
	}
	i, err := net.InterfaceByName(zone)
	if err != nil {
		return 0
	}
	return uint32(i.Index)
}

var native = binary.NativeEndian

// ask sends a request to the kernel, which answers before sendto returns.
func ask(question []byte) (a answer, err error) {
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_RAW|unix.SOCK_CLOEXEC, unix.NETLINK_SOCK_DIAG)
	if err != nil {
		return a, err
	}
	defer unix.Close(fd)
	if err := unix.Sendto(fd, question, 0, &unix.SockaddrNetlink{Family: unix.AF_NETLINK}); err != nil {
		return a, err
	}
	var b [512]byte
	n, from, err := unix.Recvfrom(fd, b[:], unix.MSG_DONTWAIT)
	if err != nil {
		return a, err
	}
	if k, ok := from.(*unix.SockaddrNetlink); !ok || k.Pid != 0 {
		return a, unix.EPERM // not from the kernel
	}
	return parseAnswer(b[:n])
}

// parseAnswer parses the kernel's answer. It returns an error if the socket does not exist. The
// kernel may then answer with a listener for all addresses that has the same port; that is an error
// too.
func parseAnswer(b []byte) (a answer, err error) {
	if len(b) < answerLen || native.Uint16(b[4:]) != sockDiagByFamily {
		return a, unix.ENOENT
	}
	if b[17] == listening {
		return a, unix.ENOENT
	}
	return answer{state: b[17], uid: native.Uint32(b[16+4+48+12:])}, nil
}
