package tun

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

// A Device is a TUN device. Its methods may be called by several goroutines at once.
type Device struct {
	file *os.File
	name string
	mtu  int
}

// Open makes the device that cfg describes and sets it up. Closing the Device removes the
// interface. Open needs CAP_NET_ADMIN in the user namespace of the network namespace.
func Open(cfg Config) (*Device, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Namespace == nil {
		return open(cfg)
	}
	var d *Device
	err := cfg.Namespace.Do(func() (err error) {
		d, err = open(cfg)
		return err
	})
	return d, err
}

// open opens the device in the network namespace of the current thread.
func open(cfg Config) (*Device, error) {
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fail("open of /dev/net/tun", "CAP_NET_ADMIN", err)
	}
	r, err := unix.NewIfreq(cfg.Name)
	if err == nil {
		r.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
		if err = unix.IoctlIfreq(fd, unix.TUNSETIFF, r); err != nil {
			err = fail("ioctl TUNSETIFF", "CAP_NET_ADMIN", err)
		}
	}
	if err == nil {
		err = setUp(r.Name(), cfg)
	}
	if err != nil {
		unix.Close(fd)
		return nil, err
	}
	return &Device{file: os.NewFile(uintptr(fd), "/dev/net/tun"), name: r.Name(), mtu: cfg.mtu()}, nil
}

// setUp gives the interface its addresses, its MTU and its queue, and switches it on.
func setUp(name string, cfg Config) error {
	s, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return fail("socket", "CAP_NET_ADMIN", err)
	}
	defer unix.Close(s)
	set := func(op string, request uint, value uint32) error {
		r, err := unix.NewIfreq(name)
		if err != nil {
			return err
		}
		if r.SetUint32(value); request == unix.SIOCSIFFLAGS {
			r.SetUint16(uint16(value))
		}
		return fail("ioctl "+op, "CAP_NET_ADMIN", unix.IoctlIfreq(s, request, r))
	}
	if err := set("SIOCSIFMTU", unix.SIOCSIFMTU, uint32(cfg.mtu())); err != nil {
		return err
	}
	if err := setQueueLen(name, cfg.queueLen()); err != nil {
		return err
	}
	if err := set("SIOCSIFFLAGS", unix.SIOCSIFFLAGS, unix.IFF_UP|unix.IFF_RUNNING); err != nil {
		return err
	}
	for _, p := range cfg.Addresses {
		if err := addAddress(name, p); err != nil {
			return fmt.Errorf("tun: address %v: %w", p, err)
		}
	}
	return nil
}

// fail returns err with the name of the system call, or nil if err is nil. If the process lacks a
// privilege, the result is a *PrivilegeError.
func fail(op, capability string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, unix.EPERM):
		return &PrivilegeError{op, capability, err}
	case errors.Is(err, unix.EACCES): // because of the permissions of a file
		return &PrivilegeError{op, "CAP_DAC_OVERRIDE", err}
	}
	return fmt.Errorf("tun: %s: %w", op, err)
}

// Read waits for the next packet and copies it to p, which must be at least MTU bytes long. If p is
// shorter, Read returns io.ErrShortBuffer and takes no packet. After Close it returns
// net.ErrClosed.
func (d *Device) Read(p []byte) (n int, err error) {
	if len(p) < d.mtu {
		return 0, io.ErrShortBuffer
	}
	n, err = d.file.Read(p)
	return n, closed(err)
}

// Write gives the packet p to the kernel, which drops a packet that is not valid. Write does not
// keep p. After Close it returns net.ErrClosed.
func (d *Device) Write(p []byte) (n int, err error) {
	n, err = d.file.Write(p)
	return n, closed(err)
}

// Close removes the interface. Reads and Writes that wait return net.ErrClosed.
func (d *Device) Close() error { return closed(d.file.Close()) }

// MTU returns the maximum length of a packet in bytes.
func (d *Device) MTU() int { return d.mtu }

// Name returns the name of the interface.
func (d *Device) Name() string { return d.name }

// closed returns net.ErrClosed in place of os.ErrClosed.
func closed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return net.ErrClosed
	}
	return err
}
