package scenario

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// An EarlyNetwork makes connections whose TCP delivers runs early.
type EarlyNetwork struct {
	// Pair makes a connection. stop ends it and returns the number of packets lost.
	Pair             func(t *testing.T, seed uint64) (a, b toe.Stream, stop func() (lost uint64))
	Requests, Length int // as for runOperations
	Seeds, AtOnce    int
}

// EarlyPlacementChangesNothing runs the same operations with and without early placement, over a
// network that loses, repeats, reorders or cuts packets. The completions, their order and the
// memory must be the same. Every second seed has Markers in both runs.
func EarlyPlacementChangesNothing(t *testing.T, network EarlyNetwork) {
	var placed, lost, withEarly, nudges atomic.Uint64
	prototest.EachSeed(t, network.Seeds, network.AtOnce, func(t *testing.T, seed uint64) {
		without := network.run(t, seed, extsock.Config{Markers: seed%2 == 1, NoEarlyPlacement: true}, &lost)
		with := network.run(t, seed, extsock.Config{Markers: true}, &lost)
		if without.early != 0 {
			t.Errorf("%d FPDUs were placed early though the program wants none", without.early)
		}
		if diff := without.diff(with); diff != "" {
			t.Errorf("without and with early placement: %s", diff)
		}
		placed.Add(with.early)
		nudges.Add(without.nudges + with.nudges)
		if with.early > 0 {
			withEarly.Add(1)
		}
	})
	t.Logf("%d seeds, %d of them with FPDUs placed early, %d FPDUs in all; %d packets lost; TCP stood still %d times",
		network.Seeds, withEarly.Load(), placed.Load(), lost.Load(), nudges.Load())
	if n := nudges.Load(); n > 1+uint64(network.Seeds)/500 {
		t.Errorf("TCP stood still %d times", n)
	}
	if withEarly.Load() < uint64(network.Seeds)/2 {
		t.Errorf("only %d of %d seeds had FPDUs placed early", withEarly.Load(), network.Seeds)
	}
}

// run runs the operations of seed over a new connection.
func (n *EarlyNetwork) run(t *testing.T, seed uint64, cfg extsock.Config, lost *atomic.Uint64) *operationLog {
	a, b, stop := n.Pair(t, seed)
	defer func() { lost.Add(stop()) }()
	return runOperations(t, a, b, seed, cfg, n.Requests, n.Length)
}

// An operationLog records the results at the two ends of a connection.
type operationLog struct {
	sent, received []string // completions in their order
	memory         []byte   // of the target, then of the Reads
	early          uint64   // FPDUs that were placed early
	nudges         uint64   // how often TCP stood still
}

const (
	// patience is how long a TCP may stand still. It is longer than most pauses after the same
	// packet was lost several times.
	patience  = 15 * time.Second
	maxNudges = 8
	nudge     = 1 << 32 // the ID of the requests that next adds
)

// next returns the next Completion of cq. gVisor's TCP rarely stalls after a loss: it does not
// restart its timer, because it counts no segment as outstanding. It continues when it has
// something to send. So if there is no Completion for a long time, next makes both ends send an
// empty RDMA Write.
func (l *operationLog) next(t *testing.T, cq *extsock.CompletionQueue, ends ...*extsock.Conn) rdmap.Completion {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		d, err := cq.Wait(ctx)
		cancel()
		switch {
		case err == nil && d.Status != rdmap.StatusOK:
			t.Fatalf("completion %v", d)
		case err == nil && d.ID != nudge:
			return d
		case err != nil && l.nudges == maxNudges:
			t.Fatal(err)
		case err != nil:
			l.nudges++
			for _, c := range ends {
				if err := c.Post(&rdmap.WorkRequest{ID: nudge, Op: rdmap.WorkWrite}); err != nil {
					t.Fatal(err)
				}
			}
		}
	}
}

// diff describes how l and m differ; "" means that they do not.
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

