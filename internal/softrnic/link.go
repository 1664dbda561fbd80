package softrnic

import (
	"context"
	"net"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/shm"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A link is the connection of two joined queue pairs. A queue pair that is reset and joined again
// gets another one.
type link struct {
	q    *queuePair
	conn *conn.Conn
	// serving is the connection on which the requests of the peer come and their answers leave:
	// conn, unless the queue pair is joined with itself. Then served is closed when serving has
	// ended.
	serving *conn.Conn
	served  chan struct{}
	near    *shm.Stream // of conn; nil if it does not go through memory
	peer    uint32      // QPN
	kind    linkKind
	// the peer is a queue pair of the same device; set only if the program is checked
	ownPeer bool

	// ctx is done when the connection has ended.
	ctx    context.Context
	cancel context.CancelFunc
	// drained is closed after that, when all Completions have been taken.
	drained chan struct{}
	// settled is closed when the work requests of a link that has ended have completed or are
	// forgotten.
	settled chan struct{}

	// answers is held while an answer to a Read or an atomic is copied into the program's memory,
	// which may wait for a page. So q.mu is not.
	answers locks.Mutex[locks.RNICAnswers]

	// The mu of q guards what follows.
	out outgoing // +checklocks:q.mu
	// the buffers in use, by the ID of their request
	chunks    map[uint64]*chunk // +checklocks:q.mu
	lastChunk uint64            // +checklocks:q.mu
	// looks for signs of the peer while work requests are under way
	vigil vigil // +checklocks:q.mu
	// why the peer is missed
	cause error // +checklocks:q.mu
	// FPDUs of both directions when the vigil looked last
	moved uint64 // +checklocks:q.mu
	// bytes of payload in buffers longer than a chunk
	long int // +checklocks:q.mu
	// A goroutine looks at payload: see mustExamineLocked
	examining bool // +checklocks:q.mu

	ended func() // of a connection manager: called when the connection has ended; nil if there is none

	receiver receiver
}

// A Wire says what a connection carries.
type Wire uint8

const (
	// Frames means the frames that two devices of this package exchange.
	Frames Wire = iota
	// Plain means RDMAP without frames, as every iWARP device speaks it.
	Plain
)

// config returns the configuration of the connections of pd's queue pairs.
func (d *Device) config(pd *protectionDomain) *conn.Config {
	const forever = 24 * time.Hour
	return &conn.Config{
		Domain: &pd.domain, RecvSize: frameLen + maxPiece, RecvDepth: 2*window + 8, SendDepth: depth,
		IRD: int(limits.MaxRead), ORD: int(limits.MaxRead), Terminate: rdmap.TerminateAtClose, StartupTimeout: forever, CloseTimeout: Linger,
	}
}

// config returns the configuration of q's next connection. The program may change the rights of the
// peer later, but that has no effect on the connection.
func (q *queuePair) config() *conn.Config {
	c := q.ctx.dev.config(q.pd)
	q.mu.Lock()
	defer q.mu.Unlock()
	c.IRD = min(int(q.life.attrs.MaxDestRead), c.IRD)
	if q.life.attrs.State != uverbs.Reset { // where the program has said nothing yet
		c.Denied = (ddp.RemoteRead | ddp.RemoteWrite | ddp.RemoteAtomic) &^ remoteAccess(q.life.attrs.Access)
	}
	return c
}

// An Owner is what a connection is made for: a Pair or a Contact. In DDP mode the peer may write,
// so the owner must know of the connection before.
type Owner interface {
	// Expect says that c is to become the owner's connection. From then on, the peer writes nothing
	// if the owner ends. Expect returns false if it has ended already.
	Expect(c *conn.Conn) bool
	// GiveUp closes a connection that does not become the owner's.
	GiveUp(c *conn.Conn)
}

// Dial connects by TCP to a device at address, and does MPA startup, for an owner. privateData goes
// to the peer. If Dial fails, the owner expects no connection.
func (d *Device) Dial(ctx context.Context, dialer net.Dialer, address string, cfg *conn.Config, privateData []byte, o Owner) (*conn.Conn, error) {
	nc, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	s, err := d.faults.Stream(nc.(*net.TCPConn))
	if err != nil {
		return nil, err
	}
	return connect(ctx, s, d.Tapped(cfg), privateData, o)
}

// connect does MPA startup over s, which it owns.
func connect(ctx context.Context, s toe.Stream, cfg *conn.Config, privateData []byte, o Owner) (*conn.Conn, error) {
	c := conn.New(s, true, cfg, nil)
	err := errNotReady
	if o.Expect(c) {
		err = c.Connect(ctx, privateData)
	}
	if err != nil {
		o.GiveUp(c)
		return nil, err
	}
	return c, nil
}

// expect notes that c is to become the connection of q, so that the peer writes nothing if q ends
// before. It returns false if q has ended already. life is that of q when the connection was begun.
// Unless c becomes the connection of a link, the caller must call giveUp. A second call says
// whether q still waits for c.
func (q *queuePair) expect(c *conn.Conn, life uint64) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.life.number != life {
		c.Discard()
		return false
	}
	if q.coming == nil {
		q.coming = make(map[*conn.Conn]struct{})
	}
	q.coming[c] = struct{}{}
	q.tapped(c)
	return true
}

