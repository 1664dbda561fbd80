package device

import (
	"context"
	"errors"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/rnic"
)

// A Config has what New needs to make an Engine.
type Config struct {
	Device    rnic.Device
	Initiator bool
	// RecvDepth and RecvSize are the number of messages that the peer may send, and their length in
	// bytes.
	RecvDepth, RecvSize int
	// SendDepth and SendSize are the number of messages that may be on their way, and their length.
	SendDepth, SendSize int
	PostDepth           int // Work Requests of Post and PostBatch that may be under way
	CloseTimeout        time.Duration
}

// A Link has what an Engine needs once its queue pair is connected.
type Link struct {
	QP         rnic.QP
	Messages   bool // message mode, and not the byte stream
	Credits    int  // messages that the peer has room for
	MaxMessage int  // the maximum length of each in bytes
	// Completions returns the completion queue of Post and PostBatch, and the number of the queue
	// pair in their Completions.
	Completions func() (cq *rdmap.CompletionQueue, qpNum uint64)
	// Locate returns where memory of the program lies in a Region of the device.
	Locate     func(p []byte) (rnic.Segment, error)
	Closed     *wait.Latch           // Conn.Close sets it
	Background *wait.Background      // counts the connection, until it is over
	Trace      *observe.Trace        // nil: no trace
	Panicked   func(value any) error // returns the error for a panic
}

// An Engine runs one connection on a device. New makes it, Prepare is for rnic.QPConfig, and Begin
// must be called when the queue pair is connected, or Abandon if that fails. The other methods are
// those of an engine of package extsock.
type Engine struct {
	cfg    Config
	link   Link
	region rnic.Region
	memory []byte // the region's
	count  counters.Counters
	ops    operations

	// A goroutine that takes the machine's next action posts it before another goroutine takes the
	// next one.
	posting locks.Mutex[locks.Poster]
	giving  post // +checklocks:posting
	// the Segments of giving
	list  [gatherMost]rnic.Segment // +checklocks:posting
	mu    locks.Mutex[locks.Device]
	m     *machine // +checklocks:mu
	posts posts    // +checklocks:mu
	// the queue pair is closed
	shut bool // +checklocks:mu
	// the region is given back
	released bool // +checklocks:mu

	reading, writing chan struct{} // capacity 1: the turn of a Read, and of a Write
	readable, room   chan struct{} // capacity 1: the Read, or the Write, looks again
	taken            chan struct{} // closed when the machine is lingering or over
	over             chan struct{} // closed when it is over
}

// New returns an Engine.
func New(cfg Config) *Engine {
	l := layout{receives: cfg.RecvDepth + bytestream.ExtraBuffers, receiveLen: cfg.RecvSize, sends: cfg.SendDepth, sendLen: cfg.SendSize}
	e := &Engine{
		cfg: cfg, m: newMachine(l), posts: posts{depth: cfg.PostDepth},
		reading: make(chan struct{}, 1), writing: make(chan struct{}, 1), readable: make(chan struct{}, 1), room: make(chan struct{}, 1),
		taken: make(chan struct{}), over: make(chan struct{}),
	}
	e.ops.init(e)
	return e
}

// Depths returns how many work requests may be under way, and how many Segments one may have.
func (e *Engine) Depths() (sends, receives, segments int) {
	const flushAndNudge = 2
	return e.cfg.SendDepth + e.cfg.PostDepth + flushAndNudge + opSlots, e.cfg.RecvDepth + bytestream.ExtraBuffers, gatherMost
}

// Prepare registers the connection's memory and posts the receives.
func (e *Engine) Prepare(qp rnic.QP) (err error) {
	e.mu.Lock()
	n := e.m.len()
	e.mu.Unlock()
	if e.region, err = e.cfg.Device.NewRegion(n, 0); err != nil {
		return err
	}
	e.memory, e.link.QP = e.region.Bytes(), qp
	return e.post()
}

// Abandon gives the memory back if the connection was not established. The queue pair is closed.
func (e *Engine) Abandon() {
	if e.region != nil {
		_ = e.region.Close() // nothing can be done about an error
	}
}

// Begin begins the byte stream, or message mode. From then on the trace calls its handler in
// goroutines of its own.
func (e *Engine) Begin(l Link) {
	e.link = l
	e.link.Trace.HandOff(e.link.Background.Go, func(value any) { e.Kill(e.panicked(value)) })
	e.mu.Lock()
	defer e.mu.Unlock()
	e.m.begin(peerConfig{
		messages: l.Messages, isRNIC: e.cfg.Device.IsRNIC(), credits: l.Credits, maxMessage: l.MaxMessage, window: e.cfg.RecvDepth,
		greets: e.cfg.Initiator && e.cfg.Device.IsRNIC(), waits: !e.cfg.Initiator && e.cfg.Device.IsRNIC(),
	})
}

