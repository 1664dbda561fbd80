package extsock_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// startCalls are the calls that TestRandomStarts draws from, each with a context that may end at
// any time. Reads and Writes are listed twice, so they are drawn twice as often.
var startCalls = []struct {
	name string
	call func(ctx context.Context, c *extsock.Conn, r *rand.Rand) error
}{
	{"EnableDDP", func(ctx context.Context, c *extsock.Conn, _ *rand.Rand) error { return c.EnableDDP(ctx, []byte("x")) }},
	{"Handshake", func(ctx context.Context, c *extsock.Conn, _ *rand.Rand) error { return c.Handshake(ctx) }},
	{"ReceiveRequest", func(ctx context.Context, c *extsock.Conn, r *rand.Rand) error {
		req, err := c.ReceiveRequest(ctx)
		switch {
		case err != nil:
			return err
		case r.IntN(3) == 0:
			return req.Reject(ctx, []byte("no"))
		}
		return req.Accept(ctx, nil)
	}},
	{"Read", readAny}, {"Read", readAny}, {"Write", writeAny}, {"Write", writeAny},
	{"WriteTo", func(_ context.Context, c *extsock.Conn, _ *rand.Rand) error {
		_, err := c.WriteTo(io.Discard)
		return err
	}},
	{"Post", func(_ context.Context, c *extsock.Conn, r *rand.Rand) error {
		return c.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, r.IntN(100))})
	}},
	{"Register", func(_ context.Context, c *extsock.Conn, _ *rand.Rand) error {
		_, err := c.Register(make([]byte, 100), ddp.RemoteRead)
		return err
	}},
	{"SetDeadline", func(_ context.Context, c *extsock.Conn, r *rand.Rand) error { return c.SetDeadline(randomDeadline(r)) }},
	{"SetLinger", func(_ context.Context, c *extsock.Conn, r *rand.Rand) error { return c.SetLinger(oneOf(r, 0, -1, 1)) }},
	{"CloseRead", func(_ context.Context, c *extsock.Conn, _ *rand.Rand) error { return c.CloseRead() }},
	{"CloseWrite", func(_ context.Context, c *extsock.Conn, _ *rand.Rand) error { return c.CloseWrite() }},
	{"Close", func(_ context.Context, c *extsock.Conn, _ *rand.Rand) error { return c.Close() }},
}

func readAny(_ context.Context, c *extsock.Conn, r *rand.Rand) error {
	_, err := c.Read(make([]byte, 1+r.IntN(70_000)))
	return err
}

func writeAny(_ context.Context, c *extsock.Conn, r *rand.Rand) error {
	_, err := c.Write(make([]byte, 1+oneOf(r, 10, 3000, 60_000, 250_000)))
	return err
}

// randomStartConfig is randomStreamConfig with any Startup. When both ends close, no call should
// need its CloseTimeout.
func randomStartConfig(r *rand.Rand) extsock.Config {
	c := randomStreamConfig(r)
	c.Startup = oneOf(r, extsock.StartupOff, extsock.StartupOff, extsock.StartupPrefer, extsock.StartupRequire)
	c.HandshakeTimeout = oneOf(r, 0, 0, time.Millisecond, 5*time.Second)
	c.PreferTimeout, c.SniffTimeout = oneOf(r, 0, 0, time.Millisecond), oneOf(r, 0, 0, -1, time.Millisecond)
	c.JudgeRequests, c.Messages, c.RSockets = r.IntN(4) == 0, r.IntN(3) == 0, r.IntN(6) == 0
	c.ORD, c.IRD, c.IdleTimeout = oneOf(r, 0, 1, 2), oneOf(r, 0, 1, 2), oneOf(r, 0, 0, 0, time.Millisecond)
	c.CloseTimeout = time.Minute
	return c
}

// TestRandomStarts makes random calls at both ends, from the first octet on, and then closes both.
// After that every call returns long before CloseTimeout, and no goroutine is left.
func TestRandomStarts(t *testing.T) {
	clientTLS, serverTLS := tlsConfigs(t)
	randomRounds(t, 3200, func(t *testing.T, seed uint64) {
		bubble(t, func(t *testing.T) {
			r := rand.New(rand.NewPCG(seed, 1))
			kind := oneOf(r, "simulator", "simulator", "pipe", "TLS")
			var a, b net.Conn
			switch kind {
			case "simulator":
				a, b = randomWire(r, seed)
			case "pipe":
				a, b = net.Pipe()
			case "TLS":
				a, b = simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				a, b = tls.Client(a, clientTLS), tls.Server(b, serverTLS)
			}
			cfgs := [2]extsock.Config{randomStartConfig(r), randomStartConfig(r)}
			conns := [2]*extsock.Conn{extsock.NewConn(a, true, &cfgs[0]), extsock.NewConn(b, false, &cfgs[1])}
			unit := oneOf(r, 0, time.Microsecond, time.Millisecond, 100*time.Millisecond)
			wait := func(most int) { time.Sleep(time.Duration(r.IntN(most)) * unit) }

			begin := time.Now()
			var all sync.WaitGroup
			var mu sync.Mutex
			var story strings.Builder
			call := func(end int, name string, f func() error) {
				all.Go(func() {
					from := time.Since(begin)
					err := f()
					mu.Lock()
					defer mu.Unlock()
					fmt.Fprintf(&story, "%v to %v: %s at end %d: %v\n", from, time.Since(begin), name, end, err)
				})
			}
			for i, c := range conns {
				if r.IntN(3) > 0 {
					call(i, "EnableDDP", func() error { return c.EnableDDP(context.Background(), nil) })
				}
			}
			for n := range r.IntN(14) {
				wait(oneOf(r, 1, 10))
				i, one, timeout := r.IntN(2), startCalls[r.IntN(len(startCalls))], oneOf(r, time.Minute, 0, time.Millisecond, time.Second)
				own := rand.New(rand.NewPCG(seed, uint64(10+n)))
				call(i, one.name, func() error {
					ctx, cancel := context.WithTimeout(context.Background(), timeout)
					defer cancel()
					return one.call(ctx, conns[i], own)
				})
			}
			wait(10)
			first, over := r.IntN(2), time.Now()
			call(first, "the last Close", conns[first].Close)
			wait(3)
			call(1-first, "the last Close", conns[1-first].Close)
			all.Wait()
			for _, c := range conns {
				c.Wait(context.Background())
			}
			// A TLS handshake may take 10 s, startup as long, and the last bytes over TLS 5 s.
			if d := time.Since(over); d > 25*time.Second {
				t.Errorf("RDDP_SEED=%d: %s: all was over only after %v\n%+v\n%+v\n%s", seed, kind, d, cfgs[0], cfgs[1], story.String())
			}
			settle()
		})
	})
}
