//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A checkLog has what the checker has found.
type checkLog struct {
	t        *testing.T
	reporter *check.Reporter
	mu       sync.Mutex
	b        bytes.Buffer // +checklocks:mu
	level    slog.LevelVar
}

func (l *checkLog) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(b)
}

// wants checks that the log has these texts, and no other finding.
func (l *checkLog) wants(texts ...string) {
	l.t.Helper()
	l.reporter.Wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, text := range texts {
		if !strings.Contains(l.b.String(), text) {
			l.t.Errorf("there is no finding %q", text)
		}
	}
	if n := strings.Count(l.b.String(), "\n"); n != len(texts) {
		l.t.Errorf("%d findings, want %d:\n%s", n, len(texts), &l.b)
	}
	l.b.Reset()
}

// newChecked returns a program that is checked, on a device of its own.
func newChecked(t *testing.T) (*program, *checkLog) {
	t.Helper()
	l := &checkLog{t: t}
	l.level.Set(slog.LevelWarn)
	l.reporter = check.NewReporter(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: &l.level})), nil)
	d, err := New(Config{Addresses: []netip.Addr{localhost}, OnlyTCP: overTCP, Check: l.reporter})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(d.Close)
	return newProgram(t, d), l
}

// A textSite is a place in a program.
type textSite string

func (s textSite) String() string { return string(s) }

// TestPlaceOfCommands: what a command makes has its place, and the device is not locked while that
// is looked for.
func TestPlaceOfCommands(t *testing.T) {
	p, _ := newChecked(t)
	asked := 0
	p.site = func() check.Site {
		asked++
		if !p.ctx.mu.TryLock() {
			t.Error("the device is locked")
			return nil
		}
		p.ctx.mu.Unlock() // +checklocksignore: TryLock has locked it
		return textSite("main.c:7")
	}
	q := p.qp(nil)
	if asked == 0 {
		t.Error("a queue pair has no place")
	}
	asked = 0
	if _, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle); err != nil {
		t.Fatal(err)
	}
	if asked != 1 {
		t.Errorf("%d places of one command", asked)
	}
}

// TestCheckLeft: each object that the program has left is found when it closes the device, and not
// those that it has destroyed.
func TestCheckLeft(t *testing.T) {
	p, log := newChecked(t)
	q := p.qp(nil)
	if _, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle); err != nil {
		t.Fatal(err)
	}
	left := p.qp(nil)
	if _, err := p.SRQ(p.pd, 4, 1); err != nil {
		t.Fatal(err)
	}
	if _, err := p.Channel(); err != nil {
		t.Fatal(err)
	}
	if _, err := p.AH(p.pd, p.gid); err != nil {
		t.Fatal(err)
	}
	_ = left
	log.wants()
	p.ctx.Close()
	log.wants("QP ", "CQ ", "SRQ ", "AH ", "MR ", "PD ", "completion channel 1")
}

func nowhere() check.Site { return nil }

// TestCheckUnmaps: memory that is given up while it is registered is found, and other memory is
// not.
func TestCheckUnmaps(t *testing.T) {
	p, log := newChecked(t)
	own := func(Process) bool { return true }
	end := p.mr.Addr + memoryLen
	p.ctx.Unmaps(own, end, 4096, nowhere)
	p.ctx.Unmaps(own, p.mr.Addr-4096, 4096, nowhere)
	p.ctx.Unmaps(func(Process) bool { return false }, p.mr.Addr, 4096, nowhere)
	log.wants()
	p.ctx.Unmaps(own, end-4096, 8192, nowhere)
	log.wants("or dropped their pages, and has not deregistered them")
	q := p.qp(nil)
	if err := q.Join(p.gid, q.Num); err != nil {
		t.Fatal(err)
	}
	for _, off := range []int{0, memoryLen - 64} { // a part that is there, and the part that was given up
		if err := q.Post(guest.WR{Op: uint32(uverbs.OpWrite), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(off, 64)}, Remote: p.mr.Addr + 4096, Key: p.mr.Key}); err != nil {
			t.Fatal(err)
		}
		p.poll(1)
		if off == 0 {
			log.wants()
		}
	}
	log.wants("check=stale")
}

// TestCheckUnmappedBefore: so is memory that is gone when it is deregistered.
func TestCheckUnmappedBefore(t *testing.T) {
	p, log := newChecked(t)
	b, err := unix.Mmap(-1, 0, 8192, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON)
	if err != nil {
		t.Fatal(err)
	}
	for _, gone := range []bool{false, true} {
		m, err := p.Register(p.pd, b, guest.All)
		if err != nil {
			t.Fatal(err)
		}
		if gone {
			if err := unix.Munmap(b); err != nil {
				t.Fatal(err)
			}
		}
		if err := p.Free(uint32(uverbs.DeregMR), m.Handle); err != nil {
			t.Fatal(err)
		}
		if !gone {
			log.wants()
		}
	}
	log.wants("has not deregistered it")
}

