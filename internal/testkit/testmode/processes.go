package testmode

import (
	"os"
	"strings"
)

// Hurry makes the processes that tests start from now on end at once under the race detector too:
// by default each of them waits for a second at its end if one of its goroutines is still there. A
// race that is found still changes the status of the process. A TestMain whose test binary is also
// the program of such processes calls Hurry.
func Hurry() {
	if !Race {
		return
	}
	if err := os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0")); err != nil {
		panic("BUG: " + err.Error()) // the name is a good one
	}
}
