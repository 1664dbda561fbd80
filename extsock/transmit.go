package extsock

import (
	"errors"
	"os"
	"slices"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// This file is the pump's way down: from the queue pair to TCP.

// maxTurns is how many batches a poster, or receive, writes on behalf of others before a goroutine
// takes over from it.
const maxTurns = 4

// transmit is the way down. It writes what the queue pair has to send, unless somebody else is
// already doing so, and never waits for TCP.
func (p *pump) transmit() {
	for p.wanted() {
		if !p.tx.token.CompareAndSwap(false, true) {
			return // the holder looks again after it has let go
		}
		locks.Acquired[locks.Token]()
		over := p.drain(maxTurns)
		locks.Released[locks.Token]()
		if !over {
			go p.tx.finish()
			return
		}
		p.tx.token.Store(false)
	}
}

// transmitAside is transmit by another goroutine.
func (p *pump) transmitAside() {
	if p.wanted() && p.tx.token.CompareAndSwap(false, true) {
		go p.tx.finish()
	}
}

// tryToken takes the transmit token if it is free and output may go out. Then the caller calls transmitHeld.
func (p *pump) tryToken() bool {
	if p.tx.fenced.Load() || !p.life.maySend() || !p.tx.token.CompareAndSwap(false, true) {
		return false
	}
	locks.Acquired[locks.Token]()
	return true
}

// transmitHeld is transmit for a caller that has the token.
func (p *pump) transmitHeld() {
	over := p.drain(maxTurns)
	locks.Released[locks.Token]()
	if !over {
		go p.tx.finish()
		return
	}
	p.letGo()
}

// cancelled has what was queued behind a request that was taken back go on, or the end of the connection.
func (p *pump) cancelled() {
	p.reapStream()
	p.transmit()
	p.freed.broadcast()
}

// finish goes on with the token where transmit would have had to wait.
func (p *pump) finish() {
	locks.Acquired[locks.Token]()
	for !p.drain(0) {
	}
	locks.Released[locks.Token]()
	p.letGo()
}

// letGo gives the token back and looks again: a goroutine that has posted meanwhile has found the token taken, and has
// left its work to the holder.
func (p *pump) letGo() {
	p.tx.token.Store(false)
	p.transmit()
}

// wanted reports whether there is something to write: output, or the FIN that follows it.
func (p *pump) wanted() bool {
	if p.finDue() || p.abortDue() {
		return true
	}
	return !p.tx.fenced.Load() && p.life.maySend() && (p.qp.HasOutput() || p.streamDue())
}

// abortDue reports whether kill waits for the token to flush the queues.
func (p *pump) abortDue() bool {
	s := p.qp.State()
	return p.life.state() == lifeKilled && s != rdmap.StateError && s != rdmap.StateClosed
}

func (p *pump) finDue() bool {
	return p.closing() && !p.life.isFinished() && (!p.life.maySend() || p.qp.Drained())
}

// drain writes batches until nothing is queued. With turns > 0 it never waits, writes at most that
// many, and reports false when it had to stop; with turns 0 it waits for TCP.
func (p *pump) drain(turns int) (over bool) {
	defer func() { // the one recover of the way down
		if value := recover(); value != nil {
			p.drainPanicked(value)
			over = true
		}
	}()
	wait := turns == 0
	if p.tx.batch == nil {
		p.tx.batch = p.tx.loan.get()
	}
	for n := 0; wait || n < turns; n++ {
		if !p.tx.full && !p.fill() {
			p.tx.loan.put(p.tx.batch)
			p.tx.batch = nil
			p.fin()
			return true
		}
		whole, err := p.write(wait)
		if err != nil {
			p.reset()
			p.lost(err)
			continue
		}
		if !whole {
			return false
		}
		done := p.tx.done
		p.tx.done = 0
		p.qp.Sent(done) // the Work Requests wholly in that batch complete now
		p.reapStream()
		p.freed.broadcast()
	}
	return false
}

// reset empties the batch.
func (p *pump) reset() {
	p.tx.mu.Lock()
	defer p.tx.mu.Unlock()
	p.tx.reset()
}

// reset empties the batch. mu is held.
func (tx *tx) reset() {
	tx.full, tx.left = false, nil
	tx.batch.Reset()
}

// fill cuts messages into segments and segments into FPDUs until the batch is full or there is
// nothing to send. It reports whether the batch holds anything.
func (p *pump) fill() bool {
	if !p.life.maySend() || p.tx.fenced.Load() {
		return false
	}
	p.postStream()
	if !p.tx.middle && !p.qp.HasOutput() {
		return false
	}
	tapped := p.cfg.taps.on()
	if !p.fillBatch(p.mulpdu(), tapped) {
		return false
	}
	if tapped { // without tx.mu, so that detach need not wait for a slow Tap
		p.captureSent()
	}
	return true
}

// fillBatch is fill where nothing of the byte stream waits to be posted. With tapped, the batch refers to nobody's payload.
func (p *pump) fillBatch(mulpdu int, tapped bool) bool {
	p.tx.mu.Lock()
	defer p.tx.mu.Unlock()
	for !p.tx.batch.Full() {
		if !p.tx.middle {
			if !p.qp.NextMessage() {
				break
			}
			p.tx.ddp.Start(p.qp.Message())
			p.count.sent.message(p.qp.Message().RsvdULP)
			p.tx.middle = true
		}
		if !p.tx.ddp.Next(mulpdu) { // the Region of a Read Response is gone
			p.tx.middle = false
			p.qp.Fail(p.tx.ddp.Err()) // takes no tx.mu
			p.setReason(p.qp.Err())
			continue
		}
		s := p.tx.ddp.Segment()
		snapshot := s.Snapshot || tapped                              // nobody refers to payload while a Tap is waited for
		p.tx.mpa.Append(p.tx.batch, snapshot, s.Header, s.Payload...) // header copied, payload referenced
		p.count.sent.fpdus.Add(1)
		p.tx.ddp.Release()
		if s.Last {
			p.tx.middle = false
			p.tx.done++
		}
	}
	if p.tx.batch.Len() == 0 {
		return false
	}
	p.count.sent.octets.Add(uint64(p.tx.batch.Len()))
	p.tx.full, p.tx.left = true, p.tx.batch.Bufs()
	return true
}

// mulpdu returns the largest ULPDU to send now, in octets (RFC 5044 §4.5).
func (p *pump) mulpdu() int {
	if p.cfg.maxFPDU > 0 {
		return mpa.MULPDU(p.cfg.maxFPDU, p.cfg.agreement.TxMarkers)
	}
	if p.cfg.largeFPDU {
		return mpa.MaxULPDU
	}
	return mpa.MULPDU(p.stream.EMSS(), p.cfg.agreement.TxMarkers)
}

// write hands what is left of the batch to TCP. Without wait it reports false when TCP did not take
// all of it. While it waits it refers to nobody's payload, so that detach can take it away.
func (p *pump) write(wait bool) (whole bool, err error) {
	var since time.Time // when TCP has last taken something
	for {
		n, whole, err := p.tryWrite()
		switch {
		case whole || err != nil || !wait:
			return whole, err
		case n > 0 || since.IsZero():
			since = time.Now()
		case p.cfg.writeTimeout > 0 && time.Since(since) >= p.cfg.writeTimeout:
			return false, p.writeError(os.ErrDeadlineExceeded)
		}
		p.boundWrite(p.writeLook)
		if err := p.stream.WaitWritable(); err != nil && (p.writeLook == 0 || !errors.Is(err, os.ErrDeadlineExceeded)) {
			return false, err
		}
	}
}

// tryWrite gives TCP what it takes of the batch at once, and empties the batch if that was all.
func (p *pump) tryWrite() (n int, whole bool, err error) {
	p.tx.mu.Lock()
	defer p.tx.mu.Unlock()
	n, err = p.stream.TryWriteBatch(p.tx.left)
	p.tx.left = skip(p.tx.left, n)
	p.tx.taken.Add(uint64(n))
	if whole = len(p.tx.left) == 0; whole && err == nil {
		p.tx.reset()
	}
	return n, whole, err
}

// detach copies what is on its way to TCP and not the pump's own, so that the payload of a Send or Write that has been given
// out is its owner's again. It reports false where that would be too much: the message that has only begun may be of any
// length. If it is another one than data's, it is its owner's business.
func (p *pump) detach(data []byte) bool {
	p.tx.mu.Lock()
	defer p.tx.mu.Unlock()
	if len(p.tx.left) > 0 {
		p.tx.left = [][]byte{slices.Concat(p.tx.left...)}
	}
	return !p.tx.middle || p.tx.ddp.Detach(maxDetached) || !begins(p.qp.Message().Payload, data)
}

// begins reports whether payload is data, the same memory.
func begins(payload [][]byte, data []byte) bool {
	return len(payload) > 0 && len(payload[0]) > 0 && len(data) > 0 && &payload[0][0] == &data[0]
}

// maxDetached bounds what detach copies of a message that has only begun, in octets.
const maxDetached = 4 << 20

// skip takes n octets off the front of bufs.
func skip(bufs [][]byte, n int) [][]byte {
	for len(bufs) > 0 && n >= len(bufs[0]) {
		n -= len(bufs[0])
		bufs = bufs[1:]
	}
	if n > 0 {
		bufs[0] = bufs[0][n:]
	}
	return bufs
}
