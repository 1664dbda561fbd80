//go:build foreign

package foreign

import (
	"context"
	"io"
	"net"
	"sync"
)

// A relay stands between a suite and its server, which knows plain byte streams only: the
// connections of the suite begin as the column says, and their bytes go to the server and back.
type relay struct {
	l      net.Listener
	to     *service
	ctx    context.Context
	cancel context.CancelFunc
	work   sync.WaitGroup
}

// startRelay starts a relay at a port of loopback for the column c.
func startRelay(c column, to *service) (*relay, error) {
	listen := c.mode.Listen
	if c.plain {
		listen = net.Listen
	}
	l, err := listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &relay{l: l, to: to}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.work.Go(r.accept)
	return r, nil
}

// env returns what tells the tests the relay's port.
func (r *relay) env() ([]string, error) {
	_, port, err := net.SplitHostPort(r.l.Addr().String())
	if err != nil {
		return nil, err
	}
	return r.to.env(r.to.folder, port)
}

// close ends the relay with all its connections.
func (r *relay) close() error {
	err := r.l.Close()
	r.cancel()
	r.work.Wait()
	return err
}

func (r *relay) accept() {
	for {
		c, err := r.l.Accept()
		if err != nil {
			return
		}
		r.work.Go(func() { r.pass(c) })
	}
}

// pass passes bytes between a connection and one of its own to the server, until both directions
// have ended.
func (r *relay) pass(c net.Conn) {
	defer c.Close()
	s, err := net.Dial("unix", r.to.socket())
	if err != nil {
		return // the suite sees the end, and its test fails
	}
	defer s.Close()
	stop := context.AfterFunc(r.ctx, func() { c.Close(); s.Close() })
	defer stop()
	var both sync.WaitGroup
	both.Go(func() { oneWay(s, c) })
	both.Go(func() { oneWay(c, s) })
	both.Wait()
}

// oneWay passes one direction. After an error the other direction ends too.
func oneWay(to, from net.Conn) {
	_, err := io.Copy(to, from)
	if half, ok := to.(interface{ CloseWrite() error }); ok && err == nil {
		err = half.CloseWrite()
	}
	if err != nil {
		to.Close()
		from.Close()
	}
}
