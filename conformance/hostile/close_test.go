package hostile

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestQueuePairCloseAgainstPost: posters, the transmitter and the end of a queue pair race, a
// million times. Accepted work requests complete exactly once, and others never do.
func TestQueuePairCloseAgainstPost(t *testing.T) {
	random := seeded(t)
	seed := random.Uint64()
	rounds := testmode.Count(1_000_000, 20_000)
	var accepted, refused, flushed atomic.Int64
	workers := runtime.GOMAXPROCS(0)
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			var race qpRace
			for i := range rounds / workers {
				a, r, f, err := race.run((seed + uint64(w)<<32 + uint64(i)) * 0x9e3779b97f4a7c15)
				if err != nil {
					t.Errorf("worker %d, round %d: %v", w, i, err)
					return
				}
				accepted.Add(int64(a))
				refused.Add(int64(r))
				flushed.Add(int64(f))
			}
		})
	}
	wg.Wait()
	t.Logf("%d rounds: %d requests accepted, %d of them flushed, %d refused", rounds, accepted.Load(), flushed.Load(), refused.Load())
	if refused.Load() == 0 || flushed.Load() == 0 || flushed.Load() == accepted.Load() {
		t.Error("the ends have not met the posts")
	}
}

const racePosts = 4 // by each of two posters

// A qpRace is one round of two posters and the transmitter against the end.
type qpRace struct {
	qp      *rdmap.QP
	refused [2]int
}

// post is one of the two posters of a round.
func (r *qpRace) post(i, spin int, ids []uint64) []uint64 {
	r.refused[i] = 0
	for range spin {
		runtime.Gosched()
	}
	for n := range racePosts {
		id := uint64(i*racePosts + n)
		var err error
		switch n % 4 {
		case 0:
			err = r.qp.PostSend(&rdmap.WorkRequest{ID: id, Op: rdmap.WorkSend, Data: []byte("x")})
		case 1:
			err = r.qp.PostSend(&rdmap.WorkRequest{ID: id, Op: rdmap.WorkRead, Data: make([]byte, 1), Remote: rdmap.Handle{STag: 1}})
		case 2:
			err = r.qp.PostRecv(rdmap.RecvRequest{ID: id, Buf: make([]byte, 1)})
		case 3:
			err = r.qp.PostSend(&rdmap.WorkRequest{ID: id, Op: rdmap.WorkWrite, Data: []byte("x"), Remote: rdmap.Handle{STag: 1}})
		}
		if err == nil {
			ids = append(ids, id)
		} else {
			r.refused[i]++
		}
	}
	return ids
}

var errRace = errors.New("the end of a race")

// run runs one round. choice determines what happens in it, but not when.
func (r *qpRace) run(choice uint64) (accepted, refused, flushed int, err error) {
	sendCQ, recvCQ := rdmap.NewCompletionQueue(8), rdmap.NewCompletionQueue(8)
	r.qp = rdmap.NewQP(rdmap.Config{SendDepth: 8, RecvDepth: 8, SendCQ: sendCQ, RecvCQ: recvCQ})
	r.qp.Start(rdmap.StartParams{Initiator: true, IRD: 4, ORD: 4})
	var wg sync.WaitGroup
	var ids [2][]uint64
	for i := range ids {
		wg.Go(func() { ids[i] = r.post(i, int(choice>>(8*i)&7), make([]uint64, 0, racePosts)) })
	}
	wg.Go(func() { // the transmitter
		for range 1 + choice>>16&3 {
			for r.qp.NextMessage() {
				r.qp.Sent(1)
			}
			runtime.Gosched()
		}
	})
	for range choice >> 24 & 15 {
		runtime.Gosched()
	}
	switch choice >> 32 & 3 {
	case 0:
		r.qp.Close()
	case 1:
		r.qp.Fail(errRace)
	case 2:
		r.qp.PeerClosed(errRace)
	case 3:
		r.qp.Fail(&mpa.Error{Code: mpa.CodeMarker})
	}
	r.qp.Close()
	wg.Wait()
	r.qp.Abort(errRace) // the transmitter has ended, so no message is held
	var completions [2 * racePosts]int
	done := make([]rdmap.Completion, 4*racePosts)
	n := sendCQ.Poll(done)
	n += recvCQ.Poll(done[n:])
	for _, d := range done[:n] {
		completions[d.ID]++
		if d.Status != rdmap.StatusOK {
			flushed++
		}
	}
	for _, list := range ids {
		for _, id := range list {
			completions[id]--
		}
		accepted += len(list)
	}
	for _, left := range completions {
		if left != 0 {
			return 0, 0, 0, scenario.ErrLost
		}
	}
	return accepted, r.refused[0] + r.refused[1], flushed, nil
}