// Start adds the connection to the open ones of the process, and posts what is due.
func (e *Engine) Start(owner counters.Owner) {
	e.count.Enlist(owner)
	e.flush()
}

// Receive takes completions until the connection is over. It is called once.
func (e *Engine) Receive() {
	var got [32]rnic.Completion
	for err := error(nil); err == nil; {
		err = e.receive(got[:])
	}
	e.closeQP() // the memory of what is posted is the program's again
	e.mu.Lock()
	reason := e.m.reason
	e.posts.flush(reason)
	e.shut = true
	e.unlock()
	e.ops.end(reason)
	failed := !errors.Is(reason, net.ErrClosed) && !isEOF(reason)
	by := "local"
	switch {
	case failed:
		e.link.Trace.Warn("connection ends", "by", "failure", "err", reason)
	case isEOF(reason):
		by = "peer"
		fallthrough
	default:
		e.link.Trace.Info("connection ends", "by", by)
	}
	e.count.Retire(failed)
	e.link.Background.End()
}

// receive takes completions once, into the memory of got. The error says why the connection is
// over. A panic, for example of the program's device, is such an error.
func (e *Engine) receive(got []rnic.Completion) (err error) {
	defer func() {
		if value := recover(); value != nil {
			err = e.panicked(value)
			e.Kill(err)
		}
	}()
	n, err := e.link.QP.Wait(context.Background(), got)
	e.took(got[:n], err)
	e.flush()
	return err
}

// took notes what has been completed, and why the connection is over.
func (e *Engine) took(got []rnic.Completion, err error) {
	e.mu.Lock()
	defer e.unlock()
	for i := range got {
		switch c := &got[i]; {
		case e.ops.completed(c):
			if c.Err != nil {
				e.m.failed(c.Err) // rxe tells neither end that the connection has ended
			}
		case e.postCompleted(c):
		default:
			e.note(c)
			e.m.completed(c, e.memory)
		}
	}
	if err != nil {
		e.m.disconnected(err)
	}
}

// unlock unlocks mu after something has changed, and does what follows from that.
//
// +checklocksrelease:e.mu
func (e *Engine) unlock() {
	life := e.m.life
	if life >= lingering && !wait.IsClosed(e.taken) {
		close(e.taken)
	}
	ended := life == over && !wait.IsClosed(e.over)
	if ended {
		close(e.over)
	}
	release := e.shut && !e.released && e.m.unread.Len() == 0
	e.released = e.released || release
	e.mu.Unlock()
	wait.Wake(e.readable)
	wait.Wake(e.room)
	if ended {
		e.closeQP()
	}
	if release {
		_ = panics.Guard(e.region.Close) // after an error the device keeps the memory
	}
}

// post posts what is due, until nothing is.
func (e *Engine) post() error {
	e.posting.Lock()
	defer e.posting.Unlock()
	for {
		if given, err := e.give(); given || err != nil {
			if err != nil {
				return err
			}
			continue
		}
		a, ok := e.next()
		if !ok {
			return nil
		}
		if err := e.do(a); err != nil {
			return err
		}
	}
}

// next returns what the machine posts next.
func (e *Engine) next() (a action, ok bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.m.held = e.posts.areDue()
	return e.m.next(e.memory)
}

// flush is post for a connection that has begun. If the queue pair takes nothing any more because
// it has been closed, the connection is over already.
func (e *Engine) flush() {
	err := e.post()
	if err == nil || errors.Is(err, rnic.ErrDisconnected) { // Wait returns that too
		return
	}
	e.mu.Lock()
	e.m.end(err) // what is unread stays, as when Wait returns the error first
	e.unlock()
}

// do posts one work request.
func (e *Engine) do(a action) error {
	switch at := (rnic.Segment{Region: e.region, Off: a.off, Len: a.n}); a.op {
	case postReceive:
		return e.link.QP.PostReceive(a.id, at)
	case postSend:
		e.count.Message(counters.Sent, rdmap.Control(rdmap.OpSend))
		return e.link.QP.Post(rnic.Request{ID: a.id, Op: rnic.OpSend}, at)
	case postFlush:
		return e.link.QP.Post(rnic.Request{ID: a.id, Op: rnic.OpRead})
	default:
		return e.link.QP.Post(rnic.Request{ID: a.id, Op: rnic.OpWrite})
	}
}

// note counts a message that has been received.
func (e *Engine) note(c *rnic.Completion) {
	if c.Err == nil && c.Op == rnic.OpReceive {
		e.count.Message(counters.Received, rdmap.Control(rdmap.OpSend))
	}
}

// IsByteStream, Longest and Window describe the byte stream.
func (e *Engine) IsByteStream() bool { return !e.link.Messages }
func (e *Engine) Window() int        { return e.cfg.RecvDepth }

func (e *Engine) Longest() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.m.tx == nil {
		return e.cfg.SendSize
	}
	return e.m.tx.Longest()
}

// Counts returns the counts of the connection, which continue to change.
func (e *Engine) Counts() *counters.Counters { return &e.count }

