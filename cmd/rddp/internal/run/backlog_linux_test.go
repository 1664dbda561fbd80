//go:build amd64 || arm64

package run

import (
	"encoding/binary"
	"io"
	"os"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// newPipeChannel returns a channel and the program's end of it.
func newPipeChannel(t *testing.T) (c *channel, far *os.File) {
	t.Helper()
	var ends [2]int
	if err := unix.Pipe2(ends[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		t.Fatal(err)
	}
	c, far = &channel{in: new(eventChannels), near: ends[1]}, os.NewFile(uintptr(ends[0]), "the program's end")
	t.Cleanup(func() { c.Close(); far.Close() })
	return c, far
}

func event(n uint64) []byte { return binary.NativeEndian.AppendUint64(nil, n) }

// TestManyUnreadEvents: the program gets all events in order, however many it leaves unread.
func TestManyUnreadEvents(t *testing.T) {
	c, far := newPipeChannel(t)
	const n = 20_000
	for i := range uint64(n) {
		if !c.Send(event(i)) {
			t.Fatalf("event %d is lost", i)
		}
	}
	if c.Send(event(n - 1)) {
		t.Error("an event that waits already was added again")
	}
	taken := func(e []byte) bool { return binary.NativeEndian.Uint64(e)%5 == 0 }
	if got := c.TakeBack(taken); got != n/5 {
		t.Errorf("%d events taken back, want %d", got, n/5)
	}
	b := make([]byte, 8)
	for i := range uint64(n) {
		if i%5 == 0 {
			continue
		}
		if _, err := io.ReadFull(far, b); err != nil || binary.NativeEndian.Uint64(b) != i {
			t.Fatalf("read event %d, %v, want %d", binary.NativeEndian.Uint64(b), err, i)
		}
	}
	prototest.Wait(t, "the end of the backlog", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return c.later.end == nil && len(c.later.known) == 0
	})
	if !c.Send(event(5)) {
		t.Error("an event after that is lost")
	}
}

// TestCloseWithUnreadEvents: closing a channel leaves no goroutine behind, and the program sees the
// end of the pipe.
func TestCloseWithUnreadEvents(t *testing.T) {
	c, far := newPipeChannel(t)
	for i := range uint64(10_000) {
		c.Send(event(i))
	}
	c.Close()
	b, err := io.ReadAll(far) // ends once the goroutine has closed its copy
	if err != nil || len(b)%8 != 0 || len(b) < 8*4096 {
		t.Errorf("%d bytes, %v", len(b), err)
	}
}
