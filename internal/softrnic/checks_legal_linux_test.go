//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// post posts work requests.
func post(t *testing.T, q *guest.QP, all ...guest.WR) {
	t.Helper()
	if err := q.Post(all...); err != nil {
		t.Fatal(err)
	}
}

// write returns a signaled Write of 64 bytes within the program's memory.
func (p *program) write(id uint64) guest.WR {
	return guest.WR{ID: id, Op: guest.OpWrite, Flags: guest.Signaled, Remote: p.mr.Addr + 4096, Key: p.mr.Key, List: []guest.SGE{p.mr.Part(0, 64)}}
}

// registerAt registers memory that work requests name by other addresses.
func (p *program) registerAt(b []byte, va uint64) guest.MR {
	p.t.Helper()
	in := make([]byte, 8)
	for _, v := range []uint64{guest.Address(b), uint64(len(b)), va} {
		in = binary.LittleEndian.AppendUint64(in, v)
	}
	in = binary.LittleEndian.AppendUint32(in, p.pd)
	in = binary.LittleEndian.AppendUint32(in, guest.All)
	out, _, err := p.Context.Do(uint32(uverbs.RegMR), in, nil, 12, 0)
	if err != nil {
		p.t.Fatal(err)
	}
	return guest.MR{Handle: binary.LittleEndian.Uint32(out), Key: binary.LittleEndian.Uint32(out[8:]), Local: binary.LittleEndian.Uint32(out[4:]), Addr: va}
}

// TestCheckRegistration: rights that no memory region may have are a finding, and rights that the
// device does not know are none.
func TestCheckRegistration(t *testing.T) {
	p, log := newChecked(t)
	register := func(a uverbs.Access) {
		in := make([]byte, 8)
		for _, v := range []uint64{guest.Address(p.mr.B), 64, 0} {
			in = binary.LittleEndian.AppendUint64(in, v)
		}
		in = binary.LittleEndian.AppendUint32(in, p.pd)
		in = binary.LittleEndian.AppendUint32(in, uint32(a))
		if _, _, err := p.Do(uint32(uverbs.RegMR), in, nil, 12, 0); err == nil {
			t.Errorf("rights %#x: no error", a)
		}
	}
	register(1 << 19)
	log.wants()
	register(uverbs.RemoteWrite)
	log.wants("check=refused")
}

// TestCheckUnalignedAtomic: an atomic needs an aligned word.
func TestCheckUnalignedAtomic(t *testing.T) {
	p, log, a, _ := checkedPairs(t, nil)
	post(t, a, guest.WR{ID: 1, Op: guest.OpFetchAdd, Flags: guest.Signaled, Remote: p.mr.Addr + 4100, Key: p.mr.Key, List: []guest.SGE{p.mr.Part(0, 8)}})
	log.has("not aligned to 8 bytes")
}

// completions waits until so many completions are in a queue.
func (p *program) completions(cq *guest.CQ, want int) {
	p.t.Helper()
	prototest.Wait(p.t, "completions", func() bool {
		p.ctx.mu.Lock()
		defer p.ctx.mu.Unlock()
		next, polled := p.ctx.cqs[cq.Handle].progress()
		return next-polled > want
	})
}

