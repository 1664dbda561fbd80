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
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestStartupVariants switches with every combination that the two ends can ask for, and checks
// that data flows both ways.
func TestStartupVariants(t *testing.T) {
	tests := []struct {
		desc string
		i, r extsock.Config
	}{
		{"defaults", extsock.Config{}, extsock.Config{}},
		{"revision 1", extsock.Config{Revision: 1}, extsock.Config{}},
		{"revision 2 without the enhanced header", extsock.Config{NoEnhanced: true}, extsock.Config{}},
		{"only the initiator wants CRC", extsock.Config{}, extsock.Config{NoCRC: true}},
		{"only the responder wants CRC", extsock.Config{NoCRC: true}, extsock.Config{}},
		{"markers both ways", extsock.Config{Markers: true}, extsock.Config{Markers: true}},
		{"peer-to-peer", extsock.Config{PeerToPeer: true}, extsock.Config{}},
		{"peer-to-peer, Send", extsock.Config{PeerToPeer: true, RTR: mpa.RTRSend}, extsock.Config{RTR: mpa.RTRSend}},
		{"peer-to-peer, Write", extsock.Config{PeerToPeer: true, RTR: mpa.RTRWrite}, extsock.Config{RTR: mpa.RTRWrite}},
		{"peer-to-peer, Read", extsock.Config{PeerToPeer: true, RTR: mpa.RTRRead}, extsock.Config{RTR: mpa.RTRRead}},
		{"foreign initiator", extsock.Config{NoCapabilities: true}, extsock.Config{}},
		{"foreign responder", extsock.Config{}, extsock.Config{NoCapabilities: true}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				tt.i.PrivateData, tt.r.PrivateData = []byte("from the initiator"), []byte("from the responder")
				ci, cr := simPair(t, simtoe.Config{}, side{cfg: tt.i}, side{cfg: tt.r})
				got := string(cr.ConnectionState().PeerPrivateData)
				if tt.r.NoCapabilities { // the record is before it
					_, got, _ = strings.Cut(got, got[:20])
				}
				if got != "from the initiator" {
					t.Errorf("the Responder got private data %q", got)
				}
				if got := ci.ConnectionState().PeerPrivateData; string(got) != "from the responder" {
					t.Errorf("the Initiator got private data %q", got)
				}
				p := make([]byte, 9)
				for _, way := range [][2]*extsock.Conn{{ci, cr}, {cr, ci}} {
					if _, err := way[0].Write([]byte("data")); err != nil {
						t.Fatal(err)
					}
					if n, err := way[1].Read(p); string(p[:n]) != "data" || err != nil {
						t.Fatalf("Read = %q, %v", p[:n], err)
					}
				}
			})
		})
	}
}

// TestDepthsAreNegotiated: each end's ORD is kept within the other's IRD (RFC 6581 §9).
func TestDepthsAreNegotiated(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{IRD: 4, ORD: 30}}, side{cfg: extsock.Config{IRD: 7, ORD: 20}})
		if _, ord := depthsOf(ci); ord != 7 {
			t.Errorf("the Initiator's ORD is %d, the Responder's IRD 7", ord)
		}
		if _, ord := depthsOf(cr); ord != 4 {
			t.Errorf("the Responder's ORD is %d, the Initiator's IRD 4", ord)
		}
	})
}

// TestResponderIsFenced: nothing that the Responder posts goes out before the Initiator's first
// FPDU (RFC 5044 §7.1.2).
func TestResponderIsFenced(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{NoCapabilities: true}}, side{})
		if err := cr.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: []byte("early")}); err != nil {
			t.Fatal(err)
		}
		ci.SetReadDeadline(time.Now().Add(time.Hour))
		if n, err := ci.Read(make([]byte, 9)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("the Responder's Send came before the Initiator's first FPDU: %d, %v", n, err)
		}
		ci.SetReadDeadline(time.Time{})
		if _, err := ci.Write([]byte("first")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 9)
		if n, err := ci.Read(p); string(p[:n]) != "early" || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestServerWritesFirst: between two rddp ends, a server may write first in spite of the fence.
