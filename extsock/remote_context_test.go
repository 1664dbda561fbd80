package extsock_test

import (
	"bytes"
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// remoteCalls are the calls of RemoteMemory that wait, each with memory of its own, of 64 octets.
var remoteCalls = []struct {
	name string
	call func(ctx context.Context, m *extsock.RemoteMemory) error
}{
	{"Read", func(ctx context.Context, m *extsock.RemoteMemory) error {
		_, err := m.Read(ctx, make([]byte, 64), 0)
		return err
	}},
	{"Write", func(ctx context.Context, m *extsock.RemoteMemory) error {
		_, err := m.Write(ctx, make([]byte, 64), 0)
		return err
	}},
	{"FetchAdd", func(ctx context.Context, m *extsock.RemoteMemory) error { _, err := m.FetchAdd(ctx, 0, 1); return err }},
	{"CompareAndSwap", func(ctx context.Context, m *extsock.RemoteMemory) error {
		_, err := m.CompareAndSwap(ctx, 0, 1, 2)
		return err
	}},
}

// contexts are contexts that end after a second in different ways, and the errors that calls then
// return.
var contexts = []struct {
	name string
	make func(t *testing.T) context.Context
	want error
}{
	{"canceled", func(t *testing.T) context.Context {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Second, cancel)
		return ctx
	}, context.Canceled},
	{"past its deadline", func(t *testing.T) context.Context {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		t.Cleanup(cancel)
		return ctx
	}, context.DeadlineExceeded},
}

// wantContextError checks the error of a call whose context has ended. Only a deadline is a
// timeout.
func wantContextError(t *testing.T, err, want error) {
	t.Helper()
	oe := (*net.OpError)(nil)
	if !errors.Is(err, want) || !errors.As(err, &oe) {
		t.Errorf("got %v (%T), want a *net.OpError with %v", err, err, want)
		return
	}
	if late := want == context.DeadlineExceeded; oe.Timeout() != late || errors.Is(err, os.ErrDeadlineExceeded) != late {
		t.Errorf("%v: it is a time-out: %t, want %t", err, oe.Timeout(), late)
	}
}

// TestRemoteContextDone: a call whose context has ended already does nothing, and the connection
// remains usable.
func TestRemoteContextDone(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		memory := pattern(64, 7)
		m := ci.Remote(register(t, cr, memory, everyAccess).Handle())
		want := bytes.Clone(memory)
		canceled, cancel := context.WithCancel(context.Background())
		cancel()
		late, cancel := context.WithTimeout(context.Background(), -time.Second)
		defer cancel()
		for _, tt := range remoteCalls {
			wantContextError(t, tt.call(canceled, m), context.Canceled)
			wantContextError(t, tt.call(late, m), context.DeadlineExceeded)
		}
		p := make([]byte, 64)
		if _, err := m.ReadAt(p, 0); err != nil || !bytes.Equal(p, want) {
			t.Errorf("afterwards: %v, memory %x", err, p)
		}
	})
}

// A gate is a Stream whose reading can be stopped, like that of a machine that has stopped.
type gate struct {
	toe.Stream
	mu   sync.Mutex
	stop chan struct{} // not nil: reading waits until it is closed
}

func (g *gate) wait() {
	g.mu.Lock()
	stop := g.stop
	g.mu.Unlock()
	if stop != nil {
		<-stop
	}
}

func (g *gate) ReadSegment(l toe.Lender, patience time.Duration) (int, uint64, error) {
	return g.Stream.ReadSegment(gatedLender{l, g}, patience)
}

// A gatedLender lends once the gate is open.
type gatedLender struct {
	toe.Lender
	g *gate
}

func (l gatedLender) Lend() []byte {
	l.g.wait()
	return l.Lender.Lend()
}

// shut stops reading until open.
func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.stop = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.stop)
	g.stop = nil
}

// gatedPair returns a pair. The reading of the second end can be stopped, and a wire holds 4096
// octets.
func gatedPair(t *testing.T, cfg extsock.Config) (ci, cr *extsock.Conn, g *gate) {
	t.Helper()
	a, b := simtoe.Pair(simtoe.Config{Window: 4096}, simtoe.Config{Window: 4096})
	g = &gate{Stream: b}
	ci, cr = switched(t, a, g, side{cfg: cfg}, side{})
	synctest.Wait() // the second end waits, and has lent the stream no memory that could be filled past the gate
	return ci, cr, g
}

