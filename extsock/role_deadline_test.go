package extsock_test

import (
	"io"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/extsock"
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
		for tries := 0; ; tries++ { // a message that was there before the Read waited leaves the role to the home goroutine
			go func() { _, err := ci.Read(make([]byte, 1)); read <- err }()
			synctest.Wait()
			if extsock.Driving(ci) {
				break
			}
			if tries == 100 {
				t.Fatal("no Read receives for itself")
			}
			if _, err := ci.Write([]byte{1}); err != nil { // its echo ends the Read
				t.Fatal(err)
			}
			if err := <-read; err != nil {
				t.Fatal(err)
			}
		}
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
