package ping

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/retry"
	"github.com/rddp/rddp/internal/tlshandshake"
	"github.com/rddp/rddp/rdmap"
)

// A client is a session with the two buffers that its server reads and writes.
type client struct {
	*session
	sourceData, sinkData []byte
	source, sink         extsock.Region // of that memory
}

// Client connects to the server at address ("host:port") and makes cfg.Count pings. It returns a
// Summary of the pings made, even with an error. If ctx is done before all pings are made, the
// error is ErrInterrupted, or nil if Count is 0 and there was a ping. A nil cfg means the zero
// Config.
func Client(ctx context.Context, address string, cfg *Config) (Summary, error) {
	if cfg == nil {
		cfg = &Config{}
	}
	sum := Summary{Size: cfg.size()}
	if err := cfg.check(); err != nil {
		return sum, err
	}
	s, err := dial(ctx, address, cfg)
	if err != nil {
		if ctx.Err() != nil {
			err = fmt.Errorf("%w while connecting to %s", ErrInterrupted, address)
		}
		return sum, err
	}
	c := &client{session: s}
	err = c.register(cfg.size())
	if err == nil {
		err = c.run(ctx, &sum)
	}
	return sum, s.close(err)
}

// dial connects and runs MPA startup. If the peer closes the connection in answer to the enhanced
// Request, dial tries once more: "the initiator MAY attempt to establish an RDMA connection using
// the unenhanced MPA protocol as defined in [RFC5044]" (RFC 6581 §10).
func dial(ctx context.Context, address string, cfg *Config) (*session, error) {
	socket := cfg.socket()
	s, err := dialOnce(ctx, address, cfg, socket)
	if !errors.Is(err, extsock.ErrNoReply) || socket.Revision != 0 || tlshandshake.Words(err) != "" {
		return s, err
	}
	cfg.trace(ctx, "no MPA Reply to revision 2, trying revision 1", -1)
	older := *socket
	older.Revision = 1
	return dialOnce(ctx, address, cfg, &older)
}

func dialOnce(ctx context.Context, address string, cfg *Config, socket *extsock.Config) (*session, error) {
	connecting, cancel := context.WithTimeout(ctx, cfg.timeout())
	defer cancel()
	nc, err := (&extsock.Dialer{Config: socket}).DialContext(connecting, "tcp", address)
	if err != nil {
		return nil, &Error{Ping: -1, Step: "connecting to " + address, Err: bounded(err, cfg.timeout())}
	}
	conn := nc.(*extsock.Conn)
	s, err := newSession(conn, cfg)
	if err != nil {
		return nil, err
	}
	if err := s.start(ctx, conn.EnableDDP); err != nil {
		s.conn.Close()
		return nil, err
	}
	return s, nil
}

// register registers the buffers. The peer gets only the access rights that a ping needs: it reads
// the source and writes the sink.
func (c *client) register(size int) (err error) {
	c.sourceData, c.sinkData = make([]byte, size), make([]byte, size)
	if c.source, err = c.conn.Register(c.sourceData, ddp.RemoteRead); err != nil {
		return err
	}
	c.sink, err = c.conn.Register(c.sinkData, ddp.RemoteWrite)
	return err
}

// run makes the pings and counts them in sum.
func (c *client) run(ctx context.Context, sum *Summary) error {
	late, cancel := accept.Graceful(ctx, grace, nil)
	defer cancel()
	var begun time.Time // the last ping
	for n := 0; c.cfg.Count == 0 || n < c.cfg.Count; n++ {
		if ctx.Err() != nil || n > 0 && !retry.Pause(ctx, time.Until(begun.Add(c.cfg.Interval))) {
			return c.interrupted(n)
		}
		begun = time.Now()
		c.n = n
		rtt, err := c.ping(late)
		if late.Err() != nil {
			return c.interrupted(n)
		}
		if err != nil {
			return err
		}
		sum.add(rtt)
		if c.cfg.Validate {
			if err := compare(c.sinkData, c.sourceData); err != nil {
				return c.fail("validating", err)
			}
		}
		c.cfg.show("ping data: ", c.sinkData)
		if c.cfg.Pinged != nil {
			c.cfg.Pinged(n, len(c.sinkData), rtt)
		}
	}
	return nil
}

// interrupted returns the result of a client that made n pings before its context was done.
func (c *client) interrupted(n int) error {
	switch {
	case c.cfg.Count > 0:
		return fmt.Errorf("%w after %d of %d pings", ErrInterrupted, n, c.cfg.Count)
	case n == 0:
		return fmt.Errorf("%w before the first ping was answered", ErrInterrupted)
	}
	return nil
}

// ping makes one ping and returns the time it took.
func (c *client) ping(ctx context.Context) (time.Duration, error) {
	fill(c.sourceData, c.n)
	begin := time.Now()
	if c.n == 0 {
		// Start the nudge before the Send. After an RTR that is an RDMA Read, the Send completes
		// only when the Read is answered.
		defer c.nudge()()
	}
	if err := c.offer(ctx, "source", c.source); err != nil {
		return 0, err
	}
	if err := c.awaitGoAhead(ctx, "RDMA Read"); err != nil {
		return 0, err
	}
	if err := c.offer(ctx, "sink", c.sink); err != nil {
		return 0, err
	}
	if err := c.awaitGoAhead(ctx, "RDMA Write"); err != nil {
		return 0, err
	}
	return time.Since(begin), nil
}

// offer sends the server the handle of a buffer.
func (c *client) offer(ctx context.Context, name string, r extsock.Region) error {
	h := r.Handle()
	c.traceHandle(ctx, "offer the "+name, h)
	if err := c.send(ctx, h.AppendTo(nil)); err != nil {
		return c.fail("offering the "+name+" buffer", err)
	}
	return nil
}

// awaitGoAhead waits until the server has done its part. It ignores the content of the message.
func (c *client) awaitGoAhead(ctx context.Context, after string) error {
	if _, err := c.receive(ctx); err != nil {
		return c.fail("waiting for the go-ahead after the "+after, err)
	}
	c.cfg.trace(ctx, "go-ahead after the "+after, c.n)
	return nil
}

// nudgeAfter is longer than a server needs for its first answer, unless the server is far away or
// very busy.
const nudgeAfter = 250 * time.Millisecond

// nudge sends an RDMA Write of length 0, which no program notices, every nudgeAfter until stop is
// called. Linux's siw as a Responder may leave an FPDU unread that arrives in the first
// milliseconds after its Reply, or later on a busy machine, until more bytes arrive. Without a
// nudge the client would wait for such a server forever. Nudges do no harm to other servers. "The
// STag and TO fields MUST NOT be checked for a zero-length Tagged DDP Message." (RFC 5041 §5.2)
func (c *client) nudge() (stop func()) {
	answered := make(chan struct{})
	go func() {
		t := time.NewTicker(nudgeAfter)
		defer t.Stop()
		for {
			select {
			case <-answered:
				return
			case <-t.C:
				// If the connection has ended, the wait for the answer returns its error.
				_ = c.conn.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Unsignaled: true})
			}
		}
	}()
	return func() { close(answered) }
}
