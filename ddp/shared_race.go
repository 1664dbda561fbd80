//go:build race

package ddp

import "sync"

// A sharedRWMutex lets one copy at a time into or out of a Region's memory. A peer that reads and writes the same octets at once
// breaks no rule, gets what it gets, and is no fault of the program that the race detector looks at.
type sharedRWMutex struct{ sync.Mutex }

func (m *sharedRWMutex) RLock()         { m.Lock() }
func (m *sharedRWMutex) RUnlock()       { m.Unlock() }
func (m *sharedRWMutex) TryRLock() bool { return m.TryLock() }
