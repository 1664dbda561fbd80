package extsock_test

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// Requirements of RFC 6581 and of RFC 6580 §3.3 that can be tested on a connection.

// "The responder and initiator MUST pass the peer's provided IRD and ORD values to the ULP" "The
// initiator MUST pass the responder provided IRD and ORD to the ULP for both MPA Accept and Reject
// messages."
// MPA-6581-9.1-6, MPA-6581-9.1-16
func TestRFC6581_9_1_TheULPLearnsThePeersDepths(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr := extsock.NewConn(a, true, &extsock.Config{IRD: 4, ORD: 30}), extsock.NewConn(b, false, &extsock.Config{IRD: 7, ORD: 20})
		defer ci.Close()
		defer cr.Close()
		answer := func(do func(*extsock.Request) error) <-chan error {
			answered := make(chan error, 1)
			go func() {
				req, err := cr.ReceiveRequest(timeLimit(t))
				if err == nil && (req.IRD != 4 || req.ORD != 30) {
					t.Errorf("the Request states %d, %d, want 4, 30", req.IRD, req.ORD)
				}
				if err == nil {
					err = do(req)
				}
				answered <- err
			}()
			return answered
		}
		rejected := answer(func(r *extsock.Request) error { return r.Reject(timeLimit(t), nil) })
		var re *mpa.RejectError
		if err := ci.EnableDDP(timeLimit(t), nil); !errors.As(err, &re) || !re.Enhanced || re.IRD != 7 || re.ORD != 20 || !strings.Contains(err.Error(), "its IRD is 7, its ORD 20") {
			t.Errorf("EnableDDP = %v, want a rejection with IRD 7, ORD 20", err)
		}
		if err := <-rejected; err != nil {
			t.Fatal(err)
		}
		for _, c := range []*extsock.Conn{ci, cr} {
			if ird, ord := peerDepthsOf(c); ird != 0 || ord != 0 {
				t.Errorf("PeerDepths before DDP mode = %d, %d", ird, ord)
			}
		}
		accepted := answer(func(r *extsock.Request) error { return r.Accept(timeLimit(t), nil) })
		if err := errors.Join(ci.EnableDDP(timeLimit(t), nil), <-accepted); err != nil {
			t.Fatal(err)
		}
		if ird, ord := peerDepthsOf(ci); ird != 7 || ord != 4 {
			t.Errorf("the Initiator learns IRD %d, ORD %d, want 7, 4", ird, ord)
		}
		if ird, ord := peerDepthsOf(cr); ird != 4 || ord != 30 {
			t.Errorf("the Responder learns IRD %d, ORD %d, want 4, 30", ird, ord)
		}
	})
}

// The three kinds of Ready to Receive indication, octet for octet.
var rtrOnTheWire = map[mpa.RTR]string{
	mpa.RTRSend:  "0012 4143 00000000 00000000 00000001 00000000 587be8c4",
	mpa.RTRWrite: "000e c140 00000001 0000000000000000 ebd34c5f",
	mpa.RTRRead: "002e 4141 00000000 00000001 00000001 00000000 00000001 0000000000000000 00000000 00000001 0000000000000000" +
		"27dbd7e7",
}

// octets20 returns the flags and the depths of an enhanced frame with A, this kind and depths of 1.
func octets20(kind mpa.RTR) string {
	return map[mpa.RTR]string{mpa.RTRSend: "c0010001", mpa.RTRWrite: "80018001", mpa.RTRRead: "80014001"}[kind]
}

