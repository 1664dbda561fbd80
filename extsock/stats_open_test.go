package extsock_test

import (
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestTotalsLetGo: a connection that has ended is not among the open ones any more, and so not in
// memory, whoever has closed it first. Its counts stay, once.
func TestTotalsLetGo(t *testing.T) {
	alone(t)
	ends := map[string]func(a, b *extsock.Conn){
		"one":    func(a, b *extsock.Conn) { a.Close(); b.Close() },
		"other":  func(a, b *extsock.Conn) { b.Close(); a.Close() },
		"resets": func(a, b *extsock.Conn) { a.SetLinger(0); a.Close(); b.Close() },
		"a fault": func(a, b *extsock.Conn) {
			a.Remote(rdmap.Handle{STag: 1, Len: 1}).WriteAt([]byte{1}, 0)
			b.Read(make([]byte, 1))
			a.Close()
			b.Close()
		},
	}
	for desc, end := range ends {
		t.Run(desc, func(t *testing.T) {
			before := extsock.TotalStats()
			a, b := simPair(t, simtoe.Config{}, side{}, side{})
			if _, err := a.Write([]byte("octets")); err != nil {
				t.Fatal(err)
			}
			if _, err := b.Read(make([]byte, 6)); err != nil {
				t.Fatal(err)
			}
			if n := extsock.TotalStats().Open; n != 2 {
				t.Errorf("%d are open, want 2", n)
			}
			end(a, b)
			prototest.Wait(t, "the connections end", func() bool { return extsock.TotalStats().Open == 0 })
			want := a.Stats().Received.FPDUs + b.Stats().Received.FPDUs
			if got := extsock.TotalStats().Received.FPDUs - before.Received.FPDUs; got != want {
				t.Errorf("%d FPDUs counted, want %d", got, want)
			}
		})
	}
}
