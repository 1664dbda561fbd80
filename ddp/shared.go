//go:build !race

package ddp

import "github.com/rddp/rddp/internal/locks"

// A sharedRWMutex lets several copies into and out of a Region's memory go on at once. The application that
// grants the memory decides what a copy that overlaps another may find there.
type sharedRWMutex = locks.RWMutex[locks.Region]
