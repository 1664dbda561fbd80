package rdmap

import (
	"fmt"
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/states"
)

// defaultDepth is the number of requests that a queue holds if the Config does not say.
const defaultDepth = 128

// A Config sets up a QP. The zero Config works.
type Config struct {
	SendDepth, RecvDepth int // the maximum number of requests posted at a time; zero means 128
	// IRD and ORD are the limits that startup offers for inbound and outbound Reads (and atomics)
	// in flight. StartParams has the limits that startup agreed on.
	IRD, ORD int
	// SendCQ and RecvCQ receive the Completions. Nil means that the QP makes a queue of its own, as
	// deep as the send or receive queue, or as SRQ if that is deeper.
	SendCQ, RecvCQ *CompletionQueue
	// SRQ supplies the receive buffers. PostRecv then returns ErrBadRequest, and RecvDepth is the
	// maximum number of buffers bound at a time. RecvCQ must have an entry for each bound buffer of
	// all its queue pairs until the Completion is taken. A Send for which there is no entry ends
	// the stream. Nil means that the program posts buffers with PostRecv.
	SRQ    *SharedReceiveQueue
	Domain *ddp.Domain // Protection Domain of the queue pair; nil means a Domain of its own
	// QPNum is the number of the queue pair. Each Completion carries it, so queue pairs that share
	// a completion queue need different numbers. QPNum is also the number of the RDMAP Stream in
	// Domain, so queue pairs that share a Domain need different numbers too. It must not be 0 if
	// Domain is set. Without a Domain, 0 means 1.
	QPNum uint64
	// Extensions enables RFC 7306's operations, whatever startup agrees on.
	Extensions bool
	// Denied is the set of rights that the peer of this queue pair does not have, whatever a Region
	// grants.
	Denied ddp.Access
	// Terminate determines when to send the Terminate for an error in the peer's data.
	Terminate TerminateTime
}

// A TerminateTime determines what the Terminate for an error in the peer's data waits for. In every
// case, nothing that the peer sends after the error is handled. RFC 5040 §7.1 wants the Terminate
// "at the earliest possible opportunity, preferably in the next outgoing RDMA Message".
type TerminateTime uint8

const (
	// TerminateAtOnce sends the Terminate as the next message.
	TerminateAtOnce TerminateTime = iota
	// TerminateAfterAnswers first answers the Reads and atomics that came before the error.
	TerminateAfterAnswers
	// TerminateAtClose waits for Close, which sends the Terminate after these answers and all
	// posted requests. So a program can tell the peer which of its messages were handled.
	TerminateAtClose
)

func orDefault(n int) int {
	if n <= 0 {
		return defaultDepth
	}
	return n
}

// A state is a phase in the life of a QP:
//
//	Idle ──Start──▶ RTS ──Close──▶ Closing ──drained──▶ Closed
//	 │              ├──Fail, or a Terminate arrives──▶ Terminating ──Abort, or the peer's FIN──▶ Error
//	 └──Fail, Abort─┴──Abort (from every state but Closed)──▶ Error
//
// Config.Terminate can make an error in the peer's data lead through other states:
//
//	RTS ──Fail──▶ Failing ──Close──▶ Owing ──drained──▶ Terminating    TerminateAtClose
//	RTS ──Fail───────────────────────▶ Owing                           TerminateAfterAnswers
//
// Closing can fail like RTS. Closed and Error are final: a QP cannot be used twice. Close in Idle
// leads to Closed. Fail in Closed leads to Error.
type state uint8

// The states.
const (
	stateIdle        state = iota // startup is in progress; receives can be posted
	stateRTS                      // ready to send
	stateClosing                  // PostSend accepts nothing; queued messages are still sent
	stateFailing                  // the peer's data had an error; Close sends the Terminate
	stateOwing                    // queued messages are still sent, and then the Terminate
	stateTerminating              // the stream failed; only the Terminate may still be sent
	stateError                    // the stream ended with an error
	stateClosed                   // the stream ended in order
)

var stateNames = [...]string{"Idle", "RTS", "Closing", "Failing", "Owing", "Terminate", "Error", "Closed"}

// String returns the state's name in the verbs model.
func (s state) String() string { return stateNames[s] }

var stateNext = states.Table[state]{
	stateIdle:        states.To(stateRTS, stateError, stateClosed),
	stateRTS:         states.To(stateClosing, stateFailing, stateOwing, stateTerminating, stateError),
	stateClosing:     states.To(stateTerminating, stateError, stateClosed),
	stateFailing:     states.To(stateOwing, stateTerminating, stateError),
	stateOwing:       states.To(stateTerminating, stateError),
	stateTerminating: states.To(stateError),
	stateError:       0,
	stateClosed:      states.To(stateError),
}

