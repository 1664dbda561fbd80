package device

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/ring"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

const (
	postBit     = 1 << 59 // in the numbers of the program's Work Requests
	wordLen     = 8       // bytes that an atomic puts into local memory
	cellLen     = 256     // bytes; a longer Inline has memory of its own
	longestPost = 1 << 31 // bytes of a message: the limit of verbs
	gatherMost  = 6       // pieces of a gather list: the limit of siw
)

// The posts are the Work Requests of Post and PostBatch that have no Completion yet, in their
// order. The Engine's mu guards them. Their Completions come in that order too, although a device
// may complete Reads in an order of their own.
//
//	due ──▶ given ──▶ done ──▶ reported
type posts struct {
	depth int
	ring  ring.Ring[post]
	next  uint64 // the position in ring of the first that the device does not have
	// answers is the number of Reads and atomics that are given and not done.
	answers int
	// cells is memory for what atomics return and for short Inline payloads, one cell for each
	// place of ring. It is nil before the first of them.
	cells rnic.Region
}

// A post is one Work Request.
type post struct {
	request    rnic.Request
	local      rnic.Segment   // if hasLocal
	more       []rnic.Segment // behind local: the other pieces of a gather list
	hasLocal   bool
	inline     []byte      // what add copies to a cell, until then
	own        rnic.Region // of a long Inline payload; nil: none
	fence      bool
	unsignaled bool
	done       bool
	cq         *rdmap.CompletionQueue
	completion rdmap.Completion
}

func (p *post) isAtomic() bool {
	return p.request.Op == rnic.OpFetchAdd || p.request.Op == rnic.OpCmpSwap
}

func (p *post) isAnswered() bool { return p.request.Op == rnic.OpRead || p.isAtomic() }

// release gives back the memory of a long Inline payload.
func (p *post) release() {
	if p.own != nil {
		_ = p.own.Close() // otherwise the device keeps the memory
	}
}

// Post adds wr to what is under way, and does not wait. The memory of its Data must be that of a
// Region of the device, and is the connection's until the Completion.
func (e *Engine) Post(wr *rdmap.WorkRequest) error {
	err := e.enqueue(wr)
	if err == nil {
		e.flush()
	}
	return err
}

// PostBatch posts wrs in order, as far as mayPost and Post permit, and returns how many it has
// posted.
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
	if err = e.add(p); err != nil {
		p.release()
	}
	return err
}

func (e *Engine) add(p post) (err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if err := e.m.mayWrite(); err != nil {
		return err
	}
	if (p.isAtomic() || len(p.inline) > 0) && e.posts.cells == nil {
		if e.posts.cells, err = e.cfg.Device.NewRegion(e.posts.depth*cellLen, 0); err != nil {
			return err
		}
	}
	err = e.posts.add(p)
	e.m.posted = e.posts.ring.Len()
	return err
}

// postOf returns the post for wr. The error says what is wrong with wr itself, or what the device
// lacks.
func (e *Engine) postOf(wr *rdmap.WorkRequest) (p post, err error) {
	n, err := wr.Len()
	if err != nil {
		return p, err
	}
	p = post{
		request: rnic.Request{Remote: wr.Remote, Solicited: wr.Solicited},
		fence:   wr.Fence, unsignaled: wr.Unsignaled, cq: wr.CQ, completion: rdmap.Completion{ID: wr.ID, Op: wr.Op},
	}
	switch wr.Op {
	case rdmap.WorkSend:
		p.request.Op = rnic.OpSend
	case rdmap.WorkWrite:
		p.request.Op = rnic.OpWrite
	case rdmap.WorkRead:
		p.request.Op = rnic.OpRead
	case rdmap.WorkFetchAdd:
		p.request.Op, p.request.Add = rnic.OpFetchAdd, wr.Operand
	case rdmap.WorkCmpSwap:
		p.request.Op, p.request.Compare, p.request.Swap = rnic.OpCmpSwap, wr.Compare, wr.Operand
	default: // Send with Invalidate, Swap, Immediate Data
		return p, lacks(wr.Op.String())
	}
	switch {
	case !e.cfg.Device.Can(p.request.Op):
		return p, lacks(wr.Op.String())
	case wr.Mask != 0, wr.CompareMask != 0:
		return p, lacks("Mask and CompareMask")
	case p.isAtomic() && wr.Remote.TO%wordLen != 0:
		return p, ddp.ErrMisaligned
	case n > longestPost:
		return p, rdmap.ErrMessageTooLong
	}
	p.completion.Len = n
	switch {
	case n == 0:
	case wr.Inline:
		err = p.copyInline(e.cfg.Device, wr, int(n))
	default:
		err = p.locate(e.link.Locate, wr)
	}
	return p, err
}

