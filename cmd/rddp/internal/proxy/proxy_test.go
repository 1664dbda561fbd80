package proxy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/tcptest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

// A running is a Proxy that serves until the test ends, with its results.
type running struct {
	*Proxy
	interrupt context.CancelFunc
	served    chan error   // the result of Serve
	ended     chan Summary // each connection
}

// start starts a Proxy, whose Serve must not fail.
func start(t *testing.T, listen, to string, cfg Config) *running {
	t.Helper()
	r := &running{served: make(chan error, 1), ended: make(chan Summary, 2000)}
	cfg.Ended = func(s Summary) { r.ended <- s }
	if cfg.Grace == 0 {
		cfg.Grace = -1
	}
	var err error
	if r.Proxy, err = Listen(t.Context(), address(t, listen), address(t, to), &cfg); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r.interrupt = cancel
	go func() { r.served <- r.Serve(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-r.served; err != nil {
			t.Errorf("Serve: %v", err)
		}
	})
	return r
}

// next returns the Summary of the next connection that ends.
func (r *running) next(t *testing.T) Summary {
	t.Helper()
	select {
	case s := <-r.ended:
		return s
	case <-time.After(prototest.Patience(t)):
		t.Fatal("no connection ends")
		return Summary{}
	}
}

func address(t *testing.T, s string) Address {
	t.Helper()
	a, err := ParseAddress(s)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// tunnel starts an exit to service, and an entrance to that exit.
func tunnel(t *testing.T, service string, cfg Config) (entrance, exit *running) {
	t.Helper()
	exit = start(t, "rddp://127.0.0.1:0", service, cfg)
	return start(t, "127.0.0.1:0", exit.Addr().String(), cfg), exit
}

// dial connects to an entrance.
func (r *running) dial(t *testing.T) *net.TCPConn {
	t.Helper()
	return tcptest.Dial(t, r.Addr().Address)
}

// random returns n bytes derived from seed.
func random(seed uint64, n int) []byte {
	b := make([]byte, n)
	r := rand.NewChaCha8([32]byte{byte(seed), byte(seed >> 8), 1})
	r.Read(b)
	return b
}

func TestEcho(t *testing.T) {
	const conns = 50
	seed := rand.Uint64N(1 << 16)
	t.Logf("seed %d", seed)
	entrance, exit := tunnel(t, tcptest.Serve(t, tcptest.Echo), Config{Timeout: prototest.Patience(t)})
	var clients sync.WaitGroup
	var total int64
	for i := range conns {
		r := rand.New(rand.NewPCG(seed, uint64(i)))
		want := random(seed+uint64(i), r.IntN(1<<20))
		total += int64(len(want))
		c := entrance.dial(t)
		clients.Go(func() {
			for rest := want; len(rest) > 0; {
				n := 1 + r.IntN(min(len(rest), 1<<r.IntN(20)))
				if _, err := c.Write(rest[:n]); err != nil {
					t.Errorf("connection %d: %v", i, err)
					return
				}
				rest = rest[n:]
			}
			if err := c.CloseWrite(); err != nil {
				t.Errorf("connection %d: %v", i, err)
			}
		})
		clients.Go(func() {
			got, err := io.ReadAll(c)
			if err != nil || !bytes.Equal(got, want) {
				t.Errorf("connection %d: %d bytes of %d came back, the same: %v; %v", i, len(got), len(want), bytes.Equal(got, want), err)
			}
		})
	}
	clients.Wait()
	for range conns {
		for _, r := range []*running{entrance, exit} {
			if s := r.next(t); s.Err != nil || s.There != s.Back {
				t.Errorf("told %v", s)
			}
		}
	}
	for _, r := range []*running{entrance, exit} {
		if s := r.Stats(); s != (Stats{Ended: conns, There: total, Back: total}) {
			t.Errorf("stats %v, want %d bytes each way", s, total)
		}
	}
}

// The end of one direction is passed on, and the other direction continues.
func TestHalfClose(t *testing.T) {
	const n = 300_000
	want := random(1, n)
	t.Run("the client ends first", func(t *testing.T) {
		entrance, exit := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) {
			got, err := io.ReadAll(c)
			if err == nil {
				fmt.Fprintf(c, "%d ", len(got))
				c.Write(got)
			}
		}), Config{})
		c := entrance.dial(t)
		c.Write(want)
		c.CloseWrite()
		got, err := io.ReadAll(c)
		if answer := append(fmt.Appendf(nil, "%d ", n), want...); err != nil || !bytes.Equal(got, answer) {
			t.Errorf("got %d bytes, %v", len(got), err)
		}
		orderly(t, entrance, exit)
	})
	t.Run("the service ends first", func(t *testing.T) {
		received := make(chan []byte, 1)
		entrance, exit := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) {
			c.Write([]byte("go"))
			c.CloseWrite()
			got, _ := io.ReadAll(c)
			received <- got
		}), Config{})
		c := entrance.dial(t)
		if got, err := io.ReadAll(c); err != nil || string(got) != "go" {
			t.Errorf("got %q, %v", got, err)
		}
		c.Write(want)
		c.CloseWrite()
		if got := <-received; !bytes.Equal(got, want) {
			t.Errorf("the service got %d bytes of %d", len(got), n)
		}
		orderly(t, entrance, exit)
	})
	t.Run("the service closes", func(t *testing.T) {
		entrance, exit := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) { c.Write(want) }), Config{})
		c := entrance.dial(t)
		if got, err := io.ReadAll(c); err != nil || !bytes.Equal(got, want) {
			t.Errorf("got %d bytes of %d, %v", len(got), n, err)
		}
		c.Close()
		orderly(t, entrance, exit)
	})
	t.Run("nothing at all", func(t *testing.T) {
		entrance, exit := tunnel(t, tcptest.Serve(t, tcptest.Echo), Config{})
		c := entrance.dial(t)
		c.CloseWrite()
		if got, err := io.ReadAll(c); err != nil || len(got) != 0 {
			t.Errorf("got %q, %v", got, err)
		}
		orderly(t, entrance, exit)
	})
}

