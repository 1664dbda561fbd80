package kvcache

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/extsock"
)

// ErrNotFound means that no entry has the key.
var ErrNotFound = errors.New("kvcache: not found")

// A Client is a connection to a Server. Its methods may be called from any goroutine.
type Client struct {
	conn  *extsock.Conn
	table extsock.Handle
	again atomic.Int64

	set sync.Mutex // one SET and its answer at a time
}

// Dial connects to a server. cfg may be nil. With cfg.TLS everything goes through TLS, including
// the RDMA Reads.
func Dial(ctx context.Context, address string, cfg *extsock.Config) (*Client, error) {
	conn, err := (&extsock.Dialer{Config: cfg}).DialDDP(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	c, err := NewClient(ctx, conn)
	if err != nil {
		conn.Close()
		return nil, err
	}
	return c, nil
}

// NewClient makes a client of a connection in DDP mode. If there is no error, the Client owns the
// connection.
func NewClient(ctx context.Context, conn *extsock.Conn) (*Client, error) {
	c := &Client{conn: conn}
	defer c.bound(ctx)()
	b := make([]byte, extsock.HandleLen)
	_, err := io.ReadFull(conn, b)
	if err == nil {
		c.table, _, err = extsock.ParseHandle(b)
	}
	if err == nil && (c.table.Len == 0 || c.table.Len%bucketLen != 0) {
		err = fmt.Errorf("kvcache: a table of %d bytes", c.table.Len)
	}
	if err != nil {
		return nil, err
	}
	return c, nil
}

// bound closes the connection if ctx is done before the returned function is called. An abandoned
// request leaves the connection unusable.
func (c *Client) bound(ctx context.Context) func() bool {
	return context.AfterFunc(ctx, func() { c.conn.Close() })
}

// Close ends the connection.
func (c *Client) Close() error { return c.conn.Close() }

// Again returns the number of reads that Get had to repeat because of a concurrent SET.
func (c *Client) Again() int64 { return c.again.Load() }

// Get returns the value of a key, or ErrNotFound. It needs one RDMA Read, or more if entries of the
// bucket are being written, until ctx is done.
func (c *Client) Get(ctx context.Context, key string) ([]byte, error) {
	bucket := make([]byte, bucketLen)
	at := int64(bucketOf(key, int(c.table.Len)))
	memory := c.conn.Remote(c.table)
	for {
		if _, err := memory.Read(ctx, bucket, at); err != nil {
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
// client returns that value or a later one. If ctx is done first, Set returns its error, and closes
// the connection if it has begun to send the SET.
func (c *Client) Set(ctx context.Context, key string, value []byte) error {
	if len(key) > MaxKey || len(value) > MaxValue {
		return ErrTooLong
	}
	b := binary.BigEndian.AppendUint16([]byte{byte(len(key))}, uint16(len(value)))
	b = append(append(b, key...), value...)
	c.set.Lock()
	defer c.set.Unlock()
	if err := ctx.Err(); err != nil { // another SET has taken too long
		return err
	}
	defer c.bound(ctx)()
	_, err := c.conn.Write(b)
	if err == nil {
		_, err = io.ReadFull(c.conn, b[:1])
	}
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
