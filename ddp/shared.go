//go:build !race

package ddp

import "github.com/rddp/rddp/internal/locks"

// A sharedRWMutex lets several goroutines copy into and out of a Region's memory at once. If copies
// overlap, what they find there is up to the application that grants the access.
type sharedRWMutex = locks.RWMutex[locks.Region]
