package extsock_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// A sharedPool is a shared receive queue with its buffers and its completion queue.
type sharedPool struct {
	srq  *rdmap.SharedReceiveQueue
	cq   *extsock.CompletionQueue
	bufs [][]byte
}

func newSharedPool(t testing.TB, n, size int) *sharedPool {
	t.Helper()
	p := &sharedPool{srq: rdmap.NewSharedReceiveQueue(n), cq: extsock.NewCompletionQueue(n)}
	for id := range n {
		p.bufs = append(p.bufs, make([]byte, size))
		p.post(t, uint64(id))
	}
	return p
}

func (p *sharedPool) post(t testing.TB, id uint64) {
	t.Helper()
	if err := p.srq.PostRecv(rdmap.RecvRequest{ID: id, Buf: p.bufs[id]}); err != nil {
		t.Errorf("PostRecv(%d): %v", id, err)
	}
}

// side returns the side of a connection that receives into the pool.
func (p *sharedPool) side() side { return side{cfg: extsock.Config{SRQ: p.srq, RecvCQ: p.cq}} }

// wantAll checks that all buffers are in the queue again, each once.
func (p *sharedPool) wantAll(t testing.TB) {
	t.Helper()
	ids := p.srq.Close()
	slices.Sort(ids)
	for i, id := range ids {
		if id != uint64(i) {
			t.Fatalf("the buffers in the end are %v", ids)
		}
	}
	if len(ids) != len(p.bufs) {
		t.Errorf("%d buffers in the end, of %d", len(ids), len(p.bufs))
	}
}

// TestSharedReceives: connections take their buffers from one queue, which has fewer buffers than
// there are connections, and every message arrives as it was sent, over all kinds of wires.
func TestSharedReceives(t *testing.T) {
	wires := map[string]simtoe.Config{
		"plain": {}, "one octet at a time": {MaxSegment: 1}, "small window": {Window: 500},
		"early runs": {Seed: 3, Split: true, MaxSegment: 4000, Early: 0.5},
	}
	for name, wire := range wires {
		for _, markers := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, markers %v", name, markers), func(t *testing.T) {
				t.Parallel()
				const conns, each, longest = 6, 40, 3000
				pool := newSharedPool(t, 4, longest)
				type end struct {
					n      int // messages that have come
					client *extsock.Conn
				}
				ends := map[uint64]*end{}
				for range conns {
					s := pool.side()
					s.cfg.Markers = markers
					ci, cr := simPair(t, wire, side{cfg: extsock.Config{Markers: markers}}, s)
					ends[cr.QPNum()] = &end{client: ci}
				}
				credits := make(chan struct{}, len(pool.bufs)) // a Send that finds no buffer would end its connection
				for range pool.bufs {
					credits <- struct{}{}
				}
				var wg sync.WaitGroup
				for _, e := range ends {
					wg.Go(func() {
						for n := range each {
							<-credits
							if _, err := e.client.Write(pattern((n*977)%longest, byte(n))); err != nil {
								t.Errorf("Write: %v", err)
							}
						}
					})
				}
				batch := make([]rdmap.Completion, 3)
				for left := conns * each; left > 0; {
					n, err := pool.cq.WaitBatch(timeLimit(t), batch, false)
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range batch[:n] {
						e := ends[d.QPNum]
						if d.Status != rdmap.StatusOK || !bytes.Equal(pool.bufs[d.ID][:d.Len], pattern((e.n*977)%longest, byte(e.n))) {
							t.Fatalf("message %d of a connection: %v", e.n, d)
						}
						e.n++
						pool.post(t, d.ID)
						credits <- struct{}{}
						left--
					}
				}
				wg.Wait()
				pool.wantAll(t)
			})
		}
	}
}

