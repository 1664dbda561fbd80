package conn_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"math"
	"net"
	"slices"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config returns a Config for connections of a few short messages.
func config() *conn.Config {
	return &conn.Config{
		Domain: new(ddp.Domain), SendDepth: 16, RecvDepth: 16, RecvSize: 1 << 20, IRD: 4, ORD: 4,
		StartupTimeout: 10 * time.Second, CloseTimeout: 5 * time.Second,
	}
}

// serve accepts the peer's Request with cfg.
func serve(t *testing.T, c *conn.Conn, cfg *conn.Config) error {
	r, err := c.ReceiveRequest(t.Context())
	if err != nil {
		return err
	}
	return r.Accept(t.Context(), cfg, nil)
}

// withSocket connects an extended socket in message mode, the Initiator, with a Conn.
func withSocket(t *testing.T, mine extsock.Config, cfg *conn.Config) (*extsock.Conn, *conn.Conn) {
	t.Helper()
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	mine.Messages = true
	ci, cr := extsock.NewConn(a, true, &mine), conn.New(b, false, cfg, nil)
	t.Cleanup(func() { ci.Close(); cr.Close() })
	enabled := make(chan error, 1)
	go func() { enabled <- ci.EnableDDP(t.Context(), nil) }()
	if err := errors.Join(serve(t, cr, cfg), <-enabled); err != nil {
		t.Fatal(err)
	}
	return ci, cr
}

// pair returns two connected Conns.
func pair(t *testing.T, cfg *conn.Config) (ci, cr *conn.Conn) {
	t.Helper()
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	ci, cr = conn.New(a, true, cfg, nil), conn.New(b, false, cfg, nil)
	t.Cleanup(func() { ci.Close(); cr.Close() })
	connected := make(chan error, 1)
	go func() { connected <- ci.Connect(t.Context(), nil) }()
	if err := errors.Join(serve(t, cr, cfg), <-connected); err != nil {
		t.Fatal(err)
	}
	return ci, cr
}

// bubble runs f in a synctest bubble. No goroutine may be left when it ends.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Cleanup(func() { time.Sleep(time.Minute) }) // runs last: everything that Close has left running ends meanwhile
		f(t)
	})
}

// TestRequest: the Responder sees the Request and chooses the Domain and the depths, and each end
// gets the other's parameters.
func TestRequest(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		asks, chosen := config(), config()
		chosen.IRD, chosen.ORD = 3, 2
		ci, cr := conn.New(a, true, asks, nil), conn.New(b, false, config(), nil)
		defer ci.Close()
		defer cr.Close()
		memory := prototest.Pattern(100, 1)
		region, err := chosen.Domain.Register(memory, ddp.RemoteRead, 0)
		if err != nil {
			t.Fatal(err)
		}
		connected := make(chan error, 1)
		go func() { connected <- ci.Connect(t.Context(), []byte("hello")) }()
		r, err := cr.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if string(r.PrivateData) != "hello" || !bytes.HasSuffix(r.AllData, []byte("hello")) || len(r.AllData) <= 5 || !r.FromRDDP || r.IRD != 4 || r.ORD != 4 {
			t.Errorf("the Request is %+v", r)
		}
		if err := r.Accept(t.Context(), config(), make([]byte, 513)); !errors.Is(err, syscall.EMSGSIZE) {
			t.Errorf("Accept with too much private data: %v", err)
		}
		if err := errors.Join(r.Accept(t.Context(), chosen, []byte("welcome")), <-connected); err != nil {
			t.Fatal(err)
		}
		if p := ci.Peer(); string(p.PrivateData) != "welcome" || !p.IsRDDP || p.Agreement.PeerIRD != 3 || p.Agreement.PeerORD != 2 {
			t.Errorf("the Reply told of %+v", p)
		}
		got := make([]byte, 100)
		if _, err := ci.PostBatch([]rdmap.WorkRequest{{ID: 7, Op: rdmap.WorkRead, Data: got, Remote: rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: 100}}}); err != nil {
			t.Fatal(err)
		}
		var done [1]rdmap.Completion
		if n, err := ci.WaitCompletions(t.Context(), done[:]); n != 1 || err != nil || done[0].ID != 7 || done[0].Status != rdmap.StatusOK || !bytes.Equal(got, memory) {
			t.Errorf("an RDMA Read: %+v, %v", done, err)
		}
	})
}

