package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// The value of the octets of TestRandomVerbs names their owner.
const (
	ofSource  = 0xAB // the memory that is read
	ofPayload = 0xCD // the connection: an operation sends them
	ofProgram = 0xEE // the program: the operation is over
)

// A verbsRun is one round of TestRandomVerbs. Its operations begin at the front of the peer's
// memory, except the atomics, whose word is the last.
type verbsRun struct {
	*randomPair
	c        *extsock.Conn
	from, to rdmap.Handle // the peer's memory
	payloads [][]byte     // of the Work Requests that were accepted, by ID
	done     []int        // their Completions
	over     int          // the Work Requests that have one
}

// TestRandomVerbs posts one-sided operations, and calls them with contexts that end at any time,
// until the connection ends in one of seven ways. Each Work Request that was accepted has exactly
// one Completion. An operation that has succeeded has moved all its octets, and the memory of one
// that is over is the program's.
func TestRandomVerbs(t *testing.T) {
	config := func(r *rand.Rand) extsock.Config {
		return extsock.Config{
			Messages: r.IntN(2) == 0, SendDepth: oneOf(r, 0, 1, 3, 20), ORD: oneOf(r, 0, 1, 2), NoCRC: r.IntN(2) == 0, Markers: r.IntN(3) == 0,
			MaxFPDU: oneOf(r, 0, 0, 600), IdleTimeout: oneOf(r, 0, 0, time.Millisecond), CloseTimeout: 3 * time.Second,
		}
	}
	randomRounds(t, 60, func(t *testing.T, seed uint64) {
		withRandomPair(t, seed, config, func(t *testing.T, x *randomPair) {
			v := &verbsRun{randomPair: x, c: x.conns[0]}
			const size = 300_000
			memory := make([]byte, size)
			from := register(t, x.conns[1], bytes.Repeat([]byte{ofSource}, size), ddp.RemoteRead)
			to := register(t, x.conns[1], memory, ddp.RemoteWrite|ddp.RemoteAtomic)
			v.from, v.to = from.Handle(), to.Handle()
			var all sync.WaitGroup
			all.Go(func() { v.post(t, rand.New(rand.NewPCG(seed, 30))) })
			when := x.r.IntN(40)
			for i := range 3 {
				r := rand.New(rand.NewPCG(seed, uint64(40+i)))
				all.Go(func() {
					for n := range 40 {
						if i == 0 && n == when {
							all.Go(x.begin)
						}
						v.call(t, r)
					}
				})
			}
			all.Wait()
			for _, c := range x.conns {
				c.Close()
			}
			for v.over < len(v.payloads) {
				v.take(t)
			}
			to.Deregister()
			if n := v.c.SendCQ().Len(); n != 0 {
				t.Errorf("RDDP_SEED=%d: %s, %v: %d more Completions than Work Requests", seed, x.kind, x.end, n)
			}
			if i := bytes.IndexByte(memory[:size-8], ofProgram); i >= 0 {
				t.Errorf("RDDP_SEED=%d: %s, %v: octet %d was the program's when it was sent", seed, x.kind, x.end, i)
			}
		})
	})
}

// post posts Work Requests until one is refused, other than by a full queue.
func (v *verbsRun) post(t *testing.T, r *rand.Rand) {
	for len(v.payloads) < 100 {
		p := bytes.Repeat([]byte{ofPayload}, oneOf(r, 0, 8, 5000, 100_000))
		wr := rdmap.WorkRequest{ID: uint64(len(v.payloads)), Op: rdmap.WorkWrite, Data: p, Remote: v.to}
		if r.IntN(3) == 0 {
			wr.Op, wr.Remote = rdmap.WorkRead, v.from
		}
		wr.Remote.Len = uint32(len(p))
		err := v.c.Post(&wr)
		switch full := errors.Is(err, rdmap.ErrQueueFull) || errors.Is(err, rdmap.ErrCompletionQueueFull); {
		case err == nil:
			v.payloads, v.done = append(v.payloads, p), append(v.done, 0)
		case full && v.over < len(v.payloads):
			v.take(t)
		case full: // the calls of the other goroutines make room
			v.c.Remote(v.to).Write(timeLimit(t), nil, 0)
		default:
			return
		}
	}
}

// take waits for the next Completion. The memory of its Work Request is the program's from then on.
func (v *verbsRun) take(t *testing.T) {
	d, err := v.c.SendCQ().Wait(timeLimit(t))
	if err != nil || d.ID >= uint64(len(v.done)) {
		t.Errorf("RDDP_SEED=%d: %s, %v: %d of %d Work Requests are over; Wait = %v, %v", v.seed, v.kind, v.end, v.over, len(v.payloads), d, err)
		v.over = len(v.payloads)
		return
	}
	p := v.payloads[d.ID]
	if v.done[d.ID]++; v.done[d.ID] > 1 {
		t.Errorf("RDDP_SEED=%d: %s, %v: Work Request %d has %d Completions", v.seed, v.kind, v.end, d.ID, v.done[d.ID])
	}
	if d.Op == rdmap.WorkRead && d.Status == rdmap.StatusOK && bytes.Count(p, []byte{ofSource}) != len(p) {
		t.Errorf("RDDP_SEED=%d: %s, %v: a Read of %d octets has other octets", v.seed, v.kind, v.end, len(p))
	}
	v.over++
	copy(p, bytes.Repeat([]byte{ofProgram}, len(p)))
}

// call calls one operation whose context ends soon.
func (v *verbsRun) call(t *testing.T, r *rand.Rand) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(40))*100*time.Microsecond)
	defer cancel()
	p := bytes.Repeat([]byte{ofPayload}, oneOf(r, 0, 1, 5000, 100_000, 300_000-8))
	program := bytes.Repeat([]byte{ofProgram}, len(p))
	switch r.IntN(3) {
	case 0:
		v.c.Remote(v.to).Write(ctx, p, 0)
		copy(p, program)
	case 1:
		v.c.Remote(v.to).FetchAdd(ctx, int64(v.to.Len)-8, 1)
	case 2:
		n, err := v.c.Remote(v.from).Read(ctx, p, 0)
		if err == nil && (n != len(p) || bytes.Count(p, []byte{ofSource}) != n) {
			t.Errorf("RDDP_SEED=%d: %s, %v: Read of %d octets = %d, with other octets", v.seed, v.kind, v.end, len(p), n)
		}
		copy(p, program)
		v.c.Remote(v.to).Write(ctx, nil, 0) // during this call, nothing may change them
		if !bytes.Equal(p, program) {
			t.Errorf("RDDP_SEED=%d: %s, %v: memory has changed after Read = %d, %v", v.seed, v.kind, v.end, n, err)
		}
	}
}
