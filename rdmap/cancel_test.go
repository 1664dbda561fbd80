package rdmap

import (
	"sync"
	"testing"
	"time"
)

// The stream has ended, and a copy into a Read's sink is still under way, when the Read is cancelled: what Cancel answers true
// for is the caller's again, so it waits for the copy. A Read is never one that can't be taken back.
func TestCancelBehindEnd(t *testing.T) {
	for _, handed := range []bool{false, true} {
		x := newPair(t, params{})
		q := x.a.qp
		x.a.slow = !handed
		x.a.post(WorkRequest{ID: 1, Op: WorkRead, Data: make([]byte, 8)})
		x.a.transmit()
		e := q.sq.at(0)
		release := hold(t, e.sink)
		var wg sync.WaitGroup
		wg.Go(func() { q.Fail(errTest) })
		until(func() bool { return q.State() == StateTerminating })
		taken := make(chan bool, 1)
		wg.Go(func() { taken <- q.Cancel(x.a.sendCQ, 1) })
		select {
		case ok := <-taken:
			t.Errorf("handed to TCP: %t: Cancel = %t while octets are copied into the sink", handed, ok)
			taken <- true
		case <-time.After(10 * time.Millisecond):
		}
		release()
		wg.Wait()
		if !<-taken {
			t.Errorf("handed to TCP: %t: Cancel = false", handed)
		}
		wantDone(t, "all", x.a.sendCQ, "1 flushed")
		q.Abort(errTest)
		wantDone(t, "afterwards", x.a.sendCQ, "")
	}
}
