package ddp

import (
	"bytes"
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
// errors are still found. Other streams continue.
func TestDiscard(t *testing.T) {
	p := newPair(t)
	other := newPairWith(t, func(c *ReceiverConfig) { c.Domain, c.Stream = p.domain, stream+1 })
	near := newGuarded(100)
	r := register(t, p.domain, near.mem, RemoteWrite, 0)
	far := &farMemory{b: bytes.Repeat([]byte{guard}, 100), bad: -1}
	f, err := p.domain.RegisterMemory(far, 0, farBase, 100, RemoteWrite, 0)
	if err != nil {
		t.Fatal(err)
	}
	payload := []byte("abcdef")
	forget := p.domain.Discard(stream)
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
	forget()
	p.send(write(f, 0, payload), 1000)
	p.wantMessage("a Write of a stream with the same number")
	if !bytes.HasPrefix(near.mem, payload) || !bytes.HasPrefix(far.b, payload) {
		t.Errorf("the memory is %q and %q", near.mem, far.b)
	}
	p.domain.Discard(stream)
	p.send(write(r, 99, payload), 1000)
	if p.r.Deliver(p.off); p.r.Err() == nil {
		t.Error("a Write out of bounds was accepted")
	}
}

// TestDiscardWaits: Discard returns when no copy is in progress.
func TestDiscardWaits(t *testing.T) {
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
	go func() {
		p.domain.Discard(stream)
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