// TestCheckLegal: nothing is found in programs that do what verbs permit, although it is near to a
// mistake.
func TestCheckLegal(t *testing.T) {
	t.Run("a Send of what a Read brings, behind a fence", func(t *testing.T) {
		p, log, a, b := checkedPairs(t, nil)
		p.fill(4096, 64, 7)
		b.PostRecv(9, p.mr.Part(8192, 64))
		list := []guest.SGE{p.mr.Part(0, 64)}
		post(t, a, guest.WR{ID: 1, Op: guest.OpRead, Flags: guest.Signaled, Remote: p.mr.Addr + 4096, Key: p.mr.Key, List: list},
			guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Fence | guest.Signaled, List: list})
		p.poll(3)
		log.wants()
	})
	t.Run("answers to what was polled with an error", func(t *testing.T) {
		p, log, a, _ := checkedPairs(t, nil)
		post(t, a, p.write(1))
		p.completions(p.cq, 1)
		if err := a.Modify(guest.Err, p.gid, 0, nil); err != nil { // a failure that comes now
			t.Fatal(err)
		}
		post(t, a, p.write(2))
		p.completions(p.cq, 2)
		p.poll(2)
		for id := range uint64(3) {
			post(t, a, p.write(id))
		}
		p.completions(p.cq, 3)
		log.wants()
	})
	t.Run("UC with any PSN", func(t *testing.T) {
		p, log := newChecked(t)
		uc := func(c *guest.QPConfig) { c.Type = uint8(uverbs.UC) }
		a, b := p.qp(uc), p.qp(uc)
		for _, q := range [][2]*guest.QP{{a, b}, {b, a}} {
			for _, to := range []struct {
				state uint8
				mask  uint32
			}{{guest.Init, 0x39}, {guest.RTR, 0x101181}, {guest.RTS, 0x10001}} {
				if err := q[0].Modify(to.state, p.gid, q[1].Num, func(in []byte) {
					binary.LittleEndian.PutUint32(in[68:], to.mask)
					binary.LittleEndian.PutUint32(in[76:], q[0].Num) // rq_psn, and then sq_psn
					binary.LittleEndian.PutUint32(in[80:], 6)
				}); err != nil {
					t.Fatal(err)
				}
			}
		}
		log.wants()
	})
	t.Run("memory of two regions with the same addresses", func(t *testing.T) {
		p, log, a, b := checkedPairs(t, nil)
		off := p.mr.Addr & 4095
		m1, m2 := p.registerAt(p.mr.B[65536:65536+4096], off), p.registerAt(p.mr.B[131072:131072+4096], off)
		b.PostRecv(1, m1.Part(0, 64))
		b.PostRecv(2, m2.Part(0, 128))
		for id := range uint64(2) {
			post(t, a, guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 64)}})
		}
		p.poll(4)
		log.wants()
	})
	t.Run("memory that is deregistered when the peer has answered", func(t *testing.T) {
		p, log, a, b := checkedPairs(t, nil)
		b.PostRecv(1, p.mr.Part(8192, 64))
		b.PostRecv(2, p.mr.Part(8292, 64))
		m := p.another(p.pd)
		post(t, a, guest.WR{ID: 1, Op: guest.OpSend, List: []guest.SGE{m.Part(0, 64)}})
		p.poll(1)
		if err := p.Free(uint32(uverbs.DeregMR), m.Handle); err != nil {
			t.Fatal(err)
		}
		post(t, a, guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 64)}})
		p.poll(2)
		log.wants()
	})
	t.Run("receives of a queue pair in the place of another one", func(t *testing.T) {
		p, log, a, b := checkedPairs(t, nil)
		for range 2 {
			b.PostRecv(1, p.mr.Part(8192, 64))
			post(t, a, guest.WR{Op: guest.OpSend, List: []guest.SGE{p.mr.Part(0, 64)}})
			p.completions(p.cq, 1)
			for _, q := range []*guest.QP{a, b} {
				if _, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle); err != nil {
					t.Fatal(err)
				}
			}
			a, b = p.qp(nil), p.qp(nil)
			joinPair(t, p, p, a, b)
		}
		log.wants()
	})
	t.Run("lists of receives that verbs ignore", func(t *testing.T) {
		p, log := newChecked(t)
		srq, err := p.SRQ(p.pd, 4, 1)
		if err != nil {
			t.Fatal(err)
		}
		in := make([]byte, 16)
		for _, v := range []uint32{p.pd, p.cq.Handle, p.cq.Handle, srq.Handle, 4, 4, 1, check.MostSGEs + 1, 0, 2<<8 | 1<<16} {
			in = binary.LittleEndian.AppendUint32(in, v)
		}
		if _, _, err := p.Context.Do(uint32(uverbs.CreateQP), in, nil, 32, 32); err != nil {
			t.Fatal(err)
		}
		log.wants()
	})
}

// TestCheckSharedSink: Reads of two queue pairs may fill the same memory if nobody looks at it.
func TestCheckSharedSink(t *testing.T) {
	p, log, a, b := checkedPairs(t, nil)
	for i := range 200 {
		p.fill(4096, 128, byte(i))
		for n, q := range []*guest.QP{a, b} {
			post(t, q, guest.WR{Op: guest.OpRead, Flags: guest.Signaled, Remote: p.mr.Addr + 4096 + uint64(64*n), Key: p.mr.Key, List: []guest.SGE{p.mr.Part(0, 64)}})
		}
		p.poll(2)
	}
	log.mayHave("note=same-buffer")
}

