package driver

import (
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestTheHolderLooksAgain queues a request while another goroutine holds the transmit token and has
// found nothing more to send. The request must go out as soon as that goroutine frees the token.
func TestTheHolderLooksAgain(t *testing.T) {
	bubble(t, func(t *testing.T) {
		sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr, end := streamPair(sa, sb)
		synctest.Wait()
		if !ci.tx.token.tryTake() {
			t.Fatal("the token is taken on an idle connection")
		}
		ci.tx.token.handOver() // to a goroutine that has found nothing more to send
		sent := ci.count.Load(counters.Sent + counters.FPDUs)
		if _, err := ci.Write([]byte("x"), nil); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := ci.count.Load(counters.Sent+counters.FPDUs) - sent; n != 0 {
			t.Errorf("%d FPDUs went out without the token", n)
		}
		ci.tx.token.takeOver()
		ci.letGo()
		if n := ci.count.Load(counters.Sent+counters.FPDUs) - sent; n != 1 {
			t.Errorf("%d FPDUs went out when the token was free, want 1", n)
		}
		var never wait.Deadline
		if _, err := cr.Read(make([]byte, 1), &never); err != nil {
			t.Error(err)
		}
		end(ci)
		end(cr)
	})
}
