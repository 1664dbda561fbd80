// Package locks has mutexes with ranks. The ranks are the order in which a goroutine may lock them:
// rank.go lists them, outermost first.
//
// In a normal build [Mutex] and [RWMutex] are those of package sync, and [Acquired] and [Released]
// do nothing. In a race build each goroutine's locks are noted. A goroutine that locks a mutex
// whose rank does not come behind the ranks of all that it holds panics with "BUG: " and both
// names, whether the two ever wait for each other or not. So does a goroutine that unlocks what it
// has not locked.
//
// Locks of one rank can form a tree: LockNested locks one while the goroutine holds the lock of the
// root, which has the same rank. Only the root's lock is noted, and stands for all of them: it is
// locked first and unlocked last. That all goroutines lock a tree downwards, so that none waits for
// another, is for the package that has the tree to make sure.
//
// TryLock does not wait, so it may come in any order. What it has locked counts as held afterwards.
//
// A race build also counts how often each rank is locked: see Counts.
//
// Noting a lock orders nothing that the race detector looks at: it sees the same races as with the
// mutexes of package sync.
package locks
