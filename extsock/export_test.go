package extsock

import (
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
)

// Buffer returns the Tagged Buffer of r.
func Buffer(r Region) *ddp.Region { return r.r }

// DefaultMemory is the limit of SetMemoryLimit at the start, in octets.
const DefaultMemory = defaultMemoryLimit

// ErrAnswered means that a Request has been accepted or rejected before.
var ErrAnswered = errAnswered

// StopCapture ends the capture of c, whoever has begun it.
func StopCapture(c *Conn) { c.stopCapture(c.taps.flow.Load()) }

// What tests know of fallbacks.
type (
	FallbackError  = fallbackError
	FallbackReason = fallbackReason
)

const (
	FallbackNoReply      = fallbackNoReply
	FallbackNotMPA       = fallbackNotMPA
	FallbackTimedOut     = fallbackTimedOut
	FallbackRemembered   = fallbackRemembered
	FallbackPlainPeer    = fallbackPlainPeer
	FallbackSniffTimeout = fallbackSniffTimeout
)

// FallbackCounts is what the process has counted.
func FallbackCounts() []uint64 { c := fallbackCounts(); return c[:] }

// Remembered returns how many addresses d remembers.
func Remembered(d *Dialer) int {
	d.known.mu.Lock()
	defer d.known.mu.Unlock()
	return len(d.known.places)
}

// RaceEnabled says whether the race detector is on.
const RaceEnabled = raceEnabled

// Slow says that tests of many rounds are to do with fewer: under the race detector everything takes ten times as
// long, and -short is for machines that are emulated.
func Slow() bool { return raceEnabled || testing.Short() }

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

// MemoryTaken returns how many octets of SetMemoryLimit are in use.
func MemoryTaken() int64 { return common.taken.Load() - common.windows.Load() + common.filled.Load() }

// A Door is that of a Listener.
type Door struct{ d *door }

func NewDoor(cfg *Config) Door               { return Door{newDoor(cfg)} }
func (d Door) Penalize(a net.Addr)           { d.d.penalize(a) }
func (d Door) Wait(a net.Addr) time.Duration { return max(d.d.wait(a), 0) }
func (d Door) Remembered() int               { return len(d.d.until) }

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
