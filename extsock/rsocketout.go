package extsock

import (
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream/rsockets"
	"github.com/rddp/rddp/rdmap"
)

// An outgoing is a message on its way to TCP: the word, and what the RDMA Write before it carries.
type outgoing struct {
	word  [rsockets.WordLen]byte
	slot  [rsockets.SlotLen]byte
	chunk *bufpool.Chunk // of data
}

// tellLocked tells the peer what it may send, if that is due.
//
// +checklocks:s.mu
func (s *rsocket) tellLocked() {
	s.reapLocked()
	for s.outErr == nil && s.rx.Due() && s.tail-s.head < maxOut-outEnds {
		limit, grants, half := s.rx.Update()
		e := s.nextLocked()
		w := rsockets.NewWord(rsockets.OpCredits, uint32(limit))
		if !grants {
			s.queueLocked(e, rdmap.Handle{}, nil, w)
			continue
		}
		h, err := s.lendLocked(half)
		if err != nil {
			s.failLocked(err)
			return
		}
		rsockets.PutSlot(s.order, e.slot[:], h)
		s.queueLocked(e, s.tx.Slot(), e.slot[:], w)
	}
}

// nextLocked returns the next place in out, for which there is room.
//
// +checklocks:s.mu
func (s *rsocket) nextLocked() *outgoing { return &s.out[s.tail%maxOut] }

// queueLocked queues the message e: a Write of payload, if there is any, and the word. unlock sends
// it.
//
// +checklocks:s.mu
func (s *rsocket) queueLocked(e *outgoing, to rdmap.Handle, payload []byte, w rsockets.Word) {
	if s.outErr != nil {
		return
	}
	rsockets.PutWord(s.order, e.word[:], w)
	r := &s.request
	if payload != nil {
		*r = rdmap.WorkRequest{Op: rdmap.WorkWrite, ID: s.tail, Data: payload, Remote: to, Unsignaled: true, CQ: s.cq}
		s.failLocked(s.Driver.Queue(r))
	}
	if s.outErr == nil {
		*r = rdmap.WorkRequest{Op: rdmap.WorkSend, ID: s.tail, Data: e.word[:], CQ: s.cq}
		s.failLocked(s.Driver.Queue(r))
	}
	r.Data = nil
	s.tail++
}

// failLocked records why nothing goes out any more, unless err is nil. It keeps the first reason.
//
// +checklocks:s.mu
func (s *rsocket) failLocked(err error) {
	if s.outErr == nil {
		s.outErr = err
	}
}

// unlock releases mu, and sends what has been queued.
//
// +checklocksrelease:s.mu
func (s *rsocket) unlock() {
	queued := s.tail != s.head && s.Driver != nil
	s.mu.Unlock()
	if queued {
		s.Driver.Flush()
	}
}

// reapLocked frees the messages that TCP has taken.
//
// +checklocks:s.mu
func (s *rsocket) reapLocked() {
	for s.cq.Poll(s.done[:]) > 0 {
		d := &s.done[0]
		if d.Op != rdmap.WorkSend { // a Write that has failed; its Send has too, and comes next
			continue
		}
		e := &s.out[d.ID%maxOut]
		if e.chunk != nil {
			s.inFlight -= len(e.chunk.B)
			e.chunk.Put()
			e.chunk = nil
		}
		s.head = d.ID + 1
	}
}
