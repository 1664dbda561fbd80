package locks

import "testing"

// After Unlocked the mutex is locked, whether the function has panicked or not.
func TestUnlocked(t *testing.T) {
	var mu Mutex[Conn]
	for _, panics := range []bool{false, true} {
		func() {
			mu.Lock()
			defer mu.Unlock()
			defer func() {
				if value := recover(); (value != nil) != panics {
					t.Errorf("panic %v", value)
				}
				if mu.TryLock() {
					t.Error("the mutex is not locked")
				}
			}()
			Unlocked(&mu, func() {
				if !mu.TryLock() {
					t.Fatal("the mutex is locked during the call")
				}
				mu.Unlock()
				if panics {
					panic("in the call")
				}
			})
		}()
	}
}
