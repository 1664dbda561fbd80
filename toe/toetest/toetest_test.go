package toetest

import (
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/netconn"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A broken is a Stream whose ReadSegment breaks the contract.
type broken struct {
	toe.Stream
	how   func(p []byte, n int, off uint64, calls int) (int, uint64)
	calls int
}

func (b *broken) ReadSegment(l toe.Lender, patience time.Duration) (int, uint64, error) {
	n, off, err := b.Stream.ReadSegment(l, patience)
	b.calls++
	if err == nil {
		n, off = b.how(l.Lend(), n, off, b.calls)
	}
	return n, off, err
}

// TestTransferFinds checks that Transfer detects a Stream that breaks the contract.
func TestTransferFinds(t *testing.T) {
	const size = 1 << 20
	const aLostByte = "a lost byte"
	for _, test := range []struct {
		desc string
		ok   bool
		how  func(p []byte, n int, off uint64, calls int) (int, uint64)
	}{
		{"nothing", true, func(_ []byte, n int, off uint64, _ int) (int, uint64) { return n, off }},
		{"a wrong byte", false, func(p []byte, n int, off uint64, calls int) (int, uint64) {
			if calls == 9 {
				p[n-1] ^= 1
			}
			return n, off
		}},
		{"an offset too high", false, func(_ []byte, n int, off uint64, calls int) (int, uint64) {
			if calls >= 9 {
				off++
			}
			return n, off
		}},
		{"an offset too low", false, func(_ []byte, n int, off uint64, calls int) (int, uint64) {
			if calls == 9 {
				off--
			}
			return n, off
		}},
		{aLostByte, false, func(_ []byte, n int, off uint64, calls int) (int, uint64) {
			if calls == 9 {
				n--
			}
			return n, off
		}},
		{"nothing read", false, func(_ []byte, n int, off uint64, calls int) (int, uint64) {
			if calls == 9 {
				n = 0
			}
			return n, off
		}},
	} {
		t.Run(test.desc, func(t *testing.T) {
			x, y := net.Pipe()
			a, b := netconn.New(x), netconn.New(y)
			defer a.Close()
			defer b.Close()
			limit := prototest.Deadline(t)
			if test.desc == aLostByte {
				limit = time.Now().Add(20 * soon) // all that shows is that the stream never ends
			}
			a.SetDeadline(limit)
			b.SetDeadline(limit)
			if err := Transfer(a, &broken{Stream: b, how: test.how}, size, 1); (err == nil) != test.ok {
				t.Errorf("Transfer = %v, want nil: %v", err, test.ok)
			}
		})
	}
}
