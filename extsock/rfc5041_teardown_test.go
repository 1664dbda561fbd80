package extsock_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// Tests of RFC 5041 §3, §6.2 and §7 about how a DDP Stream and its connection end.

// A closeWatch is a Stream that records whether it has been closed.
type closeWatch struct {
	toe.Stream
	closed atomic.Bool
}

func (w *closeWatch) Close() error {
	w.closed.Store(true)
	return w.Stream.Close()
}

// closeWatchPair is two connections, and the Streams below them.
func closeWatchPair(t *testing.T, wire simtoe.Config) (ci, cr *extsock.Conn, si, sr *closeWatch) {
	t.Helper()
	a, b := simtoe.Pair(wire, wire)
	si, sr = &closeWatch{Stream: a}, &closeWatch{Stream: b}
	ci, cr = switched(t, si, sr, inMessages, inMessages)
	return ci, cr, si, sr
}

// "The LLP MUST ensure that, if it accepts a DDP Segment, it will transfer it reliably to the
// receiver or return with an error stating that the transfer failed to complete." The connection is
// reset at some octet: what did not arrive is not left without an error.
// DDP-5041-3-4
func TestRFC5041_3_TransferredOrTold(t *testing.T) {
	for after := int64(1000); after < 30_000; after += 1700 {
		bubble(t, func(t *testing.T) {
			const messages = 20
			wire := simtoe.Config{Window: 4096, CutAfter: after, CutHow: simtoe.RST}
			a, b := simtoe.Pair(wire, simtoe.Config{})
			ci, cr := switched(t, a, b, postRecvs(extsock.Config{}, 2, 8), postRecvs(extsock.Config{}, messages, 1500))
			wrs := make([]rdmap.WorkRequest, messages)
			for k := range wrs {
				wrs[k] = rdmap.WorkRequest{ID: uint64(k), Op: rdmap.WorkSend, Data: pattern(1500, byte(k))}
			}
			if n, err := ci.PostBatch(wrs); n != messages || err != nil {
				t.Fatalf("PostBatch = %d, %v", n, err)
			}
			taken := 0
			for k := range uint64(messages) {
				d, err := ci.SendCQ().Wait(timeLimit(t))
				switch {
				case err != nil || d.ID != k:
					t.Fatalf("Completion %v, %v, want ID %d", d, err, k)
				case d.Status == rdmap.StatusOK && taken != int(k):
					t.Errorf("Send %d is said to be taken, one before it is not", k)
				case d.Status == rdmap.StatusOK:
					taken++
				case !errors.Is(d.Err, syscall.ECONNRESET):
					t.Errorf("Send %d: %v, want the reset", k, d.Err)
				}
			}
			if taken == messages {
				t.Errorf("cut after %d octets, and all Sends are said to be taken", after)
			}
			for range 2 { // the connection reports Sends that TCP took and that have not arrived
				if d, err := ci.RecvCQ().Wait(timeLimit(t)); err != nil || !errors.Is(d.Err, syscall.ECONNRESET) {
					t.Errorf("receive: %v, %v, want the reset", d, err)
				}
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}

// "If an LLP does not support teardown of an LLP Stream independent of other LLP Streams, and a DDP
// error occurs on a specific DDP Stream, then the LLP MUST label the associated LLP Stream as an
// erroneous LLP Stream and MUST NOT allow any further data transfer on that LLP Stream after DDP
// requests the associated DDP Stream to be torn down." "DDP Stream teardown disables DDP
// capabilities on both endpoints."
// DDP-5041-3-10, DDP-5041-3-11, DDP-5041-6.2-2, DDP-5041-6.2.2-3, DDP-5041-8.3-5
func TestRFC5041_3_ErroneousStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{}, nil)
		memory := make([]byte, 64)
		r := register(t, c, memory, ddp.RemoteWrite)
		p.send(tagged(rdmap.OpWrite, r.Handle().STag, r.Handle().TO)...)
		p.send(tagged(rdmap.OpWrite, r.Handle().STag^1, r.Handle().TO)...)
		p.send(tagged(rdmap.OpWrite, r.Handle().STag, r.Handle().TO+8)...) // behind the error, in the same breath
		p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
		p.wantTerminate(1, 1, 0) // and then the FIN
		p.send(tagged(rdmap.OpWrite, r.Handle().STag, r.Handle().TO+16)...)
		p.send(readRequest(r.Handle().STag, r.Handle().TO, 4)...)
		synctest.Wait()
		want := append([]byte{1, 2, 3, 4}, make([]byte, 60)...)
		if !bytes.Equal(memory, want) {
			t.Errorf("memory %x", memory)
		}
		var e *ddp.Error
		for range 2 {
			if n, err := c.Read(make([]byte, 9)); n != 0 || !errors.As(err, &e) || e.Code == ddp.CodeULP {
				t.Errorf("Read = %d, %v, want the DDP error", n, err)
			}
			if err := postSend(c, nil); !errors.As(err, &e) || e.Code == ddp.CodeULP {
				t.Errorf("PostSend = %v, want the DDP error", err)
			}
		}
		c.Close()
		p.s.Close()
		settle()
	})
	bubble(t, func(t *testing.T) { // both ends
		ci, cr := simPair(t, simtoe.Config{}, inMessages, inMessages)
		if err := postWrite(ci, rdmap.Handle{STag: 1, Len: 8}, make([]byte, 8)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		for desc, c := range map[string]*extsock.Conn{"source": ci, "sink": cr} {
			var e *ddp.Error
			var te *rdmap.TerminateError
			if err := postSend(c, nil); c == cr && (!errors.As(err, &e) || e.Code == ddp.CodeULP) || c == ci && !errors.As(err, &te) {
				t.Errorf("%s: PostSend = %v, want the DDP error, or the Terminate for it", desc, err)
			}
			c.Close()
			if err := postSend(c, nil); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: PostSend after Close = %v", desc, err)
			}
		}
		settle()
	})
}

