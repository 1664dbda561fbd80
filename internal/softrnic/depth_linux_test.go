//go:build amd64 || arm64

package softrnic

import (
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// TestDepthZero: a Read or an atomic of a queue pair with depth 0, or to one with depth 0, ends
// with an error, and so do the work requests behind it. Other work requests need no depth.
func TestDepthZero(t *testing.T) {
	const maxRead, maxDestRead = 101, 102 // places in MODIFY_QP
	for _, tt := range []struct {
		desc             string
		requester, peers byte // max_rd_atomic, max_dest_rd_atomic
		status           uverbs.WCStatus
	}{
		{"neither", 1, 1, uverbs.Success},
		{"max_rd_atomic", 0, 1, uverbs.LocalQPErr},
		{"max_dest_rd_atomic", 1, 0, uverbs.RemoteInvalidErr},
		{"both", 0, 0, uverbs.LocalQPErr},
	} {
		for _, op := range []uint32{guest.OpRead, guest.OpFetchAdd, guest.OpCmpSwap} {
			t.Run(tt.desc, func(t *testing.T) {
				a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
				qa, qb := a.qp(nil), b.qp(nil)
				for _, s := range []uint8{guest.Init, guest.RTR, guest.RTS} {
					if err := qa.Modify(s, b.gid, qb.Num, func(in []byte) { in[maxRead] = tt.requester }); err != nil {
						t.Fatal(err)
					}
					if err := qb.Modify(s, a.gid, qa.Num, func(in []byte) { in[maxDestRead] = tt.peers }); err != nil {
						t.Fatal(err)
					}
				}
				list := []guest.SGE{a.mr.Part(0, 8)}
				for i, op := range []uint32{guest.OpWrite, op, guest.OpWrite} {
					w := guest.WR{ID: uint64(i), Op: op, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: list}
					if err := qa.Post(w); err != nil {
						t.Fatal(err)
					}
				}
				behind := uverbs.FlushErr
				if tt.status == uverbs.Success {
					behind = uverbs.Success
				}
				a.want("the Write in front", 0, uverbs.Success)
				a.want("the Read or atomic", 1, tt.status)
				a.want("the Write behind", 2, behind)
			})
		}
	}
}

// TestDepth: at most max_rd_atomic Reads and atomics are under way.
func TestDepth(t *testing.T) {
	o, reads := &outgoing{}, &flight{isRead: true, awaits: 1}
	s := &sending{depth: 2, first: true, wr: uverbs.SendWR{Op: uverbs.OpRead}, flight: &flight{n: 8}}
	local, done, write := &flight{isRead: true, posted: true}, &flight{isRead: true}, &flight{}
	for _, tt := range []struct {
		flights []*flight
		want    pieceKind
	}{
		{nil, pieceRead},
		{[]*flight{reads, local, done, write}, pieceRead},
		{[]*flight{reads, write, reads}, pieceNone},
	} {
		o.flights = tt.flights
		if got := s.next(o); got.kind != tt.want {
			t.Errorf("beside %d flights: %+v", len(tt.flights), got)
		}
	}
	if s.first = false; s.next(o).kind != pieceRead {
		t.Error("a Read that has begun does not go on")
	}
}

// TestDepthReason: the log says why a Read ends.
func TestDepthReason(t *testing.T) {
	s, o := &sending{flight: &flight{}, wr: uverbs.SendWR{Op: uverbs.OpRead}}, &outgoing{serves: 1}
	for _, want := range []string{"max_rd_atomic", "max_dest_rd_atomic"} {
		if s.begins(o) || !strings.Contains(s.flight.why, want) {
			t.Errorf("the reason is %q, want one with %s", s.flight.why, want)
		}
		s.flight, s.depth, o.serves = &flight{}, 1, 0
	}
}