// A QP (queue pair) is one end of an RDMAP Stream. The requests that its user posts become messages
// for DDP. The messages that DDP delivers become Completions, answers to the peer, or the end of
// the stream.
//
// Any goroutine may call PostSend, PostRecv, Cancel, the getters and the calls that end the stream.
// Only the holder of the driver's transmit token may call NextMessage, Message and Sent, so one
// goroutine at a time calls them. Only the receiving goroutine may call Handle. None of these calls
// waits, with one exception: a call that gives memory back waits while a segment is being copied
// into that memory. NewQP makes a QP: the zero value is not usable, and its methods may panic.
type QP struct {
	// The fields that each Send touches are next to each other.
	msg       ddp.Message // the message given out last; the transmit token guards it
	heard     bool        // a message has been handled; Handle's goroutine owns it
	initiator bool        // of MPA startup; set by Start
	admission admission   // the messages that the stream accepts; set by Start

	stateNow  atomic.Uint32 // a copy of state, so that now needs no lock
	peerDone  atomic.Bool   // a copy of peerClosed, for the same reason
	outputDue atomic.Bool   // a copy of nextLocked() != nothing, for HasOutput; see unlock

	mu    locks.Mutex[locks.QP]
	state state // +checklocks:mu
	// why the stream ended
	err error // +checklocks:mu
	// the Terminate to send after the messages that are owed; nil if there is none
	late *Terminate // +checklocks:mu
	// nothing more arrives from the peer
	peerClosed bool      // +checklocks:mu
	ord        int       // +checklocks:mu
	sq         sendQueue // +checklocks:mu
	output     output    // +checklocks:mu
	responder  responder // +checklocks:mu

	cfg    Config     // QPNum is used by each Completion
	stream ddp.Stream // of the peer, in cfg.Domain

	rq  recvQueue // +checklocks:mu
	ird int       // +checklocks:mu

	queues [ddp.NumQueues]ddp.Queue // by QN; Start makes all except the queue of the Sends
	// incoming is the answer to the request being checked. The first request makes it. Handle's
	// goroutine owns it.
	incoming *response

	postRecvMu locks.Mutex[locks.PostRecv] // held until a receive is in rq and DDP's queue
}

// NewQP returns a QP in stateIdle. PostRecv may be called at once.
func NewQP(c Config) *QP {
	q := new(QP)
	q.Init(c)
	return q
}

// Init makes the zero QP what NewQP returns. It is for an owner that has the QP in its own memory.
//
// +checklocksignore: no other goroutine has it yet
func (q *QP) Init(c Config) {
	c.SendDepth, c.RecvDepth = orDefault(c.SendDepth), orDefault(c.RecvDepth)
	if c.SendCQ == nil {
		c.SendCQ = NewCompletionQueue(c.SendDepth)
	}
	if c.RecvCQ == nil {
		n := c.RecvDepth
		if c.SRQ != nil {
			n = max(n, c.SRQ.Cap())
		}
		c.RecvCQ = NewCompletionQueue(n)
	}
	switch {
	case c.Domain == nil:
		c.Domain, c.QPNum = new(ddp.Domain), max(c.QPNum, 1)
	case c.QPNum == 0:
		panic("BUG: rdmap.Config has a Domain but no QPNum")
	}
	q.cfg, q.ird, q.ord = c, c.IRD, c.ORD
	q.stream.Init(c.Domain, c.QPNum)
	q.sq.init(c.SendDepth)
	q.rq.init(c.RecvDepth)
	q.queues[ddp.QNSend].Init(c.RecvDepth+1, 0) // one more for the peer's RTR
}

// StartParams is the result of MPA startup.
type StartParams struct {
	Initiator  bool // this side was the Initiator of MPA startup
	IRD, ORD   int  // inbound and outbound Reads and atomics in flight, together
	Extensions bool // enables RFC 7306's operations, as Config.Extensions does
	// SendRTR is the operation of length 0 that this side, as the Initiator, sends first so that
	// the Responder may send at all (RFC 6581 §9): WorkSend, WorkWrite or WorkRead. Zero means
	// none. The operation has no Completion.
	SendRTR WorkOp
	// ExpectRTRSend means that the peer's first Send is its RTR. A buffer of the QP's own takes
	// that Send.
	ExpectRTRSend bool
}

