package usertcp

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// OpenTUN opens the TUN device name, and makes it if it does not exist: then it is gone when the Link
// is closed. The kernel's TCP is at the other end, with the addresses and routes that the program or
// the administrator gives the device. The device's MTU at this moment is that of the Link.
//
// OpenTUN needs the capability CAP_NET_ADMIN in the network namespace, unless the device exists and
// belongs to the user. The error names the capability if it is missing.
func OpenTUN(name string) (Link, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, deviceError("open", name, "CAP_NET_ADMIN", &os.PathError{Op: "open", Path: "/dev/net/tun", Err: err})
	}
	mtu, err := attachTUN(fd, name)
	if err != nil {
		unix.Close(fd)
		return nil, deviceError("open", name, "CAP_NET_ADMIN", err)
	}
	return &device{File: os.NewFile(uintptr(fd), name), mtu: mtu}, nil
}

// attachTUN makes fd the other end of the device name, and returns the MTU.
func attachTUN(fd int, name string) (mtu int, err error) {
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	ifr.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, ifr); err != nil {
		return 0, os.NewSyscallError("ioctl TUNSETIFF", err)
	}
	return interfaceMTU(name)
}

// interfaceMTU asks the kernel for the MTU of an interface.
func interfaceMTU(name string) (int, error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, os.NewSyscallError("socket", err)
	}
	defer unix.Close(fd)
	ifr, err := unix.NewIfreq(name)
	if err != nil {
		return 0, err
	}
	if err := unix.IoctlIfreq(fd, unix.SIOCGIFMTU, ifr); err != nil {
		return 0, os.NewSyscallError("ioctl SIOCGIFMTU", err)
	}
	return int(ifr.Uint32()), nil
}

// A device is a Link that is a file: one packet in each read and write.
type device struct {
	*os.File
	mtu int
}

func (d *device) MTU() int { return d.mtu }

// deviceError says which device cannot be used, and which capability is missing if one is.
func deviceError(op, name, capability string, err error) error {
	if errors.Is(err, os.ErrPermission) {
		return fmt.Errorf("usertcp: %s %s: %w (the process needs %s in this network namespace)", op, name, err, capability)
	}
	return fmt.Errorf("usertcp: %s %s: %w", op, name, err)
}
