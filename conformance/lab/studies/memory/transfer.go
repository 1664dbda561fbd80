package main

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"time"

	"github.com/rddp/rddp/conformance/lab/studies/harness"
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
)

// The ways from the source to the sink.
const (
	wayTCP    = "tcp"
	wayStream = "stream" // the byte stream, without rendezvous
	wayPlaced = "placed" // the byte stream, with rendezvous for each block
	wayWrite  = "write"  // RDMA Writes of the source
	wayRead   = "read"   // RDMA Reads of the sink
)

// config returns the settings of an extended socket, or nil for TCP.
func config(way string, size int) *extsock.Config {
	c := &extsock.Config{Startup: extsock.StartupRequire, Crossover: -1}
	switch way {
	case wayTCP:
		return nil
	case wayPlaced:
		c.Crossover = size
	}
	return c
}

// fill gives a block its number, which is its first 8 bytes.
func fill(block []byte, number uint64) { binary.BigEndian.PutUint64(block, number) }

// newBlock returns the source's block. Only the number changes.
func newBlock(size int) []byte {
	block := make([]byte, size)
	for i := range block[8:] {
		block[8+i] = byte(8 + i)
	}
	return block
}

var errBytes = errors.New("the sink has other bytes than the source")

// check checks only a few bytes of a block, so that it moves almost nothing itself.
func check(block []byte, number uint64) error {
	last := len(block) - 1
	if binary.BigEndian.Uint64(block) != number || block[last/2] != byte(last/2) || block[last] != byte(last) {
		return errBytes
	}
	return nil
}

// serveSource is the process of the source.
func serveSource(_ context.Context, t trial) error {
	l, err := harness.Listen(config(t.Way, t.Size))
	if err != nil {
		return err
	}
	go harness.Accept(l, func(c net.Conn) error {
		end := time.Now().Add(t.Time)
		return t.send(c, func(number uint64) bool {
			return t.Count > 0 && number < uint64(t.Count) || t.Count == 0 && time.Now().Before(end)
		})
	})
	return harness.Serve(l.Addr())
}

// send runs the source's side of a transfer.
func (t *trial) send(c net.Conn, more func(number uint64) bool) error {
	block := newBlock(t.Size)
	out := func(p []byte) error { _, err := c.Write(p); return err }
	switch t.Way {
	case wayRead:
		region, err := c.(*extsock.Conn).Register(block, ddp.RemoteRead)
		if err != nil {
			return err
		}
		if err := out(region.Handle().AppendTo(nil)); err != nil {
			return err
		}
		_, err = io.Copy(io.Discard, c) // until the sink has enough
		return err
	case wayWrite:
		handle, err := harness.Granted(c)
		if err != nil {
			return err
		}
		memory := c.(*extsock.Conn).Remote(handle)
		out = func(p []byte) error { _, err := memory.WriteAt(p, 0); return err }
	}
	for number := uint64(0); more(number); number++ {
		fill(block, number)
		if err := out(block); err != nil {
			return err
		}
	}
	return nil
}

// runSink is the process of the sink. It reports the number of bytes that it has received.
func runSink(_ context.Context, t trial) error {
	c, err := harness.Dial(t.Address, config(t.Way, t.Size))
	if err != nil {
		return err
	}
	n, err := t.receive(c)
	if err = errors.Join(err, harness.Close(c)); err != nil {
		return err
	}
	return harness.Report(outcome{Bytes: n})
}

// receive runs the sink's side. It returns the number of bytes that have arrived.
func (t *trial) receive(c net.Conn) (n int, err error) {
	block := make([]byte, t.Size)
	switch t.Way {
	case wayRead:
		return t.fetch(c.(*extsock.Conn), block)
	case wayWrite:
		region, err := c.(*extsock.Conn).Register(block, ddp.RemoteWrite)
		if err != nil {
			return 0, err
		}
		if _, err := c.Write(region.Handle().AppendTo(nil)); err != nil {
			return 0, err
		}
		if _, err := io.Copy(io.Discard, c); err != nil { // until the source has sent everything
			return 0, err
		}
		number := binary.BigEndian.Uint64(block)
		return int(number+1) * t.Size, check(block, number)
	}
	for number := uint64(0); ; number++ {
		if _, err := io.ReadFull(c, block); errors.Is(err, io.EOF) {
			return int(number) * t.Size, nil
		} else if err != nil {
			return 0, err
		}
		if err := check(block, number); err != nil {
			return 0, err
		}
	}
}

// fetch reads the source's block repeatedly.
func (t *trial) fetch(c *extsock.Conn, block []byte) (n int, err error) {
	handle, err := harness.Granted(c)
	if err != nil {
		return 0, err
	}
	memory, end := c.Remote(handle), time.Now().Add(t.Time)
	for i := 0; t.Count > 0 && i < t.Count || t.Count == 0 && time.Now().Before(end); i++ {
		block[len(block)-1]++ // a Read must correct it
		if _, err := memory.ReadAt(block, 0); err != nil {
			return 0, err
		}
		if err := check(block, 0); err != nil {
			return 0, err
		}
		n += t.Size
	}
	return n, nil
}