// TestSharedReceivesEnd: a connection that ends in the middle of a message gives its buffer back
// once, and the other connections go on.
func TestSharedReceivesEnd(t *testing.T) {
	half := untagged(rdmap.OpSend, 0, 1, 0, 4)
	half[0] &^= 0x40 // there is more to come
	for _, tt := range []struct {
		desc string
		end  func(p *rawPeer, c *extsock.Conn)
		want rdmap.Status
	}{
		{"Close", func(_ *rawPeer, c *extsock.Conn) { c.Close() }, rdmap.StatusFlushed},
		{"the peer's FIN", func(p *rawPeer, _ *extsock.Conn) { p.s.Close() }, rdmap.StatusFlushed},
		{"too long", func(p *rawPeer, _ *extsock.Conn) { p.send(untagged(rdmap.OpSend, 0, 1, 4, 61)...) }, rdmap.StatusLocalLength},
		{"another fault", func(p *rawPeer, _ *extsock.Conn) { p.send(untagged(0xf, 0, 1, 4, 4)...) }, rdmap.StatusFlushed},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				pool := newSharedPool(t, 3, 64)
				ci, lives := simPair(t, simtoe.Config{}, side{}, pool.side())
				p, ends := rawPair(t, pool.side().cfg, nil)
				p.send(half...)
				// The answer to this shows that the half message is placed. The sink and the source
				// do not matter.
				p.send(readRequest(9, 9, 0)...)
				if u, err := p.next(); err != nil {
					t.Fatalf("no answer: %x, %v", u, err)
				}
				if n := pool.srq.Len(); n != 2 {
					t.Errorf("%d buffers left, want 2", n)
				}
				tt.end(p, ends)
				d, err := pool.cq.Wait(timeLimit(t))
				if err != nil || d.ID != 0 || d.QPNum != ends.QPNum() || d.Status != tt.want {
					t.Errorf("at the end: %v, %v, want %v", d, err, tt.want)
				}
				ends.Close()
				pool.post(t, d.ID)
				for n := range 5 {
					if _, err := ci.Write([]byte("lives")); err != nil {
						t.Fatal(err)
					}
					d := complete(t, pool.cq)
					if d.QPNum != lives.QPNum() || d.Len != 5 {
						t.Errorf("message %d of the other connection: %v", n, d)
					}
					pool.post(t, d.ID)
				}
				lives.Close()
				if n := pool.cq.Len(); n != 0 {
					t.Errorf("%d more completions", n)
				}
				pool.wantAll(t)
			})
		})
	}
}

// TestAwaitEnd: a program whose buffers are in a shared queue learns when and why the connection
// ends, and finds earlier messages in its completion queue.
func TestAwaitEnd(t *testing.T) {
	for _, tt := range []struct {
		desc string
		end  func(peer, c *extsock.Conn)
		want error
	}{
		{"the peer closes", func(peer, _ *extsock.Conn) { peer.Close() }, io.EOF},
		{"the peer resets", func(peer, _ *extsock.Conn) { peer.SetLinger(0); peer.Close() }, syscall.ECONNRESET},
		{"this end closes", func(_, c *extsock.Conn) { c.Close() }, net.ErrClosed},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				pool := newSharedPool(t, 3, 64)
				peer, c := simPair(t, simtoe.Config{}, inMessages, pool.side())
				if err := peer.AwaitEnd(t.Context()); !errors.Is(err, extsock.ErrMode) {
					t.Errorf("at the end that reads: %v, want ErrMode", err)
				}
				for range 2 {
					if _, err := peer.Write([]byte("first")); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Second) // both have arrived
				canceled, cancel := context.WithCancel(t.Context())
				cancel()
				if err := c.AwaitEnd(canceled); !errors.Is(err, context.Canceled) {
					t.Errorf("before the end: %v, want that of ctx", err)
				}
				done := make(chan error)
				go func() { done <- c.AwaitEnd(t.Context()) }()
				synctest.Wait()
				select {
				case err := <-done:
					t.Fatalf("AwaitEnd = %v before the end", err)
				default:
				}
				tt.end(peer, c)
				if err := <-done; !errors.Is(err, tt.want) {
					t.Errorf("AwaitEnd = %v, want %v", err, tt.want)
				}
				if n := pool.cq.Len(); n != 2 {
					t.Errorf("%d messages are there at the end, want 2", n)
				}
				c.Close()
				if err := c.AwaitEnd(canceled); !errors.Is(err, net.ErrClosed) && !errors.Is(err, tt.want) {
					t.Errorf("after Close: %v, want net.ErrClosed, or why it ended before", err)
				}
			})
		})
	}
}

