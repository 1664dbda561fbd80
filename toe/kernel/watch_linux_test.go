package kernel

import (
	"bytes"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
)

// newGate returns a Gate that is shut.
func newGate() *toe.Gate {
	g := new(toe.Gate)
	g.Wait()
	return g
}

// current returns the watcher of the process, or nil.
func current() *watcher {
	watching.mu.Lock()
	defer watching.mu.Unlock()
	return watching.now
}

// descriptors returns the targets of the descriptors of the process.
func descriptors(t *testing.T) (names []string) {
	t.Helper()
	dir, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Skip(err)
	}
	for _, e := range dir {
		name, _ := os.Readlink("/proc/self/fd/" + e.Name())
		names = append(names, name)
	}
	return names
}

// wantNoWatcher fails the test unless nothing of the watcher is left after a while.
func wantNoWatcher(t *testing.T) {
	t.Helper()
	if w := current(); w != nil {
		t.Errorf("no socket is watched, and there is a watcher of %d", len(w.watches))
	}
	polls, events := 0, 0
	for _, name := range descriptors(t) {
		if strings.Contains(name, "eventpoll") {
			polls++
		}
		if strings.Contains(name, "eventfd") {
			events++
		}
	}
	if polls > 1 || events > 1 { // the netpoller has one of each
		t.Errorf("there are %d epoll instances and %d eventfds, want those of the netpoller", polls, events)
	}
	b := make([]byte, 1<<20)
	prototest.Wait(t, "the watcher ends", func() bool { return !bytes.Contains(b[:runtime.Stack(b, true)], []byte("(*watcher).run")) })
}

// mustWatch calls s.Watch(g), which must succeed.
func mustWatch(t testing.TB, s toe.Stream, g *toe.Gate) {
	t.Helper()
	if !s.Watch(g) {
		t.Fatal("Watch = false")
	}
}

func mustWrite(t testing.TB, s toe.Stream) {
	t.Helper()
	if err := toetest.WriteBatch(s, [][]byte{{'x'}}); err != nil {
		t.Fatal(err)
	}
}

// TestWatchMany: more sockets than one system call reports are watched at once, and the last one
// that is closed ends the watcher.
func TestWatchMany(t *testing.T) {
	const n = 150
	var as, bs [n]*Stream
	var gates [n]toe.Gate
	for i := range n {
		as[i], bs[i] = pairOf(t, &Backend{})
		gates[i].Wait()
		mustWatch(t, bs[i], &gates[i])
	}
	for range 3 {
		for _, a := range as {
			mustWrite(t, a)
		}
		for i := range gates {
			gates[i].Wait()
			mustWatch(t, bs[i], &gates[i]) // opens again, because nobody has read
		}
	}
	for _, b := range bs[:n-1] {
		b.Close()
	}
	gates[n-1].Wait()
	mustWatch(t, bs[n-1], &gates[n-1])
	gates[n-1].Wait()
	bs[n-1].Abort()
	wantNoWatcher(t)
}

// TestWatcherBlocks: after many watches without a report, but not after few, a separate thread
// waits for reports. Reports still open the Gate, and Close ends the wait.
func TestWatcherBlocks(t *testing.T) {
	setProcessors(t, 2)
	a, b := pairOf(t, &Backend{})
	g := newGate()
	mustWatch(t, b, g)
	w := current()
	quiet := func() bool {
		b.Unwatch()
		mustWatch(t, b, g)
		return w.blocked.Load()
	}
	prototest.Wait(t, "the second goroutine blocks", quiet)
	if n := w.calm.Load(); n < 64 {
		t.Errorf("blocked after %d watches", n)
	}
	for range 3 {
		mustWrite(t, a)
		g.Wait()
		mustWatch(t, b, g) // opens again, because nobody has read
	}
	g.Wait()
	for n, p := 0, make([]byte, 3); n < len(p); {
		k, _, err := toetest.ReadSegment(b, p[n:])
		if err != nil {
			t.Fatal(err)
		}
		n += k
	}
	w.calm.Store(calmMost)
	prototest.Wait(t, "the second goroutine blocks again", quiet)
	b.Close()
	a.Close()
	wantNoWatcher(t)
}

// TestWatcherKeepsTheProcessor: the system call in which the thread would wait keeps a processor of
// the runtime for some milliseconds, so there is no such thread if the runtime has only one
// processor.
func TestWatcherKeepsTheProcessor(t *testing.T) {
	setProcessors(t, 1)
	_, b := pairOf(t, &Backend{})
	g := newGate()
	for range 16 * calmFirst {
		mustWatch(t, b, g)
		b.Unwatch()
		runtime.Gosched() // the second goroutine runs
	}
	watching.mu.Lock()
	defer watching.mu.Unlock()
	if w := watching.now; w.blocked.Load() || w.waker >= 0 {
		t.Error("the second goroutine blocks")
	}
}

// setProcessors sets the number of processors of the runtime, for one test.
func setProcessors(t *testing.T, n int) {
	before := runtime.GOMAXPROCS(n)
	t.Cleanup(func() { runtime.GOMAXPROCS(before) })
}

// TestWatchLowersTheMark: the reader has raised SO_RCVLOWAT, which would hide a short segment.
func TestWatchLowersTheMark(t *testing.T) {
	a, b := pairOf(t, &Backend{})
	g := newGate()
	for _, there := range []bool{false, true} {
		mustWatch(t, b, g) // also a watch that is armed must lower the mark
		control(t, b, func(fd int) error {
			b.poll.setMark(uintptr(fd), highMark)
			return nil
		})
		if there {
			mustWrite(t, a)
		}
		mustWatch(t, b, g)
		if !there {
			mustWrite(t, a)
		}
		g.Wait()
	}
}

