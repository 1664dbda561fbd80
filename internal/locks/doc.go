// Package locks provides mutexes with ranks. The ranks define the order in which a goroutine may
// lock them: rank.go lists them, outermost first.
//
// In a normal build [Mutex] and [RWMutex] are those of package sync, and [Acquired] and [Released]
// do nothing. A race build records each goroutine's locks. A goroutine panics with "BUG: " and both
// names if it locks a mutex whose rank does not come after the ranks of all mutexes that it holds,
// even if the two never wait for each other. A goroutine also panics if it unlocks a mutex that it
// has not locked.
//
// Locks of one rank can form a tree: LockNested locks one while the goroutine holds the lock of the
// root, which has the same rank. Only the root's lock is recorded, and represents all of them: it
// is locked first and unlocked last. The package that owns the tree must make sure that all
// goroutines lock it downward, so that they do not deadlock.
//
// TryLock does not wait, so it may come in any order. A lock that it has taken counts as held.
//
// A race build also counts how often each rank is locked: see Counts.
//
// Recording a lock is not a synchronization for the race detector, which sees the same races as
// with the mutexes of package sync.
package locks
