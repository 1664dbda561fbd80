package extsock_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe/simtoe"
)

// TestReadMessage: ReadMessage returns the length of the message, and what the sender has asked
// for, with the first bytes of the message and not with the rest, whether the Read or the message
// comes first.
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
