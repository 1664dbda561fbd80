package locks

import "testing"

// isFree reports whether mu is unlocked.
//
// +checklocksignore: the analyzer does not know TryLock
func isFree(mu *Mutex[Conn]) bool {
	if !mu.TryLock() {
		return false
	}
	mu.Unlock()
	return true
}

// After Unlocked the mutex is locked, whether or not the function panicked.
func TestUnlocked(t *testing.T) {
	for _, panics := range []bool{false, true} {
		var mu Mutex[Conn]
		if value := unlocked(t, &mu, panics); (value != nil) != panics {
			t.Errorf("panic %v", value)
		}
		if isFree(&mu) {
			t.Error("the mutex is not locked")
		}
		mu.Unlock() // +checklocksignore: unlocked has locked it
	}
}

// unlocked locks mu and calls Unlocked with a function that may panic. It returns the panic's
// value.
//
// +checklocksignore: it leaves mu locked
func unlocked(t *testing.T, mu *Mutex[Conn], panics bool) (value any) {
	mu.Lock()
	defer func() { value = recover() }()
	Unlocked(mu, func() {
		if !isFree(mu) {
			t.Error("the mutex is locked during the call")
		}
		if panics {
			panic("in the call")
		}
	})
	return nil
}
