package extsock_test

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A plainServer calls serve with the number of each connection and its stream.
type plainServer struct {
	l           toe.Listener
	mu          sync.Mutex
	connections int
	over        sync.WaitGroup
}

func servePlain(t *testing.T, network *simtoe.Network, address string, serve func(i int, s toe.Stream)) *plainServer {
	t.Helper()
	l, err := network.Listen(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	p := &plainServer{l: l}
	p.over.Go(func() {
		for {
			s, err := l.Accept()
			if err != nil {
				return
			}
			p.mu.Lock()
			i := p.connections
			p.connections++
			p.mu.Unlock()
			p.over.Go(func() {
				defer s.Close()
				serve(i, s)
			})
		}
	})
	return p
}

// seen returns how many connections came.
func (p *plainServer) seen() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.connections
}

func (p *plainServer) close() {
	p.l.Close()
	p.over.Wait()
}

// plainEcho is a server of a plain protocol: it knows lines that begin with "echo".
func plainEcho(s toe.Stream) {
	p := make([]byte, 1000)
	for {
		n, err := s.Read(p)
		if err != nil {
			return
		}
		if !strings.HasPrefix(string(p[:n]), "echo") {
			s.Write([]byte("what?\n"))
			continue
		}
		s.Write(p[:n])
	}
}

// TestDialPrefersDDP: whatever plain peers do with an MPA Request, Dial falls back, says why, and
// remembers the address.
func TestDialPrefersDDP(t *testing.T) {
	tests := []struct {
		desc        string
		serve       func(i int, s toe.Stream)
		reason      extsock.FallbackReason
		cause       error
		connections int  // until the first dial is done
		forgets     bool // the peer has said nothing
		takes       time.Duration
	}{
		{"answers with its own protocol", func(_ int, s toe.Stream) { plainEcho(s) }, extsock.FallbackNotMPA, extsock.ErrNotMPA, 2, false, 0},
		{"gives back what it gets", func(_ int, s toe.Stream) { io.Copy(s, s) }, extsock.FallbackNotMPA, mpa.ErrSameRole, 2, false, 0},
		{"closes at what it does not know", func(_ int, s toe.Stream) {
			p := make([]byte, 1000)
			if n, _ := s.Read(p); strings.HasPrefix(string(p[:n]), "echo") {
				s.Write(p[:n])
				s.Read(p)
			}
		}, extsock.FallbackNoReply, extsock.ErrNoReply, 2, false, 0},
		{"closes at once, at first", func(i int, s toe.Stream) {
			if i >= 1 {
				plainEcho(s)
			}
		}, extsock.FallbackNoReply, extsock.ErrNoReply, 2, false, 0},
		{"waits for more", func(_ int, s toe.Stream) {
			p := make([]byte, 1000)
			for {
				n, err := s.Read(p)
				if err != nil {
					return
				}
				if strings.HasPrefix(string(p[:n]), "echo") {
					s.Write(p[:n])
				}
			}
		}, extsock.FallbackTimedOut, context.DeadlineExceeded, 2, true, 2 * time.Second},
		{"sends a part of a Reply", func(i int, s toe.Stream) {
			if i%2 == 0 {
				s.Read(make([]byte, 1)) // else it speaks before it is asked
				s.Write([]byte("MPA ID Rep"))
				io.Copy(io.Discard, s)
				return
			}
			plainEcho(s)
		}, extsock.FallbackTimedOut, context.DeadlineExceeded, 2, true, 2 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				network := simtoe.New(simtoe.Config{})
				server := servePlain(t, network, "plain:1", tt.serve)
				var events strings.Builder
				trace := slog.New(slog.NewTextHandler(&events, nil))
				d := &extsock.Dialer{Config: &extsock.Config{Backend: network, Startup: extsock.StartupPrefer, Trace: trace}}
				before := extsock.FallbackCounts()
				exchange := func(c net.Conn) {
					t.Helper()
					defer c.Close()
					c.SetDeadline(time.Now().Add(time.Minute))
					if _, err := c.Write([]byte("echo 1")); err != nil {
						t.Error(err)
					}
					p := make([]byte, 6)
					if _, err := io.ReadFull(c, p); string(p) != "echo 1" || err != nil {
						t.Errorf("Read = %q, %v", p, err)
					}
				}
				begin := time.Now()
				c, err := dialConn(t.Context(), d, "tcp", "plain:1")
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(begin); took != tt.takes {
					t.Errorf("Dial took %v, want %v", took, tt.takes)
				}
				f := fallbackOf(c)
				if modeOf(c) != "TCP" || f == nil || f.Reason != tt.reason || !errors.Is(f, tt.cause) {
					t.Errorf("mode %v, fallback %v", modeOf(c), f)
				}
				exchange(c)
				if n := server.seen(); n != tt.connections {
					t.Errorf("the server saw %d connections, want %d", n, tt.connections)
				}

				again, connections := extsock.FallbackRemembered, 1 // the address is known now
				if tt.forgets {
					again, connections = tt.reason, tt.connections
				}
				for range 2 {
					nc, err := d.DialContext(t.Context(), "tcp", "plain:1")
					if err != nil {
						t.Fatal(err)
					}
					f := fallbackOf(nc.(*extsock.Conn))
					if f == nil || f.Reason != again || !errors.Is(f, tt.cause) {
						t.Errorf("fallback %v, want %q", f, again)
					}
					exchange(nc)
				}
				if n, want := server.seen(), tt.connections+2*connections; n != want {
					t.Errorf("the server saw %d connections, want %d", n, want)
				}
				after := extsock.FallbackCounts()
				want := map[extsock.FallbackReason]uint64{tt.reason: 1}
				want[again] += 2
				for _, r := range []extsock.FallbackReason{tt.reason, extsock.FallbackRemembered} {
					if n := after[r] - before[r]; n != want[r] {
						t.Errorf("%d fallbacks counted for %q, want %d", n, r, want[r])
					}
				}
				if n := strings.Count(events.String(), "rddp: plain TCP"); n != 3 {
					t.Errorf("%d fallbacks traced, want 3:\n%s", n, &events)
				}
				server.close()
			})
		})
	}
}

