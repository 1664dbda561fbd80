package extsock_test

import (
	"bytes"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/prototest"
	"github.com/rddp/rddp/internal/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
	"github.com/rddp/rddp/toe/usertcp"
)

// TestEarlyPlacementChangesNothing runs the same operations with and without early placement, over
// networks that lose, repeat and reorder packets. The completions and their order, and the memory,
// must be the same.
// MPA-5044-1.2-1
func TestEarlyPlacementChangesNothing(t *testing.T) {
	for _, network := range []struct {
		name  string
		pairs func(t *testing.T, seed uint64) (a, b toe.Stream, stop func())
		seeds int
	}{
		{"simulator", earlySimPair, testmode.Count(10_000, 100)},
		{"user-space TCP", earlyUserPair, testmode.Count(100, 8)},
	} {
		t.Run(network.name, func(t *testing.T) {
			var placed uint64
			for seed := range uint64(network.seeds) {
				var logs [2]operationLog
				for i, markers := range []bool{false, true} {
					a, b, stop := network.pairs(t, seed)
					logs[i] = runOperations(t, a, b, seed, markers)
					stop()
				}
				if logs[0].early != 0 {
					t.Fatalf("seed %d: %d FPDUs were placed early without markers", seed, logs[0].early)
				}
				placed += logs[1].early
				if diff := logs[0].diff(&logs[1]); diff != "" {
					t.Fatalf("seed %d: without and with early placement: %s", seed, diff)
				}
			}
			t.Logf("%d seeds, %d FPDUs placed early", network.seeds, placed)
			if placed == 0 {
				t.Error("nothing was placed early")
			}
		})
	}
}

// earlySimPair makes a simulated connection that shows many runs early.
func earlySimPair(_ *testing.T, seed uint64) (a, b toe.Stream, stop func()) {
	wire := simtoe.Config{Seed: seed, Split: true, MaxSegment: 3000, Early: 0.5}
	a, b = simtoe.Pair(wire, wire)
	return a, b, func() {}
}

// earlyUserPair makes a connection between two TCPs in user space, over a bad link.
func earlyUserPair(t *testing.T, seed uint64) (a, b toe.Stream, stop func()) {
	x, y := usertcp.Pipe(1500)
	drop, again, late := 0.02*float64(seed%3), 0.01, 0.1
	from := userStack(t, prototest.NewLossy(x, seed, drop, again, late), "10.7.0.1/24")
	to := userStack(t, prototest.NewLossy(y, seed+1, drop, again, late), "10.7.0.2/24")
	a, b = userConnect(t, from, to)
	return a, b, func() { from.Close(); to.Close() }
}

// An operationLog is what the two ends of a connection got.
type operationLog struct {
	sent, received []string // completions in their order
	memory         []byte   // of the target, then of the Reads
	early          uint64   // FPDUs that the target placed early
}

// diff says how l and m differ, or nothing.
func (l *operationLog) diff(m *operationLog) string {
	switch {
	case !slices.Equal(l.sent, m.sent):
		return fmt.Sprintf("completions of the requests %q, %q", l.sent, m.sent)
	case !slices.Equal(l.received, m.received):
		return fmt.Sprintf("completions of the receives %q, %q", l.received, m.received)
	case !bytes.Equal(l.memory, m.memory):
		return "the memory differs"
	}
	return ""
}

// runOperations runs the operations that follow from seed: Sends, RDMA Writes whose places in a
// Region overlap, and Reads of another Region, many at a time.
func runOperations(t *testing.T, a, b toe.Stream, seed uint64, markers bool) (log operationLog) {
	t.Helper()
	const requests, sink, recvSize = 24, 1 << 16, 20_000
	random := rand.New(rand.NewPCG(seed, 7))
	cfg := extsock.Config{Markers: markers, NoEarlyPlacement: !markers, MaxFPDU: 300 + random.IntN(1100), SendDepth: requests}
	ci, cr := switched(t, a, b, side{cfg: cfg}, postRecvs(cfg, requests, recvSize))
	defer ci.Close()
	defer cr.Close()
	memory, source := make([]byte, sink), pattern(sink, byte(seed))
	target := register(t, cr, memory, ddp.RemoteWrite).Handle()
	from := register(t, cr, source, ddp.RemoteRead).Handle()
	var reads [][]byte
	sends := 0
	for id := range uint64(requests) {
		n := 1 + random.IntN(recvSize-1)
		wr := rdmap.WorkRequest{ID: id, Data: pattern(n, byte(random.Uint32()))}
		at := random.IntN(sink - n)
		kind := random.IntN(5)
		if id == requests-1 {
			kind = 0 // what the target gets last
		}
		switch kind {
		case 0, 1:
			wr.Op = rdmap.WorkSend
			sends++
		case 2, 3:
			wr.Op = rdmap.WorkWrite
			wr.Remote, _ = target.Slice(int64(at), n)
		case 4:
			wr.Op = rdmap.WorkRead
			wr.Remote, _ = from.Slice(int64(at), n)
			reads = append(reads, wr.Data)
		}
		if err := ci.Post(&wr); err != nil {
			t.Fatalf("seed %d: Post %v: %v", seed, wr.Op, err)
		}
	}
	for range sends {
		d := complete(t, cr.RecvCQ())
		buf := recvBuffers.get(cr, d.ID)[:d.Len]
		log.received = append(log.received, fmt.Sprintf("%v %d %d %08x", d.Op, d.ID, d.Len, crc32.ChecksumIEEE(buf)))
	}
	for range requests {
		d := complete(t, ci.SendCQ())
		log.sent = append(log.sent, fmt.Sprintf("%v %d %d", d.Op, d.ID, d.Len))
	}
	log.memory = bytes.Clone(memory)
	for _, p := range reads {
		log.memory = append(log.memory, p...)
	}
	log.early = cr.Stats().EarlyFPDUs + ci.Stats().EarlyFPDUs
	return log
}
