//go:build amd64 || arm64

package softrnic

import (
	"errors"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestCheckReceiveWritten: the memory of a receive that is posted is not to change before its
// message comes. If nobody writes to it, nothing is found.
func TestCheckReceiveWritten(t *testing.T) {
	for _, written := range []bool{false, true} {
		p, log, a, b := checkedPairs(t, nil)
		b.PostRecv(9, p.mr.Part(8192, 64))
		p.ctx.DoorbellNow(nil, 1, nil) // the device looks at the receive
		if written {
			p.mr.B[8192+7]++
		}
		if err := a.Post(guest.WR{Op: uint32(uverbs.OpSend), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(0, 64)}}); err != nil {
			t.Fatal(err)
		}
		p.poll(2)
		if written {
			log.wants("the memory of the receive 0x9 was written while it was posted")
		} else {
			log.wants()
		}
	}
}

// TestCheckConflict: two Writes of two queue pairs to the same bytes, of which none was known to be
// over when the other one was posted, are found. A Write behind a completion that is polled is not.
func TestCheckConflict(t *testing.T) {
	for _, ordered := range []bool{false, true} {
		p, log, a, b := checkedPairs(t, nil)
		polled := 0
		for _, q := range []*guest.QP{a, b} {
			if err := q.Push(guest.WR{Op: uint32(uverbs.OpWrite), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(0, 64)}, Remote: p.mr.Addr + 4096, Key: p.mr.Key}); err != nil {
				t.Fatal(err)
			}
			if ordered {
				p.ctx.DoorbellNow(nil, 1, nil)
				polled += len(p.poll(1))
			}
		}
		p.ctx.DoorbellNow(nil, 1, nil)
		p.poll(2 - polled)
		if ordered {
			log.wants()
		} else {
			log.wants("check=conflict")
		}
	}
}

// TestCheckUndefined: what is behind a message, and what is in the memory of a Read before its
// completion, is overwritten, and found if it is sent.
func TestCheckUndefined(t *testing.T) {
	p, log, a, b := checkedPairs(t, nil)
	b.PostRecv(9, p.mr.Part(8192, 256))
	send := func(q *guest.QP, off, n int) {
		t.Helper()
		if err := q.Post(guest.WR{Op: uint32(uverbs.OpSend), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(off, n)}}); err != nil {
			t.Fatal(err)
		}
	}
	send(a, 0, 40)
	p.poll(2)
	for _, n := range []int{40, 64} { // the message, and more
		a.PostRecv(8, p.mr.Part(16384, 512))
		send(b, 8192, n)
		p.poll(2)
		if n == 40 {
			log.wants()
		}
	}
	log.wants("check=undefined")
}

// TestCheckOrderByMessages: a Write is over for others once the program of its peer has polled the
// completion of a message behind it, and not when the message comes.
func TestCheckOrderByMessages(t *testing.T) {
	for _, polled := range []bool{false, true} {
		p, log, a, b := checkedPairs(t, nil)
		write := guest.WR{Op: uint32(uverbs.OpWrite), List: []guest.SGE{p.mr.Part(0, 64)}, Remote: p.mr.Addr + 4096, Key: p.mr.Key}
		b.PostRecv(9, p.mr.Part(8192, 64))
		for _, w := range []guest.WR{write, {Op: uint32(uverbs.OpSend), List: []guest.SGE{p.mr.Part(64, 64)}}} {
			if err := a.Post(w); err != nil {
				t.Fatal(err)
			}
		}
		prototest.Wait(t, "the message", func() bool {
			p.ctx.mu.Lock()
			defer p.ctx.mu.Unlock()
			next, _ := p.ctx.cqs[p.cq.Handle].progress()
			return next > 1
		})
		if polled {
			p.poll(1)
		}
		write.Flags = uint32(uverbs.Signaled)
		if err := b.Post(write); err != nil {
			t.Fatal(err)
		}
		if polled {
			p.poll(1)
			log.wants()
		} else {
			p.poll(2)
			log.wants("check=conflict")
		}
	}
}

// TestCheckDeregisters: memory of a signaled work request is not to be deregistered before its
// completion comes.
func TestCheckDeregisters(t *testing.T) {
	for _, early := range []bool{false, true} {
		p, log, a, _ := checkedPairs(t, nil)
		mr, err := p.Register(p.pd, pages(t, 4096), guest.All)
		if err != nil {
			t.Fatal(err)
		}
		// There is no receive, so the completion does not come.
		op := uint32(uverbs.OpSend)
		if !early {
			op = uint32(uverbs.OpWrite)
		}
		w := guest.WR{Op: op, Flags: uint32(uverbs.Signaled), List: []guest.SGE{mr.Part(0, 64)}}
		if !early {
			w.Remote, w.Key = p.mr.Addr, p.mr.Key
		}
		if err := a.Post(w); err != nil {
			t.Fatal(err)
		}
		if early {
			log.has("check=receives") // it is under way
			log.wants("check=receives")
		} else {
			p.poll(1)
		}
		if err := p.Free(uint32(uverbs.DeregMR), mr.Handle); err != nil {
			t.Fatal(err)
		}
		if early {
			log.wants("is deregistered before its completion has come")
		} else {
			log.wants()
		}
	}
}

// TestCheckForked: what another process destroys than has made it is found, unless that one has
// ended.
func TestCheckForked(t *testing.T) {
	for _, parentEnded := range []bool{false, true} {
		p, log := newChecked(t)
		own, q := p.qp(nil), p.qp(nil)
		if _, err := p.Destroy(uint32(uverbs.DestroyQP), own.Handle); err != nil {
			t.Fatal(err)
		}
		log.wants()
		p.pid, p.parentEnded = 77, parentEnded
		if _, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle); err != nil {
			t.Fatal(err)
		}
		if parentEnded {
			log.wants()
		} else {
			log.wants("process 78 has destroyed it by ibv_destroy_qp")
		}
	}
}

// TestCheckWithheld: a program withholds memory that it deregisters. Its other commands do not wait
// for that, and the deregistration only for a while.
func TestCheckWithheld(t *testing.T) {
	p, log := newChecked(t)
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	withheld := withheldMemory{m, make(chan struct{}), make(chan struct{})}
	p.memory = withheld
	mr, err := p.Register(p.pd, pages(t, 4096), guest.All)
	if err != nil {
		t.Fatal(err)
	}
	p.memory = nil
	over := make(chan error, 1)
	go func() { over <- p.Free(uint32(uverbs.DeregMR), mr.Handle) }()
	<-withheld.asked
	if _, err := p.PD(); err != nil {
		t.Error(err)
	}
	if err := <-over; err != nil {
		t.Error(err)
	}
	close(withheld.given)
	log.wants()
}

// A withheldMemory is memory that the program gives when given is closed.
type withheldMemory struct {
	Process
	asked, given chan struct{}
}

func (m withheldMemory) Read(b []byte, addr uint64) error {
	close(m.asked)
	<-m.given
	return errors.New("it is gone")
}
