package standin

import (
	"context"
	"errors"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/extsock"
)

// A TCPListener takes the place of a net.TCPListener: it adds the methods of that type to an
// extsock.Listener.
type TCPListener struct {
	*extsock.Listener
	inBand *queue // nil except in ModeInBand
}

func newTCPListener(l *extsock.Listener, m Mode) *TCPListener {
	if m != ModeInBand {
		return &TCPListener{Listener: l}
	}
	q := newQueue()
	q.filled.Go(func() { q.fill(l) })
	return &TCPListener{Listener: l, inBand: q}
}

// Accept waits for the next connection, which is a *TCPConn.
func (l *TCPListener) Accept() (net.Conn, error) {
	if l.inBand == nil {
		return l.Listener.Accept()
	}
	c, err := l.inBand.next(l.Addr())
	if err != nil {
		return nil, err // and not a nil *TCPConn in an interface
	}
	return c, nil
}

// AcceptTCP is Accept with the type that it really returns.
func (l *TCPListener) AcceptTCP() (*TCPConn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return c.(*TCPConn), nil
}

// Close stops listening. It closes the connections that nobody has accepted, as the operating
// system does.
func (l *TCPListener) Close() error {
	err := l.Listener.Close()
	if l.inBand != nil {
		l.inBand.close()
	}
	return err
}

// SetDeadline sets the time at which Accept fails.
func (l *TCPListener) SetDeadline(t time.Time) error {
	if l.inBand != nil {
		l.inBand.setDeadline(t)
		return nil
	}
	if d, ok := any(l.Listener).(interface{ SetDeadline(time.Time) error }); ok {
		return d.SetDeadline(t)
	}
	return unsupported("set", l.Addr())
}

// File returns a copy of the listening socket.
func (l *TCPListener) File() (*os.File, error) {
	if f, ok := any(l.Listener).(interface{ File() (*os.File, error) }); ok {
		return f.File()
	}
	return nil, unsupported("file", l.Addr())
}

// SyscallConn gives access to the listening socket.
func (l *TCPListener) SyscallConn() (syscall.RawConn, error) {
	if s, ok := any(l.Listener).(syscall.Conn); ok {
		return s.SyscallConn()
	}
	return nil, unsupported("raw", l.Addr())
}

func unsupported(op string, a net.Addr) error {
	return &net.OpError{Op: op, Net: a.Network(), Addr: a, Err: errors.ErrUnsupported}
}

var errMissingAddress = errors.New("missing address")

func sourceOf(a *net.TCPAddr) net.Addr {
	if a == nil {
		return nil
	}
	return a
}

// switchTimeout bounds the in-band switch of an accepted connection.
const switchTimeout = 10 * time.Second

// enable is the in-band switch of either end: a program's protocol that begins with EnableDDP.
func enable(ctx context.Context, c *extsock.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, switchTimeout)
	defer cancel()
	return c.EnableDDP(ctx, nil)
}
