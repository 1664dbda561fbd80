//go:build !race

package kernel

import (
	"errors"
	"os"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestBlockingDescriptor checks that ReadSegment and TryWriteBatch do not block in a system call
// even if O_NONBLOCK is off: any process that shares the socket can switch it off. Under the race
// detector, read depends on O_NONBLOCK.
func TestBlockingDescriptor(t *testing.T) {
	x, y := pairOf(t, &Backend{})
	for _, s := range []*Stream{x, y} {
		control(t, s, func(fd int) error { return unix.SetNonblock(fd, false) })
	}
	for _, short := range []bool{true, false} {
		y.short, y.late = short, false
		rescue := time.AfterFunc(prototest.Patience(t), func() { x.Write([]byte{1}) }) // ends a read that blocks
		y.SetReadDeadline(time.Now().Add(10 * time.Millisecond))
		n, _, err := y.ReadSegment(&late{make([]byte, 8)}, 0)
		if n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Fatalf("short %v: ReadSegment = %d, %v", short, n, err)
		}
		rescue.Stop()
	}
	rescue := time.AfterFunc(prototest.Patience(t), func() { y.Close() }) // ends a write that blocks
	defer rescue.Stop()
	for _, test := range []struct {
		desc string
		bufs [][]byte
	}{
		{"one slice", [][]byte{make([]byte, 64<<20)}},
		{"several slices", [][]byte{make([]byte, 64<<20), make([]byte, 10)}},
		{"a short slice", [][]byte{make([]byte, 10)}},
	} {
		if n, err := x.TryWriteBatch(test.bufs); n == 64<<20 || err != nil {
			t.Fatalf("%s: TryWriteBatch = %d, %v", test.desc, n, err)
		}
	}
	for _, s := range []*Stream{x, y} {
		if n := s.long.Load(); n != 0 {
			t.Errorf("%d long calls are under way at the end", n)
		}
	}
}
