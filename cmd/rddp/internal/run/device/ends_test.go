package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// This file has a queue pair for tests that is nothing but its values: a life, an outgoing and an
// incoming. It has no goroutine, no memory and no clock: what goroutines and timers would do, it
// does when it is told to, one step at a time.

// A packet is what one end sends to the other one.
type packet struct {
	kind    packetKind
	frame   frame
	payload []byte
	id      uint64  // of the work request, if it is a Write or a question
	flight  *flight // of the Read, for its answer
	wrong   bool    // the peer's memory does not allow it
	how     connectionEnd
}

type packetKind uint8

const (
	packetFrame packetKind = iota
	packetWrite
	packetQuestion
	packetAnswer
	packetEnd
)

// A wish is a work request of a test's program.
type wish struct {
	id     uint64
	op     uverbs.WCOp
	pieces int  // of a Send: how many frames
	imm    bool // a Write with immediate data
	local  bool // wrong at this end
	remote bool // refused by the other end
}

// A half is one end's half of a connection.
type half struct {
	e          *testEnd
	peer       *half
	out        outgoing
	in         incoming
	wire       []packet // to the peer
	shut       bool     // this end sends nothing more
	ended      bool     // this end reads nothing more
	discards   bool     // what comes to this end's memory does not get there
	active     *flight  // the work request that is being sent
	wish       wish     // it
	left       int      // pieces of it
	unnumbered []*flight
	asked      uint32   // the last frame that asked for an acknowledgement
	rnr        []uint32 // the frames whose RNR timers may still fire
	late       bool     // the timer of acknowledgements runs
	refusing   func()   // what to do once the answers have left
	filled     uint64   // what comes to the present receive
}

// A task is what a goroutine would do, step by step. A step that returns false comes again.
type task []func() bool

// A testEnd is a queue pair and its program.
type testEnd struct {
	name     string
	v        life
	h        *half  // the link; nil if there is none
	last     *half  // the half of the last link
	settling bool   // work requests of the last link have not completed
	timer    uint64 // a wait
	missed   func() // what happens once the peer has been missed for long enough
	tasks    []task
	command  bool // the program waits for a command
	now      time.Time

	sq        []wish
	recvs     []uint64
	posted    []wish            // of this life, in order
	results   []uverbs.WCStatus // theirs, as far as they have completed
	failed    bool              // one of the results is no success
	recvsEver uint64
	recvsOver uint64          // how many receives have completed
	received  []uint64        // Sends and immediate data of the peer
	done      map[uint64]bool // Writes and questions of the peer
	answered  map[uint64]bool // Reads of this end
	wrong     error
}

// blame notes what a test has found.
func (e *testEnd) blame(format string, args ...any) {
	if e.wrong == nil {
		e.wrong = fmt.Errorf("%s: %w", e.name, fmt.Errorf(format, args...))
	}
}

// goes has a goroutine do something.
func (e *testEnd) goes(t task) { e.tasks = append(e.tasks, t) }

// complete is a completion of the send queue.
func (e *testEnd) complete(id uint64, s uverbs.WCStatus) {
	n := len(e.results)
	if n >= len(e.posted) || e.posted[n].id != id {
		e.blame("work request %d completes, after %d", id, n)
		return
	}
	w := e.posted[n]
	e.results = append(e.results, s)
	if s != uverbs.Success {
		if e.failed = true; e.v.attrs.State != uverbs.Err && e.v.attrs.State != uverbs.Reset {
			e.blame("work request %d fails in %v", id, e.v.attrs.State)
		}
		return
	}
	peer := e.last.peer.e
	switch {
	case e.failed:
		e.blame("work request %d has success behind a failure", id)
	case w.local, w.remote:
		e.blame("work request %d is wrong, and has success", id)
	case w.op == uverbs.WCRead && !e.answered[id]:
		e.blame("Read %d has success without its answer", id)
	case w.op == uverbs.WCWrite && !peer.done[id]:
		e.blame("Write %d has success, and has not come", id)
	case (w.op == uverbs.WCSend || w.imm) && !slices.Contains(peer.received, id):
		e.blame("Send %d has success, and was not received", id)
	}
}

