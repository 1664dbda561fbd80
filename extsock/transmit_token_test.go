package extsock

import (
	"io"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/toe/simtoe"
)

// TestTheHolderLooksAgain: what was queued while another goroutine had the transmit token, after that one had found
// nothing more to send, goes out as soon as it lets go.
func TestTheHolderLooksAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr := NewConn(a, true, nil), NewConn(b, false, nil)
		switched := make(chan error)
		go func() { switched <- cr.EnableDDP(t.Context(), nil) }()
		if err := ci.EnableDDP(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if err := <-switched; err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		p := ci.verbs.pump
		if !p.tx.token.CompareAndSwap(false, true) {
			t.Fatal("the token is taken on an idle connection")
		}
		sent := ci.Stats().Sent.FPDUs
		if _, err := ci.Write([]byte("x")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if n := ci.Stats().Sent.FPDUs - sent; n != 0 {
			t.Errorf("%d FPDUs went out without the token", n)
		}
		p.letGo()
		if n := ci.Stats().Sent.FPDUs - sent; n != 1 {
			t.Errorf("%d FPDUs went out when the token was free, want 1", n)
		}
		if _, err := io.ReadFull(cr, make([]byte, 1)); err != nil {
			t.Error(err)
		}
		ci.Close()
		cr.Close()
	})
}
