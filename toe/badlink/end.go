package badlink

import (
	"errors"
	"io"
	"net"
	"sync/atomic"
	"time"
)

// A Device carries whole IP packets, IPv4 or IPv6. An End is a Device, and so is a TUN device.
type Device interface {
	// Read waits for the next packet and copies it to p. After Close it returns net.ErrClosed or
	// io.EOF.
	Read(p []byte) (n int, err error)
	// Write sends one packet. It does not keep p.
	Write(p []byte) (n int, err error)
	// Close ends Reads and Writes that wait.
	Close() error
	// MTU returns the maximum length of a packet in bytes.
	MTU() int
}

var _ Device = (*End)(nil)

// An End is one end of a link. Its methods may be called by several goroutines at once.
type End struct {
	out, in *direction
	mtu     int
	closed  atomic.Bool
}

// Pipe makes a link in memory and returns its two ends. Packets written to one end can be read from
// the other. Pipe returns a *ConfigError if a field of cfg has a bad value. In a testing/synctest
// bubble the link must be made inside the bubble.
func Pipe(cfg Config) (a, b *End, err error) {
	if err := cfg.check(); err != nil {
		return nil, nil, err
	}
	mtu := cfg.MTU
	if mtu == 0 {
		mtu = defaultMTU
	}
	start := time.Now()
	ab := newDirection(start, cfg, mtu, 0, cfg.AB)
	ba := newDirection(start, cfg, mtu, 1, cfg.BA)
	ab.other, ba.other = ba, ab
	return &End{out: ab, in: ba, mtu: mtu}, &End{out: ba, in: ab, mtu: mtu}, nil
}

// Read waits for the next packet and copies it to p. If p is too short, Read returns
// io.ErrShortBuffer, and the packet stays the next one. Read returns net.ErrClosed after Close.
// After Close of the other end it returns io.EOF once all packets on their way have been read.
func (e *End) Read(p []byte) (n int, err error) { return e.in.read(p) }

// Write sends the packet p. It does not keep p, and never waits: if the queue is full, the packet
// is dropped, as a router does. Lost and dropped packets are not errors. Write returns
// ErrPacketLength if p is empty or longer than MTU, and net.ErrClosed after Close.
func (e *End) Write(p []byte) (n int, err error) {
	if len(p) == 0 || len(p) > e.mtu {
		return 0, ErrPacketLength
	}
	if err := e.out.write(p); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close ends this end: Reads that wait return net.ErrClosed, and unread packets are dropped.
// Packets written to this end still arrive at the other end. A second Close returns net.ErrClosed.
func (e *End) Close() error {
	if e.closed.Swap(true) {
		return net.ErrClosed
	}
	e.out.closeWriter()
	e.in.closeReader()
	return nil
}

// MTU returns the maximum length of a packet in bytes.
func (e *End) MTU() int { return e.mtu }

// SetFaults changes the faults of the packets that are written to this end from now on. It returns
// a *ConfigError, and changes nothing, if a field of f has a bad value. Packets in the link keep
// their times, and the numbering of packets continues.
func (e *End) SetFaults(f Faults) error {
	if err := f.check(""); err != nil {
		return err
	}
	e.out.set(f)
	return nil
}

// Stats returns the counts of the packets that were written to this end.
func (e *End) Stats() Stats { return e.out.snapshot() }

// isClosed reports whether err says that a device was closed.
func isClosed(err error) bool {
	return errors.Is(err, net.ErrClosed) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrClosedPipe)
}