func TestServerWritesFirst(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		if _, err := cr.Write([]byte("220 welcome")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 100)
		if n, err := ci.Read(p); string(p[:n]) != "220 welcome" || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
	})
}

// TestReject: the Initiator learns why, and both ends are still in TCP mode.
func TestReject(t *testing.T) {
	bubble(t, func(t *testing.T) {
		for _, revision := range []int{1, 2} {
			a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			ci, cr := extsock.NewConn(a, true, &extsock.Config{Revision: revision}), extsock.NewConn(b, false, nil)
			rejected := make(chan error, 1)
			go func() {
				req, err := cr.ReceiveRequest(t.Context())
				if err == nil && string(req.PrivateData) != "let me in" {
					err = errors.New("private data " + string(req.PrivateData))
				}
				if err == nil {
					err = req.Reject(t.Context(), []byte("no"))
				}
				rejected <- err
			}()
			err := ci.EnableDDP(t.Context(), []byte("let me in"))
			var re *mpa.RejectError
			if !errors.As(err, &re) {
				t.Fatalf("revision %d: EnableDDP = %v, want a *mpa.RejectError", revision, err)
			}
			if err := <-rejected; err != nil {
				t.Fatal(err)
			}
			if string(re.PrivateData) != "no" {
				t.Errorf("revision %d: rejected with %q", revision, re.PrivateData)
			}
			if modeOf(ci) != "TCP" || modeOf(cr) != "TCP" {
				t.Errorf("after a rejection: modes %v and %v", modeOf(ci), modeOf(cr))
			}
			if _, err := ci.Write([]byte("plain")); err != nil {
				t.Error(err)
			}
			p := make([]byte, 5)
			if _, err := io.ReadFull(cr, p); string(p) != "plain" || err != nil {
				t.Errorf("after a rejection: %q, %v", p, err)
			}
			ci.Close()
			cr.Close()
		}
	})
}

// TestStartupFails checks the error of EnableDDP for everything that a peer may do instead of MPA
// startup.
func TestStartupFails(t *testing.T) {
	request := mpa.Frame{Revision: 1, CRC: true}.AppendTo(nil)
	tests := []struct {
		desc      string
		initiator bool
		peer      func(c net.Conn)
		err       error
	}{
		{"no MPA: HTTP", true, func(c net.Conn) { c.Read(make([]byte, 1)); c.Write([]byte("HTTP/1.1 400 Bad Request\r\n")) }, extsock.ErrNotMPA},
		{"no MPA: one octet of a greeting", true, func(c net.Conn) { c.Read(make([]byte, 1)); c.Write([]byte("2")) }, extsock.ErrNotMPA},
		{"two Initiators", true, func(c net.Conn) { c.Read(make([]byte, 1)); c.Write(request) }, mpa.ErrSameRole},
		{"closed without a Reply", true, func(c net.Conn) { io.ReadFull(c, make([]byte, 20)); c.Close() }, extsock.ErrNoReply},
		{"silent peer", true, func(net.Conn) {}, os.ErrDeadlineExceeded},
		{"closed without a Request", false, func(c net.Conn) { c.Close() }, extsock.ErrNoRequest},
		{"closed inside the Request", false, func(c net.Conn) { c.Write(request[:19]); c.Close() }, extsock.ErrNoRequest},
		{"silent initiator", false, func(net.Conn) {}, os.ErrDeadlineExceeded},
		{"one octet a second", false, func(c net.Conn) {
			for i := range request {
				c.Write(request[i : i+1])
				time.Sleep(time.Second)
			}
		}, os.ErrDeadlineExceeded},
		{"octets behind the Request", false, func(c net.Conn) { c.Write(append(bytes.Clone(request), 0)) }, &mpa.Error{Code: mpa.CodeFrame}},
		{"unknown revision", false, func(c net.Conn) {
			b := bytes.Clone(request)
			b[17] = 3
			c.Write(b)
		}, &mpa.Error{Code: mpa.CodeFrame}},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				c := extsock.NewConn(a, tt.initiator, nil)
				done := make(chan struct{})
				go func() { defer close(done); tt.peer(b) }()
				begin := time.Now()
				err := c.EnableDDP(t.Context(), nil)
				if want := (*mpa.Error)(nil); errors.As(tt.err, &want) {
					var got *mpa.Error
					if !errors.As(err, &got) || got.Code != want.Code {
						t.Errorf("EnableDDP = %v, want MPA error code %d", err, want.Code)
					}
				} else if !errors.Is(err, tt.err) {
					t.Errorf("EnableDDP = %v, want %v", err, tt.err)
				}
				if d := time.Since(begin); d > 10*time.Second {
					t.Errorf("it took %v", d)
				}
				if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
					t.Errorf("Write after that: %v, want net.ErrClosed", err)
				}
				c.Close()
				b.Close()
				<-done
			})
		})
	}
}

