//go:build amd64 || arm64

package softrnic

import (
	"net/netip"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// waitingSend joins two programs over TCP or over a network with injected faults, and returns the
// link of the first one, whose Send waits for a receive without limit.
func waitingSend(t *testing.T, network bool) (a, b *program, qb *guest.QP, l *link) {
	t.Helper()
	devices := [2]*Device{}
	for i := range devices {
		if network {
			devices[i] = newFaultyDevice(t, "rate=1G")
			continue
		}
		d, err := New(Config{Addresses: []netip.Addr{localhost}, OnlyTCP: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(d.Close)
		devices[i] = d
	}
	a, b = newProgram(t, devices[0]), newProgram(t, devices[1])
	qa, qb := a.qp(nil), b.qp(nil)
	joinPair(t, a, b, qa, qb)
	if err := qa.Post(guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the peer says that it has no receive", func() bool {
		q := a.dev.find(qa.Num)
		q.mu.Lock()
		l = q.link
		q.mu.Unlock()
		if l == nil {
			return false
		}
		l.q.mu.Lock()
		defer l.q.mu.Unlock()
		return l.out.isWaiting() && l.q.agenda.has(alarmVigil)
	})
	l.q.mu.Lock()
	l.q.alarmLocked(alarmVigil, time.Hour) // the test makes the rounds
	l.q.mu.Unlock()
	return a, b, qb, l
}

// TestVigilOfLink: a peer that has been silent for too long ends the work request that waits for
// it.
func TestVigilOfLink(t *testing.T) {
	a, _, _, l := waitingSend(t, false)
	l.q.mu.Lock()
	l.vigil = vigil{last: time.Now().Add(time.Hour), since: time.Now().Add(-time.Hour), silent: vigilRounds} // nothing is later
	l.q.mu.Unlock()
	l.round()
	a.want("the Send", 1, uverbs.RetryExceeded)
}

// TestVigilHears: a peer whose program has posted no receive gives a sign when it is asked, and the
// Send to it waits on.
func TestVigilHears(t *testing.T) {
	for _, network := range []bool{false, true} {
		a, b, qb, l := waitingSend(t, network)
		start := time.Now()
		prototest.Wait(t, "a sign of the peer", func() bool {
			l.ask()
			return l.heard(time.Now()).After(start)
		})
		for range 2 * vigilRounds {
			l.q.mu.Lock()
			l.vigil = vigil{last: start, since: start.Add(-time.Hour), silent: vigilRounds}
			l.q.mu.Unlock()
			l.round()
		}
		qb.PostRecv(2, b.mr.Part(0, 8))
		a.want("the Send", 1, uverbs.Success)
		b.want("the receive", 2, uverbs.Success)
	}
}

// TestVigilForever: with a timeout of 0 there are no rounds.
func TestVigilForever(t *testing.T) {
	a, _, _, l := waitingSend(t, false)
	l.q.mu.Lock()
	l.q.life.attrs.Timeout = 0
	l.q.mu.Unlock()
	l.q.mu.Lock()
	l.vigil = vigil{last: time.Now().Add(time.Hour), since: time.Now().Add(-time.Hour), silent: vigilRounds}
	l.q.mu.Unlock()
	l.round()
	l.q.mu.Lock()
	rounds := l.q.agenda.has(alarmVigil)
	l.watchLocked(0)
	again := l.q.agenda.has(alarmVigil)
	l.q.mu.Unlock()
	if rounds || again {
		t.Error("the rounds go on")
	}
	if w, ok := a.cq.Poll(); ok {
		t.Errorf("completion %+v", w)
	}
}