// TestReject: a rejection delivers its private data to the peer, and both ends can be closed.
func TestReject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr := conn.New(a, true, config(), nil), conn.New(b, false, config(), nil)
		connected := make(chan error, 1)
		go func() { connected <- ci.Connect(t.Context(), nil) }()
		r, err := cr.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := r.Reject(t.Context(), []byte("no")); err != nil {
			t.Errorf("Reject: %v", err)
		}
		rejected := (*mpa.RejectError)(nil)
		if err := <-connected; !errors.As(err, &rejected) || string(rejected.PrivateData) != "no" {
			t.Errorf("Connect: %v", err)
		}
		for _, c := range []*conn.Conn{ci, cr} {
			if err := c.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := c.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestCloseDuringStartup: Close ends startup at each of its stages, at once, and leaves nothing
// behind.
func TestCloseDuringStartup(t *testing.T) {
	for _, stage := range []string{"new", "connecting", "receiving", "asked", "timeout"} {
		t.Run(stage, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				ci, cr := conn.New(a, true, config(), nil), conn.New(b, false, config(), nil)
				defer ci.Close()
				ended := make(chan error, 1)
				c := cr
				switch stage {
				case "new":
					ended <- net.ErrClosed
				case "connecting", "timeout":
					c = ci
					go func() { ended <- c.Connect(t.Context(), nil) }()
				case "receiving":
					go func() { _, err := c.ReceiveRequest(t.Context()); ended <- err }()
				case "asked":
					go ci.Connect(t.Context(), nil)
					r, err := c.ReceiveRequest(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer func() {
						if err := r.Accept(t.Context(), config(), nil); !errors.Is(err, net.ErrClosed) {
							t.Errorf("Accept after Close: %v", err)
						}
					}()
					ended <- net.ErrClosed
				}
				synctest.Wait()
				if stage == "timeout" {
					if err := <-ended; !errors.Is(err, context.DeadlineExceeded) && !isTimeout(err) {
						t.Errorf("startup with a silent peer: %v", err)
					}
					ended <- net.ErrClosed
				}
				begin := time.Now()
				_ = c.Close()
				if err := <-ended; err == nil || time.Since(begin) > 0 {
					t.Errorf("startup ends with %v, %v after Close", err, time.Since(begin))
				}
				if err := c.Wait(t.Context()); err != nil {
					t.Error(err)
				}
				if err := c.Close(); err != nil {
					t.Errorf("a second Close: %v", err)
				}
				cr.Close()
			})
		})
	}
}

func isTimeout(err error) bool {
	t := net.Error(nil)
	return errors.As(err, &t) && t.Timeout()
}

// TestMessages: messages arrive in order, with the Solicited Event flag that the sender has set,
// and a message longer than the buffer goes on in the next Read. A deadline ends a Read, and the
// connection goes on.
func TestMessages(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := pair(t, config())
		cr.SetReadDeadline(time.Now().Add(time.Second))
		ended := make(chan error, 1)
		go func() { _, err := cr.Read(make([]byte, 10)); ended <- err }()
		select {
		case err := <-ended:
			if !isTimeout(err) {
				t.Errorf("Read until the deadline: %v", err)
			}
		case <-time.After(2 * time.Second):
			t.Fatal("Read goes on after its deadline")
		}
		cr.SetReadDeadline(time.Time{})
		if _, err := ci.PostBatch([]rdmap.WorkRequest{
			{Op: rdmap.WorkSend, Data: []byte("one"), Solicited: true, Unsignaled: true},
			{Op: rdmap.WorkSend, Data: []byte("longer"), Unsignaled: true},
		}); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 4)
		if n, m, err := cr.ReadMessage(p); string(p[:n]) != "one" || m.Len != 3 || !m.Solicited || err != nil {
			t.Errorf("ReadMessage: %q, %+v, %v", p[:n], m, err)
		}
		if n, m, err := cr.ReadMessage(p); string(p[:n]) != "long" || m.Len != 6 || err != nil {
			t.Errorf("ReadMessage: %q, %+v, %v", p[:n], m, err)
		}
		if n, err := cr.Read(p); string(p[:n]) != "er" || err != nil {
			t.Errorf("the rest: %q, %v", p[:n], err)
		}
		if err := ci.Close(); err != nil {
			t.Error(err)
		}
		if _, err := cr.Read(p); !errors.Is(err, io.EOF) {
			t.Errorf("Read at the end: %v", err)
		}
	})
}

