package device

import (
	"math"
	"sync"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// This file has the connections without frames, as iWARP has them: a work request is one RDMAP
// message, or several Writes or Reads, and completes when TCP has taken it. There are no
// acknowledgements, and neither atomics nor immediate data, which RFC 5040 does not have.
//
// A Send that finds no receive waits in the connection, and TCP holds back the peer if many do.
// iWARP would allow the device to end the connection.

const (
	// plainDepth is the maximum number of messages that wait for receives.
	plainDepth = 4096
	// leastMessage is the length of the longest Send in bytes that a connection takes before its
	// receive is posted.
	leastMessage = 64 << 10
	// maxLong is how many bytes of payload longer than a chunk may be on their way. A single Send
	// may have more.
	maxLong = 64 << 20
)

// plainConfig makes c the configuration of a connection without frames.
func (q *queuePair) plainConfig(c *extsock.Config) {
	c.NoCapabilities = true // the peer's program would see them
	c.Terminate = rdmap.TerminateAfterAnswers
	c.RecvDepth, c.RecvSize = plainDepth, math.MaxInt32
	c.LongestMessage = q.longestMessage(q.recv.takenNow())
}

// longestMessage returns the function that says how long a Send on a connection may be, before
// which so many receives were taken. The receive for the Send may be posted later; then the length
// is judged once more when it is. Nobody knows beforehand which of the receives in a shared queue a
// Send gets.
func (q *queuePair) longestMessage(taken uint32) func(before uint32, whole bool) int {
	if q.srq != nil {
		return func(_ uint32, whole bool) int {
			if whole {
				return leastMessage
			}
			return max(leastMessage, q.recv.longest())
		}
	}
	return func(before uint32, _ bool) int {
		if n, ok := q.recv.length(taken + before); ok {
			return n
		}
		return leastMessage
	}
}

const (
	// nudgeAfter is how long after the Reply an initiator sends an FPDU of its own.
	nudgeAfter = 50 * time.Millisecond
	// A peer that has sent more than talks FPDUs needs no nudge: its program takes part. librdmacm
	// sends a few FPDUs before it has read anything, so talks is well above that.
	talks = 16
)

// nudge sends an RDMA Write of length 0, for which no STag is checked (RFC 5041 §5.2). It does two
// things for the peer, if the program has not sent anything by then, or has been very quick:
//
//   - A responder may not send before the initiator has (RFC 5044 §7.1.2). So either program may
//     speak first, as over InfiniBand. The peer-to-peer model of RFC 6581 would be the other way,
//     but some responders do not know it, and Linux's siw may crash over it.
//   - Linux's siw may leave FPDUs unread that arrive within milliseconds of its Reply, until more
//     arrive.
//
// A peer that talks needs none, and it may harm: siw resets a connection in which something lies
// unread when its program closes it, and what siw has sent may be lost then. On a busy machine the
// timer may be that late.
func nudge(c *extsock.Conn) { time.AfterFunc(nudgeAfter, func() { nudgeNow(c) }) }

func nudgeNow(c *extsock.Conn) {
	if c.Stats().Received.FPDUs > talks {
		return
	}
	_, _ = c.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkWrite, Unsignaled: true}}) // it fails if the connection has ended
}

// plainStep posts the next piece of the work request. It returns false if that must wait, or if the
// work request is wrong.
func (s *sender) plainStep(l *link, b *batch) bool {
	l.mu.Lock()
	s.flight.isRead = true // it ends with the Completions of its pieces
	l.mu.Unlock()
	switch s.wr.Op {
	case uverbs.OpWrite, uverbs.OpAtomicWrite:
		return s.plainWrite(l, b)
	case uverbs.OpSend, uverbs.OpSendInval:
		return s.plainSend(l, b)
	case uverbs.OpRead:
		if l.conn.ConnectionState().ORD > 0 {
			return s.read(l, b)
		}
	case uverbs.OpBindMW:
		return s.local(l, s.at.pd.bind(&s.wr.Bind, l.conn.QPNum()))
	case uverbs.OpLocalInv:
		return s.local(l, s.at.pd.invalidate(s.wr.InvalidateKey()))
	}
	return s.local(l, errNoOperation)
}

// plainWrite posts a piece of a Write.
func (s *sender) plainWrite(l *link, b *batch) bool {
	n := min(s.flight.n-s.done, chunkLen)
	to := s.remote()
	p, id, ok := s.plainBuffer(l, b, int(n))
	if !ok || !s.payload(l, p) {
		return false
	}
	s.plainAdd(l, b, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: p, Remote: to}, id)
	return true
}

// plainSend posts a Send, which is one message.
func (s *sender) plainSend(l *link, b *batch) bool {
	p, id, ok := s.plainBuffer(l, b, int(s.flight.n))
	if !ok || !s.payload(l, p) {
		return false
	}
	r := rdmap.WorkRequest{Op: rdmap.WorkSend, Data: p, Solicited: s.wr.Flags&uverbs.Solicited != 0}
	if s.wr.Op == uverbs.OpSendInval {
		r.Op, r.Invalidate = rdmap.WorkSendInvalidate, ddp.STag(s.wr.InvalidateKey())
	}
	s.plainAdd(l, b, r, id)
	return true
}