// has waits until there is a finding with a text.
func (l *checkLog) has(text string) {
	l.t.Helper()
	prototest.Wait(l.t, "a finding: "+text, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return strings.Contains(l.b.String(), text)
	})
}

// checkedPairs returns a program that is checked, with two queue pairs that are joined. attrs
// changes the attributes in RTR and RTS.
func checkedPairs(t *testing.T, attrs func(in []byte)) (p *program, log *checkLog, a, b *guest.QP) {
	t.Helper()
	p, log = newChecked(t)
	size := func(c *guest.QPConfig) { c.Depth = 8 }
	a, b = p.qp(size), p.qp(size)
	for _, x := range []struct {
		state  uint8
		change func(in []byte)
	}{{guest.Init, nil}, {guest.RTR, attrs}, {guest.RTS, attrs}} {
		for _, q := range [][2]*guest.QP{{a, b}, {b, a}} {
			if err := q[0].Modify(x.state, p.gid, q[1].Num, x.change); err != nil {
				t.Fatal(err)
			}
		}
	}
	return p, log, a, b
}

// TestCheckAttempt: a queue pair that is larger than those of cards is a mistake once the program
// uses it.
func TestCheckAttempt(t *testing.T) {
	p, log := newChecked(t)
	a := p.qp(func(c *guest.QPConfig) { c.Inline = check.MostInline + 1 })
	log.wants()
	if err := a.Modify(guest.Init, p.gid, a.Num, nil); err != nil {
		t.Fatal(err)
	}
	log.wants("check=depth")
}

// TestCheckSearch: a program that has been refused more inline data than the device has knows from
// the device how much it may have, and asks a card in the same way.
func TestCheckSearch(t *testing.T) {
	p, log := newChecked(t)
	if _, err := p.Context.QP(guest.QPConfig{PD: p.pd, Send: p.cq, Recv: p.cq, Depth: 4, SGEs: 1, Inline: maxInline + 1}); err == nil {
		t.Fatal("the device has as much inline data as anybody asks for")
	}
	a := p.qp(func(c *guest.QPConfig) { c.Inline = maxInline })
	if err := a.Modify(guest.Init, p.gid, a.Num, nil); err != nil {
		t.Fatal(err)
	}
	log.wants()
}

// TestCheckRights: with -v, the log has the rights of a memory region that no peer has used.
func TestCheckRights(t *testing.T) {
	p, log, a, _ := checkedPairs(t, nil)
	uses := func() {
		t.Helper()
		mr := p.another(p.pd)
		post(t, a, guest.WR{Op: guest.OpWrite, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 64)}, Remote: mr.Addr + 4096, Key: mr.Key})
		p.poll(1)
		if err := p.Free(uint32(uverbs.DeregMR), mr.Handle); err != nil {
			t.Fatal(err)
		}
	}
	uses()
	log.wants()
	log.level.Set(slog.LevelInfo)
	uses()
	log.wants("it gives peers IBV_ACCESS_REMOTE_READ and IBV_ACCESS_REMOTE_ATOMIC, which none has used")
}

// TestCheckLostMessage: a message over UC that finds no receive is a note.
func TestCheckLostMessage(t *testing.T) {
	p, log := newChecked(t)
	uc := func(c *guest.QPConfig) { c.Type = uint8(uverbs.UC) }
	a, b := p.qp(uc), p.qp(uc)
	joinUC(t, a, p.gid, b.Num)
	joinUC(t, b, p.gid, a.Num)
	b.PostRecv(1, p.mr.Part(8192, 64))
	send := guest.WR{Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 64)}}
	post(t, a, send)
	p.poll(2)
	log.wants()
	post(t, a, send)
	p.poll(1)
	log.has("note=lost")
}

