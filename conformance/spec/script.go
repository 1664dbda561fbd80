package spec

import (
	"bytes"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"
)

// ourDepth is the IRD and ORD of this end, unless a case states others.
const ourDepth = 8

// start opens a connection and runs MPA startup in a way that every peer should accept. When it
// returns, this end may send FPDUs: a Responder has read the peer's first Send.
func (s *session) start() { s.startWith(nil) }

// startWith is start with a change to the frame that this end sends.
func (s *session) startWith(change func(*frame)) {
	s.shake(change)
	s.require()
	s.first()
}

// shake exchanges the two startup frames.
func (s *session) shake(change func(*frame)) {
	s.open()
	if s.err != nil {
		return
	}
	if s.initiator() {
		s.request = frame{key: keyRequest, flags: flagC | flagS, revision: 2, private: enhanced(depths(ourDepth, ourDepth))}
		if s.cfg.plain {
			plain(&s.request)
		}
		if change != nil {
			change(&s.request)
		}
		if s.cfg.plain && s.request.revision > 1 {
			s.skip("the peer does not serve revision 2 of MPA")
		}
		s.write(s.request.octets())
		s.reply, _ = s.readFrame(keyReply, false)
		if s.err == nil && s.reply.flags&flagR != 0 {
			s.fail("a Reply that accepts", "R is set: %v", s.reply)
		}
	} else {
		s.request, _ = s.readFrame(keyRequest, false)
		s.reply = answer(s.request)
		if change != nil {
			change(&s.reply)
		}
		if s.err == nil {
			s.write(s.reply.octets())
		}
	}
	s.agree()
}

// answer returns a Reply that accepts a Request as it is.
func answer(req frame) frame {
	f := frame{key: keyReply, flags: flagC, revision: req.revision}
	if !req.isEnhanced() {
		return f
	}
	f.flags |= flagS
	ird, ord := req.ord(), req.ird()
	if ird != depthULP {
		ird = max(ird, ourDepth)
	}
	if ord != depthULP {
		ord = min(ord, ourDepth)
	}
	word := depths(ird, ord)
	if req.word()&bitA != 0 {
		for _, kind := range []uint32{bitC, bitD, bitB} {
			if req.word()&kind != 0 {
				word |= bitA | kind
				break
			}
		}
	}
	f.private = enhanced(word)
	return f
}

// agree sets the result of the two frames.
func (s *session) agree() {
	if s.err != nil {
		return
	}
	theirs, ours := s.reply, s.request
	if !s.initiator() {
		theirs, ours = ours, theirs
	}
	s.crc = (theirs.flags|ours.flags)&flagC != 0
	s.txMarkers, s.rxMarkers = theirs.flags&flagM != 0, ours.flags&flagM != 0
	r, _, err := ParseRecord(theirs.ulp())
	if errors.Is(err, ErrBadRecord) {
		s.fail("a record that follows the contract, or none", "%v", err)
	}
	s.record, s.known = r, err == nil
	if !s.known {
		s.record = Record{ReceiveSize: MinReceive}
	}
}

var flagNames = []struct {
	flag Flags
	name string
}{
	{FlagMemory, "memory for remote access"}, {FlagAtomic, "atomics"}, {FlagImmediate, "Immediate Data"},
	{FlagInvalidate, "memory that may be invalidated"}, {FlagReadOnly, "memory for Reads only"}, {FlagWriteOnly, "memory for Writes only"},
	{FlagStartup, "a timeout of startup"},
}

// require skips the case if the peer lacks a part of the contract that the case needs.
func (s *session) require() {
	missing := s.needs &^ s.record.Flags
	var names []string
	for _, f := range flagNames {
		if missing&f.flag != 0 {
			names = append(names, f.name)
		}
	}
	if len(names) > 0 {
		s.skip("the peer's record does not offer %s", strings.Join(names, ", "))
	}
}

// first handles the first FPDU. As the Initiator this end pauses for the profile's Pause. As the
// Responder it waits for the peer's RTR, if one was agreed on, and for the peer's first Send.
func (s *session) first() {
	if s.err != nil {
		return
	}
	if s.initiator() {
		s.pause(s.cfg.Profile.pause())
		return
	}
	if s.reply.word()&bitA != 0 {
		s.readRTR()
	}
	m, ok := s.message()
	if s.err == nil && (!ok || m.op() != opSend) {
		s.fail("the peer's first Send, as the contract has it", "%s", s.came(m, ok))
	}
}

