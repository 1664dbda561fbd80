//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"errors"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// An endlessMemory posts a work request when one is read, until it may stop.
type endlessMemory struct {
	Process
	post func()
	stop atomic.Bool
	n    atomic.Int64 // work requests
	// rung counts the work requests that the goroutine of a doorbell has read. The goroutine that
	// goes on after it may read any number before the test looks.
	rung atomic.Int64
}

func (m *endlessMemory) Read(b []byte, addr uint64) error {
	const tooMany = 100_000
	if inDoorbell() {
		m.rung.Add(1)
	}
	if m.n.Add(1) < tooMany && !m.stop.Load() {
		posted := make(chan struct{})
		go func() { // the program, whose goroutines hold no lock of the device
			defer close(posted)
			m.post()
		}()
		<-posted
	}
	return m.Process.Read(b, addr)
}

// inDoorbell reports whether it is called in the goroutine of a doorbell.
func inDoorbell() bool {
	b := make([]byte, 64<<10)
	return bytes.Contains(b[:runtime.Stack(b, false)], []byte("/softrnic.(*Context).Doorbell("))
}

// TestDoorbellOfBusyProgram: the doorbell goes on to other programs, although a program posts as
// fast as the device sends.
func TestDoorbellOfBusyProgram(t *testing.T) {
	p := newProgram(t, newDevice(t))
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	q := p.qp(func(c *guest.QPConfig) { c.Type = uint8(uverbs.UD) })
	const key = 0x11111111
	if err := q.Enable(key); err != nil {
		t.Fatal(err)
	}
	endless := &endlessMemory{Process: m}
	p.memory = endless
	mr, err := p.Register(p.pd, pages(t, 4096), guest.All)
	if err != nil {
		t.Fatal(err)
	}
	w := guest.WR{ID: 1, Op: guest.OpSend, To: &guest.To{QPN: q.Num, QKey: key, GID: p.gid}, List: []guest.SGE{mr.Part(0, 8)}}
	endless.post = func() {
		if err := q.Post(w); err != nil {
			t.Error(err)
		}
	}
	endless.post() // which rings
	if n := endless.rung.Load(); n == 0 || n > 1000 {
		t.Errorf("the doorbell has stayed for %d work requests", n)
	}
	endless.stop.Store(true)
	prototest.Wait(t, "the end", func() bool { return p.dev.find(q.Num).sq.Len() == 0 })
}

// TestDoorbellOfBusyConnection checks the same for a program whose work requests go over a
// connection, and complete as fast as it posts.
func TestDoorbellOfBusyConnection(t *testing.T) {
	a, b, qa, _ := pair(t)
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	endless := &endlessMemory{Process: m}
	a.memory = endless
	mr, err := a.Register(a.pd, pages(t, 4096), guest.All)
	if err != nil {
		t.Fatal(err)
	}
	l := a.linkOf(t, qa)
	// The goroutine that joins the queue pair would look at the send queue in place of the
	// doorbell.
	prototest.Wait(t, "the join", func() bool { return !calls("(*queuePair).start") })
	flights := func() int {
		l.q.mu.Lock()
		defer l.q.mu.Unlock()
		return len(l.out.flights)
	}
	w := guest.WR{ID: 1, Op: guest.OpWrite, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{mr.Part(0, 8)}}
	endless.post = func() {
		for !endless.stop.Load() && flights() > 2*batchLen {
			runtime.Gosched()
		}
		if err := qa.Post(w); err != nil {
			t.Error(err)
		}
	}
	endless.post() // which rings
	if n := endless.rung.Load(); n == 0 || n > 1000 {
		t.Errorf("the doorbell has stayed for %d work requests", n)
	}
	endless.stop.Store(true)
	prototest.Wait(t, "the end", func() bool { return a.dev.find(qa.Num).sq.Len() == 0 })
}

// TestDoorbellNames: a doorbell rings for the queue pairs that its commands name, and for all if a
// command names none.
func TestDoorbellNames(t *testing.T) {
	p := newProgram(t, newDevice(t))
	one, two := p.qp(nil), p.qp(nil)
	for _, q := range []*guest.QP{one, two} { // in ERR, work requests complete at once when they are looked at
		if err := errors.Join(q.Modify(guest.Init, p.gid, 0, nil), q.Modify(guest.Err, p.gid, 0, nil)); err != nil {
			t.Fatal(err)
		}
	}
	name := func(h uint32) []byte { return uverbs.AppendDoorbell(nil, h, 0) }
	both := slices.Concat(name(one.Handle), name(two.Handle))
	for _, tt := range []struct {
		desc     string
		commands []byte
		one, two bool
	}{
		{"nothing", nil, false, false},
		{"one", name(one.Handle), true, false},
		{"the other", name(two.Handle), false, true},
		{"both", both, true, true},
		{"the first is cut", both[8:], true, true},
		{"the last is cut", both[:40], true, true},
		{"one that is not there", name(12345), true, true},
		{"something else", make([]byte, 32), true, true},
	} {
		if err := errors.Join(one.Push(guest.WR{ID: 1}), two.Push(guest.WR{ID: 2})); err != nil {
			t.Fatal(err)
		}
		p.ctx.DoorbellOf(tt.commands)
		var rung [3]bool
		for {
			w, ok := p.cq.Poll()
			if !ok {
				break
			}
			rung[w.ID] = true
		}
		if rung[1] != tt.one || rung[2] != tt.two {
			t.Errorf("%s: the first is looked at: %v, the second: %v", tt.desc, rung[1], rung[2])
		}
		p.ctx.Doorbell()
		for ok := true; ok; _, ok = p.cq.Poll() {
		}
	}
}
