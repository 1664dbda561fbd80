package testmode

import (
	"os"
	"strings"
)

// Hurry lets processes that tests start from now on exit at once under the race detector, too. By
// default they wait a second at exit if a goroutine is still running. A race still changes the exit
// status. A TestMain calls Hurry if tests start the test binary as another process.
func Hurry() {
	if !Race {
		return
	}
	if err := os.Setenv("GORACE", strings.TrimSpace(os.Getenv("GORACE")+" atexit_sleep_ms=0")); err != nil {
		panic("BUG: " + err.Error()) // the name is valid
	}
}
