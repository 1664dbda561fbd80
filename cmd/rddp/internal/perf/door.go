package perf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/accept"
	"github.com/rddp/rddp/internal/retry"
)

// A door is a listener for one kind of data connection, without a hello: the client measures only
// the time to open a connection. Over rddp, connections are in DDP mode from the start
// (StartupRequire).
type door struct {
	s      *Server
	v      *session
	h      *hello
	l      net.Listener
	cancel context.CancelFunc
	going  sync.WaitGroup
	conns  connections
}

// An opening asks a server to open a door for at most Conns connections with the parameters in
// Hello.
type opening struct {
	Hello hello
	Conns int
}

// openDoor opens a door at the local address of the control connection.
func (s *Server) openDoor(ctx context.Context, v *session, control net.Conn, o *opening) (*door, error) {
	if err := o.Hello.check(); err != nil {
		return nil, err
	}
	if o.Conns < 1 || o.Conns > MaxConns {
		return nil, fmt.Errorf("%w: a door for %d connections", ErrProtocol, o.Conns)
	}
	host, _, err := net.SplitHostPort(control.LocalAddr().String())
	if err != nil {
		return nil, err
	}
	address := net.JoinHostPort(host, "0")
	memory := o.Hello.memory() * int64(o.Conns)
	if !s.reserve(memory) {
		return nil, errNoMemory
	}
	d := &door{s: s, v: v, h: &o.Hello, conns: connections{all: make(map[*closer]bool)}}
	plain := net.ListenConfig{Control: beginWith(o.Hello.Congestion)}
	if d.l, err = plain.Listen(ctx, "tcp", address); err != nil {
		s.reserve(-memory)
		return nil, err
	}
	if o.Hello.Transport != overTCP {
		cfg := o.Hello.config()
		cfg.Startup, cfg.TLS = extsock.StartupRequire, s.TLS
		d.l = extsock.NewListener(d.l, cfg)
	}
	until := ctx
	ctx, d.cancel = context.WithCancel(ctx)
	d.going.Go(func() {
		defer s.reserve(-memory)
		d.run(ctx, until, o.Conns)
	})
	return d, nil
}

// errNoMemory means that the connections of all clients together need more than maxMemory.
var errNoMemory = errors.New("the connections need too much memory")

// run accepts conns connections, or fewer if the door is shut. It returns when they are completely
// closed. Once until, the context of the control connection, is done, it waits only for the
// goroutines that serve them.
func (d *door) run(ctx, until context.Context, conns int) {
	var all sync.WaitGroup
	defer all.Wait()
	var again retry.Wait
	for range conns {
		c, err := d.accept()
		for err != nil && !errors.Is(err, net.ErrClosed) {
			if !accept.Failed(ctx, d.s.Log, err, &again) {
				return
			}
			c, err = d.accept()
		}
		if err != nil {
			return
		}
		again.Reset()
		k := &closer{c: c}
		all.Go(func() {
			defer k.over(until)
			defer k.close()
			err := d.serve(ctx, c, k)
			if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) && ctx.Err() == nil { // some are opened but not used
				d.s.Log.Warn("connection", "peer", c.RemoteAddr(), "err", err)
			}
		})
	}
}

func (d *door) accept() (net.Conn, error) {
	if l, ok := d.l.(*extsock.Listener); ok {
		c, err := l.AcceptDDP()
		if err != nil {
			return nil, err
		}
		return c, nil
	}
	return d.l.Accept()
}

// serve serves one connection.
func (d *door) serve(ctx context.Context, c net.Conn, k *closer) error {
	if !d.conns.enter(k) {
		return nil
	}
	defer d.conns.leave(k)
	if d.h.Transport == overTCP {
		secured, err := d.s.secure(ctx, c, k)
		if err != nil {
			return err
		}
		c = secured
	}
	if err := tune(c, d.h.Congestion, d.h.Buffer); err != nil {
		return err
	}
	times, err := d.v.enter(k)
	if err != nil {
		return err
	}
	defer d.v.conns.leave(k)
	// Dial of an extended socket waits for this process. If this end made its ring now, the next
	// connection would be opened while the ring's pages are made.
	e, err := openedEnd(c, d.h, false, false)
	if err != nil {
		return err
	}
	e.times, e.patient = times, true
	return e.serve(ctx, d.h.Reverse)
}

// close shuts the door, closes its connections, and waits for run. A nil door is shut.
func (d *door) close() {
	if d == nil {
		return
	}
	d.l.Close() // close the listener first, so that when a client sees the end of a connection, nobody listens any more
	d.conns.end()
	d.cancel()
	d.going.Wait()
}
