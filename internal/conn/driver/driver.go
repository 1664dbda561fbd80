package driver

import (
	"sync/atomic"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/rdmap"
)

// A Driver moves one connection's data between its Stream and its queue pair. It is the only type
// that sees all the layers.
//
// On the way in, the home goroutine runs Receive and owns rx. But it may lend the receive role to a
// goroutine that waits in Read, see role, and ends then, until it is called: see homeCall.
//
// On the way out, no goroutine waits for work. A goroutine that has posted takes the transmit
// token, if the token is free, and writes everything that is queued. If another goroutine holds the
// token, that goroutine looks for new work after it has set the token free. The holder owns tx.
//
// A goroutine that takes the token in this way never waits for TCP. When the send buffer is full,
// the goroutine passes the token to a new goroutine, which writes the rest and ends when the queue
// is empty. So posting never blocks. Neither does Receive when it answers a Read; otherwise two
// peers with full windows would wait for each other.
//
// The fields that each message touches are adjacent, here and in the types of the fields. With many
// connections most of the time of a message is spent waiting for their cache lines.
//
// A method belongs to the part whose state it uses, and each part says which goroutine owns it. The
// methods of the Driver are for the layer above, or use several parts.
type Driver struct {
	qp    *rdmap.QP       // from cfg
	in    *lockedDelivery // messages that wait for Read; nil if the application posts the buffers
	bytes *byteStream     // nil in message mode

	rx     streamReceiver // the way in; the goroutine with the receive role owns it
	role   role           // which goroutine that is
	tx     streamSender   // the way out; the holder of the transmit token owns it
	count  counters.Counters
	writer streamWriter           // Write in stream mode
	freed  wait.Signal            // Work Requests have completed, so a queue may have room
	later  postponed              // what Post does not send at once
	end    ending                 // whether the connection ends, and why
	bound  readBound              // how long receiving goes on
	asking atomic.Pointer[asking] // a Look that waits for the home goroutine; nil: none
	idle   idle

	// background counts this connection's goroutines, and its stream until shut has closed it.
	background *wait.Background

	// recheck gets a value when the inbox has room or the connection ends. A goroutine that waits
	// for room then looks again.
	recheck wait.Cell

	blocking blocking
	calls    calls
}

// Receives reports whether the connection receives for Read. If it does, the application posts no
// receive buffers.
func (d *Driver) Receives() bool { return d.in != nil }

// IsByteStream reports whether the connection is in stream mode. Otherwise it is in message mode.
func (d *Driver) IsByteStream() bool { return d.bytes != nil }

// Window returns the maximum number of messages for which the peer of a byte stream has credits.
func (d *Driver) Window() int { return int(d.in.window.Load()) }

// Counts returns the counts of the connection, which the connection continues to change.
func (d *Driver) Counts() *counters.Counters { return &d.count }

// Longest returns the maximum number of bytes of data in one message of the byte stream.
func (d *Driver) Longest() int { return d.bytes.longest() }
