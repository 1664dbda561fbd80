package rdmap

import (
	"errors"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaphdr"
)

// Fail ends the stream because of an error that any layer has found. The first one counts. Where the
// RFCs allow it the next message is the Terminate that says why, and the last one ever; messages
// that were given out before go their way. All other requests are flushed, the one at fault with a
// status of its own. What to send follows from err: an *Error, a *ddp.Error, or the method TerminateCode
// of an error of mpa. Any other err is a local catastrophic error.
func (q *QP) Fail(err error) {
	q.mu.Lock()
	defer q.unlock()
	err = q.sourceErrorLocked(err)
	if q.state == StateTerminating || q.state == StateError {
		// "the first RDMA Message (and its associated DDP Segment) that experienced an error MUST be
		// captured by the Terminate Message" (RFC 5040 §7.1)
		return
	}
	t, ok := terminateFor(err)
	if !ok || !q.isUpLocked() {
		q.endLocked(StateError, err)
		return
	}
	q.setState(StateTerminating)
	t = t.clone()
	q.err = &TerminateError{Terminate: t, Err: err}
	q.output.terminate = t.AppendTo(nil)
	q.blameLocked(t)
	// "The RDMAP layer Completes in error all ULP operations that have not been provided to the DDP
	// layer." (RFC 5040 §5.4)
	q.sq.flush(q.err, func(e *sendEntry) bool { return e.progress == queued || e.op.awaitsResponse() })
	q.settleLocked(q.err)
}

// sourceErrorLocked turns the error of a ddp.Sender, that the memory of a Read Response is gone, into
// one about the Read Request, and strikes that response off the list of messages given out.
//
// +checklocks:q.mu
func (q *QP) sourceErrorLocked(err error) error {
	var access *ddp.AccessError
	var segment *ddp.Error
	_, coded := codeOf(err)
	a := q.responder.inProgress()
	if coded || errors.As(err, &segment) || !errors.As(err, &access) || a == nil {
		return err
	}
	q.output.withdraw()
	return a.error(err)
}

// terminated ends the stream because a Terminate has come. Nothing is sent any more, not even an
// answer; "the Remote Peer MAY stop sending" (RFC 5040 §5.4).
func (q *QP) terminated(t Terminate) {
	q.mu.Lock()
	defer q.unlock()
	if !q.receivesLocked() {
		return
	}
	q.setState(StateTerminating)
	q.err = &TerminateError{Terminate: t, Remote: true}
	if e := q.sq.namedBy(t); e != nil {
		status := StatusRemoteOperation
		if t.Code.kind() == remoteProtection {
			status = StatusRemoteAccess
		}
		q.sq.end(e, status, q.err)
	}
	q.sq.flush(q.err, everyRequest)
	q.settleLocked(q.err)
}

// PeerClosed tells that the peer has closed its half of the stream in order: a FIN after a whole FPDU
// and a whole message. err becomes the reason of what is flushed; nil means ErrPeerClosed. Reads,
// atomics and receives can no longer complete; what else is queued can, and more can be posted
// (RFC 5041 §6.2.1). It is called by the goroutine that calls Handle. If the connection is lost, or
// ends at any other place, call Abort instead.
func (q *QP) PeerClosed(err error) {
	if err == nil {
		err = ErrPeerClosed
	}
	q.mu.Lock()
	defer q.unlock()
	q.peerClosed = true
	q.peerDone.Store(true)
	if q.isUpLocked() {
		q.sq.flush(err, func(e *sendEntry) bool { return e.op.awaitsResponse() })
		q.settleLocked(err)
	}
	q.moveOnLocked()
}

// Close ends the stream in order. PostSend takes nothing from now on; what is queued still goes out, and
// the requests of the peer that are here are answered. When all that is with TCP, what waits for the
// peer is flushed, Reads, atomics and receives, and the QP is in StateClosed.
func (q *QP) Close() {
	q.mu.Lock()
	defer q.unlock()
	switch q.state {
	case StateIdle:
		q.endLocked(StateClosed, nil)
	case StateRTS:
		q.setState(StateClosing)
		q.moveOnLocked()
	}
}

