package driver

import (
	"os"
	"time"

	"github.com/rddp/rddp/extsock/internal/wait"

	"github.com/rddp/rddp/extsock/internal/bytestream"
	"github.com/rddp/rddp/internal/locks"
)

// A streamWriter is Write on a byte stream: which way bytes go, and waiting for what a Write has to wait for.
type streamWriter struct {
	p *Driver
	s *byteStream

	lock   chan struct{} // capacity 1: held by the Write under way, which has the others
	begin  time.Time
	burst  bytestream.Burst
	choice bytestream.Choice
}

func newStreamWriter(p *Driver) *streamWriter {
	return &streamWriter{p: p, s: p.bytes, lock: make(chan struct{}, 1), begin: time.Now()}
}

// write is Write.
func (w *streamWriter) write(p []byte, over <-chan struct{}) (n int, err error) {
	if wait.IsClosed(over) {
		return 0, os.ErrDeadlineExceeded
	}
	select {
	case w.lock <- struct{}{}:
		locks.Acquired[locks.Writer]()
		defer func() { locks.Released[locks.Writer](); <-w.lock }()
	case <-over:
		return 0, os.ErrDeadlineExceeded
	}
	if len(p) < bytestream.Combine {
		return w.writeShort(p, over)
	}
	crossover, err := w.crossover(len(p), over)
	if err != nil || crossover <= 0 || len(p) < crossover || !w.mayOffer() {
		return w.writeLong(p, 0, over)
	}
	offered := w.p.cfg.Crossover > 0 || w.choice.Next()
	if !offered {
		crossover = 0
	}
	begin := time.Now()
	n, err = w.writeLong(p, crossover, over)
	if err == nil {
		w.choice.Took(offered, time.Since(begin), n)
	}
	return n, err
}

// crossover returns from which length on a Write may be offered, for one of n bytes. An error is that of the
// measurement.
func (w *streamWriter) crossover(n int, over <-chan struct{}) (int, error) {
	if v := w.p.crossover(); v != 0 || n < measureFrom {
		return v, nil
	}
	return w.p.measureCrossover(over)
}

// measureFrom is the length in bytes of a Write that is worth a measurement.
const measureFrom = 256 << 10

// mayOffer reports whether rendezvous have not been given up.
func (w *streamWriter) mayOffer() bool {
	w.s.mu.Lock()
	defer w.s.mu.Unlock()
	return w.s.tx.MayOffer()
}

// writeShort copies p to what is pending.
func (w *streamWriter) writeShort(p []byte, over <-chan struct{}) (n int, err error) {
	s := w.s
	quick := w.burst.IsQuick(time.Since(w.begin), s.heard.Swap(false))
	for {
		held := !quick && w.p.tryToken() // then the message is posted under the same lock
		s.mu.Lock()
		err := w.errLocked()
		if err == nil {
			n += s.tx.Append(p[n:])
			if held {
				s.postLocked(w.p.qp)
			}
		}
		s.unlock()
		switch {
		case held:
			w.p.transmitHeld()
		case err != nil:
		case quick:
			w.p.transmitAside()
		default:
			w.p.transmit()
		}
		if err != nil {
			return n, err
		}
		if n == len(p) {
			w.burst.Wrote(time.Since(w.begin))
			return n, nil
		}
		if err := w.await(over, false); err != nil {
			return n, err
		}
	}
}

// writeLong sends p from where it is, behind what is pending: by rendezvous as far as the reader goes along, if crossover is
// not 0, and the rest as data.
func (w *streamWriter) writeLong(p []byte, crossover int, over <-chan struct{}) (n int, err error) {
	s := w.s
	s.mu.Lock()
	if err := w.errLocked(); err != nil {
		s.unlock()
		return 0, err
	}
	s.tx.Post(p, crossover)
	s.unlock()
	for waited := false; ; waited = true {
		w.p.transmit()
		ended, owns, n, err := w.look(waited)
		if ended {
			if err != nil {
				w.p.transmit() // the end of the stream may have waited for this
			}
			return n, err
		}
		if err := w.await(over, owns); err != nil {
			n := w.takeBack()
			w.p.transmit() // so may it here
			if n == len(p) {
				return n, nil // TCP, too, would have taken it by now
			}
			return n, err
		}
	}
}

// look looks whether the long Write is over, and ends it then. n is how many of its bytes go out, owns whether requests
// refer to its memory. A Write that has waited fails if the stream has ended meanwhile.
func (w *streamWriter) look(waited bool) (ended, owns bool, n int, err error) {
	s := w.s
	s.mu.Lock()
	defer s.unlock()
	ended, owns = s.tx.Write()
	if !ended || waited {
		if err = w.errLocked(); err != nil {
			s.tx.GiveUp()
			ended, owns = s.tx.Write()
		}
	}
	if ended {
		n = s.tx.End()
	}
	return ended, owns, n, err
}

// await waits until the writer is to look again. At the end of the connection that is at once, unless what
// it has posted will still be flushed.
func (w *streamWriter) await(over <-chan struct{}, owns bool) error {
	ended := w.p.life.ending
	if owns {
		ended = nil
	}
	w.p.role.setWriting(true)
	defer w.p.role.setWriting(false)
	select {
	case <-w.s.room:
	case <-w.s.cq.Ready():
		w.s.reap()
	case <-ended:
	case <-over:
		return os.ErrDeadlineExceeded
	}
	return nil
}

// takeBack ends a long Write whose time is over: its memory is the caller's again. What has begun to go out, and all before
// it, does so from a copy. It returns how many bytes that is.
func (w *streamWriter) takeBack() (n int) {
	s := w.s
	s.mu.Lock()
	s.tx.GiveUp()
	for id := range s.tx.Posts() {
		if !w.p.qp.Cancel(s.cq, id) {
			break // and those before it have been given out, too
		}
	}
	s.reapLocked()
	_, owns := s.tx.Write()
	s.unlock()
	if owns {
		w.p.detach(nil) // no message of the stream is too long for it
	}
	s.mu.Lock()
	defer s.unlock()
	s.tx.Detached()
	return s.tx.End()
}

// errLocked says why nothing can be written any more.
//
// +checklocks:w.s.mu
func (w *streamWriter) errLocked() error {
	if w.s.writeErr != nil {
		return w.s.writeErr
	}
	if wait.IsClosed(w.p.life.ending) {
		return asWriteError(w.p.why())
	}
	return nil
}
