//go:build linux

package cm

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"slices"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/ucma"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/retry"
	"github.com/rddp/rddp/internal/softrnic"
)

// This file implements ids for datagrams. They have no connection: an id only asks a listener for
// the number of a queue pair, which InfiniBand calls service ID resolution. Question and answer are
// UDP datagrams. The question is repeated until an answer arrives.
//
//	 0            8      9          17     21     23   25            280
//	+------------+------+----------+------+------+----+--------------+
//	| "rddp SR2" | kind | number   | QPN  | from | to | private data |
//	+------------+------+----------+------+------+----+--------------+
//
// The number is random for each question, and the answer repeats it. Only a yes has a QPN. A
// question names the port numbers of both ids, since the ports of UDP are others: see number.go. It
// goes to the first place of the listener's number at first, and then to the other places too. It
// also goes to the UDP port with that number, where older versions of rddp listen. They have
// "rddp SR1", without from and to. All answers have that form.
//
// Multicast groups are not supported.

// A message is a question, or an answer to one.
type message struct {
	kind    messageKind
	number  [8]byte
	qpn     uint32
	private []byte
	// from and to are the port numbers of the ids. Both are 0 in a message of the older form.
	from, to uint16
}

type messageKind byte

const (
	question messageKind = iota + 1
	yes
	no
)

const (
	messageMagic = "rddp SR2"
	olderMagic   = "rddp SR1"
	olderLen     = len(olderMagic) + 1 + 8 + 4 // without private data
	messageLen   = olderLen + 2 + 2
)

func (m *message) appendTo(b []byte) []byte {
	older := m.from == 0 && m.to == 0
	if older {
		b = append(b, olderMagic...)
	} else {
		b = append(b, messageMagic...)
	}
	b = append(append(b, byte(m.kind)), m.number[:]...)
	b = binary.BigEndian.AppendUint32(b, m.qpn)
	if !older {
		b = binary.BigEndian.AppendUint16(binary.BigEndian.AppendUint16(b, m.from), m.to)
	}
	return append(b, m.private...)
}

// parseMessage parses a datagram. ok is false if it is not a message.
func parseMessage(b []byte) (m message, ok bool) {
	if len(b) < olderLen {
		return m, false
	}
	magic, rest := string(b[:len(messageMagic)]), b[len(messageMagic):]
	m = message{kind: messageKind(rest[0]), number: [8]byte(rest[1:]), qpn: binary.BigEndian.Uint32(rest[9:])}
	rest = rest[13:]
	switch {
	case magic == olderMagic:
	case magic == messageMagic && len(rest) >= messageLen-olderLen:
		m.from, m.to = binary.BigEndian.Uint16(rest), binary.BigEndian.Uint16(rest[2:])
		if rest = rest[4:]; m.to == 0 {
			return m, false
		}
	default:
		return m, false
	}
	m.private = bytes.Clone(rest)
	return m, m.kind >= question && m.kind <= no && len(rest) <= longestPrivateData
}

// param returns the parameters of an event about m, which came from the address from.
func (m *message) param(from netip.Addr, source uint8) *ucma.DatagramParam {
	return &ucma.DatagramParam{QPN: m.qpn, QKey: ucma.QKey, GID: from.As16(), Source: source, PrivateData: m.private}
}

// source returns the index of i's address in the device's addresses.
func (i *id) source() uint8 {
	return uint8(max(slices.Index(i.cm.dev.Addresses(), i.src.Addr().Unmap()), 0))
}

// Reasons for a no, with InfiniBand's numbers.
const (
	noService = 1
	refused   = 2
)

