//go:build race

package locks

import "sync"

// A Mutex is a sync.Mutex of rank R.
type Mutex[R Rank] struct{ mu sync.Mutex }

// Lock locks m. It panics if this goroutine holds a lock whose rank is R or comes after R.
func (m *Mutex[R]) Lock() {
	note[R](true)
	m.mu.Lock()
}

// TryLock tries to lock m, in any order.
func (m *Mutex[R]) TryLock() bool {
	ok := m.mu.TryLock()
	if ok {
		note[R](false)
	}
	return ok
}

// Unlock unlocks m, which this goroutine has locked.
func (m *Mutex[R]) Unlock() {
	m.mu.Unlock()
	Released[R]()
}

// An RWMutex is a sync.RWMutex of rank R. A goroutine that holds it for reading must not lock it
// again.
type RWMutex[R Rank] struct{ mu sync.RWMutex }

// Lock locks m like Mutex.Lock.
func (m *RWMutex[R]) Lock() {
	note[R](true)
	m.mu.Lock()
}

// TryLock tries to lock m, in any order.
func (m *RWMutex[R]) TryLock() bool {
	ok := m.mu.TryLock()
	if ok {
		note[R](false)
	}
	return ok
}

// Unlock unlocks m, which this goroutine has locked.
func (m *RWMutex[R]) Unlock() {
	m.mu.Unlock()
	Released[R]()
}

// RLock locks m for reading, in the same order as Lock.
func (m *RWMutex[R]) RLock() {
	note[R](true)
	m.mu.RLock()
}

// TryRLock tries to lock m for reading, in any order.
func (m *RWMutex[R]) TryRLock() bool {
	ok := m.mu.TryRLock()
	if ok {
		note[R](false)
	}
	return ok
}

// RUnlock unlocks m, which this goroutine has locked for reading.
func (m *RWMutex[R]) RUnlock() {
	m.mu.RUnlock()
	Released[R]()
}

// A nestable is a Mutex, an RWMutex or a struct that embeds one.
type nestable interface {
	lockNested()
	unlockNested()
}

func (m *Mutex[R]) lockNested() {
	nest[R]()
	m.mu.Lock()
}

func (m *Mutex[R]) unlockNested() { m.mu.Unlock() }

func (m *RWMutex[R]) lockNested() {
	nest[R]()
	m.mu.Lock()
}

func (m *RWMutex[R]) unlockNested() { m.mu.Unlock() }

// LockNested locks m while this goroutine holds another lock of the same rank, and panics if it
// holds none. It is for a tree of locks, which is locked from its root: see doc.go.
func LockNested(m nestable) { m.lockNested() }

// UnlockNested unlocks a lock that LockNested has locked.
func UnlockNested(m nestable) { m.unlockNested() }

// A CallOut is a call of the program's code, which must be made without locks: the code may use
// other connections, and even its own in some way. A race build asserts that the goroutine holds
// none except turns. Locks that the code takes are not ordered after these turns.
type CallOut struct{ base int }

// isTurn contains the ranks that may be held while the program's code is called. Only calls that
// must come after that call wait for them.
var isTurn = map[rank]bool{rankOf[ProxyEnd](): true, rankOf[Writer](): true, rankOf[Plain](): true}

// BeginCallOut begins a call of the program's code. It panics if this goroutine holds a lock.
func BeginCallOut() CallOut {
	base, inside, ok := callOut(goroutine())
	if !ok {
		panic("BUG: code of the program is called inside " + inside.String())
	}
	return CallOut{base}
}

// End ends the call, also after a panic.
func (c CallOut) End() { endCallOut(goroutine(), c.base) }

// Acquired records that this goroutine has got a lock that is not one of the above, such as a
// channel of capacity 1. It panics like Lock.
func Acquired[R Rank]() { note[R](true) }

// Released records that this goroutine has released such a lock, or is about to hand it to another
// goroutine. It panics if this goroutine does not hold one.
func Released[R Rank]() {
	if !release(goroutine(), rankOf[R]()) {
		panic("BUG: " + rankOf[R]().String() + " is unlocked by a goroutine that does not hold it")
	}
}

// nest counts a lock of rank R inside another one.
func nest[R Rank]() {
	if !countNested(goroutine(), rankOf[R]()) {
		panic("BUG: " + rankOf[R]().String() + " is nested, but not inside another " + rankOf[R]().String())
	}
}

// note records that this goroutine has got a lock, or is about to wait for it. If inOrder is set,
// the rank must come after the ranks of all locks that the goroutine holds.
func note[R Rank](inOrder bool) {
	if outer, ok := acquire(goroutine(), rankOf[R](), inOrder); !ok {
		panic("BUG: " + rankOf[R]().String() + " is locked inside " + outer.String() + ": see the order in internal/locks/rank.go")
	}
}
