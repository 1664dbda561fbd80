package hostile

import (
	"bufio"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A peer is a foreign Initiator that can send anything.
type peer struct {
	t testing.TB
	net.Conn
	tx    *mpa.Sender
	batch *mpa.Batch
	in    *bufio.Reader
	rx    *mpa.Receiver
	send  uint32 // MSN of the last Send
	ask   uint32 // of the last Read Request
	flood []byte // sent repeatedly
}

// fpdus returns the ULPDUs as the next FPDUs of the stream.
func (p *peer) fpdus(ulpdus ...[]byte) (stream []byte) {
	if p.batch == nil {
		p.batch = mpa.NewBatch(mpa.MinBuffer)
	}
	b := p.batch
	for _, u := range ulpdus {
		p.tx.Append(b, true, u)
		for _, piece := range b.Bufs() {
			stream = append(stream, piece...)
		}
		b.Reset()
	}
	return stream
}

// aSend returns a Send in one segment.
func (p *peer) aSend(payload ...byte) []byte {
	p.send++
	h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpSend), QN: ddp.QNSend, MSN: p.send}
	return append(h.AppendTo(nil), payload...)
}

// aWrite returns a zero-length RDMA Write, to no memory.
func aWrite() []byte {
	return ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpWrite)}.AppendTo(nil)
}

// aRead returns a Read Request for n octets of h.
func (p *peer) aRead(h rdmap.Handle, n uint32) []byte {
	p.ask++
	head := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, MSN: p.ask}
	return rdmap.ReadRequest{SinkSTag: 1, Size: n, SourceSTag: h.STag, SourceTO: h.TO}.AppendTo(head.AppendTo(nil))
}

// connected makes a connection over loopback between a peer and a Conn in DDP mode. It calls before
// just before the switch to DDP mode.
func connected(t testing.TB, cfg extsock.Config, private []byte, before func(*extsock.Conn)) (*peer, *extsock.Conn) {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	raw, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	c, err := acceptConn(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { raw.Close(); c.Close() })
	if before != nil {
		before(c)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := rawpeer.Start(raw, mpa.Frame{Revision: 1, CRC: true, PrivateData: private})
		ended <- err
	}()
	if err := c.EnableDDP(timeLimit(t), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	raw.SetDeadline(time.Now().Add(time.Minute)) // a peer that waits in vain ends early enough for another try
	p := &peer{t: t, Conn: raw, in: bufio.NewReader(raw), tx: mpa.NewSender(mpa.Agreement{CRC: true}), rx: rawpeer.NewReceiver(mpa.Agreement{CRC: true})}
	return p, c
}

// next returns the next ULPDU that arrives.
func (p *peer) next() ([]byte, error) {
	for !p.rx.Next() {
		if err := p.rx.Err(); err != nil {
			return nil, err
		}
		n, err := p.Conn.Read(p.rx.Free())
		if n == 0 && err != nil {
			return nil, err
		}
		p.rx.Fill(p.off(), n)
	}
	return p.rx.ULPDU().Data, nil
}

// off returns the stream offset of the next octets.
func (p *peer) off() uint64 {
	b, _ := p.rx.Arrived()
	return p.rx.Edge() + uint64(len(b))
}

// terminate reads up to the Terminate and returns its fields.
func (p *peer) terminate() (layer, etype, code uint8, err error) {
	for {
		u, err := p.next()
		if err != nil {
			return 0, 0, 0, fmt.Errorf("no Terminate: %w", err)
		}
		h, payload, err := ddp.ParseUntagged(u)
		if ddp.IsTagged(u) || err != nil || h.QN != ddp.QNTerminate {
			continue
		}
		term, err := rdmap.ParseTerminate(payload)
		return uint8(term.Code >> 12), uint8(term.Code>>8) & 0xF, uint8(term.Code), err
	}
}

// pair returns two connected Conns in DDP mode over loopback.
func pair(t testing.TB, i, r extsock.Config) (ci, cr *extsock.Conn) {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", &r)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ci, err = extsock.Dial("tcp", l.Addr().String(), &i)
	if err != nil {
		t.Fatal(err)
	}
	cr, err = acceptConn(l)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ci.Close(); cr.Close() })
	ended := make(chan error, 1)
	go func() { ended <- cr.EnableDDP(timeLimit(t), nil) }()
	if err := ci.EnableDDP(timeLimit(t), nil); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	return ci, cr
}

// acceptConn is l.Accept with a concrete result type.
func acceptConn(l net.Listener) (*extsock.Conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return c.(*extsock.Conn), nil
}