// TestRemoteContextEndsTheWait: a call that waits for the peer's answer returns when its context
// ends. An answer that comes later does no harm. (A Write waits for no answer; see
// TestRemoteContextEndsAWrite.)
func TestRemoteContextEndsTheWait(t *testing.T) {
	for _, tt := range remoteCalls {
		if tt.name == "Write" {
			continue
		}
		for _, how := range contexts {
			t.Run(tt.name+", "+how.name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ci, cr, g := gatedPair(t, extsock.Config{})
					m := ci.Remote(register(t, cr, make([]byte, 64), everyAccess).Handle())
					g.shut()
					begin := time.Now()
					wantContextError(t, tt.call(how.make(t), m), how.want)
					if d := time.Since(begin); d != time.Second {
						t.Errorf("returned after %v, want 1s", d)
					}
					g.open()
					if err := tt.call(t.Context(), m); err != nil {
						t.Errorf("the next call: %v", err)
					}
					ci.Close()
					cr.Close()
					settle()
				})
			})
		}
	}
}

// TestRemoteContextCostsNoGoroutine: a call that waits needs no goroutine but the caller's, with or
// without a context that can end.
func TestRemoteContextCostsNoGoroutine(t *testing.T) {
	for _, tt := range remoteCalls {
		if tt.name == "Write" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr, g := gatedPair(t, extsock.Config{})
				m := ci.Remote(register(t, cr, make([]byte, 64), everyAccess).Handle())
				for _, ctx := range []context.Context{context.Background(), t.Context()} {
					synctest.Wait() // the other end has lent its stream no memory that could still be filled
					g.shut()
					done := make(chan error, 1)
					go func() { done <- tt.call(ctx, m) }()
					synctest.Wait()
					stacks := make([]byte, 1<<20)
					waiting := 0
					for _, stack := range strings.Split(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
						if strings.Contains(stack, "(*RemoteMemory).") {
							waiting++
						}
					}
					if waiting != 1 {
						t.Errorf("%d goroutines wait for the call, want 1", waiting)
					}
					g.open()
					if err := <-done; err != nil {
						t.Error(err)
					}
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// TestRemoteContextEndsTheWaitForRoom: a call that waits because the send queue is full also
// returns when its context ends, and its operation is not carried out.
func TestRemoteContextEndsTheWaitForRoom(t *testing.T) {
	for _, tt := range remoteCalls {
		for _, how := range contexts {
			t.Run(tt.name+", "+how.name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					ci, cr, g := gatedPair(t, extsock.Config{SendDepth: 1})
					memory := pattern(64, 9)
					m := ci.Remote(register(t, cr, memory, everyAccess).Handle())
					g.shut()
					const before = 4 // calls, of which most wait for room themselves
					first := make(chan error, before)
					for range before {
						go func() { _, err := m.ReadAt(make([]byte, 64), 0); first <- err }()
					}
					synctest.Wait()
					wantContextError(t, tt.call(how.make(t), m), how.want)
					g.open()
					for range before {
						if err := <-first; err != nil {
							t.Errorf("a call that was in its way: %v", err)
						}
					}
					p := make([]byte, 64)
					if _, err := m.ReadAt(p, 0); err != nil || !bytes.Equal(p, pattern(64, 9)) {
						t.Errorf("afterwards: %v, memory %x", err, p)
					}
					ci.Close()
					cr.Close()
					settle()
				})
			})
		}
	}
}

