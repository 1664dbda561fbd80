package netconn

import (
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"
)

// This file is how a buffered stream ends: its half-close, its Close, and what waits for them.

// halfCloser is a net.Conn that can send a FIN, or what stands for one.
type halfCloser interface{ CloseWrite() error }

func (s *buffered) CloseWrite() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.conn.(halfCloser); !ok && !s.closed {
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
	s.startFeed()
	s.changed.Broadcast()
	return nil
}

// closeWrite is CloseWrite of conn. That of crypto/tls sets a write deadline of
// 5 s, after which the peer could never be told of the end: it is taken away
// again and again, and put back as crypto/tls leaves it.
func (s *buffered) closeWrite() error {
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
				s.conn.SetWriteDeadline(time.Time{})
			case <-done:
				return
			}
		}
	})
	err := c.CloseWrite()
	close(done)
	patience.Wait()
	s.conn.SetWriteDeadline(longAgo)
	return err
}

func (s *buffered) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return net.ErrClosed
	}
	s.closed = true
	s.in.closed.Store(true)
	s.readDeadline.Stop()
	s.writeDeadline.Stop()
	s.changed.Broadcast()
	if _, ok := s.conn.(handshaker); !ok && !s.feeding {
		s.mu.Unlock()
		return s.conn.Close()
	}
	defer s.mu.Unlock()
	s.linger = time.AfterFunc(lingerTimeout, s.abort)
	if s.handshake == shaken {
		s.conn.SetReadDeadline(longAgo) // ends reads under way
	}
	if s.feeding || s.handshake == shaken {
		go s.discard()
	}
	s.startFeed()
	return nil
}

func (s *buffered) Flush(timeout time.Duration) error {
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

// abort closes conn without waiting for the peer: a *tls.Conn would tell it.
func (s *buffered) abort() {
	if c, ok := s.conn.(interface{ NetConn() net.Conn }); ok {
		c.NetConn().Close()
		return
	}
	s.conn.Close()
}

// discard reads what still comes in after Close, until conn is closed. Two ends
// that close with full buffers would else wait for each other, as would two that
// tell each other of the end over a net.Pipe, and TCP would reset the connection
// because of octets that were not read.
func (s *buffered) discard() {
	s.mu.Lock()
	for s.handshake == shakeIdle || s.handshake == shaking { // feed sees to it
		s.changed.Wait()
	}
	s.mu.Unlock()
	s.in.readMu.Lock() // after who was reading
	defer s.in.readMu.Unlock()
	s.conn.SetReadDeadline(time.Time{})
	p := staging.Get().(*[stagingSize]byte)
	defer staging.Put(p)
	for {
		if _, err := s.conn.Read(p[:]); err != nil {
			return
		}
	}
}