// TestCheckQueues: the device tells the checker of work requests, completions and attributes.
func TestCheckQueues(t *testing.T) {
	write := func(p *program, q *guest.QP, id uint64, flags uint32) {
		if err := q.Post(guest.WR{ID: id, Op: uint32(uverbs.OpWrite), Flags: flags, List: []guest.SGE{p.mr.Part(0, 64)}, Remote: p.mr.Addr + 4096, Key: p.mr.Key}); err != nil {
			t.Error(err)
		}
	}
	t.Run("none", func(t *testing.T) {
		p, log, a, b := checkedPairs(t, nil)
		b.PostRecv(9, p.mr.Part(8192, 64))
		write(p, a, 1, 0)
		if err := a.Post(guest.WR{ID: 2, Op: uint32(uverbs.OpSend), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(0, 64)}}); err != nil {
			t.Fatal(err)
		}
		p.poll(2)
		for _, q := range []*guest.QP{a, b} {
			if _, err := p.Destroy(uint32(uverbs.DestroyQP), q.Handle); err != nil {
				t.Fatal(err)
			}
		}
		log.wants()
	})
	t.Run("unsignaled", func(t *testing.T) {
		p, log, a, _ := checkedPairs(t, nil)
		for id := range uint64(9) {
			write(p, a, id, 0)
		}
		log.has("check=send-queue")
	})
	t.Run("early", func(t *testing.T) {
		p, log := newChecked(t)
		a := p.qp(nil)
		if err := a.Modify(guest.Init, p.gid, 0, nil); err != nil {
			t.Fatal(err)
		}
		p.slowBell = true
		write(p, a, 1, uint32(uverbs.Signaled))
		p.ctx.look() // before the doorbell
		p.ctx.DoorbellNow(uverbs.AppendDoorbell(nil, a.Handle, 0), 1, textSite("main.c:7"))
		log.has("posted in INIT")
		log.has("at=main.c:7")
	})
	t.Run("receive", func(t *testing.T) {
		p, log, a, _ := checkedPairs(t, nil)
		if err := a.Post(guest.WR{ID: 2, Op: uint32(uverbs.OpSend), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(0, 64)}}); err != nil {
			t.Fatal(err)
		}
		log.has("check=receives")
		if _, err := p.Destroy(uint32(uverbs.DestroyQP), a.Handle); err != nil {
			t.Fatal(err)
		}
		log.has("until the end, because rnr_retry 7")
	})
	t.Run("error", func(t *testing.T) {
		p, log, a, _ := checkedPairs(t, nil)
		if err := a.Modify(guest.Err, p.gid, 0, nil); err != nil {
			t.Fatal(err)
		}
		for id := range uint64(4) {
			write(p, a, id, uint32(uverbs.Signaled))
			p.poll(1)
		}
		log.has("check=state")
	})
	for text, at := range map[string]int{"timeout is 0": 105, "retry_cnt is 0": 106, "min_rnr_timer is 0": 103} {
		t.Run(text, func(t *testing.T) {
			p, log, a, _ := checkedPairs(t, func(in []byte) { in[at] = 0 })
			write(p, a, 1, uint32(uverbs.Signaled))
			log.has(text)
		})
	}
	t.Run("depth", func(t *testing.T) {
		p, log, a, _ := checkedPairs(t, func(in []byte) { in[101] = 0 })
		if err := a.Post(guest.WR{ID: 1, Op: uint32(uverbs.OpRead), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(0, 64)}, Remote: p.mr.Addr + 4096, Key: p.mr.Key}); err != nil {
			t.Fatal(err)
		}
		log.has("check=depth")
	})
	t.Run("completions", func(t *testing.T) {
		p, log := newChecked(t)
		small, err := p.CQ(2, -1, 1)
		if err != nil {
			t.Fatal(err)
		}
		a := p.qp(func(c *guest.QPConfig) { c.Send, c.Recv = small, small })
		for id := range uint64(3) {
			a.PostRecv(id, p.mr.Part(0, 8))
		}
		if err := a.Join(p.gid, a.Num); err != nil {
			t.Fatal(err)
		}
		write(p, a, 1, uint32(uverbs.Signaled))
		log.has("check=completion-queue")
	})
}

// TestCheckArmed: completions that were there when the program asked for an event are found if it
// waits for one, and not if it does something else.
func TestCheckArmed(t *testing.T) {
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
	if err := a.Post(guest.WR{ID: 1, Op: uint32(uverbs.OpWrite), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(0, 64)}, Remote: p.mr.Addr + 4096, Key: p.mr.Key}); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "a completion", func() bool {
		p.ctx.mu.Lock()
		defer p.ctx.mu.Unlock()
		next, polled := p.ctx.cqs[cq.Handle].progress()
		return next > polled+1
	})
	if err := p.Arm(cq, 0); err != nil {
		t.Fatal(err)
	}
	look := func() {
		for range 100 {
			p.ctx.LookAtWaits()
		}
	}
	look()
	log.wants() // nothing: it does not wait
	c := p.channels[channel]
	c.mu.Lock()
	c.waits = check.Waiting{Thread: 1}
	c.mu.Unlock()
	look()
	log.has("check=armed")
}

