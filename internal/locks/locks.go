//go:build !race

package locks

import "sync"

// A Mutex is a sync.Mutex of rank R.
type Mutex[R Rank] = sync.Mutex

// An RWMutex is a sync.RWMutex of rank R. A goroutine that holds it for reading must not lock it again.
type RWMutex[R Rank] = sync.RWMutex

// Acquired says that this goroutine has got a lock that is none of the above, such as a channel of capacity 1.
func Acquired[R Rank]() {}

// Released says that this goroutine has let go of it, or is about to hand it to another goroutine.
func Released[R Rank]() {}
