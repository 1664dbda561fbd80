package main

import (
	"bufio"
	"context"
	"encoding/binary"
	"io"
	"net"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// The ways to an I/O server.
const (
	wayTCP      = "tcp"
	wayStream   = "stream"   // the byte stream of an extended socket
	wayOneSided = "onesided" // RDMA Reads and Writes
)

// config returns the settings of an extended socket, or nil for TCP.
func config(way string) *extsock.Config {
	if way == wayTCP {
		return nil
	}
	return &extsock.Config{Startup: extsock.StartupRequire, SendDepth: maxExtents + 1}
}

// A link is a client's connection to a server. The memory of extents belongs to the link between
// begin and end.
type link interface {
	begin(op byte, extents []extent) error
	end(op byte, extents []extent) error
	close() error
}

func dial(way, address string) (link, error) {
	c, err := harness.Dial(address, config(way))
	if err != nil {
		return nil, err
	}
	if way != wayOneSided {
		return &asker{Conn: c, r: bufio.NewReaderSize(c, stripe)}, nil
	}
	file, err := harness.Granted(c)
	if err != nil {
		c.Close()
		return nil, err
	}
	return &placer{c: c.(*extsock.Conn), file: file}, nil
}

// An asker sends requests.
type asker struct {
	net.Conn
	r *bufio.Reader
}

func (a *asker) begin(op byte, extents []extent) error {
	list := binary.BigEndian.AppendUint32([]byte{op}, uint32(len(extents)))
	pieces := net.Buffers{nil}
	for i := range extents {
		e := &extents[i]
		list = binary.BigEndian.AppendUint64(list, uint64(e.off))
		list = binary.BigEndian.AppendUint32(list, uint32(e.len()))
		if op == opWrite {
			pieces = append(pieces, e.memory...)
		}
	}
	pieces[0] = list
	_, err := pieces.WriteTo(a.Conn)
	return err
}

func (a *asker) end(op byte, extents []extent) error {
	if op == opWrite {
		_, err := a.r.ReadByte()
		return err
	}
	for i := range extents {
		for _, m := range extents[i].memory {
			if _, err := io.ReadFull(a.r, m); err != nil {
				return err
			}
		}
	}
	return nil
}

func (a *asker) close() error { return harness.Close(a.Conn) }

// A placer reads and writes the server's file itself.
type placer struct {
	c    *extsock.Conn
	file rdmap.Handle
	last [1]byte // target of the Read after Writes
}

func (p *placer) begin(op byte, extents []extent) error {
	var batch []rdmap.WorkRequest
	for i := range extents {
		e := &extents[i]
		at := rdmap.Handle{STag: p.file.STag, TO: p.file.TO + uint64(e.off)}
		if op == opWrite {
			batch = append(batch, rdmap.WorkRequest{Op: rdmap.WorkWrite, Gather: e.memory, Remote: at, Unsignaled: true})
			continue
		}
		for _, m := range e.memory {
			batch = append(batch, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: m, Remote: at, Unsignaled: true})
			at.TO += uint64(len(m))
		}
	}
	if op == opWrite {
		batch = append(batch, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: p.last[:], Remote: p.file})
	}
	if len(batch) == 0 {
		return nil
	}
	batch[len(batch)-1].Unsignaled = false
	_, err := p.c.PostBatch(batch)
	return err
}

func (p *placer) end(op byte, extents []extent) error {
	if op == opRead && len(extents) == 0 {
		return nil
	}
	done, err := p.c.SendCQ().Wait(context.Background())
	if err != nil {
		return err
	}
	return done.Err
}

func (p *placer) close() error { return harness.Close(p.c) }