// TestWatchAllocatesNothing: the first Watch of a socket registers it, and the others allocate
// nothing.
func TestWatchAllocatesNothing(t *testing.T) {
	_, b := pairOf(t, &Backend{})
	g := newGate()
	mustWatch(t, b, g)
	if n := testing.AllocsPerRun(100, func() { mustWatch(t, b, g); b.Unwatch() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWatchAllocatesNothingWhenItFires checks the same for the watcher.
func TestWatchAllocatesNothingWhenItFires(t *testing.T) {
	a, b := pairOf(t, &Backend{})
	g := newGate()
	mustWatch(t, b, g)
	mustWrite(t, a)
	g.Wait()
	if n := testing.AllocsPerRun(100, func() { mustWatch(t, b, g); g.Wait() }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestWatchAndClose: several goroutines call Watch, Unwatch and Close at the same time. The Gate of
// the last Watch opens, and nothing of the watcher is left.
func TestWatchAndClose(t *testing.T) {
	for range 100 {
		a, b := pairOf(t, &Backend{})
		var all sync.WaitGroup
		all.Go(func() {
			g := newGate()
			for range 5 {
				mustWatch(t, b, g)
				b.Unwatch()
			}
			mustWatch(t, b, g)
			g.Wait()
		})
		all.Go(func() { b.Close() })
		all.Go(func() { b.Abort() })
		all.Go(func() { mustWatch(t, a, newGate()); a.Close() })
		all.Wait()
	}
	wantNoWatcher(t)
}

// TestWatchEndsWithTheStream: after the end of the stream there is nothing to watch for, even if
// the program never closes the socket, and a Gate opens at once.
func TestWatchEndsWithTheStream(t *testing.T) {
	for _, end := range []func(*Stream) error{(*Stream).Close, (*Stream).Abort} {
		a, b := pairOf(t, &Backend{})
		g := newGate()
		mustWatch(t, b, g)
		end(a)
		g.Wait()
		if _, _, err := b.ReadSegment(&late{p: make([]byte, 10)}, 0); err == nil {
			t.Error("ReadSegment after the end succeeded")
		}
		if current() != nil {
			t.Fatal("the stream has ended, and the socket is watched")
		}
		wantNoWatcher(t)
		mustWatch(t, b, g)
		g.Wait()
		b.Unwatch()
		b.Close()
	}
}

// registrations returns the registrations with the watcher, a line for each descriptor.
func registrations(t *testing.T) (lines int) {
	t.Helper()
	info, err := os.ReadFile(fmt.Sprintf("/proc/self/fdinfo/%d", current().epfd))
	if err != nil {
		t.Skip(err)
	}
	return bytes.Count(info, []byte("tfd:"))
}

// TestWatchOfADuplicate: epoll itself would forget a socket only when the last duplicate of its
// descriptor is closed.
func TestWatchOfADuplicate(t *testing.T) {
	a, b := pairOf(t, &Backend{})
	_, other := pairOf(t, &Backend{})
	mustWatch(t, other, newGate()) // keeps the watcher
	g := newGate()
	mustWatch(t, b, g)
	if n := registrations(t); n != 2 {
		t.Fatalf("%d descriptors are registered, want 2", n)
	}
	f, err := b.File()
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b.Close()
	g.Wait()
	if n := registrations(t); n != 1 {
		t.Errorf("%d descriptors are registered, want that of the Stream that is not closed", n)
	}
	mustWrite(t, a)
	other.Close()
	wantNoWatcher(t)
}

// TestWatchInABubble: a watcher that a bubble has started does not belong to the bubble, which ends
// while another socket is watched.
func TestWatchInABubble(t *testing.T) {
	wantNoWatcher(t)
	a, b := pairOf(t, &Backend{})
	g := newGate()
	synctest.Test(t, func(t *testing.T) {
		c, d := pairOf(t, &Backend{})
		inside := newGate()
		for range 10 {
			mustWatch(t, d, inside)
			mustWrite(t, c)
			inside.Wait()
			if _, _, err := toetest.ReadSegment(d, make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
		}
		mustWatch(t, b, g) // a Stream from outside
		d.Close()
	})
	mustWrite(t, a)
	g.Wait()
	b.Close()
	wantNoWatcher(t)
	// The end of a watcher does not belong to a bubble either.
	synctest.Test(t, func(t *testing.T) {
		_, d := pairOf(t, &Backend{})
		mustWatch(t, d, newGate())
		d.Close()
	})
	wantNoWatcher(t)
}

// TestInBubble: inBubble looks only at the header of a stack.
func TestInBubble(t *testing.T) {
	if inBubble() {
		t.Error("inBubble() = true outside")
	}
	synctest.Test(t, func(t *testing.T) {
		if !inBubble() {
			t.Error("inBubble() = false in a bubble")
		}
	})
}

// TestWatchRefused: the process can have no more descriptors. Watch says so, and does not try
// again.
func TestWatchRefused(t *testing.T) {
	a, b := pairOf(t, &Backend{})
	var old unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	none := unix.Rlimit{Cur: 3, Max: old.Max}
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &none); err != nil {
		t.Skip(err)
	}
	g := newGate()
	ok := b.Watch(g)
	if err := unix.Setrlimit(unix.RLIMIT_NOFILE, &old); err != nil {
		t.Fatal(err)
	}
	if ok || b.Watch(g) {
		t.Error("Watch = true")
	}
	b.Unwatch()
	mustWrite(t, a)
	if _, _, err := toetest.ReadSegment(b, make([]byte, 1)); err != nil {
		t.Error(err)
	}
	b.Close()
	mustWatch(t, a, g) // another Stream
	a.Close()
	g.Wait()
	wantNoWatcher(t)
}
