package hostile

import (
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/conformance/hostile/slowpeer"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// A besieged server counts the connections that wait for their Request.
type besieged struct {
	l *extsock.Listener

	accepted, halfOpen, most, evicted, good atomic.Int64
	slowest                                 atomic.Int64 // the longest time in ns that a connection was half open

	wg sync.WaitGroup
}

func besiege(t *testing.T, cfg *extsock.Config) *besieged {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &besieged{l: l}
	s.wg.Add(1)
	go s.serve(t)
	t.Cleanup(func() { l.Close(); s.wg.Wait() })
	return s
}

func (s *besieged) serve(t *testing.T) {
	defer s.wg.Done()
	for {
		c, err := acceptConn(s.l)
		if err != nil {
			if !errors.Is(err, net.ErrClosed) {
				t.Error(err)
			}
			return
		}
		s.wg.Add(1)
		go func() {
			defer s.wg.Done()
			defer c.Close()
			raise(&s.most, s.halfOpen.Add(1))
			s.accepted.Add(1)
			begin := time.Now()
			err := c.Handshake(timeLimit(t))
			raise(&s.slowest, int64(time.Since(begin)))
			s.halfOpen.Add(-1)
			switch {
			case errors.Is(err, extsock.ErrLimit):
				s.evicted.Add(1)
			case err == nil && c.ConnectionState().DDPMode:
				s.good.Add(1)
				io.Copy(c, c)
			}
		}()
	}
}

// raise sets a to n if n is larger.
func raise(a *atomic.Int64, n int64) {
	for old := a.Load(); n > old && !a.CompareAndSwap(old, n); old = a.Load() {
	}
}

// good connects and exchanges an octet, at least once and then until stop is closed. It returns the
// time that each try took.
func good(t *testing.T, address string, stop <-chan struct{}) (took []time.Duration) {
	for {
		begin := time.Now()
		c, err := new(extsock.Dialer).DialDDP(timeLimit(t), "tcp", address)
		if err != nil {
			t.Errorf("the good client: %v", err)
			return append(took, time.Hour)
		}
		if _, err := c.Write([]byte("x")); err != nil {
			t.Errorf("the good client: %v", err)
		}
		if _, err := io.ReadFull(c, make([]byte, 1)); err != nil {
			t.Errorf("the good client: %v", err)
		}
		took = append(took, time.Since(begin))
		c.Close()
		select {
		case <-stop:
			slices.Sort(took)
			return took
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// TestHalfOpen10000: 10,000 connections of another process send 0 to 19 octets of a Request, one
// octet a second. Each takes at most 16 KiB and ends after HandshakeTimeout, 5 s. Meanwhile a good
// client connects and gets an answer within 100 ms at the 99th percentile. Without the tag
// conformance there are 1,000 connections, and HandshakeTimeout is 3 s, or more if the first
// connections end before the last ones begin. They may then be late because the machine may be
// busy.
func TestHalfOpen10000(t *testing.T) {
	n, timeout := testmode.Count(10_000, 1000), time.Duration(testmode.Count(5, 3))*time.Second
	for _, tt := range []struct {
		desc string
		cfg  extsock.Config
		n    int
	}{
		{"StartupRequire", extsock.Config{Startup: extsock.StartupRequire, MaxHalfOpen: -1}, n},
		{"StartupPrefer", extsock.Config{Startup: extsock.StartupPrefer, MaxHalfOpen: -1}, testmode.Count(2000, 200)},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			timeout := timeout
			for !besiegeWith(t, tt.cfg, tt.n, timeout) {
				if timeout *= 2; testmode.Full || timeout > time.Minute {
					t.Fatal("the first connections are gone before the last ones have come")
				}
			}
		})
	}
}

// besiegeWith runs TestHalfOpen10000 once, with n connections and this HandshakeTimeout. It reports
// false if the machine is too busy for that timeout: the first connections ended before nine in ten
// were half open at the same time.
func besiegeWith(t *testing.T, cfg extsock.Config, n int, timeout time.Duration) bool {
	t.Helper()
	cfg.HandshakeTimeout, cfg.SniffTimeout = timeout, timeout // StartupRequire does not use the second
	s := besiege(t, &cfg)
	before, routines := inUse(), runtime.NumGoroutine()
	leave := slowpeer.Start(t, slowpeer.Peers{Address: s.l.Addr().String(), N: n})
	most := int64(n) * 9 / 10
	waitFor(t, "the connections are accepted", func() bool { return s.accepted.Load() >= most })
	held := max(s.halfOpen.Load(), 1)
	each := (inUse() - before) / held
	perConn := float64(runtime.NumGoroutine()-routines) / float64(held)
	if s.halfOpen.Load() < most { // the measured memory is not theirs
		leave()
		waitFor(t, "the half-open connections are gone", func() bool { return s.halfOpen.Load() == 0 })
		return false
	}
	stop := make(chan struct{})
	time.AfterFunc(timeout/2, func() { close(stop) })
	took := good(t, s.l.Addr().String(), stop)
	waitFor(t, "the half-open connections are gone", func() bool { return s.halfOpen.Load() == 0 })
	p99 := took[len(took)*99/100]
	t.Logf("%d half open at a time, %d octets and %.1f goroutines each, the last gone after %v; good client: %d times, median %v, p99 %v",
		s.most.Load(), each, perConn, time.Duration(s.slowest.Load()).Round(time.Millisecond), len(took), took[len(took)/2], p99)
	if !testmode.Race && each > 16<<10 {
		t.Errorf("%d octets for each half-open connection, want at most 16 KiB", each)
	}
	late := 500 * time.Millisecond
	switch {
	case !testmode.Full: // the machine may be busy
		late = 30 * time.Second
	case testmode.Race:
		late = time.Second
	}
	if d := time.Duration(s.slowest.Load()); d > timeout+late {
		t.Errorf("one was half open for %v, want at most %v", d, timeout+late)
	}
	if testmode.Full && p99 > 100*time.Millisecond {
		t.Errorf("a good client waits %v at p99, want at most 100ms", p99)
	}
	return true
}

// TestHalfOpenIsCapped: with the default Config.MaxHalfOpen at most 4,096 connections are half
// open, the oldest are closed, and a good client does not notice.
func TestHalfOpenIsCapped(t *testing.T) {
	n, cfg := testmode.Count(10_000, 1000), extsock.Config{Startup: extsock.StartupRequire}
	most := int64(4096)
	if !testmode.Full {
		most = 400
		cfg.MaxHalfOpen, cfg.HandshakeTimeout = 400, time.Minute // before that the others arrive
	}
	s := besiege(t, &cfg)
	stop, latencies := make(chan struct{}), make(chan []time.Duration, 1)
	go func() { latencies <- good(t, s.l.Addr().String(), stop) }()
	leave := slowpeer.Start(t, slowpeer.Peers{Address: s.l.Addr().String(), N: n})
	waitFor(t, "the oldest are closed", func() bool { return s.evicted.Load() >= int64(n)-most })
	if !testmode.Full {
		leave() // otherwise their timeout would have to pass
	}
	waitFor(t, "the half-open connections are gone", func() bool { return s.halfOpen.Load() <= 1 }) // the good client's own
	close(stop)
	took := <-latencies
	p99 := took[len(took)*99/100]
	t.Logf("%d connections, %d closed as the oldest; good client: %d times, median %v, p99 %v, at most %v",
		n, s.evicted.Load(), len(took), took[len(took)/2], p99, took[len(took)-1])
	// A connection that begins during the burst may wait for TCP to retransmit after the full
	// backlog has dropped its SYN. If the tests do not run in full, this affects more than one in a
	// hundred.
	if testmode.Full && !testmode.Race && p99 > 100*time.Millisecond {
		t.Errorf("a good client waits %v at p99, want at most 100ms", p99)
	}
}

// TestListenerCloses: a Listener is closed at a random moment with unanswered connections and
// Requests queued, and the program closes the connections that it has accepted. After 10,000 times
// no connection, goroutine or descriptor is left, and no client waits. Without the tag conformance
// it is 300 times.
func TestListenerCloses(t *testing.T) {
	before, routines := descriptors(), runtime.NumGoroutine()
	rounds := testmode.Count(10_000, 300)
	request := frame(false, 20).AppendTo(nil)
	var answered atomic.Int64
	inParallel(rounds, func(i int) {
		l, err := extsock.Listen("tcp", "127.0.0.1:0", nil)
		if err != nil {
			t.Error(err)
			return
		}
		var clients [2]net.Conn
		for j := range clients {
			if clients[j], err = net.Dial("tcp", l.Addr().String()); err != nil {
				t.Error(err)
				return
			}
			clients[j].SetDeadline(prototest.Deadline(t))
			clients[j].Write(request)
		}
		served := make(chan []*extsock.Conn)
		go func() {
			var conns []*extsock.Conn
			for {
				c, err := acceptConn(l)
				if err != nil {
					served <- conns
					return
				}
				conns = append(conns, c)
				if i%3 == 0 {
					if _, err := c.ReceiveRequest(t.Context()); err == nil { // with neither Accept nor Reject after it
						answered.Add(1)
					}
				}
			}
		}()
		for range i % 50 {
			runtime.Gosched()
		}
		l.Close()
		for _, c := range <-served {
			c.Close()
		}
		for _, c := range clients {
			if _, err := c.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
				t.Errorf("round %d: a client reads %v, want the end", i, err)
			}
			c.Close()
		}
	})
	waitFor(t, "nothing is left", func() bool { return descriptors() <= before && runtime.NumGoroutine() <= routines })
	t.Logf("%d Listeners closed, %d Requests that were received and never answered; %d descriptors before, %d after",
		rounds, answered.Load(), before, descriptors())
}
