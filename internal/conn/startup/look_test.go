package startup

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// A bounds is a Stream that counts the deadlines of its reads.
type bounds struct {
	toe.Stream
	n atomic.Int32
}

func (b *bounds) SetReadDeadline(t time.Time) error {
	b.n.Add(1)
	return b.Stream.SetReadDeadline(t)
}

// TestLookBesideARead: a Look leaves the stream's deadline alone while a Read waits, because a
// deadline of the Look would end the Read.
func TestLookBesideARead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		s := &bounds{Stream: a}
		h := New(s, Config{Off: true})
		use := func(f func()) {
			_, err := h.Enter(Reading)
			wantErr(t, "Enter", err, nil)
			defer h.Leave(Reading)
			f()
		}
		look := func() {
			use(func() {
				err := h.Look(make([]byte, 10), func(data []byte, end error) (int, bool) {
					if len(data) > 0 || end != nil {
						t.Errorf("the Look shows %q, %v", data, end)
					}
					return 0, true
				})
				wantErr(t, "Look", err, nil)
			})
		}
		look()
		if n := s.n.Load(); n != 2 {
			t.Errorf("a Look has set the deadline %d times, want 2: its own, and none", n)
		}
		read := make(chan error)
		go use(func() {
			_, err := h.Read(make([]byte, 1))
			read <- err
		})
		synctest.Wait()
		look()
		if n := s.n.Load(); n != 2 {
			t.Errorf("a Look beside a Read has set the deadline %d times", n-2)
		}
		b.Write([]byte("x"))
		wantErr(t, "Read", <-read, nil)
		a.Close()
		b.Close()
	})
}
