package softrnic

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/retry"
	"github.com/rddp/rddp/internal/softrnic/shm"
	"github.com/rddp/rddp/internal/softrnic/user"
	"github.com/rddp/rddp/rdmap"
)

// A port is where the peers of a PD's queue pairs connect: one or several TCP ports. A connection
// belongs to the PD of its port, so no peer reaches memory of another PD. Datagrams come to the UDP
// port of the same number, which is open if a UD queue pair has it.
type port struct {
	mu        locks.Mutex[locks.RNICPort]
	listeners []*conn.Listener // +checklocks:mu
	// the listeners for peers on this host
	near      []*conn.Listener         // +checklocks:mu
	datagrams map[uint16]*datagramPort // +checklocks:mu
	closed    bool                     // +checklocks:mu
}

// enter gives q a QPN at one of the ports, and opens one if that is needed.
func (p *port) enter(d *Device, q *queuePair) error {
	number, err := p.open(d, q.pd)
	// Another program may have the UDP port of the number.
	for range 8 {
		if err == nil && d.add(q, number) {
			if q.kind != uverbs.UD {
				return nil
			}
			if q.datagrams, err = p.openDatagrams(d, number); err == nil {
				return nil
			}
			d.remove(q)
		}
		number, err = p.another(d, q.pd)
	}
	if err == nil {
		err = errors.New("each port that was tried is taken")
	}
	return err
}

// open returns the number of the newest TCP port, which it makes if there is none.
func (p *port) open(d *Device, pd *protectionDomain) (uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.listeners); n > 0 {
		return portOf(p.listeners[n-1]), nil
	}
	return p.listenLocked(d, pd)
}

// another makes another TCP port.
func (p *port) another(d *Device, pd *protectionDomain) (uint16, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.listenLocked(d, pd)
}

// +checklocks:p.mu
func (p *port) listenLocked(d *Device, pd *protectionDomain) (uint16, error) {
	if p.closed {
		return 0, net.ErrClosed
	}
	host := ""
	if len(d.addresses) == 1 {
		host = d.addresses[0].String()
	}
	below, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return 0, err
	}
	l := conn.NewListener(d.faults.Listener(below), d.Tapped(d.config(pd)))
	p.listeners = append(p.listeners, l)
	go accept.Each(d.ctx, d.log, l, d.receiveRequest)
	if n := d.ListenNear(shm.QueuePairs, netip.AddrPortFrom(netip.IPv6Unspecified(), portOf(l)), false, d.config(pd)); n != nil {
		p.near = append(p.near, n)
		go accept.Each(d.ctx, d.log, n, d.receiveRequest)
	}
	return portOf(l), nil
}

func portOf(l *conn.Listener) uint16 { return addrPort(l.Addr()).Port() }

func (p *port) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for _, l := range p.listeners {
		_ = l.Close() // nothing can be done about it
	}
	for _, l := range p.near {
		_ = l.Close()
	}
	p.listeners, p.near = nil, nil
	for _, u := range p.datagrams {
		u.close()
	}
	p.datagrams = nil
}

// requestTime is how long a peer may take to send its MPA Request.
const requestTime = 10 * time.Second

// A request is a peer's wish to join a queue pair.
type request struct {
	hello
	conn *conn.Conn
	r    *conn.Request
	user user.Relation // never Another
}

// refuse tells the peer that no queue pair waits for it.
func (r *request) refuse() { r.reject(nil) }

// reject rejects the Request.
func (r *request) reject(private []byte) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestTime)
		defer cancel()
		_ = r.r.Reject(ctx, private) // the peer sees the end of the connection in any case
		_ = r.conn.Close()
	}()
}