// runOperations runs the operations of seed, all at the same time: Sends, RDMA Writes to
// overlapping parts of a Region, and Reads of another Region, each of less than length bytes. Both
// ends use the Config cfg.
func runOperations(t *testing.T, a, b toe.Stream, seed uint64, cfg extsock.Config, requests, length int) *operationLog {
	t.Helper()
	const sink = 1 << 16
	random := rand.New(rand.NewPCG(seed, 7))
	cfg.MaxFPDU, cfg.SendDepth = 300+random.IntN(1100), requests+maxNudges
	cfg.HandshakeTimeout = time.Minute // losing the first packets costs seconds
	ci, cr, buffers := operationPair(t, a, b, cfg, requests, length)
	defer ci.Close()
	defer cr.Close()
	memory, source := make([]byte, sink), prototest.Pattern(sink, byte(seed))
	target, err := cr.Register(memory, ddp.RemoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	from, err := cr.Register(source, ddp.RemoteRead)
	if err != nil {
		t.Fatal(err)
	}
	var reads [][]byte
	sends := 0
	for id := range uint64(requests) {
		n := 1 + random.IntN(length-1)
		wr := rdmap.WorkRequest{ID: id, Data: prototest.Pattern(n, byte(random.Uint32()))}
		at := random.IntN(sink - n)
		kind := random.IntN(5)
		if id == uint64(requests)-1 {
			kind = 0 // the target's last message
		}
		switch kind {
		case 0, 1:
			wr.Op = rdmap.WorkSend
			sends++
		case 2, 3:
			wr.Op = rdmap.WorkWrite
			wr.Remote, _ = target.Handle().Slice(int64(at), n)
		case 4:
			wr.Op = rdmap.WorkRead
			wr.Remote, _ = from.Handle().Slice(int64(at), n)
			reads = append(reads, wr.Data)
		}
		if err := ci.Post(&wr); err != nil {
			t.Fatalf("Post %v: %v", wr.Op, err)
		}
	}
	log := new(operationLog)
	for range sends {
		d := log.next(t, cr.RecvCQ(), ci, cr)
		buf := buffers[d.ID][:d.Len]
		log.received = append(log.received, fmt.Sprintf("%v %d %d %08x", d.Op, d.ID, d.Len, crc32.ChecksumIEEE(buf)))
	}
	for range requests {
		d := log.next(t, ci.SendCQ(), ci, cr)
		log.sent = append(log.sent, fmt.Sprintf("%v %d %d", d.Op, d.ID, d.Len))
	}
	log.memory = bytes.Clone(memory)
	for _, p := range reads {
		log.memory = append(log.memory, p...)
	}
	log.early = cr.Stats().EarlyFPDUs + ci.Stats().EarlyFPDUs
	return log
}

// operationPair switches both ends of a connection to DDP mode. It posts receive buffers of the
// given length at the Responder and returns them by ID.
func operationPair(t *testing.T, a, b toe.Stream, cfg extsock.Config, receives, length int) (ci, cr *extsock.Conn, buffers [][]byte) {
	t.Helper()
	initiator, responder := cfg, cfg
	responder.RecvDepth = receives
	ci, cr = extsock.NewConn(a, true, &initiator), extsock.NewConn(b, false, &responder)
	t.Cleanup(func() { ci.Close(); cr.Close() })
	for id := range receives {
		buffers = append(buffers, make([]byte, length))
		if err := cr.PostRecv(rdmap.RecvRequest{ID: uint64(id), Buf: buffers[id]}); err != nil {
			t.Fatal(err)
		}
	}
	switched := make(chan error, 1)
	go func() { switched <- cr.EnableDDP(prototest.TimeLimit(t), nil) }()
	err := ci.EnableDDP(prototest.TimeLimit(t), nil)
	if err := errors.Join(err, <-switched); err != nil {
		t.Fatal(err)
	}
	return ci, cr, buffers
}
