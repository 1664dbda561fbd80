package extsock_test

import (
	"bytes"
	"context"
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
