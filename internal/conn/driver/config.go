package driver

import (
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A Config has what New needs to make a Driver.
type Config struct {
	Closed *wait.Latch // Conn.Close sets it; nil: nothing does
	// Background counts the stream, which is open. The Driver ends the stream's count when the
	// connection is over, and counts its own goroutines. nil: nothing waits for them.
	Background *wait.Background

	Taps      *observe.Taps // nil: none
	MaxFPDU   int           // as Config.MaxFPDU of package extsock
	LargeFPDU bool          // the peer takes FPDUs longer than its segments
	Fenced    bool          // this end is the Responder: see streamSender
	// NoEarlyPlacement is as in Config of package extsock.
	NoEarlyPlacement bool
	StandsBy         bool          // home leaves the role as soon as it can: the program reads, or will
	Shared           bool          // the application's receive buffers come from a shared receive queue
	Agreement        mpa.Agreement // the result of startup

	Stream toe.Stream // without deadlines that are set
	QP     *rdmap.QP  // New starts it with Start
	Start  rdmap.StartParams
	// SendBells and RecvBells are the doorbells of QP's completion queues. nil means that the queue
	// has none.
	SendBells, RecvBells *Doorbells

	Receive *ReceiveConfig // nil if the application posts the receive buffers

	CloseTimeout time.Duration
	WriteTimeout time.Duration // 0: none
	IdleTimeout  time.Duration // 0: none
	Crossover    int           // as Config.Crossover of package extsock
	PollTime     time.Duration // as Config.PollTime of package extsock

	Trace   *observe.Trace // nil: no trace
	Cause   error          // if not nil, the connection fails with this error at once
	Recover bool           // a panic becomes the error of the connection; otherwise it goes on
	// BadSTag is called when the peer has used an STag that it does not have. nil means that
	// nothing is called.
	BadSTag func()
	// Invalidated is called when a message of the peer that invalidates an STag has been handled.
	// nil means that nothing is called.
	Invalidated func(s ddp.STag)
}

// A ReceiveConfig says how a connection receives for Read.
type ReceiveConfig struct {
	Depth  int           // the maximum number of unread messages
	Size   int           // the maximum length of a message, in bytes
	Stream *StreamConfig // nil: message mode
	// Longest is LongestMessage of package conn. Only message mode uses it.
	Longest func(before uint32, whole bool) int
	// Words says that the messages belong to a protocol above the driver, and are not the program's
	// data: Close discards them without a reset.
	Words bool
}