// TestSwitchIsBounded: the end of the context ends the switch.
func TestSwitchIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		defer b.Close()
		c := extsock.NewConn(a, false, nil)
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		begin := time.Now()
		if err := c.EnableDDP(ctx, nil); !errors.Is(err, context.Canceled) {
			t.Errorf("EnableDDP = %v, want context.Canceled", err)
		}
		if d := time.Since(begin); d != time.Second {
			t.Errorf("it ended after %v, want 1s", d)
		}
	})
}

// TestSwitchWhileReading: a switch during a Read is refused, because the Read could take octets of
// the startup.
func TestSwitchWhileReading(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		c := extsock.NewConn(a, true, nil)
		go c.Read(make([]byte, 1))
		synctest.Wait()
		if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, extsock.ErrBusy) {
			t.Errorf("EnableDDP during a Read = %v, want ErrBusy", err)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Errorf("the connection is no longer usable: %v", err)
		}
		c.Close()
		b.Close()
	})
}

// TestDialFallsBackToRevision1: a Responder that closes at a revision 2 Request is tried again with
// revision 1, on a new connection (RFC 6581 §10), if Config.RetryRevision1 says so. From then on
// the Dialer asks that address for revision 1.
// MPA-6581-10-11
func TestDialFallsBackToRevision1(t *testing.T) {
	bubble(t, func(t *testing.T) {
		network := simtoe.New(simtoe.Config{})
		l, err := network.Listen(t.Context(), "tcp", "127.0.0.1:7174")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var revisions atomic.Int64
		go func() {
			for {
				s, err := l.Accept()
				if err != nil {
					return
				}
				b := make([]byte, 20)
				io.ReadFull(s, b)
				f := b[17]
				revisions.Store(revisions.Load()*10 + int64(f))
				if f != 1 {
					s.Close()
					continue
				}
				// An old Responder: it has read a Request of revision 1 and replies in kind.
				io.CopyN(io.Discard, s, int64(b[18])<<8|int64(b[19]))
				s.Write(mpa.Frame{Reply: true, Revision: 1, CRC: true}.AppendTo(nil))
				io.Copy(io.Discard, s)
				s.Close()
			}
		}()
		d := &extsock.Dialer{Config: &extsock.Config{Backend: network, Startup: extsock.StartupRequire}}
		if _, err := d.DialContext(t.Context(), "tcp", "127.0.0.1:7174"); !errors.Is(err, extsock.ErrNoReply) {
			t.Errorf("Dial without RetryRevision1 = %v, want ErrNoReply", err)
		}
		d.Config.RetryRevision1 = true
		for _, want := range []int64{221, 2211} {
			c, err := d.DialContext(t.Context(), "tcp", "127.0.0.1:7174")
			if err != nil {
				t.Fatal(err)
			}
			if got := revisions.Load(); got != want {
				t.Errorf("revisions tried: %d, want %d", got, want)
			}
			c.Close()
		}
	})
}

// TestRequireSwitchesAtFirstUse: with StartupRequire, the accepting side switches at its first use.
func TestRequireSwitchesAtFirstUse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		cfg := &extsock.Config{Backend: simtoe.New(simtoe.Config{}), Startup: extsock.StartupRequire}
		l, err := extsock.Listen("tcp", "127.0.0.1:1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			c, err := l.Accept()
			if err != nil {
				return
			}
			defer c.Close()
			p := make([]byte, 100)
			n, err := c.Read(p)
			if err == nil {
				c.Write(p[:n])
			}
			c.Read(p)
		}()
		c, err := extsock.Dial("tcp", "127.0.0.1:1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := c.Write([]byte("echo")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 100)
		if n, err := c.Read(p); string(p[:n]) != "echo" || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
	})
}

