package netconn

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"time"

	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/internal/tlshandshake"
)

// handshakeTimeout bounds a TLS handshake, whatever the deadlines are.
const handshakeTimeout = 10 * time.Second

// A handshake is the state of the handshake of a net.Conn. It begins as idle or as shaken:
//
//	idle ──▶ shaking ──▶ shaken
//	            └──────▶ failed
type handshake uint8

const (
	shakeIdle   handshake = iota // nobody has used the stream
	shaking                      // the handshake is in progress
	shaken                       // it is done, or the net.Conn has none
	shakeFailed                  // it has failed
)

var handshakeNames = [...]string{"idle", "shaking", "shaken", "failed"}

func (h handshake) String() string { return handshakeNames[h] }

var handshakeNext = states.Table[handshake]{
	shakeIdle:   states.To(shaking),
	shaking:     states.To(shaken, shakeFailed),
	shaken:      0,
	shakeFailed: 0,
}

// ready waits until the handshake is done. If nothing can be read, whether bytes are there or not,
// it returns the reason. An empty read does not wait.
func (s *stream) ready(empty bool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed:
			return net.ErrClosed
		case empty:
			return nil
		case s.readDeadline.Passed():
			return os.ErrDeadlineExceeded
		case s.handshake == shaken:
			return nil
		case s.handshake == shakeFailed:
			return s.shakeErr
		}
		s.startHandshake()
		s.changed.Wait()
	}
}

// Handshake waits until the handshake of TLS is done, if there is one, or until ctx is done.
func (s *stream) Handshake(ctx context.Context) error {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.changed.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		switch {
		case s.closed:
			return s.opError("handshake", net.ErrClosed)
		case s.handshake == shaken:
			return nil
		case s.handshake == shakeFailed:
			return s.opError("handshake", s.shakeErr)
		case ctx.Err() != nil:
			return ctx.Err()
		}
		s.startHandshake()
		s.changed.Wait()
	}
}

// TLS returns the state of TLS. It returns nil if there is none, or if its handshake is not done,
// and does not wait.
func (s *stream) TLS() *tls.ConnectionState {
	c, ok := s.conn.(interface{ ConnectionState() tls.ConnectionState })
	s.mu.Lock()
	done := s.handshake == shaken
	s.mu.Unlock()
	if !ok || !done {
		return nil
	}
	state := c.ConnectionState()
	return &state
}

// looksOnce reports whether TLS, after the handshake of c, reads each byte of a record once. TLS
// 1.3 encrypts, and authenticates what it has encrypted. Some suites of TLS 1.2 authenticate the
// bytes themselves and encrypt them afterwards. If a byte of registered memory changes in between,
// the peer refuses the record.
func looksOnce(c net.Conn) bool {
	s, ok := c.(interface{ ConnectionState() tls.ConnectionState })
	return ok && s.ConnectionState().Version >= tls.VersionTLS13
}

// startHandshake starts the handshake if it has not been started.
//
// +checklocks:s.mu
func (s *stream) startHandshake() {
	if s.handshake == shakeIdle {
		handshakeNext.Become(&s.handshake, shaking)
		go s.shake()
	}
}

// shake performs the handshake. A deadline would end it for good, so conn has none during the
// handshake.
func (s *stream) shake() {
	ctx, cancel := context.WithTimeout(context.Background(), handshakeTimeout)
	defer cancel()
	// This calls code of the program: the callbacks of its tls.Config, and the methods of its
	// net.Conn.
	oneLook := false
	err := panics.Guard(func() error {
		if err := tlshandshake.Server(ctx, s.conn.(handshaker)); err != nil {
			return err
		}
		oneLook = looksOnce(s.conn)
		return nil
	})
	switch {
	case err == nil:
	case ctx.Err() != nil: // the error of ctx would look like a deadline of the user's
		err = fmt.Errorf("netconn: no handshake within %v", handshakeTimeout)
	case errors.Is(err, io.EOF): // not the peer's orderly end: anybody could have sent the FIN
		err = fmt.Errorf("netconn: handshake: %w", io.ErrUnexpectedEOF)
	default:
		err = fmt.Errorf("netconn: handshake: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.changed.Broadcast()
	s.oneLook = oneLook
	if err != nil {
		handshakeNext.Become(&s.handshake, shakeFailed)
		s.shakeErr, s.err = err, err
		return
	}
	handshakeNext.Become(&s.handshake, shaken)
	if !s.closed {
		at := s.readDeadline.At()
		_ = panics.Guard(func() error { return s.conn.SetReadDeadline(at) }) // a Read gets the error
	}
}
