//go:build !race

package locks

import "sync"

// A Mutex is a sync.Mutex of rank R.
type Mutex[R Rank] = sync.Mutex

// An RWMutex is a sync.RWMutex of rank R. A goroutine that holds it for reading must not lock it
// again.
type RWMutex[R Rank] = sync.RWMutex

// LockNested locks m, a Mutex or an RWMutex, while this goroutine holds another one of the same
// rank. It is for a tree of locks, which is locked from its root: see doc.go.
//
// +checklocksignore: it leaves m locked
func LockNested(m sync.Locker) { m.Lock() }

// UnlockNested unlocks a lock that LockNested has locked.
//
// +checklocksignore: it finds m locked
func UnlockNested(m sync.Locker) { m.Unlock() }

// A CallOut is a call of the program's code, which must be made without locks: the code may use
// other connections, and even its own in some way. A race build asserts that the goroutine holds
// none except turns. Locks that the code takes are not ordered after these turns.
type CallOut struct{}

// BeginCallOut begins a call of the program's code.
func BeginCallOut() CallOut { return CallOut{} }

// End ends the call, also after a panic.
func (CallOut) End() {}

// Acquired records that this goroutine has got a lock that is not one of the above, such as a
// channel of capacity 1.
func Acquired[R Rank]() {}

// Released records that this goroutine has released such a lock, or is about to hand it to another
// goroutine.
func Released[R Rank]() {}
