package extsock

import (
	"io"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// An engine carries out the program's calls on a connection. There are four: tcpMode, and in DDP
// mode inProcess, onDevice and rsocket. Each returns the errors that the methods of Conn return. If
// an engine cannot do something, its method returns an error that says so. Any goroutine may call
// the methods.
//
// Conn.enter returns the engine for a call that uses the connection. Startup counts the calls of
// TCP mode, so the methods of tcpMode end them with startup.Leave.
type engine interface {
	// read is Conn.Read. If m is not nil, it gets what Conn.ReadMessage returns.
	read(p []byte, m *rdmap.Completion) (int, error)
	write(p []byte) (int, error)
	readFrom(r io.Reader) (int64, error)
	writeTo(w io.Writer) (int64, error)
	rawRead(r rawConn, f func(fd uintptr) (done bool)) error
	rawWrite(r rawConn, f func(fd uintptr) (done bool)) error
	closeRead() error
	closeWrite() error
	awaitEnd(limit *wait.Deadline) error

	// deadlineSet interrupts the calls that must look at d, a deadline of the connection that has
	// just been set.
	deadlineSet(d *wait.Deadline)
	// register is Conn.Register, and share is Memory.Share.
	register(b []byte, access ddp.Access) (Region, error)
	share(m *Memory) (Region, error)
	// mayTap returns why a Tap cannot see the bytes of the connection, or nil.
	mayTap() error

	device() string // the name of the RDMA device; "" in this process
	IsByteStream() bool
	Counts() *counters.Counters
}

// A ddpEngine is the engine of a connection in DDP mode.
type ddpEngine interface {
	engine

	// Start is called once, and Receive once after it, in a goroutine that may stay there until the
	// connection is over. owner is what counters.AllOpen returns for the connection.
	Start(owner counters.Owner)
	Receive()
	// StandsBy reports whether Receive need not be called, because the engine receives without a
	// goroutine of its own, or begins one when it needs it.
	StandsBy() bool

	// Post and PostBatch are those of Conn, and do runs one operation of a RemoteMemory.
	Post(wr *rdmap.WorkRequest) error
	PostBatch(wrs []rdmap.WorkRequest) (int, error)
	do(wr rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) (rdmap.Completion, error)

	// close is Conn.Close. With abort the peer learns that data is lost. Kill ends the connection
	// at once: in process, Reads still get what is unread, and on a device it is discarded.
	close(abort bool) error
	Kill(err error)

	// describe writes to the trace how the connection reads and writes.
	describe(t *observe.Trace)
	TraceTerminate()
}

var (
	_ engine    = tcpMode{}
	_ ddpEngine = (*inProcess)(nil)
	_ ddpEngine = (*onDevice)(nil)
	_ ddpEngine = (*rsocket)(nil)
)

// engine returns the present engine of the connection.
func (c *Conn) engine() engine {
	if c.inDDPMode() {
		return c.ddp
	}
	return tcpMode{here{c}}
}

// inDDPMode reports whether the engine is one of DDP mode.
func (c *Conn) inDDPMode() bool {
	p := c.startup.Phase()
	return p == startup.DDP || p == startup.Terminating
}

// isByteStream reports whether Read and Write of a connection in DDP mode are a byte stream.
func (c *Conn) isByteStream() bool { return c.engine().IsByteStream() }

// sends reports whether op would use one of the receive buffers of a byte stream's peer.
func sends(op rdmap.WorkOp) bool {
	return op == rdmap.WorkSend || op == rdmap.WorkSendInvalidate || op == rdmap.WorkImmediate
}

// describeStream is describe for a byte stream of package bytestream. longest is the maximum number
// of bytes of data in one of its messages, and window is how many messages the peer may send.
func (c *Conn) describeStream(t *observe.Trace, longest, window int) {
	t.Info("byte stream", "send_credits", int(c.peer.Load().Capabilities.Credits), "send_size", longest,
		"recv_credits", window, "recv_size", c.cfg.recvSize())
}

// describeMessages is describe for message mode.
func (c *Conn) describeMessages(t *observe.Trace) {
	caps := &c.peer.Load().Capabilities
	t.Info("messages", "send_credits", int(caps.Credits), "send_size", int64(caps.MaxMessage),
		"recv_credits", c.cfg.recvDepth(), "recv_size", c.cfg.recvSize())
}
