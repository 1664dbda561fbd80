package extsock_test

import (
	"errors"
	"fmt"
	"io"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestWriteAfterThePeersClose: the peer answers and closes. This end does not know that yet, or
// does not look, and writes before it reads. Over TCP the first Write succeeds, and the reset that
// it causes makes the second fail, so a program that writes once and then reads gets the answer.
// The peer discards the bytes of the Write.
func TestWriteAfterThePeersClose(t *testing.T) {
	for _, length := range []int{1, 20_000, 300_000} {
		for i := range 4 {
			readsFirst, gone := i&1 != 0, i&2 != 0 // gone: the peer's TCP takes nothing any more
			t.Run(fmt.Sprintf("%d octets, reads first %t, gone %t", length, readsFirst, gone), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Crossover: 64 << 10}}, side{})
					if _, err := cr.Write([]byte("answer")); err != nil {
						t.Fatal(err)
					}
					if err := cr.Close(); err != nil {
						t.Fatal(err)
					}
					synctest.Wait()
					if gone {
						settle()
					}
					p := make([]byte, 6)
					if readsFirst {
						if _, err := io.ReadFull(ci, p); err != nil {
							t.Fatal(err)
						}
					}
					before := ci.Stats().Sent.Octets
					if n, err := ci.Write(make([]byte, length)); n != length || err != nil {
						t.Errorf("the first Write = %d, %v", n, err)
					}
					if n := ci.Stats().Sent.Octets - before; n < uint64(length) {
						t.Errorf("%d octets went out", n)
					}
					wantPipe(t, ci)
					if !readsFirst {
						if _, err := io.ReadFull(ci, p); err != nil || string(p) != "answer" {
							t.Errorf("Read = %q, %v", p, err)
						}
					}
					if n, err := ci.Read(p); n != 0 || err != io.EOF {
						t.Errorf("Read behind the answer = %d, %v", n, err)
					}
					if err := ci.Close(); err != nil {
						t.Error(err)
					}
					settle()
				})
			})
		}
	}
}

// TestLongWriteAfterThePeersClose: the peer gives no more credits, so a Write that needs more
// credits than there are ends. It returns the number of bytes that went out.
func TestLongWriteAfterThePeersClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Crossover: -1}}, ofDepth(6, 1000))
		if err := cr.Close(); err != nil {
			t.Fatal(err)
		}
		settle()
		const length = 50_000
		if n, err := ci.Write(make([]byte, length)); n == 0 || n >= length || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Write of %d octets = %d, %v, want a part and EPIPE", length, n, err)
		}
		wantPipe(t, ci)
		if err := ci.Close(); err != nil {
			t.Error(err)
		}
		settle()
	})
}

// TestMessagesAfterThePeersClose: in message mode Writes go on until TCP takes no more. "on the
// receipt of an LLP graceful teardown request of the DDP Stream, DDP SHOULD indicate the
// half-closed state to the ULP, and continue to process outbound data transfer requests normally."
// (RFC 5041 §6.2.1)
func TestMessagesAfterThePeersClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, inMessages, inMessages)
		if _, err := cr.Write([]byte("answer")); err != nil {
			t.Fatal(err)
		}
		if err := cr.Close(); err != nil { // from now on the peer discards, for at most CloseTimeout
			t.Fatal(err)
		}
		for range 3 {
			if n, err := ci.Write([]byte("more")); n != 4 || err != nil {
				t.Errorf("Write = %d, %v", n, err)
			}
		}
		settle() // now the peer's TCP is gone
		if n, err := ci.Write([]byte("more")); n != 0 || !errors.Is(err, syscall.EPIPE) {
			t.Errorf("Write after the peer's TCP has gone = %d, %v, want EPIPE", n, err)
		}
		p := make([]byte, 9)
		if n, err := ci.Read(p); string(p[:n]) != "answer" || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
		if n, err := ci.Read(p); n != 0 || err != io.EOF {
			t.Errorf("Read behind the answer = %d, %v", n, err)
		}
		ci.Close()
		settle()
	})
}

// TestFINInsideAMessage: a FIN behind a segment that is not the last one of its message is no
// orderly end. Otherwise a program that reads messages until io.EOF would not notice that the end
// is missing. DDP Graceful Teardown is "The act of closing a DDP Stream such that all in-progress
// and pending DDP Messages are allowed to complete successfully" (RFC 5041 §3.2).
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
			header := ddp.TaggedHeader{RsvdULP: rdmap.Control(rdmap.OpWrite), STag: h.STag, TO: h.TO}
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
