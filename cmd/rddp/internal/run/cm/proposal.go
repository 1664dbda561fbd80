//go:build linux

package cm

import (
	"crypto/rand"
	"encoding/binary"
	"slices"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic"
	"github.com/rddp/rddp/mpa"
)

// A proposal contains the parameters that one end of a joined connection sends to the other: those
// of rdma_connect and rdma_accept, as in the REQ and REP of InfiniBand's connection manager.
//
// It follows the program's private data, because older versions of rddp do not send it. The program
// of an older peer then finds these bytes after the private data, which rdma_cm allows: private
// data may arrive longer than it was sent.
//
//	 0           1           2      3       4           5     6     7         8               9     12               20
//	+-----------+-----------+------+-------+-----------+-----+-----+---------+---------------+-----+----------------+
//	| responder | initiator | flow | retry | RNR retry | SRQ | MTU | timeout | traffic class | PSN | "rddp CM2"     |
//	+-----------+-----------+------+-------+-----------+-----+-----+---------+---------------+-----+----------------+
type proposal struct {
	// responder is the number of the peer's Reads and atomics that this end serves at a time, and
	// initiator the number that it may have outstanding.
	responder, initiator uint8
	flowControl          uint8
	retry, rnrRetry      uint8 // 3 bits
	srq                  bool
	mtu                  uint8
	timeout              uint8 // 5 bits
	trafficClass         uint8
	psn                  uint32 // the first PSN that the end expects
}

const (
	proposalMagic = "rddp CM2"
	proposalLen   = 12 + len(proposalMagic)
	mostRetries   = 7
)

// appendTo appends the proposal.
func (p *proposal) appendTo(b []byte) []byte {
	srq := byte(0)
	if p.srq {
		srq = 1
	}
	b = append(b, p.responder, p.initiator, p.flowControl, p.retry, p.rnrRetry, srq, p.mtu, p.timeout)
	b = binary.BigEndian.AppendUint32(b, uint32(p.trafficClass)<<24|p.psn)
	return append(b, proposalMagic...)
}

// parseProposal parses the bytes after a greeting, and returns the proposal and the private data.
// Numbers out of range are replaced by the nearest valid ones. ok is false if there is no proposal.
func parseProposal(b []byte) (p proposal, private []byte, ok bool) {
	at := len(b) - proposalLen
	if at < 0 || string(b[at+12:]) != proposalMagic {
		return p, b, false
	}
	private, b = b[:at], b[at:]
	n := binary.BigEndian.Uint32(b[8:])
	return proposal{
		responder: b[0], initiator: b[1], flowControl: b[2], retry: min(b[3], mostRetries), rnrRetry: min(b[4], mostRetries), srq: b[5] != 0,
		mtu: min(max(b[6], 1), uverbs.MTU), timeout: min(b[7], longestTimeout), trafficClass: byte(n >> 24), psn: n & psnMask,
	}, private, true
}

const (
	longestTimeout = 31
	psnMask        = 1<<24 - 1
)

// proposed is parseProposal, with defaults if there is no proposal. The peer is then an older rddp,
// whose program's depths are ird and ord, from the MPA frame.
func proposed(b []byte, ird, ord int) (proposal, []byte) {
	p, private, ok := parseProposal(b)
	if !ok {
		p = proposal{
			responder: uint8(min(ird, 255)), initiator: uint8(min(ord, 255)), retry: mostRetries, rnrRetry: mostRetries, mtu: uverbs.MTU,
			timeout: defaultLifetime + 1,
		}
	}
	return p, private
}

// defaultLifetime is the exponent of a packet's lifetime on Ethernet, as in the kernel's rdma_cm.
const defaultLifetime = 16

// lifetime returns the exponent of a packet's lifetime for i: half of the ACK timeout that the
// program has set, or the default.
func (i *id) lifetime() uint8 {
	if i.ackTimeout > 0 {
		return uint8(i.ackTimeout) - 1
	}
	return defaultLifetime
}

// ackTimeout returns the exponent of the ACK timeout for a packet lifetime. It is InfiniBand's
// formula for a device that answers at once.
func ackTimeout(lifetime uint8) uint8 {
	if lifetime == 0 {
		return 2
	}
	return min(lifetime, longestTimeout-1) + 1
}

// propose returns the proposal of i, with the program's parameters p.
func (i *id) propose(p *ucma.ConnParam) proposal {
	mtu := uint8(uverbs.MTU)
	if i.request != nil {
		mtu = i.peer.mtu
	}
	return proposal{
		responder: p.Responder, initiator: p.Initiator, flowControl: p.FlowControl, retry: min(p.RetryCount, mostRetries),
		rnrRetry: min(p.RNRetry, mostRetries), srq: p.SRQ, mtu: mtu, timeout: ackTimeout(i.lifetime()), trafficClass: i.trafficClass, psn: i.psn,
	}
}

// newPSN returns a random first PSN for a connection. There are no packets, but programs see the
// number.
func newPSN() uint32 {
	var b [4]byte
	_, _ = rand.Read(b[:])
	return binary.NativeEndian.Uint32(b[:]) & psnMask
}

