package softrnic

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/pcapng"
	"github.com/rddp/rddp/internal/softrnic/trace"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A tap sees what is said on a connection, for the capture and for the trace. Its methods are those
// of a recorder of package observe. They are called with locks held, and do not wait.
type tap struct {
	flow *pcapng.Flow // nil if there is no capture
	dev  *Device
	// q is the queue pair whose connection it is, once that is known.
	q         atomic.Pointer[queuePair]
	initiator bool
	addresses []string // of both ends, in an order that is the same at both
	startup   []byte   // the startup frames
	// What follows is valid once begun is done, with the first FPDU.
	begun   sync.Once
	key     uint64 // the same at both ends of the connection, and on no other one
	framed  bool   // Sends are frames
	out, in way
}

// A way has the messages of one direction.
type way struct {
	number uint64    // of messages
	began  time.Time // the message that is not complete; zero if there is none
	e      trace.Event
}

// Tapped returns c, changed so that the capture and the trace see the connection.
func (d *Device) Tapped(c *conn.Config) *conn.Config {
	if d.trace == nil && d.capture == nil {
		return c
	}
	n := *c
	n.Tap = d.tap
	return &n
}

func (d *Device) tap(local, remote net.Addr, initiator bool) toe.Tap {
	t := &tap{dev: d, initiator: initiator, addresses: []string{local.String(), remote.String()}}
	slices.Sort(t.addresses)
	if d.capture != nil {
		t.flow = d.capture.Flow(local, remote, initiator)
	}
	return t
}

// tapped is the event that c is to become the connection of q.
func (q *queuePair) tapped(c *conn.Conn) {
	if t, ok := c.Tap().(*tap); ok {
		t.q.Store(q)
	}
}

// tappedAs gives both ends of a connection a name of their own before startup. Connections of
// queue pairs with themselves need one, because their startup frames and their addresses are all
// the same.
func tappedAs(name string, ends ...*conn.Conn) {
	for _, c := range ends {
		if t, ok := c.Tap().(*tap); ok {
			t.startup = append(t.startup, name...)
		}
	}
}

// Sent and Received see a startup frame.
func (t *tap) Sent(p []byte) {
	t.startup = append(t.startup, p...)
	if t.flow != nil {
		t.flow.Sent(p)
	}
}

func (t *tap) Received(p []byte) {
	t.startup = append(t.startup, p...)
	if t.flow != nil {
		t.flow.Received(p)
	}
}

// SentFPDUs and ReceivedFPDUs see whole FPDUs, apart from the last ones of a connection.
func (t *tap) SentFPDUs(bufs [][]byte, off uint64, markers bool) {
	if t.flow != nil {
		t.flow.SentFPDUs(bufs, off, markers)
	}
	if t.dev.trace != nil && !markers {
		t.messages(&t.out, trace.Out, bufs...)
	}
}

func (t *tap) ReceivedFPDUs(p []byte, off uint64, markers bool) {
	if t.flow != nil {
		t.flow.ReceivedFPDUs(p, off, markers)
	}
	if t.dev.trace != nil && !markers {
		t.messages(&t.in, trace.In, p)
	}
}

// Stop and Closed are the end.
func (t *tap) Stop() { t.Closed() }

func (t *tap) Closed() {
	if t.flow != nil {
		t.flow.Closed()
	}
}

// IsOver reports whether the tap has ended by itself, which it does not.
func (t *tap) IsOver() bool { return false }

// begins is the event that the first FPDU passes. The startup frames of connections with frames
// have secrets or PSNs in them, so no two are the same. Others are told apart by their addresses.
func (t *tap) begins() {
	h := fnv.New64a()
	h.Write(t.startup)
	if t.framed = bytes.Contains(t.startup, []byte("rddp")); !t.framed {
		for _, a := range t.addresses {
			h.Write([]byte(a))
		}
	}
	t.key = h.Sum64()
	t.startup = nil
}

// flowOf returns the number of a message for both ends.
func (t *tap) flowOf(kind trace.Kind, number uint64) uint64 {
	n := number << 1
	if (kind == trace.Out) == t.initiator {
		n |= 1
	}
	const odd = 0x9e3779b97f4a7c15 // spreads the numbers of a connection
	return max((t.key+n)*odd, 1)
}

// messages tells the trace of the messages that end in FPDUs.
func (t *tap) messages(w *way, kind trace.Kind, bufs ...[]byte) {
	t.begun.Do(t.begins)
	q := t.q.Load()
	var b [segmentFront]byte
	o := octets{bufs: bufs}
	for _, p := range bufs {
		o.left += len(p)
	}
	for o.skip(0); o.left > 0; {
		front := o.front(b[:])
		size, ok := pcapng.FPDULen(front, 0, false)
		if !ok || size > o.left {
			return // the connection has ended
		}
		if n := int(binary.BigEndian.Uint16(front)); w.segment(front[2:min(2+n, len(front))], n, t.framed, t.dev.trace.Now()) {
			w.number++
			if q != nil {
				w.e.Kind, w.e.Flow = kind, t.flowOf(kind, w.number)
				w.e.At = t.dev.trace.Now()
				w.e.Dur = w.e.At.Sub(w.began)
				q.put(w.e)
			}
			w.began = time.Time{}
		}
		o.skip(size)
	}
}

