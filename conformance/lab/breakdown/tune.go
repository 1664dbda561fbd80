package main

import (
	"errors"
	"net"
	"syscall"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// tune sets the sizes of the buffers of a connection.
func tune(c net.Conn, buffer int) error {
	if buffer == 0 {
		return nil
	}
	t := c.(*net.TCPConn)
	return errors.Join(t.SetReadBuffer(buffer), t.SetWriteBuffer(buffer))
}

// beginWith returns a function that sets the congestion control of a socket before the socket
// connects or listens, or nil if congestion is empty. A connection that changes it later may keep
// some behavior of the old one. Accepted connections inherit the listener's congestion control.
func beginWith(congestion string) func(network, address string, raw syscall.RawConn) error {
	if congestion == "" {
		return nil
	}
	return func(_, _ string, raw syscall.RawConn) (err error) {
		if e := raw.Control(func(fd uintptr) { err = setCongestion(int(fd), congestion) }); e != nil {
			return e
		}
		return err
	}
}

// touch makes the kernel allocate the pages of p now.
func touch(p []byte) {
	for i := 0; i < len(p); i += 4096 {
		p[i] = byte(i >> 12)
	}
}

// maxLatency is the longest time that a histogram holds, in nanoseconds.
const maxLatency = int64(10 * 60e9)

func newHistogram() *hdrhistogram.Histogram { return hdrhistogram.New(1, maxLatency, 3) }
