// Package tun opens TUN devices: network interfaces whose packets a program reads and writes
// instead of a driver. One end of a [Device] is the kernel's TCP/IP, with the addresses of
// [Config]. The other end is the program: a TCP of its own, or a link such as that of toe/badlink.
//
// A Device has the methods Read, Write, Close and MTU. Each Read returns one whole IP packet, and
// each Write takes one, IPv4 or IPv6, with nothing in front of it.
//
// # Namespaces
//
// The kernel's ends of two Devices in one network namespace would send packets to each other
// directly. A [Namespace] is a network namespace that this process has made, with its own
// interfaces, addresses and ports. Config.Namespace puts a Device into it, and Do runs a function
// in it, for example a Dial or a Listen. No command and no name in the file system is needed.
//
// # Privileges
//
// Open needs CAP_NET_ADMIN and access to /dev/net/tun. NewNamespace and Do need CAP_SYS_ADMIN. If
// the process lacks a privilege, the error is a [*PrivilegeError] that names it. The program
// unshare can give both to a process without root: unshare --map-root-user --net.
//
// # Limits
//
// The package works on Linux. On other systems every function returns errors.ErrUnsupported.
// Devices have no offloads: each packet is at most MTU bytes long and has all its checksums.
package tun
