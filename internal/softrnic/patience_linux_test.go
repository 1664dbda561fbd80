//go:build amd64 || arm64

package softrnic

import (
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestPatience: work requests without a peer fail when their time is over, even if the queue pair
// was in SQD meanwhile. A timer that was stopped too late does nothing.
func TestPatience(t *testing.T) {
	p := newProgram(t, newDevice(t))
	qp := p.qp(nil)
	q := p.dev.find(qp.Num)
	const peer = 1 << 8 // a QPN lower than any other, so the peer dials
	if err := qp.Join(p.gid, peer); err != nil {
		t.Fatal(err)
	}
	// However late the test is, no timer fires by itself.
	q.mu.Lock()
	q.life.attrs.Timeout, q.life.attrs.Retry = 31, 7
	life := q.life.number
	q.mu.Unlock()
	if err := qp.Post(guest.WR{ID: 1, Op: guest.OpSend, List: []guest.SGE{p.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	if err := qp.Modify(guest.SQD, p.gid, peer, nil); err != nil {
		t.Fatal(err)
	}
	waits := func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		return q.agenda.has(alarmPeer)
	}
	if !waits() {
		t.Fatal("the Send does not wait")
	}
	q.mu.Lock()
	q.agenda.clear(alarmPeer)
	q.mu.Unlock()
	q.waited(life) // as the timer does
	if err := qp.Modify(guest.RTS, p.gid, peer, func(in []byte) { in[68], in[69], in[70] = 1, 0, 0 }); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the next wait", waits)
	q.waited(life - 1)
	if _, ok := p.cq.Poll(); ok {
		t.Fatal("the old timer has ended the wait")
	}
	q.waited(life)
	p.want("the Send", 1, uverbs.RetryExceeded)
}
