//go:build linux

package cm

import (
	"context"
	"net/netip"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
)

// requestTime is the time that a peer has to send its Request.
const requestTime = 10 * time.Second

// A request is a peer's Request that waits for the program's decision.
type request struct {
	conn *conn.Conn
	r    *conn.Request
	wire softrnic.Wire
	qpn  uint32 // of the peer
}

// refuse rejects the Request.
func (q *request) refuse(private []byte) {
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), requestTime)
		defer cancel()
		_ = q.r.Reject(ctx, private) // the peer sees the end of the connection in any case
		_ = q.conn.Close()
	}()
}

// +checklocks:c.cm.mu
func (c *Channel) listenLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	n, err := ucma.ParsePlain(in)
	i, err := c.askedLocked(n.ID, err)
	if err != nil {
		return a, err
	}
	if i.state == idle {
		if err := i.bind(netip.AddrPortFrom(netip.IPv4Unspecified(), 0)); err != nil {
			return a, err
		}
	}
	if i.state != bound || i.port == nil {
		return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, and listens only while it is bound to a port", i.state)
	}
	i.backlog = maxBacklog
	if n.Other > 0 && n.Other < maxBacklog {
		i.backlog = int(n.Other)
	}
	if i.space.Datagrams() {
		return a, i.listenDatagrams()
	}
	return a, i.listenConnections()
}

// listenConnections makes i listen for connections.
func (i *id) listenConnections() error {
	cfg := &conn.Config{StartupTimeout: requestTime}
	var err error
	if i.ports() == tcpPorts {
		i.listener, err = i.port.listen(i.cm.dev, i.backlog, cfg)
	} else {
		err = i.listenAt(func(p *port) (err error) {
			i.listener, err = p.listen(i.cm.dev, i.backlog, cfg)
			return err
		})
	}
	if err != nil {
		return uverbs.Refuse(errnoOf(err, syscall.EADDRINUSE), "it cannot listen at %v: %v", i.src, err)
	}
	i.become(listening)
	go i.serve(i.listener)
	if i.ports() == connectionNumbers {
		if i.memory = i.cm.dev.ListenNear(softrnic.Services, i.src, i.afOnly, cfg); i.memory != nil {
			go i.serve(i.memory)
		}
	}
	return nil
}

// serve accepts connections until the listener is closed.
func (i *id) serve(l *conn.Listener) {
	accept.Each(i.cm.ctx, i.cm.log, l, i.receive)
}

// number returns the port of i.
func (i *id) number() uint16 {
	i.cm.mu.Lock()
	defer i.cm.mu.Unlock()
	return i.src.Port()
}

// receive receives a peer's Request, and adds the ConnectRequest event.
func (i *id) receive(c *conn.Conn) {
	defer i.recovers()
	ctx, cancel := context.WithTimeout(i.cm.ctx, requestTime)
	defer cancel()
	r, err := c.ReceiveRequest(ctx)
	if err != nil {
		_ = c.Close() // the peer does not speak MPA
		return
	}
	q := &request{conn: c, r: r, wire: softrnic.Plain}
	src, dst := addrPort(c.LocalAddr()), addrPort(c.RemoteAddr())
	param := peerParam(r.AllData, r.IRD, r.ORD) // the peer's program may use rddp too
	number := i.number()
	if i.ports() == connectionNumbers { // TCP's port is a place
		src = netip.AddrPortFrom(src.Addr(), number)
	}
	var peer proposal
	misled := false // the peer wants another number
	if n, ok := parseWhere(r.PrivateData); ok && r.FromRDDP {
		q.refuse(i.answerWhere(n))
		return
	}
	if qpn, rest, ok := parseGreeting(r.PrivateData); ok && r.FromRDDP {
		q.qpn, q.wire = qpn, softrnic.Frames
		peer, rest = proposed(rest, r.IRD, r.ORD)
		from, to, private, ok := parseNumbers(rest)
		if ok {
			dst = netip.AddrPortFrom(dst.Addr(), from)
		}
		misled = ok && to != number
		param = peer.event(qpn, private, true)
	}
	i.cm.mu.Lock()
	defer i.cm.mu.Unlock()
	if i.state != listening || i.pending >= i.backlog || !i.cm.dev.IsOwn(src.Addr()) || misled {
		q.refuse(nil)
		return
	}
	i.pending++
	child := i.cm.newLocked(i.ch, i.space, requested)
	child.request, child.src, child.dst, child.near = q, src, dst, true
	child.peer, child.peerQPN = peer, q.qpn
	if q.wire == softrnic.Frames {
		child.expected = i.cm.dev.Expect(i.cm.dev.Named(child.dst.Addr()), q.qpn)
	}
	i.ch.addLocked(&event{
		Event: ucma.Event{UID: i.uid, ID: child.num, Type: ucma.ConnectRequest, Param: param},
		id:    i, child: child,
	})
}

