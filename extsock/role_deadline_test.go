package extsock_test

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/simtoe"
)

// moved counts how often the read deadline of a Stream is set.
type moved struct {
	toe.Stream
	n atomic.Int32
}

func (m *moved) SetReadDeadline(t time.Time) error {
	m.n.Add(1)
	return m.Stream.SetReadDeadline(t)
}

// TestWriteDeadlineLeavesTheReader: a write deadline is nothing to a Read that receives for itself,
// so that one is not woken.
func TestWriteDeadlineLeavesTheReader(t *testing.T) {
	bubble(t, func(t *testing.T) {
		a, b := simtoe.Pair(simtoe.Config{}, simtoe.Config{})
		m := &moved{Stream: a}
		ci, cr := switched(t, m, b, side{}, side{})
		go io.Copy(struct{ io.Writer }{cr}, struct{ io.Reader }{cr})
		if err := pingPong(ci, 50); err != nil {
			t.Fatal(err)
		}
		read := make(chan error, 1)
		go func() { _, err := ci.Read(make([]byte, 1)); read <- err }()
		synctest.Wait()
		for _, tt := range []struct {
			desc string
			set  func(time.Time) error
			want bool
		}{{"write", ci.SetWriteDeadline, false}, {"read", ci.SetReadDeadline, true}} {
			before := m.n.Load()
			if err := tt.set(time.Now().Add(time.Hour)); err != nil {
				t.Error(err)
			}
			synctest.Wait()
			if got := m.n.Load() != before; got != tt.want {
				t.Errorf("the Read is woken by a %s deadline: %t", tt.desc, got)
			}
		}
		ci.Close()
		<-read
		cr.Close()
		settle()
	})
}
