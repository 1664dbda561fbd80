package netconn

import "github.com/rddp/rddp/toe"

// SendSize is for tests: the size of a send buffer, in octets.
const SendSize = sendSize

// Idle is for tests: it tells whether s, of NewBuffered, has neither a buffer
// nor a goroutine.
func Idle(s toe.Stream) bool {
	x := s.(*stream)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.buf == nil && !x.feeding
}