// copyInline copies the payload of wr, of n bytes, for a cell or to memory of its own.
func (p *post) copyInline(d rnic.Device, wr *rdmap.WorkRequest, n int) (err error) {
	b := append(make([]byte, 0, n), wr.Data...)
	for _, piece := range wr.Gather {
		b = append(b, piece...)
	}
	if n <= cellLen {
		p.inline = b
		return nil
	}
	if p.own, err = d.NewRegion(n, 0); err != nil {
		return err
	}
	copy(p.own.Bytes(), b)
	p.local, p.hasLocal = rnic.Segment{Region: p.own, Len: n}, true
	return nil
}

// locate notes where the Data of wr, or each piece of its gather list, lies in a Region.
func (p *post) locate(locate func([]byte) (rnic.Segment, error), wr *rdmap.WorkRequest) error {
	var all [gatherMost]rnic.Segment
	n := 0
	for i := range 1 + len(wr.Gather) {
		piece := wr.Data
		if i > 0 {
			piece = wr.Gather[i-1]
		}
		switch {
		case len(piece) == 0:
			continue
		case n == gatherMost:
			return lacks(fmt.Sprintf("a gather list of more than %d pieces", gatherMost))
		}
		s, err := locate(piece)
		if err != nil {
			return err
		}
		all[n] = s
		n++
	}
	p.local, p.hasLocal = all[0], true
	if n > 1 {
		p.more = slices.Clone(all[1:n])
	}
	return nil
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
	if n := len(p.inline); n > 0 || p.isAtomic() {
		if n == 0 {
			n = wordLen
		}
		p.local, p.hasLocal = rnic.Segment{Region: s.cells, Off: int(at%uint64(s.depth)) * cellLen, Len: n}, true
		copy(s.cells.Bytes()[p.local.Off:], p.inline)
		p.inline = nil
	}
	*s.ring.Push() = p
	return nil
}

// areDue reports whether there are posts that the device does not have.
func (s *posts) areDue() bool { return s.next != s.ring.Tail() }

// give returns the next post for the device, unless a fence holds it back.
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
func (s *posts) owns(c *rnic.Completion) bool { return c.ID>>59 == postBit>>59 }

// completed notes a completion. It returns why the connection ends if the post has failed. A post
// that was flushed waits for the reason of the end: see flush.
func (s *posts) completed(c *rnic.Completion) error {
	at := c.ID &^ postBit
	if at < s.ring.Head() || at >= s.next || s.ring.At(at).done {
		return errCompletion
	}
	if c.Err != nil && rnic.StatusOf(c.Err) == rdmap.StatusFlushed {
		return nil
	}
	p := s.ring.At(at)
	p.done = true
	if p.isAnswered() {
		s.answers--
	}
	switch {
	case c.Err != nil:
		p.completion.Status, p.completion.Err, p.completion.Len = rnic.StatusOf(c.Err), c.Err, 0
	case p.isAtomic():
		p.completion.Original = binary.NativeEndian.Uint64(s.cells.Bytes()[p.local.Off:])
	}
	for s.ring.Len() > 0 && s.ring.First().done {
		s.report()
	}
	return c.Err
}

// report takes the oldest post from the ring, and reports its Completion.
func (s *posts) report() {
	p := s.ring.First()
	p.release()
	if p.unsignaled && p.completion.Err == nil {
		p.cq.Fill(nil)
	} else {
		p.cq.Fill(&p.completion)
	}
	s.ring.Pop()
}

// flush ends all posts because of reason. The queue pair is closed, so their memory is the
// program's again.
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
	case p.request.Op == rnic.OpSend:
		e.count.Message(counters.Sent, rdmap.Control(rdmap.OpSend))
		fallthrough
	default:
		list := e.list[:0]
		if p.hasLocal {
			list = append(append(list, p.local), p.more...)
		}
		return true, e.link.QP.Post(p.request, list...)
	}
}

// postCompleted notes a completion, if it is that of a post.
//
// +checklocks:e.mu
func (e *Engine) postCompleted(c *rnic.Completion) bool {
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
