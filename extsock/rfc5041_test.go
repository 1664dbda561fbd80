package extsock_test

import (
	"bytes"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"io"
	"net"
	"sync"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// Tests of RFC 5041 that need a whole connection: its segments on the wire, and the independence of
// connections. rfc5041_teardown_test.go tests how connections end.

// rawPeerOfInitiator switches a Conn, the Initiator, against a peer of plain octets.
func rawPeerOfInitiator(t *testing.T, cfg extsock.Config) (*rawPeer, *extsock.Conn) {
	t.Helper()
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	return answerInitiator(t, cfg, a, b)
}

// answerInitiator is rawPeerOfInitiator over two given Streams.
func answerInitiator(t *testing.T, cfg extsock.Config, a, b net.Conn) (*rawPeer, *extsock.Conn) {
	t.Helper()
	c := extsock.NewConn(a, true, &cfg)
	t.Cleanup(func() { b.Close(); c.Close() })
	answered := make(chan error, 1)
	go func() {
		_, err := rawpeer.ReadFrame(b)
		if err == nil {
			_, err = b.Write(mpa.Frame{Reply: true, Enhanced: true, Revision: 2, CRC: true, IRD: 16, ORD: 16}.AppendTo(nil))
		}
		answered <- err
	}()
	if err := errors.Join(c.EnableDDP(timeLimit(t), nil), <-answered); err != nil {
		t.Fatal(err)
	}
	b.SetReadDeadline(prototest.Deadline(t))
	return newRawPeer(t, b, mpa.Agreement{CRC: true}), c
}

// "The first 8 bits of the DDP Header carry a DDP Control Field", "offset by 16 bits to accommodate
// the MPA header". A DDP Segment is header and payload and nothing else: these are FPDUs worked out
// elsewhere, to the last octet.
// DDP-5041-4.1-1, DDP-5041-2.3-2, DDP-5041-2.3-3
func TestRFC5041_4_1_SegmentInFPDU(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPeerOfInitiator(t, extsock.Config{NoCapabilities: true})
		if err := postSend(c, []byte("hello")); err != nil {
			t.Fatal(err)
		}
		h := rdmap.Handle{STag: 0x12345601, TO: 0x1000, Len: 8}
		if err := postWrite(c, h, []byte{1, 2, 3, 4, 5, 6, 7, 8}); err != nil {
			t.Fatal(err)
		}
		for _, want := range []string{
			"0017" + "41" + "43" + "00000000" + "00000000" + "00000001" + "00000000" + "68656c6c6f" + "000000" + "b990b10c",
			"0016" + "c1" + "40" + "12345601" + "0000000000001000" + "0102030405060708" + "ac68a21f",
		} {
			got := make([]byte, len(want)/2)
			if _, err := io.ReadFull(p.s, got); err != nil || hex.EncodeToString(got) != want {
				t.Errorf("FPDU %x, %v, want %s", got, err, want)
			}
		}
		if _, err := p.s.Write(octetsOf("0017" + "41" + "43" + "00000000" + "00000000" + "00000001" + "00000000" + "68656c6c6f" + "000000" + "b990b10c")); err != nil {
			t.Fatal(err)
		}
		b := make([]byte, 20)
		if n, err := c.Read(b); string(b[:n]) != "hello" || err != nil {
			t.Errorf("Read = %q, %v", b[:n], err)
		}
	})
}

