package extsock

import (
	"context"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/rdmap"
)

// Buffer returns the Tagged Buffer of r.
func Buffer(r Region) *ddp.Region { return r.r }

// DefaultMemory is the limit of SetMemoryLimit at the start, in octets.
const DefaultMemory = driver.DefaultMemoryLimit

// The errors that tests tell apart and programs need not.
var (
	ErrIdleTimeout   = driver.ErrIdleTimeout
	ErrWriteTimeout  = driver.ErrWriteTimeout
	ErrAnswered      = startup.ErrAnswered  // a Request has been accepted or rejected before
	ErrNoRequest     = startup.ErrNoRequest // the peer closed before its MPA Request was whole
	ErrHalfOpen      = startup.ErrHalfOpen
	ErrDelayed       = startup.ErrDelayed
	ErrByteStream    = errByteStream
	ErrReceiveOwner  = errReceiveOwner
	ErrPrivateData   = errPrivateData
	ErrMessageLength = errMessageLength
	ErrMemory        = errMemory
	ErrRange         = errRange
)

// StopCapture ends the capture of c, whatever call began it.
func StopCapture(c *Conn) { c.stopTap(c.taps.Recording()) }

// Types of fallbacks and panics, for tests.
type (
	PanicError     = panicError
	FallbackError  = fallbackError
	FallbackReason = startup.Reason
)

const (
	FallbackNoReply      = startup.NoReply
	FallbackNotMPA       = startup.NotMPA
	FallbackTimedOut     = startup.TimedOut
	FallbackRemembered   = startup.Remembered
	FallbackPlainPeer    = startup.PlainPeer
	FallbackSniffTimeout = startup.SniffTimeout
)

// FallbackCounts returns the fallbacks that the process has counted.
func FallbackCounts() map[FallbackReason]uint64 { return startup.Fallbacks() }

// Remembered returns how many addresses d remembers.
func Remembered(d *Dialer) int { return d.known.Len() }

// ResetPanics forgets the panics that a test has caused on purpose.
func ResetPanics() {
	counters.ForgetPanics()
	panics.Forget()
}

// Len returns the number of Completions in the queue.
func (q *CompletionQueue) Len() int { return q.done.Len() }

// Swap is the atomic of Post for which RemoteMemory has no method.
func Swap(ctx context.Context, m *RemoteMemory, off int64, word uint64) (uint64, error) {
	return m.atomic(ctx, rdmap.WorkRequest{Op: rdmap.WorkSwap, Operand: word}, off)
}

func driverOf(c *Conn) *driver.Driver {
	if s, ok := c.ddp.(*rsocket); ok {
		return s.Driver
	}
	return c.process.Driver
}

// IsLive reports whether c is in DDP mode and has not ended.
func IsLive(c *Conn) bool { return driverOf(c).Inspect().Live }

// MemoryTaken returns how many octets of SetMemoryLimit are in use.
func MemoryTaken() int64 { return driver.MemoryInUse() }

// Unread returns how many octets c holds of unread messages.
func Unread(c *Conn) int64 { return driverOf(c).Inspect().Unread }

// Held returns how many octets c holds of messages and grants, counted one by one, and whether c is
// open.
func Held(c *Conn) (n int64, live bool) {
	x := driverOf(c).Inspect()
	return x.Held, x.Live
}

// MemoryReserved returns how many octets of SetMemoryLimit are in use or reserved.
func MemoryReserved() int64 { return driver.MemoryReserved() }

// Window returns the maximum number of messages for which the peer of c has credits.
func Window(c *Conn) int { return driverOf(c).Window() }

// Driving reports whether a Read of c receives for itself.
func Driving(c *Conn) bool { return driverOf(c).Inspect().Driving }

// Waiting reports whether a Read of c waits for octets.
func Waiting(c *Conn) bool { return driverOf(c).Inspect().Waits }

// BacklogSize is how many connections may be seated in a backlog, BacklogSeated how many are, and
// BacklogLen how many are in it.
const BacklogSize = backlogSize

func BacklogLen(l *Listener) int {
	l.backlog.mu.Lock()
	defer l.backlog.mu.Unlock()
	return l.backlog.waiting.Len()
}

func BacklogSeated(l *Listener) int {
	l.backlog.mu.Lock()
	defer l.backlog.mu.Unlock()
	return l.backlog.seated
}

// Accepts reports whether l accepts from the listener below, or does so as soon as the program
// calls Accept.
func Accepts(l *Listener) bool {
	if l.backlog == nil {
		return true
	}
	l.backlog.mu.Lock()
	defer l.backlog.mu.Unlock()
	return l.backlog.accepting
}

// Outgoing returns how many messages of an rsockets connection TCP has not taken, as far as the
// connection knows.
func Outgoing(c *Conn) int {
	s := c.ddp.(*rsocket)
	s.mu.Lock()
	defer s.mu.Unlock()
	return int(s.tail - s.head)
}

// SendNow is the part of a Write of n bytes over rsockets that comes after it has found room.
func SendNow(c *Conn, n int) (sent bool, err error) {
	return c.ddp.(*rsocket).send(bufpool.GetChunk(n))
}

// BacklogHasRoom reports whether a backlog accepts another connection, with this number of calls of
// Accept under way and of seated connections. shared says that another process may accept them too.
func BacklogHasRoom(shared bool, calls, seated int) bool {
	b := &backlog{}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.shared, b.calls, b.seated = shared, calls, seated
	return b.hasRoom()
}

// RecvLimits returns what RecvDepth and RecvSize of the Config mean.
func RecvLimits(c *Conn) (depth, size int) { return c.cfg.recvDepth(), c.cfg.recvSize() }