// TestIsListed: Connections lists a connection for as long as it lasts.
func TestIsListed(t *testing.T) {
	bubble(t, func(t *testing.T) {
		listed := func() (initiators, all int) {
			for c := range extsock.Connections() {
				if c.Local == nil || c.Remote == nil || c.ByteStream {
					t.Errorf("a connection is listed as %+v", c)
				}
				if all++; c.Initiator {
					initiators++
				}
			}
			return initiators, all
		}
		ci, cr := pair(t, config())
		if initiators, all := listed(); initiators != 1 || all != 2 {
			t.Errorf("%d connections are listed, %d of them initiators; want both ends", all, initiators)
		}
		ci.Close()
		cr.Close()
		synctest.Wait()
		if _, all := listed(); all != 0 {
			t.Errorf("%d connections are listed after the end", all)
		}
	})
}

// TestCloseWhileAccepting: Close may be called while another goroutine answers the Request.
func TestCloseWhileAccepting(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		ci, cr := conn.New(a, true, config(), nil), conn.New(b, false, config(), nil)
		defer ci.Close()
		go ci.Connect(t.Context(), nil)
		r, err := cr.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		closed := make(chan error, 1)
		go func() { closed <- cr.Close() }()
		_ = r.Accept(t.Context(), config(), nil) // either may be first
		if err := <-closed; err != nil && !errors.Is(err, net.ErrClosed) {
			t.Errorf("Close: %v", err)
		}
		cr.Close()
		if err := cr.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// A slowStream goes on after Close until it is released.
type slowStream struct {
	toe.Stream
	released chan struct{}
}

func (s slowStream) Wait(context.Context) error {
	<-s.released
	return nil
}

// TestWait: Wait returns only when the Stream has ended too.
func TestWait(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		defer b.Close()
		s := slowStream{a, make(chan struct{})}
		c := conn.New(s, true, config(), nil)
		c.Close()
		ended := make(chan error, 1)
		go func() { ended <- c.Wait(t.Context()) }()
		synctest.Wait()
		if len(ended) > 0 {
			t.Error("Wait returns before the Stream has ended")
		}
		close(s.released)
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// TestDiscard: after Discard the peer changes and reads nothing, whether the connection is in DDP
// mode yet or not. Messages of this end still arrive.
func TestDiscard(t *testing.T) {
	for desc, initiates := range map[string]bool{"the Initiator's": true, "the Responder's": false} {
		t.Run(desc+", before", func(t *testing.T) { testDiscard(t, initiates, true) })
		t.Run(desc+", in DDP mode", func(t *testing.T) { testDiscard(t, initiates, false) })
	}
}

func testDiscard(t *testing.T, initiates, before bool) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		cfg := config()
		memory := make([]byte, 8)
		region, err := cfg.Domain.Register(memory, ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic, 0)
		if err != nil {
			t.Fatal(err)
		}
		ci, cr := conn.New(a, true, cfg, nil), conn.New(b, false, cfg, nil)
		defer ci.Close()
		defer cr.Close()
		mine, peer := cr, ci
		if initiates {
			mine, peer = ci, cr
		}
		if before {
			mine.Discard()
		}
		connected := make(chan error, 1)
		go func() { connected <- ci.Connect(t.Context(), nil) }()
		if err := errors.Join(serve(t, cr, cfg), <-connected); err != nil {
			t.Fatal(err)
		}
		if !before {
			mine.Discard()
		}
		at := rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: 8}
		read := make([]byte, 8)
		if _, err := peer.PostBatch([]rdmap.WorkRequest{
			{ID: 1, Op: rdmap.WorkWrite, Data: []byte("abcdefgh"), Remote: at}, {ID: 2, Op: rdmap.WorkFetchAdd, Operand: 1, Remote: at},
			{ID: 3, Op: rdmap.WorkRead, Data: read, Remote: at},
		}); err != nil {
			t.Fatal(err)
		}
		var done [2]rdmap.Completion
		if n, err := peer.WaitCompletions(t.Context(), done[:]); n != 1 || err != nil || done[0].ID != 1 || done[0].Status != rdmap.StatusOK {
			t.Errorf("%d Completions, and the first is %+v, %v", n, done[0], err)
		}
		synctest.Wait()
		if _, err := mine.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkSend, Data: []byte("bye"), Unsignaled: true}}); err != nil {
			t.Fatal(err)
		}
		if n, err := peer.Read(read); string(read[:n]) != "bye" {
			t.Errorf("Read: %q, %v", read[:n], err)
		}
		if err := mine.Close(); err != nil {
			t.Error(err)
		}
		if n, err := peer.WaitCompletions(t.Context(), done[:]); n != 2 || done[0].Status != rdmap.StatusFlushed || done[1].Status != rdmap.StatusFlushed {
			t.Errorf("what has no answer: %+v, %v", done, err)
		}
		if !bytes.Equal(memory, make([]byte, 8)) {
			t.Errorf("the memory is %q", memory)
		}
	})
}