// +checklocks:c.cm.mu
func (c *Channel) acceptLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	r, err := ucma.ParseAccept(in)
	i, err := c.askedLocked(r.ID, err)
	if err != nil {
		return a, err
	}
	if !r.Param.Valid && i.wasThere {
		return a, nil // the answer to a ConnectResponse
	}
	if i.space.Datagrams() {
		return a, i.acceptDatagrams(r.UID, &r.Param)
	}
	if !r.Param.Valid || i.state != requested {
		return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, and has no request to accept, or its parameters are not valid", i.state)
	}
	q := i.request
	end, ok := c.cm.endFor(r.Param.QPN, q.wire)
	if !ok {
		return a, uverbs.Refuse(syscall.EINVAL, "qp_num %d: there is no queue pair that the device could connect", r.Param.QPN)
	}
	if err := checkRoom(&r.Param, mostAcceptData, q.wire); err != nil {
		return a, err
	}
	i.uid, i.end, i.own, i.qpn = r.UID, end, i.propose(&r.Param), r.Param.QPN
	i.become(connecting)
	ctx, cancel := context.WithTimeout(c.cm.ctx, patience)
	i.cancel = cancel
	ord := int(r.Param.Initiator)
	var attrs *uverbs.Attributes
	if q.wire == softrnic.Frames { // the sender respects the depth, as an attribute of the queue pair
		ord = c.cm.dev.MaxRead()
		own := i.attributes()
		attrs = &own
	}
	cfg := end.ConfigFor(q.conn, q.wire, int(r.Param.Responder), ord)
	go i.accept(ctx, q, cfg, greet(q.wire, r.Param.QPN, r.Param.PrivateData, i.own), attrs)
	return a, nil
}

// accept sends the Reply, and waits for the peer if necessary.
func (i *id) accept(ctx context.Context, q *request, cfg *conn.Config, private []byte, attrs *uverbs.Attributes) {
	defer i.recovers()
	err := i.end.Accept(ctx, q.r, q.conn, cfg, private)
	if err == nil {
		err = i.end.Start(q.conn, q.wire, false, q.qpn, attrs, i.connectionEnded)
	}
	i.cm.mu.Lock()
	defer i.cm.unlock()
	i.cancel()
	switch {
	case i.state == destroyed:
		i.late(err)
	case err != nil:
		i.cm.log.Info("not connected", "address", q.conn.RemoteAddr().String(), "err", err)
		i.become(over)
		i.tell(ucma.ConnectError, errnoOf(err, syscall.ECONNRESET), ucma.ConnParam{})
	default:
		var p ucma.ConnParam // InfiniBand's RTU has no parameters
		if q.wire == softrnic.Plain {
			s := &q.conn.Peer().Agreement
			p = peerParam(nil, s.PeerIRD, s.PeerORD)
		}
		i.establish(ucma.Established, p)
	}
}

// +checklocks:c.cm.mu
func (c *Channel) rejectLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	r, err := ucma.ParseReject(in)
	i, err := c.askedLocked(r.ID, err)
	if err != nil {
		return a, err
	}
	allowed := r.Reason == 0 || r.Reason == consumerDefined || r.Reason == vendorOption // only the kernel uses other reasons
	long := i.framed() && !i.space.Datagrams() && len(r.PrivateData) > mostRejectData
	if i.state != requested || !allowed || long {
		return a, syscall.EINVAL
	}
	i.become(over)
	i.refuse(append([]byte{}, r.PrivateData...))
	return a, nil
}

// refuse sends the peer a rejection.
func (i *id) refuse(private []byte) {
	if q := i.datagramRequest; q != nil {
		q.answer(message{kind: no, private: private})
		return
	}
	i.request.refuse(private)
}
