package toetest

import (
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/toe"
)

// newGate returns a Gate that is shut, for s.
func newGate(s toe.Stream) *toe.Gate { return toe.NewGate(s.Capabilities().Watch) }

// await waits until g is open.
func await(t *testing.T, g *toe.Gate) {
	t.Helper()
	late := time.AfterFunc(prototest.Patience(t), func() {
		t.Error("the Gate does not open")
		g.Open()
	})
	g.Wait()
	late.Stop()
}

// watch calls s.Watch(g). It returns false for a Stream that can't be watched, which must say so in
// its Capabilities and at each call.
func watch(t *testing.T, s toe.Stream, g *toe.Gate) bool {
	t.Helper()
	ok := s.Watch(g)
	if can := s.Capabilities().Watch; ok != (can != toe.WatchNone) {
		t.Fatalf("Watch() = %v, Capabilities().Watch = %v", ok, can)
	}
	if !ok {
		s.Unwatch()
	}
	return ok
}

// write writes text to s.
func write(t *testing.T, s toe.Stream, text string) {
	t.Helper()
	if err := WriteBatch(s, [][]byte{[]byte(text)}); err != nil {
		t.Fatalf("WriteBatch = %v", err)
	}
}

// testWatch checks that the Gate opens for bytes that come after Watch, and for bytes that were
// there before.
func testWatch(t *testing.T, a, b toe.Stream) {
	g := newGate(b)
	if !watch(t, b, g) {
		return
	}
	write(t, a, "after")
	await(t, g)
	if got := readString(t, b, 0, 1); got != "a" {
		t.Errorf("read %q, want %q", got, "a")
	}
	for range 3 { // the rest of the bytes are there before each of these
		if n := 4; b.Capabilities().Pending {
			waitPending(t, b, n)
		}
		watch(t, b, g)
		await(t, g)
	}
	readString(t, b, 1, 4)
}

// testWatchEnds checks that the Gate opens at the end of the stream, each time that it is watched.
func testWatchEnds(t *testing.T, a, b toe.Stream) {
	g := newGate(b)
	if !watch(t, b, g) {
		return
	}
	a.CloseWrite()
	a.Close()
	await(t, g)
	for range 3 {
		if _, err := readInOrder(b, make([]byte, 1), 0); err != io.EOF {
			t.Errorf("ReadSegment at the end = %v, want io.EOF", err)
		}
		watch(t, b, g)
		await(t, g)
	}
}

func testWatchPeerAborts(t *testing.T, a, b toe.Stream) {
	g := newGate(b)
	if !watch(t, b, g) {
		return
	}
	a.Abort()
	await(t, g)
	for range 3 {
		if _, _, err := ReadSegment(b, make([]byte, 1)); err == nil {
			t.Error("ReadSegment after the peer's Abort = nil, want an error")
		}
		watch(t, b, g)
		await(t, g)
	}
}

// testWatchClosed checks that Close opens the Gate, and that the Gate of a closed Stream opens.
func testWatchClosed(t *testing.T, a, b toe.Stream) {
	g := newGate(b)
	if !watch(t, b, g) {
		return
	}
	b.Close()
	await(t, g)
	watch(t, b, g)
	await(t, g)
	b.Unwatch()
	a.Close() // was never watched, and may have another backend than b
	if watch(t, a, g) {
		await(t, g)
	}
}

// testWatchReplaced checks that a Gate does not open after Unwatch, or after a Watch with another
// Gate.
func testWatchReplaced(t *testing.T, a, b toe.Stream) {
	g, h := newGate(b), newGate(b)
	if !watch(t, b, g) {
		return
	}
	var opened atomic.Bool
	waiter := inBackground(func() error {
		g.Wait()
		opened.Store(true)
		return nil
	})
	watch(t, b, h)
	write(t, a, "1")
	await(t, h)
	readString(t, b, 0, 1)
	watch(t, b, g)
	b.Unwatch()
	b.Unwatch() // changes nothing
	write(t, a, "2")
	readString(t, b, 1, 1)
	watch(t, b, h)
	write(t, a, "3")
	await(t, h)
	if opened.Load() {
		t.Error("a Gate has opened that no watch has")
	}
	g.Open()
	waiter()
}

// testWatchWhileReading arms the watch again and again, also without an Unwatch before it reads, so
// that Gates open late.
func testWatchWhileReading(t *testing.T, a, b toe.Stream) {
	g := newGate(b)
	if !watch(t, b, g) {
		return
	}
	const rounds = 2000
	turn := make(chan struct{}, 1)
	writer := inBackground(func() error {
		for range rounds {
			<-turn
			if err := WriteBatch(a, [][]byte{{'x'}}); err != nil {
				return err
			}
		}
		return nil
	})
	for i := range rounds {
		turn <- struct{}{}
		switch i % 4 {
		case 0: // not watched, or still watched from an earlier round
		case 1:
			watch(t, b, g)
		case 2:
			watch(t, b, g)
			b.Unwatch()
		case 3:
			watch(t, b, g)
			await(t, g) // perhaps for bytes of earlier rounds
		}
		n, off, err := b.ReadSegment(Into(make([]byte, 1)), time.Duration(i%3)*10*time.Microsecond)
		if n != 1 || off != uint64(i) || err != nil {
			t.Fatalf("ReadSegment = %d, %d, %v, want 1, %d, nil", n, off, err, i)
		}
	}
	wantErr(t, "WriteBatch", writer(), nil)
}