// TestDenied: Config.Denied takes rights from a peer that the memory grants on all connections of
// the Domain. The other rights remain.
func TestDenied(t *testing.T) {
	tests := []struct {
		desc   string
		denied ddp.Access
		do     func(m *extsock.RemoteMemory) error
	}{
		{"Write", ddp.RemoteWrite, func(m *extsock.RemoteMemory) error { _, err := m.WriteAt([]byte{1}, 0); return err }},
		{"Read", ddp.RemoteRead, func(m *extsock.RemoteMemory) error { _, err := m.ReadAt(make([]byte, 1), 0); return err }},
		{"FetchAdd", ddp.RemoteAtomic, func(m *extsock.RemoteMemory) error { _, err := m.FetchAdd(context.Background(), 0, 1); return err }},
	}
	for k, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				cfg := config()
				cfg.Denied = tt.denied
				memory := make([]byte, 64)
				r, err := cfg.Domain.Register(memory, ^ddp.Access(0), 0) // with bits that are not access rights
				if err != nil {
					t.Fatal(err)
				}
				ci, cr := withSocket(t, extsock.Config{}, cfg)
				m := ci.Remote(rdmap.Handle{STag: r.STag(), TO: r.TO(), Len: uint32(r.Len())})
				for other := range tests {
					if other != k {
						if err := tests[other].do(m); err != nil {
							t.Errorf("%s, which is not denied: %v", tests[other].desc, err)
						}
					}
				}
				before := bytes.Clone(memory)
				if err := tt.do(m); err == nil && tt.denied != ddp.RemoteWrite {
					t.Error("what is denied succeeds")
				}
				var refused *ddp.AccessError
				if _, err := cr.Read(make([]byte, 1)); !errors.As(err, &refused) || refused.Code != ddp.CodeInvalidSTag || !refused.Denied {
					t.Errorf("this end ends with %v, want what DDP says of a denied right", err)
				}
				if !bytes.Equal(memory, before) {
					t.Error("the memory has changed")
				}
			})
		})
	}
}

// TestTerminateAtClose: an end with rdmap.TerminateAtClose first reads the data that arrived before
// the peer's error, then gets the error, and can still send. The Terminate follows that.
func TestTerminateAtClose(t *testing.T) {
	cfg := config()
	cfg.Terminate = rdmap.TerminateAtClose
	for _, tt := range []struct {
		desc string
		wr   rdmap.WorkRequest // the wrong request
	}{
		{"a Write", rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: rdmap.Handle{STag: 77}}},
		{"a Read", rdmap.WorkRequest{Op: rdmap.WorkRead, Data: []byte{1}, Remote: rdmap.Handle{STag: 77}}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := withSocket(t, extsock.Config{}, cfg)
				if _, err := ci.Write([]byte("before")); err != nil {
					t.Fatal(err)
				}
				if _, err := ci.PostBatch([]rdmap.WorkRequest{tt.wr}); err != nil {
					t.Fatal(err)
				}
				synctest.Wait()
				b := make([]byte, 16)
				if n, err := cr.Read(b); err != nil || string(b[:n]) != "before" {
					t.Fatalf("Read: %q, %v", b[:n], err)
				}
				var te *rdmap.TerminateError
				if _, err := cr.Read(b); !errors.As(err, &te) || te.Remote {
					t.Fatalf("Read behind the error: %v", err)
				}
				if _, err := cr.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkSend, Data: []byte("carried out")}}); err != nil {
					t.Fatalf("a Send behind the error: %v", err)
				}
				if n, err := ci.Read(b); err != nil || string(b[:n]) != "carried out" {
					t.Fatalf("the peer's Read: %q, %v", b[:n], err)
				}
				if err := cr.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
				if _, err := ci.Read(b); !errors.As(err, &te) || !te.Remote {
					t.Errorf("the peer's last Read: %v", err)
				}
			})
		})
	}
	t.Run("the peer leaves", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			ci, cr := withSocket(t, extsock.Config{}, cfg)
			if _, err := ci.PostBatch([]rdmap.WorkRequest{{Op: rdmap.WorkWrite, Data: []byte{1}, Remote: rdmap.Handle{STag: 77}}}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
			_ = ci.Close()
			if err := cr.Wait(t.Context()); err != nil {
				t.Errorf("Wait: %v", err)
			}
			if _, err := cr.Read(make([]byte, 1)); err == nil || errors.Is(err, io.EOF) {
				t.Errorf("Read: %v", err)
			}
		})
	})
}

