package extsock_test

import (
	"errors"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/extsock/stats"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// Each kind of message that costs its receiver work, and ends nothing, is in the counts by which a
// program can tell a peer that sends too many.
//
// SEC-5042-6.4.4-1
func TestRFC5042_6_4_4_EachKindIsCounted(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, inMessages, postRecvs(extsock.Config{Messages: true}, 8, 64))
		r := register(t, cr, make([]byte, 8), everyAccess)
		gone := register(t, cr, make([]byte, 8), everyAccess)
		also := register(t, cr, make([]byte, 8), everyAccess)
		h := r.Handle()
		for _, wr := range []rdmap.WorkRequest{
			{Op: rdmap.WorkSend}, {Op: rdmap.WorkSend, Solicited: true},
			{Op: rdmap.WorkSendInvalidate, Invalidate: gone.Handle().STag}, {Op: rdmap.WorkSendInvalidate, Solicited: true, Invalidate: also.Handle().STag},
			{Op: rdmap.WorkImmediate}, {Op: rdmap.WorkImmediate, Solicited: true}, {Op: rdmap.WorkWrite},
			{Op: rdmap.WorkFetchAdd, Remote: h}, {Op: rdmap.WorkCmpSwap, Remote: h}, {Op: rdmap.WorkSwap, Remote: h},
			{Op: rdmap.WorkRead},
		} {
			do(t, ci, wr) // the last ones are answered, so all before them have been counted
		}
		want := stats.Traffic{Sends: 4, Writes: 2, ReadRequests: 1, AtomicRequests: 3, ImmediateData: 2} // one Write is the RTR
		got := cr.Stats().Received
		want.FPDUs, want.Octets = got.FPDUs, got.Octets
		if got != want {
			t.Errorf("counted: %+v, want %+v", got, want)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// The completion queues that a connection makes hold the Completions of all that its own queues
// take, though nobody takes one out.
//
// SEC-5042-6.4.3.2-2, SEC-5042-A-5
func TestRFC5042_6_4_3_2_DefaultQueuesHoldAll(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const depth = 7
		ci, cr := simPair(t, simtoe.Config{}, postRecvs(extsock.Config{Messages: true, SendDepth: depth}, depth, 8), inMessages)
		for id := range uint64(depth) {
			if err := ci.Post(&rdmap.WorkRequest{ID: id, Op: rdmap.WorkWrite}); err != nil {
				t.Errorf("Write %d: %v", id, err)
			}
		}
		if err := ci.PostRecv(rdmap.RecvRequest{}); !errors.Is(err, rdmap.ErrQueueFull) {
			t.Errorf("one receive too many: %v", err)
		}
		ci.Close()
		cr.Close()
		synctest.Wait()
		if s, r := ci.SendCQ().Len(), ci.RecvCQ().Len(); s != depth || r != depth {
			t.Errorf("%d and %d Completions, want %d each", s, r, depth)
		}
		settle()
	})
}
