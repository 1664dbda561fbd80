package driver

import (
	"errors"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// standing is a Stream that reads nothing for a minute once still is set.
type standing struct {
	toe.Stream
	still atomic.Bool
}

func (s *standing) ReadSegment(l toe.Lender, patience time.Duration) (n int, off uint64, err error) {
	if s.still.Load() {
		time.Sleep(time.Minute)
	}
	return s.Stream.ReadSegment(l, patience)
}

// TestDriveAfterClose checks that a Read that found no data before Close, and takes the role after
// Close, does not wait for the peer as Close does.
func TestDriveAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{Window: 4096}, simtoe.Config{Window: 4096})
		peer := &standing{Stream: sb}
		ci, cr, end := streamPair(sa, peer)
		var never, stop wait.Deadline
		answered := make(chan error, 1)
		go func() {
			p := make([]byte, 8)
			for range 50 {
				if _, err := cr.Read(p, &stop); err != nil {
					answered <- err
					return
				}
				synctest.Wait() // a Read that finds the answer in the inbox leaves the role to the home goroutine
				if _, err := cr.Write(p, nil); err != nil {
					answered <- err
					return
				}
			}
			answered <- nil
		}()
		p := make([]byte, 8)
		for range 50 { // until the receive role is free
			if _, err := ci.Write(p, nil); err != nil {
				t.Fatal(err)
			}
			if _, err := ci.Read(p, &never); err != nil {
				t.Fatal(err)
			}
		}
		if err := <-answered; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		peer.still.Store(true)
		for range 20 { // more than the peer's TCP takes
			if _, err := ci.Write(make([]byte, 1000), nil); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		begin := time.Now()
		closed := make(chan error, 1)
		go func() { closed <- end(ci) }()
		synctest.Wait()
		if !ci.role.isVacant() {
			t.Fatal("somebody reads")
		}
		ci.drive(1, &never)
		if d := time.Since(begin); d > 0 {
			t.Errorf("it received for %v", d)
		}
		if err := <-closed; !errors.Is(err, errCloseTimeout) {
			t.Errorf("Close = %v", err)
		}
		end(cr)
		time.Sleep(time.Hour)
	})
}
