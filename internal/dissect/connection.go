package dissect

import (
	"bytes"
	"fmt"
	"net/netip"
	"time"

	"github.com/rddp/rddp/mpa"
)

// The keys that MPA frames begin with (RFC 5044 §7.1.1).
var (
	requestKey = []byte("MPA ID Req Frame")
	replyKey   = []byte("MPA ID Rep Frame")
)

const (
	// maxBeforeReply bounds the octets that an Initiator may have sent before the Reply is seen. It
	// must not send any, but the capture may hold the packets in another order.
	maxBeforeReply = 256 << 10
	// maxBadInARow is the number of FPDUs with a bad CRC after which the lengths are no longer
	// trusted.
	maxBadInARow = 8
)

// phase is the state of a direction:
//
//	streaming → requested → framing → lost    (the side that sent the Request)
//	    ↑___________|                         (a Reply that rejects)
//	streaming → framing → lost                (the side that sent the Reply)
//	streaming → unasked → framing → lost      (the side that must have sent the Request)
type phase uint8

const (
	streaming phase = iota // octets of the application; an MPA frame may come anywhere in them
	requested              // after a Request: octets wait for the Reply
	unasked                // after a Reply without a Request: FPDUs, but the Request may come first
	framing                // Full Operation: FPDUs
	lost                   // the rest cannot be decoded
)

// connection is one TCP connection of the capture.
type connection struct {
	d       *dissector
	key     pair
	place   int       // index in the dissector's spare connections, from 1; 0 if it is not one of them
	number  int       // in order of appearance
	now     time.Time // of the current packet
	halves  [2]half
	request *mpa.Frame // nil: none yet
	crc     bool       // the result of the two frames
	over    bool       // both directions have ended, or it was reset
}

// half is one direction of a connection.
type half struct {
	src, dst netip.AddrPort
	tcp      reassembly
	syn      bool   // its SYN was seen, so the capture contains its beginning
	isn      uint32 // sequence number of the SYN
	cut      bool   // some of its packets were captured only in part
	phase    phase
	framer   framer
	held     []byte // octets in order that wait for more
	bad      int    // FPDUs with a bad CRC in a row
}

// replacedBy reports whether a SYN with this sequence number opens a new connection between the two
// ends.
func (c *connection) replacedBy(from int, seq uint32) bool {
	h := &c.halves[from]
	if h.syn {
		return h.isn != seq // otherwise it is a retransmission
	}
	return c.over || h.tcp.known
}

// take processes one segment of half i.
func (c *connection) take(i int, s segment, t time.Time) {
	if c.over {
		return
	}
	c.now = t
	h := &c.halves[i]
	h.cut = h.cut || s.cut
	if s.syn {
		if !h.tcp.known {
			h.syn, h.isn = true, s.seq
			h.tcp.start(s.seq + 1)
		}
		s.seq++
	}
	if len(s.payload) > 0 {
		c.guess(i, s)
	}
	for len(s.payload) > 0 && h.phase != lost {
		if h.tcp.add(s.seq, s.payload, &c.d.waiting, func(b []byte) { c.feed(i, b) }) {
			break
		}
		c.gap(i, s.seq) // there is no room for s after the gap
	}
	if s.fin {
		h.tcp.finish(s.seq + uint32(len(s.payload)))
	}
	if s.rst || c.halves[0].ended() && c.halves[1].ended() {
		c.finish("the connection ends")
	}
}

// ended reports whether nothing more can come in this direction.
func (h *half) ended() bool { return h.tcp.complete() || h.phase == lost && h.tcp.ended }

// feed processes octets of half i, in order.
func (c *connection) feed(i int, data []byte) {
	h := &c.halves[i]
	if h.phase == lost {
		return
	}
	b := data
	if len(h.held) > 0 {
		c.d.waiting += len(data)
		h.held = append(h.held, data...)
		b = h.held
	}
	used := 0
	for more := true; more && h.phase != lost; {
		var n int
		n, more = c.step(i, b[used:])
		used += n
	}
	c.hold(i, b[used:])
	if len(h.held) > maxBeforeReply && h.phase == requested || c.d.waiting > maxWaitingAll {
		c.lose(i, fmt.Sprintf("%d bytes wait for what the capture does not hold", len(h.held)))
	}
}

// hold keeps the rest of a half's octets; rest may alias the octets held so far.
func (c *connection) hold(i int, rest []byte) {
	h := &c.halves[i]
	if h.phase == lost {
		rest = nil
	}
	c.d.waiting += len(rest) - len(h.held)
	if len(rest) == 0 {
		h.held = nil
		return
	}
	h.held = append(h.held[:0], rest...)
}

