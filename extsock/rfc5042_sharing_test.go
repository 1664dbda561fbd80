package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// Tests of RFC 5042 §2.2, §3 and §7 on whole connections: they share only what the program says.

// "If an implementation chooses not to share resources between Streams, it is recommended that each
// Stream be associated with its own, unique Protection Domain." "The sharing of resources across
// Streams should be under the control of the ULP", and the library "MUST NOT assume that different
// Streams share Partial Mutual Trust unless there is a mechanism": "explicit notification from the
// ULP". "each Stream MUST either be in a separate Protection Domain or the scope of an STag MUST be
// limited to a single Stream": both, by default. "an RNIC MUST NOT enable sharing a CQ across ULPs
// that do not share Partial Mutual Trust". So nothing is shared and nobody trusted (appendix C).
//
// SEC-5042-2.2.4-3, SEC-5042-2.2.4-4, SEC-5042-3-3, SEC-5042-3-4, SEC-5042-6.1.1-3,
// SEC-5042-6.4.5-1, SEC-5042-7.1-1, SEC-5042-C-1
func TestRFC5042_3_NothingIsSharedUnlessAsked(t *testing.T) {
	domain := new(ddp.Domain)
	for _, tt := range []struct {
		desc     string
		cfg      extsock.Config // of both connections
		register func(c *extsock.Conn, b []byte) (*ddp.Region, error)
		code     uint8 // of the Terminate about the STag of the other; noTerminate: it may be used
	}{
		{"default", extsock.Config{}, viaConn, 0x00},
		{"default, twice the same Config", extsock.Config{Messages: true}, viaConn, 0x00},
		{"a Domain in common", extsock.Config{Domain: domain}, viaConn, 0x02},
		{"a Domain in common, and an STag for all of it", extsock.Config{Domain: domain}, func(_ *extsock.Conn, b []byte) (*ddp.Region, error) {
			return domain.Register(b, ddp.RemoteWrite, 0)
		}, noTerminate},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				_, owner := rawPair(t, tt.cfg, nil)
				p, other := rawPair(t, tt.cfg, nil)
				memory := make([]byte, 8)
				r, err := tt.register(owner, memory)
				if err != nil {
					t.Fatal(err)
				}
				p.send(tagged(rdmap.OpWrite, r.STag(), r.TO())...)
				if tt.code == noTerminate {
					p.send(readRequest(9, 9, 0)...)
					if u, err := p.next(); err != nil || u[1] != rdmap.Control(rdmap.OpReadResponse) || !bytes.Equal(memory[:4], []byte{1, 2, 3, 4}) {
						t.Errorf("the Write: memory %x, answer %x, %v", memory, u, err)
					}
					return
				}
				p.wantTerminate(1, 1, tt.code)
				if !bytes.Equal(memory, make([]byte, 8)) {
					t.Errorf("memory %x", memory)
				}
				queues := map[*extsock.CompletionQueue]bool{owner.SendCQ(): true, owner.RecvCQ(): true, other.SendCQ(): true, other.RecvCQ(): true}
				if len(queues) != 4 || owner.QPNum() == other.QPNum() {
					t.Errorf("two connections have %d completion queues, want 4", len(queues))
				}
			})
		})
	}
}

const noTerminate = 0xff

func viaConn(c *extsock.Conn, b []byte) (*ddp.Region, error) {
	r, err := c.Register(b, ddp.RemoteWrite)
	return extsock.Buffer(r), err
}

