package extsock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
)

// These are the errors of this package. Methods return them inside a *net.OpError, so programs test
// for them with errors.Is. Errors of the layers below are inside a *net.OpError too: *mpa.Error,
// *mpa.RejectError, *rdmap.TerminateError, rdmap.ErrQueueFull and so on. Some conditions are known
// by errors of the standard library:
//
//	syscall.EMSGSIZE        private data does not fit into an MPA Request or Reply (see Config.PrivateData),
//	                        or a Write in message mode is longer than the peer's receive buffers. Nothing has
//	                        been sent
//	syscall.EPROTO          the peer broke a rule of the byte stream in DDP mode
//	errors.ErrUnsupported   the call is impossible here: memory of Go's heap, for example, cannot be registered
//	                        where an RDMA device runs the connection
var (
	// ErrMode means that the connection is not in the mode that the call needs:
	//
	//   - The verbs need DDP mode.
	//   - EnableDDP needs TCP mode, and so does the Write of SyscallConn. A connection in DDP mode
	//     does not return to it.
	//   - Sends and Immediate Data need message mode (Config.Messages), because they would disturb
	//     a byte stream.
	//   - Read needs receive buffers that the connection posts, and PostRecv needs a receive queue
	//     that the program owns. A connection has only one of the two.
	ErrMode = startup.ErrMode
	// ErrBusy means that something on the connection is in the way. The switch to DDP mode cannot
	// begin during a Read, a Write or another switch, because bytes of the startup could get into
	// them. Nor can the Initiator begin it while data of the peer waits to be read. In all these
	// cases nothing has been sent, and the connection is still in TCP mode. Options cannot change
	// during a switch, and the depth of the receive queue cannot change once the queue exists.
	// StartTap cannot show a connection to two Taps at once.
	ErrBusy = startup.ErrBusy
	// ErrNotMPA means that the peer sent something other than an MPA frame. Perhaps it has not
	// switched, or it was still sending its own data, or it does not know MPA.
	ErrNotMPA = startup.ErrNotMPA
	// ErrNoReply means that the peer closed the connection instead of answering the MPA Request.
	ErrNoReply = startup.ErrNoReply
	// ErrPlainTCP means that a connection that preferred DDP mode is plain TCP. The connection is
	// usable. ConnectionState.Fallback is such an error, and ReceiveRequest returns one if the peer
	// does not send an MPA Request. Each also matches one of these reasons with errors.Is:
	//
	//	ErrNoReply                the peer closed the connection instead of sending an MPA Reply
	//	ErrNotMPA                 the peer sent something other than MPA
	//	os.ErrDeadlineExceeded    nothing came within Config.PreferTimeout or Config.SniffTimeout
	//
	// The reason may be that of an earlier connection: the Dialer remembered it and did not try DDP
	// mode. The error's text then says so. See Dialer.FallbackFor.
	ErrPlainTCP = errors.New("plain TCP")

	// ErrLimit means that the connection ended because of a limit on peers. The error's text says
	// which:
	//
	//   - Config.IdleTimeout: nothing was sent or received for that long.
	//   - Config.WriteTimeout: the peer's TCP accepted no data for that long.
	//   - Config.MaxHalfOpen: too many peers had not sent their MPA Request, and this one had
	//     waited longest at the address with most of them.
	//   - Config.BadSTagDelay: connections of the peer's address used so many bad STags that the
	//     delay is longer than HandshakeTimeout.
	//
	// The first two also match os.ErrDeadlineExceeded, and are timeouts as net.Error defines them.
	ErrLimit = wait.ErrLimit

	errNotPlain      = fmt.Errorf("%w: bytes moved past DDP would destroy the stream", ErrMode)
	errNotInDDP      = fmt.Errorf("%w: the connection is not in DDP mode", ErrMode)
	errByteStream    = fmt.Errorf("%w: a Send would disturb the byte stream; use Write, or message mode", ErrMode)
	errRSockets      = fmt.Errorf("%w: the connection speaks rsockets, whose peer has no use for verbs", ErrMode)
	errReceiveOwner  = fmt.Errorf("%w: the receive queue has another owner: use either Read or PostRecv", ErrMode)
	errPrivateData   = fmt.Errorf("private data: %w", syscall.EMSGSIZE)
	errMessageLength = fmt.Errorf("for the peer's receive buffers: %w", syscall.EMSGSIZE)
	// errMemory: a device accesses memory by its address, and Go guarantees the address of heap
	// memory for no longer than a call.
	errMemory    = fmt.Errorf("a device does not reach memory of Go's heap: %w", errors.ErrUnsupported)
	errRange     = fmt.Errorf("outside the remote memory: %w", syscall.EINVAL)
	errInitiator = fmt.Errorf("%w: this end is the MPA Initiator, which gets no Request", errors.ErrUnsupported)
)

// opError wraps err as package net does. It takes an error of the stream below out of its own
// wrapping, so that the result names the operation that the program called.
func (c *Conn) opError(op string, err error) error {
	if err == nil || err == io.EOF { //nolint:errorlint // io.EOF is returned as it is, like TCP's
		return err
	}
	if !c.ok() {
		return syscall.EINVAL
	}
	if e, ok := err.(*net.OpError); ok { //nolint:errorlint // only if err itself is one
		if e.Op == op {
			return err
		}
		err = e.Err
		if s, ok := err.(*os.SyscallError); ok { //nolint:errorlint // package net wraps it so
			err = s.Err
		}
	}
	if errno, ok := err.(syscall.Errno); ok && (op == "read" || op == "write") { //nolint:errorlint // only if nothing wraps it
		err = os.NewSyscallError(op, errno)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		err = wait.Timeout(err)
	}
	return &net.OpError{Op: op, Net: c.network(), Source: c.LocalAddr(), Addr: c.RemoteAddr(), Err: err}
}

// network returns the network of the connection, as package net names it in errors.
func (c *Conn) network() string {
	if a := c.LocalAddr(); a != nil {
		return a.Network()
	}
	return "rddp"
}

// afterReset returns err as TCP reports a reset: the first call returns ECONNRESET, later Reads
// return io.EOF, and later Writes EPIPE. But the first Read returns ECONNRESET in any case. Over
// TCP it returns io.EOF if a Write came first, and a program that reads in another goroutine then
// takes the bytes that it has read for all of them.
func (c *Conn) afterReset(err error, write bool) error {
	if !errors.Is(err, syscall.ECONNRESET) {
		return err
	}
	switch told := c.resetTold.Swap(true); {
	case told && write:
		return syscall.EPIPE
	case !write && c.resetRead.Swap(true):
		return io.EOF
	}
	return err
}
