package spec

import (
	"context"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"net"
	"os"
	"time"
)

// These bound, in bytes, what a case reads from the peer and keeps for its report.
const (
	maxReceived = 4 << 20
	maxLogged   = 64 << 10
)

// A session is a running case: its connection and everything that has happened on it. Like a
// bufio.Scanner it keeps its first error and does nothing after it, so that a case reads like a
// script.
type session struct {
	ctx   context.Context
	cfg   *Config
	needs Flags
	end   time.Time // of the case

	conn   net.Conn
	stop   func() bool
	err    error // a *Failure, a *skip, or an *openError
	record Record
	known  bool // record is set

	request, reply         frame
	crc                    bool
	txMarkers, rxMarkers   bool
	txOff, rxOff, fpduFrom uint64               // offsets in the stream after the startup frames
	txMSN, rxMSN           [qnAtomic + 1]uint32 // the last ones used, by queue
	ended                  ending               // how the peer's half of the stream has ended

	log      []exchange
	logged   [2]int
	received int
}

// An exchange holds the bytes of one direction.
type exchange struct {
	sent   bool
	octets []byte
}

// An ending is the way in which the peer's half of a stream has ended.
type ending int

const (
	stillOpen ending = iota
	byFIN
	byReset
	cutOff // a FIN inside an FPDU or a frame
)

func (e ending) String() string {
	return [...]string{"the connection stays open", "FIN", "reset", "FIN in the middle of an FPDU or frame"}[e]
}

// A Failure means that the peer does not meet a requirement, as far as this case can tell.
type Failure struct {
	Expected, Got string
}

func (f *Failure) Error() string { return fmt.Sprintf("expected %s; came: %s", f.Expected, f.Got) }

// A skip means that the case cannot be asked.
type skip struct{ reason string }

func (s *skip) Error() string { return s.reason }

// fail ends the case.
func (s *session) fail(expected, format string, args ...any) {
	if s.err == nil {
		s.err = &Failure{Expected: expected, Got: fmt.Sprintf(format, args...)}
	}
}

func (s *session) skip(format string, args ...any) {
	if s.err == nil {
		s.err = &skip{fmt.Sprintf(format, args...)}
	}
}

// initiator reports whether this end is the Initiator.
func (s *session) initiator() bool { return s.cfg.Part == Responder }

// open opens a new connection, which replaces the current one.
func (s *session) open() {
	if s.err != nil {
		return
	}
	s.close()
	conn, err := s.cfg.Open(s.ctx)
	if err != nil {
		s.err = &openError{err}
		return
	}
	s.conn = conn
	_ = conn.SetDeadline(s.end)
	// If the whole run is canceled, reads and writes under way end too.
	s.stop = context.AfterFunc(s.ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })
	s.crc, s.txMarkers, s.rxMarkers = false, false, false
	s.txOff, s.rxOff, s.ended, s.known = 0, 0, stillOpen, false
	s.txMSN, s.rxMSN = [qnAtomic + 1]uint32{}, [qnAtomic + 1]uint32{}
	s.log, s.logged, s.received = nil, [2]int{}, 0
}

func (s *session) close() {
	if s.conn != nil {
		s.stop()
		_ = s.conn.Close()
		s.conn = nil
	}
}

// mute reports whether the peer, a Responder, has sent nothing after its Reply and keeps the
// connection open.
func (s *session) mute() bool {
	return s.conn != nil && s.initiator() && s.ended == stillOpen && s.reply.key != "" && s.logged[0] == len(s.reply.octets())
}

// wake sends a Write of length 0 to a mute peer, so that it reads FPDUs that it may have left
// unread. If siw has not seen the RTR of a connection, closing it may crash siw's kernel.
func (s *session) wake() {
	s.stop()
	_ = s.conn.SetWriteDeadline(time.Now().Add(time.Second))
	b := fpdu{ulpdu: tagged(opWrite, 0, 0, nil).octets()}.appendTo(nil, s.txOff, s.crc, s.txMarkers)
	_, _ = s.conn.Write(b) // the case is over
}

// write sends bytes unchanged, in one write.
func (s *session) write(b []byte) {
	if s.err != nil || len(b) == 0 {
		return
	}
	s.note(true, b)
	if _, err := s.conn.Write(b); err != nil && s.ended == stillOpen {
		// If the peer has closed, reading shows what it sent last.
		if errors.Is(err, os.ErrDeadlineExceeded) {
			s.fail("the peer to read everything sent to it", "it reads nothing more within %v", s.cfg.timeout())
		}
	}
}

// trickle sends bytes one by one, with a short pause after each write.
func (s *session) trickle(b []byte) {
	for i := range b {
		s.write(b[i : i+1])
		s.pause(time.Millisecond)
	}
}

// pause waits for d. No result depends on the pause; it makes it likely that writes arrive one by
// one.
func (s *session) pause(d time.Duration) {
	if s.err != nil || d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-s.ctx.Done():
	}
}

