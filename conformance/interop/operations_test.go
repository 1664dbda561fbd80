//go:build interop

package interop

import (
	"bytes"
	"hash/crc32"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// Every operation of siw, from this stack to siw and back, one after the other over one connection
// for each way of starting it. The receiving end compares the contents.
func TestRddpOperations(t *testing.T) {
	eachLink(t, EveryOperation)
}

// More Reads are posted at a time than the reader's ORD and the other end's IRD allow, so the rest
// wait. Revision 1 does not negotiate, so each program has to know the depths. The depths are
// powers of two because siw rounds its ORD up to one, beyond the agreed value (its fault "ORD"). It
// also offers a larger IRD than its program does.
func TestRddpManyReads(t *testing.T) {
	const n, size, few = 60, 5000, 4
	for _, tt := range []struct {
		desc         string
		siwInitiates bool
		params       []string
		own          extsock.Config
		siw          string
	}{
		{"siw is Responder, little IRD", false, nil, extsock.Config{IRD: few}, "ird=4 ord=16"},
		{"siw is Initiator, little IRD", true, nil, extsock.Config{IRD: few}, "ird=4 ord=16"},
		{"siw is Responder, little ORD", false, nil, extsock.Config{ORD: few}, "ird=16 ord=4"},
		{"siw is Initiator, little ORD", true, nil, extsock.Config{ORD: few}, "ird=16 ord=4"},
		{"siw is Responder, revision 1", false, nil, extsock.Config{Revision: 1, IRD: few, ORD: few}, "ird=4 ord=4"},
		{"siw is Initiator, revision 1", true, []string{"mpa_version=1"}, extsock.Config{IRD: few, ORD: few}, "ird=4 ord=4"},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := Start(t)
			g.SetSiw(t, tt.params...)
			tt.own.NoCRC = true
			l := newLink(t, g, LinkConfig{siwInitiates: tt.siwInitiates, own: tt.own, siw: tt.siw})
			state := l.conn.ConnectionState()
			ird, ord := state.IRD, state.ORD
			if wantIRD, wantORD := l.wantDepths(tt.own); ird != wantIRD || ord != wantORD {
				t.Errorf("this stack's IRD is %d and its ORD %d, want %d and %d", ird, ord, wantIRD, wantORD)
			}
			readBothWays(t, l, n, size)
			if got := l.seen.mostReads(true); got > ord || got < ord/2 {
				t.Errorf("this stack had %d Reads under way at a time, its ORD is %d", got, ord)
			}
			if got := l.seen.mostReads(false); got > ird {
				t.Errorf("siw had %d Reads under way at a time, this stack's IRD is %d", got, ird)
			}
			l.end(tt.siwInitiates)
		})
	}
}

// wantDepths returns the depths that this stack must have according to the two startup frames.
func (l *link) wantDepths(own extsock.Config) (ird, ord int) {
	l.t.Helper()
	ird, ord = own.IRD, own.ORD
	if ird == 0 {
		ird = 16
	}
	if ord == 0 {
		ord = 16
	}
	if f := l.seen.startup(l.t, false); f.Enhanced {
		ord = min(ord, int(f.IRD))
	}
	return ird, ord
}

// readBothWays makes both ends post n Reads at once.
func readBothWays(t *testing.T, l *link, n, size int) {
	t.Helper()
	r := l.register(Pattern(ownSeed, n*size), ddp.RemoteRead)
	l.siw.Do("post op=read n=%d len=%d step=%d off=500000 stag=%d to=%d", n, size, size, r.Handle().STag, r.Handle().TO)
	sink := make([]byte, n*size)
	wrs := make([]rdmap.WorkRequest, n)
	for i := range wrs {
		wrs[i] = rdmap.WorkRequest{ID: uint64(i), Op: rdmap.WorkRead, Data: sink[i*size:][:size], Remote: l.region.remote(i*size, size)}
	}
	if posted, err := l.conn.PostBatch(wrs); err != nil {
		t.Fatalf("request %d: %v", posted, err)
	}
	for i := range n {
		if c := l.completion(l.conn.SendCQ()); c.Status != rdmap.StatusOK || c.ID != uint64(i) {
			t.Fatalf("completion %d is %v; siw had %d Reads under way", i, c, l.seen.mostReads(false))
		}
	}
	if !bytes.Equal(sink, Pattern(siwSeed, n*size)) {
		t.Error("the Reads brought something else")
	}
	for _, c := range l.siw.Wait("sq", n) {
		if c.Status != "success" {
			t.Fatalf("siw's %+v", c)
		}
	}
	want := hex32(crc32.ChecksumIEEE(Pattern(ownSeed, n*size)))
	if got := l.siw.Do("sum off=500000 len=%d", n*size).Last.Fields["crc32"]; got != want {
		t.Errorf("siw's Reads brought CRC-32 %s, want %s", got, want)
	}
}

// siw's fault "ORD": with an agreed ORD of 3 it may have 4 Reads under way. A peer that enforces
// the 3 ends the connection.
func TestSiwORD(t *testing.T) {
	const n, size, agreed, ird = 30, 5000, 3, 4
	g := Start(t)
	g.SetSiw(t, "mpa_version=1") // nothing is negotiated: siw believes its program
	l := newLink(t, g, LinkConfig{siwInitiates: true, own: extsock.Config{NoCRC: true, IRD: ird, ORD: agreed}, siw: "ird=3 ord=3"})
	readBothWays(t, l, n, size)
	got := l.seen.mostReads(false)
	t.Logf("siw had %d Reads under way at a time, its ORD is %d", got, agreed)
	if got > ird {
		t.Errorf("that is more than the %d siw is known for", ird)
	}
	l.end(false)
}
