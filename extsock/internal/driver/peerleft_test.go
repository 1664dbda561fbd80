package driver

import (
	"errors"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/toe/simtoe"
)

// TestLastWriteWithoutTheToken: the peer has closed, and the first Write after that finds that
// another goroutine holds the transmit token. The Write needs nothing of the peer, so it goes on
// when the token is free, or ends when the connection does.
func TestLastWriteWithoutTheToken(t *testing.T) {
	type result struct {
		n   int
		err error
	}
	for _, length := range []int{1, 20_000, 100_000} {
		for _, killed := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				sa, sb := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				a, b, end := streamPair(sa, sb)
				synctest.Wait()
				if err := end(b); err != nil {
					t.Error(err)
				}
				synctest.Wait()
				if !a.peerLeft() {
					t.Fatalf("the connection is %v because of %v", a.life.state(), a.why())
				}
				if !a.tx.token.tryTake() {
					t.Fatal("the token is taken on an idle connection")
				}
				a.tx.token.handOver()
				written := make(chan result, 1)
				go func() {
					n, err := a.Write(make([]byte, length), nil)
					written <- result{n, err}
				}()
				synctest.Wait()
				isCopied := len(written) == 1
				if isCopied != (length == 1) {
					t.Errorf("Write of %d has returned without the token: %t", length, isCopied)
				}
				if killed {
					a.Kill(errors.New("the end"))
				}
				a.tx.token.takeOver()
				a.letGo()
				r := <-written
				if killed && !isCopied {
					if r.n != 0 || !errors.Is(r.err, syscall.EPIPE) {
						t.Errorf("Write of %d = %d, %v, want EPIPE, because the connection was killed", length, r.n, r.err)
					}
				} else if r.n != length || r.err != nil {
					t.Errorf("Write of %d = %d, %v", length, r.n, r.err)
				}
				if n, err := a.Write(make([]byte, length), nil); n != 0 || !errors.Is(err, syscall.EPIPE) {
					t.Errorf("the Write after the last one = %d, %v, want EPIPE", n, err)
				}
				end(a)
			})
		}
	}
}
