package extsock

import (
	"fmt"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/bytestream/rsockets"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/rdmap"
)

// speaksRSockets reports whether the connection may speak rsockets.
func (c *Conn) speaksRSockets() bool {
	return c.cfg.RSockets && !c.cfg.Messages && c.ownsReceives()
}

// requestRSockets makes o the offer of an Initiator that speaks rsockets.
func (o *offer) requestRSockets(c *Conn) error {
	// Like librdmacm, which needs one Read at the most, for its Ready to Receive indication.
	o.IRD, o.ORD = 0, 1
	return o.addRSocket(c, false)
}

// requested reads the header in the Reply to an offer of requestRSockets.
func (s *rsocket) requested(reply []byte) error {
	h, err := rsockets.ParseHeader(reply)
	if err == nil && h.BigEndian {
		err = errOtherOrder
	}
	s.peer = h
	return err
}

// acceptRSockets makes o the answer to a Request with the private data of rsockets, if the
// connection may speak rsockets. Other peers are served as without Config.RSockets.
func (o *offer) acceptRSockets(c *Conn, peer *startup.Peer) error {
	if peer.IsRDDP || !c.speaksRSockets() {
		return nil
	}
	h, err := rsockets.ParseHeader(peer.PrivateData)
	if err != nil {
		return nil //nolint:nilerr // a foreign peer that sends messages
	}
	if err = o.addRSocket(c, h.BigEndian); err == nil {
		o.rsocket.peer = h
	}
	return err
}

// addRSocket prepares c for rsockets, and makes the private data of its Request or Reply. bigEndian
// is the byte order that the private data announces.
func (o *offer) addRSocket(c *Conn, bigEndian bool) error {
	half := rsockets.HalfLen(c.cfg.recvSize())
	h := rsockets.Header{BigEndian: bigEndian, Credits: rsocketCredits}
	s := &rsocket{
		inProcess: inProcess{here: here{c}}, order: h.Order(), memory: make([]byte, 2*half), rx: *rsockets.NewReceiver(half, rsocketCredits),
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
		return err
	}
	h.Slots = s.slots.Handle()
	h.Slots.Len = rsockets.Slots
	if h.Buffer, err = s.lendLocked(0); err != nil {
		s.slots.Deregister()
		return err
	}
	o.rsocket, o.PrivateData = s, h.AppendTo(nil)
	return nil
}

// drop undoes addRSocket when startup has not led to rsockets.
func (s *rsocket) drop() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.halves[0].Deregister()
	s.slots.Deregister()
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

// begin makes the driver of a connection that speaks rsockets, and begins the stream. The
// Initiator's first word lets the Responder send.
func (s *rsocket) begin(cfg driver.Config) {
	cfg.Receive = &driver.ReceiveConfig{Depth: wordDepth, Size: rsockets.WordLen, Words: true}
	d := driver.New(cfg)
	s.c.readDeadline.Then(d)
	s.c.writeDeadline.Then(d) // a Write may receive
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Driver, s.tx = d, *rsockets.NewSender(s.peer)
	s.tellLocked()
}

// Start starts the driver. From now on an Initiator nudges its peer.
func (s *rsocket) Start(owner counters.Owner) {
	s.Driver.Start(owner)
	if !s.c.initiator {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nudger = time.AfterFunc(nudgeAfter, s.nudge)
}

// nudge runs when the timer fires. It sends an RDMA Write of length 0, which the peer's program
// does not notice, and for which no STag is checked (RFC 5041 §5.2).
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
	s.failLocked(s.Driver.Queue(&s.request))
	s.mu.Unlock()
	s.Driver.Flush()
}
