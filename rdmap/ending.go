package rdmap

import (
	"errors"

	"github.com/rddp/rddp/ddp"
)

// Fail ends the stream because some layer has found an error. Only the first error of the stream
// counts. If the RFCs allow it, the next message is the Terminate that reports the error, and no
// message follows it. Messages that NextMessage gave out earlier are still sent. Fail flushes all
// other requests, and the request at fault gets a status of its own. Config.Terminate says which
// messages go out before the Terminate if the peer's data caused the error.
//
// The content of the Terminate follows from err: an error of this package, a *ddp.Error, or an
// error of mpa, which has the method TerminateCode. Any other err is reported as a local
// catastrophic error.
func (q *QP) Fail(err error) {
	q.mu.Lock()
	defer q.unlock()
	err, answering := q.sourceErrorLocked(err)
	q.failLocked(err, answering)
}

// failLocked is Fail. answering means that this end could not answer a request, so it answers no
// later request either.
//
// +checklocks:q.mu
func (q *QP) failLocked(err error, answering bool) {
	late := q.late != nil
	if q.state == stateTerminating || q.state == stateError || late && !answering {
		// "the first RDMA Message (and its associated DDP Segment) that experienced an error MUST
		// be captured by the Terminate Message" (RFC 5040 §7.1)
		return
	}
	t, ok := terminateFor(err)
	if !ok || !q.isUpLocked() {
		q.endLocked(stateError, err)
		return
	}
	t = t.clone()
	if !late {
		q.err = &TerminateError{Terminate: t, Err: err}
		q.blameLocked(t)
	}
	if q.cfg.Terminate == TerminateAtOnce || answering || q.state != stateRTS {
		q.terminateLocked(t)
		return
	}
	q.late, q.peerClosed = &t, true
	q.peerDone.Store(true)
	which := func(e *sendEntry) bool { return e.op.awaitsResponse() }
	if q.cfg.Terminate == TerminateAtClose {
		q.setState(stateFailing)
	} else {
		q.setState(stateOwing)
		which = isUnsent
	}
	q.sq.flush(q.err, which)
	q.settleLocked(q.err)
	q.moveOnLocked()
}

// isUnsent reports whether the end of the stream flushes a request: RDMAP "Completes in error all
// ULP operations that have not been provided to the DDP layer" (RFC 5040 §5.4).
func isUnsent(e *sendEntry) bool { return e.progress == queued || e.op.awaitsResponse() }

// terminateLocked makes t the next message, and the last one.
//
// +checklocks:q.mu
func (q *QP) terminateLocked(t Terminate) {
	q.setState(stateTerminating)
	q.output.terminate = t.appendTo(nil)
	q.sq.flush(q.err, isUnsent)
	q.settleLocked(q.err)
}

// sourceErrorLocked handles the error of a ddp.Sender whose source is gone, that is, the memory of
// a Read Response. It returns an error about the Read Request instead, and removes the response
// from the list of messages given out. It returns any other err unchanged.
//
// +checklocks:q.mu
func (q *QP) sourceErrorLocked(err error) (about error, answering bool) {
	var access *ddp.AccessError
	var segment *ddp.Error
	_, coded := codeOf(err)
	a := q.responder.inProgress()
	if coded || errors.As(err, &segment) || !errors.As(err, &access) || a == nil {
		return err, false
	}
	q.output.withdraw()
	return a.error(err), true
}