// segmentFront is how much of an FPDU the trace looks at: its length, and the longest headers.
const segmentFront = 2 + ddp.UntaggedHeaderLen + rdmap.AtomicRequestLen

// octets are the octets of several slices, from at on.
type octets struct {
	bufs [][]byte
	at   int // in the first slice
	left int
}

// front copies the first octets to b, and returns them.
func (o *octets) front(b []byte) []byte {
	n, at := 0, o.at
	for _, p := range o.bufs {
		if n += copy(b[n:], p[at:]); n == len(b) {
			break
		}
		at = 0
	}
	return b[:n]
}

// skip goes on by n octets, which are there.
func (o *octets) skip(n int) {
	o.left -= n
	for o.at += n; len(o.bufs) > 0 && o.at >= len(o.bufs[0]); o.bufs = o.bufs[1:] {
		o.at -= len(o.bufs[0])
	}
}

// segment is the event that a DDP segment of n bytes passes, of which this is the front. It reports
// whether that ends a message.
func (w *way) segment(front []byte, n int, framed bool, now time.Time) (last bool) {
	begins := w.began.IsZero()
	if begins {
		w.e, w.began = trace.Event{}, now
	}
	rest := n - len(front)
	if h, payload, err := ddp.ParseTagged(front); err == nil {
		if begins {
			op, _ := rdmap.ParseControl(h.RsvdULP)
			w.e.Op = op.String()
			w.e.Seen, w.e.Addr, w.e.Key = true, h.TO, uint32(h.STag)
		}
		w.e.N += uint32(len(payload) + rest)
		return h.Last
	}
	h, payload, err := ddp.ParseUntagged(front)
	if err != nil {
		w.e.Op = "a segment that is wrong"
		return true
	}
	if begins {
		op, _ := rdmap.ParseControl(h.RsvdULP)
		w.e.Op = op.String()
		payload = w.untagged(op, payload, framed)
	}
	w.e.N += uint32(len(payload) + rest)
	return h.Last
}

// untagged notes what an untagged message says. It returns the payload of the program in its first
// segment.
func (w *way) untagged(op rdmap.Opcode, payload []byte, framed bool) []byte {
	switch op {
	case rdmap.OpReadRequest:
		if r, rest, err := rdmap.ParseReadRequest(payload); err == nil {
			w.e.Seen, w.e.Addr, w.e.Key = true, r.SourceTO, uint32(r.SourceSTag)
			w.e.Text = fmt.Sprintf("asks for %d bytes", r.Size)
			return rest
		}
	case rdmap.OpAtomicRequest:
		if r, rest, err := rdmap.ParseAtomicRequest(payload); err == nil {
			w.e.Seen, w.e.Addr, w.e.Key, w.e.Text = true, r.TO, uint32(r.STag), r.Op.String()
			return rest
		}
	case rdmap.OpAtomicResponse:
		if r, rest, err := rdmap.ParseAtomicResponse(payload); err == nil {
			w.e.Text = fmt.Sprintf("the value was %#x", r.Original)
			return rest
		}
	case rdmap.OpTerminate:
		if t, err := rdmap.ParseTerminate(payload); err == nil {
			w.e.Text = t.Code.String()
			return nil
		}
	case rdmap.OpSend, rdmap.OpSendSE, rdmap.OpSendInvalidate, rdmap.OpSendSEInvalidate:
		if f, rest, err := parseFrame(payload); framed && err == nil {
			w.e.Op, w.e.Text = f.words()
			return rest
		}
	}
	return payload
}

// words says what a frame is, and what its fields are.
func (f frame) words() (name, more string) {
	switch f.kind {
	case frameAck:
		return "acknowledgement", fmt.Sprintf("of frame %d", f.number)
	case frameNotReady:
		return "not ready", fmt.Sprintf("frame %d waits for a receive", f.number)
	case frameRefuse:
		return "refusal", fmt.Sprintf("of frame %d: %v", f.number, f.status)
	case frameBye:
		return "bye", ""
	case frameProbe:
		return "asks for an acknowledgement", ""
	}
	all := [...]string{"first piece", "last piece", "solicited", "with immediate data", "invalidates a key", "asks for an acknowledgement"}
	var said []string
	for i, s := range all {
		if f.flags&(1<<i) != 0 {
			said = append(said, s)
		}
	}
	name = "Send"
	if f.kind == frameWritten {
		name = "end of a Write with immediate data"
	}
	return name, strings.Join(said, ", ")
}
