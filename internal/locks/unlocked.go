package locks

import "sync"

// Unlocked calls f without mu, which the caller holds. The caller holds mu again afterwards, also
// if f panics. A function with a deferred Unlock must not itself unlock and lock again: after a
// panic between the two, the deferred Unlock would be a fatal error, which recover cannot stop.
//
// +checklocksignore: it finds mu locked and leaves it so
func Unlocked(mu sync.Locker, f func()) {
	mu.Unlock()
	defer mu.Lock()
	f()
}
