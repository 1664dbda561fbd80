package proxy

import (
	"errors"
	"io"
	"net"
	"os"
	"sync"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// An end is one of the two connections of a pipe. Each way of it has one user at a time; abort may be called
// at any time, also more than once, and returns when the connection is closed.
type end interface {
	net.Conn
	CloseWrite() error
	// orderly tells, after Read gave io.EOF, whether the peer has ended its direction, or whether the
	// connection has failed.
	orderly() bool
	// abort ends the connection so that the peer does not take it for an orderly end.
	abort()
}

// long is a time that is over: a deadline that interrupts.
var long = time.Unix(1, 0)

// A plainEnd is a connection in plain TCP, or a unix socket.
type plainEnd struct {
	net.Conn
	once sync.Once

	mu sync.Mutex // held while a Write may be under way
	// a Write has
	failed bool // +checklocks:mu
}

// Write writes p. It is interrupted, and goes on, when orderly wants to know how it does.
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

// orderly: systems tell of a reset once. If a Write was told, a Read after it sees nothing but an end.
func (e *plainEnd) orderly() bool {
	e.Conn.SetWriteDeadline(long) // a Write under way comes back, and says what it was told
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

// A ddpEnd is a connection in DDP mode, or one on its way there. stream is what it runs on, and is only closed.
type ddpEnd struct {
	*extsock.Conn
	stream io.Closer
	once   sync.Once
}

// orderly: the byte stream in DDP mode has a mark for its end, and without it Read's error is
// io.ErrUnexpectedEOF.
func (e *ddpEnd) orderly() bool { return true }

// flushTimeout bounds how long an abort waits for what was written before it.
const flushTimeout = time.Second

// abort closes the stream under the connection: Conn.Close would end the byte stream in an orderly way. What
// was written goes out before.
func (e *ddpEnd) abort() {
	e.once.Do(func() {
		if e.ConnectionState().DDPMode {
			e.SetWriteDeadline(time.Now().Add(flushTimeout))
			// Of length 0, so it does nothing at the peer: but it is over when all before it is.
			_, _ = e.Remote(rdmap.Handle{}).WriteAt(nil, 0)
		}
		e.stream.Close()
		_ = e.Conn.Close() // nothing is left to fail
	})
}
