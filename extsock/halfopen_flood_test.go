package extsock_test

import (
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A street is a network in which each peer has an address of its own choice.
type street struct {
	*simtoe.Network
	toe.Listener
	mu   sync.Mutex
	from chan string // in the order of the dialing
}

// dial connects from a host.
func (s *street) dial(t *testing.T, from string) toe.Stream {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.from <- from
	c, err := s.Network.Dial(t.Context(), "sim", "sim:1")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (s *street) Accept() (net.Conn, error) {
	c, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return resident{c, simtoe.Addr{Net: "sim", Address: <-s.from + ":1"}}, nil
}

// A resident is a connection whose peer has the address at.
type resident struct {
	toe.Stream
	at net.Addr
}

func (r resident) RemoteAddr() net.Addr { return r.at }

// TestHalfOpenFlood: for two minutes, a hundred connections a second come from a few addresses.
// Each begins a Request and does not go on, and Config.MaxHalfOpen is 64. Meanwhile a peer from
// another address connects every 5 s. It takes 3 s for its Request, during which the flood fills
// all places several times. All of these peers get into DDP mode.
func TestHalfOpenFlood(t *testing.T) {
	alone(t)
	const most, slow, each = 64, 3 * time.Second, 5 * time.Second
	seconds := testmode.Rounds(120, 20)
	for _, sources := range []int{1, 10, 60} {
		t.Run(fmt.Sprintf("from %d addresses", sources), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				before := extsock.TotalStats().HalfOpenEvictions
				n := simtoe.New(simtoe.Config{})
				below, err := n.Listen(t.Context(), "sim", "sim:1")
				if err != nil {
					t.Fatal(err)
				}
				s := &street{Network: n, Listener: below, from: make(chan string, 1)}
				l := extsock.NewListener(s, &extsock.Config{Startup: extsock.StartupRequire, MaxHalfOpen: most})
				var served sync.WaitGroup
				served.Go(func() {
					for {
						c, err := l.AcceptDDP()
						if err != nil {
							if !errors.Is(err, net.ErrClosed) {
								t.Error(err)
							}
							return
						}
						served.Go(func() { c.Read(make([]byte, 1)); c.Close() })
					}
				})
				var done atomic.Int64
				var honest sync.WaitGroup
				for i := range 100 * seconds {
					time.Sleep(time.Second / 100)
					c := s.dial(t, fmt.Sprint("flood", i%sources))
					c.Write(request()[:1+i%19])
					served.Go(func() { c.Read(make([]byte, 1)); c.Close() })
					if i%(100*int(each/time.Second)) == 0 {
						honest.Go(func() {
							c := s.dial(t, "elsewhere")
							time.Sleep(slow)
							x := extsock.NewConn(c, true, nil)
							defer x.Close()
							if err := x.EnableDDP(t.Context(), nil); err != nil {
								t.Errorf("after %v: %v", slow, err)
								return
							}
							done.Add(1)
						})
					}
				}
				honest.Wait()
				l.Close()
				synctest.Wait()
				served.Wait()
				evicted := extsock.TotalStats().HalfOpenEvictions - before
				if evicted == 0 {
					t.Error("the flood has filled no place")
				}
				t.Logf("%d slow peers of %d got in while %d of %d connections of the flood were evicted", done.Load(), (seconds+4)/5, evicted, 100*seconds)
				settle()
			})
		})
	}
}
