package device

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaphdr"
	"github.com/rddp/rddp/internal/ring"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

const (
	postBit     = 1 << 59 // of the numbers of the program's Work Requests
	cellLen     = 8       // bytes that an atomic puts into local memory
	longestPost = 1 << 31 // bytes of a message, as verbs have it
)

// The posts are the Work Requests of Post and PostBatch that have no Completion yet, in their order. The
// Engine's mu guards them. Their Completions come in that order too, although a device may complete
// Reads in an order of their own.
//
//	due ──▶ given ──▶ done ──▶ reported
type posts struct {
	depth int
	ring  ring.Ring[post]
	next  uint64 // the position in ring of the first that the device does not have
	// answers is the number of Reads and atomics that are given and not done.
	answers int
	// cells is memory for what atomics return, one cell for each place of ring. It is nil before the first
	// atomic.
	cells toe.Region
}

// A post is one Work Request.
type post struct {
	request    toe.Request
	local      toe.Segment // if hasLocal
	hasLocal   bool
	fence      bool
	unsignaled bool
	done       bool
	cq         *rdmap.CompletionQueue
	completion rdmap.Completion
}

func (p *post) isAtomic() bool {
	return p.request.Op == toe.OpFetchAdd || p.request.Op == toe.OpCmpSwap
}

func (p *post) isAnswered() bool { return p.request.Op == toe.OpRead || p.isAtomic() }

// Post adds wr to what is under way, and does not wait. The memory of its Data must be that of a Region of
// the device, and is the connection's until the Completion.
func (e *Engine) Post(wr *rdmap.WorkRequest) error {
	err := e.enqueue(wr)
	if err == nil {
		e.flush()
	}
	return err
}

// PostBatch posts wrs in order, as far as mayPost and Post permit, and returns their number.
func (e *Engine) PostBatch(wrs []rdmap.WorkRequest, mayPost func(*rdmap.WorkRequest) error) (n int, err error) {
	for n < len(wrs) && err == nil {
		if err = mayPost(&wrs[n]); err == nil {
			err = e.enqueue(&wrs[n])
		}
		if err == nil {
			n++
		}
	}
	e.flush()
	return n, err
}

// enqueue adds wr to the posts.
func (e *Engine) enqueue(wr *rdmap.WorkRequest) error {
	p, err := e.postOf(wr)
	if err != nil {
		return err
	}
	cq, qpNum := e.link.Completions()
	if p.cq == nil {
		p.cq = cq
	}
	p.completion.QPNum = qpNum
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.m.mayWrite(); err != nil {
		return err
	}
	if p.isAtomic() && e.posts.cells == nil {
		if e.posts.cells, err = e.cfg.Device.NewRegion(e.posts.depth*cellLen, 0); err != nil {
			return err
		}
	}
	err = e.posts.add(p)
	e.m.posted = e.posts.ring.Len()
	return err
}

// postOf returns what wr asks for. The error is for what is wrong with wr itself, or what the device lacks.
func (e *Engine) postOf(wr *rdmap.WorkRequest) (p post, err error) {
	p = post{
		request: toe.Request{Key: uint32(wr.Remote.STag), Addr: wr.Remote.TO},
		fence:   wr.Fence, unsignaled: wr.Unsignaled, cq: wr.CQ, completion: rdmap.Completion{ID: wr.ID, Op: wr.Op},
	}
	switch wr.Op {
	case rdmap.WorkSend:
		p.request.Op = toe.OpSend
	case rdmap.WorkWrite:
		p.request.Op = toe.OpWrite
	case rdmap.WorkRead:
		p.request.Op = toe.OpRead
	case rdmap.WorkFetchAdd:
		p.request.Op, p.request.Add = toe.OpFetchAdd, wr.Operand
	case rdmap.WorkCmpSwap:
		p.request.Op, p.request.Compare, p.request.Swap = toe.OpCmpSwap, wr.Compare, wr.Operand
	case rdmap.WorkSendInvalidate, rdmap.WorkSwap, rdmap.WorkImmediate:
		return p, lacks(wr.Op.String())
	default:
		return p, fmt.Errorf("%w: %v", rdmap.ErrBadRequest, wr.Op)
	}
	switch {
	case !e.cfg.Device.Can(p.request.Op):
		return p, lacks(wr.Op.String())
	case wr.Inline, wr.Solicited, wr.Mask != 0, wr.CompareMask != 0:
		return p, lacks("Inline, Solicited, Mask and CompareMask")
	case p.isAtomic() && (len(wr.Data) > 0 || len(wr.Gather) > 0), len(wr.Gather) > 0 && (wr.Data != nil || p.isAnswered()):
		return p, fmt.Errorf("%w: %v with that memory", rdmap.ErrBadRequest, wr.Op)
	case p.isAtomic() && wr.Remote.TO%cellLen != 0:
		return p, ddp.ErrMisaligned
	}
	data := wr.Data
	for _, piece := range wr.Gather {
		if len(data) > 0 && len(piece) > 0 {
			return p, lacks("a gather list of several pieces")
		}
		if len(piece) > 0 {
			data = piece
		}
	}
	if int64(len(data)) > longestPost {
		return p, rdmap.ErrMessageTooLong
	}
	if len(data) > 0 {
		p.hasLocal = true
		p.local, err = e.link.Locate(data)
	}
	p.completion.Len = uint32(len(data))
	return p, err
}

