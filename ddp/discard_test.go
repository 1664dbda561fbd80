package ddp

import (
	"bytes"
	"errors"
	"runtime"
	"testing"
)

// A slowMemory is far memory that signals when a write begins, and waits until the test lets it
// continue.
type slowMemory struct {
	*farMemory
	begun, goOn chan struct{}
}

func (m slowMemory) WriteAt(p []byte, off int64) (int, error) {
	m.begun <- struct{}{}
	<-m.goOn
	return m.farMemory.WriteAt(p, off)
}

// TestDiscard: a Write of a stream after Discard changes nothing and is not an error, but real
// errors are still found. Nothing is read for its peer. Other streams continue, even one with the
// same number, and so does the owner.
func TestDiscard(t *testing.T) {
	p := newPair(t)
	other := newPairWith(t, func(c *ReceiverConfig) { c.Stream = NewStream(p.domain, stream+1) })
	near := newGuarded(100)
	r := register(t, p.domain, near.mem, RemoteWrite, 0)
	far := &farMemory{b: bytes.Repeat([]byte{guard}, 100), bad: -1}
	f, err := p.domain.RegisterMemory(far, 0, farBase, 100, RemoteWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte("abcdef")
	p.r.config.Stream.Discard()
	for _, x := range []*Region{r, f} {
		p.send(write(x, 0, payload), 1000)
		p.wantMessage("a Write that is discarded")
		if early := cut(&p.s, &[]Message{write(x, 0, payload)}[0], 1000)[0]; p.r.TryPlace(p.off, early) || p.r.Destination(early) != nil {
			t.Error("a segment that is discarded has a place")
		}
	}
	if !untouched(near.mem) || !untouched(far.b) {
		t.Errorf("the memory is %q and %q", near.mem, far.b)
	}
	other.send(write(r, 0, payload), 1000)
	other.wantMessage("a Write of another stream")
	again := newPairWith(t, func(c *ReceiverConfig) { c.Stream = NewStream(p.domain, stream) })
	again.send(write(f, 0, payload), 1000)
	again.wantMessage("a Write of a stream with the same number")
	if !bytes.HasPrefix(near.mem, payload) || !bytes.HasPrefix(far.b, payload) {
		t.Errorf("the memory is %q and %q", near.mem, far.b)
	}
	for _, x := range []*Region{r, f} {
		m := Message{Tagged: true, Len: 8, Source: x, SourceTO: x.TO(), SourceStream: p.r.config.Stream}
		p.s.Start(&m)
		var access *AccessError
		if p.s.Next(1000) || !errors.As(p.s.Err(), &access) || !access.Discarded || access.TO != x.TO() || access.Stream != stream {
			t.Errorf("the Sender goes on: %v", p.s.Err())
		}
		if _, err := p.r.config.Stream.Update64(x, 0, func(uint64) uint64 { return 0 }); !errors.As(err, &access) || !access.Discarded {
			t.Errorf("an atomic of the peer: %v", err)
		}
		if old, err := x.Update64(0, func(v uint64) uint64 { return v }); err != nil || old == 0 {
			t.Errorf("Update64 of the owner: %#x, %v", old, err)
		}
	}
	p.send(write(r, 99, payload), 1000)
	if p.r.Deliver(p.off); p.r.Err() == nil {
		t.Error("a Write out of bounds was accepted")
	}
}

// TestDiscardWaits: Discard returns when no copy is in progress, not even in a Region whose
// Deregister waits for that copy.
func TestDiscardWaits(t *testing.T) {
	t.Run("registered", func(t *testing.T) { testDiscardWaits(t, func(*Region) {}) })
	t.Run("Deregister has begun", func(t *testing.T) { testDiscardWaits(t, (*Region).Deregister) })
}

func testDiscardWaits(t *testing.T, meanwhile func(*Region)) {
	p := newPair(t)
	m := slowMemory{&farMemory{b: make([]byte, 10), bad: -1}, make(chan struct{}), make(chan struct{})}
	r, err := p.domain.RegisterMemory(m, 0, farBase, 10, RemoteWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	placed, discards := make(chan struct{}), make(chan bool, 1)
	go func() {
		p.send(write(r, 0, []byte{1}), 1000)
		close(placed)
	}()
	<-m.begun
	go meanwhile(r)
	for range 10_000 {
		runtime.Gosched()
	}
	go func() {
		p.r.config.Stream.Discard()
		m.mu.Lock()
		defer m.mu.Unlock()
		discards <- m.b[0] == 1
	}()
	for range 10_000 {
		runtime.Gosched()
	}
	m.goOn <- struct{}{}
	if !<-discards {
		t.Error("Discard has returned before the copy was over")
	}
	<-placed
}
