package extsock

import (
	"fmt"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/bytestream/rsockets"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// speaksRSockets reports whether the connection may speak rsockets.
func (c *Conn) speaksRSockets() bool {
	return c.cfg.RSockets && !c.cfg.messages() && c.ownsReceives()
}

// requestRSockets makes mine the offer of an Initiator that speaks rsockets.
func (c *Conn) requestRSockets(mine *mpa.Config) (err error) {
	// Like librdmacm, which needs one Read at the most, for its Ready to Receive indication.
	mine.IRD, mine.ORD = 0, 1
	mine.PrivateData, err = c.offerRSockets(false)
	return err
}

// requestedRSockets notes the header in the Reply to an offer of requestRSockets.
func (c *Conn) requestedRSockets(reply []byte) error {
	h, err := rsockets.ParseHeader(reply)
	if err == nil && h.BigEndian {
		err = errOtherOrder
	}
	c.verbs.rsocket.peer = h
	return err
}

// acceptRSockets makes mine the answer to a Request with the private data of rsockets, if the
// connection may speak rsockets. Other peers are served as without Config.RSockets.
func (c *Conn) acceptRSockets(mine *mpa.Config, peer *startup.Peer) error {
	if peer.IsRDDP || !c.speaksRSockets() {
		return nil
	}
	h, err := rsockets.ParseHeader(peer.PrivateData)
	if err != nil {
		return nil //nolint:nilerr // a foreign peer that sends messages
	}
	if mine.PrivateData, err = c.offerRSockets(h.BigEndian); err == nil {
		c.verbs.rsocket.peer = h
	}
	return err
}

// offerRSockets prepares the connection for rsockets, and returns the private data of its Request
// or Reply. bigEndian is the byte order that it announces.
func (c *Conn) offerRSockets(bigEndian bool) ([]byte, error) {
	half := rsockets.HalfLen(c.cfg.recvSize())
	h := rsockets.Header{BigEndian: bigEndian, Credits: rsocketCredits}
	s := &rsocket{
		c: c, order: h.Order(), memory: make([]byte, 2*half), rx: *rsockets.NewReceiver(half, rsocketCredits),
		receiving: make(chan struct{}, 1), arrived: make(chan struct{}, 1), room: make(chan struct{}, 1), turn: make(chan struct{}, 1),
		slot: 1, cq: rdmap.NewCompletionQueue(rsocketSendDepth), // the Header fills slot 0
	}
	s.receiving <- struct{}{}
	s.turn <- struct{}{}
	s.mu.Lock()
	defer s.mu.Unlock()
	var err error
	s.descriptors, s.spare = make([]byte, rsockets.Slots*rsockets.SlotLen), make([]byte, rsockets.Slots*rsockets.SlotLen)
	if s.slots, err = c.Register(s.descriptors, ddp.RemoteWrite); err != nil {
		return nil, err
	}
	h.Slots = s.slots.Handle()
	h.Slots.Len = rsockets.Slots
	if h.Buffer, err = s.lendLocked(0); err != nil {
		s.slots.Deregister()
		return nil, err
	}
	c.verbs.rsocket = s
	return h.AppendTo(nil), nil
}

// dropRSockets undoes offerRSockets when startup has not led to rsockets.
func (c *Conn) dropRSockets() {
	if s := c.verbs.rsocket; s != nil && s.driver == nil {
		s.mu.Lock()
		s.halves[0].Deregister()
		s.slots.Deregister()
		s.mu.Unlock()
		c.verbs.rsocket = nil
	}
}

// lendLocked registers a half for the peer.
//
// +checklocks:s.mu
func (s *rsocket) lendLocked(half int) (rdmap.Handle, error) {
	n := len(s.memory) / 2
	r, err := s.c.Register(s.memory[half*n:][:n:n], ddp.RemoteWrite)
	if err != nil {
		return rdmap.Handle{}, err
	}
	s.halves[half] = r
	return r.Handle(), nil
}

// errOtherOrder is the error of startup with a Responder of the other byte order. Two ends of
// librdmacm could not speak to each other either.
var errOtherOrder = fmt.Errorf("%w: the rsockets peer is big-endian", bytestream.ErrStream)

// begin begins the stream. The driver has not been started. The Initiator's first word lets the
// Responder send.
func (s *rsocket) begin(d *driver.Driver) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.driver, s.tx = d, *rsockets.NewSender(s.peer)
	s.tellLocked()
}

// startNudges has an Initiator nudge its peer from now on. The driver has been started.
func (s *rsocket) startNudges() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nudger = time.AfterFunc(nudgeAfter, s.nudge)
}

// nudge is called by the timer. It sends an RDMA Write of length 0, which the peer's program does
// not notice, and for which no STag is checked (RFC 5041 §5.2).
//
// Linux's siw as a Responder may leave FPDUs unread that arrive within milliseconds of its Reply,
// until more arrive. Both programs would wait then. A word from the peer does not show that siw has
// read anything, because librdmacm sends one at once.
func (s *rsocket) nudge() {
	s.mu.Lock()
	if s.nudges == maxNudges || s.c.isClosed() || s.outErr != nil || s.inErr != nil || s.ends.Peer != rsockets.EndOpen {
		s.mu.Unlock()
		return
	}
	s.nudger.Reset(nudgeAfter << s.nudges)
	s.nudges++
	s.request = rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true, CQ: s.cq}
	s.failLocked(s.driver.Queue(&s.request))
	s.mu.Unlock()
	s.driver.Flush()
}
