//go:build linux

package cm

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/mpa"
)

const (
	// patience is the time that a peer's program has to answer a Request.
	patience = time.Minute
	// timewait is the time between the end of a connection and its TimewaitExit event. TCP needs no
	// such wait, but InfiniBand programs expect the event some time after the end.
	timewait = time.Second
	// maxBacklog is the kernel's limit.
	maxBacklog = 1024
)

// In the Request and the Reply of a joined connection, a greeting precedes the private data, and a
// proposal follows it.
//
//	 0                 8      12
//	+-----------------+------+--------------------------+----------+
//	| "rddp CM1"      | QPN  | private data             | proposal |
//	+-----------------+------+--------------------------+----------+
const (
	greeting    = "rddp CM1"
	greetingLen = len(greeting) + 4
)

// greet returns the private data for the MPA frame: as it is, or with a greeting and a proposal.
func greet(w softrnic.Wire, qpn uint32, private []byte, p proposal) []byte {
	if w == softrnic.Plain {
		return append([]byte{}, private...)
	}
	b := binary.BigEndian.AppendUint32([]byte(greeting), qpn)
	return p.appendTo(append(b, private...))
}

// parseGreeting returns the peer's QPN and its private data. ok is false if there is no greeting.
func parseGreeting(b []byte) (qpn uint32, private []byte, ok bool) {
	if len(b) < greetingLen || string(b[:len(greeting)]) != greeting {
		return 0, b, false
	}
	return binary.BigEndian.Uint32(b[len(greeting):]), b[greetingLen:], true
}

// longestPrivateData is the maximum number of bytes of private data in an event.
const longestPrivateData = ucma.PrivateDataLen - 1

// peerParam returns the parameters of an event about a peer in plain iWARP. ird and ord are the
// maximum numbers of Reads that the peer serves and issues at a time.
func peerParam(private []byte, ird, ord int) ucma.ConnParam {
	return ucma.ConnParam{
		PrivateData: private[:min(len(private), longestPrivateData)],
		Responder:   uint8(min(ord, 255)), Initiator: uint8(min(ird, 255)),
	}
}

// An end is this end of a connection: with a queue pair, or without one.
type end interface {
	softrnic.Owner
	Config(w softrnic.Wire, ird, ord int) *conn.Config
	ConfigFor(peer *conn.Conn, w softrnic.Wire, ird, ord int) *conn.Config
	Accept(ctx context.Context, r *conn.Request, c *conn.Conn, cfg *conn.Config, private []byte) error
	Start(c *conn.Conn, w softrnic.Wire, initiator bool, peer uint32, attrs *uverbs.Attributes, ended func()) error
	Disconnect()
}

// endFor returns the end for the number of a queue pair that a program passes to CONNECT or ACCEPT.
// As in the kernel, the number need not be that of an RC queue pair: UCX reserves one with a UD
// queue pair, and other programs make one up. ok is false if the device cannot connect the queue
// pair.
func (m *CM) endFor(qpn uint32, w softrnic.Wire) (e end, ok bool) {
	if w == softrnic.Frames && m.dev.IsFree(qpn) {
		return new(softrnic.Contact), true
	}
	return m.dev.Pair(qpn)
}

