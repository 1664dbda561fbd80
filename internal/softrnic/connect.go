package softrnic

import (
	"context"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// A Pair is a queue pair that a connection manager connects, instead of the program by
// ibv_modify_qp. It is good for one life of the queue pair: once the queue pair has been reset or
// has failed, the Pair is useless.
type Pair struct {
	q    *queuePair
	life uint64
}

// Pair returns the RC queue pair with the given number, if it has no connection.
func (d *Device) Pair(qpn uint32) (*Pair, bool) {
	q := d.find(qpn)
	if q == nil || q.kind != uverbs.RC {
		return nil, false
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	// In RESET the program goes on once it has the peer's answer.
	return &Pair{q, q.life.number}, q.life.attrs.State != uverbs.SQD && q.life.mayManage(q.life.number)
}

// IsFree reports whether a connection manager can use the number for a connection without a queue
// pair: no queue pair has it, or one for datagrams.
func (d *Device) IsFree(qpn uint32) bool {
	q := d.find(qpn)
	return q == nil || q.kind == uverbs.UD
}

// Addresses returns the addresses of the device. The caller must not modify them.
func (d *Device) Addresses() []netip.Addr { return d.addresses }

// HasAddress reports whether a is an address of the device.
func (d *Device) HasAddress(a netip.Addr) bool { return slices.Contains(d.addresses, a) }

// IsOwn reports whether a connection manager may use a as an address of the device. Like Linux's
// rdma_cm, it may use 127.0.0.1 and ::1, which need not be GIDs.
func (d *Device) IsOwn(a netip.Addr) bool { return isThisHost(a) || d.HasAddress(a) }

func isThisHost(a netip.Addr) bool {
	return a == netip.AddrFrom4([4]byte{127, 0, 0, 1}) || a == netip.IPv6Loopback()
}

// Named returns the address by which queue pairs name the host that a connection manager has
// reached at a: the first GID if a is 127.0.0.1 or ::1, and no GID.
func (d *Device) Named(a netip.Addr) netip.Addr {
	if isThisHost(a) && !d.HasAddress(a) {
		return d.addresses[0]
	}
	return a
}

// MaxRead is the maximum number of Reads that a connection may have under way, in each direction.
func (d *Device) MaxRead() int { return int(d.limits.MaxRead) }

// Listener returns l with the faults of the device's network.
func (d *Device) Listener(l net.Listener) net.Listener { return d.faults.Listener(l) }

// Config returns the configuration with which the connection of p must begin. ird and ord are the
// numbers of Reads that the program has asked for.
func (p *Pair) Config(w Wire, ird, ord int) *conn.Config {
	c := p.q.config()
	c.IRD, c.ORD = max(ird, 0), max(ord, 0)
	c.StartupTimeout = replyTime
	if w == Plain {
		p.q.plainConfig(c)
	}
	return c
}

// ConfigFor is Config for a connection that a peer has begun.
func (p *Pair) ConfigFor(peer *conn.Conn, w Wire, ird, ord int) *conn.Config {
	c := p.Config(w, ird, ord)
	if isNear(peer) {
		c = nearConfig(c)
	}
	return c
}

// replyTime is how long the Reply of a connection manager may take.
const replyTime = 5 * time.Second

// Expect says that a connection manager connects the queue pair that a program wants to join with
// queue pair qpn of the device at a. So this device does not connect it at once: the program may
// have the attributes from the connection manager, and set them itself. See joinLater. The caller
// must call done when the manager has connected it, or does not any more.
func (d *Device) Expect(a netip.Addr, qpn uint32) (done func()) {
	p := far{uverbs.GID(a.As16()), qpn}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.expected == nil {
		d.expected = make(map[far]int)
	}
	d.expected[p]++
	return func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.expected[p]--; d.expected[p] == 0 {
			delete(d.expected, p)
		}
	}
}

// Expect and GiveUp make p an Owner.
func (p *Pair) Expect(c *conn.Conn) bool { return p.q.expect(c, p.life) }

// GiveUp closes a connection that does not become that of p.
func (p *Pair) GiveUp(c *conn.Conn) { p.q.giveUp(c) }

// Accept answers a peer's Request for c, which is to become the connection of p. If p ends before
// Start, the peer writes nothing. If Accept returns an error, c is closed.
func (p *Pair) Accept(ctx context.Context, r *conn.Request, c *conn.Conn, cfg *conn.Config, private []byte) error {
	err := p.q.accept(ctx, r, c, cfg, private, p.life)
	if err != nil {
		p.q.giveUp(c)
	}
	return err
}

// Start makes c, which is in DDP mode, the connection of p, and takes the queue pair to RTS. peer
// is the QPN of the peer, or 0. attrs are the attributes in RTS of a connection with frames, of
// which the program may have set some itself. ended is called once, when the connection has ended
// for any reason. If Start returns an error, the life of the queue pair is over, or the peer is
// gone; then c is closed.
func (p *Pair) Start(c *conn.Conn, w Wire, initiator bool, peer uint32, attrs *uverbs.Attributes, ended func()) (err error) {
	q := p.q
	defer func() {
		if err != nil {
			q.giveUp(c)
		}
	}()
	if !p.Expect(c) { // it has expected c, and may have ended since
		return errNotReady
	}
	switch {
	case w == Plain && initiator:
		nudge(c)
	case w == Frames && initiator:
		err = sayHere(c)
	case w == Frames:
		err = awaitPeer(c)
	}
	if err != nil {
		return err
	}
	kind := linkByAttributes
	switch {
	case w == Plain:
		kind = linkPlain
	case ended != nil:
		kind = linkManaged
	}
	l := q.newLink(c, peer, kind)
	l.ended = ended
	if attrs == nil { // the same as siw's
		s := c.Peer().Agreement
		attrs = &uverbs.Attributes{DestQPN: peer, MTU: uverbs.MTU, MaxRead: uint8(min(s.ORD, 255)), MaxDestRead: uint8(min(s.IRD, 255))}
	}
	if !l.run(q.manage(l, p.life, attrs)) {
		return errNotReady
	}
	return nil
}

// manage makes l the link of q, and takes q to RTS with the attributes that the program has not set
// itself.
func (q *queuePair) manage(l *link, life uint64, attrs *uverbs.Attributes) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.life.mayManage(life) || !q.ctx.dev.begin(2) { // receive and complete
		return false
	}
	q.life.manages(attrs, l.kind == linkPlain)
	q.setLinkLocked(l)
	q.beginFaultsLocked()
	return true
}

// Disconnect ends the connection of p, if it has one: what has been sent leaves, and all other work
// requests and receives are flushed.
func (p *Pair) Disconnect() {
	p.q.mu.Lock()
	l := p.q.link
	ours := p.q.life.number == p.life && p.q.life.isLinked()
	p.q.mu.Unlock()
	if ours {
		(&end{q: p.q, l: l, status: uverbs.FlushErr, wanted: programLeaves, steps: endFails}).run()
	}
}
