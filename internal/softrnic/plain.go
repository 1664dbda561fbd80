package softrnic

import (
	"encoding/binary"
	"math"
	"sync"
	"time"

	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/rdmap"
)

// This file has the connections without frames, plain iWARP: a work request is one RDMAP message,
// or several Writes or Reads, and completes when TCP has taken it. There are no acknowledgements,
// and neither atomics nor immediate data, which RFC 5040 does not have.
//
// A Send that finds no receive waits in the connection, and TCP holds back the peer if many do.
// iWARP would allow the device to end the connection.

const (
	// plainDepth is the maximum number of messages that wait for receives.
	plainDepth = 4096
	// leastMessage is the length of the longest Send in bytes that a connection takes before its
	// receive is posted.
	leastMessage = 64 << 10
)

// plainConfig makes c the configuration of a connection without frames.
func (q *queuePair) plainConfig(c *conn.Config) {
	c.NoCapabilities = true // the peer's program would see them
	c.Terminate = rdmap.TerminateAfterAnswers
	c.RecvDepth, c.RecvSize = plainDepth, math.MaxInt32
	c.LongestMessage = q.longestMessage(q.recv.takenNow())
}

// longestMessage returns the function that says how long a Send on a connection may be. taken is
// the number of receives that were taken before the connection. If the receive for the Send is
// posted later, the length is checked again then. It is not known beforehand which receive of a
// shared queue a Send gets.
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
//     speak first, as over InfiniBand. The peer-to-peer model of RFC 6581 would be another way, but
//     some responders do not know it, and Linux's siw may crash over it.
//   - Linux's siw may leave FPDUs unread that arrive within milliseconds of its Reply, until more
//     arrive.
//
// A peer that talks needs no nudge, which might even harm: siw resets a connection that has unread
// bytes when its program closes it, and data that siw has sent may be lost then. On a busy machine
// the timer may be that late.
func nudge(c *conn.Conn) { time.AfterFunc(nudgeAfter, func() { nudgeNow(c) }) }

func nudgeNow(c *conn.Conn) {
	if c.Counts().Sums()[counters.Received+counters.FPDUs] > talks {
		return
	}
	_, _ = c.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkWrite, Unsignaled: true}}) // it fails if the connection has ended
}

// runPlain reads messages until the connection ends, and returns why.
func (r *receiver) runPlain() error {
	b := plainBuffers.Get().(*[]byte)
	defer plainBuffers.Put(b)
	for {
		n, m, err := r.l.conn.ReadMessage(*b)
		if err != nil {
			if isTooLong(err) && r.awaitReceive() {
				r.fail(uverbs.LocalLengthErr)
			}
			return err
		}
		r.l.q.pd.placing.now()
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
	if met := r.meet(); met != nil {
		select {
		case <-met:
		case <-r.l.ctx.Done():
			return false
		}
	}
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	return r.in.state != inClosed
}

// meet makes the next receive the one that is being filled. If there is none, it returns a channel
// that is closed once there is.
func (r *receiver) meet() (met chan struct{}) {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	if r.in.meets((*receiverHands)(r)) {
		return nil
	}
	met = make(chan struct{})
	r.met = met
	r.waitLocked(true)
	return met
}

// plainMessage copies a message to the receive, and completes it. The first n bytes of the message
// are in b, and the others in the connection.
func (r *receiver) plainMessage(b []byte, n int, m *rdmap.Completion) error {
	for left := int(m.Len); ; {
		if err := r.fill(b[:n]); err != nil {
			return err
		}
		var err error
		if left -= n; left <= 0 {
			break
		}
		if n, err = r.l.conn.Read(b); err != nil {
			return err
		}
	}
	f := frame{kind: frameSend}
	if m.HasInvalidated {
		f.flags = flagInvalidate
		binary.LittleEndian.PutUint32(f.immediate[:], uint32(m.Invalidated))
	}
	if m.Solicited {
		f.flags |= flagSolicited
	}
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	if !r.in.filled(f, (*receiverHands)(r)) {
		return errEnded
	}
	return nil
}

// fill copies a part of a message to the receive.
func (r *receiver) fill(b []byte) error {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	return r.in.fills(b, (*receiverHands)(r))
}

// fail fails the receive that is being filled, which ends the link.
func (r *receiver) fail(status uverbs.WCStatus) {
	r.l.q.recvMu.Lock()
	defer r.l.q.recvMu.Unlock()
	r.in.fails(status, (*receiverHands)(r))
}
