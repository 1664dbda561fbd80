// Package apps_test runs whole programs, as they were written for TCP, over extended sockets in DDP
// mode: the standard library's HTTP client and server, and gRPC.
package apps_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
)

// largeBudget returns the total number of bytes of the bodies of more than 64 KiB in each protocol,
// without the longest one.
func largeBudget() int {
	if testmode.Race {
		return 24 << 20
	}
	return 320 << 20
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m, goleak.Cleanup(nopanic.Exit)) }

// atStart requires DDP mode from the start of every connection, so that no connection falls back
// unnoticed.
var atStart = &extsock.Config{Startup: extsock.StartupRequire}

const (
	inParallel = 16
	smallest   = 1
	largest    = 16 << 20
)

// listen returns a listener on loopback whose connections are in DDP mode.
func listen(t *testing.T) *extsock.Listener {
	t.Helper()
	l, err := extsock.Listen("tcp", "127.0.0.1:0", atStart)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l
}

// A dialer dials extended sockets and remembers them.
type dialer struct {
	enough atomic.Bool // make no more connections

	mu    sync.Mutex
	conns []*extsock.Conn
}

var errEnough = errors.New("enough connections")

func (d *dialer) DialContext(ctx context.Context, network, addr string) (net.Conn, error) {
	if d.enough.Load() {
		return nil, errEnough
	}
	c, err := (&extsock.Dialer{Config: atStart}).DialDDP(ctx, network, addr)
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.conns = append(d.conns, c)
	return c, nil
}

// wantDDP checks that connections were made, at most limit, and that each was in DDP mode.
func (d *dialer) wantDDP(t *testing.T, limit int) {
	t.Helper()
	d.mu.Lock()
	defer d.mu.Unlock()
	if n := len(d.conns); n == 0 || n > limit {
		t.Errorf("%d connections were dialed, want 1 to %d", n, limit)
	}
	for _, c := range d.conns {
		if !c.ConnectionState().DDPMode {
			t.Errorf("the connection of %v to %v is in TCP mode", c.LocalAddr(), c.RemoteAddr())
		}
	}
}

// A source contains octets to send. Each run of them is identified by its offset, so exchanged or
// shifted runs are detected.
type source []byte

func newSource(random *rand.Rand, n int) source {
	var seed [32]byte
	for i := range seed {
		seed[i] = byte(random.Uint32())
	}
	s := make(source, n)
	rand.NewChaCha8(seed).Read(s)
	return s
}

// sizes draws n lengths, spread evenly over the orders of magnitude between the bounds, including
// both bounds. budget limits the total octets of lengths above 64 KiB.
func sizes(random *rand.Rand, n, from, to, budget int) []int {
	const large = 64 << 10
	s := []int{from, to}
	for len(s) < n {
		size := int(float64(from) * math.Exp(random.Float64()*math.Log(float64(to)/float64(from))))
		if size > large {
			if budget < size {
				continue
			}
			budget -= size
		}
		s = append(s, size)
	}
	random.Shuffle(n, func(i, j int) { s[i], s[j] = s[j], s[i] })
	return s
}

// newRandom returns a source of randomness whose seed is in the log.
func newRandom(t *testing.T, seed uint64) *rand.Rand {
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// settled waits until all goroutines except those of the test have ended.
func settled(t *testing.T) {
	t.Helper()
	end := prototest.Deadline(t)
	for err := goleak.Find(); err != nil; err = goleak.Find() { // Find waits for less than half a second
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// each calls f for 0 to n-1, inParallel at a time, until one call fails.
func each(t *testing.T, n int, f func(i int) error) {
	t.Helper()
	var (
		wg   sync.WaitGroup
		next = make(chan int)
		quit = make(chan struct{})
		once sync.Once
	)
	for range inParallel {
		wg.Go(func() {
			for i := range next {
				if err := f(i); err != nil {
					t.Errorf("number %d: %v", i, err)
					once.Do(func() { close(quit) })
				}
			}
		})
	}
	for i := range n {
		select {
		case next <- i:
			continue
		case <-quit:
		}
		break
	}
	close(next)
	wg.Wait()
}
