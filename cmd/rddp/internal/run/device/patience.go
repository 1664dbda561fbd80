package device

import (
	"net/netip"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// leastPatience is how long a queue pair waits for its peer at least, before its work requests fail. A NIC may give up
// within milliseconds, because another NIC answers within microseconds. Here the peer's device shares its processors
// with the program, and with whatever else a busy CI runner does, and may still be on its way.
const leastPatience = 5 * time.Second

// patienceLocked returns how long work requests of q wait for a sign of the peer: as long as a NIC would repeat them, but
// at least leastPatience. 0 means forever.
//
// +checklocks:q.mu
func (q *queuePair) patienceLocked() time.Duration {
	if q.attrs.Timeout == 0 && q.kind == uverbs.RC {
		return 0
	}
	return max(leastPatience, q.retryTimeLocked())
}

// waitLocked begins to wait for a link.
//
// +checklocks:q.mu
func (q *queuePair) waitLocked() {
	limit := q.patienceLocked()
	if limit == 0 {
		return
	}
	var t *time.Timer
	t = time.AfterFunc(limit, func() {
		q.mu.Lock()
		late := q.patience == t // or it has been stopped too late
		if late {
			q.patience = nil // in another state than RTS, the work requests may wait once more
			q.abandoned = q.attrs.State == uverbs.RTS
		}
		gid, qpn := q.attrs.Address.DGID, q.attrs.DestQPN
		q.mu.Unlock()
		if late {
			q.ctx.dev.log.Info("no peer", "qpn", q.num, "peer", qpn, "gid", netip.AddrFrom16(gid).Unmap().String(), "waited", limit.String())
			q.kick()
		}
	})
	q.patience = t
}

// retryTimeLocked returns how long a NIC repeats what has no answer.
//
// +checklocks:q.mu
func (q *queuePair) retryTimeLocked() time.Duration {
	return (time.Duration(q.attrs.Retry) + 1) * (4096 * time.Nanosecond) << (q.attrs.Timeout & 31)
}

// missMost is how long work requests wait at most for a peer that has left, if no test has made it longer.
const missMost = time.Second

// miss ends l, whose peer has left, but not before a NIC would give up. Connections are not in order
// with each other: a program whose work on another queue pair is done may destroy all of them, and its
// peer must hear of the work before it hears of a work request that came too late.
func (q *queuePair) miss(l *link, err error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.link != l {
		return
	}
	d := q.ctx.dev.missMost
	if q.attrs.Timeout != 0 {
		d = min(d, q.retryTimeLocked())
	}
	q.patience = time.AfterFunc(d, func() { l.gone(err) })
}

// notReadyFor handles the news that frame number waits for a receive of the peer's program, whose
// RNR timer is given.
func (l *link) notReadyFor(number uint32, timer uint8) error {
	f, err := l.reached(number)
	if err != nil {
		return err
	}
	l.q.mu.Lock()
	retries := l.q.attrs.RNRRetry
	l.q.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.over || int32(l.acked-number) >= 0 || l.notReady != nil && int32(l.notReadyFrame-number) >= 0 {
		return nil
	}
	l.stopLocked() // the peer has got that frame, since it waits with a later one
	l.notReadyFrame = number
	const forever = 7
	if retries >= forever {
		return nil
	}
	l.notReady = time.AfterFunc(time.Duration(retries+1)*l.q.ctx.dev.rnrTime(timer), func() {
		l.mu.Lock()
		late := !l.over && int32(l.acked-number) < 0
		l.mu.Unlock()
		if late {
			l.refuse(f, uverbs.RNRRetryExceeded, "the peer's program has posted no receive")
		}
	})
	return nil
}

// rnrTick is the unit of the table in rnrTime, if no test has made it longer.
const rnrTick = 10 * time.Microsecond

// rnrTime returns the time that a code of the RNR timer stands for (InfiniBand's table 45).
func (d *Device) rnrTime(code uint8) time.Duration {
	hundredths := [...]time.Duration{ // of a millisecond
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288,
		16384, 24576, 32768, 49152,
	}
	return hundredths[code&31] * d.rnrTick
}