// mayHave checks that each finding has the text.
func (l *checkLog) mayHave(text string) {
	l.t.Helper()
	l.reporter.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for line := range bytes.Lines(l.b.Bytes()) {
		if !bytes.Contains(line, []byte(text)) {
			l.t.Errorf("a finding: %s", line)
		}
	}
}

// TestCheckInlineRead: a Read that is posted as inline is no matter of depths.
func TestCheckInlineRead(t *testing.T) {
	p, log, a, _ := checkedPairs(t, nil)
	post(t, a, guest.WR{ID: 1, Op: guest.OpRead, Flags: guest.Signaled | guest.Inline, Remote: p.mr.Addr + 4096, Key: p.mr.Key, Data: make([]byte, 8)})
	p.want("an inline Read", 1, uverbs.LocalQPErr)
	log.wants()
}

// TestCheckReceiveQueue: a completion queue that is only for receives is too small for them.
func TestCheckReceiveQueue(t *testing.T) {
	p, log := newChecked(t)
	small, err := p.CQ(2, -1, 1)
	if err != nil {
		t.Fatal(err)
	}
	a, b := p.qp(func(c *guest.QPConfig) { c.Recv = small }), p.qp(nil)
	for id := range uint64(3) {
		a.PostRecv(id, p.mr.Part(8192+int(id)*64, 64))
	}
	joinPair(t, p, p, a, b)
	post(t, b, guest.WR{Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 64)}})
	log.has("check=completion-queue")
}

// TestCheckAgain: a mistake with an object is found once more if another object has its name.
func TestCheckAgain(t *testing.T) {
	p, log := newChecked(t)
	for range 2 {
		a := p.qp(nil)
		if err := a.Modify(guest.Init, p.gid, 0, nil); err != nil {
			t.Fatal(err)
		}
		post(t, a, p.write(1))
		log.has("check=state")
		if _, err := p.Destroy(uint32(uverbs.DestroyQP), a.Handle); err != nil {
			t.Fatal(err)
		}
		log.wants("check=state")
	}
}

// TestCheckDatagramReceives: receives of datagrams that overlap are found, and messages that lie
// over others.
func TestCheckDatagramReceives(t *testing.T) {
	p, log := newChecked(t)
	ud := func(c *guest.QPConfig) { c.Type = uint8(uverbs.UD) }
	a, b := p.qp(ud), p.qp(ud)
	const key = 0x11111111
	if err := errors.Join(a.Enable(key), b.Enable(key)); err != nil {
		t.Fatal(err)
	}
	for id := range uint64(2) {
		b.PostRecv(id, p.mr.Part(8192+int(id), 256))
	}
	for range 2 {
		post(t, a, guest.WR{Op: guest.OpSend, Flags: guest.Signaled, To: &guest.To{QPN: b.Num, QKey: key, GID: p.gid}, List: []guest.SGE{p.mr.Part(0, 64)}})
	}
	log.has("check=overlap")
	log.has("check=overwritten")
}

// A noMemory is a program whose process has ended.
type noMemory struct{ *program }

func (noMemory) Process() (Process, error) { return nil, syscall.ESRCH }

// TestCheckAcksOfNobody: the destruction of a queue with events whose process is gone is no bug.
func TestCheckAcksOfNobody(t *testing.T) {
	p, log := newChecked(t)
	channel, err := p.Channel()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := p.CQ(8, channel, 1)
	if err != nil {
		t.Fatal(err)
	}
	a := p.qp(func(c *guest.QPConfig) { c.Send, c.Recv = cq, cq })
	if err := a.Join(p.gid, a.Num); err != nil {
		t.Fatal(err)
	}
	if err := p.Arm(cq, 0); err != nil {
		t.Fatal(err)
	}
	post(t, a, p.write(1))
	p.channels[len(p.channels)-1].next(t)
	if _, err := p.Destroy(uint32(uverbs.DestroyQP), a.Handle); err != nil {
		t.Fatal(err)
	}
	in := make([]byte, 16)
	binary.LittleEndian.PutUint32(in[8:], cq.Handle)
	if _, _, err = p.ctx.Do(noMemory{p}, uverbs.DestroyCQ, in, nil); err != nil || p.ctx.broken.Load() {
		t.Errorf("the destruction: %v, broken %t", err, p.ctx.broken.Load())
	}
	log.wants()
}

