package hostile

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/scenario"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// errInjected is the error of calls that a fuse makes fail.
var errInjected = errors.New("injected")

// A fuse counts the calls of a Backend, its Listeners and its Streams, and makes the n-th of them
// fail and, with forever set, all calls after it. With n = 0 none fails.
type fuse struct {
	n       int64
	forever bool
	calls   atomic.Int64
	what    atomic.Pointer[string] // the call that failed first
}

func (f *fuse) blow(what string) error {
	i := f.calls.Add(1)
	if f.n == 0 || i < f.n || i > f.n && !f.forever {
		return nil
	}
	f.what.CompareAndSwap(nil, &what)
	return &net.OpError{Op: what, Net: "fuse", Err: errInjected}
}

// A fusedBackend is a simulated network whose calls fail according to the fuses of its two sides.
type fusedBackend struct {
	*simtoe.Network
	dials, listens *fuse
}

func (b fusedBackend) Dial(ctx context.Context, network, address string) (toe.Stream, error) {
	if err := b.dials.blow("Dial"); err != nil {
		return nil, err
	}
	s, err := b.Network.Dial(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &fusedStream{s.(*simtoe.Stream), b.dials}, nil
}

func (b fusedBackend) Listen(ctx context.Context, network, address string) (toe.Listener, error) {
	if err := b.listens.blow("Listen"); err != nil {
		return nil, err
	}
	l, err := b.Network.Listen(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return fusedListener{l, b.listens}, nil
}

type fusedListener struct {
	toe.Listener
	f *fuse
}

func (l fusedListener) Accept() (toe.Stream, error) {
	s, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	if err := l.f.blow("Accept"); err != nil {
		s.Close() // as accept(2) does
		return nil, err
	}
	return &fusedStream{s.(*simtoe.Stream), l.f}, nil
}

// A fusedStream passes every call through a fuse, except Close and calls that only return numbers.
type fusedStream struct {
	*simtoe.Stream
	f *fuse
}

func (s *fusedStream) Read(p []byte) (int, error) {
	if err := s.f.blow("Read"); err != nil {
		return 0, err
	}
	return s.Stream.Read(p)
}

func (s *fusedStream) Write(p []byte) (int, error) {
	if err := s.f.blow("Write"); err != nil {
		return 0, err
	}
	return s.Stream.Write(p)
}

func (s *fusedStream) ReadSegment(l toe.Lender, patience time.Duration) (int, uint64, error) {
	if err := s.f.blow("ReadSegment"); err != nil {
		return 0, 0, err
	}
	return s.Stream.ReadSegment(l, patience)
}

func (s *fusedStream) TryWriteBatch(bufs [][]byte) (int, error) {
	if err := s.f.blow("TryWriteBatch"); err != nil {
		return 0, err
	}
	return s.Stream.TryWriteBatch(bufs)
}

func (s *fusedStream) WaitWritable() error {
	if err := s.f.blow("WaitWritable"); err != nil {
		return err
	}
	return s.Stream.WaitWritable()
}

func (s *fusedStream) Pending() (int, error) {
	if err := s.f.blow("Pending"); err != nil {
		return 0, err
	}
	return s.Stream.Pending()
}

func (s *fusedStream) CloseWrite() error {
	if err := s.f.blow("CloseWrite"); err != nil {
		return err
	}
	return s.Stream.CloseWrite()
}

func (s *fusedStream) SetDeadline(t time.Time) error {
	if err := s.f.blow("SetDeadline"); err != nil {
		return err
	}
	return s.Stream.SetDeadline(t)
}

func (s *fusedStream) SetReadDeadline(t time.Time) error {
	if err := s.f.blow("SetReadDeadline"); err != nil {
		return err
	}
	return s.Stream.SetReadDeadline(t)
}

// TestEachCallFails makes each call of a session to the layer below fail in turn: Dial, Listen,
// Accept and those of the Stream, once and permanently. Both ends end within their time limits,
// with clean errors, and nothing is left in the bubble.
func TestEachCallFails(t *testing.T) {
	failed, unseen := 0, 0
	whats := map[string]int{}
	for _, s := range sessions {
		for side := range 2 {
			for _, forever := range []bool{false, true} {
				for n := int64(1); ; n++ {
					f := [2]*fuse{{}, {}}
					f[side] = &fuse{n: n, forever: forever}
					var o outcome
					synctest.Test(t, func(t *testing.T) {
						o = s.dialed(fusedBackend{simtoe.New(simtoe.Config{}), f[0], f[1]})
						time.Sleep(2 * closeTimeout)
					})
					what := f[side].what.Load()
					if what == nil {
						if err := o.clean(); err != nil {
							t.Errorf("%s: no call has failed, and yet %v", s.Name, err)
						}
						break
					}
					desc := fmt.Sprintf("%s, call %d (%s) of side %d fails, forever %t", s.Name, n, *what, side, forever)
					failed++
					whats[*what]++
					if err := o.check(&s); err != nil {
						t.Errorf("%s: %v", desc, err)
					}
					if o.clean() == nil {
						unseen++ // such as that of a deadline that was not needed
					}
					if o.elapsed > scenario.SessionLimit+2*closeTimeout {
						t.Errorf("%s: ended after %v", desc, o.elapsed)
					}
				}
			}
		}
	}
	t.Logf("%d calls failed, %d of them did no harm: %v", failed, unseen, whats)
	if failed < 100 || unseen == failed {
		t.Error("the fuse does not work")
	}
}

// dialed runs both ends of s through Dial and Listen of a backend.
func (s *session) dialed(b toe.Backend) (o outcome) {
	begin := time.Now()
	defer func() { o.elapsed = time.Since(begin) }()
	l, err := extsock.Listen("sim", "here:1", &extsock.Config{Backend: b})
	if err != nil {
		o.errs = [2]error{err, err}
		return o
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		c, err := b.Dial(context.Background(), "sim", "here:1")
		if err != nil {
			l.Close() // there will be no connection
			o.errs[0] = err
			return
		}
		o.errs[0] = s.Run(c, true)
	})
	wg.Go(func() {
		defer l.Close()
		c, err := acceptConn(l)
		if err != nil {
			o.errs[1] = err
			return
		}
		o.errs[1] = s.Run(c.NetConn(), false)
	})
	wg.Wait()
	return o
}
