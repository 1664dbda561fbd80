package extsock_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"runtime/debug"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/nopanic"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	if os.Getenv(benchPeerEnv) != "" {
		if err := runBenchPeer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if job := os.Getenv(idlePeerEnv); job != "" {
		if err := runIdlePeer(job); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if kind := os.Getenv(echoPeerEnv); kind != "" {
		if err := runEchoPeer(idleKind(kind)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	if os.Getenv(busyPeerEnv) != "" {
		if err := runBusyPeer(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	goleak.VerifyTestMain(m, goleak.Cleanup(func(code int) {
		// No goroutine is left, so all connections have ended, those outside bubbles too.
		if n := extsock.MemoryReserved(); code == 0 && n != 0 {
			fmt.Fprintf(os.Stderr, "%d bytes of the process's memory are still taken at the end\n", n)
			code = 1
		}
		nopanic.Exit(code)
	}))
}

var timeLimit = prototest.TimeLimit

// A side is one end of a pair before its switch.
type side struct {
	cfg    extsock.Config
	before func(c *extsock.Conn) error // what the application does before the switch; may be nil
}

// inMessages is a side in message mode.
var inMessages = side{cfg: extsock.Config{Messages: true}}

// kernelStreams makes a connection over loopback.
func kernelStreams(t testing.TB) (a, b net.Conn) {
	t.Helper()
	return socketPair(t, "tcp", "127.0.0.1:0")
}

// socketPair makes a connection of the operating system.
func socketPair(t testing.TB, network, address string) (a, b net.Conn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a, err = net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	b, err = l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	return a, b
}

// switched makes two connections of the streams and switches both. The cleanup closes them.
func switched(t testing.TB, a, b net.Conn, i, r side) (ci, cr *extsock.Conn) {
	t.Helper()
	ci, cr = extsock.NewConn(a, true, &i.cfg), extsock.NewConn(b, false, &r.cfg)
	t.Cleanup(func() { ci.Close(); cr.Close() })
	for _, s := range []struct {
		c      *extsock.Conn
		before func(*extsock.Conn) error
	}{{ci, i.before}, {cr, r.before}} {
		if s.before != nil {
			if err := s.before(s.c); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := switchBoth(timeLimit(t), ci, cr); err != nil {
		t.Fatal(err)
	}
	return ci, cr
}

func switchBoth(ctx context.Context, ci, cr *extsock.Conn) error {
	responder := make(chan error, 1)
	go func() { responder <- cr.EnableDDP(ctx, nil) }()
	err := ci.EnableDDP(ctx, nil)
	return errors.Join(err, <-responder)
}

// simPair is switched over a simulated TCP.
func simPair(t testing.TB, wire simtoe.Config, i, r side) (ci, cr *extsock.Conn) {
	t.Helper()
	if on.device != nil {
		return on.pair(t, i, r)
	}
	a, b := simtoe.Pair(wire, wire)
	return switched(t, a, b, i, r)
}

// tcpPair is switched over loopback.
func tcpPair(t testing.TB, i, r side) (ci, cr *extsock.Conn) {
	t.Helper()
	if on.device != nil {
		return on.pair(t, i, r)
	}
	a, b := kernelStreams(t)
	return switched(t, a, b, i, r)
}

// postRecvs returns a side whose application posts n buffers of size octets, with IDs from 0.
func postRecvs(cfg extsock.Config, n, size int) side {
	cfg.RecvDepth = n
	return side{cfg: cfg, before: func(c *extsock.Conn) error {
		for i := range n {
			b := make([]byte, size)
			recvBuffers.add(c, b)
			if err := c.PostRecv(rdmap.RecvRequest{ID: uint64(i), Buf: b}); err != nil {
				return err
			}
		}
		return nil
	}}
}

// recvBuffers are the buffers that postRecvs has posted, by connection and ID.
var recvBuffers bufferTable

type bufferTable struct {
	mu sync.Mutex
	m  map[*extsock.Conn][][]byte
}

func (b *bufferTable) add(c *extsock.Conn, p []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.m == nil {
		b.m = map[*extsock.Conn][][]byte{}
	}
	b.m[c] = append(b.m[c], p)
}

func (b *bufferTable) get(c *extsock.Conn, id uint64) []byte {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.m[c][id]
}

// repost posts a buffer of postRecvs again.
func repost(t testing.TB, c *extsock.Conn, id uint64) {
	t.Helper()
	if err := c.PostRecv(rdmap.RecvRequest{ID: id, Buf: recvBuffers.get(c, id)}); err != nil {
		t.Fatal(err)
	}
}

// complete takes the next completion and fails the test unless it is a success.
func complete(t testing.TB, cq *extsock.CompletionQueue) rdmap.Completion {
	t.Helper()
	d, err := cq.Wait(timeLimit(t))
	if err != nil {
		t.Fatal(err)
	}
	if d.Status != rdmap.StatusOK {
		t.Fatalf("completion %v", d)
	}
	return d
}

// do posts wr and waits for its success.
func do(t testing.TB, c *extsock.Conn, wr rdmap.WorkRequest) rdmap.Completion {
	t.Helper()
	if err := c.Post(&wr); err != nil {
		t.Fatalf("Post %v: %v", wr.Op, err)
	}
	return complete(t, c.SendCQ())
}

// modeOf returns the mode of c: "DDP" or "TCP".
func modeOf(c *extsock.Conn) string {
	if c.ConnectionState().DDPMode {
		return "DDP"
	}
	return "TCP"
}

// fallbackOf returns why c is plain TCP although it prefers DDP mode, or nil.
func fallbackOf(c *extsock.Conn) *extsock.FallbackError {
	e := (*extsock.FallbackError)(nil)
	errors.As(c.ConnectionState().Fallback, &e)
	return e
}

// depthsOf returns the depths of c that startup agreed on.
func depthsOf(c *extsock.Conn) (ird, ord int) {
	s := c.ConnectionState()
	return s.IRD, s.ORD
}

// peerDepthsOf returns the depths that the peer of c stated.
func peerDepthsOf(c *extsock.Conn) (ird, ord int) {
	s := c.ConnectionState()
	return s.PeerIRD, s.PeerORD
}

// postSend posts a Send of data.
func postSend(c *extsock.Conn, data []byte) error {
	return c.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: data})
}

// postWrite posts an RDMA Write of data to the front of h.
func postWrite(c *extsock.Conn, h rdmap.Handle, data []byte) error {
	return c.Post(&rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: data, Remote: h})
}

// postRead posts an RDMA Read from the front of h into sink.
func postRead(c *extsock.Conn, h rdmap.Handle, sink []byte) error {
	return c.Post(&rdmap.WorkRequest{Op: rdmap.WorkRead, Data: sink, Remote: h})
}

// register registers b or fails the test.
func register(t testing.TB, c *extsock.Conn, b []byte, a ddp.Access) extsock.Region {
	t.Helper()
	if on.device != nil {
		return on.register(t, c, b, a)
	}
	r, err := c.Register(b, a)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var pattern = prototest.Pattern[byte]

// plainConn hides from a Stream that it is more than a net.Conn with a half-close.
type plainConn struct {
	net.Conn
	closeWrite func() error
}

func (c plainConn) CloseWrite() error { return c.closeWrite() }

func asPlainConn(s toe.Stream) net.Conn { return plainConn{struct{ net.Conn }{s}, s.CloseWrite} }

// settle gives connections in a bubble time to end. When the test function of a bubble has
// returned, its clock no longer advances.
func settle() {
	if !on.real {
		time.Sleep(time.Minute)
	}
}

// closeBoth closes both ends of a connection in a bubble.
func closeBoth(c [2]*extsock.Conn) {
	c[0].Close()
	c[1].Close()
	settle()
}

// alone waits until the connections of the tests before this one have ended. Connections outside
// bubbles may take a while after Close. From then on, the counts of the process belong to this
// test. The caller is outside any bubble.
func alone(t *testing.T) {
	t.Helper()
	prototest.Wait(t, "the connections of earlier tests end", func() bool { return extsock.TotalStats().Open == 0 && extsock.MemoryReserved() == unbalanced })
}

// acceptConn is l.Accept with a *Conn as its result.
func acceptConn(l net.Listener) (*extsock.Conn, error) {
	c, err := l.Accept()
	if err != nil {
		return nil, err
	}
	return c.(*extsock.Conn), nil
}

// bubbleTime bounds a bubble in real time. One takes milliseconds, and much longer on a busy
// machine under the race detector.
const bubbleTime = 5 * time.Minute

// balanceTime is how long a connection that has ended may still hold memory.
const balanceTime = 5 * time.Second

// bubble is synctest.Test with a bound, and it checks the books: the connections of f have ended
// when it returns, so they have given all memory back.
//
// A goroutine that spins holds the bubble's clock, so no deadline in it ever comes; the clock
// outside goes on. Nothing but a panic ends such a goroutine; it shows where all of them are.
func bubble(t *testing.T, f func(*testing.T)) {
	t.Helper()
	if on.real { // its clock goes on
		f(t)
		return
	}
	name := t.Name()
	bound := time.AfterFunc(bubbleTime, func() {
		debug.SetTraceback("all")
		panic(name + ": a goroutine of the bubble runs and runs")
	})
	defer bound.Stop()
	quiet := extsock.TotalStats().Open == 0
	synctest.Test(t, f)
	if quiet {
		balanced(t)
	}
}

// unbalanced is memory that tests have not given back; these tests have failed.
var unbalanced int64

// balanced checks that the connections of the process, which have all ended, have given all memory
// back. A connection that is not in a bubble may need a moment more for that.
func balanced(t *testing.T) {
	t.Helper()
	for end := time.Now().Add(balanceTime); extsock.MemoryReserved() != unbalanced; runtime.Gosched() {
		if time.Now().After(end) {
			n := extsock.MemoryReserved()
			t.Errorf("%d bytes of the process's memory are still taken", n-unbalanced)
			unbalanced = n
		}
	}
}