func (s *session) note(sent bool, b []byte) {
	i := 0
	if sent {
		i = 1
	}
	if n := maxLogged - s.logged[i]; len(b) > n {
		b = b[:n]
	}
	if len(b) == 0 {
		return
	}
	s.logged[i] += len(b)
	if n := len(s.log); n > 0 && s.log[n-1].sent == sent {
		s.log[n-1].octets = append(s.log[n-1].octets, b...)
		return
	}
	s.log = append(s.log, exchange{sent, append([]byte(nil), b...)})
}

// read reads n bytes. It returns fewer bytes if the stream or the time of the case ends; ended says
// which.
func (s *session) read(n int) []byte {
	if s.err != nil || s.ended != stillOpen {
		return nil
	}
	if s.received += n; s.received > maxReceived {
		s.fail("an end of the stream", "more than %d bytes", maxReceived)
		return nil
	}
	b := make([]byte, n)
	got, err := io.ReadFull(s.conn, b)
	s.note(false, b[:got])
	switch {
	case err == nil || errors.Is(err, os.ErrDeadlineExceeded):
	case errors.Is(err, io.EOF):
		s.ended = byFIN
	case errors.Is(err, io.ErrUnexpectedEOF):
		s.ended = cutOff
	default:
		s.ended = byReset
	}
	return b[:got]
}

// readFrame reads and checks the peer's startup frame. ok is false if there is none. The case has
// then failed, unless noneAllowed is set.
func (s *session) readFrame(key string, noneAllowed bool) (f frame, ok bool) {
	want := fmt.Sprintf("an MPA frame with the key %q", key)
	b := s.read(frameLen)
	if s.err != nil {
		return f, false
	}
	if len(b) < frameLen {
		if !noneAllowed || len(b) > 0 || s.ended == stillOpen {
			s.fail(want, "%s", s.silence(b))
		}
		return f, false
	}
	f = frame{key: string(b[:16]), flags: b[16], revision: b[17]}
	n := int(binary.BigEndian.Uint16(b[18:]))
	switch {
	case f.key != key:
		s.fail(want, "the key %q", f.key)
		return f, false
	case n > maxPrivate:
		s.fail("PD_Length of 512 at most", "PD_Length %d", n)
		return f, false
	}
	f.private = s.read(n)
	if s.err == nil && len(f.private) < n {
		s.fail(fmt.Sprintf("%d bytes of Private Data, as PD_Length says", n), "%s", s.silence(f.private))
		return f, false
	}
	reserved := byte(flagRes | flagS)
	if f.isEnhanced() {
		reserved = flagRes
	}
	switch {
	case f.revision != 1 && f.revision != 2:
		s.fail("revision 1 or 2", "revision %d", f.revision)
	case f.flags&reserved != 0:
		s.fail("reserved bits of zero", "%v", f)
	}
	return f, s.err == nil
}

// silence describes what arrived instead of the expected message.
func (s *session) silence(b []byte) string {
	text := "nothing"
	if len(b) > 0 {
		text = fmt.Sprintf("%d bytes, %s", len(b), hex.EncodeToString(b[:min(len(b), 32)]))
	}
	if s.ended == stillOpen {
		return fmt.Sprintf("%s within %v, and %v", text, s.cfg.timeout(), s.ended)
	}
	return fmt.Sprintf("%s, then %v", text, s.ended)
}

// take reads n bytes of an FPDU, without the Markers among them, and appends all bytes to raw for
// the CRC.
func (s *session) take(n int, raw []byte) (b, all []byte) {
	for n > 0 && s.err == nil && s.ended == stillOpen {
		if s.rxMarkers && s.rxOff%markEvery == 0 {
			m := s.read(4)
			if len(m) < 4 {
				return b, append(raw, m...)
			}
			raw = append(raw, m...)
			s.checkMarker(m, len(raw) == 4)
			s.rxOff += 4
		}
		k := n
		if s.rxMarkers {
			k = min(n, int(markEvery-s.rxOff%markEvery))
		}
		p := s.read(k)
		b, raw = append(b, p...), append(raw, p...)
		s.rxOff += uint64(len(p))
		n -= len(p)
		if len(p) < k {
			break
		}
	}
	return b, raw
}

// checkMarker checks a Marker at rxOff (RFC 5044 §4.3). first means that the Marker is before the
// ULPDU_Length of its FPDU.
func (s *session) checkMarker(m []byte, first bool) {
	want := uint16(0)
	if first {
		s.fpduFrom = s.rxOff + 4
	} else {
		want = uint16(s.rxOff - s.fpduFrom)
	}
	if reserved, ptr := binary.BigEndian.Uint16(m), binary.BigEndian.Uint16(m[2:]); reserved != 0 || ptr != want {
		s.fail(fmt.Sprintf("a Marker 0000%04x at offset %d of the stream", want, s.rxOff), "%x", m)
	}
}

