package netconn

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/toe"
)

// lingerTimeout is how long the bytes in the send buffer may take to go out after Close.
const lingerTimeout = 5 * time.Second

// CloseWrite half-closes conn, after the bytes in the send buffer.
func (s *stream) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.can.HalfClose && !s.closed {
		return fmt.Errorf("netconn: half-close of a %T: %w", s.conn, errors.ErrUnsupported)
	}
	switch {
	case s.closed:
		return s.opError("close", net.ErrClosed)
	case s.err != nil:
		return s.opError("close", s.err)
	case s.shut:
		return nil
	}
	s.shut = true
	s.changed.Broadcast()
	if s.buffered || s.feeding {
		s.startFeed()
		return nil
	}
	s.shutOut = true
	var err error
	locks.Unlocked(&s.mu, func() { err = s.closeConnWrite() })
	if err != nil {
		s.shut, s.shutOut = false, false
		if s.closed {
			err = net.ErrClosed
		}
	}
	return s.opError("close", err)
}

// closeConnWrite calls conn's CloseWrite. The one of crypto/tls sets a write deadline of 5 s, after
// which the peer could never learn of the end. closeConnWrite removes that deadline repeatedly, and
// sets it again at the end, as crypto/tls leaves it.
func (s *stream) closeConnWrite() error {
	c := s.conn.(halfCloser)
	if _, ok := s.conn.(handshaker); !ok {
		return c.CloseWrite()
	}
	done := make(chan struct{})
	var patience sync.WaitGroup
	patience.Go(func() {
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_ = panics.Guard(func() error { return s.conn.SetWriteDeadline(time.Time{}) })
			case <-done:
				return
			}
		}
	})
	defer func() { // also if CloseWrite panics
		close(done)
		patience.Wait()
		s.conn.SetWriteDeadline(longAgo)
	}()
	return c.CloseWrite()
}

// Close closes conn after the bytes in the send buffer, but does not wait for them.
func (s *stream) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.closeLocked()
	if _, ok := s.conn.(handshaker); !ok && !s.feeding {
		s.mu.Unlock()
		return s.conn.Close()
	}
	defer s.mu.Unlock()
	s.linger = time.AfterFunc(lingerTimeout, func() { _ = panics.Guard(s.below().Close) }) // TLS would send an alert
	if s.handshake == shaken {
		s.conn.SetReadDeadline(longAgo) // ends reads in progress
	}
	if s.feeding || s.handshake == shaken {
		s.discarding = true
		go s.discard()
	}
	s.startFeed()
	return nil
}

// closeLocked ends the calls in progress that do not wait in conn.
//
// +checklocks:s.mu
func (s *stream) closeLocked() {
	s.closed = true
	s.in.closed.Store(true)
	if s.gate != nil {
		s.gate.Open()
	}
	s.readDeadline.Stop()
	s.writeDeadline.Stop()
	s.changed.Broadcast()
}

// Abort closes the connection below conn, as a reset if that connection can be reset. TLS sends no
// close_notify.
func (s *stream) Abort() error {
	s.mu.Lock()
	again := s.closed
	if !again {
		s.closeLocked()
	}
	s.aborting++
	s.fail(net.ErrClosed)
	s.mu.Unlock()
	err := panics.Guard(s.reset) // the rest is necessary after a panic, too
	s.mu.Lock()
	s.aborting--
	if _, ok := s.conn.(wrapper); ok && !again { // conn itself must be closed, too
		s.startFeed()
	}
	s.changed.Broadcast()
	s.mu.Unlock()
	if again {
		return net.ErrClosed
	}
	if errors.Is(err, net.ErrClosed) { // feed was faster
		return nil
	}
	return err
}

// reset closes the connection below conn, as a reset if it can be one.
func (s *stream) reset() error {
	below := s.below()
	if b, ok := below.(toe.Stream); ok {
		return b.Abort()
	}
	if l, ok := below.(lingerer); ok {
		l.SetLinger(0) // an error means a closed connection, and Close returns it too
	}
	return below.Close()
}

// Flush waits until feed has nothing left to do.
func (s *stream) Flush(timeout time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	late := false
	t := time.AfterFunc(timeout, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		late = true
		s.changed.Broadcast()
	})
	defer t.Stop()
	for s.feeding && !late {
		s.changed.Wait()
	}
	if s.feeding {
		return s.opError("close", os.ErrDeadlineExceeded)
	}
	return s.opError("close", s.err)
}

// Wait waits until the goroutines of the stream have ended: the one of the handshake, the one that
// writes the send buffer, and the one that reads after Close. The only error is ctx.Err().
func (s *stream) Wait(ctx context.Context) error {
	defer context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})()
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.feeding || s.discarding || s.handshake == shaking {
		if err := ctx.Err(); err != nil {
			return err
		}
		s.changed.Wait()
	}
	return nil
}

// discarded records that discard ends.
func (s *stream) discarded() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.discarding = false
	s.changed.Broadcast()
}

// discard reads further input after Close, until conn is closed. Without it, two ends that close
// with full buffers would wait for each other, and so would two ends that both send their end over
// a net.Pipe. TCP would also reset the connection because of unread bytes.
func (s *stream) discard() {
	defer s.discarded()
	s.mu.Lock()
	for s.handshake == shakeIdle || s.handshake == shaking { // feed starts it and waits for its end
		s.changed.Wait()
	}
	s.mu.Unlock()
	_ = panics.Guard(s.readToEnd) // the error is not needed
}

// readToEnd reads and drops all input until conn is closed.
func (s *stream) readToEnd() error {
	s.in.lock() // after the read in progress
	defer s.in.unlock()
	s.conn.SetReadDeadline(time.Time{})
	if s.wire != nil {
		s.wire.waits = true
	}
	p := scratch.Get().(*[chunkSize]byte)
	defer scratch.Put(p)
	for {
		if _, err := s.conn.Read(p[:]); err != nil {
			return err
		}
	}
}