// TestLongestMessage: when a message begins, the connection asks how long it may be. A longer
// message ends the stream, whether it has one segment or several.
func TestLongestMessage(t *testing.T) {
	for _, tooLong := range []int{11, 5001} {
		bubble(t, func(t *testing.T) {
			longest := []int{10, 5000, 20000, 0, tooLong - 1}
			var whole []bool
			cfg := config()
			cfg.RecvSize, cfg.NoCapabilities = 1<<30, true
			cfg.LongestMessage = func(before uint32, one bool) int {
				if int(before) != len(whole) {
					t.Errorf("asked for message %d, want %d", before, len(whole))
				}
				whole = append(whole, one)
				return longest[before]
			}
			ci, cr := withSocket(t, extsock.Config{NoCapabilities: true}, cfg)
			p := make([]byte, 20000)
			for _, n := range longest[:4] {
				if _, err := ci.Write(prototest.Pattern(n, 1)); err != nil {
					t.Fatal(err)
				}
				k, err := cr.Read(p)
				if !bytes.Equal(p[:k], prototest.Pattern(n, 1)) || err != nil {
					t.Errorf("a message of %d octets: %d, %v", n, k, err)
				}
			}
			// The Terminate may come before Write has sent the last segment.
			var fault *rdmap.TerminateError
			if _, err := ci.Write(prototest.Pattern(tooLong, 1)); err != nil && !errors.As(err, &fault) {
				t.Errorf("Write of a message that is too long: %v", err)
			}
			if n, err := cr.Read(p); !errors.As(err, &fault) {
				t.Errorf("a message that is too long: %d octets, %v", n, err)
			}
			if want := []bool{true, false, false, true, tooLong < 1000}; !slices.Equal(whole, want) {
				t.Errorf("asked for messages of one segment: %v, want %v", whole, want)
			}
		})
	}
}

// TestLongestMessageNegative: a negative limit leaves room for messages of length 0 only.
func TestLongestMessageNegative(t *testing.T) {
	for _, longest := range []int{-1, math.MinInt} {
		for _, n := range []int{1, 5000} {
			bubble(t, func(t *testing.T) {
				cfg := config()
				cfg.LongestMessage = func(uint32, bool) int { return longest }
				// Without the capability records a message of 5000 octets has several segments.
				ci, cr := withSocket(t, extsock.Config{NoCapabilities: true}, cfg)
				if _, err := ci.Write(nil); err != nil {
					t.Fatal(err)
				}
				if n, err := cr.Read(make([]byte, 10)); n != 0 || err != nil {
					t.Errorf("a message of length 0: %d, %v", n, err)
				}
				var fault *rdmap.TerminateError
				if _, err := ci.Write(prototest.Pattern(n, 1)); err != nil && !errors.As(err, &fault) {
					t.Errorf("Write of a message that is too long: %v", err)
				}
				if _, err := cr.Read(make([]byte, 10)); !errors.As(err, &fault) {
					t.Errorf("%d octets with a limit of %d: %v", n, longest, err)
				}
			})
		}
	}
}
