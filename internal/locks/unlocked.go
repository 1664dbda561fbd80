package locks

import "sync"

// Unlocked calls f without mu, which the caller holds. The caller holds mu again afterwards, also
// if f panics: a function that has a deferred Unlock must not unlock by hand and lock again,
// because a panic between the two would become the fatal error of the deferred Unlock, which no
// recover stops.
//
// +checklocksignore: it finds mu locked and leaves it so
func Unlocked(mu sync.Locker, f func()) {
	mu.Unlock()
	defer mu.Lock()
	f()
}