// accept answers a peer's Request for c. q expects c from then on, because in DDP mode the peer may
// write. If it returns an error, the caller must call giveUp.
func (q *queuePair) accept(ctx context.Context, r *conn.Request, c *conn.Conn, cfg *conn.Config, private []byte, life uint64) error {
	if !q.expect(c, life) {
		return errNotReady
	}
	return r.Accept(ctx, cfg, private)
}

// giveUp closes a connection that has not become that of q.
func (q *queuePair) giveUp(c *conn.Conn) {
	c.Discard()
	q.mu.Lock()
	delete(q.coming, c)
	q.mu.Unlock()
	_ = c.Close() // nothing can be done about it
}

// start makes c the connection of q, and starts the goroutines of the link. It returns false if q
// is not waiting for it any more. life is that of q when the connection was begun.
func (q *queuePair) start(c *conn.Conn, peer uint32, life uint64) bool {
	return q.startLink(q.newLink(c, peer, linkByAttributes), life)
}

// startLink is start with a link that newLink has returned.
func (q *queuePair) startLink(l *link, life uint64) bool {
	q.mu.Lock()
	started := q.life.mayStart(life) && q.ctx.dev.begin(2) // receive and complete
	if started {
		q.life.links()
		q.setLinkLocked(l)
	}
	q.mu.Unlock()
	return l.run(started)
}

// newLink returns a link that q does not have yet.
func (q *queuePair) newLink(c *conn.Conn, peer uint32, k linkKind) *link {
	l := &link{q: q, conn: c, serving: c, peer: peer, kind: k, out: outgoing{kind: k, serves: c.Peer().Agreement.ORD}, chunks: make(map[uint64]*chunk), drained: make(chan struct{}), settled: make(chan struct{})}
	l.near, _ = c.Stream().(*shm.Stream)
	l.ctx, l.cancel = context.WithCancel(q.ctx.dev.ctx)
	l.receiver.l, l.receiver.in.unreliable = l, q.kind == uverbs.UC
	l.ownPeer = q.ctx.check != nil && l.hasOwnPeer()
	return l
}

// setLinkLocked makes l the link of q. The caller must call run.
//
// +checklocks:q.mu
func (q *queuePair) setLinkLocked(l *link) {
	delete(q.coming, l.serving) // the link ends it from now on
	q.link = l
	q.stopJoiningLocked() // the peer, or a connection manager, may have been faster than the dial
}

// run starts the goroutines of the link if q has it, and reports whether that is so.
func (l *link) run(started bool) bool {
	if !started {
		l.cancel()
		return false
	}
	l.q.ctx.dev.log.Info("joined", "qpn", l.q.num, "peer", l.peer, "address", l.conn.RemoteAddr().String(), "over", l.way())
	if l.kind == linkSelf {
		go l.serve()
	}
	go l.receive()
	go l.complete()
	l.q.kick()
	return true
}

// post sends frames without payload.
func (l *link) post(frames ...frame) error {
	var wrs [2]rdmap.WorkRequest
	for i, f := range frames {
		wrs[i] = rdmap.WorkRequest{Op: rdmap.WorkSend, Data: f.appendTo(make([]byte, 0, frameLen)), Inline: true, Unsignaled: true}
	}
	_, err := l.serving.PostBatch(wrs[:len(frames)])
	return err
}

// way says what the connection goes over, for the log.
func (l *link) way() string {
	switch {
	case l.kind == linkPlain:
		return "plain iWARP"
	case l.kind == linkSelf:
		return "the device itself"
	case isNear(l.conn):
		return "memory"
	}
	return "TCP"
}
