package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// An end is one of the two connections of a pipe. Each direction of an end has one user at a time.
// abort may be called at any time and more than once; it returns when the connection is closed.
type end interface {
	net.Conn
	CloseWrite() error
	// orderly reports, after Read has returned io.EOF, whether the peer has ended its direction in
	// an orderly way. If not, the connection has failed.
	orderly() bool
	// abort ends the connection in such a way that the peer does not see an orderly end.
	abort()
}

// long is a deadline that passed long ago, and so interrupts calls.
var long = time.Unix(1, 0)

// A plainEnd is a connection in plain TCP, or a unix socket.
type plainEnd struct {
	net.Conn
	once sync.Once

	mu locks.Mutex[locks.ProxyEnd] // held during each Write
	// a Write or CloseWrite has failed
	failed bool // +checklocks:mu
}

// Write writes p. orderly can interrupt a Write to learn its error; the Write then continues.
func (e *plainEnd) Write(p []byte) (n int, err error) {
	for {
		m, err := e.writeOnce(p[n:])
		n += m
		if !errors.Is(err, os.ErrDeadlineExceeded) {
			return n, err
		}
	}
}

func (e *plainEnd) writeOnce(p []byte) (int, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, err := e.Conn.Write(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		e.failed = true
	}
	return n, err
}

// orderly also considers Writes, because the system reports a reset only once: if a Write got the
// error, a later Read sees only the end of the stream.
func (e *plainEnd) orderly() bool {
	e.Conn.SetWriteDeadline(long) // interrupts a running Write, which returns its error
	e.mu.Lock()
	defer e.mu.Unlock()
	e.Conn.SetWriteDeadline(time.Time{})
	return !e.failed
}

func (e *plainEnd) CloseWrite() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	err := e.Conn.(interface{ CloseWrite() error }).CloseWrite()
	if err != nil {
		e.failed = true
	}
	return err
}

func (e *plainEnd) abort() {
	e.once.Do(func() {
		if c, ok := e.Conn.(interface{ SetLinger(seconds int) error }); ok {
			c.SetLinger(0) // the peer sees a reset
		}
		e.Conn.Close()
	})
}

// A ddpEnd is a connection in DDP mode (or before MPA startup), or in TLS. stream is the Stream
// below it, which ddpEnd only closes.
type ddpEnd struct {
	*extsock.Conn
	stream io.Closer
	once   sync.Once
}

// orderly returns true: the byte stream in DDP mode has an end mark, and without it Read returns
// io.ErrUnexpectedEOF. TLS without DDP has an end mark too, but package tls accepts an end between
// two records without it.
func (e *ddpEnd) orderly() bool { return true }

// flushTimeout bounds how long abort waits for earlier writes.
const flushTimeout = time.Second

// abort closes the stream below the connection, because Conn.Close would end the byte stream in an
// orderly way. In DDP mode it first waits until all written bytes have been sent.
func (e *ddpEnd) abort() {
	e.once.Do(func() {
		if e.ConnectionState().DDPMode {
			e.SetWriteDeadline(time.Now().Add(flushTimeout))
			// An operation of length 0 does nothing at the peer, but it completes only after
			// everything before it.
			_, _ = e.Remote(rdmap.Handle{}).WriteAt(nil, 0)
		} else {
			_ = e.SetLinger(0) // a reset, because many programs accept an end of TLS without its mark
		}
		e.stream.Close()
		_ = e.Conn.Close() // the error does not matter
	})
}