// TestCloseAgainstPost: the same with whole connections. Both ends post all kinds of work from
// several goroutines and register memory, while one end or both are closed, or the path is cut.
// There are also a second Close and a poller.
func TestCloseAgainstPost(t *testing.T) {
	random := seeded(t)
	goroutines := runtime.NumGoroutine()
	rounds := testmode.Count(5_000, 500)
	var accepted, flushed, slow atomic.Int64
	late := 5 * time.Second
	if !testmode.Full { // the machine may be busy
		late = connRaceTimeout / 2
	}
	cuts := make([]simtoe.Config, rounds)
	closers := make([]int, rounds)
	for i := range cuts {
		closers[i] = random.IntN(4)
		cuts[i].Seed = random.Uint64()
		if closers[i] == 3 {
			cuts[i].CutHow, cuts[i].CutAfter = simtoe.RST, 100+random.Int64N(1000)
		}
	}
	inParallel(rounds, func(i int) {
		a, f, elapsed, err := connRace(cuts[i], closers[i])
		if err != nil {
			t.Errorf("round %d (%+v, %d): %v", i, cuts[i], closers[i], err)
		}
		if elapsed > time.Second { // a busy machine may stop everything for that long
			slow.Add(1)
		}
		if elapsed > late { // a round that hangs takes at least the close timeout
			t.Errorf("round %d (%+v, %d): took %v", i, cuts[i], closers[i], elapsed)
		}
		accepted.Add(int64(a))
		flushed.Add(int64(f))
	})
	settled(t, goroutines)
	t.Logf("%d rounds: %d requests accepted, %d of them flushed, %d rounds took more than a second",
		rounds, accepted.Load(), flushed.Load(), slow.Load())
	if flushed.Load() == 0 || flushed.Load() == accepted.Load() {
		t.Error("the ends have not met the posts")
	}
}

// connRaceTimeout is the close timeout of both ends in a connRace.
const connRaceTimeout = time.Minute

// connRace runs one round. closers says which ends close: the first, the second, both, or none, and
// then a cut ends the connection.
func connRace(cut simtoe.Config, closers int) (accepted, flushed int, elapsed time.Duration, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, b := simtoe.Pair(cut, simtoe.Config{})
	cfg := &extsock.Config{Messages: true, SendDepth: 16, RecvDepth: 64, CloseTimeout: connRaceTimeout}
	ends := [2]*extsock.Conn{extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)}
	var handles [2]rdmap.Handle
	var startup sync.WaitGroup
	recvs := 32
	for i, c := range ends {
		for id := range recvs {
			if err := c.PostRecv(rdmap.RecvRequest{ID: uint64(id), Buf: make([]byte, 16)}); err != nil {
				return 0, 0, 0, err
			}
		}
		r, err := c.Register(make([]byte, 64), ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic)
		if err != nil {
			return 0, 0, 0, err
		}
		handles[i] = r.Handle()
		startup.Go(func() { c.EnableDDP(ctx, nil) })
	}
	startup.Wait()
	begin := time.Now()
	var counts [2][2]atomic.Int64 // by end: of the send queue, of the receive queue
	var wg sync.WaitGroup
	for i, c := range ends {
		counts[i][1].Store(int64(recvs))
		for p := range 2 {
			wg.Go(func() {
				ops := []rdmap.WorkOp{rdmap.WorkSend, rdmap.WorkWrite, rdmap.WorkRead, rdmap.WorkFetchAdd}
				for n := range 8 {
					op := ops[(n+p)%len(ops)]
					wr := rdmap.WorkRequest{Op: op, Remote: handles[1-i]}
					if op != rdmap.WorkFetchAdd {
						wr.Data = make([]byte, 8)
					}
					// Each kind has its own word. A Read of memory that a Write or an atomic
					// changes at the same time is undefined, and a data race.
					wr.Remote.TO += 8 * uint64((n+p)%len(ops))
					if c.Post(&wr) == nil {
						counts[i][0].Add(1)
					}
				}
			})
		}
		wg.Go(func() {
			if r, err := c.Register(make([]byte, 8), ddp.RemoteRead); err == nil {
				r.Deregister()
			}
			if c.PostRecv(rdmap.RecvRequest{ID: 99, Buf: make([]byte, 16)}) == nil {
				counts[i][1].Add(1)
			}
		})
		if closers == i || closers == 2 {
			wg.Go(func() { c.Close() })
			wg.Go(func() { c.Close() })
		}
	}
	wg.Wait()
	ends[0].Close()
	ends[1].Close()
	for i, c := range ends {
		for q, cq := range []*extsock.CompletionQueue{c.SendCQ(), c.RecvCQ()} {
			for range counts[i][q].Load() {
				d, err := cq.Wait(ctx)
				if err != nil {
					return 0, 0, 0, scenario.ErrLost
				}
				accepted++
				if d.Status != rdmap.StatusOK {
					flushed++
				}
			}
			if cq.Poll(make([]rdmap.Completion, 1)) > 0 {
				return 0, 0, 0, scenario.ErrLost
			}
		}
	}
	return accepted, flushed, time.Since(begin), nil
}