// TestDialForgets: after FallbackFor the Dialer tries DDP mode again. With a negative FallbackFor
// it remembers nothing.
func TestDialForgets(t *testing.T) {
	for _, tt := range []struct {
		keep, wait time.Duration
		reason     extsock.FallbackReason
	}{
		{0, 59 * time.Second, extsock.FallbackRemembered},
		{0, time.Minute, extsock.FallbackNotMPA},
		{time.Hour, 59 * time.Minute, extsock.FallbackRemembered},
		{time.Hour, time.Hour, extsock.FallbackNotMPA},
		{-1, 0, extsock.FallbackNotMPA},
	} {
		bubble(t, func(t *testing.T) {
			network := simtoe.New(simtoe.Config{})
			server := servePlain(t, network, "plain:1", func(_ int, s toe.Stream) { plainEcho(s) })
			d := &extsock.Dialer{Config: &extsock.Config{Backend: network, Startup: extsock.StartupPrefer}, FallbackFor: tt.keep}
			for i, want := range []extsock.FallbackReason{extsock.FallbackNotMPA, tt.reason} {
				c, err := dialConn(t.Context(), d, "tcp", "plain:1")
				if err != nil {
					t.Fatal(err)
				}
				if f := fallbackOf(c); f == nil || f.Reason != want {
					t.Errorf("FallbackFor %v, dial %d after %v: %v, want %v", tt.keep, i, tt.wait, f, want)
				}
				c.Close()
				time.Sleep(tt.wait)
			}
			server.close()
		})
	}
}

// TestDialMemoryIsBounded: the Dialer first forgets the addresses that it would forget soonest.
func TestDialMemoryIsBounded(t *testing.T) {
	bubble(t, func(t *testing.T) {
		network := simtoe.New(simtoe.Config{})
		d := &extsock.Dialer{Config: &extsock.Config{Backend: network, Startup: extsock.StartupPrefer}, FallbackFor: time.Hour}
		dial := func(i int) extsock.FallbackReason {
			server := servePlain(t, network, "plain:"+strconv.Itoa(i), func(_ int, s toe.Stream) { plainEcho(s) })
			defer server.close()
			c, err := dialConn(t.Context(), d, "tcp", "plain:"+strconv.Itoa(i))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			time.Sleep(time.Millisecond)
			return fallbackOf(c).Reason
		}
		for i := range 1025 {
			dial(i + 1)
		}
		if n := extsock.Remembered(d); n != 1024 {
			t.Errorf("%d addresses are remembered, want 1024", n)
		}
		if r := dial(1); r == extsock.FallbackRemembered {
			t.Error("the oldest address is still remembered")
		}
		if r := dial(1025); r != extsock.FallbackRemembered {
			t.Errorf("the newest address is not remembered: %v", r)
		}
	})
}

