package softrnic

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// This file has a queue pair for tests that has only its values: a life, an outgoing and an
// incoming. It has no goroutine, no memory and no clock. The tests make the steps that goroutines
// and timers would make, one at a time.

// A packet is a message of one end to the other.
type packet struct {
	kind    packetKind
	frame   frame
	payload []byte
	id      uint64  // of the work request, if it is a Write or a question
	flight  *flight // of the Read, for its answer
	wrong   bool    // the peer's memory does not allow it
	last    bool    // the last piece
	how     connectionEnd
}

type packetKind uint8

const (
	packetFrame packetKind = iota
	packetMessage
	packetWrite
	packetQuestion
	packetAnswer
	packetEnd
)

// isRequest reports whether the end that serves receives the packet.
func (p *packet) isRequest() bool {
	return p.kind == packetWrite || p.kind == packetQuestion || p.kind == packetFrame && p.frame.kind <= frameProbe
}

// A wish is a work request of a test's program.
type wish struct {
	id     uint64
	op     uverbs.SendOp
	n      uint32   // bytes
	local  wishKind // wrong at this end
	remote bool     // refused by the other end
}

// A wishKind says where a work request is wrong.
type wishKind uint8

const (
	wishRight   wishKind = iota
	wishUnknown          // this end does not know it
	wishMemory           // its memory is not registered
)

// wr returns the work request.
func (w *wish) wr() uverbs.SendWR {
	list := binary.LittleEndian.AppendUint32(make([]byte, 8), w.n)
	r := uverbs.SendWR{ID: w.id, Op: w.op, Flags: uverbs.Signaled, SGEs: append(list, make([]byte, 4)...)}
	binary.BigEndian.PutUint32(r.Immediate[:], uint32(w.id))
	return r
}

// isLocal reports whether the work request fails at this end.
func (w *wish) isLocal(k linkKind) bool {
	return w.local != wishRight || k == linkPlain && !isPlain(w.op)
}

// isReceived reports whether the peer's program takes part in it.
func (w *wish) isReceived() bool {
	return w.op == uverbs.OpSend || w.op == uverbs.OpSendInval || w.op == uverbs.OpWriteImm
}

// A half is one end's half of a connection.
type half struct {
	e        *testEnd
	peer     *half
	out      outgoing
	in       incoming
	wire     []packet // to the peer
	kind     linkKind
	shut     bool // this end sends nothing more
	ended    bool // this end reads nothing more
	discards bool // accesses of the peer to this end's memory are discarded
	s        sending
	wish     wish      // that is being sent
	taken    []*flight // of pieces that TCP has taken
	rnr      []uint32  // the frames whose RNR timers may still fire
	late     bool      // the timer of acknowledgements runs
	refusing func()    // what to do once the answers have left
	deaf     bool      // of a self link: what it sends does not reach its end that serves
	patient  bool      // frames in front of something wrong have waited for long enough
	told     bool      // the connection manager knows of the end
	filled   uint64    // bytes that have come to the present receive
}

// A testEnd is a queue pair and its program.
type testEnd struct {
	name     string
	v        life
	h        *half       // the link; nil if there is none
	last     *half       // the half of the last link
	settling bool        // work requests of the last link have not completed
	timer    uint64      // a wait
	flushing uint64      // the number under which receives that are posted later are flushed
	missed   *testEnding // what happens once the peer has been missed for long enough
	tasks    []*testEnding
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

// blame notes the first error that a test has found.
func (e *testEnd) blame(format string, args ...any) {
	if e.wrong == nil {
		e.wrong = fmt.Errorf("%s: %w", e.name, fmt.Errorf(format, args...))
	}
}

// goes starts a goroutine that carries out an end.
func (e *testEnd) goes(x testEnding) {
	x.e = e
	e.tasks = append(e.tasks, &x)
}

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
	case w.isLocal(e.last.kind), w.remote && e.last.kind != linkPlain:
		e.blame("work request %d is wrong, and has success", id)
	case isRead(w.op) && !e.answered[id]:
		e.blame("Read %d has success without its answer", id)
	case e.last.kind == linkPlain: // TCP has taken it
	case w.op == uverbs.OpWrite && !peer.done[id]:
		e.blame("Write %d has success, and has not come", id)
	case w.isReceived() && !slices.Contains(peer.received, id):
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
	if !h.shut && !(h.deaf && p.isRequest()) {
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
	if h.kind == linkSelf {
		return // the refusal is on its way to this queue pair
	}
	h.out.ends()
	h.fails(uverbs.FlushErr)
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
			h.fails(f.status)
			return
		}
		h.e.complete(f.id, uverbs.Success)
	}
}

// refuses is refuseLocked.
func (h *half) refuses(number uint32, status uverbs.WCStatus) {
	f := h.out.of(number)
	if f == nil {
		h.fails(status)
		return
	}
	h.out.refuses(f, status, "refused")
	h.retires()
}
