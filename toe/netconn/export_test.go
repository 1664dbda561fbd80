package netconn

import "github.com/rddp/rddp/toe"

// SendSize is the size of a send buffer in bytes, for tests.
const SendSize = sendSize

// ErrKeyUpdates is errKeyUpdates, for tests.
var ErrKeyUpdates = errKeyUpdates

// Idle reports, for tests, whether s, a stream made by New or NewBuffered, has neither a send buffer
// nor a goroutine.
func Idle(s toe.Stream) bool {
	x := s.(*stream)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.buf == nil && x.sealed.buf == nil && !x.feeding
}
