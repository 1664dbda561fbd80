package kvcache

import (
	"cmp"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/extsock"
)

// ErrNotFound means that no entry has the key.
var ErrNotFound = errors.New("kvcache: not found")

// A Client gets and sets entries of a Server. It has one connection, and dials again when that has
// ended, until it is connected or the context is done. Its methods may be called from any
// goroutine.
type Client struct {
	dial    func(context.Context) (*extsock.Conn, error)
	dialing chan struct{} // has a place for the operation that dials
	again   atomic.Int64

	mu sync.Mutex
	// nil while there is no connection on which an operation may begin
	session *session // +checklocks:mu
	closed  bool     // +checklocks:mu
}

// Dial connects to a server. cfg may be nil. With cfg.TLS everything goes through TLS, including
// the RDMA Reads.
func Dial(ctx context.Context, address string, cfg *extsock.Config) (*Client, error) {
	d := &extsock.Dialer{Config: cfg}
	return newClient(ctx, func(ctx context.Context) (*extsock.Conn, error) { return d.DialDDP(ctx, "tcp", address) })
}

// NewClient makes a client of a connection in DDP mode, which cannot dial again. The Client owns
// the connection.
func NewClient(ctx context.Context, conn *extsock.Conn) (*Client, error) {
	return newClient(ctx, func(context.Context) (*extsock.Conn, error) {
		if conn == nil {
			return nil, net.ErrClosed
		}
		c := conn
		conn = nil
		return c, nil
	})
}

func newClient(ctx context.Context, dial func(context.Context) (*extsock.Conn, error)) (*Client, error) {
	c := &Client{dial: dial, dialing: make(chan struct{}, 1)}
	s, err := c.begin(ctx)
	if err != nil {
		return nil, err
	}
	s.operations.Done()
	return c, nil
}

// Close ends the connection. Operations that are under way, and later ones, fail.
func (c *Client) Close() error {
	c.mu.Lock()
	s := c.session
	c.session, c.closed = nil, true
	c.mu.Unlock()
	if s == nil {
		return nil
	}
	err := s.conn.Close()
	<-s.heard
	return err
}

// A session is a connection of a Client.
type session struct {
	conn       *extsock.Conn
	table      extsock.Handle
	operations sync.WaitGroup // under way
	setting    sync.Mutex     // one SET and its answer at a time
	answers    chan struct{}  // closed when the server says nothing more
	why        error          // once answers is closed: io.EOF if the server stops
	heard      chan struct{}  // closed when the connection is
}

// bound closes a connection if ctx is done before the returned function is called. An abandoned
// request leaves the connection unusable.
func bound(ctx context.Context, conn *extsock.Conn) func() bool {
	return context.AfterFunc(ctx, func() { conn.Close() })
}

