package extsock_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"slices"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// A rawPeer is a peer that sends whatever the test wants.
type rawPeer struct {
	t  *testing.T
	s  net.Conn
	tx *mpa.Sender
	rx *mpa.Receiver
	in uint64
}

// rawPair switches a Conn against a peer of plain octets, an Initiator of revision 1 with CRC.
func rawPair(t *testing.T, cfg extsock.Config, before func(*extsock.Conn)) (*rawPeer, *extsock.Conn) {
	t.Helper()
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	return rawPairOver(t, a, b, cfg, nil, before)
}

// rawPairOver is rawPair over a and b, with private data in the Request.
func rawPairOver(t *testing.T, a, b net.Conn, cfg extsock.Config, private []byte, before func(*extsock.Conn)) (*rawPeer, *extsock.Conn) {
	t.Helper()
	c := extsock.NewConn(b, false, &cfg)
	t.Cleanup(func() { a.Close(); c.Close() })
	if before != nil {
		before(c)
	}
	if _, err := a.Write(mpa.Frame{Revision: 1, CRC: true, PrivateData: private}.AppendTo(nil)); err != nil {
		t.Fatal(err)
	}
	if err := c.EnableDDP(timeLimit(t), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := rawpeer.ReadFrame(a); err != nil {
		t.Fatal(err)
	}
	a.SetReadDeadline(prototest.Deadline(t))
	return newRawPeer(t, a, mpa.Agreement{CRC: true}), c
}

// newRawPeer returns a peer that has completed startup over s. a is the agreement, as the peer sees
// it.
func newRawPeer(t *testing.T, s net.Conn, a mpa.Agreement) *rawPeer {
	return &rawPeer{t: t, s: s, tx: mpa.NewSender(a), rx: rawpeer.NewReceiver(a)}
}

// send sends one ULPDU.
func (p *rawPeer) send(ulpdu ...byte) {
	p.t.Helper()
	if _, err := p.s.Write(rawpeer.FPDUs(p.tx, ulpdu)); err != nil {
		p.t.Fatal(err)
	}
}

// next returns the next ULPDU, or io.EOF after a proper FIN.
func (p *rawPeer) next() ([]byte, error) {
	for !p.rx.Next() {
		n, err := p.s.Read(p.rx.Free())
		if err != nil {
			return nil, err
		}
		p.rx.Fill(p.in, n)
		p.in += uint64(n)
		if err := p.rx.Err(); err != nil {
			return nil, err
		}
	}
	return slices.Clone(p.rx.ULPDU().Data), nil
}

// wantTerminate checks that one Terminate with these three codes comes, and then the FIN.
func (p *rawPeer) wantTerminate(layer, etype, code uint8) {
	p.t.Helper()
	u, err := p.next()
	if err != nil {
		p.t.Fatalf("no Terminate: %v", err)
	}
	h, rest, err := ddp.ParseUntagged(u)
	if err != nil || h.QN != ddp.QNTerminate {
		p.t.Fatalf("got %x, want a Terminate", u)
	}
	got, err := rdmap.ParseTerminate(rest)
	if err != nil {
		p.t.Fatal(err)
	}
	if want := rdmap.TerminateCode(uint16(layer)<<12 | uint16(etype)<<8 | uint16(code)); got.Code != want {
		p.t.Errorf("got Terminate %#04x (%v), want %#04x (%v)", uint16(got.Code), got.Code, uint16(want), want)
	}
	if u, err := p.next(); err != io.EOF {
		p.t.Errorf("after the Terminate: %x, %v, want FIN", u, err)
	}
}

// TestFaultsEndInATerminate sends something that a peer must not send, after one good Send. The
// right Terminate comes, nothing is placed, and the good message is delivered.
func TestFaultsEndInATerminate(t *testing.T) {
	tests := []struct {
		desc               string
		layer, etype, code uint8
		ulpdu              func(stag ddp.STag, to uint64) []byte
	}{
		{"Write, unknown STag", 1, 1, 0, func(stag ddp.STag, to uint64) []byte { return tagged(rdmap.OpWrite, stag^1, to) }},
		{"Write, one octet before", 1, 1, 1, func(stag ddp.STag, to uint64) []byte { return tagged(rdmap.OpWrite, stag, to-1) }},
		{"Write, one octet behind", 1, 1, 1, func(stag ddp.STag, to uint64) []byte { return tagged(rdmap.OpWrite, stag, to+61) }},
		{"Write, TO wraps", 1, 1, 3, func(stag ddp.STag, to uint64) []byte { return tagged(rdmap.OpWrite, stag, 1<<64-2) }},
		{"Write, DDP version 2", 1, 1, 4, func(stag ddp.STag, to uint64) []byte {
			b := tagged(rdmap.OpWrite, stag, to)
			b[0] = b[0]&^3 | 2
			return b
		}},
		{"Send, wrong MSN", 1, 2, 3, func(ddp.STag, uint64) []byte { return untagged(rdmap.OpSend, 0, 3, 0, 4) }},
		{"Send, wrong MO", 1, 2, 4, func(ddp.STag, uint64) []byte { return untagged(rdmap.OpSend, 0, 2, 1, 4) }},
		{"Send, too long", 1, 2, 5, func(ddp.STag, uint64) []byte { return untagged(rdmap.OpSend, 0, 2, 0, 65) }},
		{"Send, queue 4", 1, 2, 1, func(ddp.STag, uint64) []byte { return untagged(rdmap.OpSend, 4, 1, 0, 4) }},
		{"Send, DDP version 0", 1, 2, 6, func(ddp.STag, uint64) []byte {
			b := untagged(rdmap.OpSend, 0, 2, 0, 4)
			b[0] &^= 3
			return b
		}},
		{"RDMAP version 2", 0, 2, 5, func(ddp.STag, uint64) []byte {
			b := untagged(rdmap.OpSend, 0, 2, 0, 4)
			b[1] = b[1]&0x3f | 0x80
			return b
		}},
		{"unknown opcode", 0, 2, 6, func(ddp.STag, uint64) []byte { return untagged(0xf, 0, 2, 0, 4) }},
		{"Read Response to nobody", 1, 1, 0, func(stag ddp.STag, to uint64) []byte { return tagged(rdmap.OpReadResponse, stag, to) }},
		{"Read Request, unknown STag", 0, 1, 0, func(stag ddp.STag, to uint64) []byte { return readRequest(stag^1, to, 4) }},
		{"Read Request, no right", 0, 1, 2, func(stag ddp.STag, to uint64) []byte { return readRequest(stag, to, 4) }},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				memory := bytes.Repeat([]byte{0xaa}, 64)
				recv := bytes.Repeat([]byte{0xbb}, 64)
				p, c := rawPair(t, extsock.Config{}, func(c *extsock.Conn) {
					for id := range uint64(2) {
						if err := c.PostRecv(rdmap.RecvRequest{ID: id, Buf: [][]byte{make([]byte, 64), recv}[id]}); err != nil {
							t.Fatal(err)
						}
					}
				})
				r := register(t, c, memory, ddp.RemoteWrite)
				p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
				p.send(tt.ulpdu(r.Handle().STag, r.Handle().TO)...)
				p.wantTerminate(tt.layer, tt.etype, tt.code)
				if d := complete(t, c.RecvCQ()); d.ID != 0 || d.Len != 4 {
					t.Errorf("the good Send before the fault: %v", d)
				}
				d, err := c.RecvCQ().Wait(timeLimit(t))
				if te := (*rdmap.TerminateError)(nil); err != nil || d.Status == rdmap.StatusOK || !errors.As(d.Err, &te) || te.Remote {
					t.Errorf("the posted receive: %v, %v, want it ended by our own Terminate", d, err)
				}
				if !bytes.Equal(memory, bytes.Repeat([]byte{0xaa}, 64)) || !bytes.Equal(recv, bytes.Repeat([]byte{0xbb}, 64)) {
					t.Error("octets of the faulty segment were placed")
				}
				if err := postSend(c, nil); err == nil {
					t.Error("PostSend on the dead stream succeeds")
				}
			})
		})
	}
}

