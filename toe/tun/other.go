//go:build !linux

package tun

import "errors"

// A Device is a TUN device. Its methods may be called by several goroutines at once.
type Device struct{ mtu int }

// Open returns errors.ErrUnsupported on this system.
func Open(cfg Config) (*Device, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	return nil, errors.ErrUnsupported
}

// Read waits for the next packet.
func (d *Device) Read(p []byte) (n int, err error) { return 0, errors.ErrUnsupported }

// Write gives the packet p to the kernel.
func (d *Device) Write(p []byte) (n int, err error) { return 0, errors.ErrUnsupported }

// Close removes the interface.
func (d *Device) Close() error { return errors.ErrUnsupported }

// MTU returns the maximum length of a packet in bytes.
func (d *Device) MTU() int { return d.mtu }

// Name returns the name of the interface.
func (d *Device) Name() string { return "" }

// A Namespace is a network namespace.
type Namespace struct{}

// NewNamespace returns errors.ErrUnsupported on this system.
func NewNamespace() (*Namespace, error) { return nil, errors.ErrUnsupported }

// Do returns errors.ErrUnsupported on this system.
func (n *Namespace) Do(f func() error) error { return errors.ErrUnsupported }

// Close releases the namespace.
func (n *Namespace) Close() error { return errors.ErrUnsupported }
