package extsock

import (
	"encoding/binary"
	"fmt"
	"math"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock/internal/bufpool"
	"github.com/rddp/rddp/rdmap"
)

// The rendezvous moves a large Write from the writer's memory to the reader's by RDMA Write, with no copy at
// either end and no buffer in between:
//
//	writer ── offer: how many octets ──────────▶ a Read waits, or none
//	       ◀── grant: handle of its memory ─────
//	       ── RDMA Writes, done: how many ─────▶ it returns
//
//	message  octets behind the header
//	offer    Length (4)
//	grant    Handle (16), whose length is at most the offer's; 0 means: send it as data
//	done     Length (4) of what has been placed, in order from the first octet on
//	cancel   none
//
// The receiving side answers an offer at once, without its program: it grants the memory of a Read that waits for
// the next octet, and refuses where none does. So a Write never waits longer than it would have to as data, and two
// ends that both write first do not wait for each other.
//
// A writer offers one Write at a time and sends nothing else meanwhile, so there is one offer, one grant, and at most
// one done or cancel for it. After a cancel, which a grant may cross, it offers no more.

// smallGrant is the length in octets of a Read's memory below which a grant is not worth it.
const smallGrant = 32 << 10

// maxGrant is the length in octets of the longest grant. When the Read is over before the Write, all of the grant is copied
// to memory of the connection, with the inbox and the Region locked: the Read's deadline and Close wait for that copy. It is
// not shorter than any crossover, so a longer Write goes on with the next offer.
const maxGrant = maxCrossover

// maxOffer is the length in octets of the longest offer.
const maxOffer = 1 << 30

// writePiece is the length in octets of one RDMA Write of a rendezvous: what may have to be copied when a
// Write's time is over is no more than a few of them.
const writePiece = 1 << 20

// An offering is the writer's side of the rendezvous.
type offering struct {
	open    bool // an offer is out, and no done or cancel posted
	granted bool
	grant   rdmap.Handle
	doneID  uint64 // the slot of the last done
	off     bool   // no offers any more
	stale   bool   // a grant has come that had crossed a cancel
	close   kind   // the end of the offer that is still to be posted; 0 if none
	placed  int    // for a done
}

// writeOffered writes p by rendezvous as far as the reader goes along; the rest is data.
func (s *byteStream) writeOffered(p []byte, crossover int, over <-chan struct{}) (n int, err error) {
	for n < len(p) {
		k := min(len(p)-n, maxOffer)
		m, err := s.offer(p[n:n+k], over)
		n += m
		if err == errDeadline && n == len(p) { //nolint:errorlint // as await returns it
			return n, nil // as in writeLong
		}
		if err != nil {
			return n, err
		}
		if m < crossover { // the reader does not wait, or not for much
			break
		}
	}
	if n == len(p) {
		return n, nil
	}
	m, err := s.writeLong(p[n:], over)
	return n + m, err
}

// offer offers p and writes what is granted of it.
func (s *byteStream) offer(p []byte, over <-chan struct{}) (n int, err error) {
	if err := s.openOffer(len(p), over); err != nil {
		return 0, err
	}
	grant, err := s.awaitGrant(over)
	if err != nil || grant.Len == 0 {
		return 0, err
	}
	p = p[:min(uint64(len(p)), uint64(grant.Len))]
	for posted := false; ; {
		s.mu.Lock()
		err := s.errLocked()
		if err == nil && !posted {
			m, ok := s.postWritesLocked(p[n:], grant, n)
			n += m
			posted = ok && s.closeOfferLocked(kindDone, n)
		}
		owns := s.own > 0
		s.mu.Unlock()
		if err != nil {
			return s.withdraw(n), err
		}
		s.p.transmit()
		if posted && !s.owns() {
			return n, nil
		}
		if err := s.await(over, owns); err != nil {
			return s.withdraw(n), err
		}
	}
}

// openOffer posts an offer of n octets behind what is pending.
func (s *byteStream) openOffer(n int, over <-chan struct{}) error {
	for {
		s.mu.Lock()
		err := s.errLocked()
		posted := false
		if err == nil && (s.pending == nil || s.postPendingLocked()) && s.mayPostLocked(reserve) {
			length := binary.BigEndian.AppendUint32(s.scratch[:0], uint32(n))
			if posted = s.postCountedLocked(header{kind: kindOffer}, length); posted {
				s.offering.open, s.offering.granted = true, false
				s.p.count.offers.Add(1)
			}
		}
		s.mu.Unlock()
		if err != nil {
			return err
		}
		s.p.transmit()
		if posted {
			return nil
		}
		if err := s.await(over, false); err != nil {
			return err
		}
	}
}

