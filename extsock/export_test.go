package extsock

import (
	"github.com/rddp/rddp/extsock/internal/startup"
)

// FallbackCounts is what the process has counted.
func FallbackCounts() map[FallbackReason]uint64 {
	m := make(map[FallbackReason]uint64)
	for r, n := range startup.Fallbacks() {
		m[FallbackReason(r)] = n
	}
	return m
}

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
