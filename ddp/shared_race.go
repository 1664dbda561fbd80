//go:build race

package ddp

import "github.com/rddp/rddp/internal/locks"

// A sharedRWMutex lets one goroutine at a time copy into or out of a Region's memory. The protocol
// allows a peer to read and write the same bytes at once; the result is then unspecified. The race
// detector must not blame the program for it.
type sharedRWMutex struct{ locks.Mutex[locks.Region] }

func (m *sharedRWMutex) RLock()         { m.Lock() }
func (m *sharedRWMutex) RUnlock()       { m.Unlock() }
func (m *sharedRWMutex) TryRLock() bool { return m.TryLock() }
