package extsock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
)

// TestCloseWhileAReadReceives: Close, while a Read has the receive role, interrupts that Read. The
// bound on what receives afterwards stays: the connection is gone after CloseTimeout, although the
// peer never sends its FIN.
func TestCloseWhileAReadReceives(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const closeTimeout = time.Second
		p, c := rawStreamPair(t, extsock.Config{RecvDepth: 6, RecvSize: 1024, CloseTimeout: closeTimeout}, 32)
		read, got := make(chan error, 1), make(chan int, 1)
		go func() {
			for b := make([]byte, 100); ; {
				n, err := c.Read(b)
				if err != nil {
					read <- err
					return
				}
				got <- n
			}
		}()
		for i := range uint32(30) { // quick messages, until the Read receives for itself
			p.segment(1+i, 0, true, 0, 0, 0, 0, 'g')
			<-got
		}
		synctest.Wait()
		if !extsock.Driving(c) {
			t.Fatal("the Read does not receive for itself")
		}
		go c.Close()
		if err := <-read; err == nil {
			t.Error("Read goes on after Close")
		}
		time.Sleep(2 * closeTimeout)
		if extsock.IsLive(c) {
			t.Errorf("the connection is still there %v after Close", 2*closeTimeout)
		}
		p.s.Close()
		settle()
	})
}
