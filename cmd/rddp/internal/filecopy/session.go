package filecopy

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"sync"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/errtext"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/rdmap"
)

// The MPA private data of both ends:
//
//	| greeting (10 octets) | version (1) | the sender's IdleTimeout in milliseconds (4, big-endian) |
const (
	greeting    = "rddp files"
	version     = 2
	greetingLen = len(greeting) + 1 + 4
)

// appendGreeting appends the private data of an end with this idle timeout. If the timeout does not
// fit, 49 days are sent.
func appendGreeting(b []byte, idle time.Duration) []byte {
	b = append(append(b, greeting...), version)
	return binary.BigEndian.AppendUint32(b, uint32(min(max(idle.Milliseconds(), 0), math.MaxUint32)))
}

// parseGreeting returns the idle timeout in the peer's private data. It reports false if the peer
// does not speak this version of this protocol.
func parseGreeting(b []byte) (idle time.Duration, ok bool) {
	if len(b) != greetingLen || string(b[:len(greeting)]) != greeting || b[len(greeting)] != version {
		return 0, false
	}
	return time.Duration(binary.BigEndian.Uint32(b[len(greeting)+1:])) * time.Millisecond, true
}

// DefaultIdleTimeout is the maximum time to wait for a silent peer.
const DefaultIdleTimeout = 2 * time.Minute

// DefaultGrace is the time that connections have to end with the server, for ServerConfig.Grace.
const DefaultGrace = 5 * time.Second

// minPeerIdle is the minimum for the peer's idle timeout. This end reports that it is alive in a
// quarter of that time, and the peer must not make it do so too often.
const minPeerIdle = 400 * time.Millisecond

// A session is one end of a connection in DDP mode. Only one goroutine may use it. The session runs
// two goroutines: one reads messages as they arrive, so that the connection never waits for this
// end, and the other sends busy messages.
type session struct {
	c     *extsock.Conn
	idle  time.Duration // how long the peer may be silent
	every time.Duration // the interval at which this end reports that it is alive
	in    chan message  // closed after the last message; its capacity is more than an honest peer uses
	over  chan struct{} // closed together with in, for long work to check
	cause error         // the reason; set before in is closed
	done  chan struct{} // closed by close
	tasks sync.WaitGroup
}

// newSession takes ownership of c, which must be in DDP mode. The connection ends when ctx is done,
// or when nothing has arrived for the time idle. peerIdle is the peer's idle timeout, as announced
// by the peer.
func newSession(ctx context.Context, c *extsock.Conn, idle, peerIdle time.Duration) *session {
	s := &session{
		c: c, idle: idle, every: max(min(idle, max(peerIdle, minPeerIdle))/4, time.Millisecond), in: make(chan message, 2*window), over: make(chan struct{}), done: make(chan struct{}),
	}
	s.tasks.Go(s.read)
	s.tasks.Go(s.beat)
	s.tasks.Go(func() {
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), accept.ErrDisplaced) {
				_ = s.c.SetLinger(0) // so Close does not wait, even if TCP does not support the setting
			}
			s.c.Close()
		case <-s.done:
		}
	})
	return s
}

// close ends the connection and waits for the session's goroutines.
func (s *session) close() {
	close(s.done)
	s.c.Close()
	s.tasks.Wait()
}

// read passes the messages on until the connection ends. It ends the connection itself if the peer
// is silent for too long or sends an invalid message.
func (s *session) read() {
	b := make([]byte, maxMessage)
	for {
		m, err := s.next(b)
		if err == nil && m.kind == kindBusy {
			continue
		}
		if err == nil {
			select {
			case s.in <- m:
				continue
			default: // waiting for room could take forever, if the user of the session waits for the peer
				err = protocolError("%d messages that nothing has asked for", cap(s.in))
			}
		}
		s.cause = err
		close(s.over)
		close(s.in)
		s.c.Close() // completes the waiting calls
		return
	}
}

