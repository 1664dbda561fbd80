package extsock_test

import (
	"bytes"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestReadLater: Writes to memory with ReadLater, and Reads with ReadLater, bring the same data as
// without it, in FPDUs so long that they are placed past the cache.
func TestReadLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const size = 300_000
		cfg := extsock.Config{MaxFPDU: 60_000}
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: cfg}, side{cfg: cfg})
		for _, access := range []ddp.Access{everyAccess, everyAccess | ddp.ReadLater} {
			memory := make([]byte, size)
			r := register(t, cr, memory, access)
			want := pattern(size-3, byte(access))
			do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: want, Remote: r.Handle()})
			for _, later := range []bool{false, true} {
				got := make([]byte, len(want))
				do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: got, Remote: r.Handle(), ReadLater: later})
				if !bytes.Equal(got, want) {
					t.Errorf("a Read with ReadLater %v of memory with %v brings other data", later, access)
				}
			}
			r.Deregister()
			if !bytes.Equal(memory[:len(want)], want) || !bytes.Equal(memory[len(want):], make([]byte, 3)) {
				t.Errorf("with %v the memory is different", access)
			}
		}
	})
}
