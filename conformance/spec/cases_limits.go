package spec

import (
	"fmt"
	"strings"
	"time"
)

// maxIRD is the maximum IRD for these cases: the answers to four times as many Reads stay below
// maxReceived.
const maxIRD = 128

// limits returns the cases about the peer's limits: receive buffers, RDMA Reads, and the time of
// startup.
func limits() []Case {
	return []Case{
		question("5041/7.1/no-buffer", both, 0, "DDP-5041-7.1-3 DDP-5041-7.1-5 DDP-5041-7.1-7 DDP-5041-7.2-9",
			"Sends for which no buffer is posted are not lost: the peer reads them later, or its stream ends; RFC 5041 §7.1 allows both.", noBuffer),
		question("5040/6.1/reads-beyond-ird", both, FlagMemory, "RDMAP-5040-6.1-9 RDMAP-5040-5.2.2-4",
			"Reads beyond the IRD are not lost: the peer answers all of them in order, or its stream ends.", readsBeyondIRD),
		question("5044/7.1.2/no-request", Responder, FlagStartup, "MPA-5044-7.1.2-22",
			"A Responder does not wait for a Request forever.", impatient("")),
		question("5044/7.1.2/request-too-slow", Responder, FlagStartup, "MPA-5044-7.1.2-27",
			"A Responder's timeout is for the whole Request, and does not restart with each byte.", impatient(keyRequest)),
		question("5044/7.1.2/no-reply", Initiator, FlagStartup, "MPA-5044-7.1.2-27",
			"An Initiator does not wait for a Reply forever.", impatient("")),
		question("5044/7.1.2/reply-too-slow", Initiator, FlagStartup, "MPA-5044-7.1.2-27",
			"An Initiator's timeout is for the whole Reply, and does not restart with each byte.", impatient(keyReply)),
	}
}

// noBuffer sends many more messages than the contract requires buffers for, in one write, and reads
// only after that.
func noBuffer(s *session) {
	const n = 32 * MinReceives
	text := func(i int) string { return fmt.Sprintf("message %d of more than there are buffers", i+1) }
	s.start()
	s.alive()
	var list []segment
	for i := range n {
		list = append(list, s.sends(text(i)))
	}
	s.send(list...)
	s.wantAllOrEnd(n, "Sends with the bytes sent, in order", func(i int, m message) bool {
		return m.op() == opSend && string(m.payload) == text(i)
	}, ddpNoBuffer, ddpMSNRange)
}

// readsBeyondIRD does the same with Reads. RFC 5040 §6.1 has no code for them: the peer may report
// that DDP's queue 1 has no buffer, an MSN out of range, or a catastrophic error of the stream.
func readsBeyondIRD(s *session) {
	s.start()
	ird := s.statedIRD()
	p := s.filled(MinRegion)
	s.alive()
	var list []segment
	n, r := 4*ird, s.record.Region
	for i := range n {
		list = append(list, s.readOf(uint32(i+1), uint64(i), MinRegion, r.STag, r.TO))
	}
	s.send(list...)
	s.wantAllOrEnd(n, "Read Responses, in order", func(i int, m message) bool {
		return m.op() == opReadResponse && m.stag == uint32(i+1) && m.to == uint64(i) && string(m.payload) == string(p)
	}, ddpNoBuffer, ddpMSNRange, rdmapCatastrophic)
}

// statedIRD returns the IRD of the peer's frame. It skips the case if the frame has none, or if it
// is too large to exceed.
func (s *session) statedIRD() int {
	theirs := s.request
	if s.initiator() {
		theirs = s.reply
	}
	n := theirs.ird()
	if s.err == nil && (!theirs.isEnhanced() || n == 0 || n > maxIRD) {
		s.skip("the peer states no IRD from 1 to %d", maxIRD)
	}
	return n
}

// wantAllOrEnd reads the answers to n requests. After any number of answers the peer may also end
// the stream, with one of the codes. A reset is allowed too: if the peer has not read all requests,
// its TCP sends a reset, which can destroy the Terminate.
func (s *session) wantAllOrEnd(n int, what string, right func(i int, m message) bool, codes ...code) {
	o := s.outcomeOf(n)
	var or []string
	match := false
	for _, c := range codes {
		or = append(or, c.String())
		match = match || o.term != nil && o.term.code == c
	}
	want := fmt.Sprintf("%d %s; or at any point a Terminate: %s, or a reset; then the end of the connection", n, what, strings.Join(or, ", or "))
	for i, m := range o.messages {
		if s.err == nil && !right(i, m) {
			s.fail(want, "as number %d %v", i+1, m.segment)
		}
	}
	switch {
	case s.err != nil:
	case o.term == nil && len(o.messages) == n:
		s.alive()
	case o.term == nil && s.ended != byReset:
		s.fail(want, "%d right ones; %s", len(o.messages), s.silence(nil))
	case o.term != nil && !match:
		s.fail(want, "%v", o.term)
	case s.ended == stillOpen:
		s.fail(want, "%v; then nothing within %v, and %v", o.term, s.cfg.timeout(), s.ended)
	}
}

// impatient makes the peer wait in startup: for any byte or, with a key, for a frame that arrives
// one byte in each quarter of the peer's timeout. The peer must end the connection before twice its
// timeout.
func impatient(key string) func(*session) {
	return func(s *session) {
		s.start()
		limit := s.record.Startup
		if s.err == nil && 2*limit > s.cfg.timeout() {
			s.skip("the peer's timeout of %v is more than half of a case's time", limit)
		}
		s.finish()
		s.wantClosed("the end of the connection")
		s.open()
		begin := time.Now()
		if !s.initiator() {
			s.request, _ = s.readFrame(keyRequest, false)
		}
		want := fmt.Sprintf("the end of the connection after about %v", limit)
		for i := 1; i <= 8 && s.err == nil && s.ended == stillOpen; i++ {
			if key != "" {
				s.write([]byte{key[i-1]})
			}
			if b := s.readUntil(begin.Add(time.Duration(i) * limit / 4)); len(b) > 0 {
				s.fail(want, "bytes that begin with %02x", b[0])
			}
		}
		if s.ended == stillOpen {
			s.fail(want, "nothing within %v, and %v", 2*limit, s.ended)
		}
	}
}