// TestCheckKeys: a key that is used for the other, one of another PD, and one that was deregistered
// are found, at the end that has the memory.
func TestCheckKeys(t *testing.T) {
	for _, tt := range []struct {
		desc string
		want string
		make func(p *program) (local, remote uint32)
	}{
		{"right keys", "", func(p *program) (uint32, uint32) { return p.mr.Local, p.mr.Key }},
		{"rkey for the lkey", "it is the rkey of the memory region", func(p *program) (uint32, uint32) { return p.mr.Key, p.mr.Key }},
		{"lkey for the rkey", "it is the lkey of the memory region", func(p *program) (uint32, uint32) { return p.mr.Local, p.mr.Local }},
		{"gone", "was deregistered", func(p *program) (uint32, uint32) {
			m := p.another(p.pd)
			if err := p.Free(uint32(uverbs.DeregMR), m.Handle); err != nil {
				t.Fatal(err)
			}
			return m.Local, p.mr.Key
		}},
		{"gone for the peer", "was deregistered", func(p *program) (uint32, uint32) {
			m := p.another(p.pd)
			if err := p.Free(uint32(uverbs.DeregMR), m.Handle); err != nil {
				t.Fatal(err)
			}
			return p.mr.Local, m.Key
		}},
		{"another PD", "belongs to another protection domain", func(p *program) (uint32, uint32) { return p.another(p.newPD()).Local, p.mr.Key }},
		{"another PD of the peer", "belongs to another protection domain", func(p *program) (uint32, uint32) { return p.mr.Local, p.another(p.newPD()).Key }},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			p, log, a, _ := checkedPairs(t, nil)
			local, remote := tt.make(p)
			if err := a.Post(guest.WR{
				Op: uint32(uverbs.OpWrite), Flags: uint32(uverbs.Signaled), List: []guest.SGE{{Addr: p.mr.Addr, Len: 64, Key: local}}, Remote: p.mr.Addr + 4096, Key: remote,
			}); err != nil {
				t.Fatal(err)
			}
			p.poll(1)
			if tt.want == "" {
				log.wants()
			} else {
				log.has(tt.want)
			}
		})
	}
}

// another registers the program's memory once more.
func (p *program) another(pd uint32) guest.MR {
	p.t.Helper()
	m, err := p.RegisterRange(pd, p.mr.Addr, memoryLen, guest.All)
	if err != nil {
		p.t.Fatal(err)
	}
	return m
}

func (p *program) newPD() uint32 {
	p.t.Helper()
	pd, err := p.PD()
	if err != nil {
		p.t.Fatal(err)
	}
	return pd
}

