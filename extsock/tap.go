package extsock

import (
	"net"
	"syscall"

	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/toe"
)

// StartTap calls tap, a function for Config.Tap, and shows all bytes of the connection to its
// result from now on, in either mode and during startup. tap must not use the connection. If it
// returns nil, nothing is shown. stop ends this between two FPDUs. It may be called more than once,
// also by the Tap itself, and does nothing if the connection then has another Tap. stop does not
// wait for a call of the Tap that is under way: Closed follows when that call has returned.
//
// The Tap first sees the startup frames, which each connection keeps for this purpose (20 bytes
// each, and the private data). Then it sees only whole FPDUs: an FPDU that has arrived in part is
// shown when its rest arrives, or in part at the end of the connection.
//
// A connection can have one Tap of StartTap, or a capture as its Config.Tap; otherwise the error is
// ErrBusy. After stop it can have another one, and also after the capture's file has ended: its
// Writer is closed, or could not write. If an RDMA device runs the connection, this process does
// not see its bytes, and the error is errors.ErrUnsupported. When the connection has ended, the
// error is net.ErrClosed.
//
// In TCP mode a Read or Write under way is shown when it returns. If an io.Copy without a Tap lets
// the kernel move the bytes, the bytes on their way at this moment are not shown: what had arrived
// from the source, or at most 256 KiB of a file.
//
// When a connection has failed, it still reads bytes to discard them. These bytes are not shown.
func (c *Conn) StartTap(tap func(local, remote net.Addr, initiator bool) toe.Tap) (stop func(), err error) {
	if !c.ok() {
		return nil, syscall.EINVAL
	}
	if c.isClosed() {
		return nil, c.opError("capture", net.ErrClosed)
	}
	if err := c.engine().mayTap(); err != nil {
		return nil, c.opError("capture", err)
	}
	r, err := c.taps.Start(func() toe.Tap { return tap(c.LocalAddr(), c.RemoteAddr(), c.initiator) }, c.initiator)
	if err == observe.ErrTapped { //nolint:errorlint // as Taps.Start returns it
		err = ErrBusy
	}
	if err != nil {
		return nil, c.opError("capture", err)
	}
	if r == nil {
		return func() {}, nil
	}
	c.trace.Info("capture starts")
	return func() { c.stopTap(r) }, nil
}

// stopTap ends the recording r, if it is still running.
func (c *Conn) stopTap(r *observe.Recording) {
	if c.taps.Stop(r) {
		c.trace.Info("capture stops")
	}
}
