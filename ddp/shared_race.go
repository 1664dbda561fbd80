//go:build race

package ddp

import "sync"

// A sharedMutex lets one copy at a time into or out of a Region's memory. A peer that reads and writes the same octets at once
// breaks no rule, gets what it gets, and is no fault of the program that the race detector looks at.
type sharedMutex struct{ sync.Mutex }

func (m *sharedMutex) RLock()         { m.Lock() }
func (m *sharedMutex) RUnlock()       { m.Unlock() }
func (m *sharedMutex) TryRLock() bool { return m.TryLock() }
