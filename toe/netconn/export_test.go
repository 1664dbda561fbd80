package netconn

import "github.com/rddp/rddp/toe"

// SendSize is the size of a send buffer in bytes, for tests.
const SendSize = sendSize

// ErrKeyUpdates is errKeyUpdates, for tests.
var ErrKeyUpdates = errKeyUpdates

// Idle reports, for tests, whether s, a stream made by New or NewBuffered, has neither a send
// buffer nor a goroutine.
func Idle(s toe.Stream) bool {
	x := s.(*stream)
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.out.buf == nil && x.sealed.buf == nil && !x.feeding
}

// HoldTurn takes the turn to write, for tests, like a write that is about to give TLS a record.
// write gives TLS p, and ends the turn.
func HoldTurn(s toe.Stream) (write func(p []byte) error) {
	x := s.(*stream)
	x.mu.Lock()
	defer x.mu.Unlock()
	if ok, err := x.takeTurn(false); !ok {
		panic(err)
	}
	return func(p []byte) error {
		_, err := x.conn.Write(p)
		x.mu.Lock()
		defer x.mu.Unlock()
		x.endTurn()
		return err
	}
}

// HoldsRecords reports whether a Stream over a wire holds the buffer for records. No goroutine may
// read.
func HoldsRecords(s toe.Stream) bool { return s.(*stream).wire.buf != nil }
