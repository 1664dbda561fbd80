package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
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
	"github.com/rddp/rddp/toe/simtoe"
)

// In a bubble, a goroutine that spins makes the test hang, and one that waits forever makes it
// panic, so these tests need no timeouts.

// TestFencedResponderEnds: the Initiator never sends an FPDU. What the Responder has queued can't
// go out, and is flushed when the peer goes away or Close has waited long enough.
func TestFencedResponderEnds(t *testing.T) {
	for _, how := range []string{"our Close", "the peer's FIN", "reset"} {
		t.Run(how, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				p, c := rawPair(t, extsock.Config{}, nil)
				written := make(chan error, 1)
				go func() { _, err := c.Write([]byte("fenced")); written <- err }()
				time.Sleep(time.Second)
				begin := time.Now()
				switch how {
				case "our Close":
					c.Close()
				case "the peer's FIN":
					p.s.(interface{ CloseWrite() error }).CloseWrite()
				case "reset":
					p.s.Close()
				}
				if err := <-written; err == nil {
					t.Error("Write behind the fence succeeds")
				}
				if d := time.Since(begin); d > 5*time.Second {
					t.Errorf("Write ended after %v", d)
				}
				c.Close()
				p.s.Close()
				settle()
			})
		})
	}
}

// TestPeerEndsWhileAFencedResponderCloses: Close of a Responder with queued output waits for the
// Initiator's first FPDU. After the peer's FIN no FPDU can arrive, so Close returns at once.
func TestPeerEndsWhileAFencedResponderCloses(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, inMessages.cfg, nil)
		if err := postSend(c, []byte("fenced")); err != nil {
			t.Fatal(err)
		}
		closed := make(chan error, 1)
		go func() { closed <- c.Close() }()
		synctest.Wait()
		begin := time.Now()
		if err := p.s.(interface{ CloseWrite() error }).CloseWrite(); err != nil {
			t.Fatal(err)
		}
		if err, d := <-closed, time.Since(begin); err != nil || d > 0 {
			t.Errorf("Close = %v, %v after the peer's FIN", err, d)
		}
		p.s.Close()
		settle()
	})
}

// TestPostAndCloseAtOnce: the last message of a server is not lost, although nothing has arrived
// from its peer yet.
func TestPostAndCloseAtOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{Delay: time.Millisecond}, simtoe.Config{})
		cfg := &extsock.Config{Messages: true}
		ci, cr := extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)
		go func() {
			if err := cr.EnableDDP(t.Context(), nil); err != nil {
				t.Error(err)
			}
			if err := postSend(cr, []byte("bye")); err != nil {
				t.Error(err)
			}
			if err := cr.Close(); err != nil {
				t.Error(err)
			}
		}()
		if err := ci.EnableDDP(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 10)
		if n, err := ci.Read(p); string(p[:n]) != "bye" || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
		ci.Close()
		settle()
	})
}

// TestCloseWithReadsQueued: Reads beyond the ORD, and a Send behind them, all go out before the
// FIN.
func TestCloseWithReadsQueued(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{ORD: 1, Messages: true}}, inMessages)
		r := register(t, cr, make([]byte, 64), ddp.RemoteRead)
		post(t, ci, 5, rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 64), Remote: r.Handle()})
		if err := postSend(ci, []byte("bye")); err != nil {
			t.Fatal(err)
		}
		if err := ci.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
		p := make([]byte, 10)
		if n, err := cr.Read(p); string(p[:n]) != "bye" || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
		cr.Close()
		settle()
	})
}

// TestPostAfterThePeersClose: after the peer's close, Post refuses operations that need the peer's
// answer, in either mode. The error is EPIPE, because io.EOF is for readers.
func TestPostAfterThePeersClose(t *testing.T) {
	for _, messages := range []bool{false, true} {
		bubble(t, func(t *testing.T) {
			s := side{cfg: extsock.Config{Messages: messages}}
			ci, cr := simPair(t, simtoe.Config{}, s, s)
			r := register(t, cr, make([]byte, 64), ddp.RemoteRead)
			cr.Close()
			settle()
			var e *net.OpError
			if err := postRead(ci, r.Handle(), make([]byte, 8)); !errors.As(err, &e) || !errors.Is(err, syscall.EPIPE) {
				t.Errorf("messages %t: Post = %v, want EPIPE in a *net.OpError", messages, err)
			}
			wr := rdmap.WorkRequest{Op: rdmap.WorkRead, Data: make([]byte, 8), Remote: r.Handle()}
			if n, err := ci.PostBatch([]rdmap.WorkRequest{wr}); n != 0 || !errors.As(err, &e) || !errors.Is(err, syscall.EPIPE) {
				t.Errorf("messages %t: PostBatch = %d, %v, want EPIPE in a *net.OpError", messages, n, err)
			}
			ci.Close()
			settle()
		})
	}
}

