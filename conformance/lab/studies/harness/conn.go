package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// Listen listens on a port of the loopback interface, for extended sockets with these settings, or
// for TCP if cfg is nil.
func Listen(cfg *extsock.Config) (net.Listener, error) {
	if cfg == nil {
		return net.Listen("tcp", "127.0.0.1:0")
	}
	return extsock.Listen("tcp", "127.0.0.1:0", cfg)
}

// Dial connects to such a listener, with the same settings.
func Dial(address string, cfg *extsock.Config) (net.Conn, error) {
	if cfg == nil {
		return net.Dial("tcp", address)
	}
	return extsock.Dial("tcp", address, cfg)
}

// Accept serves each connection in a goroutine, and closes it when serve returns. A part that
// cannot serve ends.
func Accept(l net.Listener, serve func(net.Conn) error) {
	for {
		c, err := l.Accept()
		if err != nil {
			Fail(err) // the process ends before its listeners do
		}
		go func() {
			err := serve(c)
			if errors.Is(err, io.EOF) {
				err = nil
			}
			if err = errors.Join(err, c.Close()); err != nil {
				Fail(err)
			}
		}()
	}
}

// Close closes a connection to a part that closes its end when it has read everything. It waits for
// that, so that the part never writes to a closed connection.
func Close(c net.Conn) error {
	half, ok := c.(interface{ CloseWrite() error })
	if !ok {
		return errors.ErrUnsupported
	}
	err := half.CloseWrite()
	if err == nil {
		_, err = io.Copy(io.Discard, c)
	}
	err = errors.Join(err, c.Close())
	if extended, ok := c.(*extsock.Conn); ok {
		err = errors.Join(err, extended.Wait(context.Background()))
	}
	return err
}

// Grant sends a peer the Handle of memory that it may use, n bytes of m, which are registered for
// all connections of the domain.
func Grant(domain *ddp.Domain, m interface {
	io.ReaderAt
	io.WriterAt
}, n int, access ddp.Access) (greet func(net.Conn) error, err error) {
	r, err := domain.RegisterMemory(m, 0, 0, uint64(n), access, 0)
	if err != nil {
		return nil, err
	}
	handle := rdmap.Handle{STag: r.STag(), TO: r.TO(), Len: uint32(n)}
	return func(c net.Conn) error {
		_, err := c.Write(handle.AppendTo(nil))
		return err
	}, nil
}

// Granted receives the Handle that Grant's greet sends.
func Granted(c net.Conn) (rdmap.Handle, error) {
	b := make([]byte, 16)
	if _, err := io.ReadFull(c, b); err != nil {
		return rdmap.Handle{}, fmt.Errorf("no handle of memory: %w", err)
	}
	h, _, err := rdmap.ParseHandle(b)
	return h, err
}
