package softrnic

import (
	"fmt"
	"time"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A vigil decides when the peer of a connection has been silent for so long that a NIC would have
// given up. It looks at the connection in rounds, as long as work requests are under way.
//
//	none ──silent──▶ silent (asks) ──silent──▶ silent (asks) ──silent, late, after rounds──▶ lost
//	  ▲                │
//	  └────heard───────┘
//
// What counts is any sign of the peer's host, not the end of a work request: a long transfer may
// take its time, and so may a program that has posted no receive, or is stopped. A round that comes
// late counts once. So a host that has stood still does not blame its peers for it.
type vigil struct {
	last   time.Time // when it looked last
	since  time.Time // when it found the silence
	silent int       // rounds of silence
}

const (
	// vigilRounds is how many rounds of silence there are before the peer is lost.
	vigilRounds = 4
	// roundMost is the time between two rounds at most.
	roundMost = 5 * time.Second
)

// roundOf returns the time between two rounds of a vigil with the given limit.
func roundOf(limit time.Duration) time.Duration { return min(limit/vigilRounds, roundMost) }

// look is a round. heard is when there was a sign of the peer. ask says that the peer must be asked
// for one.
func (v *vigil) look(now, heard time.Time, limit time.Duration) (ask, lost bool) {
	last := v.last
	v.last = now
	if heard.After(last) {
		v.silent = 0
		return false, false
	}
	if v.silent == 0 {
		v.since = now
	}
	v.silent++
	lost = v.silent > vigilRounds && now.Sub(v.since) >= limit
	return !lost, lost
}

// watchLocked begins the rounds, unless there are rounds already or nothing to look for: the end of
// a peer on this host is seen at once, over UC nothing is acknowledged, and iWARP leaves it to TCP.
//
// +checklocks:l.q.mu
func (l *link) watchLocked(limit time.Duration) {
	if !l.q.agenda.has(alarmVigil) && limit > 0 && l.q.kind == uverbs.RC && l.kind != linkPlain && !isNear(l.conn) && l.kind != linkSelf {
		l.vigil = vigil{last: time.Now()}
		l.alarmLocked(alarmVigil, roundOf(limit))
	}
}

// round is a round of the vigil.
func (l *link) round() {
	now := time.Now()
	heard := l.heard(now)
	l.q.mu.Lock()
	limit := l.q.life.patience()
	timeout, retries := l.q.life.attrs.Timeout, l.q.life.attrs.Retry
	if l.out.state == outOver || l.out.isIdle() || limit == 0 {
		l.calmLocked(alarmVigil)
		l.q.mu.Unlock()
		return
	}
	ask, lost := l.vigil.look(now, heard, limit)
	l.q.mu.Unlock()
	switch {
	case lost:
		l.q.fail(l, uverbs.RetryExceeded, fmt.Sprintf("no sign of the peer for %v, with a timeout of %d and a retry_cnt of %d", limit, timeout, retries))
	case ask:
		l.ask()
	}
}

// heard returns when there was the last sign of the peer, as far as this end can tell. TCP knows
// when the peer's host has acknowledged something. On a network with injected faults, only the
// traffic shows it.
func (l *link) heard(now time.Time) time.Time {
	if ago, ok := lastAcknowledgement(l.conn); ok {
		return now.Add(-ago)
	}
	s := l.conn.Counts().Sums()
	moved := s[counters.Received+counters.FPDUs] + s[counters.Sent+counters.FPDUs]
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	waits := l.out.isWaiting() // the peer holds a frame, and has said so
	if moved == l.moved && !waits {
		return time.Time{}
	}
	l.moved = moved
	return now
}

// ask makes the peer give a sign: its device acknowledges what it has received, though the program
// does not wait for that, and its TCP acknowledges an acknowledgement of this end, even if the
// device holds frames that have no receive.
func (l *link) ask() {
	q := l.q
	q.sendMu.Lock()
	q.sender.awaits()
	q.sendMu.Unlock()
	if _, ok := lastAcknowledgement(l.conn); ok {
		_ = l.post(frame{kind: frameAck, number: l.receiver.consumedNumber()}) // an error ends the link by itself
	}
	q.kick()
}