// TestDialDoesNotFallBack: an answer, the end of the caller's context, or an unreachable peer is no
// reason to fall back.
func TestDialDoesNotFallBack(t *testing.T) {
	reject := func(_ int, s toe.Stream) {
		c := extsock.NewConn(s, false, nil)
		defer c.Close()
		if req, err := c.ReceiveRequest(context.Background()); err == nil {
			req.Reject(context.Background(), []byte("full"))
		}
		io.Copy(io.Discard, s)
	}
	silent := func(_ int, s toe.Stream) { io.Copy(io.Discard, s) }
	garbage := func(_ int, s toe.Stream) {
		io.ReadFull(s, make([]byte, 20))
		s.Write([]byte("MPA ID Rep Frame\x40\x07\x00\x00"))
		io.Copy(io.Discard, s)
	}
	tests := []struct {
		desc  string
		serve func(int, toe.Stream)
		bound time.Duration // of the context; 0: none
		is    func(err error) bool
	}{
		{"a rejection", reject, 0, func(err error) bool {
			var r *mpa.RejectError
			return errors.As(err, &r) && string(r.PrivateData) == "full"
		}},
		{"a Reply of revision 7", garbage, 0, func(err error) bool { var e *mpa.Error; return errors.As(err, &e) }},
		{"the context's deadline", silent, time.Second, func(err error) bool {
			return errors.Is(err, context.DeadlineExceeded) && strings.Contains(err.Error(), "waiting for the MPA Reply")
		}},
		{"nobody listens", nil, 0, func(err error) bool { return errors.Is(err, syscall.ECONNREFUSED) }},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				network := simtoe.New(simtoe.Config{})
				var server *plainServer
				if tt.serve != nil {
					server = servePlain(t, network, "peer:1", tt.serve)
				}
				ctx, cancel := t.Context(), func() {}
				if tt.bound > 0 {
					ctx, cancel = context.WithTimeout(ctx, tt.bound)
				}
				defer cancel()
				d := &extsock.Dialer{Config: &extsock.Config{Backend: network, Startup: extsock.StartupPrefer}}
				c, err := d.DialContext(ctx, "tcp", "peer:1")
				if !tt.is(err) || c != nil {
					t.Errorf("Dial = %v, %v", c, err)
				}
				if n := extsock.Remembered(d); n != 0 {
					t.Errorf("%d addresses are remembered", n)
				}
				if server != nil {
					if n := server.seen(); n != 1 {
						t.Errorf("the server saw %d connections, want 1", n)
					}
					server.close()
				}
			})
		})
	}
}

// TestDialKeepsAConnectionOnWhichThePeerSpoke: Dial recognizes a server that speaks first before it
// sends anything, and returns the same connection.
func TestDialKeepsAConnectionOnWhichThePeerSpoke(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		greeting := "220 mail.example.org, who speaks first\r\n"
		b.Write([]byte(greeting))
		c, err := extsock.Dial("tcp", "x", &extsock.Config{Backend: oneStream{a}, Startup: extsock.StartupPrefer})
		if err != nil {
			t.Fatal(err)
		}
		if f := fallbackOf(c); f == nil || f.Reason != extsock.FallbackNotMPA || !errors.Is(f, extsock.ErrBusy) {
			t.Errorf("fallback %v", f)
		}
		p := make([]byte, len(greeting))
		if _, err := io.ReadFull(c, p); string(p) != greeting || err != nil {
			t.Errorf("%q, %v", p, err)
		}
		c.Write([]byte("HELO"))
		c.Close()
		if got, err := io.ReadAll(b); string(got) != "HELO" || err != nil {
			t.Errorf("the peer got %q, %v", got, err)
		}
		b.Close()
	})
}

// TestFallenBackConnSwitchesLater: the program can switch the same connection itself. Then
// HandshakeTimeout bounds startup, not PreferTimeout.
func TestFallenBackConnSwitchesLater(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		b.Write([]byte("hello"))
		c, err := extsock.Dial("tcp", "x", &extsock.Config{Backend: oneStream{a}, Startup: extsock.StartupPrefer, PreferTimeout: time.Second})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.ReadFull(c, make([]byte, 5)); err != nil {
			t.Fatal(err)
		}
		if s := c.ConnectionState(); s.DDPMode || !errors.Is(s.Fallback, extsock.ErrPlainTCP) {
			t.Errorf("before the switch: %+v", s)
		}
		peer := extsock.NewConn(b, false, nil)
		time.AfterFunc(5*time.Second, func() { peer.EnableDDP(t.Context(), nil) })
		if err := c.EnableDDP(t.Context(), nil); err != nil {
			t.Errorf("the peer answers after 5 s: %v", err)
		}
		if s := c.ConnectionState(); !s.DDPMode || s.Fallback != nil {
			t.Errorf("after the switch: %+v", s)
		}
		c.Close()
		peer.Close()
		settle()
	})
}