// TestBadCRCEndsInATerminate: nothing behind the bad FPDU is delivered (RFC 5044 §8).
func TestBadCRCEndsInATerminate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{}, nil)
		p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
		b := mpa.NewBatch(512 << 10)
		p.tx.Append(b, false, untagged(rdmap.OpSend, 0, 2, 0, 4))
		octets := bytes.Join(b.Bufs(), nil)
		octets[7] ^= 0x10
		p.s.Write(octets)
		p.send(untagged(rdmap.OpSend, 0, 3, 0, 4)...)
		p.wantTerminate(2, 0, 2)
		buf := make([]byte, 100)
		if n, err := c.Read(buf); n != 4 || err != nil {
			t.Errorf("the good Send: %d, %v", n, err)
		}
		var me *mpa.Error
		if n, err := c.Read(buf); !errors.As(err, &me) || me.Code != mpa.CodeCRC {
			t.Errorf("behind the bad FPDU: %d octets, %v, want an MPA CRC error", n, err)
		}
	})
}

// TestFirstFPDUBad: before it has validated an FPDU, a Responder sends nothing, not even a
// Terminate (RFC 5044 §7.1.2).
func TestFirstFPDUBad(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{}, nil)
		p.s.Write([]byte{0, 4, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0})
		if u, err := p.next(); err != io.EOF {
			t.Errorf("the Responder sent %x, %v, want FIN", u, err)
		}
		var me *mpa.Error
		if _, err := c.Read(make([]byte, 1)); !errors.As(err, &me) || me.Code != mpa.CodeCRC {
			t.Errorf("Read = %v, want an MPA CRC error", err)
		}
	})
}

