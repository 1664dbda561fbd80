//go:build linux

package cm

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"os"
	"strings"
	"syscall"
)

// This file implements the port numbers of the joined device, of connections and of datagrams. As
// on InfiniBand and RoCE they are not those of TCP and UDP: a program can listen with rdma_cm and
// with TCP at the same number, and so can two programs. An RNIC has TCP's numbers: see port.go.
//
// A number is claimed by the name of an abstract Unix socket, which contains the number and the
// address of the id. All users of a network namespace see these names, and the kernel removes a
// name with its process. So the rules for two ids with the same number also hold for two programs.
//
// A peer on another host knows only the number. A listener has the first free one of eight TCP
// ports (of UDP, for datagrams), its places, which follow from the number. See find.go and
// datagram.go for how a peer finds out which one.

// The places of all numbers are the last 4096 ports. By default, Linux uses none of them as the
// port of an outgoing connection.
const (
	firstPlace = 0xf000
	placeMask  = 0x0fff
)

// Places returns the ports at which a listener with a number may be, in order. Numbers with the
// same first place differ in the others.
func Places(number uint16) (ports [8]uint16) {
	step := number>>12<<1 | 1 // odd, so all ports differ
	for k := range ports {
		ports[k] = firstPlace | (number+uint16(k)*step)&placeMask
	}
	return ports
}

// The numbers that programs get if they ask for any are those of Linux's default range of local
// ports.
const (
	firstFree = 32768
	freeCount = 61000 - firstFree
)

// freeNumber returns a number at random. If possible, no other id of the CM has it.
//
// +checklocksignore: the caller holds the CM's mutex
func (i *id) freeNumber() (n uint16) {
	used := make(map[uint16]bool)
	for _, other := range i.cm.ids {
		used[other.src.Port()] = true
	}
	for range freeCount {
		if n = uint16(firstFree + rand.IntN(freeCount)); !used[n] {
			break
		}
	}
	return n
}

// claimAny is claim with a number that no other id has.
func (i *id) claimAny(a netip.Addr) (p *port, at netip.AddrPort, err error) {
	const attempts = 100
	for range attempts {
		at = netip.AddrPortFrom(a, i.freeNumber())
		p, err = claim(i.ports(), at, i.afOnly, i.reuse)
		if e := errnoOf(err, 0); e != syscall.EADDRINUSE && e != syscall.EADDRNOTAVAIL {
			break
		}
	}
	return p, at, err
}

// A holder is an address that has a number.
type holder struct {
	addr netip.Addr
	only bool // an IPv6 address that accepts only connections over IPv6
}

// onlyFamily reports whether h accepts only connections of its address family.
func (h holder) onlyFamily() bool { return h.addr.Is4() || h.only }

// conflict returns the kernel's error if two addresses cannot have the same number.
func (h holder) conflict(other holder) syscall.Errno {
	switch {
	case h.addr.Is4() != other.addr.Is4() && h.onlyFamily() && other.onlyFamily():
		return 0
	case h.addr.IsUnspecified() || other.addr.IsUnspecified():
		return syscall.EADDRNOTAVAIL
	case h.addr == other.addr:
		return syscall.EADDRINUSE
	}
	return 0
}

// claimPrefix returns the beginning of the names of all claims of a number.
func claimPrefix(s portSpace, number uint16) string {
	if s == datagramNumbers {
		return fmt.Sprintf("@rddp-claim-udp-%d-", number)
	}
	return fmt.Sprintf("@rddp-claim-tcp-%d-", number)
}

// The last part of the name of a claim.
const (
	onlyOne  = "6"     // an IPv6 address without IPv4
	oneOfAny = "reuse" // with RDMA_OPTION_ID_REUSEADDR; followed by a random number
)

// claimName returns the name of h's claim.
func (h holder) claimName(s portSpace, number uint16, reuse bool) string {
	n := claimPrefix(s, number) + h.addr.String() + "-"
	if h.only {
		n += onlyOne
	}
	if reuse {
		n += fmt.Sprintf("%s%d", oneOfAny, rand.Uint64())
	}
	return n
}

// parseClaim parses the name of a claim, without its prefix.
func parseClaim(name string) (h holder, reuse, ok bool) {
	address, rest, found := strings.Cut(name, "-")
	h.addr, _ = netip.ParseAddr(address)
	_, h.only = strings.CutPrefix(rest, onlyOne)
	return h, strings.Contains(rest, oneOfAny), found && h.addr.IsValid()
}