// next reads one FPDU and makes the checks that apply to every FPDU. ok is false if the stream or
// the time has ended.
func (s *session) next() (g segment, ok bool) {
	if s.err != nil || s.ended != stillOpen {
		return g, false
	}
	s.fpduFrom = s.rxOff
	head, raw := s.take(2, nil)
	if len(head) < 2 {
		if len(head) > 0 && s.ended == byFIN {
			s.ended = cutOff
		}
		return g, false
	}
	n := int(binary.BigEndian.Uint16(head))
	pad := -(n + 2) & 3
	body, raw := s.take(n+pad, raw)
	if s.rxMarkers && s.rxOff%markEvery == 0 && s.ended == stillOpen && s.err == nil { // a Marker before the CRC field
		m := s.read(4)
		raw = append(raw, m...)
		if len(m) == 4 {
			s.checkMarker(m, false)
			s.rxOff += 4
		}
	}
	field := s.read(4)
	s.rxOff += uint64(len(field))
	if s.err != nil || len(field) < 4 {
		if s.ended == byFIN {
			s.ended = cutOff
		}
		return g, false
	}
	if sum := crc32.Checksum(raw, castagnoli); s.crc && sum != binary.LittleEndian.Uint32(field) {
		s.fail(fmt.Sprintf("the CRC32c %08x on an FPDU of the peer", sum), "%08x", binary.LittleEndian.Uint32(field))
		return g, false
	}
	g, whole := parseSegment(body[:n])
	if !whole {
		s.fail("a DDP header in an FPDU of the peer", "a ULPDU of %d bytes", n)
		return g, false
	}
	for _, c := range body[n:] {
		g.padSet = g.padSet || c != 0
	}
	s.checkSegment(g)
	return g, s.err == nil
}

// checkSegment makes the checks that apply to every segment.
func (s *session) checkSegment(g segment) {
	op := g.op()
	isTagged := op == opWrite || op == opReadResponse
	queue := map[byte]uint32{opReadRequest: qnRead, opAtomicRequest: qnRead, opTerminate: qnTerminate, opAtomicResponse: qnAtomic}[op]
	switch {
	case g.ddp&ddpDV != version || g.ddp&ddpRsvd != 0:
		s.fail("a DDP Control Field with DV 1 and reserved bits of zero", "%v", g)
	case g.rdmap&rdmapRV != version<<6 || g.rdmap&rdmapRsv != 0:
		s.fail("an RDMAP Control Field with version 1 and reserved bits of zero", "%v", g)
	case opNames[op] == "":
		s.fail("an opcode that there is", "%v", g)
	case g.tagged() != isTagged:
		s.fail("the T bit as the opcode has it", "%v", g)
	case !g.tagged() && g.qn != queue:
		s.fail(fmt.Sprintf("QN %d for this opcode", queue), "%v", g)
	case !g.tagged() && g.inv != 0 && op != opSendInv && op != opSendSEInv:
		s.fail("zero in the Invalidate STag field", "%v with %#08x there", g, g.inv)
	}
}

// A message is a complete RDMA Message of the peer.
type message struct {
	segment  // the first segment, with the payload of all segments
	segments []segment
}

// message reads the next message of the peer: the segments up to L, which must belong together.
func (s *session) message() (m message, ok bool) {
	for {
		g, ok := s.next()
		if !ok {
			return m, false
		}
		if len(m.segments) == 0 {
			m.segment = g
			m.payload = append([]byte(nil), g.payload...)
			s.checkFirst(g)
		} else {
			s.checkLater(m, g)
			m.payload = append(m.payload, g.payload...)
		}
		m.segments = append(m.segments, g)
		if s.err != nil {
			return m, false
		}
		if g.last() {
			return m, true
		}
	}
}

func (s *session) checkFirst(g segment) {
	if g.tagged() {
		return
	}
	s.rxMSN[g.qn]++
	if g.msn != s.rxMSN[g.qn] || g.mo != 0 {
		s.fail(fmt.Sprintf("MSN %d and MO 0 in the peer's next message on QN %d", s.rxMSN[g.qn], g.qn), "%v", g)
	}
}

func (s *session) checkLater(m message, g segment) {
	n := uint64(len(m.payload))
	switch {
	case g.rdmap != m.rdmap || g.tagged() != m.tagged():
		s.fail(fmt.Sprintf("the next segment of the %s", opName(m.op())), "%v", g)
	case g.tagged() && (g.stag != m.stag || g.to != m.to+n):
		s.fail(fmt.Sprintf("STag %#08x and TO %#x in the next segment", m.stag, m.to+n), "%v", g)
	case !g.tagged() && (g.qn != m.qn || g.msn != m.msn || uint64(g.mo) != n || g.inv != m.inv):
		s.fail(fmt.Sprintf("QN %d, MSN %d and MO %d in the next segment", m.qn, m.msn, n), "%v", g)
	}
}
