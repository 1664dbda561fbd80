//go:build amd64 || arm64

package softrnic

import (
	"errors"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/shm"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
)

// TestExpect: the device does not connect a queue pair that a connection manager is expected to
// connect, although the program joins it.
func TestExpect(t *testing.T) {
	p := newProgram(t, newDevice(t))
	p.dev.managerTime = time.Hour
	dials := func(peer uint32) bool {
		qp := p.qp(nil)
		for _, s := range []uint8{guest.Init, guest.RTR} {
			if err := qp.Modify(s, p.gid, peer, nil); err != nil {
				t.Fatal(err)
			}
		}
		q := p.dev.find(qp.Num)
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.life.join == dialing
	}
	const peer = 1<<24 - 1 // a QPN higher than any other, so this end dials
	first, second := p.dev.Expect(localhost, peer), p.dev.Expect(localhost, peer)
	if dials(peer) {
		t.Error("it dials a peer that a connection manager expects")
	}
	if !dials(peer - 1) {
		t.Error("it does not dial another one")
	}
	first()
	if dials(peer) {
		t.Error("it dials a peer that is expected once more")
	}
	second()
	if !dials(peer) {
		t.Error("it does not dial a peer that nobody expects")
	}
}

// TestJoinBesideRequests: a request of a connection manager that happens to name the peer, and that
// no program answers, does not keep a program from joining its queue pair.
func TestJoinBesideRequests(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	qa, qb := a.qp(nil), b.qp(nil)
	defer a.dev.Expect(localhost, qb.Num)()
	defer b.dev.Expect(localhost, qa.Num)()
	joinPair(t, a, b, qa, qb)
	qb.PostRecv(7, b.mr.Part(0, 8))
	if err := qa.Post(guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	a.want("a Send", 1, uverbs.Success)
	b.want("its receive", 7, uverbs.Success)
}

// TestManagedRefuses: a queue pair that a connection manager has connected refuses the waiting
// Requests of other peers.
func TestManagedRefuses(t *testing.T) {
	p := newProgram(t, newDevice(t))
	num := p.qp(nil).Num
	q := p.dev.find(num)
	refused := make(chan error, 1)
	go func() {
		_, err := ask(t, num+1, num)
		refused <- err
	}()
	prototest.Wait(t, "the Request", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return len(q.requests) > 0
	})
	q.mu.Lock()
	life := q.life.number
	q.mu.Unlock()
	l := q.newLink(pairOfConns(t), 0, linkByAttributes)
	if !l.run(q.manage(l, life, &uverbs.Attributes{})) {
		t.Fatal("it is not connected")
	}
	if reject := (*mpa.RejectError)(nil); !errors.As(<-refused, &reject) {
		t.Error("the Request is not rejected")
	}
}

// pairOfConns returns one end of a connection in DDP mode.
func pairOfConns(t *testing.T) *conn.Conn {
	t.Helper()
	a, b, err := shm.SocketPair()
	if err != nil {
		t.Fatal(err)
	}
	cfg := conn.Config{Domain: new(ddp.Domain), SendDepth: 8, RecvDepth: 8, RecvSize: 64, StartupTimeout: requestTime, CloseTimeout: Linger}
	asks, answers := conn.New(conn.StreamOf(a), true, &cfg, nil), conn.New(conn.StreamOf(b), false, &cfg, nil)
	t.Cleanup(func() { asks.Close(); answers.Close() })
	accepted := make(chan error, 1)
	go func() {
		r, err := answers.ReceiveRequest(t.Context())
		if err == nil {
			err = r.Accept(t.Context(), &cfg, nil)
		}
		accepted <- err
	}()
	if err := errors.Join(asks.Connect(t.Context(), nil), <-accepted); err != nil {
		t.Fatal(err)
	}
	return asks
}