// step decodes the item at the beginning of b and returns its length. more is false if nothing else
// in b can be decoded now.
func (c *connection) step(i int, b []byte) (n int, more bool) {
	h := &c.halves[i]
	switch h.phase {
	case streaming:
		return c.findFrame(i, b)
	case unasked:
		return c.lateRequest(i, b)
	case framing:
		p, ok := h.framer.next(b)
		if ok {
			c.fpdu(i, p)
		}
		return p.size, ok
	}
	return 0, false
}

// findFrame looks for an MPA frame anywhere in b, because a connection may switch to MPA at any
// point.
func (c *connection) findFrame(i int, b []byte) (n int, more bool) {
	at, reply := findKey(b)
	if at < 0 {
		return max(0, len(b)-len(requestKey)+1), false // the end may be the beginning of a key
	}
	b = b[at:]
	if len(b) < mpa.FrameHeaderLen {
		return at, false
	}
	size, err := mpa.FrameLen(b[:mpa.FrameHeaderLen])
	if err == nil && len(b) < size {
		return at, false
	}
	var f mpa.Frame
	if err == nil {
		f, err = mpa.ParseFrame(b[:size])
	}
	if err != nil {
		c.report(i, "an MPA frame that can't be used: "+err.Error())
		return at + len(requestKey), true
	}
	f.PrivateData = bytes.Clone(f.PrivateData)
	if reply {
		c.reply(i, f)
	} else {
		c.requestFrame(i, f)
	}
	return at + size, true
}

// lateRequest decodes a possible Request that was captured after its Reply. Without a Request, half
// i begins with FPDUs.
func (c *connection) lateRequest(i int, b []byte) (n int, more bool) {
	h, other := &c.halves[i], &c.halves[1-i]
	if k := min(len(b), len(requestKey)); !bytes.Equal(b[:k], requestKey[:k]) {
		h.phase = framing
		return 0, true
	}
	size := mpa.FrameHeaderLen
	if len(b) < size {
		return 0, false
	}
	size, err := mpa.FrameLen(b[:size])
	if err == nil && len(b) < size {
		return 0, false
	}
	var f mpa.Frame
	if err == nil {
		f, err = mpa.ParseFrame(b[:size])
	}
	if err != nil {
		c.lose(i, "an MPA frame that can't be used: "+err.Error())
		return 0, false
	}
	f.PrivateData = bytes.Clone(f.PrivateData)
	c.request, c.crc = &f, c.crc || f.CRC
	c.record(i, Record{Kind: KindRequest, Startup: newStartup(f)})
	h.phase = framing
	other.framer.markers = f.Markers
	return size, true
}

// findKey returns the place of the first key in b, or -1.
func findKey(b []byte) (at int, reply bool) {
	request, rep := bytes.Index(b, requestKey), bytes.Index(b, replyKey)
	if rep >= 0 && (request < 0 || rep < request) {
		return rep, true
	}
	return request, false
}

// begin records the Request, or a substitute for it.
func (c *connection) begin(request *mpa.Frame) {
	c.request = request
	c.d.keep(c)
}

func (c *connection) requestFrame(i int, f mpa.Frame) {
	c.begin(&f)
	c.halves[i].phase = requested
	c.record(i, Record{Kind: KindRequest, Startup: newStartup(f)})
}

// reply ends the startup: from here on both directions consist of FPDUs, unless the Reply rejects.
func (c *connection) reply(i int, reply mpa.Frame) {
	responder, initiator := &c.halves[i], &c.halves[1-i]
	for initiator.phase == streaming && len(initiator.tcp.waiting) > 0 {
		c.gap(1-i, initiator.tcp.next) // the missing octets won't come, because the Responder has got the Request
	}
	waits := initiator.phase == requested
	asked := waits || initiator.phase == lost && c.request != nil
	if !asked {
		initiator.tcp.known = false // decoding begins with the next segment
		c.hold(1-i, nil)            // the end of what came before is no beginning of an FPDU
		c.report(i, "an MPA Reply without an MPA Request before it: "+
			"the Request is taken to have asked for CRC as the Reply does, and for no markers")
		c.begin(&mpa.Frame{CRC: reply.CRC})
	}
	c.record(i, Record{Kind: KindReply, Startup: newStartup(reply)})
	// "When this bit is '1' in either the MPA Request Frame or MPA Reply Frame, CRCs MUST be
	// generated and checked by both endpoints." (RFC 5044 §7.1.1) An M bit is about the data that
	// its sender receives.
	c.crc = c.request.CRC || reply.CRC
	next := framing
	if reply.Reject {
		next = streaming
	}
	responder.enter(next, c.request.Markers)
	if !asked && !reply.Reject {
		next = unasked
	}
	initiator.enter(next, reply.Markers)
	// Half i still holds this Reply, so feed must not process half i again. It does not: a Reply in
	// the held octets of half 1-i answers no Request of half i.
	if waits {
		c.feed(1-i, nil) // the octets that it has held back
	}
}

