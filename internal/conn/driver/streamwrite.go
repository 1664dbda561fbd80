package driver

import (
	"math"
	"os"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/wait"
)

// A streamWriter runs Write on a byte stream: it chooses how the bytes go, and waits. The
// goroutines of Writes call its methods. The Write under way (byteStream.writing) owns choice, and
// any Write may use the rest.
type streamWriter struct {
	out       transmitter
	bytes     *byteStream
	tx        *streamSender
	role      *role
	end       *ending
	crossover int // Config.Crossover

	turn   wait.Cell         // a Write has ended, so the next one may begin
	wrote  atomic.Int64      // when the last Write that a burst may include ended, as sinceStart in ns
	choice bytestream.Choice // the long Write under way owns it
}

// A transmitter sends what has been posted. It is the Driver.
type transmitter interface {
	transmit()
	transmitHeld()
	detach(data []byte, id uint64) bool
}

// write is Driver.Write in stream mode.
func (w *streamWriter) write(p []byte, limit *wait.Deadline) (n int, err error) {
	switch {
	case limit.HasPassed():
		return 0, os.ErrDeadlineExceeded
	case len(p) < bytestream.Combine, len(p) <= bytestream.CombineInBurst && w.isQuick():
		return w.writeShort(p, limit)
	}
	n, err = w.writeOwn(p, limit.Done())
	if err == nil && len(p) <= bytestream.CombineInBurst {
		w.wrote.Store(int64(sinceStart()))
	}
	return n, err
}

// gap returns the time since the end of the last Write that a burst may include.
func (w *streamWriter) gap() time.Duration {
	return sinceStart() - time.Duration(w.wrote.Load())
}

// writeShort copies p to the data that is pending. If there is no room for all of p, the Write is
// under way from then on, as a long one is, and waits. p is short, or belongs to a burst.
func (w *streamWriter) writeShort(p []byte, limit *wait.Deadline) (int, error) {
	gap := time.Duration(math.MaxInt64)
	answers := w.bytes.heard.Load() // then p is in no burst, and the time does not matter
	if !answers {
		gap = w.gap()
	}
	n, busy, err := w.append(p, gap, false)
	if busy { // another Write is under way
		n, err = w.appendInTurn(p, gap, limit.Done())
	}
	if err == nil && n < len(p) {
		n, err = w.appendRest(p, n, limit.Done())
	}
	if err == nil && !answers {
		w.wrote.Store(int64(sinceStart()))
	}
	return n, err
}

// append copies as much of p to the pending data as there is room for, and sends the data. gap is
// the time since the last Write. It counts for a short Write only; for others isQuick has noted it.
// If append does not copy all of p, the Write is under way afterwards. If another Write is under
// way, append does nothing and busy is true. underWay says that this Write is under way already.
func (w *streamWriter) append(p []byte, gap time.Duration, underWay bool) (n int, busy bool, err error) {
	s := w.bytes
	held := w.tx.tryToken() // then the message is posted under the same lock
	s.mu.Lock()
	quick := s.burst.IsOn()
	if !underWay && len(p) < bytestream.Combine {
		quick = s.burst.IsQuick(gap, s.heard.Swap(false))
	}
	busy = s.writing && !underWay
	if !busy {
		if underWay {
			err = w.goOnLocked(true)
		} else {
			_, err = w.beginLocked()
		}
		if err == nil {
			if n = s.tx.Append(p, s.aheadLocked(quick)); n == 0 && underWay {
				err = w.goOnLocked(false)
			}
			s.writing, s.appending = underWay || n < len(p), n < len(p)
		}
	}
	if held && !quick {
		w.tx.postLocked(s)
	}
	s.unlock()
	switch {
	case held && quick && w.tx.wanted():
		w.tx.passOn()
	case held:
		w.out.transmitHeld()
	case quick:
		w.tx.transmitAside()
	default:
		w.out.transmit()
	}
	return n, busy, err
}

// beginLocked returns why no Write may begin, or nil if one may. last says that it is the last
// Write; the peer throws its bytes away.
//
// +checklocks:w.bytes.mu
func (w *streamWriter) beginLocked() (last bool, err error) {
	s := w.bytes
	if err = w.errLocked(); err == nil {
		return false, nil
	}
	if s.last == lastAhead && s.writeErr == nil && w.end.peerLeft() {
		s.setLastLocked(lastBegun)
		return true, nil
	}
	s.setLastLocked(lastOver)
	return false, err
}

// errLocked returns why the stream takes no more data, or nil if it does.
//
// +checklocks:w.bytes.mu
func (w *streamWriter) errLocked() error {
	if w.bytes.writeErr != nil {
		return w.bytes.writeErr
	}
	if w.end.life.state() != lifeOpen {
		return asWriteError(w.end.life.why())
	}
	return nil
}
