package extsock_test

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"
	"syscall"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestReadMessage: the first bytes of a message come with its length and what the sender has asked
// for, whether the Read waits for the message or the message for the Read, and the rest comes
// without.
func TestReadMessage(t *testing.T) {
	for _, waits := range []bool{false, true} {
		t.Run(fmt.Sprintf("the Read waits: %v", waits), func(t *testing.T) {
			bubble(t, func(t *testing.T) {
				ci, cr := simPair(t, simtoe.Config{}, inMessages, inMessages)
				region := register(t, cr, make([]byte, 8), ddp.RemoteWrite)
				stag := region.Handle().STag
				requests := []rdmap.WorkRequest{
					{Op: rdmap.WorkSend, Data: []byte("abcde")},
					{Op: rdmap.WorkSend},
					{Op: rdmap.WorkSend, Data: []byte("fg"), Solicited: true},
					{Op: rdmap.WorkSendInvalidate, Data: []byte("hi"), Invalidate: stag},
					{Op: rdmap.WorkImmediate, Immediate: 0x0123456789abcdef},
					{Op: rdmap.WorkImmediate, Solicited: true},
				}
				post := func(n int) {
					if err := ci.Post(&requests[n]); err != nil {
						t.Error(err)
					}
				}
				if !waits {
					for n := range requests {
						post(n)
					}
					settle()
				}
				p := make([]byte, 3)
				read := func(n int, want string, m rdmap.Completion) {
					t.Helper()
					if waits && n >= 0 {
						go func() {
							settle()
							post(n)
						}()
					}
					k, got, err := cr.ReadMessage(p)
					if string(p[:k]) != want || got != m || err != nil {
						t.Errorf("ReadMessage = %q, %+v, %v, want %q, %+v", p[:k], got, err, want, m)
					}
				}
				m := rdmap.Completion{QPNum: cr.QPNum(), Op: rdmap.WorkRecv, Status: rdmap.StatusOK}
				of := func(n uint32, change func(*rdmap.Completion)) rdmap.Completion {
					m := m
					m.Len = n
					if change != nil {
						change(&m)
					}
					return m
				}
				read(0, "abc", of(5, nil))
				read(-1, "de", rdmap.Completion{})
				read(1, "", of(0, nil))
				read(2, "fg", of(2, func(m *rdmap.Completion) { m.Solicited = true }))
				read(3, "hi", of(2, func(m *rdmap.Completion) { m.HasInvalidated, m.Invalidated = true, stag }))
				read(4, "", of(0, func(m *rdmap.Completion) { m.HasImmediate, m.Immediate = true, 0x0123456789abcdef }))
				read(5, "", of(0, func(m *rdmap.Completion) { m.HasImmediate, m.Solicited = true, true }))
				for range 2 { // Read and ReadMessage take turns
					post(0)
					post(2)
					settle()
					if k, err := cr.Read(p); string(p[:k]) != "abc" || err != nil {
						t.Errorf("Read = %q, %v", p[:k], err)
					}
					read(-1, "de", rdmap.Completion{})
					read(-1, "fg", of(2, func(m *rdmap.Completion) { m.Solicited = true }))
				}
			})
		})
	}
}

// TestReadMessageInAStream: a byte stream has no messages.
func TestReadMessageInAStream(t *testing.T) {
	bubble(t, func(t *testing.T) {
		ci, cr := simPair(t, simtoe.Config{}, side{}, side{})
		if _, err := ci.Write([]byte("stream")); err != nil {
			t.Fatal(err)
		}
		p := make([]byte, 10)
		n, m, err := cr.ReadMessage(p)
		if string(p[:n]) != "stream" || m != (rdmap.Completion{}) || err != nil {
			t.Errorf("ReadMessage = %q, %+v, %v", p[:n], m, err)
		}
	})
}

