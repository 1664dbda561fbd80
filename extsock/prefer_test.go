package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

const mpaKey = "MPA ID Req Frame"

// prefers returns the accepting side of a connection, which looks at the first octets, and the
// peer's stream.
func prefers(cfg extsock.Config) (c *extsock.Conn, peer toe.Stream) {
	cfg.Startup = extsock.StartupPrefer
	a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
	return extsock.NewConn(b, false, &cfg), a
}

// splitStream writes the first octets in pieces that end at the positions in at, with pauses
// between them.
type splitStream struct {
	toe.Stream
	at []int
}

func (s *splitStream) Write(p []byte) (n int, err error) {
	for _, at := range s.at {
		if n < at && at < len(p) {
			m, err := s.Stream.Write(p[n:at])
			n += m
			if err != nil {
				return n, err
			}
			time.Sleep(time.Second)
		}
	}
	s.at = nil
	m, err := s.Stream.Write(p[n:])
	return n + m, err
}

// A recorder is a Tap that keeps what it sees.
type recorder struct {
	mu             sync.Mutex
	sent, received []byte
	closed         int
}

func (r *recorder) Sent(p []byte) { r.mu.Lock(); defer r.mu.Unlock(); r.sent = append(r.sent, p...) }
func (r *recorder) Received(p []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.received = append(r.received, p...)
}
func (r *recorder) Closed() { r.mu.Lock(); defer r.mu.Unlock(); r.closed++ }

func (r *recorder) tap(local, remote net.Addr, initiator bool) toe.Tap { return r }

// TestPreferKnowsARequest: the accepting side recognizes a Request and goes on with startup,
// wherever the Request is split, and both captures show each octet once.
func TestPreferKnowsARequest(t *testing.T) {
	splits := [][]int{nil, {3, 9, 15, 17}}
	for at := 1; at <= 20; at++ {
		splits = append(splits, []int{at})
	}
	for _, at := range splits {
		bubble(t, func(t *testing.T) {
			seen, told := new(recorder), new(recorder)
			cr, s := prefers(extsock.Config{Tap: seen.tap})
			ci := extsock.NewConn(&splitStream{s, at}, true, &extsock.Config{Tap: told.tap})
			go func() {
				if err := ci.EnableDDP(t.Context(), nil); err != nil {
					t.Errorf("split at %d: EnableDDP: %v", at, err)
				}
				ci.Write([]byte("over DDP"))
			}()
			p := make([]byte, 100)
			if n, err := cr.Read(p); string(p[:n]) != "over DDP" || err != nil {
				t.Fatalf("split at %d: Read = %q, %v", at, p[:n], err)
			}
			if modeOf(cr) != "DDP" || fallbackOf(cr) != nil {
				t.Errorf("split at %d: mode %v, fallback %v", at, modeOf(cr), fallbackOf(cr))
			}
			ci.Close()
			if n, err := cr.Read(p); err != io.EOF { // a Close before the end comes would leave it out of the capture
				t.Errorf("split at %d: Read = %q, %v, want io.EOF", at, p[:n], err)
			}
			cr.Close()
			settle()
			synctest.Wait() // so that what the taps saw happens before this test looks at it
			if !bytes.Equal(seen.received, told.sent) || !bytes.Equal(seen.sent, told.received) {
				t.Errorf("split at %d: the captures differ: %d octets sent, %d received", at, len(told.sent), len(seen.received))
			}
		})
	}
}

// TestPreferLeavesPlainOctets: bytes that are not an MPA Request reach the application unchanged,
// wherever they differ from the key and however they are split.
func TestPreferLeavesPlainOctets(t *testing.T) {
	var protocols []string
	for same := range len(mpaKey) {
		protocols = append(protocols, mpaKey[:same], mpaKey[:same]+"x", mpaKey[:same]+"xyz and more\r\n")
	}
	protocols = append(protocols, "MPA ID Rep Frame\x00\x01\x00\x00", "GET / HTTP/1.1\r\n\r\n")
	for _, sent := range protocols {
		for at := range min(len(sent), 17) {
			bubble(t, func(t *testing.T) {
				seen := new(recorder)
				c, peer := prefers(extsock.Config{Tap: seen.tap})
				go func() {
					w := &splitStream{peer, []int{at}}
					w.Write([]byte(sent))
					peer.CloseWrite()
				}()
				got, err := io.ReadAll(c)
				if string(got) != sent || err != nil {
					t.Errorf("of %q split at %d came %q, %v", sent, at, got, err)
				}
				f := fallbackOf(c)
				if modeOf(c) != "TCP" || f == nil || f.Reason != extsock.FallbackPlainPeer {
					t.Errorf("%q: mode %v, fallback %v", sent, modeOf(c), f)
				}
				if string(seen.received) != sent {
					t.Errorf("of %q the capture shows %q", sent, seen.received)
				}
				if _, err := c.Write([]byte("bye")); err != nil {
					t.Error(err)
				}
				c.Close()
				if answer, err := io.ReadAll(peer); string(answer) != "bye" || err != nil {
					t.Errorf("the peer got %q, %v", answer, err)
				}
				peer.Close()
			})
		}
	}
}