// "RTR indications are optional and are carried by existing RDMA message types, specifically a
// zero-length FULPDU Send message, a zero-length RDMA Read message, or a zero-length RDMA write
// message." "the initiator MUST generate one of the negotiated RTR indications", before anything
// else that it sends.
// MPA-6581-1.1-1, MPA-6581-5-1, MPA-6581-5-2, MPA-6581-9.2-3, MPA-6581-9.2-12, MPA-6581-9.3-1
func TestRFC6581_5_RTRBeforeAllElse(t *testing.T) {
	for kind, rtr := range rtrOnTheWire {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				c, far := against(t, true, extsock.Config{PeerToPeer: true, RTR: kind, IRD: 1, ORD: 1, NoCapabilities: true, Messages: true, HandshakeTimeout: 2 * time.Hour})
				done := enable(c, "")
				synctest.Wait()
				written := make(chan error, 1)
				go func() { _, err := c.Write([]byte("data")); written <- err }() // it waits for startup
				far.hear(requestKey + "50 02 0004" + octets20(kind))
				far.hearNothing()
				far.say(replyKey + "50 02 0004" + octets20(kind))
				far.hear(rtr)
				msn := "00000001"
				if kind == mpa.RTRSend {
					msn = "00000002"
				}
				far.hear("0016 4143 00000000 00000000" + msn + "00000000 64617461")
				if kind == mpa.RTRRead {
					peer := newRawPeer(t, far, mpa.Agreement{CRC: true})
					peer.send(ddp.TaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadResponse), STag: 1}.AppendTo(nil)...)
				}
				if err := errors.Join(<-done, <-written); err != nil {
					t.Error(err)
				}
				far.close(c)
			})
		})
	}
}