// receiveRequest receives the Request of a connection and finds the queue pair that it is for.
func (d *Device) receiveRequest(c *conn.Conn) {
	ctx, cancel := context.WithTimeout(d.ctx, requestTime)
	defer cancel()
	r, err := c.ReceiveRequest(ctx)
	if err != nil {
		_ = c.Close() // the peer is not a device of this package
		return
	}
	h, err := parseHello(r.PrivateData)
	p := &request{hello: h, conn: c, r: r}
	q := d.find(h.to)
	// The address is TCP's, so a peer can't pretend to be another host. A peer that connects
	// through memory says itself which address of this host it has.
	from := netip.AddrFrom16(h.gid).Unmap()
	switch {
	case err != nil || q == nil || q.num>>8 != uint32(addrPort(c.LocalAddr()).Port()):
		p.refuse()
	case h.kind == question:
		p.answerQuestion(q)
	case addrPort(c.RemoteAddr()).Addr().Unmap() != from:
		p.refuse()
	default:
		p.user = d.userOf(c)
		if err := reasonAgainst(p.user); err != nil {
			q.refuses(c.RemoteAddr(), h.from, err)
			p.refuse()
			return
		}
		q.requested(p)
	}
}

func addrPort(a net.Addr) netip.AddrPort {
	if t, ok := a.(interface{ AddrPort() netip.AddrPort }); ok { // a *net.TCPAddr, or an shm.Addr
		return t.AddrPort()
	}
	return netip.AddrPort{}
}

// earlyMost is how many Requests wait at most until the program names the peer. A peer whose
// Request is refused dials again, so it only loses time.
const earlyMost = 4

// requested handles a peer's wish. If q is not ready to be joined, the request waits.
func (q *queuePair) requested(p *request) {
	q.mu.Lock()
	early := q.life.attrs.State == uverbs.Reset || q.life.attrs.State == uverbs.Init
	switch {
	case early && len(q.requests) < earlyMost && q.ctx.dev.find(q.num) == q: // or it has been destroyed since receiveRequest found it
		q.requests = append(q.requests, p)
		q.mu.Unlock()
		return
	case !q.wantsLocked(p):
		q.mu.Unlock()
		p.refuse()
		return
	}
	life := q.life.number
	q.mu.Unlock()
	q.answer(p, life)
}

// wantsLocked reports whether p says that it comes from the queue pair that the program wants to
// join q with, and from the end that dials.
//
// +checklocks:q.mu
func (q *queuePair) wantsLocked(p *request) bool {
	return q.life.mayStart(q.life.number) && p.from == q.life.attrs.DestQPN && p.gid == q.life.attrs.Address.DGID &&
		dialsFirst(p.gid, p.from, q.gidLocked(), q.num)
}

// answer accepts a peer's wish, in the given life of q. The peer may have given up since, which
// this end learns only when it reads: so the two are joined when the first frame of the peer is
// here.
func (q *queuePair) answer(p *request, life uint64) {
	ctx, cancel := context.WithTimeout(q.ctx.dev.ctx, requestTime)
	defer cancel()
	if p.user != user.Same {
		if err := q.confirm(ctx, p); err != nil {
			q.refuses(p.conn.RemoteAddr(), p.from, err)
			p.refuse()
			return
		}
	}
	me := hello{kind: joining, from: q.num, to: p.from, gid: q.gid()}
	cfg := q.config()
	if isNear(p.conn) {
		cfg = nearConfig(cfg)
	}
	err := q.accept(ctx, p.r, p.conn, cfg, me.appendTo(nil), life)
	if err == nil {
		err = awaitPeer(p.conn)
	}
	if err != nil || !q.start(p.conn, p.from, life) {
		q.giveUp(p.conn) // the peer dials again
	}
}

// iAmHere is the first frame of the end that dials.
var iAmHere = frame{kind: frameAck}

// awaitPeer waits for that frame.
func awaitPeer(c *conn.Conn) error {
	c.SetReadDeadline(time.Now().Add(requestTime))
	b := make([]byte, frameLen)
	if _, err := io.ReadFull(c, b); err != nil {
		return err
	}
	f, _, err := parseFrame(b)
	if err == nil && f != iAmHere {
		err = fmt.Errorf("%w: the first one is of type %d", errFrame, f.kind)
	}
	if err != nil {
		return err
	}
	c.SetReadDeadline(time.Time{})
	return nil
}

// gid returns the GID that the program has chosen for q.
func (q *queuePair) gid() uverbs.GID {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.gidLocked()
}

// +checklocks:q.mu
func (q *queuePair) gidLocked() uverbs.GID {
	return uverbs.GID(q.ctx.dev.addresses[q.life.attrs.Address.SGIDIndex].As16())
}

