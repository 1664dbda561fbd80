package tun

import (
	"fmt"
	"net/netip"
)

const (
	minMTU     = 68 // of IPv4 (RFC 791 §3.2); IPv6 needs 1280 (RFC 8200 §5)
	minMTU6    = 1280
	maxMTU     = 65535 // the kernel's limit for a TUN device
	maxName    = 15    // IFNAMSIZ less the final zero
	defaultMTU = 1500
	defaultLen = 1000
	maxLen     = 4 << 20 / 8 // the kernel has at most 4 MiB for pointers to them
)

// A Config describes a Device. The zero value is a device without an address in the namespace of
// the calling process.
type Config struct {
	// Name is the name of the interface, of at most 15 bytes. If it is empty, the kernel chooses
	// one such as tun0.
	Name string
	// Namespace is the network namespace of the interface. Nil means the namespace of the process.
	Namespace *Namespace
	// Addresses are the addresses of the kernel's end. Packets to all other addresses of their
	// prefixes go through the device.
	Addresses []netip.Prefix
	// MTU is the maximum length of a packet in bytes, from 68 to 65535, and at least 1280 with an
	// IPv6 address. Zero means 1500.
	MTU int
	// QueueLen is the maximum number of packets that wait for Read, at most 524,288. While that
	// many wait, the kernel drops further packets. Zero means 1000.
	QueueLen int
}

func (c Config) mtu() int {
	if c.MTU == 0 {
		return defaultMTU
	}
	return c.MTU
}

func (c Config) queueLen() int {
	if c.QueueLen == 0 {
		return defaultLen
	}
	return c.QueueLen
}

// check returns a *ConfigError if a field has a value that no device can have.
func (c Config) check() error {
	if len(c.Name) > maxName {
		return &ConfigError{"Name", fmt.Sprintf("%q is longer than %d bytes", c.Name, maxName)}
	}
	least := minMTU
	for _, p := range c.Addresses {
		if !p.IsValid() || p.Addr().Is4In6() || p.Addr().Zone() != "" {
			return &ConfigError{"Addresses", fmt.Sprintf("%v is no IPv4 or IPv6 prefix", p)}
		}
		if p.Addr().Is6() {
			least = minMTU6
		}
	}
	if m := c.mtu(); m < least || m > maxMTU {
		return &ConfigError{"MTU", fmt.Sprintf("%d is not in the range %d to %d", m, least, maxMTU)}
	}
	// The kernel uses 32 bits for it, and returns EPERM for more than maxLen, as if the privilege
	// were missing.
	if c.QueueLen < 0 || c.QueueLen > maxLen {
		return &ConfigError{"QueueLen", fmt.Sprintf("%d is not in the range 0 to %d", c.QueueLen, maxLen)}
	}
	return nil
}