// plainBuffer returns memory for n bytes of payload, and the number under which its work request
// completes. ok is false if too much is on its way.
func (s *sender) plainBuffer(l *link, b *batch, n int) (p []byte, id uint64, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case n <= shortLen:
		at := len(b.memory)
		b.memory = b.memory[:at+n]
		id, _ = l.newChunkLocked(0, s.flight)
		return b.memory[at:], id, true
	case n <= chunkLen:
		id, c := l.newChunkLocked(n, s.flight)
		if c == nil {
			return nil, 0, false
		}
		return c.b[:n], id, true
	case l.long > 0 && l.long+n > maxLong:
		return nil, 0, false
	}
	l.long += n
	l.lastChunk++
	p = make([]byte, n)
	l.chunks[l.lastChunk] = &chunk{b: p, n: n, flight: s.flight}
	return p, l.lastChunk, true
}

// plainAdd adds a request to the batch.
func (s *sender) plainAdd(l *link, b *batch, r rdmap.WorkRequest, id uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	s.flight.awaits++
	r.Inline = 0 < len(r.Data) && len(r.Data) <= shortLen
	s.add(b, r, id)
	if s.done >= s.flight.n {
		s.flight.posted, s.active = true, false
	}
}

// runPlain reads messages until the connection ends, and returns why.
func (r *receiver) runPlain() error {
	b := plainBuffers.Get().(*[]byte)
	defer plainBuffers.Put(b)
	for {
		n, m, err := r.l.conn.ReadMessage(*b)
		if err != nil {
			if isTooLong(err) && r.awaitReceive() {
				r.mu.Lock()
				r.failLocked(uverbs.LocalLengthErr)
				r.mu.Unlock()
			}
			return err
		}
		if !r.awaitReceive() {
			return errEnded
		}
		if err := r.plainMessage(*b, n, &m); err != nil {
			return err
		}
	}
}

// plainBuffers are buffers for payload on its way to a program.
var plainBuffers = sync.Pool{New: func() any { b := make([]byte, chunkLen); return &b }}

// awaitReceive waits for a receive of the program, and makes it the one that is being filled. It
// returns false if the link has ended, or ends because of the receive.
func (r *receiver) awaitReceive() bool {
	for d := lookEvery; ; d = min(d+d/8, lookSlowly) {
		r.mu.Lock()
		if r.in.state == inOpen {
			var status uverbs.WCStatus
			if r.in.message, status = (*receiverHands)(r).take(); status != uverbs.Success {
				r.failLocked(status)
			}
		}
		taken, closed := r.in.message != nil, r.in.state == inClosed
		r.mu.Unlock()
		if taken || closed {
			return !closed
		}
		if !r.awaitLate(d) {
			return false
		}
	}
}

// awaitLate waits for d, or for a receive if d is long. It returns false if the link has ended.
func (r *receiver) awaitLate(d time.Duration) bool {
	if d < lookSlowly {
		select {
		case <-time.After(d):
			return true
		case <-r.l.ctx.Done():
			return false
		}
	}
	found := make(chan struct{})
	w := r.l.q.ctx.late.add(r.l.q.recv, func() { close(found) })
	defer r.l.q.ctx.late.remove(w)
	select {
	case <-found:
		return true
	case <-r.l.ctx.Done():
		return false
	}
}

// plainMessage copies a message to the receive, and completes it. The first n bytes of the message
// are in b, and the others in the connection.
func (r *receiver) plainMessage(b []byte, n int, m *rdmap.Completion) error {
	for left := int(m.Len); ; {
		r.mu.Lock()
		var err error
		if r.in.state == inOpen {
			err = r.in.message.at.scatter(b[:n])
		}
		if err != nil {
			r.failLocked(localStatus(err))
		}
		r.mu.Unlock()
		if err != nil {
			return err
		}
		if left -= n; left <= 0 {
			break
		}
		if n, err = r.l.conn.Read(b); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.in.state == inClosed {
		return errEnded
	}
	w := uverbs.WC{ID: r.in.message.id, Op: uverbs.WCRecv, Len: m.Len, QPN: r.l.q.num, SrcQPN: r.l.peer}
	if m.HasInvalidated {
		key := uint32(m.Invalidated)
		w.Immediate, w.Flags = [4]byte{byte(key), byte(key >> 8), byte(key >> 16), byte(key >> 24)}, uverbs.WCHasInval
	}
	r.in.message = nil
	r.l.q.recvCQ.complete(&w, m.Solicited)
	return nil
}

// failLocked fails the receive that is being filled, which ends the link.
//
// +checklocks:r.mu
func (r *receiver) failLocked(status uverbs.WCStatus) { r.in.fails(status, (*receiverHands)(r)) }