// Abort ends the stream at once: nothing is sent any more and every request is flushed, those too whose
// messages are on their way. So the caller makes sure that nobody refers to their payload: it holds the
// transmit token, or nothing has been given out. err is the reason; the first one of the stream counts.
func (q *QP) Abort(err error) {
	q.mu.Lock()
	defer q.unlock()
	if q.state != StateClosed {
		q.endLocked(StateError, err)
	}
}

// endLocked takes the QP to a final state and flushes everything.
//
// +checklocks:q.mu
func (q *QP) endLocked(s State, err error) {
	q.setState(s)
	if q.err == nil {
		q.err = err
	}
	reason := q.err
	if reason == nil {
		reason = ErrClosed
	}
	q.output.terminate, q.output.given = nil, q.output.given[:0]
	q.sq.flush(reason, everyRequest)
	q.sq.letGo()
	q.settleLocked(reason)
}

// moveOnLocked does what is due once the last message is with TCP.
//
// +checklocks:q.mu
func (q *QP) moveOnLocked() {
	if !q.drainedLocked() {
		return
	}
	switch {
	case q.state == StateClosing:
		q.endLocked(StateClosed, nil)
	case q.state == StateTerminating && q.peerClosed:
		q.setState(StateError)
	}
}

// settleLocked completes the requests that have been flushed and flushes the receives, all after their
// memory has been taken back. It lets go of mu while it waits for copies into that memory; nothing of
// what is being settled can complete otherwise in the meantime.
//
// +checklocks:q.mu
func (q *QP) settleLocked(reason error) {
	for e := q.sq.flushedSink(); e != nil; e = q.sq.flushedSink() {
		q.deregisterLocked(e)
	}
	q.sq.retire(q)
	q.unlock()
	q.queues[ddp.QNSend].Flush()
	q.mu.Lock()
	for !q.rq.isEmpty() {
		c := Completion{QPNum: q.cfg.QPNum, Status: StatusFlushed, Err: reason}
		if q.rq.blamed != StatusOK {
			c.Status, q.rq.blamed = q.rq.blamed, StatusOK
		}
		q.rq.retire(q.cfg.RecvCQ, c)
	}
}

// deregisterLocked takes the sink of a request that is done back from DDP. It lets go of mu meanwhile.
//
// +checklocks:q.mu
func (q *QP) deregisterLocked(e *sendEntry) {
	sink := e.sink
	if sink == nil {
		return
	}
	q.unlock()
	sink.Deregister()
	q.mu.Lock()
	if e.sink == sink { // nobody else has done it, and completed the request, meanwhile
		e.sink = nil
	}
}

// blameLocked gives the one request that the error found here is about, if it is about one, a status of
// its own.
//
// +checklocks:q.mu
func (q *QP) blameLocked(t Terminate) {
	if !t.D {
		return
	}
	op, _ := rdmaphdr.ParseControl(t.DDPHeader[1])
	switch {
	case op == rdmaphdr.OpReadResponse && t.Code.kind() == taggedError:
		q.sq.endAwaited(WorkRead, StatusLocalProtection, q.err)
	case op == rdmaphdr.OpAtomicResponse && t.Code == codeUnspecified:
		q.sq.endAwaited(WorkFetchAdd, StatusGeneral, q.err)
	case op.Queue() != ddp.QNSend:
	case t.Code == codeOfDDP(ddp.CodeTooLong):
		q.rq.blamed = StatusLocalLength
	case t.Code == codeInvalidate || t.Code == codeProtectedInvalidate:
		q.rq.blamed = StatusRemoteInvalidate
	case t.Code == codeUnspecified: // Immediate Data of a wrong length
		q.rq.blamed = StatusGeneral
	}
}