// TestCheckMemory: payload that changes, memory for an answer that is written, and receives that
// share memory are found.
func TestCheckMemory(t *testing.T) {
	post := func(p *program, q *guest.QP, op uverbs.SendOp, flags uverbs.SendFlags) {
		t.Helper()
		if err := q.Post(guest.WR{Op: uint32(op), Flags: uint32(flags), List: []guest.SGE{p.mr.Part(0, 64)}, Remote: p.mr.Addr + 4096, Key: p.mr.Key}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct {
		desc, want string
		flags      uverbs.SendFlags
	}{{"payload", "check=payload", uverbs.Signaled}, {"unsignaled", "note=reuse", 0}} {
		t.Run(tt.desc, func(t *testing.T) {
			p, log, a, b := checkedPairs(t, nil)
			post(p, a, uverbs.OpSend, tt.flags) // it waits for a receive
			log.has("check=receives")
			p.mr.B[7]++
			b.PostRecv(9, p.mr.Part(8192, 64))
			log.has(tt.want)
		})
	}
	t.Run("receives", func(t *testing.T) {
		p, log, a, b := checkedPairs(t, nil)
		b.PostRecv(1, p.mr.Part(8192, 64))
		b.PostRecv(2, p.mr.Part(8200, 64))
		post(p, a, uverbs.OpSend, uverbs.Signaled)
		log.has("check=overlap")
		post(p, a, uverbs.OpSend, uverbs.Signaled)
		log.has("check=overwritten")
	})
}

// TestCheckRubbish: of a failed completion only wr_id, status and qp_num have a meaning, and the
// other fields hold what no program takes for one.
func TestCheckRubbish(t *testing.T) {
	p, _, a, _ := checkedPairs(t, nil)
	if err := a.Modify(guest.Err, p.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	if err := a.Post(guest.WR{ID: 7, Op: uint32(uverbs.OpWrite), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(0, 64)}}); err != nil {
		t.Fatal(err)
	}
	w := p.want("a flushed Write", 7, uverbs.FlushErr)
	if w.QPN != a.Num || w.Op <= uint32(uverbs.WCRecvImm) || w.Len <= 64 {
		t.Errorf("queue pair %d, operation %d, %d bytes", w.QPN, w.Op, w.Len)
	}
	for _, tt := range []struct {
		desc   string
		of     uverbs.WC
		hasLen bool
		hasImm bool
	}{
		{"a Send", uverbs.WC{Op: uverbs.WCSend, Len: 64}, false, false},
		{"a Read", uverbs.WC{Op: uverbs.WCRead, Len: 64}, true, false},
		{"an atomic", uverbs.WC{Op: uverbs.WCFetchAdd, Len: 64}, true, false},
		{"a receive", uverbs.WC{Op: uverbs.WCRecv, Len: 64}, true, false},
		{"one with immediate data", uverbs.WC{Op: uverbs.WCRecv, Len: 64, Flags: uverbs.WCHasImm}, true, true},
		{"one that has invalidated a key", uverbs.WC{Op: uverbs.WCRecv, Len: 64, Flags: uverbs.WCHasInval}, true, true},
	} {
		if w := withRubbish(tt.of); (w.Len == 64) != tt.hasLen || (w.Immediate == [4]byte{}) != tt.hasImm || w.Op != tt.of.Op {
			t.Errorf("%s: %+v", tt.desc, w)
		}
	}
}

// TestCheckPostsRubbish: values of a completion without a meaning, and messages of a length that
// none has, are found when they are posted.
func TestCheckPostsRubbish(t *testing.T) {
	for _, tt := range []struct {
		w    guest.WR
		want string
	}{
		{guest.WR{Op: uint32(uverbs.OpSend), List: []guest.SGE{{Len: rubbish}}}, "the length of the work request 0x0 is 3688618971"},
		{guest.WR{Op: uint32(uverbs.OpSendImm), Imm: rubbish}, "the immediate data of the work request 0x0 is 3688618971"},
		{guest.WR{Op: uint32(uverbs.OpSend), List: []guest.SGE{{Len: 1 << 31}, {Len: 1 << 31}}}, "its list has 4294967296 bytes"},
	} {
		p, log, a, _ := checkedPairs(t, nil)
		for i := range tt.w.List {
			tt.w.List[i].Addr, tt.w.List[i].Key = p.mr.Addr, p.mr.Key
		}
		if err := a.Post(tt.w); err != nil {
			t.Fatal(err)
		}
		log.has(tt.want)
	}
}

// TestCheckRefusals: commands and accesses that are refused are found, with the reason.
func TestCheckRefusals(t *testing.T) {
	p, log, a, b := checkedPairs(t, nil)
	if err := a.Modify(guest.RTR, p.gid, b.Num, nil); err == nil {
		t.Error("RTS to RTR is not refused")
	}
	log.wants("check=refused")
	b.PostRecv(9, p.mr.Part(8192, 32))
	if err := a.Post(guest.WR{Op: uint32(uverbs.OpSend), Flags: uint32(uverbs.Signaled), List: []guest.SGE{p.mr.Part(0, 64)}}); err != nil {
		t.Fatal(err)
	}
	log.has("the receive 0x9 has no room for all of the message")
}

// TestCheckAccess: a work request that goes beyond its memory region is found.
func TestCheckAccess(t *testing.T) {
	p, log, a, _ := checkedPairs(t, nil)
	beyond := p.mr.Part(0, 64)
	beyond.Addr += uint64(len(p.mr.B)) - 60
	if err := a.Post(guest.WR{Op: uint32(uverbs.OpSend), Flags: uint32(uverbs.Signaled), List: []guest.SGE{beyond}}); err != nil {
		t.Fatal(err)
	}
	log.has("the last 4 bytes are beyond the memory region")
}

// TestCheckFirstReceive: a message may wait for a receive for a while, but not for the first one.
func TestCheckFirstReceive(t *testing.T) {
	p, _, a, b := checkedPairs(t, nil)
	for first := true; ; first = false {
		var got time.Duration
		for _, o := range p.ctx.shown.list() {
			if q, ok := o.(*queuePair); ok && q.num == b.Num {
				got = q.checkPatience()
			}
		}
		if got == 0 || (got < receivePatience) != first {
			t.Fatalf("a message may wait for %v, first %t", got, first)
		}
		if !first {
			return
		}
		b.PostRecv(1, p.mr.Part(8192, 64))
		post(t, a, guest.WR{Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 64)}})
		p.poll(2)
	}
}