// TestSharedReceivesRunOut: a Send that finds no buffer ends its connection as RFC 5041 §7.2 says,
// and only its own.
func TestSharedReceivesRunOut(t *testing.T) {
	bubble(t, func(t *testing.T) {
		pool := newSharedPool(t, 2, 64)
		a, _ := simPair(t, simtoe.Config{}, side{}, pool.side())
		b, _ := simPair(t, simtoe.Config{}, side{}, pool.side())
		low := pool.srq.Arm(1)
		for range 2 {
			if _, err := a.Write([]byte("message")); err != nil {
				t.Fatal(err)
			}
			complete(t, pool.cq)
		}
		select {
		case <-low:
		default:
			t.Error("no event when the last buffer was taken")
		}
		var te *rdmap.TerminateError
		if _, err := a.Write([]byte("one too many")); err != nil && !errors.As(err, &te) { // the Terminate may be quicker than Write
			t.Fatal(err)
		}
		if _, err := a.Read(make([]byte, 1)); !errors.As(err, &te) || !te.Remote {
			t.Fatalf("Read = %v, want the peer's Terminate", err)
		}
		if got := te.Terminate.Code; got != 0x1202 {
			t.Errorf("Terminate %v, want one that says that there is no buffer", got)
		}
		pool.post(t, 0)
		if _, err := b.Write([]byte("lives")); err != nil {
			t.Fatal(err)
		}
		if d := complete(t, pool.cq); d.ID != 0 || d.Len != 5 {
			t.Errorf("the other connection: %v", d)
		}
	})
}

// TestSharedReceivesUse: the application owns the receive queue, and posts only to the shared one.
func TestSharedReceivesUse(t *testing.T) {
	bubble(t, func(t *testing.T) {
		srq := rdmap.NewSharedReceiveQueue(40)
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{cfg: extsock.Config{SRQ: srq}}) // a RecvCQ of its own
		if err := cr.PostRecv(rdmap.RecvRequest{}); !errors.Is(err, rdmap.ErrBadRequest) {
			t.Errorf("PostRecv: %v", err)
		}
		if _, err := cr.Read(make([]byte, 1)); !errors.Is(err, extsock.ErrReceiveOwner) {
			t.Errorf("Read: %v", err)
		}
		for id := range uint64(40) { // more than RecvDepth
			if err := srq.PostRecv(rdmap.RecvRequest{ID: id, Buf: make([]byte, 8)}); err != nil {
				t.Fatal(err)
			}
		}
		for id := range uint64(40) {
			do(t, ci, rdmap.WorkRequest{Op: rdmap.WorkImmediate, Immediate: id})
		}
		for id := range uint64(40) {
			if d := complete(t, cr.RecvCQ()); d.ID != id || d.Immediate != id || d.QPNum != cr.QPNum() {
				t.Errorf("completion %v, want %d", d, id)
			}
		}
	})
}

// TestSharedReceivesServe: one goroutine serves many connections over loopback, which end one after
// the other.
func TestSharedReceivesServe(t *testing.T) {
	const conns, rounds, each = 5, 3, 30
	pool := newSharedPool(t, conns, 64) // each client has one message on its way
	ctx, stop := context.WithCancel(timeLimit(t))
	var mu sync.Mutex
	servers := map[uint64]*extsock.Conn{}
	var server sync.WaitGroup
	server.Go(func() {
		for {
			d, err := pool.cq.Wait(ctx)
			if err != nil {
				return
			}
			answer := bytes.Clone(pool.bufs[d.ID][:d.Len])
			pool.post(t, d.ID)
			mu.Lock()
			c := servers[d.QPNum]
			mu.Unlock()
			if d.Status == rdmap.StatusOK {
				if _, err := c.Write(answer); err != nil {
					t.Errorf("the answer: %v", err)
				}
			}
		}
	})
	type pair struct{ client, server *extsock.Conn }
	pairs := make([]pair, conns*rounds)
	mu.Lock()
	for i := range pairs {
		pairs[i].client, pairs[i].server = tcpPair(t, side{}, pool.side())
		servers[pairs[i].server.QPNum()] = pairs[i].server
	}
	mu.Unlock()
	var clients sync.WaitGroup
	for i := range conns {
		clients.Go(func() {
			for round, p := range pairs[i*rounds:][:rounds] {
				for n := range each {
					want := binary.BigEndian.AppendUint64(nil, uint64(i<<16|round<<8|n))
					got := make([]byte, 64)
					if _, err := p.client.Write(want); err != nil {
						t.Errorf("Write: %v", err)
						return
					}
					if n, err := p.client.Read(got); err != nil || !bytes.Equal(got[:n], want) {
						t.Errorf("asked %x, got %x, %v", want, got[:n], err)
						return
					}
				}
				p.client.Close()
				p.server.Close()
			}
		})
	}
	clients.Wait()
	stop()
	server.Wait()
	if n := pool.cq.Len(); n != 0 {
		t.Errorf("%d completions are left", n)
	}
	pool.wantAll(t)
}