// "access to interfaces that allocate RDMA Read Request Queue entries MUST be restricted to a
// trusted Local Peer": the program's Config allocates them, once, in startup. What the peer asks
// for there makes no more of them, and what it sends afterwards ends its stream.
//
// SEC-5042-7.2-1
func TestRFC5042_7_2_PeerAllocatesNoReads(t *testing.T) {
	for _, asked := range []uint16{0, 3, 4, 100, 16382, 0x3FFF} {
		t.Run(fmt.Sprint(asked), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				const ird = 4
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				c := extsock.NewConn(b, false, &extsock.Config{IRD: ird})
				t.Cleanup(func() { a.Close(); c.Close() })
				if _, err := a.Write(mpa.Frame{Revision: 2, Enhanced: true, CRC: true, IRD: 1, ORD: asked}.AppendTo(nil)); err != nil {
					t.Fatal(err)
				}
				if err := c.EnableDDP(timeLimit(t), nil); err != nil {
					t.Fatal(err)
				}
				reply := make([]byte, mpa.FrameHeaderLen+4) // without a capability record, as the Request has none
				if _, err := io.ReadFull(a, reply); err != nil {
					t.Fatal(err)
				}
				a.SetReadDeadline(prototest.Deadline(t))
				if got, _ := depthsOf(c); got > ird {
					t.Errorf("the IRD is %d, want %d at most", got, ird)
				}
				p := newRawPeer(t, a, mpa.Agreement{CRC: true})
				b2 := mpa.NewBatch(512 << 10) // one write: all of them come before one can be answered
				for msn := range uint32(ird + 1) {
					h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: 1, MSN: msn + 1}
					p.tx.Append(b2, true, rdmap.ReadRequest{}.AppendTo(h.AppendTo(nil)))
				}
				if _, err := a.Write(bytes.Join(b2.Bufs(), nil)); err != nil {
					t.Fatal(err)
				}
				answers := 0
				for {
					u, err := p.next()
					if err != nil {
						t.Fatalf("after %d answers: %v", answers, err)
					}
					if u[1] == rdmap.Control(rdmap.OpReadResponse) {
						if answers++; answers > ird {
							t.Fatal("the request too many is answered")
						}
						continue
					}
					if h, rest, _ := ddp.ParseUntagged(u); h.QN != ddp.QNTerminate || !bytes.HasPrefix(rest, []byte{0x12, 0x02}) {
						t.Errorf("got %x, want a Terminate: no buffer", u)
					}
					break
				}
			})
		})
	}
}

// "detect if a Remote Peer is attempting to launch a DOS attack by attempting to create an
// excessive number of Streams … and take corrective action (such as refusing the request …)": the
// program sees who asks before anything is allocated for the stream, how many there are, and may
// refuse.
//
// SEC-5042-6.4.1-2
func TestRFC5042_6_4_1_TooManyStreams(t *testing.T) {
	alone(t)
	const most = 2
	l, err := extsock.Listen("tcp", "127.0.0.1:0", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	before := extsock.TotalStats().Connections
	streams := map[string]int{} // by address of the peer
	for n := range most + 2 {
		ci, err := extsock.Dial("tcp", l.Addr().String(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer ci.Close()
		nc, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		defer nc.Close()
		cr := nc.(*extsock.Conn)
		asked := make(chan error, 1)
		go func() { asked <- ci.EnableDDP(timeLimit(t), nil) }()
		req, err := cr.ReceiveRequest(timeLimit(t))
		if err != nil {
			t.Fatal(err)
		}
		if cr.RemoteAddr().String() != ci.LocalAddr().String() {
			t.Errorf("the peer is %v, seen as %v", ci.LocalAddr(), cr.RemoteAddr())
		}
		host := hostPart(cr)
		if streams[host] == most {
			err = req.Reject(timeLimit(t), nil)
		} else {
			streams[host]++
			err = req.Accept(timeLimit(t), nil)
		}
		if err != nil {
			t.Fatal(err)
		}
		var rejected *mpa.RejectError
		if err := <-asked; errors.As(err, &rejected) != (n >= most) || n < most && err != nil {
			t.Errorf("stream %d: %v", n, err)
		}
		if got, want := extsock.TotalStats().Connections-before, uint64(2*min(n+1, most)); got != want { // both ends are ours
			t.Errorf("after %d requests %d connections have entered DDP mode, want %d", n+1, got, want)
		}
	}
}
