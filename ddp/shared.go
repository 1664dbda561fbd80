//go:build !race

package ddp

import "github.com/rddp/rddp/internal/locks"

// A sharedRWMutex lets several goroutines copy into and out of a Region's memory at once. The
// application that grants the access decides what a copy that overlaps another may find there.
type sharedRWMutex = locks.RWMutex[locks.Region]
