package ping

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// messageLen is the length of every message in both directions: a Handle, or a go-ahead.
const messageLen = 16

// goAhead is the content of the server's messages.
var goAhead [messageLen]byte

// A session is one end of a connection. It runs one operation at a time and waits for its
// completion. Only one goroutine may use it.
type session struct {
	conn *extsock.Conn
	cfg  *Config
	n    int // the current ping, counted from 0; -1 before the first
	// recv contains the posted buffers, by the ID of their Recv.
	recv [receives][messageLen]byte
}

// newSession posts the receive buffers. They must be posted before the peer's first Send, and
// therefore before the switch to DDP mode. newSession takes ownership of conn, even on an error.
func newSession(conn *extsock.Conn, cfg *Config) (*session, error) {
	s := &session{conn: conn, cfg: cfg, n: -1}
	for id := range s.recv {
		if err := s.post(uint64(id)); err != nil {
			conn.Close()
			return nil, err
		}
	}
	return s, nil
}

func (s *session) post(id uint64) error {
	return s.conn.PostRecv(rdmap.RecvRequest{ID: id, Buf: s.recv[id][:]})
}

// start runs MPA startup.
func (s *session) start(ctx context.Context, startup func(ctx context.Context, privateData []byte) error) error {
	if err := startup(ctx, nil); err != nil {
		return s.fail(fmt.Sprintf("MPA startup with %v", s.conn.RemoteAddr()), err)
	}
	state := s.conn.ConnectionState()
	ird, ord := state.IRD, state.ORD
	s.cfg.trace(ctx, "connected", s.n, "peer", s.conn.RemoteAddr(), "ird", ird, "ord", ord)
	return nil
}

// fail returns an *Error for a failed step.
func (s *session) fail(step string, err error) error {
	return &Error{Ping: s.n, Step: step, Err: bounded(err, s.cfg.timeout())}
}

// receive waits for the peer's next message, returns its bytes and posts its buffer again. If
// isClosed(err) is true, the peer has closed the connection in an orderly way.
func (s *session) receive(ctx context.Context) (message [messageLen]byte, err error) {
	done, err := s.wait(ctx, s.conn.RecvCQ())
	if err != nil {
		return message, err
	}
	if done.Len != messageLen {
		return message, fmt.Errorf("%w: a message of %d bytes instead of %d", ErrProtocol, done.Len, messageLen)
	}
	message = s.recv[done.ID]
	return message, s.post(done.ID)
}

// receiveHandle is receive for a message that is a Handle.
func (s *session) receiveHandle(ctx context.Context) (rdmap.Handle, error) {
	message, err := s.receive(ctx)
	if err != nil {
		return rdmap.Handle{}, err
	}
	h, _, err := rdmap.ParseHandle(message[:])
	return h, err
}

// do runs one operation of the send queue.
func (s *session) do(ctx context.Context, wr rdmap.WorkRequest) error {
	if err := s.conn.Post(&wr); err != nil {
		return err
	}
	_, err := s.wait(ctx, s.conn.SendCQ())
	return err
}

// send sends a message. It returns when TCP has accepted it.
func (s *session) send(ctx context.Context, message []byte) error {
	return s.do(ctx, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: message})
}

// wait waits at most Config.Timeout for the next completion on cq.
func (s *session) wait(ctx context.Context, cq *extsock.CompletionQueue) (rdmap.Completion, error) {
	ctx, cancel := context.WithTimeout(ctx, s.cfg.timeout())
	defer cancel()
	done, err := cq.Wait(ctx)
	if err != nil {
		return done, err
	}
	if done.Status != rdmap.StatusOK {
		return done, done.Err
	}
	return done, nil
}

// traceHandle logs a step that concerns the client's memory.
func (s *session) traceHandle(ctx context.Context, step string, h rdmap.Handle) {
	if s.cfg.Trace != nil {
		s.cfg.trace(ctx, step, s.n, "stag", fmt.Sprintf("%#08x", uint32(h.STag)), "to", fmt.Sprintf("%#016x", h.TO), "len", h.Len)
	}
}

// close closes the connection. It returns err or, if that is nil, the error of Close.
func (s *session) close(err error) error {
	if e := s.conn.Close(); err == nil && e != nil {
		return s.fail("closing the connection", e)
	}
	return err
}

// isClosed reports whether err means an orderly close by the peer: a FIN between two FPDUs.
func isClosed(err error) bool {
	fin := (*mpa.Error)(nil)
	return errors.Is(err, io.EOF) || errors.Is(err, rdmap.ErrPeerClosed) || errors.As(err, &fin) && fin.Graceful
}
