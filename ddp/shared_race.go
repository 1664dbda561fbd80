//go:build race

package ddp

import "github.com/rddp/rddp/internal/locks"

// A sharedRWMutex lets one copy at a time into or out of a Region's memory. A peer that reads and writes the same octets at once
// breaks no rule, gets what it gets, and is no fault of the program that the race detector looks at.
type sharedRWMutex struct{ locks.Mutex[locks.Region] }

func (m *sharedRWMutex) RLock()         { m.Lock() }
func (m *sharedRWMutex) RUnlock()       { m.Unlock() }
func (m *sharedRWMutex) TryRLock() bool { return m.TryLock() }
