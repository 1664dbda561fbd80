package extsock_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/ddphdr"
	"github.com/rddp/rddp/internal/rdmaphdr"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// The inbound Reads that the ULP has set (RFC 5040 §6.1) are what the stream takes: while an answer
// is stuck on its way, as many requests may wait as the Config says, and one more ends the stream.
//
// RDMAP-5040-6.1-4, RDMAP-5040-6.1-5, RDMAP-5040-6.1-9
func TestRFC5040_6_1_IRDOfTheULPCounts(t *testing.T) {
	for _, ird := range []int{1, 2, 5} {
		bubble(t, func(t *testing.T) {
			wire := simtoe.Config{Window: 4096}
			a, b := simtoe.Pair(wire, wire)
			p, c := rawOver(t, a, b, mpa.Frame{CRC: true}, extsock.Config{IRD: ird, Messages: true})
			source := register(t, c, make([]byte, 1<<20), ddp.RemoteRead)
			ask := func(msn uint32) error {
				h := ddphdr.UntaggedHeader{Last: true, RsvdULP: rdmaphdr.Control(rdmaphdr.OpReadRequest), QN: ddphdr.QNReadRequest, MSN: msn}
				r := rdmaphdr.ReadRequest{SinkSTag: 9, Size: 1 << 20, SourceSTag: source.Handle().STag, SourceTO: source.Handle().TO}
				p.send(r.AppendTo(h.AppendTo(nil))...)
				synctest.Wait()
				return c.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true})
			}
			for msn := range uint32(ird + 1) { // the first is being answered, and takes no room any more
				if err := ask(msn + 1); err != nil {
					t.Fatalf("IRD %d, request %d: %v", ird, msn+1, err)
				}
			}
			var e *ddp.Error
			err := ask(uint32(ird + 2))
			if !errors.As(err, &e) || e.Code != ddphdr.CodeNoBuffer {
				t.Errorf("IRD %d, one request too many: %v", ird, err)
			}
			a.Close()
			c.Close()
			settle()
		})
	}
}