// event returns the parameters of an event about the end that sent p. retries says that p's retry
// count applies to the receiving end, as in a REQ.
func (p *proposal) event(qpn uint32, private []byte, retries bool) ucma.ConnParam {
	c := ucma.ConnParam{
		QPN: qpn, PrivateData: private[:min(len(private), longestPrivateData)], SRQ: p.srq, Responder: p.initiator, Initiator: p.responder,
		FlowControl: p.flowControl, RNRetry: p.rnrRetry,
	}
	if retries {
		c.RetryCount = p.retry
	}
	return c
}

// attributes returns the attributes of i's queue pair in RTS, as the kernel's connection manager
// sets them. The peer's proposal must be known. The table shows where each value comes from; "own"
// and "peer" are the two proposals:
//
//	                    at the end that connects    at the end that accepts
//	max_rd_atomic       peer.responder              own.initiator
//	max_dest_rd_atomic  peer.initiator              own.responder
//	retry_cnt           own.retry                   peer.retry
//	rnr_retry           peer.rnrRetry               peer.rnrRetry
//	timeout             own path's, or the option   peer path's, or the option
//	path_mtu            own.mtu                     peer.mtu
//	rq_psn, sq_psn      own.psn, peer.psn           own.psn, peer.psn
//
// So the accepting end decides the depths of both ends. Before it has accepted, they are the depths
// that the peer wants.
func (i *id) attributes() uverbs.Attributes {
	const hops = 64
	own, peer := &i.own, &i.peer
	a := uverbs.Attributes{
		Address: uverbs.Address{
			DGID: uverbs.GID(i.cm.dev.Named(i.dst.Addr()).As16()), SGIDIndex: uint8(max(slices.Index(i.cm.dev.Addresses(), i.src.Addr()), 0)), HopLimit: hops,
			TrafficClass: i.trafficClass, Global: true, Port: onlyPort,
		},
		Port: onlyPort, DestQPN: i.peerQPN, MTU: own.mtu, RQPSN: i.psn, SQPSN: peer.psn, RNRRetry: peer.rnrRetry, Retry: own.retry,
		MaxRead: peer.responder, MaxDestRead: peer.initiator, Timeout: own.timeout,
	}
	if i.request != nil {
		a.MTU, a.Retry, a.Timeout, a.Address.TrafficClass = peer.mtu, peer.retry, max(peer.timeout, 1), peer.trafficClass
		if i.state != requested {
			a.MaxRead, a.MaxDestRead = own.initiator, own.responder
		}
	}
	most := uint8(i.cm.dev.MaxRead())
	a.MaxRead, a.MaxDestRead = min(a.MaxRead, most), min(a.MaxDestRead, most)
	if i.ackTimeout >= 0 {
		a.Timeout = uint8(i.ackTimeout)
	}
	a.Access = uverbs.RemoteWrite
	if a.MaxDestRead > 0 {
		a.Access |= uverbs.RemoteRead | uverbs.RemoteAtomic
	}
	return a
}

// onlyPort is the number of the device's port.
const onlyPort = 1

// The attributes that rdma_cm sets for each state of a queue pair.
const (
	initMask = uverbs.MaskState | uverbs.MaskAccess | uverbs.MaskPKey | uverbs.MaskPort
	rtrMask  = uverbs.MaskState | uverbs.MaskAddress | uverbs.MaskMTU | uverbs.MaskDestQPN | uverbs.MaskRQPSN | uverbs.MaskMaxDestRead |
		uverbs.MaskMinRNRTimer
	rtsMask = uverbs.MaskState | uverbs.MaskSQPSN | uverbs.MaskRetry | uverbs.MaskRNRRetry | uverbs.MaskMaxRead | uverbs.MaskTimeout
)

// initQPAttr returns the answer to INIT_QP_ATTR: the attributes that a program must set to move its
// queue pair to a state. ok is false if they are not known yet.
func (i *id) initQPAttr(to uverbs.State) (mask uverbs.Mask, a uverbs.Attributes, ok bool) {
	// The device fixes the peer's access rights with the connection, so INIT grants all of them
	// before it is known which ones the peer needs. The kernel begins with none, and adds these
	// with the change to INIT that follows the connection.
	a = uverbs.Attributes{State: to, Port: onlyPort, Access: uverbs.RemoteWrite | uverbs.RemoteRead | uverbs.RemoteAtomic}
	known := i.request != nil || i.wasThere
	if !i.framed() {
		// An RNIC goes to RTR and RTS with the connection, so a program sets nothing.
		if to != uverbs.Init || i.wasThere {
			return 0, uverbs.Attributes{State: to, Port: onlyPort}, true
		}
		return initMask, a, true
	}
	if known {
		a = i.attributes()
		a.State = to
	}
	switch to {
	case uverbs.Init:
		return initMask, a, true
	case uverbs.RTR:
		return rtrMask, a, known
	case uverbs.RTS:
		return rtsMask, a, known
	}
	return 0, a, false
}

// framed reports whether the connection of i carries frames, or will.
func (i *id) framed() bool {
	if i.request != nil {
		return i.request.wire == softrnic.Frames
	}
	return i.cm.wire == softrnic.Frames
}

// agree stores the proposal in the peer's Reply, and returns the attributes of i's queue pair.
func (i *id) agree(qpn uint32, b []byte, s *mpa.Agreement) (a uverbs.Attributes, private []byte) {
	i.cm.mu.Lock()
	defer i.cm.mu.Unlock()
	i.peer, private = proposed(b, s.PeerIRD, s.PeerORD)
	i.peerQPN = qpn
	return i.attributes(), private
}