// A testMemory is memory that begins at address 0.
type testMemory []byte

func (m testMemory) Read(b []byte, addr uint64) error {
	if addr+uint64(len(b)) > uint64(len(m)) {
		return syscall.EFAULT
	}
	copy(b, m[addr:])
	return nil
}
func (testMemory) Write([]byte, uint64) error       { return syscall.EFAULT }
func (testMemory) Check(uint64, uint64, bool) error { return nil }

// TestAcknowledgedEvents: the number of acknowledged events is found in the structs of glibc and
// musl.
func TestAcknowledgedEvents(t *testing.T) {
	for _, tt := range []struct {
		arch string
		at   int // of the number
		acks uint32
		want int
	}{
		{"amd64", 32 + 40 + 48, 3, 0},
		{"amd64", 32 + 40 + 48, 1, 2},
		{"arm64", 32 + 48 + 48, 3, 0},
		{"arm64", 32 + 48 + 48, 1, 2},
		{"arm64", 32 + 40 + 48, 3, 0},
	} {
		m := make(testMemory, 256)
		binary.NativeEndian.PutUint32(m[24:], 7)
		binary.NativeEndian.PutUint32(m[tt.at:], tt.acks)
		if n, ok := cqAcks.lacks(m, 0, 7, 3, tt.arch); !ok || n != tt.want {
			t.Errorf("%s, %d acknowledged at %d: %d, %t, want %d", tt.arch, tt.acks, tt.at, n, ok, tt.want)
		}
		if _, ok := cqAcks.lacks(m, 0, 8, 3, tt.arch); ok {
			t.Error("a struct with another handle is taken for the queue")
		}
	}
}

// TestCheckExitEnds: the process goes on to its end while the device waits for its memory, and what
// the device sees then does not count.
func TestCheckExitEnds(t *testing.T) {
	p, log := newChecked(t)
	over := make(chan struct{})
	p.ctx.Exits(over)
	close(over)
	p.ctx.mu.Lock()
	for _, m := range p.ctx.mrs {
		m.process = testMemory(nil)
	}
	p.ctx.mu.Unlock()
	p.ctx.Exits(over)
	log.wants()
	p.ctx.Exits(nil)
	log.wants("note=unmapped")
}

// TestCheckedRoom: a program that is checked has the room that it has asked for, and one more place
// in its send queue. Such a place is free once the completion of its work request, or of one behind
// it, is there. A list that just fills what the program has asked for may be posted again.
func TestCheckedRoom(t *testing.T) {
	const depth = 8
	p, log, a, b := checkedPairs(t, nil)
	for n, room := 0, true; room; n++ {
		if room = b.PostRecv(uint64(n), p.mr.Part(8192+64*n, 64)); room != (n < depth) {
			t.Errorf("receive %d of %d: there is room: %t", n+1, depth, room)
		}
	}
	var list []guest.WR
	for id := range uint64(depth) {
		w := p.write(id)
		if w.Flags = 0; id == depth-1 {
			w.Flags = guest.Signaled
		}
		list = append(list, w)
	}
	for range 3 {
		if err := a.Push(list...); err != nil {
			t.Fatal(err)
		}
		p.ctx.DoorbellNow(uverbs.AppendDoorbell(nil, a.Handle, 0), 1, nil)
		p.poll(1)
	}
	log.wants()
	w := list[0]
	for range depth + 1 {
		post(t, a, w)
	}
	log.has("9 work requests in a row are unsignaled")
	for range 3 { // they are carried out, but no completion says so
		if err := a.Push(w); !errors.Is(err, syscall.ENOMEM) {
			t.Errorf("an unsignaled one more than there is room for: %v", err)
		}
	}
	if err := a.Modify(guest.Err, p.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "room in ERR", func() bool { return a.Push(w) == nil })
}