func (s *session) next(b []byte) (message, error) {
	s.c.SetReadDeadline(time.Now().Add(s.idle))
	n, err := s.c.Read(b)
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		return message{}, &plainError{fmt.Sprintf("nothing heard from the peer for %v", s.idle), err}
	}
	if err != nil {
		return message{}, errtext.Brief(err)
	}
	m, err := parseMessage(b[:n])
	if err != nil {
		return message{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return m, nil
}

// beat reports regularly to the peer that this end is alive, even while it is busy with its disk.
func (s *session) beat() {
	t := time.NewTicker(s.every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if s.post(message{kind: kindBusy}) != nil {
				return // read gets the same error
			}
		case <-s.done:
			return
		}
	}
}

// send posts one message. It does not wait, because the protocol bounds the number of outstanding
// messages. Memory that the message grants or announces must already be registered.
func (s *session) send(m message) error {
	if err := s.post(m); err != nil {
		return s.lost(errtext.Brief(err))
	}
	return nil
}

func (s *session) post(m message) error {
	return s.c.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: m.appendTo(nil), Inline: true, Unsignaled: true})
}

// receive waits for the next message. It returns an error message as a *RemoteError, and the peer's
// orderly end as io.EOF.
func (s *session) receive() (message, error) {
	m, ok := <-s.in
	switch {
	case !ok && errors.Is(s.cause, io.EOF):
		return message{}, io.EOF
	case !ok:
		return message{}, s.lost(s.cause)
	case m.kind == kindError:
		return message{}, m.remoteError()
	}
	return m, nil
}

// expect is receive during a copy, when only one kind of message is allowed.
func (s *session) expect(want kind) (message, error) {
	m, err := s.receive()
	if err == io.EOF { //nolint:errorlint // receive returns it as it is
		return message{}, s.lost(errtext.Brief(io.ErrUnexpectedEOF))
	}
	if err != nil {
		return message{}, err
	}
	if m.kind != want {
		return message{}, protocolError("%v instead of %v", m.kind, want)
	}
	return m, nil
}

// poll is expect without waiting. ok is false if there is no message.
func (s *session) poll(want kind) (m message, ok bool, err error) {
	select {
	case <-s.over:
	default:
		if len(s.in) == 0 {
			return message{}, false, nil
		}
	}
	m, err = s.expect(want)
	return m, true, err
}

// ask sends a request and waits for its answer, which must be of kind want.
func (s *session) ask(request message, want kind) (message, error) {
	if err := s.send(request); err != nil {
		return message{}, err
	}
	return s.expect(want)
}

// move posts an RDMA Read or Write of p, from or to the beginning of h. The connection uses p until
// moved returns.
func (s *session) move(op rdmap.WorkOp, h rdmap.Handle, p []byte) error {
	if err := s.c.Post(&rdmap.WorkRequest{Op: op, Remote: h, Data: p}); err != nil {
		return s.lost(errtext.Brief(err))
	}
	return nil
}

// moved waits until the oldest move is complete. The end of the connection completes all moves.
func (s *session) moved() error {
	d, err := s.c.SendCQ().Wait(context.Background())
	if err != nil {
		return err
	}
	if d.Status != rdmap.StatusOK {
		return s.lost(fmt.Errorf("%v: %w", d.Op, errtext.Brief(d.Err)))
	}
	return nil
}

// lost returns the reason for the end of the connection. If the server has sent an error message,
// lost returns that error.
func (s *session) lost(err error) error {
	for range 2 * cap(s.in) { // not all messages, because a peer could send more forever
		select {
		case m, ok := <-s.in:
			if ok && m.kind == kindError {
				return m.remoteError()
			}
			if ok {
				continue
			}
			if s.cause != nil && !errors.Is(s.cause, net.ErrClosed) {
				err = s.cause
			}
			if errors.Is(err, ErrProtocol) {
				return err
			}
		default:
		}
		break
	}
	return fmt.Errorf("%w: %w", ErrLost, err)
}

// isOver reports whether no other request can follow on the connection after err.
func isOver(err error) bool {
	return errors.Is(err, ErrLost) || errors.Is(err, ErrProtocol) || errors.Is(err, io.EOF)
}
