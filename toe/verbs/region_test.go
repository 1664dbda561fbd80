package verbs

import (
	"errors"
	"runtime"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// TestPostWhileRegionCloses: a work request with a Region whose Close waits for the device is
// refused, and locks no other Region during that time. Otherwise two Posts with the same two
// Regions, and the Close of each Region, could deadlock.
func TestPostWhileRegionCloses(t *testing.T) {
	q, _ := newQueues(t, 4)
	q.list = make([]uverbs.SGE, 0, 2)
	memory := make([]byte, 16)
	open, closing := &Region{d: q.d, mapped: memory[:8], b: memory[:8]}, &Region{d: q.d, mapped: memory[8:], b: memory[8:]}
	closing.mu.Lock() // as Close locks it
	defer closing.mu.Unlock()
	closing.closed = true
	refused := make(chan error, 1)
	go func() { refused <- q.PostReceive(1, Segment{Region: open, Len: 8}, Segment{Region: closing, Len: 8}) }()
	for {
		select {
		case err := <-refused:
			if !errors.Is(err, ErrSegment) {
				t.Errorf("PostReceive = %v, want ErrSegment", err)
			}
			return
		default:
		}
		if !open.mu.TryLock() {
			t.Fatal("PostReceive waits for the Close of one Region, and the Close of the other one for PostReceive")
		}
		open.mu.Unlock() // +checklocksignore: the analyzer does not know TryLock
		runtime.Gosched()
	}
}

// TestAccess: a peer gets the rights that the program has named, by the kernel's numbers.
func TestAccess(t *testing.T) {
	for access, want := range map[ddp.Access]uverbs.Access{
		0: uverbs.LocalWrite, ddp.RemoteRead: uverbs.LocalWrite | uverbs.RemoteRead,
		ddp.RemoteWrite: uverbs.LocalWrite | uverbs.RemoteWrite, ddp.RemoteAtomic: uverbs.LocalWrite | uverbs.RemoteAtomic,
		ddp.RemoteRead | ddp.RemoteWrite | ddp.ReadSink: uverbs.LocalWrite | uverbs.RemoteRead | uverbs.RemoteWrite,
	} {
		if got := accessOf(access); got != want {
			t.Errorf("%v is %b, want %b", access, got, want)
		}
	}
}