// "For a specific LLP Connection, when all LLP Streams are either gracefully torn down or are
// labeled as erroneous LLP Streams, the LLP Connection MUST be torn down." "For connection-oriented
// LLPs, DDP Stream teardown MAY result in underlying LLP Connection teardown."
// DDP-5041-3-14, DDP-5041-6.2-3
func TestRFC5041_3_ConnectionIsTornDown(t *testing.T) {
	for _, tt := range []struct {
		desc string
		wire simtoe.Config
		end  func(t *testing.T, ci, cr *extsock.Conn, si *closeWatch)
	}{
		{"both close", simtoe.Config{}, func(t *testing.T, ci, cr *extsock.Conn, _ *closeWatch) {
			ci.Close()
			cr.Close()
		}},
		{"DDP error, nobody closes", simtoe.Config{}, func(t *testing.T, ci, _ *extsock.Conn, _ *closeWatch) {
			if err := postWrite(ci, rdmap.Handle{STag: 1, Len: 8}, make([]byte, 8)); err != nil {
				t.Error(err)
			}
		}},
		{"MPA error, nobody closes", simtoe.Config{}, func(t *testing.T, _, _ *extsock.Conn, si *closeWatch) {
			if _, err := si.Write([]byte{0, 4, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0}); err != nil {
				t.Error(err)
			}
		}},
		{"lost, nobody closes", simtoe.Config{CutAfter: 5000, CutHow: simtoe.RST}, func(t *testing.T, ci, _ *extsock.Conn, _ *closeWatch) {
			if err := postSend(ci, make([]byte, 5000)); err != nil {
				t.Error(err)
			}
		}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr, si, sr := closeWatchPair(t, tt.wire)
				settle()
				if si.closed.Load() || sr.closed.Load() {
					t.Error("closed without a reason")
				}
				tt.end(t, ci, cr, si)
				time.Sleep(11 * time.Second) // twice CloseTimeout
				if !si.closed.Load() || !sr.closed.Load() {
					t.Errorf("the connection is torn down: here %t, there %t", si.closed.Load(), sr.closed.Load())
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// "the DDP layer on the Local Peer SHOULD ensure that all ULP data would be transferred before the
// underlying LLP Stream and Connection are torn down, and any further data transfer requests by the
// Local Peer ULP MUST return an error."
// DDP-5041-6.2.1-1, DDP-5041-6.2.1-2
func TestRFC5041_6_2_1_GracefulTeardown(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const messages = 20
		ci, cr := simPair(t, simtoe.Config{Window: 4096}, inMessages, side{cfg: extsock.Config{Messages: true, RecvDepth: 2}})
		for n := range messages {
			if err := postSend(ci, pattern(10_000, byte(n))); err != nil {
				t.Fatal(err)
			}
		}
		done := make(chan error, 1)
		go func() { done <- ci.Close() }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("Close = %v before the peer has read", err)
		default:
		}
		for desc, f := range map[string]func() error{
			"Post of a Send":  func() error { return postSend(ci, nil) },
			"Post of a Write": func() error { return postWrite(ci, rdmap.Handle{Len: 8}, nil) },
			"Post of a Read":  func() error { return postRead(ci, rdmap.Handle{Len: 8}, make([]byte, 8)) },
			"Write":           func() error { _, err := ci.Write([]byte("x")); return err },
		} {
			if err := f(); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s during Close = %v", desc, err)
			}
		}
		p := make([]byte, 10_000)
		for n := range messages {
			if m, err := cr.Read(p); err != nil || !bytes.Equal(p[:m], pattern(10_000, byte(n))) {
				t.Fatalf("message %d: %d octets, %v", n, m, err)
			}
		}
		if n, err := cr.Read(p); n != 0 || err != io.EOF {
			t.Errorf("behind the last message: %d, %v", n, err)
		}
		if err := <-done; err != nil {
			t.Errorf("Close = %v", err)
		}
		cr.Close()
		settle()
	})
}

