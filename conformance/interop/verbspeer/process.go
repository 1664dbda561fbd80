package main

import (
	"context"
	"net/netip"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// A process makes connections by package extsock.
type process struct{}

func (process) close() error { return nil }

// settings are those of a connection that is any iWARP to its peer.
func settings() *extsock.Config {
	return &extsock.Config{Startup: extsock.StartupRequire, Messages: true, NoCapabilities: true, PrivateData: []byte("verbspeer")}
}

func (process) dial(ctx context.Context, addr netip.AddrPort) (conn, error) {
	return newLocal((&extsock.Dialer{Config: settings()}).DialDDP(ctx, "tcp", addr.String()))
}

func (process) listen(addr netip.AddrPort) (netip.AddrPort, func(context.Context) (conn, error), error) {
	l, err := extsock.Listen("tcp", addr.String(), settings())
	if err != nil {
		return addr, nil, err
	}
	at, err := netip.ParseAddrPort(l.Addr().String())
	return at, func(context.Context) (conn, error) { return newLocal(l.AcceptDDP()) }, err
}

// A local is a connection of package extsock.
type local struct {
	c *extsock.Conn
	b []byte
	r extsock.Region
}

func newLocal(c *extsock.Conn, err error) (conn, error) {
	if err != nil {
		return nil, err
	}
	b := make([]byte, slots*block)
	r, err := c.Register(b, ddp.RemoteRead|ddp.RemoteWrite)
	return &local{c, b, r}, err
}

func (l *local) memory() []byte { return l.b }

func (l *local) where() (uint32, uint64) {
	h := l.r.Handle()
	return uint32(h.STag), h.TO
}

func (l *local) send(b []byte) error {
	_, err := l.c.Write(b)
	return err
}

func (l *local) receive() ([]byte, error) {
	b := make([]byte, short)
	n, err := l.c.Read(b)
	return b[:n], err
}

func (l *local) write(off, n int, key uint32, addr uint64) error {
	_, err := l.remote(n, key, addr).WriteAt(l.b[off:][:n], 0)
	return err
}

func (l *local) read(off, n int, key uint32, addr uint64) error {
	_, err := l.remote(n, key, addr).ReadAt(l.b[off:][:n], 0)
	return err
}

func (l *local) remote(n int, key uint32, addr uint64) *extsock.RemoteMemory {
	return l.c.Remote(rdmap.Handle{STag: ddp.STag(key), TO: addr, Len: uint32(n)})
}

// nudge sends an RDMA Write of length 0.
func (l *local) nudge() {
	_, _ = l.c.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkWrite, Unsignaled: true}}) // it fails if the connection has ended
}

func (l *local) close() error { return l.c.Close() }