// connectDatagrams asks the peer of i for its queue pair.
func (i *id) connectDatagrams(private []byte) error {
	if i.cm.wire == softrnic.Plain || i.state != routed {
		return uverbs.Refuse(syscall.EINVAL, "an RNIC has no datagrams, and an id connects only once its route is resolved; it is %v", i.state)
	}
	i.become(connecting)
	ctx, cancel := context.WithTimeout(i.cm.ctx, patience)
	i.cancel = cancel
	m := message{kind: question, from: i.src.Port(), to: i.dst.Port(), private: private}
	_, _ = rand.Read(m.number[:]) // it never fails
	go i.ask(ctx, i.src.Addr(), i.dst.Addr(), m)
	return nil
}

// ask asks until an answer arrives, and adds the event.
func (i *id) ask(ctx context.Context, from, to netip.Addr, m message) {
	defer i.recovers()
	answer, err := i.cm.seek(ctx, from, to, m)
	i.cm.mu.Lock()
	defer i.cm.mu.Unlock()
	i.cancel()
	if i.state == destroyed {
		return
	}
	e := ucma.Event{UID: i.uid, ID: i.num, Type: ucma.Unreachable}
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		e.Status = noService
	case err != nil:
		e.Status = -int32(syscall.ETIMEDOUT)
	case answer.kind == no:
		e.Status = refused
	default:
		e.Type = ucma.Established
	}
	if e.Type == ucma.Established {
		i.become(connected)
	} else {
		i.become(over)
	}
	e.Datagram = answer.param(i.cm.dev.Named(i.dst.Addr()), i.source())
	i.ch.addLocked(&event{Event: e, id: i})
}

// firstTime is the time in which only the first place of a listener is asked.
const firstTime = 200 * time.Millisecond

// seek asks at the places of the number asked.to until an answer arrives.
func (m *CM) seek(ctx context.Context, from, to netip.Addr, asked message) (answer message, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	type result struct {
		message
		err error
	}
	all := Places(asked.to)
	results := make(chan result, len(all)+1)
	ask := func(ctx context.Context, port uint16, asked message) {
		var r result
		r.err = m.guard(func() (err error) {
			r.message, err = exchangeAt(ctx, from, netip.AddrPortFrom(to, port), asked)
			return err
		})
		results <- r
	}
	go ask(ctx, all[0], asked)
	first := time.NewTimer(firstTime)
	defer first.Stop()
	for left := len(all) + 1; left > 0; {
		select {
		case r := <-results:
			if r.err == nil {
				return r.message, nil
			}
			if left--; err == nil || errors.Is(err, syscall.ECONNREFUSED) { // another error counts more
				err = r.err
			}
		case <-first.C:
			for _, port := range all[1:] {
				go ask(ctx, port, asked)
			}
			older := asked
			older.from, older.to = 0, 0
			olderCtx, cancel := context.WithTimeout(ctx, olderTime)
			defer cancel()
			go ask(olderCtx, asked.to, older)
		}
	}
	return answer, err
}

// exchangeAt is exchange with a UDP port, from any port of an address.
func exchangeAt(ctx context.Context, from netip.Addr, to netip.AddrPort, m message) (message, error) {
	c, err := net.DialUDP("udp", net.UDPAddrFromAddrPort(netip.AddrPortFrom(from, 0)), net.UDPAddrFromAddrPort(to))
	if err != nil {
		return m, err
	}
	defer c.Close()
	return exchange(ctx, c, m)
}

// exchange sends m until an answer arrives. If the peer's port is closed, it gives up after half a
// second, as for a connection.
func exchange(ctx context.Context, conn *net.UDPConn, m message) (answer message, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetReadDeadline(time.Unix(1, 0)) })
	defer stop()
	raw, err := conn.SyscallConn()
	if err != nil {
		return answer, err
	}
	b := make([]byte, messageLen+longestPrivateData+1)
	asked := m.appendTo(nil)
	until := time.Now().Add(refusedFor)
	var again retry.Wait
	for {
		next := time.Now().Add(again.Next())
		_, err = conn.Write(asked) // its error may belong to the previous question
		if e := conn.SetReadDeadline(next); e != nil {
			return answer, e
		}
		for ctx.Err() == nil {
			var n int
			if n, err = receive(raw, b, err); err != nil {
				break
			}
			if a, ok := parseMessage(b[:n]); ok && a.kind != question && a.number == m.number {
				return a, nil
			}
		}
		if errors.Is(err, syscall.ECONNREFUSED) && time.Now().After(until) {
			return answer, err
		}
		select {
		case <-ctx.Done():
			return answer, ctx.Err()
		case <-time.After(time.Until(next)): // ends at once, unless an error came early
		}
	}
}

