package extsock

import (
	"cmp"
	"errors"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/conn/driver"
	"github.com/rddp/rddp/internal/conn/startup"
	"github.com/rddp/rddp/internal/conn/wait"
)

// SyscallConn returns access to a file descriptor of the connection, as for a net.TCPConn. The
// result has three methods:
//
//   - Control gives the descriptor of the operating system's connection, for settings. The program
//     must not read or write through it: such bytes bypass captures and TLS, and in DDP mode they
//     would destroy the stream. If there is no such connection, the error is errors.ErrUnsupported.
//   - Read counts as a Read. In TCP mode it gives that descriptor. In DDP mode, over TLS, and where
//     there is no such descriptor, it gives a socket that shows what Conn.Read would return: up to
//     32 KiB of data, the end, a reset, or nothing yet. What the function reads from it, Conn.Read
//     does not return any more. So database drivers can see whether an idle connection is alive.
//     The socket is for reading alone, and is closed when the function has returned. Operating
//     systems without socket pairs have none, and the error is ErrMode.
//   - Write gives the descriptor in TCP mode. In DDP mode the error is ErrMode, without a call of
//     the function.
func (c *Conn) SyscallConn() (syscall.RawConn, error) {
	if !c.ok() {
		return nil, syscall.EINVAL
	}
	s, ok := c.tcp().(syscall.Conn)
	if !ok {
		return rawConn{nil, c}, nil
	}
	raw, err := s.SyscallConn()
	if err != nil {
		return nil, err
	}
	// The result must not be of package net's type. Otherwise os.File's ReadFrom and WriteTo would
	// use it to move a file's bytes past DDP.
	return rawConn{raw, c}, nil
}

// A rawConn is the syscall.RawConn of a connection.
type rawConn struct {
	below syscall.RawConn // nil: there is no connection of the operating system
	c     *Conn
}

// Control fails after Close, although in DDP mode TCP may still be closing the connection.
func (r rawConn) Control(f func(fd uintptr)) error {
	switch {
	case r.c.isClosed():
		return r.c.opError("raw-control", net.ErrClosed)
	case r.below == nil:
		return r.c.opError("raw-control", errors.ErrUnsupported)
	}
	return r.below.Control(f)
}

// Read gives f a descriptor that it may read from, until f returns true.
func (r rawConn) Read(f func(fd uintptr) (done bool)) error {
	c := r.c
	if c.startup.IsWaited() { // a Read would begin startup, and wait
		_, err := c.enter(startup.Waiting, passed)
		if errors.Is(err, os.ErrDeadlineExceeded) {
			var done bool
			if _, done, err = c.mirror(nil, nil, f); done {
				return nil
			}
		}
		if err != nil {
			return c.opError("raw-read", err)
		}
	}
	e, err := c.enter(startup.Reading, &c.readDeadline)
	if err != nil {
		return c.opError("raw-read", err)
	}
	return e.rawRead(r, f)
}

// passed is a deadline that has passed.
var passed = func() *wait.Deadline {
	d := new(wait.Deadline)
	d.Set(time.Unix(1, 0))
	return d
}()

// Write gives f the descriptor of a connection in TCP mode.
func (r rawConn) Write(f func(fd uintptr) (done bool)) error {
	c := r.c
	e, err := c.enter(startup.Writing, &c.writeDeadline)
	if err != nil {
		return c.opError("raw-write", err)
	}
	return e.rawWrite(r, f)
}

// lookDDP is Read of a rawConn in DDP mode. look is Look of the engine.
func (c *Conn) lookDDP(look func([]byte, *wait.Deadline, driver.Show) error, f func(fd uintptr) (done bool)) error {
	b := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(b)
	var failed error
	err := look(b[:], &c.readDeadline, func(data []byte, end error) (used int, enough bool) {
		used, enough, failed = c.mirror(data, end, f)
		return used, enough || failed != nil
	})
	return c.opError("raw-read", cmp.Or(failed, err))
}

// lookPlain is Read of a rawConn in TCP mode if bytes have been read ahead, or if the connection
// below has no descriptor that shows what Read returns.
func (c *Conn) lookPlain(f func(fd uintptr) (done bool)) error {
	b := copyBuffers.Get().(*[copySize]byte)
	defer copyBuffers.Put(b)
	var failed error
	err := c.startup.Look(b[:], func(data []byte, end error) (used int, enough bool) {
		used, enough, failed = c.mirror(data, end, f)
		c.taps.Plain(data[:used], false)
		return used, enough || failed != nil
	})
	return c.opError("raw-read", cmp.Or(failed, err))
}

// mirror calls f with a descriptor that shows data, and behind it the end. It returns how many
// bytes of data f has read.
func (c *Conn) mirror(data []byte, end error, f func(fd uintptr) (done bool)) (used int, done bool, err error) {
	reset := end != nil && end != io.EOF && !c.resetRead.Load() //nolint:errorlint // not a cut stream
	m, err := newMirror(data, end != nil, reset)
	if errors.Is(err, errors.ErrUnsupported) {
		return 0, false, errNotPlain
	}
	if err != nil {
		return 0, false, os.NewSyscallError("socketpair", err)
	}
	ended := false
	defer func() {
		if !ended { // f has panicked
			m.close()
		}
	}()
	done = f(m.fd())
	used, told := m.close()
	if ended = true; told {
		c.resetTold.Store(true)
		c.resetRead.Store(true)
	}
	return used, done, nil
}