// TestTerminateReceived: a Terminate of the peer is reported as an error and not answered, and
// everything is flushed.
func TestTerminateReceived(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{}, nil)
		p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
		term := prototest.Terminate(0x1101)
		h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpTerminate), QN: ddp.QNTerminate, MSN: 1}
		p.send(append(h.AppendTo(nil), term...)...)
		if u, err := p.next(); err != io.EOF {
			t.Errorf("the Terminate was answered with %x, %v", u, err)
		}
		c.Read(make([]byte, 100))
		_, err := c.Read(make([]byte, 100))
		var te *rdmap.TerminateError
		if !errors.As(err, &te) || !te.Remote || te.Terminate.Code != 0x1101 {
			t.Errorf("Read = %v, want the peer's Terminate", err)
		}
	})
}

// TestStartupTerminates: an Initiator that cannot serve the Responder's ORD, or that has none of
// its kinds of RTR, says so with one Terminate (RFC 6581 §8).
//
// RDMAP-6580-3.3-1
func TestStartupTerminates(t *testing.T) {
	tests := []struct {
		desc  string
		cfg   extsock.Config
		reply mpa.Frame
		code  uint8
	}{
		{"IRD too small", extsock.Config{IRD: 2}, mpa.Frame{IRD: 2, ORD: 100}, 6},
		{"no RTR kind in common", extsock.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, mpa.Frame{IRD: 2, ORD: 2, PeerToPeer: true, RTR: mpa.RTRSend}, 7},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				c := extsock.NewConn(a, true, &tt.cfg)
				defer c.Close()
				defer b.Close()
				failed := make(chan error, 1)
				go func() { failed <- c.EnableDDP(context.Background(), nil) }()
				if _, err := rawpeer.ReadFrame(b); err != nil {
					t.Fatal(err)
				}
				tt.reply.Reply, tt.reply.Enhanced, tt.reply.Revision, tt.reply.CRC = true, true, 2, true
				b.Write(tt.reply.AppendTo(nil))
				p := newRawPeer(t, b, mpa.Agreement{CRC: true})
				p.wantTerminate(2, 0, tt.code)
				b.Close()
				var me *mpa.Error
				if err := <-failed; !errors.As(err, &me) || uint8(me.Code) != tt.code {
					t.Errorf("EnableDDP = %v, want MPA error code %d", err, tt.code)
				}
			})
		})
	}
}