// TestPreferDeadlines: deadlines that pass while the first octets arrive lose no octet.
func TestPreferDeadlines(t *testing.T) {
	for _, sent := range []string{"MPA ID Fast\r\n", "HELLO\r\n", "M"} {
		bubble(t, func(t *testing.T) {
			c, peer := prefers(extsock.Config{})
			go func() {
				for i := range sent { // each octet between two deadlines
					time.Sleep(time.Second)
					peer.Write([]byte{sent[i]})
				}
				peer.CloseWrite()
			}()
			var got []byte
			p := make([]byte, 100)
			timeouts := 0
			for {
				c.SetReadDeadline(time.Now().Add(300 * time.Millisecond))
				n, err := c.Read(p)
				got = append(got, p[:n]...)
				if errors.Is(err, os.ErrDeadlineExceeded) {
					var ne net.Error
					if !errors.As(err, &ne) || !ne.Timeout() {
						t.Fatalf("%v is no timeout to package net", err)
					}
					timeouts++
					continue
				}
				if err == io.EOF {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
			}
			if string(got) != sent || timeouts == 0 {
				t.Errorf("of %q came %q, with %d timeouts", sent, got, timeouts)
			}
			c.Close()
			peer.Close()
		})
	}
}

// TestPreferDeadlineDuringARequest: a Read whose deadline passes in the middle of the Request does
// not end startup.
func TestPreferDeadlineDuringARequest(t *testing.T) {
	for at := 1; at <= 20; at++ {
		bubble(t, func(t *testing.T) {
			cr, s := prefers(extsock.Config{})
			ci := extsock.NewConn(&splitStream{s, []int{at}}, true, nil)
			go func() {
				ci.EnableDDP(t.Context(), nil)
				ci.Write([]byte("here"))
			}()
			p := make([]byte, 100)
			cr.SetReadDeadline(time.Now().Add(time.Millisecond))
			if n, err := cr.Read(p); !errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("split at %d: Read = %d, %v, want the deadline", at, n, err)
			}
			cr.SetReadDeadline(time.Time{})
			if n, err := cr.Read(p); string(p[:n]) != "here" || err != nil {
				t.Errorf("split at %d: Read after the deadline = %q, %v", at, p[:n], err)
			}
			ci.Close()
			cr.Close()
			settle()
		})
	}
}

// TestPreferMovesDeadlines: while startup sniffs, new deadlines reach the Reads and Writes that
// wait for it.
func TestPreferMovesDeadlines(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, peer := prefers(extsock.Config{SniffTimeout: -1})
		type result struct {
			what string
			err  error
		}
		results := make(chan result)
		read := func() { _, err := c.Read(make([]byte, 1)); results <- result{"Read", err} }
		write := func() { _, err := c.Write([]byte("x")); results <- result{"Write", err} }
		want := func(what string, target error) {
			t.Helper()
			if r := <-results; r.what != what || !errors.Is(r.err, target) {
				t.Errorf("%s ended with %v, want %s with %v", r.what, r.err, what, target)
			}
		}
		now := func() time.Time { return time.Now() }
		c.SetReadDeadline(now().Add(time.Hour))
		go read()
		synctest.Wait()
		go write()
		synctest.Wait()
		c.SetReadDeadline(now()) // of the one that sniffs
		want("Read", os.ErrDeadlineExceeded)
		synctest.Wait() // the Write sniffs now
		c.SetReadDeadline(time.Time{})
		go read()
		synctest.Wait()
		c.SetWriteDeadline(now().Add(time.Second))
		want("Write", os.ErrDeadlineExceeded)
		synctest.Wait() // the Read has taken over
		c.SetWriteDeadline(time.Time{})
		go write()
		synctest.Wait()
		c.SetWriteDeadline(now()) // of one that only waits
		want("Write", os.ErrDeadlineExceeded)
		peer.Write([]byte("y"))
		want("Read", nil)
		c.SetReadDeadline(now().Add(time.Second)) // TCP's from here
		go read()
		want("Read", os.ErrDeadlineExceeded)
		c.SetWriteDeadline(time.Time{})
		go write()
		want("Write", nil)
		c.Close()
		peer.Close()
	})
}

