package extsock

import (
	"io"
	"net"

	"github.com/rddp/rddp/extsock/internal/observe"
	"github.com/rddp/rddp/internal/pcapng"
)

// A Capture writes the bytes of connections to a file in pcapng format, which Wireshark and rddp
// dump read.
//
// The Ethernet, IP and TCP headers in the file are made up; they show an ideal network. The
// addresses are made up if a connection has no IP addresses, or if both its ends are in the same
// Capture. The times, in nanoseconds, are when bytes were handed to TCP or read from it.
//
// All methods may be called from any goroutine. The goroutine that sends or receives bytes also
// writes them to the file, so a slow file makes connections slow. If writing fails, the connections
// go on, nothing more is written, and Flush and Close return the first error.
type Capture struct{ w *pcapng.Writer }

// NewCapture begins a capture and writes the file's header to w. The Capture does not close w: the
// caller closes w after it has closed the Capture.
func NewCapture(w io.Writer) (*Capture, error) {
	writer, err := pcapng.NewWriter(w)
	if err != nil {
		return nil, err
	}
	return &Capture{writer}, nil
}

// Tap is a function for Config.Tap. Every connection of that Config is then captured from its first
// byte, as if StartCapture had been called before it. Capture.Close ends these captures.
func (cp *Capture) Tap(local, remote net.Addr, initiator bool) Tap {
	return cp.w.Flow(local, remote, initiator)
}

// Flush writes the bytes that are buffered in memory, at most 64 KiB, to the file. It returns the
// first error of writing the file, if there was one.
func (cp *Capture) Flush() error { return cp.w.Flush() }

// Close writes the buffered bytes to the file and ends the capture. The connections go on, but are
// no longer recorded. Close returns the first error of writing the file, if there was one. Further
// calls return the same error.
func (cp *Capture) Close() error { return cp.w.Close() }

// StartCapture records all bytes of the connection in cp from now on, in either mode and during
// startup. stop ends the recording between two FPDUs. It may be called more than once, and does
// nothing if the connection is then in another capture.
//
// A connection can be in one Capture at a time; otherwise the error is ErrBusy. After stop the
// connection can be captured again, in any Capture, where it appears as a new connection. After
// Close the error is net.ErrClosed. If cp has failed, StartCapture returns its error, which is
// os.ErrClosed after cp.Close.
//
// A recording can always be decoded. It begins with the startup frames, which each connection keeps
// for this purpose (20 bytes each, and the private data). It contains only whole FPDUs. An FPDU
// that has arrived in part is recorded when its rest arrives, or in part at the end of the
// connection.
//
// Markers are counted from the first byte after startup. If the connection has markers and earlier
// FPDUs are missing, the recording begins with an FPDU that is made up: an RDMA Write with STag 0,
// whose payload says so.
//
// An offload engine stops; see Config.NoOffload. What it has taken apart before is not recorded.
//
// When a connection has failed, it still reads bytes to discard them. These bytes are not recorded.
func (c *Conn) StartCapture(cp *Capture) (stop func(), err error) {
	if c.isClosed() {
		return nil, c.opError("capture", net.ErrClosed)
	}
	f, err := c.taps.Start(cp.w, c.LocalAddr(), c.RemoteAddr(), c.initiator)
	if err == observe.ErrCaptured { //nolint:errorlint // as Taps.Start returns it
		err = ErrBusy
	}
	if err != nil {
		return nil, c.opError("capture", err)
	}
	if c.inDDPMode() {
		c.stream.Disengage() // the engine would keep the bytes of TCP from the capture
	}
	c.trace.Info("capture starts")
	return func() { c.stopCapture(f) }, nil
}

// stopCapture ends the recording in f, if it is still running.
func (c *Conn) stopCapture(f *pcapng.Flow) {
	if c.taps.Stop(f) {
		c.trace.Info("capture stops")
	}
}