// TestTerminateFreesWhoWaitsForRoom: a Write that waits for room in the send queue ends with the
// stream.
func TestTerminateFreesWhoWaitsForRoom(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{SendDepth: 1}, nil)
		p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
		errs := make(chan error, 2)
		go func() {
			_, err := c.Remote(rdmap.Handle{STag: 7, Len: 8}).ReadAt(make([]byte, 8), 0)
			errs <- err
		}()
		synctest.Wait()
		go func() { _, err := c.Write([]byte("no room")); errs <- err }()
		synctest.Wait()
		h := ddp.UntaggedHeader{Last: true, RsvdULP: rdmap.Control(rdmap.OpTerminate), QN: ddp.QNTerminate, MSN: 1}
		p.send(append(h.AppendTo(nil), prototest.Terminate(0x1101)...)...)
		for range 2 {
			var te *rdmap.TerminateError
			if err := <-errs; !errors.As(err, &te) || !te.Remote {
				t.Errorf("got %v, want the peer's Terminate", err)
			}
		}
		c.Close()
		p.s.Close()
		settle()
	})
}

// TestFailedAndBlocked: the stream fails while the peer does not read. CloseTimeout bounds this end
// too.
func TestFailedAndBlocked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		p, c := rawPair(t, extsock.Config{}, nil)
		p.send(untagged(rdmap.OpSend, 0, 1, 0, 4)...)
		written := make(chan error, 1)
		go func() { _, err := c.Write(make([]byte, 8<<20)); written <- err }()
		time.Sleep(time.Second)
		p.s.Write([]byte{0, 4, 1, 2, 3, 4, 0, 0, 0, 0, 0, 0}) // a bad CRC
		begin := time.Now()
		if err := <-written; err == nil {
			t.Error("Write succeeds on a failed connection")
		}
		if d := time.Since(begin); d > 11*time.Second {
			t.Errorf("it ended after %v", d)
		}
		c.Close()
		p.s.Close()
		settle()
	})
}

// TestAnswersAfterAStall: answers that were due when receiving stalled for lack of buffers go out
// when it goes on.
func TestAnswersAfterAStall(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Messages: true, RecvDepth: 1, RecvSize: 100}}, inMessages)
		r := register(t, ci, pattern(64, 1), ddp.RemoteRead)
		done := make(chan error, 1)
		go func() { done <- echo(cr) }()
		if err := pingPong(ci, 20); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Millisecond, func() {
			if _, err := cr.PostBatch([]rdmap.WorkRequest{
				{Op: rdmap.WorkSend, Data: []byte("one")}, {Op: rdmap.WorkSend, Data: []byte("two")},
				{Op: rdmap.WorkRead, Data: make([]byte, 64), Remote: r.Handle()},
			}); err != nil {
				t.Error(err)
			}
		})
		for _, want := range []string{"one", "two"} {
			p := make([]byte, 100)
			if n, err := ci.Read(p); string(p[:n]) != want || err != nil {
				t.Errorf("Read = %q, %v", p[:n], err)
			}
		}
		for range 3 {
			complete(t, cr.SendCQ())
		}
		ci.Close()
		cr.Close()
		<-done
		settle()
	})
}

// TestRequestIsAnsweredOnce: a Request can be answered once, and Close is an answer too.
func TestRequestIsAnsweredOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		defer a.Close()
		c := extsock.NewConn(b, false, nil)
		if _, err := a.Write(mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil)); err != nil {
			t.Fatal(err)
		}
		req, err := c.ReceiveRequest(timeLimit(t))
		if err != nil {
			t.Fatal(err)
		}
		for desc, answer := range map[string]func(context.Context, []byte) error{"Accept": req.Accept, "Reject": req.Reject} {
			if err := answer(timeLimit(t), make([]byte, 600)); !errors.Is(err, extsock.ErrPrivateData) {
				t.Errorf("%s with 600 octets of private data: %v", desc, err)
			}
		}
		if err := req.Accept(timeLimit(t), nil); err != nil {
			t.Fatal(err)
		}
		if err := req.Accept(timeLimit(t), nil); !errors.Is(err, extsock.ErrAnswered) {
			t.Errorf("the second Accept: %v", err)
		}
		if err := req.Reject(timeLimit(t), nil); !errors.Is(err, extsock.ErrAnswered) {
			t.Errorf("Reject after Accept: %v", err)
		}
		c.Close()
		if err := req.Accept(timeLimit(t), nil); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Accept after Close: %v", err)
		}
	})
}

// TestCloseWhileRequestIsUnanswered: Close ends calls that wait for the end of the switch.
func TestCloseWhileRequestIsUnanswered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		defer a.Close()
		c := extsock.NewConn(b, false, nil)
		a.Write(mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil))
		if _, err := c.ReceiveRequest(t.Context()); err != nil {
			t.Fatal(err)
		}
		time.AfterFunc(time.Second, func() { c.Close() })
		if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Read = %v", err)
		}
	})
}