// awaitGrant waits for the answer to the offer. After an error the offer is cancelled.
func (s *byteStream) awaitGrant(over <-chan struct{}) (grant rdmap.Handle, err error) {
	for {
		s.mu.Lock()
		o := &s.offering
		if o.granted {
			grant = o.grant
			if grant.Len == 0 {
				o.open = false
			}
			s.mu.Unlock()
			return grant, nil
		}
		err = s.errLocked()
		s.mu.Unlock()
		if err == nil {
			err = s.await(over, false)
		}
		if err != nil {
			s.withdraw(0)
			return rdmap.Handle{}, err
		}
	}
}

// postWritesLocked posts RDMA Writes of as much of p as there are slots for, to the grant from octet at on. ok is
// false if the send queue is full.
//
// +checklocks:s.mu
func (s *byteStream) postWritesLocked(p []byte, grant rdmap.Handle, at int) (n int, ok bool) {
	for n < len(p) {
		if !s.hasSlotLocked() {
			return n, false
		}
		k := min(len(p)-n, writePiece)
		*s.nextLocked() = slot{own: true, n: k, write: true}
		s.request = rdmap.WorkRequest{
			ID: s.tail, Op: rdmap.WorkWrite, CQ: s.cq, Data: p[n : n+k],
			Remote: rdmap.Handle{STag: grant.STag, TO: grant.TO + uint64(at+n), Len: uint32(k)},
		}
		err := s.p.qp.PostSend(&s.request)
		s.request.Data = nil // as in postLocked
		if err != nil {
			*s.at(s.tail) = slot{}
			s.stuck = true
			return n, false
		}
		s.tail++
		s.own++
		n += k
	}
	return n, true
}

// closeOfferLocked posts the end of the offer.
//
// +checklocks:s.mu
func (s *byteStream) closeOfferLocked(k kind, n int) bool {
	var length []byte
	if k == kindDone {
		length = binary.BigEndian.AppendUint32(s.scratch[:0], uint32(n))
	}
	s.offering.doneID = s.tail
	posted := false
	switch {
	case k == kindCancel && s.hasSlotLocked():
		posted = s.postLocked(header{kind: k}, nil, nil)
	case k == kindDone && s.mayPostLocked(reserve):
		posted = s.postCountedLocked(header{kind: k}, length)
	}
	if !posted {
		return false
	}
	s.offering.open = false
	s.p.count.rendezvous.Add(uint64(n))
	return true
}

// withdraw ends an offer whose Write is over, n octets of which have been posted. It returns how many of them go
// out nevertheless.
func (s *byteStream) withdraw(n int) int {
	s.mu.Lock()
	if !s.offering.open && s.own > 0 { // the done is to be corrected, if it has not been given out
		s.p.qp.Cancel(s.cq, s.offering.doneID)
		s.reapLocked()
	}
	s.mu.Unlock()
	n -= s.takeBack()
	s.mu.Lock()
	if s.offering.open { // else done is on its way
		s.offering.off = true
		if n > 0 {
			s.offering.close = kindDone
		} else {
			s.offering.close = kindCancel
		}
		s.offering.placed = n
		s.postCloseLocked()
	}
	s.mu.Unlock()
	s.p.transmit()
	return n
}

// closeDueLocked reports whether such an end can be posted.
//
// +checklocks:s.mu
func (s *byteStream) closeDueLocked() bool {
	switch s.offering.close {
	case kindDone:
		return s.mayPostLocked(reserve)
	case kindCancel:
		return s.hasSlotLocked()
	}
	return false
}

// postCloseLocked posts the end of an offer that nobody waits for. Where there is no room it is tried again as
// soon as something has gone out, see closeDueLocked.
//
// +checklocks:s.mu
func (s *byteStream) postCloseLocked() bool {
	o := &s.offering
	if o.close == 0 || !s.closeOfferLocked(o.close, o.placed) {
		return false
	}
	o.close = 0
	return true
}

// A granted is the reader's side of a rendezvous: the memory that the peer may write to.
type granted struct {
	region *ddp.Region
	placed uint64         // octets from the first on that Writes have brought
	chunk  *bufpool.Chunk // what the peer writes to since the Read is over; nil while it is the Read's memory
}

// grantDueLocked reports whether a grant is to be posted.
//
// +checklocks:s.mu
func (s *byteStream) grantDueLocked() bool { return s.hasGrant && s.mayPostLocked(0) }

// rendezvous takes in a message that is no data.
func (s *byteStream) rendezvous(k kind, body []byte) error {
	want := [...]int{kindOffer: 4, kindGrant: rdmap.HandleLen, kindDone: 4, kindCancel: 0}[k]
	if len(body) != want {
		return fmt.Errorf("%w: kind %d with %d octets", ErrStream, k, len(body))
	}
	switch k {
	case kindOffer:
		return s.answer(binary.BigEndian.Uint32(body))
	case kindDone:
		return s.in.done(binary.BigEndian.Uint32(body))
	case kindCancel:
		return s.in.cancelled()
	}
	return s.grantReceived(body)
}

