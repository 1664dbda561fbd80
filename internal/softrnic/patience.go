package softrnic

import (
	"net/netip"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// waitLocked begins to wait for a link.
//
// +checklocks:q.mu
func (q *queuePair) waitLocked() {
	if limit := q.life.posted(); limit != 0 {
		q.alarmLocked(alarmPeer, limit)
	}
}

// waited ends the wait for a link, in the given life of q.
func (q *queuePair) waited(life uint64) {
	q.mu.Lock()
	over, limit := q.life.waited(life), q.life.patience()
	gid, qpn := q.life.attrs.Address.DGID, q.life.attrs.DestQPN
	if over && q.life.join == lost {
		q.stopJoiningLocked()
	}
	q.mu.Unlock()
	if over {
		q.ctx.dev.log.Info("no peer", "qpn", q.num, "peer", qpn, "gid", netip.AddrFrom16(gid).Unmap().String(), "waited", limit.String())
		q.kick()
	}
}

// miss ends l, whose peer has left, but not before a NIC would give up. Connections are not in
// order with each other: a program whose work on another queue pair is done may destroy all of
// them, and its peer must learn of that work before it learns that a work request came too late.
func (q *queuePair) miss(l *link, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.link != l {
		return
	}
	q.life.misses()
	d := q.ctx.dev.missMost
	if q.life.attrs.Timeout != 0 {
		d = min(d, q.life.retryTime())
	}
	l.cause = err // +checklocksignore: the link's queue pair is locked
	q.alarmLocked(alarmMissed, d)
}

// missed ends the link whose peer has been missed for long enough.
func (l *link) missed() {
	l.q.mu.Lock()
	err := l.cause
	l.q.mu.Unlock()
	(&end{q: l.q, l: l, err: err, steps: []step{stepPart}}).run()
}

// notReadyFor handles a frameNotReady of the peer: frame number waits for a receive of its program,
// whose RNR timer is given.
func (l *link) notReadyFor(number uint32, timer uint8) error {
	l.q.mu.Lock()
	defer l.q.mu.Unlock()
	retries := l.q.life.attrs.RNRRetry
	if err := l.advanceLocked(l.out.reached(number)); err != nil {
		return err
	}
	const forever = 7
	switch {
	case !l.out.waits(number) || retries >= forever:
		return nil
	case retries == 0 && l.q.ctx.dev.faults.Takes(fault.RNR):
		l.notReadyLocked()
		return nil
	}
	l.alarmLocked(alarmNotReady, time.Duration(retries+1)*l.q.ctx.dev.rnrTime(timer))
	return nil
}

// notReadyLocked ends the wait for a receive of the peer's program.
//
// +checklocks:l.q.mu
func (l *link) notReadyLocked() {
	if number := l.out.notReady; l.out.waited(number) {
		l.q.checkRefused()
		l.refuseLocked(number, uverbs.RNRRetryExceeded, "the peer's program has posted no receive")
	}
}

// rnrTime returns the time that a code of the RNR timer stands for (InfiniBand's table 45).
func (d *Device) rnrTime(code uint8) time.Duration {
	hundredths := [...]time.Duration{ // of a millisecond
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
		16384, 24576, 32768, 49152,
	}
	return hundredths[code&31] * d.rnrTick
}