// receive receives a message. An error of the socket comes before the messages that it still has:
// here that a later question was refused, because the peer has answered and has ended. So receive
// returns an error only if there is no message. failed is that of an earlier call, or nil.
func receive(raw syscall.RawConn, b []byte, failed error) (n int, err error) {
	err = raw.Read(func(fd uintptr) bool {
		for {
			var e error
			n, _, e = syscall.Recvfrom(int(fd), b, syscall.MSG_DONTWAIT)
			switch {
			case e == nil:
				failed = nil
				return true
			case errors.Is(e, syscall.EAGAIN):
				return failed != nil
			case errors.Is(e, syscall.EINTR):
			case failed != nil:
				return true
			default:
				failed = e
			}
		}
	})
	return max(n, 0), cmp.Or(err, failed)
}

// A service is the socket and the number of a listener for datagrams, with its questions. The CM's
// mutex guards it. As in the kernel, the program may destroy the listener and still answer the
// questions that it has taken.
type service struct {
	conn *net.UDPConn
	raw  syscall.RawConn // of conn
	port *port           // the claim of the number
	// users is the number of ids that need conn: the listener, and the ids of unanswered questions.
	// The last one closes conn and port. Until then the number is in use.
	users int
	// answers are the answers to the last maxBacklog questions; nil if the program has not decided.
	// They are kept because questions are repeated when answers get lost.
	answers map[asker][]byte
	decided []asker // the answered questions, oldest first
}

func (s *service) leave() {
	if s.users--; s.users == 0 {
		_ = s.conn.Close() // nothing can be done about it
		s.port.close()
	}
}

// An asker identifies a question.
type asker struct {
	from   netip.AddrPort
	number [8]byte
}

// A datagramRequest is a question that waits for the program.
type datagramRequest struct {
	service *service
	asker   asker
	control []byte // control data with which the answer is sent from the address that was asked
}

// listenDatagrams makes i listen.
func (i *id) listenDatagrams() error {
	if i.cm.wire == softrnic.Plain {
		return uverbs.Refuse(syscall.EINVAL, "an RNIC has no datagrams")
	}
	var conn *net.UDPConn
	err := i.listenAt(func(p *port) (err error) {
		conn, err = p.datagrams()
		return err
	})
	if err != nil {
		return uverbs.Refuse(errnoOf(err, syscall.EADDRINUSE), "it cannot listen at %v: %v", i.src, err)
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		_ = conn.Close()
		return uverbs.Refuse(errnoOf(err, syscall.EADDRINUSE), "it cannot listen at %v: %v", i.src, err)
	}
	i.service = &service{conn: conn, raw: raw, port: i.port, users: 1, answers: make(map[asker][]byte)}
	i.port = nil // the service has it
	i.become(listening)
	go i.serveDatagrams(i.service)
	return nil
}

// serveDatagrams takes questions until the socket is closed.
func (i *id) serveDatagrams(s *service) {
	b, control := make([]byte, messageLen+longestPrivateData+1), make([]byte, 128)
	var again retry.Wait
	for {
		n, nc, _, from, err := s.conn.ReadMsgUDPAddrPort(b, control)
		if errors.Is(err, net.ErrClosed) {
			return
		}
		if err != nil { // n is then -1
			time.Sleep(again.Next())
			continue
		}
		again.Reset()
		if m, ok := parseMessage(b[:n]); ok && m.kind == question {
			i.asked(s, &m, from, bytes.Clone(control[:nc]))
		}
	}
}

