package extsock_test

import (
	"testing"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestTotalsOfTheLastOctets: what is read behind the end of the connection is counted, too.
func TestTotalsOfTheLastOctets(t *testing.T) {
	alone(t)
	bubble(t, func(t *testing.T) {
		before := extsock.TotalStats()
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		if _, err := cr.Write(tapeAt(0, 5000)); err != nil {
			t.Fatal(err)
		}
		cr.Close()
		settle()
		ci.CloseWrite()
		settle()
		if open := extsock.TotalStats().Open; open != 0 {
			t.Fatalf("%d connections have not ended", open)
		}
		n, err := ci.Read(make([]byte, 5000))
		if n != 5000 || err != nil {
			t.Fatalf("Read = %d, %v", n, err)
		}
		if got := extsock.TotalStats().CopiedOctets - before.CopiedOctets; got != 5000 {
			t.Errorf("%d octets counted, want 5000", got)
		}
		ci.Close()
		settle()
	})
}