// Start takes the QP from stateIdle to stateRTS, and returns the configuration of the stream's
// ddp.Receiver. In any other state it changes nothing, because the stream was given up during
// startup.
func (q *QP) Start(p StartParams) ddp.ReceiverConfig {
	q.postRecvMu.Lock()
	defer q.postRecvMu.Unlock()
	q.mu.Lock()
	defer q.unlock()
	if q.state == stateIdle {
		q.startLocked(p)
	}
	return q.receiverConfig()
}

// +checklocks:q.mu
func (q *QP) startLocked(p StartParams) {
	q.setState(stateRTS)
	q.initiator = p.Initiator
	q.ird, q.ord = max(p.IRD, 0), max(p.ORD, 0)
	q.admission = admission{extensions: p.Extensions || q.cfg.Extensions, denied: q.cfg.Denied}
	q.responder.start(&q.queues[ddp.QNReadRequest], q.ird, q.admission.extensions)
	// "the RDMAP layer MUST guarantee placement of a single Terminate Message" (RFC 5040 §5.4)
	q.queues[ddp.QNTerminate].Init(1, terminateBufferLen)
	if q.admission.extensions {
		// "a sufficient number of Untagged Buffers are available on the RDMA Atomic Response Queue"
		// (RFC 7306 §5.2.2)
		q.queues[ddp.QNAtomicResponse].Init(q.ord, AtomicResponseLen)
	}
	q.rq.start(&q.queues[ddp.QNSend], p.ExpectRTRSend)
	if p.SendRTR != 0 {
		q.sq.pushRTR(p.SendRTR)
	}
}

// terminateBufferLen is the size of the buffer for the peer's Terminate in bytes. The buffer is a
// little larger than the longest Terminate, since bytes after the header are ignored.
const terminateBufferLen = maxTerminateLen + 12

// mustPost posts a buffer to a queue that is known to have room. If the stream has ended and
// flushed the queue meanwhile, the queue needs no buffer.
func mustPost(queue *ddp.Queue, head, b []byte, id uint64) {
	queue.Post(head, b, id)
}

func (q *QP) receiverConfig() ddp.ReceiverConfig {
	c := ddp.ReceiverConfig{Stream: &q.stream, Admit: q.admission.admit, InMessage: isInMessage}
	for qn := range q.queues {
		if q.admission.uses(ddp.QN(qn)) {
			c.Queues[qn] = &q.queues[qn]
		}
	}
	return c
}

// now returns the QP's state.
func (q *QP) now() state { return state(q.stateNow.Load()) }

// AwaitsOneAnswer reports whether exactly one Read or atomic has no answer yet.
func (q *QP) AwaitsOneAnswer() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.sq.outstanding == 1
}

// IsReady reports whether the QP is ready to send (RTS in the verbs model): it has been started,
// and nothing has ended it or begun to close it.
func (q *QP) IsReady() bool {
	s := q.now()
	return s == stateRTS || s == stateFailing
}

// TerminatesLate reports whether a Terminate waits for Close.
func (q *QP) TerminatesLate() bool { return q.now() == stateFailing }

// TakesMessages reports whether the QP still handles messages of the peer.
func (q *QP) TakesMessages() bool {
	s := q.now()
	return s == stateRTS || s == stateClosing
}

// Err returns why the stream ended, or nil if it has not ended with an error. The error is a
// *TerminateError if a Terminate has been or will be sent, or has arrived.
func (q *QP) Err() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.err
}

// setState changes the state. Nothing else does.
//
// +checklocks:q.mu
func (q *QP) setState(s state) {
	stateNext.Become(&q.state, s)
	q.stateNow.Store(uint32(s))
}

// unlocked calls f without mu, which the caller holds. It is locks.Unlocked with unlock.
//
// +checklocksignore: it finds mu locked and leaves it so
func (q *QP) unlocked(f func()) {
	q.unlock()
	defer q.mu.Lock()
	f()
}

// isUpLocked reports whether the QP sends requests and answers in its present state.
//
// +checklocks:q.mu
func (q *QP) isUpLocked() bool {
	return q.state >= stateRTS && q.state <= stateOwing
}

// closedErrLocked returns the error for a post to a stream that has ended.
//
// +checklocks:q.mu
func (q *QP) closedErrLocked() error {
	if q.err == nil {
		return ErrClosed
	}
	return fmt.Errorf("%w: %w", ErrClosed, q.err)
}

// ungranted is a right that no Region grants.
const ungranted ddp.Access = 1 << 7

// uses reports whether the stream has the queue qn.
func (a admission) uses(qn ddp.QN) bool {
	return qn <= ddp.QNTerminate || qn == ddp.QNAtomicResponse && a.extensions
}
