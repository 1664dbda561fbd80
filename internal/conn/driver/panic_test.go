package driver

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A sabotage is a Stream that calls before once, in the goroutine that is about to write, and
// closing when it is closed.
type sabotage struct {
	toe.Stream
	before, closing func()
}

func (s *sabotage) Close() error {
	s.closing()
	return s.Stream.Close()
}

func (s *sabotage) TryWriteBatch(bufs [][]byte) (int, error) {
	if f := s.before; f != nil {
		s.before = nil
		f()
	}
	return s.Stream.TryWriteBatch(bufs)
}

// setSender replaces the sender of a byte stream, and returns the one before.
//
// +checklocksignore: the goroutine that writes a batch has locked the byte stream
func (s *byteStream) setSender(tx bytestream.Sender) (before bytestream.Sender) {
	before, s.tx = s.tx, tx
	return before
}

// TestPanicWhileABatchIsSent: a panic while the messages of a batch complete ends the connection,
// and leaves the byte stream unlocked for the goroutines that end it.
func TestPanicWhileABatchIsSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		s := &sabotage{Stream: sa}
		a, b, end := streamPair(s, sb)
		synctest.Wait()
		s.before = func() {
			tx := a.bytes.setSender(bytestream.Sender{}) // knows no message that could have been sent
			s.closing = func() { a.bytes.setSender(tx) } // what follows a panic
		}
		a.Write(make([]byte, 8), nil)
		if n := a.count.Load(counters.Panics); n != 1 {
			t.Fatalf("%d panics, want 1", n)
		}
		if !a.bytes.mu.TryLock() {
			t.Fatal("the byte stream is locked")
		}
		a.bytes.mu.Unlock() // +checklocksignore: the analyzer does not know TryLock
		if _, err := a.Write(make([]byte, 8), nil); err == nil {
			t.Error("a Write after the panic succeeds")
		}
		end(a)
		end(b)
		time.Sleep(time.Minute)
	})
}