// orderly checks that each Proxy reports an orderly end.
func orderly(t *testing.T, proxies ...*running) {
	t.Helper()
	for _, r := range proxies {
		if s := r.next(t); s.Err != nil {
			t.Errorf("told %v", s)
		}
	}
}

// 64 MiB are sent in each direction at the same time, and neither direction waits for the other.
func TestBothWaysAtOnce(t *testing.T) {
	const n = 64 << 20
	there, back := random(1, 1<<20), random(2, 1<<20)
	entrance, exit := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) {
		if err := exchange(c, back, there, n); err != nil {
			t.Errorf("the service: %v", err)
		}
	}), Config{})
	if err := exchange(entrance.dial(t), there, back, n); err != nil {
		t.Errorf("the client: %v", err)
	}
	for _, r := range []*running{entrance, exit} {
		if s := r.next(t); s.Err != nil || s.There != n || s.Back != n {
			t.Errorf("told %v", s)
		}
	}
}

// exchange writes n bytes, repeating out, and the end of the stream. It reads the same number of
// bytes, which must repeat in.
func exchange(c *net.TCPConn, out, in []byte, n int) error {
	writer := make(chan error, 1)
	go func() {
		for range n / len(out) {
			if _, err := c.Write(out); err != nil {
				writer <- err
				return
			}
		}
		writer <- c.CloseWrite()
	}()
	got, err := make([]byte, len(in)), error(nil)
	for range n / len(in) {
		if _, err = io.ReadFull(c, got); err != nil {
			break
		}
		if !bytes.Equal(got, in) {
			err = errors.New("other bytes came than were sent")
			break
		}
	}
	if k, end := c.Read(got); err == nil && (k != 0 || end != io.EOF) {
		err = fmt.Errorf("%d bytes and %w where the end was due", k, end)
	}
	return errors.Join(err, <-writer)
}

// A client that does not read holds the service back.
func TestBackPressure(t *testing.T) {
	const most = 64 << 20 // more than the kernel and two proxies can buffer
	stuck := make(chan int, 1)
	entrance, _ := tunnel(t, tcptest.Serve(t, func(c *net.TCPConn) {
		b := make([]byte, 1<<20)
		sent := 0
		for sent < most {
			c.SetWriteDeadline(time.Now().Add(2 * time.Second))
			n, err := c.Write(b)
			sent += n
			if err != nil {
				break
			}
		}
		stuck <- sent
	}), Config{})
	entrance.dial(t)
	if n := <-stuck; n >= most {
		t.Errorf("the service could send %d bytes to a client that reads none", n)
	}
}