// +checklocks:c.cm.mu
func (c *Channel) connectLocked(by Caller, in []byte, _ int) (a answer, err error) {
	r, err := ucma.ParseConnect(in)
	i, err := c.askedLocked(r.ID, err)
	if err != nil {
		return a, err
	}
	if i.space.Datagrams() && r.Param.Valid {
		return a, i.connectDatagrams(r.Param.PrivateData)
	}
	end, ok := c.cm.endFor(r.Param.QPN, c.cm.wire)
	switch {
	case !r.Param.Valid || i.space != ucma.TCP:
		return a, uverbs.Refuse(syscall.EINVAL, "the id is not one for connections, or its parameters are not valid")
	case i.state != routed:
		return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, and connects only once its route is resolved", i.state)
	case !ok:
		return a, uverbs.Refuse(syscall.EINVAL, "qp_num %d: there is no queue pair that the device could connect", r.Param.QPN)
	}
	if err := checkRoom(&r.Param, mostConnectData, c.cm.wire); err != nil {
		return a, err
	}
	if c.check != nil && r.Param.RetryCount == 0 && c.cm.wire != softrnic.Plain { // TCP repeats as often as it likes
		c.check.AddAt("at", by.Site(), check.ConnectsWithoutRetry(i.String()))
	}
	if i.ports() == tcpPorts { // the connection gets the port
		i.port.close()
		i.port = nil
	}
	i.end, i.own, i.qpn = end, i.propose(&r.Param), r.Param.QPN
	i.become(connecting)
	ctx, cancel := context.WithTimeout(c.cm.ctx, patience)
	i.cancel = cancel
	ird, ord := int(r.Param.Responder), int(r.Param.Initiator)
	if c.cm.wire == softrnic.Frames { // the peer's program decides
		ird, ord = c.cm.dev.MaxRead(), c.cm.dev.MaxRead()
	}
	cfg := end.Config(c.cm.wire, ird, ord)
	cfg.StartupTimeout = patience
	private := r.Param.PrivateData
	if c.cm.wire == softrnic.Frames {
		private = appendNumbers(private, i.src.Port(), i.dst.Port())
	}
	go i.initiate(ctx, i.src, i.dst, cfg, greet(c.cm.wire, r.Param.QPN, private, i.own))
	return a, nil
}

// The maximum number of bytes of private data in the messages of InfiniBand's connection manager:
// in a REQ (after rdma_cm's own data), in a REP, and in a REJ.
const (
	mostConnectData = 56
	mostAcceptData  = 196
	mostRejectData  = 148
)

// checkRoom returns an error if there is no room for the private data in p. A joined connection has
// the same limits as InfiniBand.
func checkRoom(p *ucma.ConnParam, most int, w softrnic.Wire) error {
	if w == softrnic.Plain || len(p.PrivateData) <= most {
		return nil
	}
	return uverbs.Refuse(syscall.EINVAL, "%d bytes of private data: there is room for %d", len(p.PrivateData), most)
}

// initiate sends the Request, and handles the answer.
func (i *id) initiate(ctx context.Context, src, dst netip.AddrPort, cfg *conn.Config, private []byte) {
	defer i.recovers()
	w := i.cm.wire
	c, err := dial(ctx, func() (*conn.Conn, error) { return i.cm.reach(ctx, src, dst, cfg, private, i.end) })
	var p ucma.ConnParam
	if err == nil {
		peer := c.Peer()
		qpn, b, ok := parseGreeting(peer.PrivateData)
		switch {
		case w == softrnic.Plain:
			p = peerParam(peer.PrivateData, peer.Agreement.PeerIRD, peer.Agreement.PeerORD)
			err = i.end.Start(c, w, true, 0, nil, i.connectionEnded)
		case !ok || !peer.IsRDDP:
			err = errNotOurs
		default:
			attrs, private := i.agree(qpn, b, &peer.Agreement)
			p = i.peer.event(qpn, private, false)
			err = i.end.Start(c, w, true, qpn, &attrs, i.connectionEnded)
		}
		if err != nil {
			i.end.GiveUp(c) // Start has closed it already
		}
	}
	i.cm.mu.Lock()
	defer i.cm.unlock()
	i.cancel()
	switch {
	case i.state == destroyed:
		i.late(err)
	case err != nil:
		t, status, private := i.failure(err)
		level := slog.LevelInfo // the program gets the error too
		if errors.Is(err, errNotOurs) {
			level = slog.LevelWarn // the program's error does not name this cause
		}
		i.cm.log.Log(context.Background(), level, "not connected", "address", dst.String(), "err", err)
		i.become(over)
		i.tellStatus(t, status, ucma.ConnParam{PrivateData: private})
	default:
		if w == softrnic.Plain {
			i.src = addrPort(c.LocalAddr())
		}
		t := ucma.Established
		if w == softrnic.Frames {
			t = ucma.ConnectResponse // as in InfiniBand: librdmacm answers it and reports Established
		}
		i.establish(t, p)
	}
}

// late handles the result of connecting after i has been destroyed. It disconnects the queue pair
// only if connecting succeeded: otherwise the program may already have given the queue pair to
// another id.
func (i *id) late(err error) {
	if err == nil {
		i.disconnect()
	}
}

var errNotOurs = errors.New("the peer is not the device of an rddp run without --iwarp; with --iwarp, this one speaks to any iWARP peer")