// asked adds an event for a new question, or repeats the answer to a known one.
func (i *id) asked(s *service, m *message, from netip.AddrPort, control []byte) {
	defer i.recovers()
	i.cm.mu.Lock()
	defer i.cm.mu.Unlock()
	q := &datagramRequest{s, asker{from, m.number}, control}
	if answer, known := s.answers[q.asker]; known {
		if answer != nil {
			q.send(answer)
		}
		return
	}
	to := localAddress(control)
	if m.to != 0 && m.to != i.src.Port() {
		return // the peer has found another listener
	}
	if i.state != listening || i.pending >= i.backlog || !i.cm.dev.IsOwn(to) || !s.remember(q.asker) {
		return // the peer asks again
	}
	s.users++
	i.pending++
	child := i.cm.newLocked(i.ch, i.space, requested)
	child.near, child.datagramRequest = true, q
	child.src = netip.AddrPortFrom(to, i.src.Port())
	child.dst = netip.AddrPortFrom(from.Addr().Unmap(), cmp.Or(m.from, from.Port()))
	i.ch.addLocked(&event{
		Event: ucma.Event{UID: i.uid, ID: child.num, Type: ucma.ConnectRequest, Datagram: m.param(i.cm.dev.Named(child.dst.Addr()), child.source())},
		id:    i, child: child,
	})
}

// remember adds a question to answers, and removes the oldest answer if there are too many. It
// returns false if that is impossible because no question has been answered.
func (s *service) remember(a asker) bool {
	if len(s.answers) == maxBacklog {
		if len(s.decided) == 0 {
			return false
		}
		delete(s.answers, s.decided[0])
		s.decided = s.decided[1:]
	}
	s.answers[a] = nil
	return true
}

// answer answers the question. It must be called only once.
func (q *datagramRequest) answer(m message) {
	m.number = q.asker.number
	b := m.appendTo(nil)
	s := q.service
	s.answers[q.asker], s.decided = b, append(s.decided, q.asker)
	q.send(b)
	s.leave()
}

// send sends an answer, but does not wait for room: if the answer is lost, the peer asks again.
func (q *datagramRequest) send(b []byte) {
	_ = q.service.raw.Write(func(fd uintptr) bool {
		_, _ = syscall.SendmsgN(int(fd), b, q.control, sockaddr(q.asker.from), syscall.MSG_DONTWAIT)
		return true
	})
}

// acceptDatagrams answers with the program's queue pair.
func (i *id) acceptDatagrams(uid uint64, p *ucma.ConnParam) error {
	if i.state != requested || !p.Valid {
		return uverbs.Refuse(syscall.EINVAL, "the id is %v, and has no request to accept, or its parameters are not valid", i.state)
	}
	i.datagramRequest.answer(message{kind: yes, qpn: p.QPN, private: p.PrivateData})
	i.uid = uid
	i.become(connecting)
	i.become(connected)
	return nil
}

// localAddress returns the destination address of a received datagram.
func localAddress(control []byte) netip.Addr {
	messages, err := syscall.ParseSocketControlMessage(control)
	if err != nil {
		return netip.Addr{}
	}
	for _, m := range messages {
		switch {
		case m.Header.Level == syscall.IPPROTO_IP && m.Header.Type == syscall.IP_PKTINFO && len(m.Data) >= syscall.SizeofInet4Pktinfo:
			return netip.AddrFrom4([4]byte(m.Data[4:]))
		case m.Header.Level == syscall.IPPROTO_IPV6 && m.Header.Type == syscall.IPV6_PKTINFO && len(m.Data) >= syscall.SizeofInet6Pktinfo:
			return netip.AddrFrom16([16]byte(m.Data)).Unmap()
		}
	}
	return netip.Addr{}
}
