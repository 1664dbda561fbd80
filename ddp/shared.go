//go:build !race

package ddp

import "sync"

// A sharedRWMutex lets copies into and out of a Region's memory go on side by side: what they are to find there is up to
// whoever grants the memory.
type sharedRWMutex = sync.RWMutex
