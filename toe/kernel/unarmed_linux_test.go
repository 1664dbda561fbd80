package kernel

import (
	"math/rand/v2"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/testmode"
	"github.com/rddp/rddp/toe"
	"github.com/rddp/rddp/toe/toetest"
)

// A crowded is a Stream whose watches always find another socket watched before them.
type crowded struct{ *Stream }

func (c crowded) Watch(g *toe.Gate) bool {
	lastWatched.Store(nil)
	return c.Stream.Watch(g)
}

// crowdedPair returns a connection that the watcher knows.
func crowdedPair(t testing.TB) (a, b crowded) {
	t.Helper()
	x, y := pairOf(t, &Backend{})
	for _, s := range []*Stream{x, y} {
		mustWatch(t, s, newGate())
		s.Unwatch()
	}
	return crowded{x}, crowded{y}
}

// TestContractInACrowd: a watch that is not armed at once keeps the promises of toe.Stream, too.
func TestContractInACrowd(t *testing.T) {
	toetest.TestStream(t, func(t *testing.T) (a, b toe.Stream) {
		x, y := crowdedPair(t)
		return x, y
	})
}

// sockets returns the sockets in the list, in order, and reports whether the list is sound.
func (u *unarmedList) sockets() (all []*socket, sound bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	var prev *socket
	sound = true
	for s := u.first; s != nil; s = s.watch.link.next {
		all = append(all, s)
		sound = sound && s.watch.link.prev == prev && s.watch.link.listed.Load()
		prev = s
	}
	sound = sound && u.last == prev && (u.oldest.Load() == 0) == (prev == nil)
	if len(all) > 0 {
		sound = sound && u.oldest.Load() == all[0].watch.link.since
	}
	return all, sound
}

// TestUnarmedList: sockets come to the end of the list, and leave it from any place.
func TestUnarmedList(t *testing.T) {
	var list unarmedList
	var sockets [6]socket
	var want []*socket
	r := rand.New(rand.NewPCG(1, 2))
	for step := range 10_000 {
		s := &sockets[r.IntN(len(sockets))]
		at := -1
		for i, other := range want {
			if other == s {
				at = i
			}
		}
		if r.IntN(2) == 0 {
			if list.add(s); at < 0 {
				want = append(want, s)
			}
		} else {
			if list.remove(s); at >= 0 {
				want = append(want[:at:at], want[at+1:]...)
			}
		}
		got, sound := list.sockets()
		same := len(got) == len(want)
		for i := range got {
			same = same && got[i] == want[i]
		}
		if !sound || !same {
			t.Fatalf("step %d: the list has %d sockets, want %d; sound %t", step, len(got), len(want), sound)
		}
	}
}

// TestUnarmedUntilSomebodyWaits: in a crowd the kernel does not learn of a watch that ends soon. A
// goroutine that is about to wait arms the watches that have lasted for a while.
func TestUnarmedUntilSomebodyWaits(t *testing.T) {
	_, b := crowdedPair(t)
	_, other := crowdedPair(t)
	w := current()
	w.keeps.Store(true) // the third goroutine does nothing
	defer w.keeps.Store(false)
	look := func() {
		t.Helper()
		if n, _, err := other.PollSegment(toetest.Into(make([]byte, 8)), 0); n != 0 || err != nil {
			t.Fatalf("PollSegment = %d, %v", n, err)
		}
	}
	g := newGate()
	mustWatch(t, b, g)
	b.Unwatch()
	if all, _ := unarmed.sockets(); len(all) > 0 || b.watch.armed.Load() {
		t.Errorf("after Unwatch the list has %d sockets; armed %t", len(all), b.watch.armed.Load())
	}
	mustWatch(t, b, g)
	if b.watch.armed.Load() {
		t.Error("armed at once")
	}
	began := sinceStarted()
	prototest.Wait(t, "the watch is old", func() bool { return sinceStarted()-began > int64(unarmedTime) })
	if look(); !b.watch.armed.Load() {
		t.Error("a goroutine that is about to wait has not armed the watch")
	}
	if all, _ := unarmed.sockets(); len(all) > 0 {
		t.Errorf("the list has %d sockets", len(all))
	}
	b.Unwatch()
	mustWatch(t, b, g)
	b.Close()
	g.Wait()
	if all, _ := unarmed.sockets(); len(all) > 0 {
		t.Error("a socket that is closed is in the list")
	}
}

// TestUnarmedWhileNobodyWaits: bytes for a watch in the list open its Gate although no goroutine of
// the process is about to wait.
func TestUnarmedWhileNobodyWaits(t *testing.T) {
	a, b := crowdedPair(t)
	for range 3 {
		g := newGate()
		mustWatch(t, b, g)
		mustWrite(t, a)
		opened := make(chan struct{})
		go func() {
			g.Wait()
			close(opened)
		}()
		prototest.Wait(t, "the Gate opens", func() bool {
			select {
			case <-opened:
				return true
			default:
				return false
			}
		})
		if n, _, err := toetest.ReadSegment(b, make([]byte, 8)); n != 1 || err != nil {
			t.Fatalf("ReadSegment = %d, %v", n, err)
		}
	}
}

// TestUnarmedAllocatesNothing: nor does a watch of a crowd.
func TestUnarmedAllocatesNothing(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	_, b := crowdedPair(t)
	g := newGate()
	if n := testing.AllocsPerRun(1000, func() {
		b.Watch(g)
		b.Unwatch()
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestAloneIsArmed: a socket that is watched twice in a row is armed at once.
func TestAloneIsArmed(t *testing.T) {
	_, b := crowdedPair(t)
	g := newGate()
	mustWatch(t, b.Stream, g)
	b.Unwatch()
	mustWatch(t, b.Stream, g)
	if !b.watch.armed.Load() {
		t.Error("not armed")
	}
	b.Unwatch()
}