// TestSniffTimeout: in a server-first protocol, the server's Write goes out after the timeout. A
// peer that has begun to send gets more time, but not unlimited time.
func TestSniffTimeout(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, peer := prefers(extsock.Config{SniffTimeout: 200 * time.Millisecond})
		begin := time.Now()
		if _, err := c.Write([]byte("220 welcome\r\n")); err != nil {
			t.Fatal(err)
		}
		if d := time.Since(begin); d != 200*time.Millisecond {
			t.Errorf("the Write took %v, want the 200ms of SniffTimeout", d)
		}
		if f := fallbackOf(c); f == nil || f.Reason != extsock.FallbackSniffTimeout || errors.Is(f, extsock.ErrNoRequest) { // the peer has not closed
			t.Errorf("fallback %v", f)
		}
		peer.Write([]byte(mpaKey)) // too late: these bytes are for the application
		p := make([]byte, 100)
		if n, err := c.Read(p); string(p[:n]) != mpaKey || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
		c.Close()
		peer.Close()
	})
	bubble(t, func(t *testing.T) {
		c, peer := prefers(extsock.Config{HandshakeTimeout: time.Second})
		peer.Write([]byte("MPA"))
		p := make([]byte, 100)
		if n, err := c.Read(p); string(p[:n]) != "MPA" || err != nil {
			t.Errorf("Read = %q, %v", p[:n], err)
		}
		if f := fallbackOf(c); f == nil || f.Reason != extsock.FallbackSniffTimeout {
			t.Errorf("fallback %v", f)
		}
		c.Close()
		peer.Close()
	})
}

// TestPreferClose: Close ends the sniff and the calls that wait for it.
func TestPreferClose(t *testing.T) {
	bubble(t, func(t *testing.T) {
		c, peer := prefers(extsock.Config{})
		peer.Write([]byte("MPA"))
		errs := make(chan error)
		go func() { _, err := c.Read(make([]byte, 1)); errs <- err }()
		go func() { _, err := c.Write([]byte("x")); errs <- err }()
		go func() { errs <- c.Handshake(t.Context()) }()
		synctest.Wait()
		if err := c.EnableDDP(t.Context(), nil); !errors.Is(err, extsock.ErrBusy) {
			t.Errorf("EnableDDP while a Read sniffs = %v, want ErrBusy", err)
		}
		c.Close()
		for range 3 {
			if err := <-errs; !errors.Is(err, net.ErrClosed) {
				t.Errorf("after Close: %v", err)
			}
		}
		peer.Close()
	})
}

// TestHandshake: Handshake runs the startup that Config.Startup asks for, and nothing else.
func TestHandshake(t *testing.T) {
	t.Run("a plain peer", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			c, peer := prefers(extsock.Config{})
			for _, bound := range []func() (context.Context, context.CancelFunc){
				func() (context.Context, context.CancelFunc) { return context.WithTimeout(t.Context(), time.Second) },
				func() (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(t.Context())
					time.AfterFunc(time.Second, cancel)
					return ctx, cancel
				},
				func() (context.Context, context.CancelFunc) {
					ctx, cancel := context.WithCancel(t.Context())
					cancel()
					return ctx, cancel
				},
			} {
				ctx, cancel := bound()
				if err := c.Handshake(ctx); !errors.Is(err, ctx.Err()) || ctx.Err() == nil {
					t.Errorf("Handshake = %v, want %v", err, ctx.Err())
				}
				cancel()
			}
			peer.Write([]byte("hello"))
			for range 2 {
				if err := c.Handshake(t.Context()); err != nil {
					t.Errorf("Handshake = %v", err)
				}
			}
			if modeOf(c) != "TCP" || fallbackOf(c) == nil {
				t.Errorf("mode %v, fallback %v", modeOf(c), fallbackOf(c))
			}
			p := make([]byte, 5)
			if _, err := io.ReadFull(c, p); string(p) != "hello" || err != nil {
				t.Errorf("%q, %v", p, err)
			}
			c.Close()
			peer.Close()
		})
	})
	t.Run("an MPA peer", func(t *testing.T) {
		bubble(t, func(t *testing.T) {
			cr, s := prefers(extsock.Config{})
			ci := extsock.NewConn(s, true, &extsock.Config{Startup: extsock.StartupRequire})
			errs := make(chan error)
			for _, c := range []*extsock.Conn{cr, ci, cr, ci} {
				go func() { errs <- c.Handshake(t.Context()) }()
			}
			for range 4 {
				if err := <-errs; err != nil {
					t.Error(err)
				}
			}
			if modeOf(ci) != "DDP" || modeOf(cr) != "DDP" {
				t.Errorf("modes %v and %v", modeOf(ci), modeOf(cr))
			}
			ci.Close()
			cr.Close()
			settle()
		})
	})
	t.Run("nothing asked for", func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		defer b.Close()
		c := extsock.NewConn(a, true, nil)
		defer c.Close()
		if err := c.Handshake(t.Context()); err != nil || modeOf(c) != "TCP" || fallbackOf(c) != nil {
			t.Errorf("Handshake = %v, mode %v, fallback %v", err, modeOf(c), fallbackOf(c))
		}
	})
}

