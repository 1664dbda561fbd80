package kvcache

import (
	"fmt"
	"net"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
)

// shared is the table's memory, which clients can read.
type shared interface {
	handle(c net.Conn) (extsock.Handle, error) // for the client of c
	store(at int, p []byte) error              // copies p into the table
	close() error                              // ends the clients' access
}

// inProcess returns n bytes that the connections of this configuration can access.
func inProcess(c *extsock.Config, n int) (shared, []byte, error) {
	table := make([]byte, n)
	c.Domain = new(extsock.Domain)
	r, err := c.Domain.Register(table, extsock.RemoteRead, 0) // for each connection of the Domain
	return processTable{r}, table, err
}

// A processTable is in this process; the connections read it.
type processTable struct{ r *ddp.Region }

func (t processTable) handle(net.Conn) (extsock.Handle, error) {
	return extsock.Handle{STag: t.r.STag(), TO: t.r.TO(), Len: uint32(t.r.Len())}, nil
}

func (t processTable) store(at int, p []byte) error { return t.r.Store(at, p) }

func (t processTable) close() error {
	t.r.Deregister()
	return nil
}

// onDevice returns n bytes that the device of c.Backend can access.
func onDevice(c *extsock.Config, n int) (shared, []byte, error) {
	m, err := extsock.NewMemory(c.Backend, n, extsock.RemoteRead)
	if err != nil {
		return nil, nil, err
	}
	return deviceTable{m}, m.Bytes(), nil
}

// A deviceTable is registered with a device, which reads it.
type deviceTable struct{ m *extsock.Memory }

func (t deviceTable) handle(conn net.Conn) (extsock.Handle, error) {
	c, ok := conn.(*extsock.Conn)
	if !ok {
		return extsock.Handle{}, fmt.Errorf("kvcache: a connection of type %T", conn)
	}
	if s := c.ConnectionState(); s.Device == "" {
		return extsock.Handle{}, fmt.Errorf("kvcache: the table is on a device, and the connection is not: %w", s.NoDevice)
	}
	r, err := t.m.Share(c)
	if err != nil {
		return extsock.Handle{}, err
	}
	return r.Handle(), nil
}

func (t deviceTable) store(at int, p []byte) error {
	copy(t.m.Bytes()[at:], p)
	return nil
}

func (t deviceTable) close() error { return t.m.Close() }
