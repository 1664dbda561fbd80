package extsock_test

import (
	"runtime"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestTheClosedAreForgotten: nothing keeps a connection in memory that is over, no timer either,
// however long the close timeout and the deadlines are.
func TestTheClosedAreForgotten(t *testing.T) {
	ends := map[string]func(a, b *extsock.Conn){
		"in order": func(a, b *extsock.Conn) { a.Close(); b.Close() },
		"a reset":  func(a, b *extsock.Conn) { a.SetLinger(0); a.Close(); b.Close() },
		"resets":   func(a, b *extsock.Conn) { a.SetLinger(0); b.SetLinger(0); a.Close(); b.Close() },
	}
	for desc, end := range ends {
		gone := make(chan struct{}, 2)
		open := func() {
			cfg := extsock.Config{CloseTimeout: time.Hour}
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			ci, cr := extsock.NewConn(a, true, &cfg), extsock.NewConn(b, false, &cfg)
			for _, c := range []*extsock.Conn{ci, cr} {
				runtime.AddCleanup(c, func(gone chan struct{}) { gone <- struct{}{} }, gone)
			}
			if err := switchBoth(t.Context(), ci, cr); err != nil {
				t.Fatal(err)
			}
			ci.SetDeadline(time.Now().Add(time.Hour))
			end(ci, cr)
		}
		open()
		prototest.Wait(t, desc+": both connections are gone", func() bool {
			runtime.GC()
			return len(gone) == 2
		})
	}
}
