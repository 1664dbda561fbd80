package softrnic

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/user"
	"github.com/rddp/rddp/mpa"
)

// This file decides which peers may join a queue pair that a program joins by its attributes. The
// rule is the same for a connection through memory, over TCP, and for a Request that comes before
// the program has named the peer:
//
//   - The hello comes from the address that is the peer's GID, for the queue pair that the program
//     has named, and from the end that dials.
//   - A peer on this host has the user of this process. The kernel says so: for memory in package
//     shm, for TCP here.
//   - A peer elsewhere, where the kernel cannot be asked, has the TCP port that is in the number of
//     its queue pair. The end that dials finds it there. The other end asks there whether the
//     secret of the hello is that of a dial that is under way. So another user of the peer's host,
//     and another host behind the same NAT, cannot take the peer's place as long as its device is
//     there.

var (
	errAnotherUser = errors.New("the peer's device belongs to another user of this host")
	errEnding      = errors.New("the peer is on this host, and its end of the connection is closing, so its user is not known")
	errNotItsPort  = errors.New("the device at the port of the peer's queue pair does not dial")
)

// userOf returns the relation of the user of the device at the other end of a connection to this
// process.
func userOf(c *conn.Conn) user.Relation {
	if isNear(c) {
		return user.Same // package shm connects no other user
	}
	return user.OfTCP(addrPort(c.LocalAddr()), addrPort(c.RemoteAddr()))
}

// reasonAgainst returns why a connection whose peer has the relation r to this process must not
// join a queue pair, or nil. An end that is closing may be any user's, and the bytes that it has
// sent before would still be read.
func reasonAgainst(r user.Relation) error {
	switch r {
	case user.Another:
		return errAnotherUser
	case user.Ending:
		return errEnding
	}
	return nil
}

// dialsFirst reports whether the queue pair qa of the device with the GID a dials qb of b, and not
// the reverse.
func dialsFirst(a uverbs.GID, qa uint32, b uverbs.GID, qb uint32) bool {
	c := bytes.Compare(a[:], b[:])
	return c < 0 || c == 0 && qa < qb
}

// isDialing reports whether q dials the queue pair that asks, with its secret.
func (q *queuePair) isDialing(h *hello) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.life.join == dialing && q.secret.is(h.secret) && h.from == q.life.attrs.DestQPN && h.gid == q.life.attrs.Address.DGID
}

// confirmed is the private data with which a device rejects the Request of a question, if the
// answer is yes. An acceptance would let the peer that asks access registered memory.
const confirmed = "rddp QP: yes"

// answerQuestion answers whether q dials the queue pair that asks.
func (r *request) answerQuestion(q *queuePair) {
	var answer []byte
	if q.isDialing(&r.hello) {
		answer = []byte(confirmed)
	}
	r.reject(answer)
}

// confirm returns nil if the device at the port of the peer's queue pair has sent p.
func (q *queuePair) confirm(ctx context.Context, p *request) error {
	d := q.ctx.dev
	me := hello{kind: question, from: q.num, to: p.from, gid: q.gid(), secret: p.secret}
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(netip.AddrFrom16(me.gid).Unmap(), 0))}
	nc, err := dialer.DialContext(ctx, "tcp", qpnAddress(p.gid, p.from))
	if err != nil {
		return err
	}
	c := conn.New(conn.StreamOf(nc), true, d.Tapped(&conn.Config{StartupTimeout: requestTime}), nil)
	defer c.Close()
	err = c.Connect(ctx, me.appendTo(nil))
	if d.userOf(c) == user.Another { // Ending is no reason: the peer has rejected the Request
		return errAnotherUser
	}
	if answer := (*mpa.RejectError)(nil); errors.As(err, &answer) && string(answer.PrivateData) == confirmed {
		return nil
	}
	return errNotItsPort
}

// warnEvery is the least time between two warnings for the same reason.
const warnEvery = time.Minute

// warnings say when something was last logged as a warning, by the reason.
type warnings map[error]time.Time

// isDue reports whether something is to be logged as a warning.
func (w warnings) isDue(why error, now time.Time) bool {
	if last, known := w[why]; known && now.Sub(last) < warnEvery {
		return false
	}
	w[why] = now
	return true
}

// isDue reports whether something that happens again and again is to be logged as a warning.
func (d *Device) isDue(why error) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.warnings.isDue(why, time.Now())
}

// refuses logs that a peer of q is refused, but as a warning only now and then: the peer comes
// again and again.
func (q *queuePair) refuses(peer net.Addr, from uint32, why error) {
	reason := errNotItsPort
	for _, known := range []error{errAnotherUser, errEnding} {
		if errors.Is(why, known) {
			reason = known
		}
	}
	level, d := slog.LevelDebug, q.ctx.dev
	if d.isDue(reason) {
		level = slog.LevelWarn
	}
	d.log.Log(context.Background(), level, "peer refused", "qpn", q.num, "peer", from, "address", peer.String(), "why", why)
}