// completeRecv is a completion of the receive queue.
func (e *testEnd) completeRecv(id uint64) {
	if e.recvsOver++; id != e.recvsOver {
		e.blame("receive %d completes as number %d", id, e.recvsOver)
	}
}

func (h *half) send(p packet) {
	if !h.shut {
		h.wire = append(h.wire, p)
	}
}

func (h *half) say(f frame) { h.send(packet{frame: f}) }

// A half has the hands of its incoming.

func (h *half) take() (*inbound, uverbs.WCStatus) {
	if len(h.e.recvs) == 0 {
		return nil, uverbs.Success
	}
	id := h.e.recvs[0]
	h.e.recvs = h.e.recvs[1:]
	return &inbound{id: id}, uverbs.Success
}

func (h *half) place(_ *inbound, payload []byte) error {
	h.filled = binary.BigEndian.Uint64(payload)
	if payload[8] != 0 {
		return errLocalLength
	}
	return nil
}

func (h *half) invalidates(uint32) bool { return true }

func (h *half) complete(m *inbound, f frame) {
	h.e.completeRecv(m.id)
	id := h.filled
	if f.kind == frameWritten {
		id = uint64(binary.BigEndian.Uint32(f.immediate[:]))
	}
	if n := len(h.e.received); n > 0 && h.e.received[n-1] >= id {
		h.e.blame("what was %d comes behind %d", id, h.e.received[n-1])
	}
	h.e.received = append(h.e.received, id)
}

func (h *half) acknowledge() { h.late = !h.in.asked(h.out.isIdle(), h.e.now, h) || h.late }

func (h *half) refuse(ours, theirs uverbs.WCStatus) {
	h.refusing = func() { h.in.refused(ours, theirs, h) }
}

func (h *half) fail(m *inbound, status uverbs.WCStatus) {
	h.e.completeRecv(m.id)
	h.out.ends()
	h.e.goes(h.e.fails(h, uverbs.FlushErr))
}

// unlink is unlinkLocked.
func (e *testEnd) unlink() (h *half) {
	h, e.h, e.timer, e.missed = e.h, nil, 0, nil
	return h
}

// fails is queuePair.fail.
func (e *testEnd) fails(of *half, status uverbs.WCStatus) task {
	var h *half
	var number uint64
	failed := false
	return task{
		func() bool {
			if of != nil && e.h != of || !e.v.fails() {
				return true
			}
			failed, number = true, e.v.number
			h = e.unlink()
			e.settling = e.settling || h != nil
			return true
		},
		func() bool { return h == nil || h.closes(true) },
		func() bool { return h == nil || e.ends(h, status) },
		func() bool { return !e.settling },
		func() bool {
			if failed && e.v.number == number {
				e.look()
				e.flushRecvs()
			}
			return true
		},
	}
}

// closes is receiver.close.
func (h *half) closes(flush bool) bool {
	if m := h.in.closes(); m != nil && flush {
		h.e.completeRecv(m.id)
	} else if m != nil {
		h.e.recvsOver++ // it is forgotten
	}
	h.late, h.discards = false, true
	return true
}

// ends is link.end behind that. The two steps of settle are one: both have sendMu.
func (e *testEnd) ends(h *half, status uverbs.WCStatus) bool {
	culprit, front, failures := h.out.culprit, true, 0
	for _, f := range h.out.settles(status) {
		if front = front && f != culprit; front && culprit != nil && f.status == uverbs.FlushErr && h.peer.has(f) {
			e.blame("the peer has got %d, which gets %v", f.id, f.status)
		}
		front = front && f.status == uverbs.Success
		if f.status != uverbs.Success && f.status != uverbs.FlushErr {
			failures++
		}
		e.complete(f.id, f.status)
	}
	if failures > 1 {
		e.blame("%d work requests fail by themselves", failures)
	}
	h.active, h.unnumbered = nil, nil
	e.settling = false
	e.v.settled()
	h.bye()
	return true
}

