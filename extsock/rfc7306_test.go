package extsock_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

// Tests of RFC 7306 on whole connections.

// "existing applications and/or ULPs should not assume that these extensions are supported":
// toward a peer that has not announced them they are refused, unless the program insists; and what
// such a peer sends "will be reported".
//
// RDMAPX-7306-1.1-2, RDMAPX-7306-1.1-3, RDMAPX-7306-1.1-5
func TestRFC7306_1_1_UnknownPeer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, tt := range []struct {
			op  rdmap.Opcode
			qn  ddp.QN
			msn uint32
			n   int
		}{
			{rdmap.OpImmediate, 0, 2, rdmap.ImmediateLen},
			{rdmap.OpImmediateSE, 0, 2, rdmap.ImmediateLen},
			{rdmap.OpAtomicRequest, 1, 1, rdmap.AtomicRequestLen},
			{rdmap.OpAtomicResponse, 3, 1, rdmap.AtomicResponseLen},
		} {
			p, c := rawPair(t, extsock.Config{}, nil)
			p.send(untagged(rdmap.OpSend, 0, 1, 0, 1)...) // lets the Responder send
			if n, err := c.Read(make([]byte, 9)); n != 1 || err != nil {
				t.Fatalf("Read = %d, %v", n, err)
			}
			for _, wr := range []rdmap.WorkRequest{{Op: rdmap.WorkImmediate}, {Op: rdmap.WorkFetchAdd}, {Op: rdmap.WorkCmpSwap}} {
				if err := c.Post(&wr); !errors.Is(err, rdmap.ErrNoExtensions) {
					t.Errorf("Post(%v): %v, want ErrNoExtensions", wr.Op, err)
				}
			}
			p.send(untagged(tt.op, tt.qn, tt.msn, 0, tt.n)...)
			p.wantTerminate(0, 2, 6)
		}
		p, c := rawPair(t, extsock.Config{Extensions: true}, nil)
		r := register(t, c, make([]byte, 8), ddp.RemoteAtomic)
		header := untagged(rdmap.OpAtomicRequest, 1, 1, 0, 0)
		p.send(rdmap.AtomicRequest{ID: 7, STag: r.Handle().STag, TO: r.Handle().TO, Data: 1}.AppendTo(header)...)
		if u, err := p.next(); err != nil || !bytes.Equal(u, prototest.Unhex("414b 00000000 00000003 00000001 00000000 00000007 0000000000000000")) {
			t.Errorf("with Config.Extensions: answer %x, %v", u, err)
		}
	})
}