// "on the receipt of an LLP graceful teardown request of the DDP Stream, DDP SHOULD indicate the
// half-closed state to the ULP, and continue to process outbound data transfer requests normally.
// Following this event, when the Local Peer ULP requests graceful teardown, DDP MUST indicate to
// the LLP that it SHOULD perform a graceful close of the other half of the LLP Stream." "For a
// specific LLP Stream, the LLP MUST provide a mechanism to indicate that the LLP Stream has been
// gracefully torn down." DDP-5041-6.2.1-4 to DDP-5041-6.2.1-7, DDP-5041-3-12, DDP-5041-3-13
func TestRFC5041_6_2_1_PeerHalfCloses(t *testing.T) {
	a, b := kernelStreams(t) // where a reset would be told from a FIN
	c := extsock.NewConn(a, false, &extsock.Config{NoCapabilities: true})
	defer c.Close()
	defer b.Close()
	for id := range uint64(3) {
		if err := c.PostRecv(rdmap.RecvRequest{ID: id, Buf: make([]byte, 8)}); err != nil {
			t.Fatal(err)
		}
	}
	b.SetDeadline(prototest.Deadline(t))
	b.Write(mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil))
	if err := c.EnableDDP(timeLimit(t), nil); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(b, make([]byte, mpa.FrameHeaderLen)); err != nil {
		t.Fatal(err)
	}
	p := newRawPeer(t, b, mpa.Agreement{CRC: true})
	p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
	if err := b.(*net.TCPConn).CloseWrite(); err != nil {
		t.Fatal(err)
	}
	if d := complete(t, c.RecvCQ()); d.ID != 0 {
		t.Errorf("completion %v", d)
	}
	for id := range uint64(2) { // once for each buffer
		d, err := c.RecvCQ().Wait(timeLimit(t))
		var me *mpa.Error
		if err != nil || d.ID != id+1 || !errors.As(d.Err, &me) || me.Code != mpa.CodeClosed || !me.Graceful {
			t.Errorf("receive %d: %v, %v, want the graceful close", id+1, d, err)
		}
	}
	for n := range uint32(3) {
		do(t, c, rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("still")})
		if u, err := p.next(); err != nil || string(u[18:]) != "still" || binary.BigEndian.Uint32(u[10:]) != n+1 {
			t.Errorf("behind the peer's FIN: %x, %v", u, err)
		}
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if u, err := p.next(); err != io.EOF {
		t.Errorf("behind Close: %x, %v, want a FIN and no reset", u, err)
	}
}

// "on the receipt of a ULP graceful half-closed teardown request of the DDP Stream, DDP SHOULD keep
// data reception enabled on the other half of the LLP Stream."
// DDP-5041-6.2.1-8
func TestRFC5041_6_2_1_HalfClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		memory := make([]byte, 8)
		r := register(t, ci, memory, ddp.RemoteWrite)
		if err := ci.CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if n, err := cr.Read(make([]byte, 9)); n != 0 || err != io.EOF {
			t.Errorf("the peer's Read = %d, %v", n, err)
		}
		for _, word := range []string{"tagged", "UNTAG."} {
			if _, err := cr.Remote(r.Handle()).WriteAt([]byte(word), 0); err != nil {
				t.Fatal(err)
			}
			if _, err := cr.Write([]byte(word)); err != nil {
				t.Fatal(err)
			}
			p := make([]byte, 9)
			if n, err := ci.Read(p); string(p[:n]) != word || err != nil || string(memory[:6]) != word {
				t.Errorf("Read = %q, %v, memory %q", p[:n], err, memory)
			}
		}
		if err := errors.Join(ci.Close(), cr.Close()); err != nil {
			t.Error(err)
		}
		settle()
	})
}
