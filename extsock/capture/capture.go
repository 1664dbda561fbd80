// Package capture records connections of package extsock in a file that Wireshark and rddp dump
// read, without any privilege. A program that imports extsock alone does not link it.
//
//	w, err := capture.NewWriter(file)
//	stop, err := w.Start(conn)          // from now on, until stop or w.Close
//	cfg := &extsock.Config{Tap: w.Tap}  // or every connection of cfg, from its first byte
package capture

import (
	"io"
	"net"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/pcapng"
	"github.com/rddp/rddp/toe"
)

// A Writer writes the bytes of connections to a file in pcapng format.
//
// The Ethernet, IP and TCP headers in the file are made up; they show an ideal network. The
// addresses are made up if a connection has no IP addresses, or if both its ends are in the same
// file. The times, in nanoseconds, are when bytes were handed to TCP or read from it.
//
// All methods may be called from any goroutine. The goroutine that sends or receives bytes also
// writes them to the file, so a slow file makes connections slow. If writing fails, the connections
// go on, nothing more is written, and Flush and Close return the first error.
type Writer struct{ w *pcapng.Writer }

// NewWriter begins a capture and writes the file's header to w. The Writer does not close w: the
// caller closes w after it has closed the Writer.
func NewWriter(w io.Writer) (*Writer, error) {
	writer, err := pcapng.NewWriter(w)
	if err != nil {
		return nil, err
	}
	return &Writer{writer}, nil
}

// Tap is a function for [extsock.Config].Tap. Every connection of that Config is then recorded from
// its first byte, as if Start had been called before it. Close ends these recordings.
func (w *Writer) Tap(local, remote net.Addr, initiator bool) toe.Tap {
	return w.w.Flow(local, remote, initiator)
}

// Start records all bytes of c from now on, as [extsock.Conn.StartTap] describes. stop ends the
// recording. If nothing can be recorded any more, the error is that of writing the file, or
// os.ErrClosed after Close. All other errors are StartTap's.
//
// A recording can always be decoded: it begins with the startup frames. Markers are counted from
// the first byte after startup. If the connection has markers and earlier FPDUs are missing, the
// recording begins with an FPDU that is made up: an RDMA Write with STag 0, whose payload says so.
func (w *Writer) Start(c *extsock.Conn) (stop func(), err error) {
	if err := w.w.Err(); err != nil {
		return nil, err
	}
	return c.StartTap(w.Tap)
}

// Flush writes the bytes that are buffered in memory, at most 64 KiB, to the file. It returns the
// first error of writing the file, if there was one.
func (w *Writer) Flush() error { return w.w.Flush() }

// Close writes the buffered bytes to the file and ends the capture. The connections go on, but are
// no longer recorded. Close returns the first error of writing the file, if there was one. Further
// calls return the same error.
func (w *Writer) Close() error { return w.w.Close() }