// TestAfterARejection: after a rejection the deadlines still hold, and another switch can be
// accepted.
func TestAfterARejection(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		cfg := &extsock.Config{Messages: true}
		ci, cr := extsock.NewConn(a, true, cfg), extsock.NewConn(b, false, cfg)
		answer := func(do func(*extsock.Request) error) {
			req, err := cr.ReceiveRequest(context.Background())
			if err == nil {
				err = do(req)
			}
			if err != nil {
				t.Error(err)
			}
		}
		ci.SetReadDeadline(time.Now().Add(time.Minute))
		go answer(func(r *extsock.Request) error { return r.Reject(context.Background(), nil) })
		if err := ci.EnableDDP(t.Context(), nil); err == nil {
			t.Fatal("a rejected switch succeeds")
		}
		if _, err := ci.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("Read under the deadline from before: %v", err)
		}
		go answer(func(r *extsock.Request) error { return r.Accept(context.Background(), nil) })
		if err := ci.EnableDDP(t.Context(), nil); err != nil {
			t.Errorf("the second try: %v", err)
		}
		synctest.Wait() // Accept has returned
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestUseAfterClose: a closed connection accepts nothing that would need a Completion.
func TestUseAfterClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		defer b.Close()
		c := extsock.NewConn(a, true, nil)
		if _, err := c.ReceiveRequest(t.Context()); !errors.Is(err, errors.ErrUnsupported) {
			t.Errorf("ReceiveRequest of an Initiator: %v", err)
		}
		c.Close()
		if err := c.PostRecv(rdmap.RecvRequest{Buf: make([]byte, 1)}); !errors.Is(err, net.ErrClosed) {
			t.Errorf("PostRecv: %v", err)
		}
		if _, err := c.Register(make([]byte, 8), ddp.RemoteRead); !errors.Is(err, net.ErrClosed) {
			t.Errorf("Register: %v", err)
		}
	})
}

// TestAbandonedWrite: if the deadline of a Write passes in the middle, its octets go out from a
// copy, later Writes write nothing, and the connection goes on, whether or not the stream can wait
// until it is writable.
func TestAbandonedWrite(t *testing.T) {
	for _, mode := range []side{inMessages, {}} {
		for _, hide := range []bool{false, true} {
			t.Run(fmt.Sprintf("messages %t, plain stream %t", mode.cfg.Messages, hide), func(t *testing.T) {
				bubble(t, func(t *testing.T) { abandonedWrite(t, mode, hide) })
			})
		}
	}
}

func abandonedWrite(t *testing.T, mode side, hide bool) {
	a, b := simtoe.Pair(simtoe.Config{Window: 4096}, simtoe.Config{Window: 4096})
	held := &heldBack{Conn: b, release: make(chan struct{})}
	var stream net.Conn = a
	if hide {
		stream = plainStream{a}
	}
	ci, cr := switched(t, stream, held, mode, mode)
	held.hold.Store(true)
	ci.SetWriteDeadline(time.Now().Add(time.Second))
	var want []byte
	for n := byte(0); ; n++ { // nothing arrives
		p := pattern(60_000, n)
		m, err := ci.Write(p)
		want = append(want, p[:m]...)
		clear(p) // the memory is the caller's again
		if err != nil {
			if !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("Write = %v", err)
			}
			break
		}
	}
	if m, err := ci.Write(make([]byte, 60_000)); m != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("another Write = %d, %v", m, err)
	}
	close(held.release)
	ci.SetWriteDeadline(time.Time{})
	want = append(want, "last"...)
	go ci.Write([]byte("last"))
	got := make([]byte, len(want))
	if _, err := io.ReadFull(cr, got); err != nil || !bytes.Equal(got, want) {
		t.Errorf("of %d octets written those read differ, %v", len(want), err)
	}
	ci.Close()
	cr.Close()
	settle()
}

// heldBack is a Stream from which nothing can be read while hold is set, until release is closed.
type heldBack struct {
	net.Conn
	hold    atomic.Bool
	release chan struct{}
}

func (h *heldBack) Read(p []byte) (int, error) {
	if h.hold.Load() {
		<-h.release
	}
	return h.Conn.Read(p)
}

// plainStream hides all but net.Conn.
type plainStream struct{ net.Conn }

// noDeadlines is a net.Conn like an SSH channel's.
type noDeadlines struct{ net.Conn }

func (noDeadlines) SetDeadline(time.Time) error      { return errors.ErrUnsupported }
func (noDeadlines) SetReadDeadline(time.Time) error  { return errors.ErrUnsupported }
func (noDeadlines) SetWriteDeadline(time.Time) error { return errors.ErrUnsupported }

// TestStreamWithoutDeadlines: startup and Close are bounded even if the stream has no deadlines.
func TestStreamWithoutDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := net.Pipe()
		c := extsock.NewConn(noDeadlines{a}, false, nil)
		if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, os.ErrDeadlineExceeded) || !strings.Contains(err.Error(), "waiting for the MPA Request") {
			t.Errorf("EnableDDP with a silent peer = %v", err)
		}
		b.Close()
		a, b = net.Pipe()
		ci, cr := switched(t, noDeadlines{a}, noDeadlines{b}, inMessages, inMessages)
		done := make(chan error, 1)
		go func() { done <- echo(cr) }()
		if err := pingPong(ci, 50); err != nil {
			t.Error(err)
		}
		ci.Close()
		<-done
		cr.Close()
		settle()
	})
}
