package softrnic

import (
	"cmp"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// Unreliable datagrams are UDP between two devices: iWARP has none. As in verbs, a datagram may be
// lost, and one that finds no receive is lost.

// A datagram is the header of a UDP datagram.
//
//	 0            4            8            12           16           20           36
//	+------------+------------+------------+------------+------------+------------+---------+
//	| magic      | to, flags  | from       | key        | immediate  | GID of to  | payload |
//	+------------+------------+------------+------------+------------+------------+---------+
//
// to and from are QPNs. The flags are in the upper 8 bits of their word. Numbers are in network
// order.
type datagram struct {
	to, from  uint32
	flags     frameFlags
	key       uint32
	immediate [4]byte
	gid       uverbs.GID
}

const (
	datagramMagic = 0x72645544 // "rdUD"
	datagramLen   = 36
	qpnMask       = 0xffffff
)

func (d *datagram) appendTo(b []byte) []byte {
	b = binary.BigEndian.AppendUint32(b, datagramMagic)
	b = binary.BigEndian.AppendUint32(b, d.to|uint32(d.flags)<<24)
	b = binary.BigEndian.AppendUint32(b, d.from)
	b = binary.BigEndian.AppendUint32(b, d.key)
	b = append(b, d.immediate[:]...)
	return append(b, d.gid[:]...)
}

func parseDatagram(b []byte) (d datagram, payload []byte, err error) {
	if len(b) < datagramLen || len(b) > datagramLen+maxDatagram || binary.BigEndian.Uint32(b) != datagramMagic {
		return d, nil, errFrame
	}
	to := binary.BigEndian.Uint32(b[4:])
	return datagram{
		to: to & qpnMask, flags: frameFlags(to >> 24), from: binary.BigEndian.Uint32(b[8:]) & qpnMask, key: binary.BigEndian.Uint32(b[12:]),
		immediate: [4]byte(b[16:]), gid: uverbs.GID(b[20:]),
	}, b[datagramLen:], nil
}

// A datagramPort is an open UDP port.
type datagramPort struct {
	*net.UDPConn
	faults *fault.Link // nil if there are none
}

// send sends a datagram. One that can't be sent is lost.
func (p *datagramPort) send(b []byte, to netip.AddrPort) {
	if p.faults != nil {
		p.faults.Send(b, to)
		return
	}
	_, _ = p.WriteToUDPAddrPort(b, to)
}

func (p *datagramPort) close() {
	_ = p.Close() // nothing can be done about it
	if p.faults != nil {
		p.faults.Close()
	}
}

// openDatagrams opens the UDP port of a number.
func (p *port) openDatagrams(d *Device, number uint16) (*datagramPort, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if u := p.datagrams[number]; u != nil {
		return u, nil
	}
	if p.closed {
		return nil, net.ErrClosed
	}
	a := &net.UDPAddr{Port: int(number)}
	if len(d.addresses) == 1 {
		a.IP = d.addresses[0].AsSlice()
	}
	u, err := net.ListenUDP("udp", a)
	if err != nil {
		return nil, err
	}
	const buffer = 4 << 20
	_ = u.SetReadBuffer(buffer) // with less, more datagrams are lost
	l, err := d.faults.Link(u)
	if err != nil {
		_ = u.Close()
		return nil, err
	}
	o := &datagramPort{UDPConn: u, faults: l}
	if p.datagrams == nil {
		p.datagrams = make(map[uint16]*datagramPort)
	}
	p.datagrams[number] = o
	go d.receiveDatagrams(u, number)
	return o, nil
}

// sendDatagrams sends the datagrams in the queue. Each is complete when UDP has taken it. A program
// may post as fast as this end sends; then another goroutine goes on.
func (s *sender) sendDatagrams(q *queuePair) {
	q.mu.Lock()
	own := q.life.attrs.QKey
	q.mu.Unlock()
	b := make([]byte, 0, datagramLen+maxDatagram)
	for left := q.sq.Cap(); s.take(q); left-- {
		f := s.flight
		if f.status == uverbs.Success {
			if err := s.sendDatagram(q, own, b); err != nil {
				f.status, f.why = localStatus(err), err.Error()
			} else {
				f.status = q.ctx.dev.faults.Send()
			}
		}
		if f.status != uverbs.Success {
			s.fail(q, f.status, cmp.Or(f.why, "a datagram could not be sent"))
			return
		}
		q.ctx.check.Add(f.checked.changed()...)
		q.checkDone(f)
		q.traceDone(f, uverbs.Success)
		if f.signaled {
			q.sendCQ.complete(&uverbs.WC{ID: f.id, Op: uverbs.WCOpOf(f.op), Len: f.n, QPN: q.num}, false)
		}
		if left == 0 {
			q.kickLater()
			return
		}
	}
}

// errDatagram is the error of a datagram that goes nowhere.
var errDatagram = errors.New("softrnic: no destination")

// sendDatagram sends the datagram of the work request that s has taken, in the memory of b.
func (s *sender) sendDatagram(q *queuePair, own uint32, b []byte) error {
	to, err := uverbs.ParseDestination(s.entry)
	if err != nil {
		return errDatagram
	}
	d := datagram{to: to.QPN, from: q.num, key: to.QKey, flags: s.solicited(), immediate: s.wr.Immediate, gid: to.DGID}
	if to.AH != 0 {
		q.pd.mu.RLock()
		gid, ok := q.pd.addresses[to.AH]
		q.pd.mu.RUnlock()
		if !ok {
			return errDatagram
		}
		d.gid = gid
	}
	if s.wr.Op == uverbs.OpSendImm {
		d.flags |= flagImmediate
	}
	const ownKey = 1 << 31 // asks for the queue pair's own key
	if d.key&ownKey != 0 {
		d.key = own
	}
	b = d.appendTo(b)
	payload := b[len(b) : len(b)+int(s.flight.n)]
	if s.wr.Flags&uverbs.Inline != 0 {
		copy(payload, s.wr.SGEs)
	} else if err := s.at.gather(payload); err != nil {
		return err
	}
	a := netip.AddrPortFrom(netip.AddrFrom16(d.gid).Unmap(), uint16(d.to>>8))
	q.datagrams.send(b[:len(b)+len(payload)], a)
	return nil
}

// receiveDatagrams takes the datagrams for the queue pairs of a port until u is closed.
func (d *Device) receiveDatagrams(u *net.UDPConn, number uint16) {
	b := make([]byte, datagramLen+maxDatagram+1)
	for {
		n, from, err := u.ReadFromUDPAddrPort(b)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		h, payload, perr := parseDatagram(b[:n])
		if err != nil || perr != nil || h.to>>8 != uint32(number) || !d.has(h.gid) {
			continue
		}
		// A device sends from the port of its queue pair, and no other user of its host has that
		// port.
		if q := d.find(h.to); q != nil && q.kind == uverbs.UD && h.from>>8 == uint32(from.Port()) {
			q.receiveDatagram(&h, payload, from.Addr().Unmap())
		}
	}
}

// has reports whether gid is an address of the device.
func (d *Device) has(gid uverbs.GID) bool {
	a := netip.AddrFrom16(gid).Unmap()
	for _, x := range d.addresses {
		if x == a {
			return true
		}
	}
	return false
}

// receiveDatagram gives a datagram to the oldest receive. The first 40 bytes of a receive are a
// header that says where the datagram comes from.
func (q *queuePair) receiveDatagram(h *datagram, payload []byte, from netip.Addr) {
	defer q.recovers()
	q.recvMu.Lock()
	defer q.recvMu.Unlock()
	q.mu.Lock()
	hears, wrong := q.life.hears(h.key), !q.life.hears(h.key) && q.life.hears(q.life.attrs.QKey)
	q.mu.Unlock()
	if !hears {
		if wrong {
			q.checkKeyOf(h.key, from, h.from)
		}
		return
	}
	entry, seen, low, ok := q.recv.takeSeen()
	if !ok {
		q.checkReceive(true)
		return
	}
	if low {
		q.srq.raiseLimit()
	}
	r, err := uverbs.ParseRecvWR(entry)
	q.traceTake(r.ID)
	at, to := cursor{pd: q.pd, list: r.SGEs}, netip.AddrFrom16(h.gid).Unmap()
	if err == nil {
		q.checkTaken(&r)
		q.checkFilled(r.ID, seen)
		if err = at.scatter(routeHeader(from, to, len(payload))); err == nil {
			err = at.scatter(payload)
		}
	}
	w := uverbs.WC{
		Status: q.ctx.dev.faults.Receive(), ID: r.ID, Op: uverbs.WCRecv, Len: routeLen + uint32(len(payload)), QPN: q.num, SrcQPN: h.from, Flags: uverbs.WCHasGRH, Packet: uverbs.PacketIPv4,
	}
	if !isIPv4(from, to) {
		w.Packet = uverbs.PacketIPv6
	}
	if h.flags&flagImmediate != 0 {
		w.Immediate, w.Flags = h.immediate, w.Flags|uverbs.WCHasImm
	}
	if err != nil {
		w.Status = localStatus(err)
		q.checkTooLong(r.ID, err)
	} else {
		q.checkPlaced(r.ID, r.SGEs, w.Len, seen)
	}
	q.traceFilled(w.ID, w.Len, w.Status)
	q.recvCQ.complete(&w, h.flags&flagSolicited != 0)
}

// routeLen is the length in bytes of the header in front of a received datagram.
const routeLen = 40

func isIPv4(from, to netip.Addr) bool { return from.Is4() && to.Is4() }

// routeHeader returns that header: an IPv6 header, or an IPv4 header in its last 20 bytes, from
// which libibverbs makes the address for an answer.
func routeHeader(from, to netip.Addr, n int) []byte {
	const udp, hops = 17, 64
	b := make([]byte, routeLen)
	if !isIPv4(from, to) {
		b[0], b[6], b[7] = 0x60, udp, hops
		binary.BigEndian.PutUint16(b[4:], uint16(n))
		src, dst := from.As16(), to.As16()
		copy(b[8:], src[:])
		copy(b[24:], dst[:])
		return b
	}
	ip := b[20:]
	ip[0], ip[8], ip[9] = 0x45, hops, udp
	binary.BigEndian.PutUint16(ip[2:], uint16(20+n))
	src, dst := from.As4(), to.As4()
	copy(ip[12:], src[:])
	copy(ip[16:], dst[:])
	var sum uint32
	for i := 0; i < len(ip); i += 2 {
		sum += uint32(binary.BigEndian.Uint16(ip[i:]))
	}
	sum = sum&0xffff + sum>>16
	binary.BigEndian.PutUint16(ip[10:], ^uint16(sum+sum>>16))
	return b
}