// "each DDP Stream is independent and maps to a single LLP Stream." "Note that DDP has no ordering
// guarantees between DDP Streams." One stands still in the middle of a message; the other, which
// shares all with it that can be shared, goes on.
// DDP-5041-1.2-5
func TestRFC5041_1_2_StreamsAreIndependent(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := extsock.Config{Domain: new(ddp.Domain), RecvCQ: extsock.NewCompletionQueue(8)}
		posts := func(id uint64) func(*extsock.Conn) {
			return func(c *extsock.Conn) {
				for k := range uint64(2) {
					if err := c.PostRecv(rdmap.RecvRequest{ID: id + k, Buf: make([]byte, 8)}); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
		stalled, _ := rawPair(t, cfg, posts(10))
		moving, _ := rawPair(t, cfg, posts(20))
		begun := untagged(rdmap.OpSend, 0, 1, 0, 4)
		begun[0] &^= 0x40 // not the last segment
		stalled.send(begun...)
		for k := range uint32(2) {
			moving.send(untagged(rdmap.OpSend, 0, k+1, 0, 4)...)
			if d := complete(t, cfg.RecvCQ); d.ID != uint64(20+k) {
				t.Errorf("completion %v", d)
			}
		}
		stalled.send(untagged(rdmap.OpSend, 0, 1, 4, 4)...)
		if d := complete(t, cfg.RecvCQ); d.ID != 10 || d.Len != 8 {
			t.Errorf("completion %v", d)
		}
	})
}

// A DDP Stream over MPA is the TCP connection: there is no second one on it. The one that there is
// goes on counting.
// DDP-5041-2.3-1
func TestRFC5041_2_3_OneStreamPerConnection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPeerOfInitiator(t, extsock.Config{})
		for msn := range uint32(3) {
			if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, extsock.ErrMode) {
				t.Fatalf("another EnableDDP: %v", err)
			}
			if err := postSend(c, []byte{1}); err != nil {
				t.Fatal(err)
			}
			u, err := p.next()
			if err != nil {
				t.Fatal(err)
			}
			if h, _, err := ddp.ParseUntagged(u); err != nil || h.MSN != msn+1 {
				t.Errorf("sent %x, %v, want MSN %d", u, err, msn+1)
			}
		}
	})
}

// "The ULP is required to enable both endpoints of an LLP Stream for DDP data transfer at the same
// time, in both directions". What follows startup is FPDUs, both ways at once; what is none is
// taken for a fault, not for data.
// DDP-5041-6.1-1
func TestRFC5041_6_1_BothDirections(t *testing.T) {
	responder := func() (*rawPeer, *extsock.Conn) { return rawPair(t, extsock.Config{}, nil) }
	initiator := func() (*rawPeer, *extsock.Conn) { return rawPeerOfInitiator(t, extsock.Config{}) }
	for desc, pair := range map[string]func() (*rawPeer, *extsock.Conn){"Responder": responder, "Initiator": initiator} {
		t.Run(desc, func(t *testing.T) {
			p, c := pair()
			p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
			if n, err := c.Read(make([]byte, 9)); n != 4 || err != nil {
				t.Errorf("Read = %d, %v", n, err)
			}
			if _, err := c.Write([]byte("octets")); err != nil {
				t.Fatal(err)
			}
			if u, err := p.next(); err != nil || !bytes.Equal(u[18:], []byte("octets")) {
				t.Errorf("sent %x, %v", u, err)
			}
			if _, err := p.s.Write([]byte("\x00\x08plain octets, no FPDU")); err != nil {
				t.Fatal(err)
			}
			var me *mpa.Error
			if n, err := c.Read(make([]byte, 99)); n != 0 || !errors.As(err, &me) || me.Code != mpa.CodeCRC {
				t.Errorf("Read of plain octets = %d, %v", n, err)
			}
		})
	}
}

// "at the Data Source, completion of a DDP Message does not necessarily mean that the Data Sink has
// received the message."
// DDP-5041-5.4-1
func TestRFC5041_5_4_CompletionAtTheSource(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPeerOfInitiator(t, extsock.Config{})
		const messages = 20
		for n := range messages { // the peer reads nothing
			do(t, c, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: pattern(5000, byte(n))})
		}
		var got []byte
		for n := 0; n < messages; {
			u, err := p.next()
			if err != nil {
				t.Fatal(err)
			}
			got = append(got, u[18:]...)
			if u[0]&0x40 != 0 {
				if !bytes.Equal(got, pattern(5000, byte(n))) {
					t.Errorf("message %d of %d octets differs", n, len(got))
				}
				got = got[:0]
				n++
			}
		}
	})
}