// Startup and its indication have no Completions. MPA-6581-5-3
func TestRFC6581_5_NoCompletions(t *testing.T) {
	for kind := range rtrOnTheWire {
		t.Run(kind.String(), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				i, r := postRecvs(extsock.Config{PeerToPeer: true, RTR: kind}, 2, 64), postRecvs(extsock.Config{RTR: kind}, 2, 64)
				ci, cr := simPair(t, simtoe.Config{}, i, r)
				synctest.Wait()
				if n := cr.Stats().Received.FPDUs; n != 1 {
					t.Errorf("%d FPDUs came, want the indication", n)
				}
				for desc, cq := range map[string]*extsock.CompletionQueue{
					"Initiator, send": ci.SendCQ(), "Initiator, receive": ci.RecvCQ(), "Responder, send": cr.SendCQ(), "Responder, receive": cr.RecvCQ(),
				} {
					if n := cq.Len(); n != 0 {
						t.Errorf("%s: %d completions", desc, n)
					}
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// ORD is "The maximum number of simultaneous RDMA Read Requests that can be issued for the RDMA
// connection." "the initiator MUST set [...] its ORD at most to the responder IRD." "The responder
// MUST set its ORD at most to the initiator IRD." Of five Reads two are in flight.
// MPA-6581-3-1, MPA-6581-9.1-5, MPA-6581-9.1-6, MPA-6581-9.1-9, MPA-6581-9.1-13
func TestRFC6581_9_1_ORDOnTheWire(t *testing.T) {
	for _, initiator := range []bool{true, false} {
		bubble(t, func(t *testing.T) { testORDOnTheWire(t, initiator) })
	}
}

func testORDOnTheWire(t *testing.T, initiator bool) {
	c, far := against(t, initiator, extsock.Config{IRD: 4, ORD: 16, NoCapabilities: true, Messages: true})
	p := newRawPeer(t, far, mpa.Agreement{CRC: true})
	done := enable(c, "")
	if initiator {
		far.hear(requestKey + "50 02 0004 00040010")
		far.say(replyKey + "50 02 0004 00020004")
	} else {
		far.say(requestKey + "50 02 0004 00020004")
		far.hear(replyKey + "50 02 0004 00040002")
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if !initiator { // which sends nothing before
		p.segment(1, 0, true, 'a')
		if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Fatal(n, err)
		}
	}
	if ird, ord := depthsOf(c); ird != 4 || ord != 2 {
		t.Errorf("depths %d, %d, want 4, 2", ird, ord)
	}
	sinks := make([][]byte, 5)
	for i := range sinks {
		sinks[i] = make([]byte, 4)
		if err := c.Post(&rdmap.WorkRequest{ID: uint64(i), Op: rdmap.WorkRead, Data: sinks[i], Remote: rdmap.Handle{STag: 9, Len: 4}}); err != nil {
			t.Fatal(err)
		}
	}
	var asked []rdmap.ReadRequest
	take := func() {
		t.Helper()
		u, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		h, rest, err := ddp.ParseUntagged(u)
		r, _, err2 := rdmap.ParseReadRequest(rest)
		if err := errors.Join(err, err2); err != nil || h.QN != ddp.QNReadRequest || h.MSN != uint32(len(asked)+1) {
			t.Fatalf("%x is no Read Request %d: %v", u, len(asked)+1, err)
		}
		asked = append(asked, r)
	}
	take()
	take()
	for i := range sinks {
		if far.hearNothing(); p.rx.Edge() != p.in { // two are in flight, or all that there are
			t.Fatalf("%d octets came behind Read Request %d", p.in-p.rx.Edge(), len(asked))
		}
		p.send(append(ddp.TaggedHeader{
			Last: true, RsvdULP: rdmap.Control(rdmap.OpReadResponse), STag: asked[i].SinkSTag, TO: asked[i].SinkTO,
		}.AppendTo(nil), 'r', 'e', 'a', byte('0'+i))...)
		if len(asked) < len(sinks) {
			take()
		}
		if d := complete(t, c.SendCQ()); d.ID != uint64(i) || string(sinks[i]) != fmt.Sprintf("rea%d", i) {
			t.Errorf("completion %v, sink %q", d, sinks[i])
		}
	}
	far.close(c)
}

// "If the initiator does not have sufficient resources for the required IRD, it MUST send a TERM
// message to the responder indicating insufficient resources and terminate the connection" "If the
// initiator is not able to generate any of the responder-supported RTR indications, then it MUST
// send a TERM message to the responder indicating failure to negotiate a mutually compatible
// connection model or RTR option, and terminate the connection." It comes instead of the
// indication. "The ULP can negotiate a ULP-level RTR indication when a Provider-level RTR
// indication cannot be negotiated." MPA-6581-8-1, MPA-6581-8-3, MPA-6581-8-4, MPA-6581-9.1-14,
// MPA-6581-9.1-15, MPA-6581-9.2-13, MPA-6581-9.2-14, MPA-6581-9.2-15, MPA-6581-9.3-2, MPA-6581-11-1
func TestRFC6581_8_TerminateInsteadOfRTR(t *testing.T) {
	tests := []struct {
		desc      string
		reply     string
		code      mpa.Code
		terminate string
	}{
		{"ORD above our IRD", "80018002", mpa.CodeInsufficientIRD, "0016 4147 00000000 00000002 00000001 00000000 20060000 6540fb1b"},
		{"another kind", "c0010001", mpa.CodeNoRTR, "0016 4147 00000000 00000002 00000001 00000000 20070000 1bd2babe"},
		{"another model", "00010001", mpa.CodeNoRTR, "0016 4147 00000000 00000002 00000001 00000000 20070000 1bd2babe"},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := extsock.Config{PeerToPeer: true, RTR: mpa.RTRWrite, IRD: 1, ORD: 1, NoCapabilities: true, Messages: true}
				c, far := against(t, true, cfg)
				done := enable(c, "")
				far.hear(requestKey + "50 02 0004 80018001")
				far.say(replyKey + "50 02 0004" + tt.reply)
				far.hear(tt.terminate)
				far.hearEnd()
				var e *mpa.Error
				if err := <-done; !errors.As(err, &e) || e.Code != tt.code {
					t.Errorf("EnableDDP = %v, want MPA error code %d", err, tt.code)
				}
				far.close(c)

				// The ULPs can do without: the Initiator's first message is their indication.
				cfg.PeerToPeer = false
				c, far = against(t, true, cfg)
				done = enable(c, "")
				far.hear(requestKey + "50 02 0004 00010001")
				far.say(replyKey + "50 02 0004 00010001")
				if err := <-done; err != nil {
					t.Fatal(err)
				}
				far.hearNothing()
				if _, err := c.Write([]byte("RTR!")); err != nil {
					t.Error(err)
				}
				far.hear("0016 4143 00000000 00000000 00000001 00000000 52545221")
				far.close(c)
			})
		})
	}
}

