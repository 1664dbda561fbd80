package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/ddp"
)

// A request has 1 byte with the operation, 4 with the number of extents, and 12 for each extent:
// offset and length. The bytes of a write follow. The answer is the bytes, or 1 byte for a write.
const (
	opRead    = 'r'
	opWrite   = 'w'
	headLen   = 5
	extentLen = 12
)

// maxExtents is the maximum number of extents in a request.
const maxExtents = listLen / 512

var errRequest = errors.New("no such operation or extent")

// serveFile is the process of an I/O server.
func serveFile(_ context.Context, t trial) error {
	f, err := os.CreateTemp(harness.SharedDir(), "study-striped-")
	if err != nil {
		return err
	}
	defer f.Close()
	n := (fileLen/stripe + t.Servers - 1) / t.Servers * stripe
	if err := errors.Join(os.Remove(f.Name()), f.Truncate(int64(n))); err != nil {
		return err
	}
	greet := func(net.Conn) error { return nil }
	cfg := config(t.Way)
	if t.Way == wayOneSided {
		cfg.Domain = new(ddp.Domain)
		greet, err = harness.Grant(cfg.Domain, f, n, ddp.RemoteRead|ddp.RemoteWrite)
		if err != nil {
			return err
		}
	}
	l, err := harness.Listen(cfg)
	if err != nil {
		return err
	}
	go harness.Accept(l, func(c net.Conn) error {
		if err := greet(c); err != nil {
			return err
		}
		return (&service{c: c, r: bufio.NewReaderSize(c, stripe), f: f}).serve()
	})
	return harness.Serve(l.Addr())
}

// A service answers requests on one connection.
type service struct {
	c    net.Conn
	r    *bufio.Reader
	f    *os.File
	data []byte
}

func (s *service) serve() error {
	for {
		var head [headLen]byte
		if _, err := io.ReadFull(s.r, head[:]); err != nil {
			return err
		}
		n := binary.BigEndian.Uint32(head[1:])
		if n > maxExtents {
			return errRequest
		}
		list := make([]byte, n*extentLen)
		if _, err := io.ReadFull(s.r, list); err != nil {
			return io.ErrUnexpectedEOF
		}
		if err := s.answer(head[0], list); err != nil {
			return err
		}
	}
}

func (s *service) answer(op byte, list []byte) error {
	s.data = s.data[:0]
	for ; len(list) > 0; list = list[extentLen:] {
		off, n := binary.BigEndian.Uint64(list), int(binary.BigEndian.Uint32(list[8:]))
		if off > fileLen || n > fileLen-len(s.data) {
			return errRequest
		}
		if err := s.move(op, int64(off), n); err != nil {
			return err
		}
	}
	if op == opWrite {
		s.data = append(s.data, op)
	}
	_, err := s.c.Write(s.data)
	return err
}

// move moves an extent: to the answer, or from the request.
func (s *service) move(op byte, off int64, n int) error {
	at := len(s.data)
	s.data = append(s.data, make([]byte, n)...)
	switch op {
	case opRead:
		_, err := s.f.ReadAt(s.data[at:], off)
		return err
	case opWrite:
		_, err := io.ReadFull(s.r, s.data[at:])
		if err == nil {
			_, err = s.f.WriteAt(s.data[at:], off)
		}
		s.data = s.data[:at]
		return err
	}
	return errRequest
}
