//go:build amd64 || arm64

package device

import (
	"encoding/binary"
	"errors"
	"runtime"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rddp/rddp/cmd/rddp/internal/run/guest"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// TestErrTwice: a queue pair that is set to ERR twice fails once.
func TestErrTwice(t *testing.T) {
	p := newProgram(t, newDevice(t))
	srq, err := p.SRQ(p.pd, 16, 99)
	if err != nil {
		t.Fatal(err)
	}
	q := p.qp(func(c *guest.QPConfig) { c.SRQ = srq })
	if err := q.Modify(guest.Err, p.gid, 0, nil); err != syscall.EINVAL {
		t.Errorf("from RESET to ERR: %v, want %v", err, syscall.EINVAL) // as from rxe
	}
	if err := q.Modify(uint8(uverbs.Init), p.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := q.Modify(guest.Err, p.gid, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []uverbs.EventType
	c := p.channels[0]
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		got = append(got, uverbs.EventType(binary.LittleEndian.Uint32(e[8:])))
	}
	if len(got) != 1 || got[0] != uverbs.EventLastWQE {
		t.Errorf("events %v, want one of type %d", got, uverbs.EventLastWQE)
	}
}

// TestDeregisterWaits: when an MR is deregistered, nothing is on its way to its memory for a receive.
func TestDeregisterWaits(t *testing.T) {
	a, b, qa, qb := pair(t)
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	slow := slowMemory{m, make(chan func(), 1)}
	b.memory = slow
	mr, err := b.Register(b.pd, pages(t, 4096), guest.All)
	if err != nil {
		t.Fatal(err)
	}
	var gone atomic.Bool
	over, looked := make(chan error, 1), make(chan struct{})
	slow.write <- func() {
		defer close(looked)
		go func() {
			err := b.Free(uint32(uverbs.DeregMR), mr.Handle)
			gone.Store(true)
			over <- err
		}()
		for range 10_000 {
			runtime.Gosched()
		}
		if gone.Load() {
			t.Error("deregistered before the message was in the program's memory")
		}
	}
	qb.PostRecv(1, mr.Part(0, 8))
	post := qa.Post(guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}})
	<-looked
	if err := errors.Join(post, <-over); err != nil {
		t.Error(err)
	}
	b.want("the receive", 1, uverbs.Success)
}

// TestWindowsThatWereBound: an MR keeps nothing of windows that are not bound to it any more.
func TestWindowsThatWereBound(t *testing.T) {
	p := newProgram(t, newDevice(t))
	p.ctx.mu.Lock()
	defer p.ctx.mu.Unlock()
	pd := p.ctx.pds[p.pd]
	w := &memoryWindow{pd: pd, kind: 1}
	pd.addWindow(w)
	bind := uverbs.Bind{Addr: p.mr.Addr, Len: 8, LKey: p.mr.Key, OldKey: w.key, Access: uverbs.RemoteRead}
	for i := range uint32(100) {
		bind.NewKey = bind.OldKey&^keyMask | i&keyMask
		if err := pd.bind(&bind, 1); err != nil {
			t.Fatal(err)
		}
		bind.OldKey = bind.NewKey
	}
	pd.mu.RLock()
	m := pd.regions[p.mr.Key]
	pd.mu.RUnlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.windows); n != 1 {
		t.Errorf("the MR has %d windows, want 1", n)
	}
}