// "If the responder receives an enhanced MPA message and it does not support enhanced RDMA
// connection establishment, it MUST close the TCP connection and exit MPA." "Thus, both the
// initiator and responder report TCP connection termination to an application locally."
// MPA-6581-10-2, MPA-6581-10-9, MPA-6581-10-10
func TestRFC6581_10_UnenhancedResponder(t *testing.T) {
	for desc, cfg := range map[string]extsock.Config{"revision 1": {Revision: 1}, "not enhanced": {NoEnhanced: true}} {
		bubble(t, func(t *testing.T) {
			c, far := against(t, false, cfg)
			done := enable(c, "")
			far.say(requestKey + "50 02 0004 00010001")
			far.hearEnd()
			var e *mpa.Error
			if err := <-done; !errors.As(err, &e) || e.Code != mpa.CodeFrame {
				t.Errorf("%s: the Responder's EnableDDP = %v, want MPA error code 4", desc, err)
			}
			wantDeadConn(t, c)
			far.close(c)

			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			ci, cr := extsock.NewConn(a, true, nil), extsock.NewConn(b, false, &cfg)
			responder := enable(cr, "")
			if err := <-enable(ci, ""); !errors.As(err, &e) || e.Code != mpa.CodeClosed || !errors.Is(err, extsock.ErrNoReply) {
				t.Errorf("%s: the Initiator's EnableDDP = %v, want ErrNoReply with MPA error code 1", desc, err)
			}
			if err := <-responder; err == nil {
				t.Errorf("%s: the Responder's EnableDDP succeeds", desc)
			}
			wantDeadConn(t, ci)
			wantDeadConn(t, cr)
			ci.Close()
			cr.Close()
		})
	}
}

// "All combinations not listed above that combine 0x2 as the Layer with an Error Type and Error
// Code are Unassigned": they are reported as they come. There are peers that send the codes with
// type 3. Linux siw, whose bit fields are the other way round, sends 2/0 and 2/1 for errors 0/2 of
// RDMAP and 1/2 of DDP; the codes that only these have are taken for theirs.
// MPA-6580-3.3-3
func TestRFC6580_3_3_UnassignedCodes(t *testing.T) {
	for etype := range uint8(16) {
		for _, code := range []uint8{0, 1, 2, 3, 4, 5, 6, 7, 8, 0x7f, 0xff} {
			if etype == 0 && (code == 8 || code == 0xff) || etype == 1 && 1 <= code && code <= 6 {
				continue
			}
			bubble(t, func(t *testing.T) {
				p, c := rawPair(t, extsock.Config{Messages: true}, nil)
				h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpTerminate), QN: ddp.QNTerminate, MSN: 1}
				p.send(append(h.AppendTo(nil), 0x20|etype, code, 0, 0)...)
				var te *rdmap.TerminateError
				_, err := c.Read(make([]byte, 1))
				if !errors.As(err, &te) || !te.Remote || te.Terminate.Code != rdmap.TerminateCode(0x2000|uint16(etype)<<8|uint16(code)) {
					t.Errorf("Terminate 2/%d/%d: Read = %v", etype, code, err)
				}
				if u, err := p.next(); err != io.EOF {
					t.Errorf("Terminate 2/%d/%d is answered with %x, %v", etype, code, u, err)
				}
				p.s.Close()
				c.Close()
				settle()
			})
		}
	}
}

// IRD is "The maximum number of simultaneous RDMA Read Requests that can be received". "The
// responder MUST respond to an initiator ORD value of 0x3FFF by leaving its local endpoint IRD
// value unchanged", and so for the other depth and for the Initiator. "the initiator MUST set its
// IRD at least to the responder ORD". While a long message is under way as many Read Requests as
// IRD says are taken; then as many are sent as ORD says. MPA-6581-3-1, MPA-6581-9.1-12,
// MPA-6581-9.1-17 to MPA-6581-9.1-21
func TestRFC6581_9_1_DepthsOnTheWire(t *testing.T) {
	for _, initiator := range []bool{true, false} {
		for _, tt := range []struct {
			theirs, answer string // depths: of the peer's frame, of the Responder's Reply to it
			ord            int
		}{
			{"0002 0004", "0004 0002", 2},
			{"3fff 3fff", "3fff 3fff", 3},
			{"3fff 0004", "0004 3fff", 3},
			{"0002 3fff", "3fff 0002", 2},
		} {
			t.Run(tt.theirs, func(t *testing.T) {
				bubble(t, func(t *testing.T) { testDepthsOnTheWire(t, initiator, tt.theirs, tt.answer, tt.ord) })
			})
		}
	}
}

