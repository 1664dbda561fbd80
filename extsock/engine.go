package extsock

import (
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// An engine runs a connection in DDP mode. The driver is the engine that does so in this process.
// Its methods say what each method here does. All but Start and Receive may be called from any
// goroutine.
type engine interface {
	// Start is called once, and Receive once after it, in a goroutine that may stay there until the
	// connection is over. owner is what counters.AllOpen returns for the connection.
	Start(owner any)
	Receive()

	// Receives reports whether the engine posts the receive buffers, for Read. IsByteStream reports
	// whether Read and Write are a byte stream; then Longest is how many bytes one of its messages
	// holds, and Window how many messages the peer has credits for.
	Receives() bool
	IsByteStream() bool
	Longest() int
	Window() int

	// Read, Write and Do wait. Interrupt has a Read that waits look at its deadline and at Close.
	ReadMessage(p []byte, limit *wait.Deadline, note *rdmap.Completion) (int, error)
	Write(p []byte, limit *wait.Deadline) (int, error)
	Do(wr *rdmap.WorkRequest, limit *wait.Deadline, canceled <-chan struct{}) (rdmap.Completion, error)
	Interrupt()
	// Look shows what a Read would return, at most len(p) bytes, without reading it.
	Look(p []byte, limit *wait.Deadline, show driver.Show) error

	Post(wr *rdmap.WorkRequest) error
	PostBatch(wrs []rdmap.WorkRequest, mayPost func(*rdmap.WorkRequest) error) (int, error)

	// CloseWrite, CloseRead and Close end the connection in order, or one of its ways. Kill ends it
	// at once; Reads of a driver still get what is unread, and on a device it is thrown away. Reset
	// is Kill for a program that closes: what is unread is thrown away.
	CloseWrite(err error)
	CloseRead()
	Close() error
	Kill(err error)
	Reset(err error)

	Counts() *counters.Counters
	TraceTerminate()
}

var _ engine = (*driver.Driver)(nil)