// establish makes i connected, and adds an event of type t.
func (i *id) establish(t ucma.EventType, p ucma.ConnParam) {
	i.become(connected)
	i.wasThere = true
	i.tell(t, 0, p)
	if i.ended {
		i.disconnected()
	}
}

// connectionEnded is called when the connection has ended.
func (i *id) connectionEnded() {
	i.cm.mu.Lock()
	defer i.cm.mu.Unlock()
	switch i.state {
	case connected:
		i.disconnected()
	case connecting:
		i.ended = true
	}
}

// disconnected ends i, and adds the Disconnected event. For InfiniBand, TimewaitExit follows later.
func (i *id) disconnected() {
	i.become(over)
	i.tell(ucma.Disconnected, 0, ucma.ConnParam{})
	if i.cm.wire == softrnic.Plain {
		return
	}
	time.AfterFunc(timewait, func() {
		defer i.recovers()
		i.cm.mu.Lock()
		defer i.cm.mu.Unlock()
		if i.state == over {
			i.tell(ucma.TimewaitExit, 0, ucma.ConnParam{})
		}
	})
}

// Reasons for a rejection, with InfiniBand's numbers.
const (
	invalidServiceID = 8
	consumerDefined  = 28
	vendorOption     = 35
)

// failure returns the event for a connection that could not be established. status is the one that
// an iWARP device or an InfiniBand device reports, depending on the wire.
func (i *id) failure(err error) (t ucma.EventType, status int32, private []byte) {
	joined := i.cm.wire == softrnic.Frames
	var rejected *mpa.RejectError
	switch {
	case errors.Is(err, errNoListener):
		return ucma.Rejected, invalidServiceID, nil
	case errors.As(err, &rejected):
		if joined {
			return ucma.Rejected, consumerDefined, rejected.PrivateData
		}
		return ucma.Rejected, -int32(syscall.ECONNREFUSED), rejected.PrivateData
	case errors.Is(err, syscall.ECONNREFUSED):
		if joined {
			return ucma.Rejected, invalidServiceID, nil
		}
		return ucma.Rejected, -int32(syscall.ECONNREFUSED), nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, syscall.ETIMEDOUT):
		return ucma.Unreachable, -int32(syscall.ETIMEDOUT), nil
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return ucma.Unreachable, -int32(errnoOf(err, syscall.EHOSTUNREACH)), nil
	case errors.Is(err, startup.ErrNoReply), errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF):
		if joined {
			return ucma.Rejected, invalidServiceID, nil
		}
		return ucma.Rejected, -int32(syscall.ECONNRESET), nil
	}
	return ucma.ConnectError, -int32(errnoOf(err, syscall.ECONNABORTED)), nil
}

// tellStatus is tell for a status that need not be an errno.
func (i *id) tellStatus(t ucma.EventType, status int32, p ucma.ConnParam) {
	p.PrivateData = p.PrivateData[:min(len(p.PrivateData), longestPrivateData)]
	i.ch.addLocked(&event{Event: ucma.Event{UID: i.uid, ID: i.num, Type: t, Status: status, Param: p}, id: i})
}

// +checklocks:c.cm.mu
func (c *Channel) disconnectLocked(_ Caller, in []byte, _ int) (a answer, err error) {
	num, err := ucma.ParseDisconnect(in)
	i, err := c.askedLocked(num, err)
	switch {
	case err != nil:
		return a, err
	case i.state < connecting || i.space.Datagrams() || i.cm.wire == softrnic.Plain && !i.wasThere:
		return a, uverbs.Refuse(syscall.EINVAL, "the id is %v, and was never connected", i.state)
	case i.isThere():
		i.disconnect()
	}
	return a, nil
}

// isThere reports whether i has a connection, or has had one that the peer has ended: the peer may
// wait for an answer to that.
func (i *id) isThere() bool { return i.state == connected || i.state == over && i.wasThere }

func addrPort(a net.Addr) netip.AddrPort {
	t, ok := a.(interface{ AddrPort() netip.AddrPort }) // a *net.TCPAddr, or an shm.Addr
	if !ok {
		return netip.AddrPort{}
	}
	p := t.AddrPort()
	return netip.AddrPortFrom(p.Addr().Unmap(), p.Port())
}