// answer grants the memory of a Read that waits to an offer of n octets, or refuses it.
func (s *byteStream) answer(n uint32) error {
	v := &s.c.verbs
	region, err := s.in.offered(n, func(p []byte) (*ddp.Region, error) { return v.domain.Register(p, ddp.RemoteWrite, v.stream) })
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.hasGrant, s.toGrant = true, rdmap.Handle{}
	if region != nil {
		s.toGrant = rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: uint32(region.Len())}
	}
	return nil
}

func (s *byteStream) grantReceived(body []byte) error {
	h, _, err := rdmap.ParseHandle(body)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &s.offering
	switch {
	case o.open && !o.granted && o.close == 0:
		o.granted, o.grant = true, h
		signalOne(s.room)
	case !o.off || o.stale: // only a grant that has crossed a cancel has no offer, and only one
		return fmt.Errorf("%w: grant without an offer", ErrStream)
	default:
		o.stale = true
	}
	return nil
}

// A choice is which way large Writes go, by how long they have taken: a rendezvous saves a copy and costs a round
// trip, and which of them is dearer depends on whether the reader waits.
type choice struct {
	writes int
	cost   [2]float64 // of data and rendezvous: ns per octet, a moving average
}

// explore is after how many Writes the way that is worse is tried again.
const explore = 32

// next says which way the next Write goes.
func (c *choice) next() (offered bool) {
	c.writes++
	switch {
	case c.writes <= 4:
		return c.writes%2 == 0
	case c.writes%explore == 0:
		return c.cost[1] >= c.cost[0]
	}
	return c.cost[1] < c.cost[0]
}

// took notes what a Write has cost.
func (c *choice) took(offered bool, d time.Duration, n int) {
	i := 0
	if offered {
		i = 1
	}
	cost := float64(d) / float64(n)
	if c.cost[i] == 0 {
		c.cost[i] = cost
	}
	c.cost[i] += (cost - c.cost[i]) / 4
}

// crossovers holds what was measured, by the peer's host.
var crossovers = struct {
	mu sync.Mutex
	m  map[string]int // +checklocks:mu
}{m: make(map[string]int)}

const (
	maxCrossovers = 1024 // hosts
	minCrossover  = 64 << 10
	maxCrossover  = 64 << 20
)

// crossover returns the length in octets from which a Write in DDP mode may be placed in the reader's
// memory by a rendezvous. It is 0 while that has not been measured, and negative for never. It is
// Config.Crossover if that is set. Otherwise it weighs what copying costs here against a round trip to
// the peer's host, as measured at the first long Write. A Write of that length still goes the way that
// has been faster on this connection.
func (c *Conn) crossover() int {
	if v := c.config().Crossover; v != 0 {
		return v
	}
	crossovers.mu.Lock()
	defer crossovers.mu.Unlock()
	return crossovers.m[hostOf(c.RemoteAddr())]
}

// hostOf returns the host of an address, or "" for a connection that does not know its peer's.
func hostOf(a net.Addr) string {
	if a == nil {
		return ""
	}
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// measureCrossover finds the crossover towards the peer's host: the octets that are copied in the time of a round
// trip.
func (c *Conn) measureCrossover(over <-chan struct{}) (int, error) {
	if c.ord() == 0 {
		return -1, nil
	}
	round := time.Duration(math.MaxInt64)
	for range 3 {
		begin := time.Now()
		// A Read of nothing, which the peer answers without its program.
		if _, err := c.do(&rdmap.WorkRequest{Op: rdmap.WorkRead, Remote: rdmap.Handle{STag: 1}}, over, nil); err != nil {
			return 0, err
		}
		round = min(round, time.Since(begin))
	}
	n := int(min(float64(round.Nanoseconds())*copySpeed(), maxCrossover))
	n = max(n, minCrossover)
	crossovers.mu.Lock()
	defer crossovers.mu.Unlock()
	if len(crossovers.m) >= maxCrossovers {
		clear(crossovers.m)
	}
	crossovers.m[hostOf(c.RemoteAddr())] = n
	return n, nil
}

// copySpeed is what this machine copies, in octets per nanosecond.
var copySpeed = sync.OnceValue(func() float64 {
	from, to := make([]byte, 1<<20), make([]byte, 1<<20)
	best := time.Duration(math.MaxInt64)
	for range 4 {
		begin := time.Now()
		copy(to, from)
		best = min(best, time.Since(begin))
	}
	return float64(len(to)) / float64(max(best, 1))
})