// terminated ends the stream because a Terminate has arrived. The QP sends nothing more after it,
// not even an answer; "the Remote Peer MAY stop sending" (RFC 5040 §5.4).
func (q *QP) terminated(t Terminate) {
	q.mu.Lock()
	defer q.unlock()
	if !q.receivesLocked() {
		return
	}
	q.setState(stateTerminating)
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

// PeerClosed reports that the peer has closed its half of the stream in order: its FIN came after a
// whole FPDU and a whole message. If the connection is lost, or ends at any other place, call Abort
// instead. The goroutine that calls Handle calls PeerClosed.
//
// Reads, atomics and receives can no longer complete, so PeerClosed flushes them. The flushed
// requests have err as their reason; nil means ErrPeerClosed. Other queued requests can still
// complete, and more can be posted (RFC 5041 §6.2.1).
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

// Close ends the stream in order. From now on PostSend accepts nothing. The QP still sends the
// queued requests and answers the peer's requests that have arrived, and those that arrive while a
// queued request waits for the answer to an earlier one. When TCP has taken all of these messages,
// the QP flushes the requests that wait for the peer (Reads, atomics and receives) and enters
// stateClosed. If a Terminate waits for Close, the Terminate is the last of these messages.
func (q *QP) Close() {
	q.mu.Lock()
	defer q.unlock()
	switch q.state {
	case stateIdle:
		q.endLocked(stateClosed, nil)
	case stateRTS:
		q.setState(stateClosing)
		q.moveOnLocked()
	case stateFailing:
		q.setState(stateOwing)
		q.moveOnLocked()
	}
}

// Discard ends what the peer does with the memory of this end, although the stream goes on: see
// [ddp.Stream.Discard]. From now on the peer's Reads and atomics get no answer, not even those that
// have arrived, and its Writes change nothing. A Read of this end completes with StatusFlushed. The
// messages of this end still leave, in their order, but for a Read Response that has begun: the
// stream ends with a Terminate then.
//
// When Discard returns, no copy into or out of a Region is in progress for the peer. Discard waits
// for such copies only. A second call waits, too, and does nothing else.
func (q *QP) Discard() { q.stream.Discard() }

// errDiscards is the reason of a Read that completes after Discard.
var errDiscards = errors.New("rdmap: the queue pair discards what the peer sends to its memory")

// Abort ends the stream at once. Nothing more is sent, and every request is flushed, including
// requests whose messages are being sent. So the caller must make sure that nobody refers to their
// payload: either the caller holds the transmit token, or no message has been given out. err is the
// reason; the first reason of the stream counts.
func (q *QP) Abort(err error) {
	q.mu.Lock()
	defer q.unlock()
	if q.state != stateClosed && q.state != stateError {
		q.endLocked(stateError, err)
	}
}

// endLocked takes the QP to a final state and flushes everything.
//
// +checklocks:q.mu
func (q *QP) endLocked(s state, err error) {
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

// settleLocked completes the flushed requests and flushes the receives. It takes the memory of each
// back before it completes the request. It releases mu while it waits for copies into that memory;
// nothing else can complete these requests in the meantime.
//
// +checklocks:q.mu
func (q *QP) settleLocked(reason error) {
	for e, pos := q.sq.flushedSink(0); e != nil; e, pos = q.sq.flushedSink(pos) {
		q.deregisterLocked(pos)
	}
	q.sq.retire(q)
	q.unlocked(func() { q.queues[ddp.QNSend].Flush() })
	for !q.rq.isEmpty() {
		c := Completion{QPNum: q.cfg.QPNum, Status: StatusFlushed, Err: reason}
		if q.rq.blamed != StatusOK {
			c.Status, q.rq.blamed = q.rq.blamed, StatusOK
		}
		q.rq.retire(q.cfg.RecvCQ, c)
	}
}

// deregisterLocked takes the sink of the finished request at pos back from DDP. It releases mu
// meanwhile.
//
// +checklocks:q.mu
func (q *QP) deregisterLocked(pos uint64) {
	e := q.sq.at(pos)
	sink := e.sink
	if sink == nil {
		return
	}
	q.sq.looking++
	q.unlocked(sink.Deregister)
	q.sq.looking--
	// Another goroutine may have deregistered the sink and completed the request. Then the entry
	// may belong to another QP by now.
	if pos >= q.sq.ring.Head() && e.sink == sink {
		e.sink = nil
	}
}

// blameLocked gives a status of its own to the one request that caused the error found by this
// side, if a request did.
//
// +checklocks:q.mu
func (q *QP) blameLocked(t Terminate) {
	if !t.D {
		return
	}
	op, _ := ParseControl(t.DDPHeader[1])
	switch {
	case op == OpReadResponse && t.Code.kind() == taggedError:
		q.sq.endAwaited(WorkRead, StatusLocalProtection, q.err)
	case op == OpAtomicResponse && t.Code == codeUnspecified:
		q.sq.endAwaited(WorkFetchAdd, StatusGeneral, q.err)
	case op.Queue() != ddp.QNSend:
	case t.Code == codeOfDDP(ddp.CodeTooLong):
		q.rq.blamed = StatusLocalLength
	case t.Code == codeInvalidate, t.Code == codeProtectedInvalidate, // an STag that can't be invalidated
		t.Code == codeUnspecified: // Immediate Data of a wrong length
		q.rq.blamed = StatusGeneral
	}
}
