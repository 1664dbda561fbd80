package extsock

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/startup"
)

// Buffer returns the Tagged Buffer of r.
func Buffer(r Region) *ddp.Region { return r.r }

// DefaultMemory is the limit of SetMemoryLimit at the start, in octets.
const DefaultMemory = defaultMemoryLimit

// The errors that tests tell apart and programs need not.
var (
	ErrAnswered      = startup.ErrAnswered  // a Request has been accepted or rejected before
	ErrNoRequest     = startup.ErrNoRequest // the peer closed before its MPA Request was whole
	ErrHalfOpen      = startup.ErrHalfOpen
	ErrDelayed       = startup.ErrDelayed
	ErrByteStream    = errByteStream
	ErrReceiveOwner  = errReceiveOwner
	ErrPrivateData   = errPrivateData
	ErrMessageLength = errMessageLength
	ErrRange         = errRange
)

// StopCapture ends the capture of c, whoever has begun it.
func StopCapture(c *Conn) { c.stopCapture(c.taps.flow.Load()) }

// What tests know of fallbacks.
type (
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

// FallbackCounts is what the process has counted.
func FallbackCounts() map[FallbackReason]uint64 { return startup.Fallbacks() }

// Remembered returns how many addresses d remembers.
func Remembered(d *Dialer) int { return d.known.Len() }

// ForgetCrossovers has them measured anew.
func ForgetCrossovers() {
	crossovers.mu.Lock()
	defer crossovers.mu.Unlock()
	clear(crossovers.m)
}

// ResetPanics forgets the panics that a test has brought about on purpose.
func ResetPanics() {
	live.mu.Lock()
	defer live.mu.Unlock()
	live.ended.Panics = 0
	for p := range live.pumps {
		p.count.panics.Store(0)
	}
	startupPanics.Store(0)
}

// IsLive reports whether c is in DDP mode and has not ended. Counts of all connections of the process say less: connections of
// other tests may end at any time.
func IsLive(c *Conn) bool {
	live.mu.Lock()
	defer live.mu.Unlock()
	_, ok := live.pumps[c.verbs.pump]
	return ok
}

// MemoryTaken returns how many octets of SetMemoryLimit are in use.
func MemoryTaken() int64 { return common.taken.Load() - common.windows.Load() + common.filled.Load() }

// Unread returns how many octets c holds of unread messages.
func Unread(c *Conn) int64 {
	in := c.verbs.pump.in
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.memory.held
}

// BacklogSize is how many connections may wait for Accept, and BacklogLen how many do.
const BacklogSize = backlogSize

func BacklogLen(l *Listener) int {
	l.backlog.mu.Lock()
	defer l.backlog.mu.Unlock()
	return l.backlog.waiting.Len()
}