// TestLongestMessage: a connection asks how long a message may be when it begins, and a longer one
// ends the stream, whether it has one segment or several.
func TestLongestMessage(t *testing.T) {
	for _, tooLong := range []int{11, 5001} {
		bubble(t, func(t *testing.T) {
			longest := []int{10, 5000, 20000, 0, tooLong - 1}
			var whole []bool
			cfg := extsock.Config{Messages: true, RecvSize: 1 << 30, NoCapabilities: true, LongestMessage: func(before uint32, one bool) int {
				if int(before) != len(whole) {
					t.Errorf("asked for message %d, want %d", before, len(whole))
				}
				whole = append(whole, one)
				return longest[before]
			}}
			ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Messages: true, NoCapabilities: true}}, side{cfg: cfg})
			p := make([]byte, 20000)
			for _, n := range longest[:4] {
				if _, err := ci.Write(pattern(n, 1)); err != nil {
					t.Fatal(err)
				}
				k, err := cr.Read(p)
				if !bytes.Equal(p[:k], pattern(n, 1)) || err != nil {
					t.Errorf("a message of %d octets: %d, %v", n, k, err)
				}
			}
			// The Terminate may come before Write has sent the last segment.
			var fault *rdmap.TerminateError
			if _, err := ci.Write(pattern(tooLong, 1)); err != nil && !errors.As(err, &fault) {
				t.Errorf("Write of a message that is too long: %v", err)
			}
			if n, err := cr.Read(p); !errors.As(err, &fault) {
				t.Errorf("a message that is too long: %d octets, %v", n, err)
			}
			if want := []bool{true, false, false, true, tooLong < 1000}; !slices.Equal(whole, want) {
				t.Errorf("asked for messages of one segment: %v, want %v", whole, want)
			}
		})
	}
}

// TestLongestMessageNegative: a negative limit leaves room for messages of length 0 only.
func TestLongestMessageNegative(t *testing.T) {
	for _, longest := range []int{-1, math.MinInt} {
		for _, n := range []int{1, 5000} {
			bubble(t, func(t *testing.T) {
				cfg := extsock.Config{Messages: true, LongestMessage: func(uint32, bool) int { return longest }}
				// Without the capability records a message of 5000 octets has several segments.
				ci, cr := simPair(t, simtoe.Config{}, side{cfg: extsock.Config{Messages: true, NoCapabilities: true}}, side{cfg: cfg})
				if _, err := ci.Write(nil); err != nil {
					t.Fatal(err)
				}
				if n, err := cr.Read(make([]byte, 10)); n != 0 || err != nil {
					t.Errorf("a message of length 0: %d, %v", n, err)
				}
				var fault *rdmap.TerminateError
				if _, err := ci.Write(pattern(n, 1)); err != nil && !errors.As(err, &fault) {
					t.Errorf("Write of a message that is too long: %v", err)
				}
				if _, err := cr.Read(make([]byte, 10)); !errors.As(err, &fault) {
					t.Errorf("%d octets with a limit of %d: %v", n, longest, err)
				}
			})
		}
	}
}