// TestRemoteContextEndsAWrite: a Write that waits in the queue is taken back. A Write that has
// begun to go out goes on without its caller, who may use the memory again.
func TestRemoteContextEndsAWrite(t *testing.T) {
	for _, how := range contexts {
		t.Run("queued, "+how.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr, g := gatedPair(t, extsock.Config{})
				m := ci.Remote(register(t, cr, make([]byte, 60_000), everyAccess).Handle())
				g.shut()
				first := make(chan error, 1)
				go func() { _, err := m.WriteAt(pattern(60_000, 1), 0); first <- err }()
				synctest.Wait()
				_, err := m.Write(how.make(t), pattern(60_000, 2), 0)
				wantContextError(t, err, how.want)
				g.open()
				if err := <-first; err != nil {
					t.Errorf("the Write before it: %v", err)
				}
				p := make([]byte, 60_000)
				if _, err := m.ReadAt(p, 0); err != nil || !bytes.Equal(p, pattern(60_000, 1)) {
					t.Errorf("afterwards: %v; the first Write alone is there: %t", err, bytes.Equal(p, pattern(60_000, 1)))
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
		t.Run("under way, "+how.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr, g := gatedPair(t, extsock.Config{})
				m := ci.Remote(register(t, cr, make([]byte, 60_000), everyAccess).Handle())
				g.shut()
				p := pattern(60_000, 1)
				_, err := m.Write(how.make(t), p, 0)
				wantContextError(t, err, how.want)
				clear(p)
				g.open()
				if _, err := m.ReadAt(p, 0); err != nil || !bytes.Equal(p, pattern(60_000, 1)) {
					t.Errorf("afterwards: %v; the Write is there: %t", err, bytes.Equal(p, pattern(60_000, 1)))
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// TestRemoteContextAndDeadline: the context or the deadline, whichever ends first, ends the call
// and is its error.
func TestRemoteContextAndDeadline(t *testing.T) {
	for _, tt := range remoteCalls {
		if tt.name == "Write" {
			continue
		}
		t.Run(tt.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr, g := gatedPair(t, extsock.Config{})
				m := ci.Remote(register(t, cr, make([]byte, 64), everyAccess).Handle())
				g.shut()
				ci.SetDeadline(time.Now().Add(2 * time.Second))
				wantContextError(t, tt.call(contexts[0].make(t), m), context.Canceled)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				err := tt.call(ctx, m)
				if !errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("the connection's deadline comes first: %v", err)
				}
				g.open()
				ci.SetDeadline(time.Time{})
				if err := tt.call(t.Context(), m); err != nil {
					t.Errorf("the next call: %v", err)
				}
				ci.Close()
				cr.Close()
				settle()
			})
		})
	}
}

// TestContextsOfOtherCalls: every other call that takes a context ends with it.
func TestContextsOfOtherCalls(t *testing.T) {
	for _, tt := range []struct {
		name string
		call func(ctx context.Context, c *extsock.Conn) error // of an Initiator whose peer is silent, in TCP mode
	}{
		{"EnableDDP", func(ctx context.Context, c *extsock.Conn) error { return c.EnableDDP(ctx, nil) }},
		{"Wait", func(ctx context.Context, c *extsock.Conn) error { _, err := c.RecvCQ().Wait(ctx); return err }},
		{"WaitBatch, solicited", func(ctx context.Context, c *extsock.Conn) error {
			_, err := c.RecvCQ().WaitBatch(ctx, make([]rdmap.Completion, 4), true)
			return err
		}},
		{"WaitBatch", func(ctx context.Context, c *extsock.Conn) error {
			_, err := c.RecvCQ().WaitBatch(ctx, make([]rdmap.Completion, 4), false)
			return err
		}},
	} {
		for _, how := range contexts {
			t.Run(tt.name+", "+how.name, func(t *testing.T) {
				bubble(t, func(t *testing.T) {
					a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
					defer b.Close()
					c := extsock.NewConn(a, true, nil)
					defer c.Close()
					begin := time.Now()
					if err := tt.call(how.make(t), c); !errors.Is(err, how.want) {
						t.Errorf("got %v, want %v", err, how.want)
					}
					if d := time.Since(begin); d != time.Second {
						t.Errorf("returned after %v, want 1s", d)
					}
				})
			})
		}
	}
	for _, how := range contexts {
		t.Run("ReceiveRequest, "+how.name, func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
				defer a.Close()
				c := extsock.NewConn(b, false, nil)
				defer c.Close()
				if _, err := c.ReceiveRequest(how.make(t)); !errors.Is(err, how.want) {
					t.Errorf("got %v, want %v", err, how.want)
				}
			})
		})
	}
}

// TestCanceledWriteOfSharedMemory: two Writes send the same memory, and the first is canceled while
// its last bytes wait for TCP and the second has begun. The copy that it needs is short, so the
// connection goes on.
func TestCanceledWriteOfSharedMemory(t *testing.T) {
	bubble(t, func(t *testing.T) {
		const n = 8 << 20
		ci, cr := simPair(t, simtoe.Config{Window: 64 << 10, Delay: 10 * time.Millisecond}, side{}, side{})
		memory, p := make([]byte, n), pattern(n, 7)
		r := register(t, cr, memory, ddp.RemoteWrite)
		m := ci.Remote(r.Handle())
		ctx, cancel := context.WithCancel(t.Context())
		first, second := make(chan error, 1), make(chan error, 1)
		go func() { _, err := m.Write(ctx, p, 0); first <- err }()
		time.Sleep(time.Millisecond)
		go func() { _, err := m.Write(t.Context(), p, 0); second <- err }()
		for cr.Stats().Received.Octets < n-200<<10 {
			time.Sleep(time.Millisecond)
		}
		cancel()
		if err := <-first; !errors.Is(err, context.Canceled) {
			t.Errorf("the first Write: %v", err)
		}
		if err := <-second; err != nil {
			t.Errorf("the second Write: %v", err)
		}
		if err := ci.Close(); err != nil {
			t.Error(err)
		}
		settle()
		r.Deregister() // the peer no longer uses the memory
		if !bytes.Equal(memory, p) {
			t.Error("the memory is not what was written")
		}
	})
}