// "A ULP SHOULD associate an STag with at least one DDP Stream." The extended socket does so: what
// it registers its own peer can reach, and no other connection's. "The Privileged Resource Manager
// MUST NOT assume different ULPs share Partial Mutual Trust": two connections have nothing in
// common that they were not given. DDP-5041-2.3-4, DDP-5041-8.2-1, DDP-5041-8.2-4, DDP-5041-8.2-5,
// DDP-5041-8.3-3, DDP-5041-8.3.1-2, DDP-5041-8.3.1-3, DDP-5041-8.3.2-4
func TestRFC5041_8_2_STagBelongsToAConnection(t *testing.T) {
	for _, tt := range []struct {
		desc string
		cfg  extsock.Config
		code uint8
	}{
		{"nothing shared", extsock.Config{}, uint8(ddp.CodeInvalidSTag & 0xFF)},
		{"one Domain", extsock.Config{Domain: new(ddp.Domain)}, uint8(ddp.CodeNotAssociated & 0xFF)},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				own, owner := rawPair(t, tt.cfg, nil)
				stranger, other := rawPair(t, tt.cfg, nil)
				if owner.SendCQ() == other.SendCQ() || owner.RecvCQ() == other.RecvCQ() {
					t.Error("the connections share a completion queue")
				}
				memory := make([]byte, 8)
				r := register(t, owner, memory, ddp.RemoteWrite)
				own.send(tagged(rdmap.OpWrite, r.Handle().STag, r.Handle().TO)...)
				own.send(untagged(rdmap.OpSend, 0, 1, 0, 1)...)
				if _, err := owner.Read(make([]byte, 1)); err != nil {
					t.Fatal(err)
				}
				if want := []byte{1, 2, 3, 4, 0, 0, 0, 0}; !bytes.Equal(memory, want) {
					t.Errorf("written by the peer: %x, want %x", memory, want)
				}
				stranger.send(tagged(rdmap.OpWrite, r.Handle().STag, r.Handle().TO+4)...)
				stranger.wantTerminate(1, 1, tt.code)
				if want := []byte{1, 2, 3, 4, 0, 0, 0, 0}; !bytes.Equal(memory, want) {
					t.Errorf("written by a stranger: %x", memory)
				}
			})
		})
	}
}

// An overheard connection keeps what is written to it.
type overheard struct {
	net.Conn
	mu   sync.Mutex
	seen []byte
}

func (w *overheard) Write(p []byte) (int, error) {
	w.mu.Lock()
	w.seen = append(w.seen, p...)
	w.mu.Unlock()
	return w.Conn.Write(p)
}

func (w *overheard) has(s string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return bytes.Contains(w.seen, []byte(s))
}

// "It MAY use confidentiality protection to protect from eavesdropping." Over TLS the wire shows
// nothing of a message.
// DDP-5041-8.4-2
func TestRFC5041_8_4_Confidentiality(t *testing.T) {
	const secret = "nobody else is to read this"
	client, server := tlsConfigs(t)
	for _, encrypted := range []bool{false, true} {
		a, b := kernelStreams(t)
		w := &overheard{Conn: a}
		var i, r net.Conn = w, b
		if encrypted {
			i, r = tls.Client(w, client), tls.Server(b, server)
		}
		ci, cr := switched(t, i, r, inMessages, inMessages)
		if _, err := ci.Write([]byte(secret)); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 99)
		if n, err := cr.Read(p); string(p[:n]) != secret || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
		if w.has(secret) == encrypted {
			t.Errorf("encrypted %t, and the wire shows the message: %t", encrypted, w.has(secret))
		}
	}
}
