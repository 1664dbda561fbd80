package extsock_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/ddphdr"
	"github.com/rddp/rddp/internal/fpdu"
	"github.com/rddp/rddp/internal/rdmaphdr"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

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
	p := &rawPeer{t: t, s: far, tx: fpdu.NewSender(mpa.Agreement{CRC: true}), rx: fpdu.NewReceiver(mpa.Agreement{CRC: true})}
	p.rx.SetBuffer(make([]byte, 1<<20))
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
		h := ddphdr.UntaggedHeader{Last: true, RsvdULP: rdmaphdr.Control(rdmaphdr.OpReadRequest), QN: ddphdr.QNReadRequest, MSN: k + 1}
		p.send(rdmaphdr.ReadRequest{SinkSTag: 9, SinkTO: uint64(k), Size: 6, SourceSTag: memory.Handle().STag, SourceTO: memory.Handle().TO}.AppendTo(h.AppendTo(nil))...)
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
		if h, rest, err := ddphdr.ParseTagged(next()); err != nil || h.TO != k || string(rest) != "memory" {
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
		if h, _, err := ddphdr.ParseUntagged(next()); err != nil || h.QN != ddphdr.QNReadRequest || h.MSN != uint32(k+1) {
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