// readRTR reads the Ready to Receive indication, of the kind in the Reply.
func (s *session) readRTR() {
	want := byte(opWrite)
	switch {
	case s.reply.word()&bitD != 0:
		want = opReadRequest
	case s.reply.word()&bitB != 0:
		want = opSend
	}
	m, ok := s.message()
	empty := len(m.payload) == 0
	if want == opReadRequest {
		empty = len(m.payload) == 28 && be32(m.payload[12:]) == 0
	}
	if s.err == nil && (!ok || m.op() != want || !empty) {
		s.fail(fmt.Sprintf("a %s of length 0 as the first FPDU", opName(want)), "%s", s.came(m, ok))
	}
	if want == opReadRequest && s.err == nil {
		s.send(tagged(opReadResponse, be32(m.payload), be64(m.payload[4:]), nil))
	}
}

// came describes the peer's message or silence, for a failure.
func (s *session) came(m message, ok bool) string {
	if !ok {
		return s.silence(nil)
	}
	text := m.String()
	if t := parseTerminate(m.payload); m.op() == opTerminate && t != nil {
		text += ": " + t.String()
	}
	return text
}

// send sends segments, one FPDU each, in one write.
func (s *session) send(segments ...segment) {
	list := make([]fpdu, len(segments))
	for i, g := range segments {
		list[i] = fpdu{ulpdu: g.octets()}
	}
	s.sendFPDUs(list...)
}

// sendFPDUs sends FPDUs in one write.
func (s *session) sendFPDUs(list ...fpdu) { s.write(s.octets(list...)) }

// octets returns the bytes of FPDUs at the current offset of the stream.
func (s *session) octets(list ...fpdu) []byte {
	var b []byte
	for _, f := range list {
		n := len(b)
		b = f.appendTo(b, s.txOff, s.crc, s.txMarkers)
		s.txOff += uint64(len(b) - n)
	}
	return b
}

// msn returns the next message number of a queue.
func (s *session) msn(qn uint32) uint32 {
	s.txMSN[qn]++
	return s.txMSN[qn]
}

// sends returns the next Send, in one segment.
func (s *session) sends(payload string) segment {
	return untagged(opSend, qnSend, s.msn(qnSend), []byte(payload))
}

// pieces returns the next Send, in segments with these payloads.
func (s *session) pieces(payloads ...string) []segment {
	var list []segment
	msn, mo := s.msn(qnSend), 0
	for i, p := range payloads {
		g := untagged(opSend, qnSend, msn, []byte(p))
		g.mo = uint32(mo)
		if i < len(payloads)-1 {
			g.ddp &^= ddpLast
		}
		mo += len(p)
		list = append(list, g)
	}
	return list
}

// readOf returns the next Read Request.
func (s *session) readOf(sinkSTag uint32, sinkTO uint64, n, stag uint32, to uint64) segment {
	return untagged(opReadRequest, qnRead, s.msn(qnRead), readHeader(sinkSTag, sinkTO, n, stag, to))
}

// wantSend reads the next message, which must be a Send of these bytes.
func (s *session) wantSend(payload string) {
	m, ok := s.message()
	if s.err != nil || ok && m.op() == opSend && string(m.payload) == payload {
		return
	}
	want := "a Send of " + octetsOf([]byte(payload))
	if ok && m.op() == opSend {
		s.fail(want, "a Send of %s", octetsOf(m.payload))
		return
	}
	s.fail(want, "%s", s.came(m, ok))
}

// echo sends a Send that must come back. This shows that the peer is alive and has handled
// everything before.
func (s *session) echo(payload string) {
	s.send(s.sends(payload))
	s.wantSend(payload)
}

// alive is echo with its own text.
func (s *session) alive() { s.echo("still there?") }

// wantResponse reads the next message, which must be the Read Response with these bytes.
func (s *session) wantResponse(sinkSTag uint32, sinkTO uint64, payload []byte) {
	m, ok := s.message()
	if s.err != nil {
		return
	}
	want := fmt.Sprintf("an RDMA Read Response to STag %#08x TO %#x of %s", sinkSTag, sinkTO, octetsOf(payload))
	switch {
	case !ok || m.op() != opReadResponse || m.stag != sinkSTag || m.to != sinkTO && len(payload) > 0:
		s.fail(want, "%s", s.came(m, ok))
	case !bytes.Equal(m.payload, payload):
		s.fail(want, "%s", octetsOf(m.payload))
	}
}

