package wait

import (
	"context"
	"sync/atomic"
)

// A Background counts what goes on for a connection, or for a Listener, beside the calls of the
// program: its goroutines, and the stream that is open. The zero value counts nothing. Any
// goroutine may call its methods.
type Background struct {
	n    atomic.Int64
	over Signal
	then atomic.Pointer[func()] // see Then
}

// Begin counts one more.
func (b *Background) Begin() { b.n.Add(1) }

// End ends what Begin has counted.
func (b *Background) End() {
	if b.n.Add(-1) == 0 {
		b.over.Broadcast()
		b.callThen()
	}
}

// Go calls f in a goroutine of its own, and counts that goroutine.
func (b *Background) Go(f func()) {
	b.Begin()
	go func() {
		defer b.End()
		f()
	}()
}

// Wait waits until nothing is counted. The only error is ctx.Err().
func (b *Background) Wait(ctx context.Context) error {
	for {
		over := b.over.Wait()
		if b.n.Load() == 0 {
			return nil
		}
		select {
		case <-over:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Then has f called once, as soon as nothing is counted: now, or by the End that comes last. It
// replaces an f that has not been called.
func (b *Background) Then(f func()) {
	b.then.Store(&f)
	if b.n.Load() == 0 {
		b.callThen()
	}
}

func (b *Background) callThen() {
	if f := b.then.Swap(nil); f != nil {
		(*f)()
	}
}
