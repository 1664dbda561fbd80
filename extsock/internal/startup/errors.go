package startup

import "errors"

// The errors of startup. Package extsock returns them to programs and documents them.
var (
	ErrHalfOpen = errors.New("too many half-open connections, and this is the oldest")
)
