//go:build !race

package ddp

import "github.com/rddp/rddp/internal/locks"

// A sharedRWMutex lets copies into and out of a Region's memory go on side by side: what they are to find there is up to
// whoever grants the memory.
type sharedRWMutex = locks.RWMutex[locks.Region]
