package netconn_test

import (
	"errors"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
	"github.com/rddp/rddp/toe/toetest"
)

// nowhere is a net.Conn that accepts every byte and returns zeros forever.
type nowhere struct{ net.Conn }

func (nowhere) Read(p []byte) (int, error)  { return len(p), nil }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) SetDeadline(time.Time) error { return nil }

// late is a Lender that takes its memory back.
type late struct{ p []byte }

func (l late) Lend() []byte { return l.p }
func (late) TakeBack() bool { return false }

func read(s toe.Stream, l toe.Lender) func() error {
	return func() error {
		_, _, err := s.ReadSegment(l, 0)
		return err
	}
}

func TestNewAllocations(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	direct, buffered := netconn.New(nowhere{}), netconn.NewBuffered(nowhere{})
	small, large := make([]byte, 20), make([]byte, 20_000)
	bufs := make([][]byte, 3)
	for _, test := range []struct {
		desc string
		f    func() error
	}{
		{"ReadSegment, memory kept", read(direct, toetest.Into(make([]byte, 8192)))},
		{"ReadSegment, memory taken back", read(direct, late{make([]byte, 8192)})},
		{"Write", func() error {
			_, err := direct.Write(small)
			return err
		}},
		{"Write, buffered", func() error {
			_, err := buffered.Write(large)
			return err
		}},
		{"TryWriteBatch", func() error {
			_, err := direct.TryWriteBatch(append(bufs[:0], small, large, small))
			return errors.Join(err, direct.WaitWritable())
		}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			var failed error
			if n := testing.AllocsPerRun(100, func() {
				if err := test.f(); err != nil {
					failed = err
				}
			}); n != 0 {
				t.Errorf("%v allocations, want 0", n)
			}
			if failed != nil {
				t.Error(failed)
			}
		})
	}
}