func lacks(what string) error { return fmt.Errorf("%s on a device: %w", what, errors.ErrUnsupported) }

// add adds p, if there is room for it and for its Completion.
func (s *posts) add(p post) error {
	switch {
	case s.ring.Len() >= s.depth:
		return rdmap.ErrQueueFull
	case !p.cq.Reserve():
		return rdmap.ErrCompletionQueueFull
	}
	at := s.ring.Tail()
	p.request.ID = postBit | at
	if p.isAtomic() {
		p.local, p.hasLocal = toe.Segment{Region: s.cells, Off: int(at%uint64(s.depth)) * cellLen, Len: cellLen}, true
	}
	*s.ring.Push() = p
	return nil
}

// areDue reports whether there are some that the device does not have.
func (s *posts) areDue() bool { return s.next != s.ring.Tail() }

// give returns the next that the device is to have, unless a fence holds it back.
func (s *posts) give() (p post, ok bool) {
	if !s.areDue() {
		return p, false
	}
	first := s.ring.At(s.next)
	if first.fence && s.answers > 0 {
		return p, false
	}
	s.next++
	if first.isAnswered() {
		s.answers++
	}
	return *first, true
}

// owns reports whether a completion is that of a post.
func (s *posts) owns(c *toe.Completion) bool { return c.ID>>59 == postBit>>59 }

// completed notes a completion. It returns why the connection ends if the post has failed. What was not
// carried out because the connection had ended waits for the reason: see flush.
func (s *posts) completed(c *toe.Completion) error {
	at := c.ID &^ postBit
	if at < s.ring.Head() || at >= s.next || s.ring.At(at).done {
		return errCompletion
	}
	if f, ok := c.Err.(interface{ Flushed() bool }); ok && f.Flushed() { //nolint:errorlint // as toe.Completion has it
		return nil
	}
	p := s.ring.At(at)
	p.done = true
	if p.isAnswered() {
		s.answers--
	}
	switch {
	case c.Err != nil:
		p.completion.Status, p.completion.Err, p.completion.Len = rdmap.StatusGeneral, c.Err, 0
	case p.isAtomic():
		p.completion.Original = binary.NativeEndian.Uint64(s.cells.Bytes()[p.local.Off:])
	}
	for s.ring.Len() > 0 && s.ring.First().done {
		s.report()
	}
	return c.Err
}

// report takes the oldest from the ring, and tells its Completion.
func (s *posts) report() {
	p := s.ring.First()
	if p.unsignaled && p.completion.Err == nil {
		p.cq.Fill(nil)
	} else {
		p.cq.Fill(&p.completion)
	}
	s.ring.Pop()
}

// flush ends all because of reason. The queue pair is closed, so their memory is the program's again.
func (s *posts) flush(reason error) {
	for s.ring.Len() > 0 {
		if p := s.ring.First(); !p.done {
			p.completion.Status, p.completion.Err, p.completion.Len = rdmap.StatusFlushed, reason, 0
		}
		s.report()
	}
	s.next, s.answers = s.ring.Tail(), 0
	if s.cells != nil {
		_ = s.cells.Close() // otherwise the device keeps the memory
	}
}

// give gives the device the next post, if there is one that it may have.
//
// +checklocks:e.posting
func (e *Engine) give() (given bool, err error) {
	e.mu.Lock()
	ok := false
	if e.m.maySend() {
		e.giving, ok = e.posts.give()
	}
	e.mu.Unlock()
	switch p := &e.giving; {
	case !ok:
		return false, nil
	case p.request.Op == toe.OpSend:
		e.count.Sent.Message(rdmaphdr.Control(rdmaphdr.OpSend))
		fallthrough
	default:
		if !p.hasLocal {
			return true, e.link.QP.Post(p.request)
		}
		return true, e.link.QP.Post(p.request, p.local)
	}
}

// postCompleted notes a completion, if it is that of a post.
//
// +checklocks:e.mu
func (e *Engine) postCompleted(c *toe.Completion) bool {
	if !e.posts.owns(c) {
		return false
	}
	if err := e.posts.completed(c); err != nil {
		e.m.end(err)
	}
	e.m.posted = e.posts.ring.Len()
	e.m.settle()
	return true
}