// TestPreferStartupFails: after the key there is no fallback to plain TCP, and every call returns
// the error.
func TestPreferStartupFails(t *testing.T) {
	for _, tt := range []struct {
		desc, rest string
		code       mpa.Code
	}{
		{"revision 9", "\x40\x09\x00\x00", mpa.CodeFrame},
		{"private data too long", "\x40\x01\xff\xff", mpa.CodeFrame},
		{"closed inside", "\x40", mpa.CodeClosed},
	} {
		bubble(t, func(t *testing.T) {
			c, peer := prefers(extsock.Config{})
			peer.Write([]byte(mpaKey + tt.rest))
			peer.CloseWrite()
			for _, call := range []func() error{
				func() error { _, err := c.Read(make([]byte, 1)); return err },
				func() error { _, err := c.Write(make([]byte, 1)); return err },
				func() error { return c.Handshake(t.Context()) },
			} {
				var e *mpa.Error
				if err := call(); !errors.As(err, &e) || e.Code != tt.code {
					t.Errorf("%s: %v, want code %d", tt.desc, err, tt.code)
				}
			}
			if fallbackOf(c) != nil {
				t.Errorf("%s: fallback %v", tt.desc, fallbackOf(c))
			}
			c.Close()
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, net.ErrClosed) {
				t.Errorf("%s: Read after Close: %v", tt.desc, err)
			}
			peer.Close()
			settle()
		})
	}
}

// TestHybridListener: one address serves both kinds of peers, even while a silent peer waits.
func TestHybridListener(t *testing.T) {
	bubble(t, func(t *testing.T) {
		network := simtoe.New(simtoe.Config{})
		cfg := &extsock.Config{Backend: network, Startup: extsock.StartupPrefer}
		l, err := extsock.Listen("tcp", "both:1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		var served sync.WaitGroup
		served.Go(func() {
			for {
				c, err := l.Accept()
				if err != nil {
					return
				}
				served.Go(func() {
					defer c.Close()
					p := make([]byte, 100)
					for {
						n, err := c.Read(p)
						if err != nil {
							return
						}
						if _, err := fmt.Fprintf(c, "%v: %s", modeOf(c.(*extsock.Conn)), p[:n]); err != nil {
							return
						}
					}
				})
			}
		})
		silent, err := network.Dial(t.Context(), "tcp", "both:1")
		if err != nil {
			t.Fatal(err)
		}
		for _, startup := range []extsock.Startup{extsock.StartupOff, extsock.StartupRequire, extsock.StartupPrefer} {
			c, err := extsock.Dial("tcp", "both:1", &extsock.Config{Backend: network, Startup: startup})
			if err != nil {
				t.Fatal(err)
			}
			want := "DDP: hello"
			if startup == extsock.StartupOff {
				want = "TCP: hello"
			}
			c.Write([]byte("hello"))
			p := make([]byte, len(want))
			if _, err := io.ReadFull(c, p); string(p) != want || err != nil {
				t.Errorf("startup %d: %q, %v, want %q", startup, p, err, want)
			}
			c.Close()
		}
		l.Close()
		silent.Close()
		served.Wait()
		settle()
	})
}