// take takes a turn.
func take(turn chan<- struct{}, limit *wait.Deadline) error {
	if limit.HasPassed() {
		return os.ErrDeadlineExceeded
	}
	select {
	case turn <- struct{}{}:
		return nil
	case <-limit.Done():
		return os.ErrDeadlineExceeded
	}
}

// ReadMessage reads from the byte stream, or bytes of one message. note, if not nil, gets what
// extsock.Conn.ReadMessage returns.
func (e *Engine) ReadMessage(p []byte, limit *wait.Deadline, note *rdmap.Completion) (int, error) {
	if len(p) == 0 && !e.link.Messages {
		return 0, nil // as TCP's Read, whatever the deadline
	}
	if err := take(e.reading, limit); err != nil {
		return 0, err
	}
	defer func() { <-e.reading }()
	for {
		e.mu.Lock()
		n, ok, err := e.m.read(p, note)
		e.unlockRead()
		if ok {
			e.count.Add(counters.Copied, uint64(n))
			e.flush()
			if err != nil && e.link.Closed.IsSet() { // Close has come since the caller looked
				err = net.ErrClosed
			}
			return n, err
		}
		select {
		case <-e.readable:
		case <-e.link.Closed.Done():
			return 0, net.ErrClosed
		case <-limit.Done():
			return 0, os.ErrDeadlineExceeded
		}
	}
}

// unlockRead is unlock after a Read. A Read changes nothing that another call waits for, unless the
// queue pair is closed: then it may have taken the last message in the region.
//
// +checklocksrelease:e.mu
func (e *Engine) unlockRead() {
	if e.shut {
		e.unlock()
		return
	}
	e.mu.Unlock()
}

// Write writes to the byte stream, or one message, which is at most Longest bytes long.
func (e *Engine) Write(p []byte, limit *wait.Deadline) (int, error) {
	if err := take(e.writing, limit); err != nil {
		return 0, err
	}
	defer func() { <-e.writing }()
	e.mu.Lock()
	err := e.m.mayWrite()
	switch {
	case err != nil:
	case e.link.Messages:
		e.m.write(p)
	default:
		e.m.tx.Post(p, 0)
	}
	e.mu.Unlock()
	if err != nil {
		return 0, err
	}
	for {
		e.flush()
		e.mu.Lock()
		ended := !e.m.out.due
		if !e.link.Messages {
			ended, _ = e.m.tx.Write()
		}
		if !ended {
			err = e.m.mayWrite()
		}
		if ended || err != nil {
			return e.endWrite(len(p)), err
		}
		e.mu.Unlock()
		select {
		case <-e.room:
		case <-limit.Done():
			e.mu.Lock()
			if n := e.endWrite(len(p)); n < len(p) {
				return n, os.ErrDeadlineExceeded
			}
			return len(p), nil // all of it goes out
		}
	}
}

// endWrite ends the Write of n bytes that is under way, and returns how many of them go out.
//
// +checklocksrelease:e.mu
func (e *Engine) endWrite(n int) int {
	switch {
	case !e.link.Messages:
		e.m.tx.GiveUp()
		n = e.m.tx.End()
	case !e.m.takeBack():
		e.m.settle() // Close may have waited only for the message
		e.unlock()
		return 0
	}
	e.mu.Unlock()
	return n
}

// CloseWrite ends the stream after the data that has been written. Later Writes return err.
func (e *Engine) CloseWrite(err error) {
	e.mu.Lock()
	e.m.closeWrite(err)
	e.unlock()
	e.flush()
}

// CloseRead discards what comes later.
func (e *Engine) CloseRead() {
	e.mu.Lock()
	e.m.closeRead()
	e.unlock()
	e.flush()
}

// Kill ends the connection at once, and discards what is unread.
func (e *Engine) Kill(err error) {
	e.mu.Lock()
	e.m.kill(err)
	e.unlock()
}

// Close ends the connection in order. It returns when the peer's device has everything, and after
// CloseTimeout with an error. If the program has not read all that the peer has sent, Close ends
// the connection at once instead, and the peer sees no end of the byte stream.
func (e *Engine) Close() error {
	e.mu.Lock()
	lost := e.m.close()
	e.unlock()
	if lost {
		return nil
	}
	e.flush()
	t := time.NewTimer(e.cfg.CloseTimeout)
	defer t.Stop()
	select {
	case <-e.taken:
	case <-t.C:
		e.Kill(errCloseTimeout)
		return errCloseTimeout
	}
	if !wait.IsClosed(e.over) {
		e.link.Background.Go(e.linger)
	}
	return nil
}

// linger bounds the wait for the peer's end.
func (e *Engine) linger() {
	t := time.NewTimer(e.cfg.CloseTimeout)
	defer t.Stop()
	select {
	case <-e.over:
	case <-t.C:
		e.Kill(net.ErrClosed)
	}
}
