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

	"github.com/rddp/rddp/cmd/rddp/internal/accept"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// The private data with which both ends open:
//
//	| greeting (10 octets) | version (1) | the sender's IdleTimeout in milliseconds (4, big-endian) |
const (
	greeting    = "rddp files"
	version     = 2
	greetingLen = len(greeting) + 1 + 4
)

// appendGreeting appends the private data of an end with this idle time-out. A longer one than fits is said to be 49 days.
func appendGreeting(b []byte, idle time.Duration) []byte {
	b = append(append(b, greeting...), version)
	return binary.BigEndian.AppendUint32(b, uint32(min(max(idle.Milliseconds(), 0), math.MaxUint32)))
}

// parseGreeting returns the idle time-out that the peer's private data states. It reports false if the peer does not speak
// this version of this protocol.
func parseGreeting(b []byte) (idle time.Duration, ok bool) {
	if len(b) != greetingLen || string(b[:len(greeting)]) != greeting || b[len(greeting)] != version {
		return 0, false
	}
	return time.Duration(binary.BigEndian.Uint32(b[len(greeting)+1:])) * time.Millisecond, true
}

// DefaultIdleTimeout is how long a silent peer is waited for.
const DefaultIdleTimeout = 2 * time.Minute

// minPeerIdle is the shortest idle time-out of the peer that is respected: a quarter of it is how often this end says that
// it lives, and the peer should not choose that too freely.
const minPeerIdle = 400 * time.Millisecond

// A session is one end of a connection in DDP mode. One goroutine uses it; those of its own read the messages
// as they come, so that the connection never waits for us, and send busy now and then.
type session struct {
	c     *extsock.Conn
	idle  time.Duration // how long the peer may be silent
	every time.Duration // how often this end says that it lives
	in    chan message  // closed when no more come; longer than what an honest peer has under way
	over  chan struct{} // closed together with in: whatever takes long may look
	cause error         // why; set before in is closed
	done  chan struct{} // closed by close
	tasks sync.WaitGroup
}

// newSession takes over c, which is in DDP mode. The connection ends when ctx is done, and when nothing has come for the
// time of idle. The peer has said that peerIdle is the same for it.
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
				_ = s.c.SetLinger(0) // Close then waits for nothing, also where TCP does not have this setting
			}
			s.c.Close()
		case <-s.done:
		}
	})
	return s
}

// close ends the connection and waits until nothing of the session is left.
func (s *session) close() {
	close(s.done)
	s.c.Close()
	s.tasks.Wait()
}

// read passes the messages on until the connection ends, which it also brings about when the peer is silent
// for too long or talks nonsense.
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
			default: // to wait for room would be to wait for ever, if the user waits for the peer
				err = protocolError("%d messages that nothing has asked for", cap(s.in))
			}
		}
		s.cause = err
		close(s.over)
		close(s.in)
		s.c.Close() // what waits for a completion gets it now
		return
	}
}

func (s *session) next(b []byte) (message, error) {
	s.c.SetReadDeadline(time.Now().Add(s.idle))
	n, err := s.c.Read(b)
	if ne := net.Error(nil); errors.As(err, &ne) && ne.Timeout() {
		return message{}, fmt.Errorf("nothing heard from the peer for %v: %w", s.idle, err)
	}
	if err != nil {
		return message{}, err
	}
	m, err := parseMessage(b[:n])
	if err != nil {
		return message{}, fmt.Errorf("%w: %w", ErrProtocol, err)
	}
	return m, nil
}

// beat tells the peer now and then that this end lives, however long it is busy with its disk.
func (s *session) beat() {
	t := time.NewTicker(s.every)
	defer t.Stop()
	for {
		select {
		case <-t.C:
			if s.post(message{kind: kindBusy}) != nil {
				return // read finds out as well
			}
		case <-s.done:
			return
		}
	}
}

// send posts one message and does not wait: the protocol bounds how many are under way. Memory granted or
// announced by it must be registered already.
func (s *session) send(m message) error {
	if err := s.post(m); err != nil {
		return s.lost(err)
	}
	return nil
}

func (s *session) post(m message) error {
	return s.c.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: m.appendTo(nil), Inline: true, Unsignaled: true})
}

// receive waits for the next message. An error message comes as its *RemoteError, the peer's proper end as
// io.EOF.
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

// expect is receive in the middle of a copy, where only one kind of message is right.
func (s *session) expect(want kind) (message, error) {
	m, err := s.receive()
	if err == io.EOF { //nolint:errorlint // receive returns it as it is
		return message{}, s.lost(io.ErrUnexpectedEOF)
	}
	if err != nil {
		return message{}, err
	}
	if m.kind != want {
		return message{}, protocolError("%v instead of %v", m.kind, want)
	}
	return m, nil
}

// poll is expect that does not wait: without a message it reports false.
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

// ask sends a request and waits for its answer, which is of kind want.
func (s *session) ask(request message, want kind) (message, error) {
	if err := s.send(request); err != nil {
		return message{}, err
	}
	return s.expect(want)
}

// move posts an RDMA Read or Write of p from or to the front of h. p is the connection's until moved.
func (s *session) move(op rdmap.WorkOp, h rdmap.Handle, p []byte) error {
	if err := s.c.Post(&rdmap.WorkRequest{Op: op, Remote: h, Data: p}); err != nil {
		return s.lost(err)
	}
	return nil
}

// moved waits until the oldest move is complete. A connection that ends completes them all.
func (s *session) moved() error {
	d, err := s.c.SendCQ().Wait(context.Background())
	if err != nil {
		return err
	}
	if d.Status != rdmap.StatusOK {
		return s.lost(fmt.Errorf("%v: %w", d.Op, d.Err))
	}
	return nil
}

// lost says why the connection ended. If the server has said why before, that is the reason.
func (s *session) lost(err error) error {
	for range 2 * cap(s.in) { // and not until there are no more, which a peer could put off
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

// isOver reports whether err is about the connection, or leaves it at a point where no other request
// can follow.
func isOver(err error) bool {
	return errors.Is(err, ErrLost) || errors.Is(err, ErrProtocol) || errors.Is(err, io.EOF)
}