// has reports whether a Send or a Write of the peer has come.
func (h *half) has(f *flight) bool {
	return slices.Contains(h.e.received, f.id) || f.isWrite && h.e.done[f.id]
}

func (h *half) bye() {
	h.say(frame{kind: frameAck, number: h.in.consumed})
	h.say(frame{kind: frameBye})
}

// loses is queuePair.lose.
func (e *testEnd) loses(of *half) task {
	var h *half
	return task{
		func() bool {
			if e.h == of {
				e.v.loses()
				h = e.unlink()
				e.settling = true
			}
			return true
		},
		func() bool { return h == nil || h.closes(true) },
		func() bool { return h == nil || e.ends(h, uverbs.RetryExceeded) },
		func() bool { e.look(); return true },
	}
}

// resets is queuePair.reset.
func (e *testEnd) resets() task {
	e.command = true
	var h *half
	return task{
		func() bool {
			e.v.resets()
			if h = e.unlink(); h != nil {
				h.active, h.unnumbered = nil, nil
			}
			e.sq = nil
			return true
		},
		func() bool { return h == nil || h.closes(false) },
		func() bool {
			if h != nil {
				wasOver := h.out.state == outOver
				h.out.leaves()
				if wasOver {
					h.shuts(endOrderly)
				} else {
					h.bye()
				}
			}
			return true
		},
		func() bool { return !e.settling },
		func() bool {
			e.recvsOver += uint64(len(e.recvs))
			e.recvs, e.posted, e.results, e.failed = nil, nil, nil, false
			e.v.left()
			e.command = false
			return true
		},
	}
}

// toErr is the program's command.
func (e *testEnd) toErr() task {
	e.command = true
	return append(e.fails(nil, uverbs.FlushErr),
		func() bool { return !e.settling },
		func() bool { e.command = false; return true })
}

// shuts ends what this end sends.
func (h *half) shuts(how connectionEnd) {
	h.send(packet{kind: packetEnd, how: how})
	h.shut = true
}

// ends is link.receive behind the end of the connection.
func (h *half) ends(how connectionEnd, blamed *flight) {
	e := h.e
	h.ended = true
	if h.shuts(endOrderly); how == endOurs {
		h.refusing = nil
	}
	var v verdict
	e.goes(task{
		func() bool { v = h.out.ended(how, false); return true },
		func() bool {
			switch v {
			case verdictRefused, verdictOurs, verdictLeft, verdictFails:
				if v == verdictFails && blamed != nil {
					h.out.blames(blamed)
				}
				e.goes(e.fails(h, uverbs.RemoteOpErr))
			case verdictMiss:
				if e.h == h {
					e.v.misses()
					e.missed = func() { h.gone() }
				}
			case verdictGone:
				h.gone()
			}
			return true
		},
	})
}

// gone is link.gone.
func (h *half) gone() {
	if h.out.goes() {
		h.e.goes(h.e.loses(h))
	} else {
		h.e.goes(h.e.fails(h, uverbs.RetryExceeded))
	}
}

// flushRecvs is flushReceives.
func (e *testEnd) flushRecvs() {
	for _, id := range e.recvs {
		e.completeRecv(id)
	}
	e.recvs = nil
}

// advances is advanceLocked.
func (h *half) advances(err error) bool {
	if err != nil {
		if !errors.Is(err, errFrame) {
			panic(err)
		}
		h.e.blame("a wrong frame of an honest peer: %w", err)
		return false
	}
	h.retires()
	return true
}

// retires is retireLocked.
func (h *half) retires() {
	for f := h.out.front(); f != nil; f = h.out.front() {
		if !h.out.retires() {
			h.e.goes(h.e.fails(h, f.status))
			return
		}
		h.e.complete(f.id, uverbs.Success)
	}
}

// refuses is refuseLocked.
func (h *half) refuses(number uint32, status uverbs.WCStatus) {
	f := h.out.of(number)
	if f == nil {
		h.e.goes(h.e.fails(h, status))
		return
	}
	h.out.refuses(f, status, "refused")
	h.retires()
}
