package netconn_test

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testmode"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
)

// nowhere is a net.Conn that takes every octet and gives zeros for ever.
type nowhere struct{ net.Conn }

func (nowhere) Read(p []byte) (int, error)  { return len(p), nil }
func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) SetDeadline(time.Time) error { return nil }

func TestNewAllocations(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	s := netconn.New(nowhere{})
	vectored, peer := unixPair(t)
	v := netconn.New(vectored)
	defer v.Close()
	defer peer.Close()
	go io.Copy(io.Discard, peer)

	buffered := netconn.NewBuffered(nowhere{})

	p, small, large := make([]byte, 8192), make([]byte, 20), make([]byte, 20_000)
	bufs := make([][]byte, 3)
	for _, test := range []struct {
		desc string
		f    func() error
	}{
		{"Readable and ReadSegment", func() error {
			if err := s.Readable(); err != nil {
				return err
			}
			_, _, err := s.ReadSegment(p)
			return err
		}},
		{"WriteBatch, gathered", func() error {
			return s.WriteBatch(append(bufs[:0], small, large, small))
		}},
		{"WriteBatch, buffered", func() error {
			return buffered.WriteBatch(append(bufs[:0], small, large, small))
		}},
		{"TryWriteBatch, buffered", func() error {
			_, err := buffered.(toe.TryWriter).TryWriteBatch(append(bufs[:0], small, large, small))
			return err
		}},
		{"WriteBatch, vectored", func() error {
			return v.WriteBatch(append(bufs[:0], small, large, small))
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
