package extsock_test

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/internal/rdmaphdr"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// Tests of RFC 7306 on whole connections.

// The four messages as FPDUs: the ULPDU_Length is that of the DDP header and what §4 says, 8, 52
// and 12 octets. Only the STag and the TO are not known before.
//
// RDMAPX-7306-4-1 to RDMAPX-7306-4-3, RDMAPX-7306-4.1-1
func TestRFC7306_4_FPDUs(t *testing.T) {
	var fromInitiator, fromResponder recorder
	i := side{cfg: extsock.Config{Messages: true, Tap: fromInitiator.tap}}
	r := postRecvs(extsock.Config{Tap: fromResponder.tap}, 4, 8)
	ci, cr := simPair(t, simtoe.Config{}, i, r)
	memory := make([]byte, 8)
	handle := register(t, cr, memory, ddp.RemoteAtomic).Handle()
	m := ci.Remote(handle)
	if _, err := m.FetchAdd(t.Context(), 0, 5); err != nil {
		t.Fatal(err)
	}
	if old, err := m.CompareAndSwap(t.Context(), 0, 5, 0x0102030405060708); err != nil || old != 5 {
		t.Fatal(old, err)
	}
	do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkImmediate, Immediate: 0xF1F2F3F4F5F6F7F8})
	do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkImmediate, Solicited: true, Immediate: 1})
	for range 2 {
		complete(t, cr.RecvCQ())
	}
	ci.Close()
	cr.Close()
	h := hex.EncodeToString(binary.BigEndian.AppendUint64(binary.BigEndian.AppendUint32(nil, uint32(handle.STag)), handle.TO))
	for _, tt := range []struct {
		desc string
		tap  *recorder
		want string
	}{
		{"FetchAdd", &fromInitiator, "0046 414a 00000000 00000001 00000001 00000000 00000000 00000001" + h +
			"0000000000000005 0000000000000000 0000000000000000 ffffffffffffffff"},
		{"its response", &fromResponder, "001e 414b 00000000 00000003 00000001 00000000 00000001 0000000000000000"},
		{"CmpSwap", &fromInitiator, "0046 414a 00000000 00000001 00000002 00000000 00000002 00000002" + h +
			"0102030405060708 ffffffffffffffff 0000000000000005 ffffffffffffffff"},
		{"its response", &fromResponder, "001e 414b 00000000 00000003 00000002 00000000 00000002 0000000000000005"},
		{"Immediate Data", &fromInitiator, "001a 4148 00000000 00000000 00000001 00000000 f1f2f3f4f5f6f7f8"},
		{"Immediate Data with SE", &fromInitiator, "001a 4149 00000000 00000000 00000002 00000000 0000000000000001"},
	} {
		tt.tap.mu.Lock()
		if want := prototest.Unhex(tt.want); bytes.Count(tt.tap.sent, want) != 1 {
			t.Errorf("%s: no FPDU that begins with %x was sent", tt.desc, want)
		}
		tt.tap.mu.Unlock()
	}
}

// "existing applications and/or ULPs should not assume that these extensions are supported":
// towards a peer that has not announced them they are refused, unless the program insists; and what
// such a peer sends "will be reported".
//
// RDMAPX-7306-1.1-2, RDMAPX-7306-1.1-3, RDMAPX-7306-1.1-5
func TestRFC7306_1_1_UnknownPeer(t *testing.T) {
	for _, tt := range []struct {
		op  rdmaphdr.Opcode
		qn  ddp.QN
		msn uint32
		n   int
	}{
		{rdmaphdr.OpImmediate, 0, 2, rdmaphdr.ImmediateLen},
		{rdmaphdr.OpImmediateSE, 0, 2, rdmaphdr.ImmediateLen},
		{rdmaphdr.OpAtomicRequest, 1, 1, rdmaphdr.AtomicRequestLen},
		{rdmaphdr.OpAtomicResponse, 3, 1, rdmaphdr.AtomicResponseLen},
	} {
		p, c := rawPair(t, extsock.Config{}, nil)
		p.send(untagged(rdmaphdr.OpSend, 0, 1, 0, 1)...) // lets the Responder send
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
	header := untagged(rdmaphdr.OpAtomicRequest, 1, 1, 0, 0)
	p.send(rdmaphdr.AtomicRequest{ID: 7, STag: r.Handle().STag, TO: r.Handle().TO, Data: 1}.AppendTo(header)...)
	if u, err := p.next(); err != nil || !bytes.Equal(u, prototest.Unhex("414b 00000000 00000003 00000001 00000000 00000007 0000000000000000")) {
		t.Errorf("with Config.Extensions: answer %x, %v", u, err)
	}
}