// TestRequestConfig: a Responder chooses the Domain and the depths of a connection when it has seen
// the Request.
func TestRequestConfig(t *testing.T) {
	bubble(t, func(t *testing.T) {
		network := simtoe.New(simtoe.Config{})
		l, err := extsock.Listen("tcp", "chosen:1", &extsock.Config{Backend: network, JudgeRequests: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		var domain ddp.Domain
		memory := pattern(100, 1)
		region, err := domain.Register(memory, ddp.RemoteRead, 0)
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan *extsock.Conn, 1)
		go func() {
			c, err := acceptConn(l)
			if err != nil {
				t.Error(err)
				return
			}
			r, err := c.ReceiveRequest(t.Context())
			if err != nil {
				t.Error(err)
				return
			}
			r.Config = &extsock.Config{Domain: &domain, IRD: 3, ORD: 2, Messages: true}
			if err := r.Accept(t.Context(), []byte("welcome")); err != nil {
				t.Error(err)
			}
			served <- c
		}()
		c, err := extsock.Dial("tcp", "chosen:1", &extsock.Config{Backend: network, Startup: extsock.StartupRequire, Messages: true})
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		p := make([]byte, 100)
		if _, err := c.Remote(rdmap.Handle{STag: region.STag(), TO: region.TO(), Len: 100}).ReadAt(p, 0); err != nil || !bytes.Equal(p, memory) {
			t.Errorf("a Read of memory of the Domain: %v", err)
		}
		if s := c.ConnectionState(); s.PeerIRD != 3 || s.PeerORD != 2 || string(s.PeerPrivateData) != "welcome" {
			t.Errorf("the peer has IRD %d, ORD %d, says %q", s.PeerIRD, s.PeerORD, s.PeerPrivateData)
		}
		(<-served).Close()
	})
}

// TestRequestConfigOwner: who owns the receive queue is said before the Request comes. The Config
// of the Request does not change that, however often Accept is called.
func TestRequestConfigOwner(t *testing.T) {
	pool, other := newSharedPool(t, 1, 100), newSharedPool(t, 1, 100)
	for _, tt := range []struct {
		desc           string
		before, chosen extsock.Config
		wantCQ         *extsock.CompletionQueue // nil: the connection posts the buffers
		wantRead       error
	}{
		{"the program", pool.side().cfg, extsock.Config{Messages: true}, pool.cq, extsock.ErrMode},
		{"the program, another queue", pool.side().cfg, other.side().cfg, pool.cq, extsock.ErrMode},
		{"the connection", extsock.Config{}, other.side().cfg, nil, nil},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			x, y := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
			ci, cr := extsock.NewConn(x, true, &extsock.Config{Messages: true}), extsock.NewConn(y, false, &tt.before)
			defer ci.Close()
			defer cr.Close()
			dialed := make(chan error, 1)
			go func() { dialed <- ci.EnableDDP(timeLimit(t), nil) }()
			r, err := cr.ReceiveRequest(timeLimit(t))
			if err != nil {
				t.Fatal(err)
			}
			r.Config = &tt.chosen
			if err := r.Accept(timeLimit(t), make([]byte, 513)); !errors.Is(err, syscall.EMSGSIZE) {
				t.Errorf("Accept with too much private data = %v", err)
			}
			if err := errors.Join(r.Accept(timeLimit(t), nil), <-dialed); err != nil {
				t.Fatal(err)
			}
			if q := cr.RecvCQ(); q == other.cq || tt.wantCQ != nil && q != tt.wantCQ {
				t.Fatal("RecvCQ returns another queue")
			}
			if _, err := ci.Write([]byte("message")); err != nil {
				t.Fatal(err)
			}
			if _, err := cr.Read(make([]byte, 100)); !errors.Is(err, tt.wantRead) {
				t.Errorf("Read = %v, want %v", err, tt.wantRead)
			}
			if tt.wantCQ == nil {
				return
			}
			d, err := tt.wantCQ.Wait(timeLimit(t))
			if err != nil || d.Status != rdmap.StatusOK || d.Len != 7 {
				t.Fatalf("Completion %v, %v", d, err)
			}
			pool.post(t, d.ID)
		})
	}
	pool.wantAll(t)
	other.wantAll(t)
}

// TestRequestConfigTooLate: once the queues of the connection exist, its Config can't change.
func TestRequestConfigTooLate(t *testing.T) {
	bubble(t, func(t *testing.T) {
		network := simtoe.New(simtoe.Config{})
		l, err := extsock.Listen("tcp", "late:1", &extsock.Config{Backend: network, JudgeRequests: true})
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			if c, err := extsock.Dial("tcp", "late:1", &extsock.Config{Backend: network, Startup: extsock.StartupRequire}); err == nil {
				c.Close()
			}
		}()
		c, err := acceptConn(l)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		r, err := c.ReceiveRequest(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c.RecvCQ()
		r.Config = &extsock.Config{}
		if err := r.Accept(t.Context(), nil); !errors.Is(err, extsock.ErrBusy) {
			t.Errorf("Accept = %v, want ErrBusy", err)
		}
		r.Config = nil
		if err := r.Accept(t.Context(), nil); err != nil {
			t.Errorf("Accept = %v", err)
		}
	})
}

// TestReadMessageAtOnce: each of several Reads at once gets the Completion of its own message.
func TestReadMessageAtOnce(t *testing.T) {
	const messages, readers = 64, 4
	for round := range testmode.Rounds(100, 20) {
		bubble(t, func(t *testing.T) {
			ci, cr := simPair(t, simtoe.Config{}, inMessages, inMessages)
			for n := range messages {
				if err := ci.Post(&rdmap.WorkRequest{Op: rdmap.WorkSend, Data: make([]byte, n)}); err != nil {
					t.Fatal(err)
				}
			}
			if round%2 == 0 {
				settle()
			}
			var wg sync.WaitGroup
			for range readers {
				wg.Go(func() {
					for range messages / readers {
						n, m, err := cr.ReadMessage(make([]byte, messages))
						if int(m.Len) != n || m.Op != rdmap.WorkRecv || err != nil {
							t.Errorf("ReadMessage = %d bytes, %+v, %v", n, m, err)
						}
					}
				})
			}
			wg.Wait()
		})
	}
}
