// Package nopanic is for the TestMain of packages that use extsock. An extended socket that panics
// only ends its connection, which a test might not notice.
package nopanic

import (
	"fmt"
	"os"

	"github.com/rddp/rddp/extsock"
)

// Code returns the exit code of a test binary: code, or failure if a connection has panicked.
func Code(code int) int {
	if n := extsock.TotalStats().Panics; n > 0 {
		fmt.Fprintf(os.Stderr, "FAIL: %d panics have ended connections; Config.Trace tells where\n", n)
		return max(code, 1)
	}
	return code
}

// Exit ends the process with Code(code). It fits goleak.Cleanup.
func Exit(code int) { os.Exit(Code(code)) }
