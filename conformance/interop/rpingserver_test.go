//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// rpingMessageLen is the length of every message of rping's protocol, either way.
const rpingMessageLen = 16

// An rpingServer is the server's end of one rping connection. The client's messages are handles:
// first that of the source of the ping data, which the server reads, and then that of the sink,
// which the server writes. The server answers each with a message of zeros.
type rpingServer struct {
	conn *extsock.Conn
	recv [2][rpingMessageLen]byte // the posted buffers, by the ID of their request
}

// serveRping accepts req and answers the pings of c until the client closes the connection. It
// calls ping with the number and the data of each one, before it tells the client to go on. c is
// closed when serveRping returns.
func serveRping(ctx context.Context, c *extsock.Conn, req *extsock.Request, ping func(n int, data []byte)) error {
	defer c.Close()
	s := &rpingServer{conn: c}
	for id := range s.recv { // before the client's first Send
		if err := s.post(uint64(id)); err != nil {
			return err
		}
	}
	if err := req.Accept(ctx, nil); err != nil {
		return err
	}
	for n := 0; ; n++ {
		source, err := s.receive(ctx)
		closed := (*mpa.Error)(nil)
		if errors.Is(err, io.EOF) || errors.Is(err, rdmap.ErrPeerClosed) || errors.As(err, &closed) && closed.Graceful {
			return nil
		}
		if err != nil {
			return fmt.Errorf("ping %d: waiting for the source: %w", n, err)
		}
		data := make([]byte, min(source.Len, rpingMost))
		if err := s.do(ctx, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: data, Remote: source}); err != nil {
			return fmt.Errorf("ping %d: reading the source: %w", n, err)
		}
		ping(n, data)
		if err := s.goAhead(ctx); err != nil {
			return fmt.Errorf("ping %d: after the Read: %w", n, err)
		}
		sink, err := s.receive(ctx)
		if err != nil {
			return fmt.Errorf("ping %d: waiting for the sink: %w", n, err)
		}
		if err := s.do(ctx, rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data, Remote: sink}); err != nil {
			return fmt.Errorf("ping %d: writing the sink: %w", n, err)
		}
		if err := s.goAhead(ctx); err != nil {
			return fmt.Errorf("ping %d: after the Write: %w", n, err)
		}
	}
}

func (s *rpingServer) post(id uint64) error {
	return s.conn.PostRecv(rdmap.RecvRequest{ID: id, Buf: s.recv[id][:]})
}

// receive waits for the client's next handle, and posts its buffer again.
func (s *rpingServer) receive(ctx context.Context) (h rdmap.Handle, err error) {
	done, err := wait(ctx, s.conn.RecvCQ())
	if err != nil {
		return h, err
	}
	if done.Len != rpingMessageLen {
		return h, fmt.Errorf("a message of %d bytes, want %d", done.Len, rpingMessageLen)
	}
	if h, _, err = rdmap.ParseHandle(s.recv[done.ID][:]); err != nil {
		return h, err
	}
	return h, s.post(done.ID)
}

// do runs one operation and waits for its completion.
func (s *rpingServer) do(ctx context.Context, wr rdmap.WorkRequest) error {
	if err := s.conn.Post(&wr); err != nil {
		return err
	}
	_, err := wait(ctx, s.conn.SendCQ())
	return err
}

// goAhead tells the client to go on.
func (s *rpingServer) goAhead(ctx context.Context) error {
	return s.do(ctx, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, rpingMessageLen)})
}

// wait returns the next completion of cq, or its error.
func wait(ctx context.Context, cq *extsock.CompletionQueue) (rdmap.Completion, error) {
	ctx, cancel := context.WithTimeout(ctx, rpingLimit)
	defer cancel()
	done, err := cq.Wait(ctx)
	if err == nil && done.Status != rdmap.StatusOK {
		err = done.Err
	}
	return done, err
}