// join joins q with the queue pair that its attributes name. If that is another one, the queue pair
// with the lower GID and QPN dials, and the other one waits. life is that of q.
func (q *queuePair) join(life uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.life.mayJoin(life) { // or a connection manager has been faster
		q.joinLocked()
	}
}

// joinLater joins q unless a connection manager connects it within managerTime. A manager's request
// from the queue pair that the program wants to join q with does not prove that the program accepts
// the request. life is that of q. If a manager connects q later than that, its connection still
// comes first, because the peer's end does not want the other one.
func (q *queuePair) joinLater(life uint64) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.life.number == life {
		q.alarmLocked(alarmJoin, q.ctx.dev.managerTime)
	}
}

// +checklocks:q.mu
func (q *queuePair) joinLocked() {
	for _, p := range q.requests {
		if q.wantsLocked(p) {
			go q.answer(p, q.life.number)
		} else {
			p.refuse()
		}
	}
	q.requests = nil
	me, peer, to := q.gidLocked(), q.life.attrs.Address.DGID, q.life.attrs.DestQPN
	self := q.isSelfLocked()
	dials := self || dialsFirst(me, q.num, peer, to)
	if q.life.joins(dials); !dials {
		return
	}
	ctx, cancel := context.WithCancel(q.ctx.dev.ctx)
	q.stopDial, q.secret = cancel, newSecret()
	if self {
		go q.joinSelf(ctx, q.life.number)
		return
	}
	go q.dial(ctx, hello{kind: joining, from: q.num, to: to, gid: me, secret: q.secret}, peer, q.life.number)
}

// sayHere sends the first frame.
func sayHere(c *conn.Conn) error { return say(c, iAmHere) }

// say sends a frame on a connection that has no link.
func say(c *conn.Conn, f frame) error {
	_, err := c.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkSend, Data: f.appendTo(nil), Inline: true, Unsignaled: true}})
	return err
}

// dial connects to the peer until that succeeds or ctx is done. It tries ever more rarely: a
// program may name a peer that never comes. life is that of q.
func (q *queuePair) dial(ctx context.Context, h hello, peer uverbs.GID, life uint64) {
	from := netip.AddrFrom16(h.gid).Unmap()
	dialer := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(from, 0))}
	cfg, private, owner := q.config(), h.appendTo(nil), &Pair{q, life}
	me, to := netip.AddrPortFrom(from, uint16(h.from>>8)), netip.AddrPortFrom(netip.AddrFrom16(peer).Unmap(), uint16(h.to>>8))
	var again retry.Wait
	for {
		c, err := q.ctx.dev.DialNear(ctx, shm.QueuePairs, me, to, cfg, private, owner)
		if c == nil && err == nil {
			c, err = q.ctx.dev.Dial(ctx, dialer, qpnAddress(peer, h.to), cfg, private, owner)
		}
		if err == nil {
			if q.isPeer(c, h, peer) && q.expect(c, life) && sayHere(c) == nil && q.start(c, h.to, life) {
				return
			}
			q.giveUp(c)
		}
		q.dialFails(h.to, err)
		if !again.Pause(ctx) {
			return
		}
	}
}

// dialFails logs that a dial has failed. It is a warning now and then if this process lacks
// descriptors: the program's error, when it gives up, does not name this cause.
func (q *queuePair) dialFails(to uint32, err error) {
	level, d := slog.LevelDebug, q.ctx.dev
	for _, lack := range []error{syscall.EMFILE, syscall.ENFILE} {
		if errors.Is(err, lack) && d.isDue(lack) {
			level = slog.LevelWarn
		}
	}
	d.log.Log(context.Background(), level, "no connection to the peer yet", "qpn", q.num, "peer", to, "err", err)
}

// isPeer reports whether c, which h has begun, leads to the queue pair that the program wants to
// join q with.
func (q *queuePair) isPeer(c *conn.Conn, h hello, peer uverbs.GID) bool {
	if err := reasonAgainst(q.ctx.dev.userOf(c)); err != nil {
		q.refuses(c.RemoteAddr(), h.to, err)
		return false
	}
	answer, err := parseHello(c.Peer().PrivateData)
	return err == nil && answer.kind == joining && answer.from == h.to && answer.to == h.from && answer.gid == peer
}