// claim claims the number of a for an address. Two claims with reuse do not exclude each other.
func claim(s portSpace, a netip.AddrPort, only, reuse bool) (*port, error) {
	if err := mayClaim(a.Port()); err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	me := holder{a.Addr(), only}
	p := &port{os.NewFile(uintptr(fd), me.claimName(s, a.Port(), reuse))}
	if err = syscall.Bind(fd, &syscall.SockaddrUnix{Name: p.file.Name()}); err == nil {
		err = p.othersClaim(claimPrefix(s, a.Port()), me, reuse)
	} else if err == syscall.EADDRINUSE {
		err = me.conflict(me)
	}
	if err != nil {
		p.close()
		return nil, err
	}
	return p, nil
}

// unprivileged is the first port number that needs no privilege, unless the system says otherwise.
const unprivileged = 1024

// mayClaim returns an error if the number is for privileged users only, as a port of TCP or UDP
// with that number is. The kernel says so before it says that a port is in use.
func mayClaim(number uint16) error {
	if number >= unprivileged {
		return nil
	}
	p, _, err := reserve(netip.AddrPortFrom(netip.AddrFrom4([4]byte{127, 0, 0, 1}), number), true, false)
	p.close()
	if errnoOf(err, 0) == syscall.EACCES {
		return err
	}
	return nil
}

// namesFile lists the Unix sockets of the network namespace.
const namesFile = "/proc/self/net/unix"

// othersClaim returns an error if another claim whose name begins with prefix, by any program,
// excludes p, which is the claim of me.
func (p *port) othersClaim(prefix string, me holder, reuse bool) error {
	f, err := os.Open(namesFile)
	if err != nil {
		return nil // the most frequent conflict is that of two equal names
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); lines.Scan(); {
		at := strings.Index(lines.Text(), prefix)
		if at < 0 || lines.Text()[at:] == p.file.Name() {
			continue
		}
		other, otherReuse, ok := parseClaim(lines.Text()[at+len(prefix):])
		if ok && !(reuse && otherReuse) {
			if e := me.conflict(other); e != 0 {
				return e
			}
		}
	}
	return nil
}

// listenAt opens the first free place of i's number with open, which gets the port of the place.
func (i *id) listenAt(open func(p *port) error) error {
	s := i.ports()
	if i.reuse { // ids that do not listen can share the number
		if err := i.port.othersClaim(claimPrefix(s, i.src.Port()), holder{i.src.Addr(), i.afOnly}, false); err != nil {
			return err
		}
	}
	for _, place := range Places(i.src.Port()) {
		p, at, err := reserve(netip.AddrPortFrom(i.src.Addr(), place), s == datagramNumbers, i.afOnly)
		if err == nil {
			err = open(p)
			p.close()
		}
		if err == nil {
			i.cm.log.Info("rdma_cm listens", "address", i.src.String(), "at", at.String())
		}
		if errnoOf(err, 0) != syscall.EADDRINUSE {
			return err
		}
	}
	i.cm.log.Warn("each port at which peers look for the listener is in use", "address", i.src.String(), "ports", Places(i.src.Port()))
	return syscall.EADDRINUSE
}

// In the Request of a joined connection, the numbers of both ends follow the private data. Older
// versions of rddp do not send them.
//
//	 0      2    4              12
//	+------+----+--------------+
//	| from | to | "rddp CM3"   |
//	+------+----+--------------+
const (
	numbersMagic = "rddp CM3"
	numbersLen   = 4 + len(numbersMagic)
)

// appendNumbers appends the numbers of both ends.
func appendNumbers(b []byte, from, to uint16) []byte {
	b = binary.BigEndian.AppendUint16(b, from)
	return append(binary.BigEndian.AppendUint16(b, to), numbersMagic...)
}

// parseNumbers parses the bytes between a greeting and a proposal, and returns the numbers and the
// private data. ok is false if there are no numbers.
func parseNumbers(b []byte) (from, to uint16, private []byte, ok bool) {
	at := len(b) - numbersLen
	if at < 0 || string(b[at+4:]) != numbersMagic {
		return 0, 0, b, false
	}
	return binary.BigEndian.Uint16(b[at:]), binary.BigEndian.Uint16(b[at+2:]), b[:at], true
}