// newSession receives the table's handle.
func newSession(ctx context.Context, conn *extsock.Conn) (*session, error) {
	defer bound(ctx, conn)()
	s := &session{conn: conn, answers: make(chan struct{}, 1), heard: make(chan struct{})}
	b := make([]byte, extsock.HandleLen)
	_, err := io.ReadFull(conn, b)
	if err == nil {
		s.table, _, err = extsock.ParseHandle(b)
	}
	if err == nil && (s.table.Len == 0 || s.table.Len%bucketLen != 0) {
		err = fmt.Errorf("kvcache: a table of %d bytes", s.table.Len)
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// hear takes the server's answers, until it says nothing more. Then no operation begins on this
// connection, which is closed when those under way have ended: until then the server lends the
// table.
func (c *Client) hear(s *session) {
	defer close(s.heard)
	b := make([]byte, 1)
	for s.why == nil {
		if _, s.why = s.conn.Read(b); s.why == nil {
			select {
			case s.answers <- struct{}{}:
			default:
				s.why = errors.New("kvcache: an answer to nothing")
			}
		}
	}
	close(s.answers)
	c.mu.Lock()
	if c.session == s {
		c.session = nil
	}
	c.mu.Unlock()
	s.operations.Wait()
	s.conn.Close()
}

// begin begins an operation, which ends by Done of its session's operations. It dials if there is
// no connection.
func (c *Client) begin(ctx context.Context) (*session, error) {
	if s, err := c.current(); s != nil || err != nil {
		return s, err
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s, err := c.current(); s != nil || err != nil { // another operation has dialed
		return s, err
	}
	conn, err := c.dial(ctx)
	if err != nil {
		return nil, err
	}
	s, err := newSession(ctx, conn)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		conn.Close()
		return nil, net.ErrClosed
	}
	c.session = s
	s.operations.Add(1)
	go c.hear(s)
	return s, nil
}

// current begins an operation on the connection that there is, if any.
func (c *Client) current() (*session, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closed:
		return nil, net.ErrClosed
	case c.session != nil:
		c.session.operations.Add(1)
	}
	return c.session, nil
}

// errGone means that the operation has had no effect and no result, because the connection ended.
var errGone = errors.New("kvcache: the connection has ended")

// do does an operation, on one connection after the other, until it has a result or ctx is done.
func (c *Client) do(ctx context.Context, operation func(*session) error) error {
	for pause := 10 * time.Millisecond; ; pause = min(2*pause, time.Second) {
		s, err := c.begin(ctx)
		if s != nil {
			err = operation(s)
			s.operations.Done()
			if !errors.Is(err, errGone) {
				return err
			}
		}
		if errors.Is(err, net.ErrClosed) && s == nil {
			return err
		}
		select {
		case <-time.After(pause): // the next server needs some time
		case <-ctx.Done():
			if errors.Is(err, ctx.Err()) {
				return err
			}
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		}
	}
}

// Again returns the number of reads that Get had to repeat because of a concurrent SET.
func (c *Client) Again() int64 { return c.again.Load() }

// Get returns the value of a key, or ErrNotFound. It needs one RDMA Read, or more if entries of the
// bucket are being written or the connection ends, until ctx is done.
func (c *Client) Get(ctx context.Context, key string) (value []byte, err error) {
	bucket := make([]byte, bucketLen)
	err = c.do(ctx, func(s *session) error {
		value, err = c.get(ctx, s, bucket, key)
		return err
	})
	return value, err
}

func (c *Client) get(ctx context.Context, s *session, bucket []byte, key string) ([]byte, error) {
	at := int64(bucketOf(key, int(s.table.Len)))
	memory := s.conn.Remote(s.table)
	for {
		if _, err := memory.Read(ctx, bucket, at); err != nil {
			if ctx.Err() == nil {
				s.conn.Close()
				err = fmt.Errorf("%w: %w", errGone, err)
			}
			return nil, err
		}
		value, found, whole := find(bucket, key)
		switch {
		case found:
			return value, nil
		case whole:
			return nil, ErrNotFound
		}
		c.again.Add(1)
	}
}

// Set makes the server set the value of a key. After Set has returned nil, every later Get of any
// client returns that value or a later one. If the server stops in order, Set waits for the next
// one, until ctx is done. If the connection fails, it is not known whether the value is set, and
// Set returns the error. If ctx is done first, Set returns its error, and closes the connection if
// it has begun to send the SET.
func (c *Client) Set(ctx context.Context, key string, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return ErrTooLong
	}
	b := binary.BigEndian.AppendUint16([]byte{byte(len(key))}, uint16(len(value)))
	b = append(append(b, key...), value...)
	return c.do(ctx, func(s *session) error { return s.set(ctx, b) })
}

func (s *session) set(ctx context.Context, b []byte) error {
	s.setting.Lock()
	defer s.setting.Unlock()
	if err := ctx.Err(); err != nil { // another SET has taken too long
		return err
	}
	defer bound(ctx, s.conn)()
	switch n, err := s.conn.Write(b); {
	case n == 0 && errors.Is(err, net.ErrClosed): // another operation has closed the connection
		return cmp.Or(ctx.Err(), fmt.Errorf("%w: %w", errGone, err))
	case err != nil:
		return cmp.Or(ctx.Err(), err)
	}
	switch _, answered := <-s.answers; {
	case answered:
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(s.why, io.EOF):
		return fmt.Errorf("%w: %w", errGone, s.why)
	default:
		return s.why
	}
}