// TestSTagOfAnotherConnection: a peer cannot use memory that was registered for another connection,
// in a shared Domain or not.
func TestSTagOfAnotherConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, shared := range []bool{false, true} {
			cfg := extsock.Config{}
			if shared {
				cfg.Domain = new(ddp.Domain)
			}
			_, owner := rawPair(t, cfg, nil)
			p, _ := rawPair(t, cfg, nil)
			memory := make([]byte, 64)
			r := register(t, owner, memory, ddp.RemoteWrite)
			p.send(tagged(rdmap.OpWrite, r.Handle().STag, r.Handle().TO)...)
			if shared {
				p.wantTerminate(1, 1, 2) // STag not associated with this stream
			} else {
				p.wantTerminate(1, 1, 0)
			}
			if !bytes.Equal(memory, make([]byte, 64)) {
				t.Errorf("memory of another connection was written (shared domain: %v)", shared)
			}
		}
	})
}

// tagged returns a tagged segment with 4 bytes of payload.
func tagged(op rdmap.Opcode, stag ddp.STag, to uint64) []byte {
	return prototest.Tagged(prototest.ControlTagged|uint16(op), stag, to, []byte{1, 2, 3, 4})
}

// untagged returns an untagged segment with n bytes of payload.
func untagged(op rdmap.Opcode, qn ddp.QN, msn, mo uint32, n int) []byte {
	return prototest.Untagged(prototest.ControlUntagged|uint16(op), qn, msn, mo, bytes.Repeat([]byte{7}, n))
}

// readRequest asks for n bytes; its sink does not matter.
func readRequest(stag ddp.STag, to uint64, n uint32) []byte {
	const control = prototest.ControlUntagged | uint16(rdmap.OpReadRequest)
	return prototest.Untagged(control, ddp.QNReadRequest, 1, 0, prototest.ReadRequest(9, 0, n, stag, to))
}

// TestMessageOffsets: an MO that is not the next one is invalid even if the driver provides the
// receive buffers, however much memory there is (RFC 5041 §7.1, §7.2).
func TestMessageOffsets(t *testing.T) {
	for _, shared := range []bool{false, true} {
		for _, mo := range []uint32{4, 1 << 31, math.MaxUint32 - 3} {
			t.Run(fmt.Sprintf("shared=%v, %d", shared, mo), func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					cfg := extsock.Config{Messages: true}
					if shared {
						cfg = newSharedPool(t, 4, 8).side().cfg
					}
					p, _ := rawPair(t, cfg, nil)
					p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
					p.send(untagged(rdmap.OpSend, 0, 2, mo, 4)...)
					p.wantTerminate(1, 2, 4) // invalid MO
				})
			})
		}
	}
}

// TestReadBeyondTheRegion: the bounds of a Region also apply to Reads.
func TestReadBeyondTheRegion(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{}, nil)
		r := register(t, c, make([]byte, 64), ddp.RemoteRead)
		p.send(readRequest(r.Handle().STag, r.Handle().TO+61, 4)...)
		p.wantTerminate(0, 1, 1)
	})
}

// TestTerminateOnTheWire compares one whole Terminate with octets worked out by hand: a Write of 4
// octets with an unknown STag.
func TestTerminateOnTheWire(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, _ := rawPair(t, extsock.Config{}, nil)
		p.send(tagged(rdmap.OpWrite, 0x01020304, 0x1122334455667788)...)
		u, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		want, _ := hex.DecodeString("" +
			"41" + "47" + "00000000" + // untagged, last, version 1; RDMAP version 1, Terminate
			"00000002" + "00000001" + "00000000" + // QN 2, MSN 1, MO 0
			"1100" + "c000" + // layer DDP, tagged buffer error, invalid STag; M and D
			"0012" + // DDP segment length 18
			"c140" + "01020304" + "1122334455667788") // the header it is about
		if !bytes.Equal(u, want) {
			t.Errorf("Terminate\n got %x\nwant %x", u, want)
		}
	})
}
