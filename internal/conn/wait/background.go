package wait

import (
	"context"
	"sync/atomic"
)

// A Background counts the work for a connection, or for a Listener, that goes on besides the
// program's calls: goroutines, and the open stream. The zero value counts nothing. Any goroutine
// may call its methods.
type Background struct {
	n    atomic.Int64
	over Signal
	then atomic.Pointer[func()] // see Then
}

// Begin adds one to the count.
func (b *Background) Begin() { b.n.Add(1) }

// End undoes Begin.
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

// Wait waits until the count is 0. The only error is ctx.Err().
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

// Then calls f once, as soon as the count is 0: now, or in the last End. It replaces an f that has
// not been called.
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
