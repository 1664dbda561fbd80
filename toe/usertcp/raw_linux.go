package usertcp

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
	"gvisor.dev/gvisor/pkg/tcpip/checksum"
	"gvisor.dev/gvisor/pkg/tcpip/header"
)

// OpenRaw opens the Ethernet interface name with a packet socket (AF_PACKET). The Stack above
// answers for its addresses with the interface's hardware address, by ARP and by neighbor
// discovery. The kernel must not have an address on the interface, because its TCP would reset the
// connections of the Stack: a separate network namespace for the interface ensures that.
//
// OpenRaw needs the capability CAP_NET_RAW in the network namespace. The error names the capability
// if it is missing.
func OpenRaw(name string) (Link, error) {
	l, err := openRaw(name)
	switch {
	case errors.Is(err, os.ErrPermission):
		return nil, fmt.Errorf("usertcp: open %s: %w (the process needs CAP_NET_RAW in this network namespace)", name, err)
	case err != nil:
		return nil, fmt.Errorf("usertcp: open %s: %w", name, err)
	}
	return l, nil
}

func openRaw(name string) (*ethernetDevice, error) {
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_RAW|unix.SOCK_CLOEXEC|unix.SOCK_NONBLOCK, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	i, err := bindTo(fd, name)
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	f := os.NewFile(uintptr(fd), name)
	raw, err := f.SyscallConn()
	if err != nil {
		f.Close()
		return nil, err
	}
	return &ethernetDevice{File: f, mtu: i.MTU, address: i.HardwareAddr, raw: raw}, nil
}

// bindTo binds the packet socket fd to the interface name.
func bindTo(fd int, name string) (*net.Interface, error) {
	i, err := net.InterfaceByName(name)
	if err != nil {
		return nil, err
	}
	if len(i.HardwareAddr) != header.EthernetAddressSize {
		return nil, &net.AddrError{Err: "the interface has no Ethernet address", Addr: i.HardwareAddr.String()}
	}
	if err := unix.Bind(fd, &unix.SockaddrLinklayer{Protocol: htons(unix.ETH_P_ALL), Ifindex: i.Index}); err != nil {
		return nil, os.NewSyscallError("bind", err)
	}
	// The socket also sees what it sends, unless PACKET_IGNORE_OUTGOING is set. With
	// PACKET_VNET_HDR the kernel tells which checksums it has left to the hardware.
	for _, option := range []int{unix.PACKET_IGNORE_OUTGOING, unix.PACKET_VNET_HDR} {
		if err := unix.SetsockoptInt(fd, unix.SOL_PACKET, option, 1); err != nil {
			return nil, os.NewSyscallError("setsockopt", err)
		}
	}
	return i, nil
}

// vnetHeaderLen is the length in bytes of a struct virtio_net_hdr: flags (1), the kind of
// segmentation (1), and four lengths and offsets of 2 bytes each in the byte order of the machine.
const vnetHeaderLen = 10

// needsSum is the flag of a virtio_net_hdr which says that the checksum is not complete.
const needsSum = 1

// An ethernetDevice is a Link whose packets are Ethernet frames.
type ethernetDevice struct {
	*os.File
	mtu     int
	address net.HardwareAddr
	raw     syscall.RawConn
}

// MTU returns the MTU of the interface when it was opened, without the Ethernet header.
func (d *ethernetDevice) MTU() int { return d.mtu }

// HardwareAddr returns the address of the interface. It tells a Stack that the packets are frames.
func (d *ethernetDevice) HardwareAddr() net.HardwareAddr { return d.address }

// longest returns the length of the longest packet that the kernel passes on unsegmented.
func (d *ethernetDevice) longest() int { return header.EthernetMinimumSize + MaxMTU }

// Read waits for a frame and completes its checksum. The kernel may merge TCP segments into one
// frame.
func (d *ethernetDevice) Read(p []byte) (n int, err error) {
	var vnet [vnetHeaderLen]byte
	e := d.raw.Read(func(fd uintptr) bool {
		n, _, _, _, err = unix.RecvmsgBuffers(int(fd), [][]byte{vnet[:], p}, nil, unix.MSG_DONTWAIT)
		return err != unix.EAGAIN
	})
	if e == nil {
		e = os.NewSyscallError("recvmsg", err)
	}
	if e != nil || n < vnetHeaderLen {
		return 0, e
	}
	n -= vnetHeaderLen
	if vnet[0]&needsSum != 0 {
		completeSum(p[:n], int(binary.NativeEndian.Uint16(vnet[6:])), int(binary.NativeEndian.Uint16(vnet[8:])))
	}
	return n, nil
}

// completeSum writes the checksum of frame[start:] at the given offset in it, where the sum of the
// pseudo header is. A frame that is too short stays as it is, and IP drops it.
func completeSum(frame []byte, start, offset int) {
	if start+offset+2 <= len(frame) {
		binary.BigEndian.PutUint16(frame[start+offset:], ^checksum.Checksum(frame[start:], 0))
	}
}

// Write sends a frame, or drops it if the interface has no room.
func (d *ethernetDevice) Write(p []byte) (n int, err error) {
	var vnet [vnetHeaderLen]byte
	e := d.raw.Control(func(fd uintptr) {
		_, err = unix.SendmsgBuffers(int(fd), [][]byte{vnet[:], p}, nil, nil, unix.MSG_DONTWAIT)
	})
	if e != nil {
		return 0, e
	}
	if err == unix.EAGAIN || err == unix.ENOBUFS {
		return len(p), nil
	}
	return len(p), os.NewSyscallError("sendmsg", err)
}

// htons puts a number into network byte order.
func htons(n uint16) uint16 { return binary.NativeEndian.Uint16([]byte{byte(n >> 8), byte(n)}) }