// wantMemory reads the peer's region from offset off on and compares the bytes with want.
func (s *session) wantMemory(off uint64, want []byte) {
	r := s.record.Region
	s.send(s.readOf(0x5EC7A600, 0x1000, uint32(len(want)), r.STag, r.TO+off))
	s.wantResponse(0x5EC7A600, 0x1000, want)
}

// put writes to the peer's region from offset off on.
func (s *session) put(off uint64, p []byte) segment {
	return tagged(opWrite, s.record.Region.STag, s.record.Region.TO+off, p)
}

// wantNothing fails if the peer sends anything within the time Quiet.
func (s *session) wantNothing(expected string) {
	if s.err != nil || s.ended != stillOpen {
		return
	}
	b := s.readUntil(time.Now().Add(s.cfg.quiet()))
	switch {
	case s.err != nil:
	case len(b) > 0:
		s.fail(expected, "bytes that begin with %02x", b[0])
	case s.ended != stillOpen:
		s.fail(expected, "%v", s.ended)
	}
}

// readUntil reads a byte if one arrives before end.
func (s *session) readUntil(end time.Time) []byte {
	if s.err != nil || s.ended != stillOpen {
		return nil
	}
	_ = s.conn.SetReadDeadline(earlier(end, s.end))
	defer func() { _ = s.conn.SetReadDeadline(s.end) }()
	return s.read(1)
}

func earlier(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// wantClosed reads to the end of the stream and fails if a byte arrives first.
func (s *session) wantClosed(expected string) {
	b := s.read(1)
	if s.err == nil && (len(b) > 0 || s.ended == stillOpen) {
		if len(b) > 0 {
			b = append(b, s.read(frameLen-1)...)
			s.fail(expected, "bytes: %s", brief(b))
			return
		}
		s.fail(expected, "%s", s.silence(b))
	}
}

// finish sends a FIN after what was sent.
func (s *session) finish() {
	if s.err != nil {
		return
	}
	if c, ok := s.conn.(interface{ CloseWrite() error }); ok {
		_ = c.CloseWrite()
		return
	}
	s.skip("this connection has no half close")
}

// reset resets the TCP connection.
func (s *session) reset() {
	if s.err != nil {
		return
	}
	if c, ok := s.conn.(interface{ SetLinger(int) error }); ok {
		_ = c.SetLinger(0)
		s.close()
		return
	}
	s.skip("this connection cannot be reset")
}

// An outcome is everything that the peer sends until its half of the stream ends or the time is
// over.
type outcome struct {
	messages []message // before a Terminate
	term     *terminate
	at       segment // the Terminate's
}

func (s *session) outcome() outcome { return s.outcomeOf(-1) }

// outcomeOf is outcome that also ends with the n-th message.
func (s *session) outcomeOf(n int) (o outcome) {
	for s.err == nil && len(o.messages) != n {
		m, ok := s.message()
		if !ok {
			return o
		}
		if m.op() != opTerminate {
			o.messages = append(o.messages, m)
			continue
		}
		o.at = m.segment
		if o.term = parseTerminate(m.payload); o.term == nil {
			s.fail("a whole Terminate Header", "%d bytes: %s", len(m.payload), brief(m.payload))
		}
		if b := s.read(1); len(b) > 0 {
			s.fail("nothing behind the Terminate", "bytes that begin with %02x", b[0])
		}
	}
	return o
}

// brief is outcome for a peer that may stay silent: it reads as long as wantNothing does.
func (s *session) brief() outcome {
	if s.err != nil {
		return outcome{}
	}
	_ = s.conn.SetReadDeadline(earlier(time.Now().Add(s.cfg.quiet()), s.end))
	defer func() { _ = s.conn.SetReadDeadline(s.end) }()
	return s.outcome()
}

// octetsOf describes a payload.
func octetsOf(b []byte) string {
	if len(b) == 0 {
		return "no bytes"
	}
	return fmt.Sprintf("the %d bytes %s", len(b), brief(b))
}

// brief returns bytes as text, but not too many.
func brief(b []byte) string {
	if len(b) > 24 {
		return hex.EncodeToString(b[:24]) + "…"
	}
	return hex.EncodeToString(b)
}
