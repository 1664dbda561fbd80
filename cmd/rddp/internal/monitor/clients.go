package monitor

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"os"
	"slices"
	"sync"

	"github.com/rddp/rddp/internal/locks"
)

// clients is a listener with at most limit connections. A further connection closes the one that
// has been idle longest. It waits only while all of them have requests.
type clients struct {
	net.Listener
	limit int

	mu locks.Mutex[locks.Leaf]
	// signals that a connection has closed or become idle, or that the listener is closed
	cond *sync.Cond
	// the number of connections
	n int // +checklocks:mu
	// the connections without a request, the longest idle first
	idle []*client // +checklocks:mu
	// a descriptor for a client that arrives when no other descriptor is left; nil if none was free
	spare  *os.File // +checklocks:mu
	closed bool     // +checklocks:mu
}

func limitClients(l net.Listener, limit int) *clients {
	c := &clients{Listener: l, limit: limit}
	c.cond = sync.NewCond(&c.mu)
	c.reserveLocked() // +checklocksignore: nobody else has c yet
	return c
}

// Accept waits for the next connection, and then for room.
func (l *clients) Accept() (net.Conn, error) {
	conn, err := l.accept()
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for l.n >= l.limit && !l.closed {
		if len(l.idle) > 0 {
			l.idle[0].closeLocked() // +checklocksforce: it is of l
		} else {
			l.cond.Wait()
		}
	}
	if l.closed {
		_ = conn.Close() // nothing can be done about it
		return nil, net.ErrClosed
	}
	l.reserveLocked()
	c := &client{Conn: conn, of: l}
	l.n++
	l.idle = append(l.idle, c)
	return c, nil
}

// Close closes the listener. Connections stay open.
func (l *clients) Close() error {
	l.mu.Lock()
	l.closed = true
	l.cond.Broadcast()
	if l.spare != nil {
		_ = l.spare.Close() // nothing can be done about it
		l.spare = nil
	}
	l.mu.Unlock()
	return l.Listener.Close()
}

// A client is a connection of clients.
type client struct {
	net.Conn
	of     *clients
	closed bool  // the mutex of clients guards closed and err
	err    error // the result of closing Conn
}

// Close closes the connection.
func (c *client) Close() error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.closeLocked()
	return c.err
}

// closeLocked closes the connection, unless it is already closed.
//
// +checklocks:c.of.mu
func (c *client) closeLocked() {
	if c.closed {
		return
	}
	c.closed, c.err = true, c.Conn.Close()
	c.of.reserveLocked()
	c.of.n--
	c.of.leaveLocked(c)
	c.of.cond.Signal()
}

// leaveLocked removes c from the idle connections.
//
// +checklocks:l.mu
func (l *clients) leaveLocked(c *client) {
	if i := slices.Index(l.idle, c); i >= 0 {
		l.idle = slices.Delete(l.idle, i, i+1)
	}
}

// busy records that c has a request, and idles that it has none.
func (c *client) busy() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	c.of.leaveLocked(c)
}

func (c *client) idles() {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	if !c.closed {
		c.of.idle = append(c.of.idle, c)
		c.of.cond.Signal()
	}
}

// clientKey is the context key of a request's client.
type clientKey struct{}

// contextOf is the http.Server's ConnContext for the connections of clients, with or without TLS.
func contextOf(ctx context.Context, c net.Conn) context.Context {
	if t, ok := c.(*tls.Conn); ok {
		c = t.NetConn()
	}
	return context.WithValue(ctx, clientKey{}, c)
}

// noteRequests wraps h so that clients do not count as idle while h answers them.
func noteRequests(h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if c, ok := r.Context().Value(clientKey{}).(*client); ok {
			c.busy()
			defer c.idles()
		}
		h.ServeHTTP(w, r)
	})
}
