package extsock_test

import (
	"errors"
	"io"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/ddphdr"
	"github.com/rddp/rddp/internal/rdmaphdr"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// TestFINInsideAMessage: a FIN behind a segment that is not its message's last is no orderly end,
// or a program that reads messages until io.EOF would take a cut conversation for a whole one. DDP
// Graceful Teardown is "The act of closing a DDP Stream such that all in-progress and pending DDP
// Messages are allowed to complete successfully" (RFC 5041 §3.2).
func TestFINInsideAMessage(t *testing.T) {
	for _, tt := range []struct {
		desc string
		send func(p *rawPeer, h rdmap.Handle)
		cut  bool
	}{
		{"between messages", func(*rawPeer, rdmap.Handle) {}, false},
		{"inside a Send", func(p *rawPeer, _ rdmap.Handle) { p.segment(2, 0, false, []byte("half")...) }, true},
		{"inside a Send, in its second segment", func(p *rawPeer, _ rdmap.Handle) {
			p.segment(2, 0, false, []byte("half")...)
			p.segment(2, 4, false, []byte(" of it")...)
		}, true},
		{"inside an RDMA Write", func(p *rawPeer, h rdmap.Handle) {
			header := ddphdr.TaggedHeader{RsvdULP: rdmaphdr.Control(rdmaphdr.OpWrite), STag: uint32(h.STag), TO: h.TO}
			p.send(append(header.AppendTo(nil), "half"...)...)
		}, true},
		{"inside a Read Request", func(p *rawPeer, h rdmap.Handle) {
			b := readRequest(h.STag, h.TO, 4)
			b[0] &^= 0x40 // the L bit
			p.send(b...)
		}, true},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := rawPair(t, extsock.Config{Messages: true}, nil)
				r, err := c.Register(make([]byte, 64), ddp.RemoteWrite|ddp.RemoteRead)
				if err != nil {
					t.Fatal(err)
				}
				p.segment(1, 0, true, []byte("whole")...)
				tt.send(p, r.Handle())
				if err := p.s.(toe.Stream).CloseWrite(); err != nil {
					t.Fatal(err)
				}
				b := make([]byte, 64)
				if n, err := c.Read(b); string(b[:n]) != "whole" || err != nil {
					t.Errorf("Read = %q, %v, want the whole message", b[:n], err)
				}
				n, err := c.Read(b)
				if n != 0 || err == nil || tt.cut != errors.Is(err, io.ErrUnexpectedEOF) || tt.cut == errors.Is(err, io.EOF) {
					t.Errorf("Read = %q, %v; cut is %t", b[:n], err, tt.cut)
				}
				p.s.Close()
				c.Close()
				settle()
			})
		})
	}
}
