package driver

import (
	"errors"
	"os"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/conn/observe"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A streamSender is the way out, from messages to the stream: the sender, and the state that
// concerns the stream. The holder of the transmit token owns it, except token, fenced and taken,
// which any goroutine may use.
type streamSender struct {
	sender
	// fenced holds back all output until the Initiator's first FPDU has arrived. "MPA Responder
	// mode implementations MUST receive and validate at least one FPDU before sending any FPDUs or
	// Markers." (RFC 5044 §7.1.2) The fence is not a state of the connection's life: Close may come
	// before that FPDU, and the queued output then still waits for that FPDU.
	fenced atomic.Bool
	taken  atomic.Uint64 // bytes that TCP has taken

	loan  loan // of the batch
	token token

	goOn    func() // starts a goroutine that calls sendRest; nil until it is needed first
	starter starter

	// The parts that it takes from and writes to, except those of sender.
	stream toe.Stream
	bytes  *byteStream // nil in message mode
	end    *ending
	taps   *observe.Taps // nil: none

	maxFPDU   int  // Config.MaxFPDU
	largeFPDU bool // Config.LargeFPDU
	markers   bool // this end sends Markers
	aligns    bool // the stream declares Aligns
	open      bool // the connection had not ended when tryWrite last gave TCP something

	writeTimeout time.Duration // Config.WriteTimeout
	// writeLook is the interval between two looks whether TCP has taken something; 0 means never.
	// The operating system calls a send buffer full until a good part of it is free, and a slow
	// peer may need a long time for that part.
	writeLook time.Duration
}

// A starter makes goOn of a streamSender.
type starter interface{ goOn() func() }

// Any goroutine may call the methods from here to transmitAside.

// wanted reports whether there is something to send: output, or the FIN after it.
func (t *streamSender) wanted() bool {
	if t.end.finDue() || t.end.abortDue() {
		return true
	}
	return !t.fenced.Load() && t.end.life.maySend() && (t.qp.HasOutput() || t.streamDue())
}

// streamDue reports whether the byte stream has something to post.
func (t *streamSender) streamDue() bool {
	return t.bytes != nil && t.bytes.due.Load() && t.qp.IsReady()
}

// reapStream is reap of the byte stream, if there is one.
func (t *streamSender) reapStream() {
	if t.bytes != nil {
		t.bytes.reap()
	}
}

// tryToken takes the transmit token if it is free and output may go out. The caller then calls
// transmitHeld or passOn.
func (t *streamSender) tryToken() bool {
	return !t.fenced.Load() && t.end.life.maySend() && t.token.tryTake()
}

// transmitAside starts a goroutine that transmits.
func (t *streamSender) transmitAside() {
	if t.wanted() && t.token.tryTake() {
		t.passOn()
	}
}

// The methods from here on are for the holder of the token.

// passOn gives the token to a new goroutine, which may wait for TCP.
func (t *streamSender) passOn() {
	if t.goOn == nil {
		t.goOn = t.starter.goOn()
	}
	t.token.handOver()
	t.goOn()
}

// beginBatch borrows the batch.
func (t *streamSender) beginBatch() {
	if t.batch == nil {
		t.batch = t.loan.getBatch()
		t.batch.Apart = t.isAligned()
	}
}

// endBatch returns the batch, which is empty.
func (t *streamSender) endBatch() {
	t.loan.putBatch(t.batch)
	t.batch = nil
}

// drop gives up everything that is on its way, after a panic. The bytes of the batch are lost.
func (t *streamSender) drop() {
	t.ddp.Release() // the Region that it may hold is not used any more
	t.batch = nil
	t.abandon()
	t.loan.end()
}

// fill makes FPDUs of what is to be sent, until the batch is full or nothing is left. It reports
// whether the batch holds anything. While the connection has a Tap, the batch holds copies of the
// payload.
func (t *streamSender) fill() (filled bool) {
	if !t.end.life.maySend() || t.fenced.Load() {
		return false
	}
	t.postStream()
	if !t.hasOutput() {
		return false
	}
	mulpdu, tapped := t.mulpdu(), t.taps.On()
	filled = t.cut(mulpdu, tapped)
	if !t.refers && t.ddp.Err() != nil {
		t.end.setReason(t.qp.Err())
	}
	if filled && tapped {
		t.captureSent()
	}
	return filled
}

// mulpdu returns the largest ULPDU to send now, in octets (RFC 5044 §4.5). A peer asks for Markers
// to find FPDUs in segments that arrive behind a gap, so each FPDU must fit a segment.
func (t *streamSender) mulpdu() int {
	if t.maxFPDU > 0 {
		return mpa.MULPDU(t.maxFPDU, t.markers)
	}
	if t.largeFPDU && !t.markers {
		return mpa.MaxULPDU
	}
	return mpa.MULPDU(t.stream.EMSS(), t.markers)
}

// isAligned reports whether FPDUs go out as entries of their own, so that TCP segments end where
// FPDUs end: they do if TCP can do that, and the FPDUs fit segments.
func (t *streamSender) isAligned() bool {
	return t.aligns && (!t.largeFPDU || t.markers)
}

// writeBatch gives the rest of the batch to TCP. If wait is not set, it reports false if TCP did
// not take all of the batch.
func (t *streamSender) writeBatch(wait bool) (whole bool, err error) {
	var since time.Time // when TCP has last taken something
	for {
		n, whole, err := t.tryWrite()
		switch {
		case whole || err != nil || !wait:
			return whole, err
		case n > 0 || since.IsZero():
			since = time.Now()
		case t.writeTimeout > 0 && time.Since(since) >= t.writeTimeout:
			return false, t.writeError(os.ErrDeadlineExceeded)
		}
		if err := t.awaitWritable(); err != nil && (t.writeLook == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return false, err
		}
	}
}

// batchSent completes the messages of a batch that TCP has taken. Under the same lock, the byte
// stream learns whether that was before the end of the connection.
func (t *streamSender) batchSent() {
	s := t.bytes
	if s == nil || !s.waiting.Load() {
		t.sent()
		return
	}
	s.mu.Lock()
	defer s.unlockReaped() // also if a layer panics: others need the lock to end the connection
	t.sent()
	s.reapLocked()
	if t.open && s.writeErr == nil && s.writing && s.tx.IsSent() {
		s.sent = true
	}
}

// awaitWritable waits until TCP may take more. The token is down, so detach can copy payload
// meanwhile.
func (t *streamSender) awaitWritable() error {
	t.token.setDown()
	defer t.token.pickUp()
	t.boundWrite(t.writeLook)
	return t.stream.WaitWritable()
}

// tryWrite gives TCP as much of the batch as it takes at once. If that is all, tryWrite empties the
// batch.
func (t *streamSender) tryWrite() (n int, whole bool, err error) {
	t.open = t.end.life.state() == lifeOpen
	n, err = t.stream.TryWriteBatch(t.batch.Bufs())
	t.batch.Take(n)
	t.settle()
	t.taken.Add(uint64(n))
	if whole = len(t.batch.Bufs()) == 0; whole && err == nil {
		t.emptied()
	}
	return n, whole, err
}

// postStream posts the requests that the byte stream has.
func (t *streamSender) postStream() {
	s := t.bytes
	if s == nil || !s.due.Load() {
		return
	}
	s.mu.Lock()
	defer s.unlock()
	t.postLocked(s)
	if s.appending {
		s.room.Wake()
	}
}

// postLocked is postStream for a caller that also holds the byte stream's lock. If nothing else is
// queued, postLocked begins the first message under the same lock of the queue pair.
//
// +checklocks:s.mu
func (t *streamSender) postLocked(s *byteStream) {
	w := &s.request
	for s.tx.Next(w) {
		w.CQ = s.queueLocked(w.ID)
		err := t.postNext(w)
		w.Data, w.Gather = nil, nil // so that an idle connection refers to no chunk
		if err != nil {
			s.tx.Full()
			return
		}
		s.tx.Posted()
	}
}

// postNext posts w. If nothing else is queued, postNext begins w's message under the same lock of
// the queue pair.
func (t *streamSender) postNext(w *rdmap.WorkRequest) error {
	if t.stage.isMiddle() {
		return t.qp.PostSend(w)
	}
	next, err := t.qp.PostNext(w)
	if next {
		t.begun()
	}
	return err
}

// writeLook returns the interval between two looks whether TCP has taken something; 0 means never.
func writeLook(cfg *Config) time.Duration {
	look := max(cfg.WriteTimeout, 0)
	if cfg.IdleTimeout > 0 && (look == 0 || idleLook(cfg.IdleTimeout) < look) {
		look = idleLook(cfg.IdleTimeout)
	}
	return look
}

// boundWrite bounds how long the next write, or the wait for it, may take. 0 means no bound.
func (t *streamSender) boundWrite(limit time.Duration) {
	if limit > 0 {
		// The stream may be closed, and then the next call returns the same error. Or it has no
		// deadlines.
		_ = t.stream.SetWriteDeadline(time.Now().Add(limit))
	}
}

// writeError returns the error that a Write reports for an error of a bounded write.
func (t *streamSender) writeError(err error) error {
	if t.writeTimeout > 0 && errors.Is(err, os.ErrDeadlineExceeded) {
		t.count.Add(counters.WriteLimits, 1)
		return ErrWriteTimeout
	}
	return err
}

// captureSent shows a batch that is about to be written. All of its bytes must be in the batch's
// own memory. captureSent sets the token down while a slow Tap looks.
func (t *streamSender) captureSent() {
	t.token.setDown()
	defer t.token.pickUp()
	t.taps.Sent(t.batch.Bufs(), t.mpa.Off()-uint64(t.batch.Len()), t.markers)
}