func testDepthsOnTheWire(t *testing.T, initiator bool, theirs, answer string, ord int) {
	const ird, tooMany = 4, 6
	c, far := against(t, initiator, extsock.Config{IRD: ird, ORD: 3, NoCapabilities: true, Messages: true})
	p := newRawPeer(t, far, mpa.Agreement{CRC: true})
	done := enable(c, "")
	if initiator {
		far.hear(requestKey + "50 02 0004 00040003")
		far.say(replyKey + "50 02 0004" + theirs)
	} else {
		far.say(requestKey + "50 02 0004" + theirs)
		far.hear(replyKey + "50 02 0004" + answer)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	p.segment(1, 0, true, 'a') // the Responder sends nothing before
	if n, err := c.Read(make([]byte, 1)); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	memory := register(t, c, []byte("memory"), ddp.RemoteRead)
	if err := postSend(c, make([]byte, 1<<20)); err != nil {
		t.Fatal(err)
	}
	synctest.Wait()
	for k := range uint32(ird) {
		h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpReadRequest), QN: ddp.QNReadRequest, MSN: k + 1}
		p.send(rdmap.ReadRequest{SinkSTag: 9, SinkTO: uint64(k), Size: 6, SourceSTag: memory.Handle().STag, SourceTO: memory.Handle().TO}.AppendTo(h.AppendTo(nil))...)
	}
	synctest.Wait()
	next := func() []byte {
		t.Helper()
		u, err := p.next()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
	for next()[0]&0x40 == 0 { // the long message
	}
	for k := range uint64(ird) {
		if h, rest, err := ddp.ParseTagged(next()); err != nil || h.TO != k || string(rest) != "memory" {
			t.Fatalf("Read Response %d: %+v, %q, %v", k, h, rest, err)
		}
	}
	for k := range uint64(tooMany) {
		wr := rdmap.WorkRequest{ID: k, Op: rdmap.WorkRead, Data: make([]byte, 4), Remote: rdmap.Handle{STag: 9, Len: 4}}
		if err := c.Post(&wr); err != nil {
			t.Fatal(err)
		}
	}
	for k := range ord {
		if h, _, err := ddp.ParseUntagged(next()); err != nil || h.QN != ddp.QNReadRequest || h.MSN != uint32(k+1) {
			t.Fatalf("%+v, %v, want Read Request %d", h, err, k)
		}
	}
	if far.hearNothing(); p.rx.Edge() != p.in {
		t.Errorf("%d octets came behind %d Read Requests", p.in-p.rx.Edge(), ord)
	}
	far.close(c)
}

// "The initiator MUST NOT use the enhanced RDMA connection establishment formats or function codes
// when no enhanced functionality is desired." Nor does it want them in the Reply.
// MPA-6581-10-4
func TestRFC6581_10_PlainRequest(t *testing.T) {
	for octets, cfg := range map[string]extsock.Config{"40 01 0000": {Revision: 1}, "40 02 0000": {NoEnhanced: true}} {
		bubble(t, func(t *testing.T) {
			cfg.NoCapabilities, cfg.IRD, cfg.ORD, cfg.HandshakeTimeout = true, 3, 3, 2*time.Hour
			c, far := against(t, true, cfg)
			done := enable(c, "")
			far.hear(requestKey + octets)
			far.hearNothing()
			far.say(replyKey + octets)
			if err := <-done; err != nil {
				t.Error(err)
			}
			far.close(c)
		})
	}
}
