//go:build amd64 || arm64

package run

import (
	"encoding/binary"
	"net"
	"net/netip"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/cmd/rddp/internal/run/seccomp"
	"github.com/rddp/rddp/internal/process"
)

// openProcess returns a pidfd for the descriptors of a thread's process. It is readable when the
// thread (before Linux 6.9: the process) has ended.
func openProcess(thread int) (int, error) {
	const ofThread = unix.O_EXCL // PIDFD_THREAD
	p, err := unix.PidfdOpen(thread, ofThread)
	if err != unix.EINVAL {
		return p, err
	}
	pid, err := process.Leader(thread)
	if err != nil {
		return -1, err
	}
	return unix.PidfdOpen(pid, 0)
}

// borrow returns a copy of the descriptor that is the first argument of a call.
func borrow(c *seccomp.Call) (int, error) {
	p, err := openProcess(c.Thread)
	if err != nil {
		return -1, err
	}
	defer unix.Close(p)
	return unix.PidfdGetfd(p, int(int32(c.Args[0])), 0)
}

// The lengths of the addresses of sockets.
const (
	len4 = unix.SizeofSockaddrInet4
	len6 = unix.SizeofSockaddrInet6
)

// readAddress reads an IP socket address from the memory of a thread. ok is false if it is not an
// IP address.
func readAddress(t process.Thread, addr uint64, n uint32) (a netip.AddrPort, ok bool, err error) {
	var b [len6]byte
	if n < len4 || n > 128 {
		return netip.AddrPort{}, false, nil
	}
	if err := t.Read(b[:min(n, len6)], addr); err != nil {
		return netip.AddrPort{}, false, err
	}
	a, ok = parseAddress(b[:min(n, len6)])
	return a, ok, nil
}

// parseAddress parses a struct sockaddr_in or sockaddr_in6.
func parseAddress(b []byte) (a netip.AddrPort, ok bool) {
	if len(b) < len4 {
		return netip.AddrPort{}, false
	}
	port := binary.BigEndian.Uint16(b[2:])
	switch native.Uint16(b) {
	case unix.AF_INET:
		return netip.AddrPortFrom(netip.AddrFrom4([4]byte(b[4:8])), port), true
	case unix.AF_INET6:
		const withoutScope = 24
		if len(b) < withoutScope {
			return netip.AddrPort{}, false
		}
		ip := netip.AddrFrom16([16]byte(b[8:24]))
		if len(b) >= len6 {
			if scope := native.Uint32(b[24:]); scope != 0 && !ip.Is4In6() {
				ip = ip.WithZone(zoneName(scope))
			}
		}
		return netip.AddrPortFrom(ip, port), true
	}
	return netip.AddrPort{}, false
}

func zoneName(index uint32) string {
	if i, err := net.InterfaceByIndex(int(index)); err == nil {
		return i.Name
	}
	return ""
}

// appendAddress appends the sockaddr of an address for a socket of the domain.
func appendAddress(b []byte, a netip.AddrPort, domain int) []byte {
	ip := a.Addr()
	b = native.AppendUint16(b, uint16(domain))
	b = binary.BigEndian.AppendUint16(b, a.Port())
	if domain == unix.AF_INET {
		v4 := ip.Unmap().As4()
		return append(append(b, v4[:]...), make([]byte, 8)...)
	}
	v6 := ip.As16()
	b = append(native.AppendUint32(b, 0), v6[:]...)
	var scope uint32
	if i, err := net.InterfaceByName(ip.Zone()); ip.Zone() != "" && err == nil {
		scope = uint32(i.Index)
	}
	return native.AppendUint32(b, scope)
}

// writeAddress answers a call that asks for an IP address.
func writeAddress(t threadMemory, a netip.AddrPort, domain int, addr, length uint64) syscall.Errno {
	return writeSockaddr(t, appendAddress(nil, a, domain), addr, length)
}

// writeSockaddr answers a call that asks for the address b. It writes as much as fits into the
// program's buffer, and the full length.
func writeSockaddr(t threadMemory, b []byte, addr, length uint64) syscall.Errno {
	var n [4]byte
	if err := t.Read(n[:], length); err != nil {
		return errnoOf(err)
	}
	room := int32(native.Uint32(n[:]))
	if room < 0 {
		return syscall.EINVAL
	}
	if err := t.Write(b[:min(int(room), len(b))], addr); err != nil {
		return errnoOf(err)
	}
	native.PutUint32(n[:], uint32(len(b)))
	return errnoOf(t.Write(n[:], length))
}

// localAddress returns the address that a socket is bound to.
func localAddress(fd int) (netip.AddrPort, error) {
	var b [len6]byte
	n := uint32(len(b))
	_, _, e := unix.RawSyscall(unix.SYS_GETSOCKNAME, uintptr(fd), uintptr(unsafe.Pointer(&b)), uintptr(unsafe.Pointer(&n)))
	if e != 0 {
		return netip.AddrPort{}, e
	}
	a, ok := parseAddress(b[:min(n, len6)])
	if !ok {
		return netip.AddrPort{}, syscall.EAFNOSUPPORT
	}
	return a, nil
}

// loopback returns the loopback address of the same family as a.
func loopback(a netip.AddrPort) netip.Addr {
	if a.Addr().Unmap().Is4() {
		return netip.AddrFrom4([4]byte{127, 0, 0, 1})
	}
	return netip.IPv6Loopback()
}