// TestFallbackErrors: errors.Is matches ErrPlainTCP and exactly one reason.
func TestFallbackErrors(t *testing.T) {
	causes := []error{extsock.ErrNoReply, extsock.ErrNotMPA, os.ErrDeadlineExceeded}
	for _, tt := range []struct {
		reason extsock.FallbackReason
		want   error
	}{
		{extsock.FallbackNoReply, extsock.ErrNoReply},
		{extsock.FallbackNotMPA, extsock.ErrNotMPA},
		{extsock.FallbackTimedOut, os.ErrDeadlineExceeded},
		{extsock.FallbackRemembered, nil}, // what was found first is wrapped
		{extsock.FallbackPlainPeer, extsock.ErrNotMPA},
		{extsock.FallbackSniffTimeout, os.ErrDeadlineExceeded},
	} {
		err := fmt.Errorf("outside: %w", &extsock.FallbackError{Reason: tt.reason})
		if !errors.Is(err, extsock.ErrPlainTCP) {
			t.Errorf("%v is not ErrPlainTCP", err)
		}
		for _, cause := range causes {
			if got := errors.Is(err, cause); got != (cause == tt.want) {
				t.Errorf("%v is %v: %t", err, cause, got)
			}
		}
	}
	first := &extsock.FallbackError{Reason: extsock.FallbackNoReply}
	if err := error(&extsock.FallbackError{Reason: extsock.FallbackRemembered, Err: first}); !errors.Is(err, extsock.ErrNoReply) {
		t.Errorf("%v does not wrap what was found first", err)
	} else if !strings.Contains(err.Error(), "a while ago") {
		t.Errorf("%v does not say that it is remembered", err)
	}
}

// A lateStream is a stream in a process that was stopped for a while: a Read whose deadline has
// passed does not see what has come meanwhile.
type lateStream struct {
	toe.Stream
	before  int // Reads before the process is stopped
	stopped time.Duration
}

func (s *lateStream) Read(p []byte) (int, error) {
	if s.before--; s.before >= 0 {
		return s.Stream.Read(p)
	}
	if d := s.stopped; d > 0 {
		s.stopped = 0
		time.Sleep(d)
		return 0, &net.OpError{Op: "read", Net: "sim", Err: os.ErrDeadlineExceeded}
	}
	return s.Stream.Read(p)
}

// TestSniffTimeoutIsThePeers: if this process was late, and not the peer's Request, the connection
// does not become plain TCP.
func TestSniffTimeoutIsThePeers(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		s := &lateStream{Stream: b, stopped: time.Second}
		cr := extsock.NewConn(s, false, &extsock.Config{Startup: extsock.StartupPrefer, SniffTimeout: 100 * time.Millisecond})
		ci := extsock.NewConn(a, true, nil)
		done := make(chan error)
		go func() { done <- cr.Handshake(t.Context()) }()
		if err := errors.Join(ci.EnableDDP(t.Context(), nil), <-done); err != nil {
			t.Error(err)
		}
		if modeOf(cr) != "DDP" {
			t.Errorf("mode %v, fallback %v", modeOf(cr), fallbackOf(cr))
		}
		ci.Close()
		cr.Close()
		settle()
	})
}

// TestSniffIsGrantedOnce: an octet that waits when the time for a Request is over does not prolong
// that time again.
func TestSniffIsGrantedOnce(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		s := &lateStream{Stream: b, before: 1, stopped: 2 * time.Second}
		c := extsock.NewConn(s, false, &extsock.Config{Startup: extsock.StartupPrefer, HandshakeTimeout: time.Second})
		go func() {
			a.Write([]byte(mpaKey[:1]))
			time.Sleep(time.Second)
			a.Write([]byte(mpaKey[1:2]))
		}()
		begin := time.Now()
		if err := c.Handshake(t.Context()); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 2*time.Second || modeOf(c) != "TCP" {
			t.Errorf("mode %v after %v, want plain TCP as soon as the process goes on", modeOf(c), d)
		}
		c.Close()
		a.Close()
		settle()
	})
}