// oneStream is a Backend whose Dial gives the one Stream.
type oneStream struct{ s toe.Stream }

func (o oneStream) Dial(context.Context, string, string) (toe.Stream, error) { return o.s, nil }
func (o oneStream) Listen(context.Context, string, string) (toe.Listener, error) {
	return nil, errors.ErrUnsupported
}

// dialConn is d.DialContext with a *Conn as its result.
func dialConn(ctx context.Context, d *extsock.Dialer, network, address string) (*extsock.Conn, error) {
	c, err := d.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return c.(*extsock.Conn), nil
}

// TestDialerBounds: Timeout and Deadline bound the whole dial.
func TestDialerBounds(t *testing.T) {
	for _, set := range []func(d *extsock.Dialer){
		func(d *extsock.Dialer) { d.NetDialer.Timeout = time.Second },
		func(d *extsock.Dialer) { d.NetDialer.Deadline = time.Now().Add(time.Second) },
	} {
		bubble(t, func(t *testing.T) {
			network := simtoe.New(simtoe.Config{})
			server := servePlain(t, network, "silent:1", func(_ int, s toe.Stream) { io.Copy(io.Discard, s) })
			d := &extsock.Dialer{Config: &extsock.Config{Backend: network, Startup: extsock.StartupRequire}}
			set(d)
			begin := time.Now()
			_, err := d.DialContext(t.Context(), "tcp", "silent:1")
			var ne net.Error
			if !errors.As(err, &ne) || !ne.Timeout() || time.Since(begin) != time.Second {
				t.Errorf("Dial = %v after %v, want a timeout after 1s", err, time.Since(begin))
			}
			server.close()
		})
	}
}

// TestDialPrefersDDPOfAPeerThatResets: Dial also falls back if the peer's operating system resets
// the connection.
func TestDialPrefersDDPOfAPeerThatResets(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var over sync.WaitGroup
	over.Go(func() {
		for i := 0; ; i++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			if i == 0 {
				io.ReadFull(c, make([]byte, 20))
				c.(*net.TCPConn).SetLinger(0)
			} else {
				io.WriteString(c, "hello")
			}
			c.Close()
		}
	})
	d := &extsock.Dialer{Config: &extsock.Config{Startup: extsock.StartupPrefer}}
	c, err := dialConn(timeLimit(t), d, "tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if f := fallbackOf(c); f == nil || f.Reason != extsock.FallbackNoReply {
		t.Errorf("fallback %v", f)
	}
	if got, err := io.ReadAll(c); string(got) != "hello" || err != nil {
		t.Errorf("%q, %v", got, err)
	}
	c.Close()
	l.Close()
	over.Wait()
}

// unreachable is a network whose peers become unreachable after the first connection, with the
// error of an ICMP message.
type unreachable struct {
	*simtoe.Network
	dials int
}

func (u *unreachable) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	s, err := u.Network.Dial(ctx, network, address)
	if u.dials++; u.dials == 1 && err == nil {
		return lostStream{s}, nil
	}
	return s, err
}

type lostStream struct{ toe.Stream }

func (s lostStream) Read([]byte) (int, error) {
	return 0, &net.OpError{Op: "read", Net: "sim", Err: syscall.EHOSTUNREACH}
}

// TestNetworksFaultIsNotRemembered: a fault of the network says nothing about the peer, so the
// Dialer does not remember it.
func TestNetworksFaultIsNotRemembered(t *testing.T) {
	bubble(t, func(t *testing.T) {
		network := &unreachable{Network: simtoe.New(simtoe.Config{})}
		cfg := &extsock.Config{Backend: network, Startup: extsock.StartupPrefer}
		l, err := extsock.Listen("tcp", "rddp:1", cfg)
		if err != nil {
			t.Fatal(err)
		}
		d := &extsock.Dialer{Config: cfg}
		for range 2 {
			c, err := dialConn(t.Context(), d, "tcp", "rddp:1")
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if f := fallbackOf(c); f != nil && f.Reason == extsock.FallbackRemembered {
				t.Errorf("remembered: %v", f)
			}
		}
		if n := extsock.Remembered(d); n != 0 {
			t.Errorf("%d addresses are remembered", n)
		}
		l.Close()
		settle()
	})
}