// enter begins a phase after the startup frames.
func (h *half) enter(p phase, markers bool) {
	if h.phase != lost {
		h.phase, h.framer = p, framer{markers: markers}
	}
}

// guess examines a segment of a connection whose beginning is not in the capture. If the segment
// can only consist of FPDUs, decoding begins with it. Once one direction is known, the other needs
// less proof, because siw may send a CRC in a separate segment.
func (c *connection) guess(i int, s segment) {
	h := &c.halves[i]
	if h.syn || h.phase != streaming || h.tcp.known && h.tcp.next != s.seq {
		return
	}
	crc, ok := onlyFPDUs(s.payload, c.request != nil)
	if !ok {
		return
	}
	if c.request == nil {
		c.begin(&mpa.Frame{CRC: crc})
		c.crc = crc
		c.report(i, "the capture does not have the beginning of this connection: "+
			"decoded as FPDUs without markers")
	}
	h.phase = framing
	c.hold(i, nil)
}

// fpdu emits one FPDU.
func (c *connection) fpdu(i int, p framed) {
	h := &c.halves[i]
	r := Record{CRC: CRCOff}
	switch {
	case c.crc && p.crcGood:
		r.CRC = CRCGood
		h.bad = 0
	case c.crc:
		r.CRC = CRCBad
		h.bad++
	}
	err := r.setFPDU(p)
	r.Error = words(p.fault, err)
	c.record(i, r)
	if h.bad == maxBadInARow {
		c.lose(i, fmt.Sprintf("%d FPDUs in a row with a bad CRC: the rest is not decoded", h.bad))
	}
}

// words joins the errors in the markers and in the headers of an FPDU.
func words(fault string, err error) string {
	switch {
	case err == nil:
		return fault
	case fault == "":
		return err.Error()
	}
	return fault + "; " + err.Error()
}

// gap handles octets that are missing in the capture. Before the startup it skips them, up to the
// first run that waits, or to seq if none does. Among FPDUs the boundaries are lost too.
func (c *connection) gap(i int, seq uint32) {
	h := &c.halves[i]
	if h.phase == streaming {
		c.hold(i, nil)
		h.tcp.skip(seq, &c.d.waiting, func(b []byte) { c.feed(i, b) })
		return
	}
	why := "the capture does not have"
	if h.cut {
		why = "packets were captured only in part, and the capture does not have"
	}
	if c.d.fragmented[[2]netip.Addr{h.src.Addr(), h.dst.Addr()}] {
		why = "there are IP fragments, which are not put together, and no whole packet has"
	}
	c.lose(i, fmt.Sprintf("%s %d bytes of this direction: the rest is not decoded", why, h.tcp.missing(seq)))
}

// finish reports unfinished frames, startup and FPDUs when the connection or the capture ends.
func (c *connection) finish(event string) {
	if c.over {
		return
	}
	for i := range c.halves {
		h := &c.halves[i]
		for h.phase != lost && len(h.tcp.waiting) > 0 {
			c.gap(i, h.tcp.next)
		}
		if h.phase > streaming && h.phase < lost && h.tcp.ended && !h.tcp.complete() {
			c.gap(i, h.tcp.end)
		}
	}
	for i := range c.halves {
		h := &c.halves[i]
		at, _ := findKey(h.held)
		switch {
		case h.phase == streaming && at >= 0:
			c.report(i, event+" inside an MPA frame")
		case h.phase == requested:
			c.report(i, event+" without an MPA Reply")
		case h.phase >= unasked && len(h.held) > 0:
			c.report(i, fmt.Sprintf("%s inside an FPDU, %d bytes after it began", event, len(h.held)))
		}
	}
	c.release()
	c.over = true
	c.d.offer(c)
}

// lose stops decoding half i.
func (c *connection) lose(i int, why string) {
	c.report(i, why)
	c.halves[i].phase = lost
	c.hold(i, nil)
	c.halves[i].tcp.drop(&c.d.waiting)
}

// release drops all octets that wait.
func (c *connection) release() {
	for i := range c.halves {
		c.hold(i, nil)
		c.halves[i].tcp.drop(&c.d.waiting)
	}
}

func (c *connection) report(i int, why string) {
	c.record(i, Record{Kind: KindError, Error: why})
}

func (c *connection) record(i int, r Record) {
	r.Time, r.Src, r.Dst = c.now, c.halves[i].src, c.halves[i].dst
	c.d.record(r)
}
