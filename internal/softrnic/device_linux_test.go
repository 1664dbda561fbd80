//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/process"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A program is a guest in this process, with a device of its own. Two of them are to each other as
// two programs on two hosts. The device reaches the memory of this process as if it were another
// one.
type program struct {
	*guest.Context
	t testing.TB
	// memory is the memory of the program; nil means this process's memory
	memory Process
	dev    *Device
	ctx    *Context
	gid    [16]byte
	pd     uint32
	cq     *guest.CQ
	mr     guest.MR
	// slowBell makes the device look at its queues some time after the doorbell, as it does in rddp
	// run
	slowBell bool
	site     func() check.Site // where it is; may be nil
	pid      int
	// the process that p was before pid was changed has ended
	parentEnded bool

	mu       sync.Mutex
	channels []*testChannel // the first is the one for asynchronous events
}

// A testChannel is a Channel whose events stay here.
type testChannel struct {
	mu     sync.Mutex
	events [][]byte
	full   bool // so it takes no event
	closed bool // by the program
	waits  check.Waiting
	ended  bool // by the device
	came   chan struct{}
}

func (c *testChannel) Send(b []byte) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.full {
		return false
	}
	c.events = append(c.events, bytes.Clone(b))
	select {
	case c.came <- struct{}{}:
	default:
	}
	return true
}

func (c *testChannel) TakeBack(match func([]byte) bool) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := len(c.events)
	c.events = slices.DeleteFunc(c.events, match)
	return n - len(c.events)
}

func (c *testChannel) IsClosed() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.closed
}

// IsLeft is a method of Channel: a test's program is one process.
func (c *testChannel) IsLeft() bool { return !c.IsClosed() }

func (c *testChannel) Waits() check.Waiting {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.waits
}

func (c *testChannel) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ended = true
}

// next waits for the next event.
func (c *testChannel) next(t *testing.T) []byte {
	t.Helper()
	for {
		c.mu.Lock()
		if len(c.events) > 0 {
			e := c.events[0]
			c.events = c.events[1:]
			c.mu.Unlock()
			return e
		}
		c.mu.Unlock()
		select {
		case <-c.came:
		case <-time.After(prototest.Patience(t)):
			t.Fatal("there is no event")
		}
	}
}

var self = sync.OnceValues(func() (*process.Process, error) { return process.Open(unix.Gettid()) })

func (p *program) Process() (Process, error) {
	if p.memory != nil {
		return p.memory, nil
	}
	return self()
}

func (p *program) NewChannel() (uint32, Channel, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	c := &testChannel{came: make(chan struct{}, 1)}
	p.channels = append(p.channels, c)
	return uint32(len(p.channels) - 1), c, nil
}

func (p *program) Thread() int { return 1 }

func (p *program) PID() int { return 1 + p.pid }

func (p *program) Lives(int) bool { return !p.parentEnded }

func (p *program) Site() check.Site {
	if p.site == nil {
		return nil
	}
	return p.site()
}

func (p *program) FindChannel(fd int32) Channel {
	p.mu.Lock()
	defer p.mu.Unlock()
	if int(fd) >= len(p.channels) {
		return nil
	}
	return p.channels[fd]
}

// Do and Map make a program a guest.Kernel; Doorbell is the Context's.
func (p *program) Do(cmd uint32, in, driverIn []byte, outLen, driverOutLen int) (out, driverOut []byte, err error) {
	out, driverOut, err = p.ctx.Do(p, uverbs.Command(cmd), in, driverIn)
	if err != nil {
		return nil, nil, uverbs.ErrnoOf(err)
	}
	return append(out, make([]byte, max(0, outLen-len(out)))...), append(driverOut, make([]byte, max(0, driverOutLen-len(driverOut)))...), nil
}

func (p *program) Map(off uint64, size int) ([]byte, error) {
	return p.ctx.memory.Bytes[off : off+uint64(size)], nil
}

type ownKernel struct{ *program }

func (k ownKernel) Doorbell(qp uint32) error {
	switch {
	case k.slowBell:
		go k.ctx.Doorbell()
	case k.ctx.check != nil:
		k.ctx.DoorbellNow(uverbs.AppendDoorbell(nil, qp, 0), 1, nil)
	default:
		k.ctx.Doorbell()
	}
	return nil
}

var localhost = netip.MustParseAddr("127.0.0.1")

func newDevice(t *testing.T) *Device {
	t.Helper()
	return newFaultyDevice(t, "seed=1")
}

// newFaultyDevice returns a device with the faults of spec.
func newFaultyDevice(t *testing.T, spec string) *Device {
	t.Helper()
	w := &testWriter{t: t}
	log := slog.New(slog.NewTextHandler(w, nil))
	p, err := fault.Parse([]string{spec})
	if err != nil {
		t.Fatal(err)
	}
	d, err := New(Config{Addresses: []netip.Addr{localhost}, Log: log, Faults: fault.New(p, log), OnlyTCP: overTCP})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.close)
	t.Cleanup(d.Close)
	return d
}

// A testWriter writes to the log of a test as long as the test runs.
type testWriter struct {
	mu sync.Mutex
	t  *testing.T // +checklocks:mu
}

func (w *testWriter) Write(b []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.t != nil {
		w.t.Logf("%s", bytes.TrimSpace(b))
	}
	return len(b), nil
}

func (w *testWriter) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.t = nil
}

const memoryLen = 8 << 20

// newProgram returns a program with a PD, a CQ of 1000 entries, and 1 MiB of registered memory.
func newProgram(t testing.TB, dev *Device) *program {
	t.Helper()
	ctx, err := dev.Open(Memory{Bytes: pages(t, 64<<20), From: 4096})
	if err != nil {
		t.Fatal(err)
	}
	memory := pages(t, memoryLen)
	t.Cleanup(ctx.Close) // before the memory is unmapped
	p := &program{t: t, dev: dev, ctx: ctx, gid: dev.GIDs()[0]}
	if p.Context, err = guest.Open(ownKernel{p}); err != nil {
		t.Fatal(err)
	}
	if p.pd, err = p.PD(); err != nil {
		t.Fatal(err)
	}
	if p.cq, err = p.CQ(1000, -1, 1); err != nil {
		t.Fatal(err)
	}
	if p.mr, err = p.Register(p.pd, memory, guest.All|guest.MWBind); err != nil {
		t.Fatal(err)
	}
	return p
}

// pages returns memory that is not on Go's heap.
func pages(t testing.TB, n int) []byte {
	t.Helper()
	b, err := unix.Mmap(-1, 0, n, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_PRIVATE|unix.MAP_ANON|unix.MAP_NORESERVE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	return b
}

func (p *program) qp(change func(*guest.QPConfig)) *guest.QP {
	p.t.Helper()
	c := guest.QPConfig{PD: p.pd, Send: p.cq, Recv: p.cq, Depth: 64, SGEs: 4, Inline: 200}
	if change != nil {
		change(&c)
	}
	q, err := p.Context.QP(c)
	if err != nil {
		p.t.Fatal(err)
	}
	return q
}

// poll waits for n completions.
func (p *program) poll(n int) []guest.WC {
	p.t.Helper()
	return p.pollCQ(p.cq, n)
}

func (p *program) pollCQ(q *guest.CQ, n int) (all []guest.WC) {
	p.t.Helper()
	deadline := prototest.Deadline(p.t)
	for len(all) < n {
		if w, ok := q.Poll(); ok {
			all = append(all, w)
		} else if time.Now().After(deadline) {
			p.t.Fatalf("%d completions of %d", len(all), n)
		} else {
			time.Sleep(50 * time.Microsecond)
		}
	}
	return all
}

// want checks one completion.
func (p *program) want(desc string, id uint64, status uverbs.WCStatus) guest.WC {
	p.t.Helper()
	w := p.poll(1)[0]
	if w.ID != id || w.Status != uint32(status) {
		p.t.Fatalf("%s: completion %d with %v, want %d with %v", desc, w.ID, uverbs.WCStatus(w.Status), id, status)
	}
	return w
}

// pair returns two programs on two devices with a queue pair each, which are joined.
func pair(t *testing.T) (a, b *program, qa, qb *guest.QP) {
	t.Helper()
	a, b = newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	qa, qb = a.qp(nil), b.qp(nil)
	joinPair(t, a, b, qa, qb)
	return a, b, qa, qb
}

func joinPair(t testing.TB, a, b *program, qa, qb *guest.QP) {
	t.Helper()
	if err := errors.Join(qa.Join(b.gid, qb.Num), qb.Join(a.gid, qa.Num)); err != nil {
		t.Fatal(err)
	}
}

// fill fills n bytes of the program's memory at off with a pattern, and read returns them.
func (p *program) fill(off, n int, seed byte) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)*7 + byte(i>>8) + seed
	}
	m, _ := self()
	if err := m.Write(b, p.mr.Addr+uint64(off)); err != nil {
		p.t.Fatal(err)
	}
	return b
}

func (p *program) read(off, n int) []byte {
	b := make([]byte, n)
	m, _ := self()
	if err := m.Read(b, p.mr.Addr+uint64(off)); err != nil {
		p.t.Fatal(err)
	}
	return b
}

var sizes = []int{0, 1, 64, 4096, 4097, chunkLen - frameLen, chunkLen, chunkLen + 1, 300_000, memoryLen/2 - 1000}

func TestWrite(t *testing.T) {
	a, b, qa, _ := pair(t)
	for i, n := range sizes {
		want := a.fill(0, n, byte(i))
		if err := qa.Post(guest.WR{
			ID: uint64(i), Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr + 100, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, n)},
		}); err != nil {
			t.Fatal(err)
		}
		w := a.want(fmt.Sprint(n, " bytes"), uint64(i), uverbs.Success)
		// The completion says that the data is there.
		if got := b.read(100, n); !bytes.Equal(got, want) || w.Op != uint32(uverbs.WCWrite) || w.Len != uint32(n) {
			t.Errorf("Write of %d bytes: completion %+v, wrong data", n, w)
		}
	}
}

func TestRead(t *testing.T) {
	a, b, qa, _ := pair(t)
	for i, n := range sizes {
		want := b.fill(100, n, byte(i))
		list := []guest.SGE{a.mr.Part(0, n/3), a.mr.Part(memoryLen/2, n-n/3)}
		if err := qa.Post(guest.WR{
			ID: uint64(i), Op: guest.OpRead, Flags: guest.Signaled, Remote: b.mr.Addr + 100, Key: b.mr.Key, List: list,
		}); err != nil {
			t.Fatal(err)
		}
		a.want(fmt.Sprint(n, " bytes"), uint64(i), uverbs.Success)
		if got := append(a.read(0, n/3), a.read(memoryLen/2, n-n/3)...); !bytes.Equal(got, want) {
			t.Errorf("Read of %d bytes: wrong data", n)
		}
	}
}

func TestSend(t *testing.T) {
	a, b, qa, qb := pair(t)
	for i, n := range sizes {
		want := a.fill(0, n, byte(i))
		id := uint64(i)
		qb.PostRecv(id, b.mr.Part(0, n/2), b.mr.Part(memoryLen/2, n-n/2))
		if err := qa.Post(guest.WR{ID: id, Op: guest.OpSendImm, Flags: guest.Signaled, Imm: 77, List: []guest.SGE{a.mr.Part(0, n)}}); err != nil {
			t.Fatal(err)
		}
		w := b.want(fmt.Sprint(n, " bytes"), id, uverbs.Success)
		if got := append(b.read(0, n/2), b.read(memoryLen/2, n-n/2)...); !bytes.Equal(got, want) {
			t.Errorf("Send of %d bytes: wrong data", n)
		}
		if w.Len != uint32(n) || w.Imm != 77 || w.Op != uint32(uverbs.WCRecv) || w.Source != qa.Num || w.QPN != qb.Num {
			t.Errorf("Send of %d bytes: completion %+v", n, w)
		}
		a.want("the sender", id, uverbs.Success)
	}
}

func TestInlineAndImmediate(t *testing.T) {
	a, b, qa, qb := pair(t)
	qb.PostRecv(5, b.mr.Part(0, 0))
	data := []byte("placed by a Write with immediate data")
	if err := qa.Post(guest.WR{
		ID: 1, Op: guest.OpWriteImm, Flags: guest.Signaled | guest.Inline, Imm: 1 << 31, Remote: b.mr.Addr, Key: b.mr.Key, Data: data,
	}); err != nil {
		t.Fatal(err)
	}
	w := b.want("the receiver", 5, uverbs.Success)
	if w.Op != uint32(uverbs.WCRecvImm) || w.Imm != 1<<31 || w.Len != uint32(len(data)) || !bytes.Equal(b.read(0, len(data)), data) {
		t.Errorf("completion %+v, data %q", w, b.read(0, len(data)))
	}
	a.want("the sender", 1, uverbs.Success)
}

func TestAtomics(t *testing.T) {
	a, b, qa, _ := pair(t)
	word := func(p *program, off int) uint64 { return binary.NativeEndian.Uint64(p.read(off, 8)) }
	post := func(w guest.WR) uint64 {
		t.Helper()
		w.Flags, w.Remote, w.Key, w.List = guest.Signaled, b.mr.Addr+16, b.mr.Key, []guest.SGE{a.mr.Part(8, 8)}
		if err := qa.Post(w); err != nil {
			t.Fatal(err)
		}
		a.want("atomic", w.ID, uverbs.Success)
		return word(a, 8)
	}
	if old := post(guest.WR{ID: 1, Op: guest.OpFetchAdd, Operand: 40}); old != 0 || word(b, 16) != 40 {
		t.Errorf("FetchAdd returned %d and left %d", old, word(b, 16))
	}
	if old := post(guest.WR{ID: 2, Op: guest.OpCmpSwap, Operand: 41, Swap: 1}); old != 40 || word(b, 16) != 40 {
		t.Errorf("CmpSwap of another value returned %d and left %d", old, word(b, 16))
	}
	if old := post(guest.WR{ID: 3, Op: guest.OpCmpSwap, Operand: 40, Swap: 42}); old != 40 || word(b, 16) != 42 {
		t.Errorf("CmpSwap returned %d and left %d", old, word(b, 16))
	}
}

// Many work requests of all kinds complete in order.
func TestManyInOrder(t *testing.T) {
	a, b, qa, qb := pair(t)
	const n = 2000
	posted, recvs := 0, 0
	next := uint64(0)
	for next < n {
		for recvs < n && qb.PostRecv(uint64(recvs), b.mr.Part(0, 4096)) {
			recvs++
		}
		for posted < n && posted-int(next) < 60 {
			w := guest.WR{ID: uint64(posted), Flags: guest.Signaled, Remote: b.mr.Addr + 8192, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(8192, 1000)}}
			switch posted % 4 {
			case 0:
				w.Op = guest.OpSend
			case 1:
				w.Op = guest.OpWrite
			case 2:
				w.Op = guest.OpRead
			case 3:
				w.Op, w.List = guest.OpFetchAdd, []guest.SGE{a.mr.Part(0, 8)}
				w.Remote = b.mr.Addr + 4096
			}
			if err := qa.Post(w); err != nil {
				t.Fatal(err)
			}
			posted++
		}
		if w, ok := a.cq.Poll(); ok {
			if w.ID != next || w.Status != 0 {
				t.Fatalf("completion %d with %v, want %d", w.ID, uverbs.WCStatus(w.Status), next)
			}
			next++
		}
		for {
			if _, ok := b.cq.Poll(); !ok {
				break
			}
		}
	}
	if sum := binary.NativeEndian.Uint64(b.read(4096, 8)); sum != 0 {
		t.Errorf("the word is %d", sum)
	}
}

// A Send waits for a receive, and work requests in the other direction do not.
func TestSendBeforeReceive(t *testing.T) {
	a, b, qa, qb := pair(t)
	for i := range 40 { // more than the window
		a.fill(i*1000, 1000, byte(i))
		if err := qa.Post(guest.WR{ID: uint64(i), Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(i*1000, 1000)}}); err != nil {
			t.Fatal(err)
		}
	}
	want := a.read(0, 40_000)
	if err := qb.Post(guest.WR{ID: 100, Op: guest.OpWrite, Flags: guest.Signaled, Remote: a.mr.Addr + 500_000, Key: a.mr.Key, List: []guest.SGE{b.mr.Part(0, 10)}}); err != nil {
		t.Fatal(err)
	}
	b.want("a Write while Sends are held", 100, uverbs.Success)
	if w, ok := a.cq.Poll(); ok {
		t.Fatalf("a Send has completed without a receive: %+v", w)
	}
	for i := range 40 {
		qb.PostRecv(uint64(i), b.mr.Part(i*1000, 1000))
	}
	for i := range 40 {
		b.want("receive", uint64(i), uverbs.Success)
		a.want("Send", uint64(i), uverbs.Success)
	}
	if !bytes.Equal(b.read(0, 40_000), want) {
		t.Error("wrong data")
	}
}

func TestErrors(t *testing.T) {
	sizeOf := func(n int) []guest.SGE { return []guest.SGE{{Len: uint32(n)}} }
	tests := []struct {
		desc   string
		w      func(a, b *program) guest.WR
		recv   int // bytes of the receive that is posted; -1 means none
		status uverbs.WCStatus
		theirs uverbs.WCStatus // of the receive; Success means that it is still posted
	}{
		{"a key that the peer does not have", func(a, b *program) guest.WR {
			return guest.WR{Op: guest.OpWrite, Remote: b.mr.Addr, Key: b.mr.Key + 1, List: []guest.SGE{a.mr.Part(0, 8)}}
		}, -1, uverbs.RemoteAccessErr, 0},
		{"a Read beyond the end of the peer's memory", func(a, b *program) guest.WR {
			return guest.WR{Op: guest.OpRead, Remote: b.mr.Addr + memoryLen - 4, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}
		}, -1, uverbs.RemoteAccessErr, 0},
		{"an atomic on a word that is not aligned", func(a, b *program) guest.WR {
			return guest.WR{Op: guest.OpFetchAdd, Remote: b.mr.Addr + 4, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}
		}, -1, uverbs.RemoteInvalidErr, 0},
		{"an atomic Write of a word that is not aligned", func(_, b *program) guest.WR {
			return guest.WR{Op: uint32(uverbs.OpAtomicWrite), Remote: b.mr.Addr + 4, Key: b.mr.Key}
		}, -1, uverbs.RemoteInvalidErr, 0},
		{"a local key that there is not", func(a, b *program) guest.WR {
			return guest.WR{Op: guest.OpSend, List: []guest.SGE{{Addr: a.mr.Addr, Len: 8, Key: a.mr.Key + 1}}}
		}, -1, uverbs.LocalProtErr, 0},
		{"local memory beyond the end", func(a, b *program) guest.WR {
			return guest.WR{Op: guest.OpWrite, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(memoryLen-4, 8)}}
		}, -1, uverbs.LocalProtErr, 0},
		{"an operation that there is not", func(a, b *program) guest.WR {
			return guest.WR{Op: 99, List: sizeOf(0)}
		}, -1, uverbs.LocalQPErr, 0},
		{"a Send that is longer than the receive", func(a, b *program) guest.WR {
			return guest.WR{Op: guest.OpSend, List: []guest.SGE{a.mr.Part(0, 9)}}
		}, 8, uverbs.RemoteInvalidErr, uverbs.LocalLengthErr},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			a, b, qa, qb := pair(t)
			if tt.recv >= 0 {
				qb.PostRecv(9, b.mr.Part(0, tt.recv))
			}
			w := tt.w(a, b)
			w.ID, w.Flags = 7, guest.Signaled
			if err := qa.Post(w); err != nil {
				t.Fatal(err)
			}
			a.want("the sender", 7, tt.status)
			if tt.theirs != uverbs.Success {
				b.want("the receiver", 9, tt.theirs)
			}
			// From now on everything is flushed, even work requests that are posted later.
			if err := qa.Post(guest.WR{ID: 8, Op: guest.OpSend, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
				t.Fatal(err)
			}
			a.want("a later work request", 8, uverbs.FlushErr)
			qa.PostRecv(10, a.mr.Part(0, 8))
			a.want("a later receive", 10, uverbs.FlushErr)
			if s, err := qa.State(); s != guest.Err || err != nil {
				t.Errorf("the state is %d, %v", s, err)
			}
		})
	}
}

// TestDeniedRights: a peer is refused an access that the memory allows but the queue pair does not,
// whichever of the two dials.
func TestDeniedRights(t *testing.T) {
	tests := []struct {
		desc   string
		access byte // of the queue pair
		op     uint32
	}{
		{"Write", guest.All &^ byte(uverbs.RemoteWrite), guest.OpWrite},
		{"Read", guest.All &^ byte(uverbs.RemoteRead), guest.OpRead},
		{"FetchAdd", guest.All &^ byte(uverbs.RemoteAtomic), guest.OpFetchAdd},
	}
	for _, tt := range tests {
		for _, first := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, made first: %v", tt.desc, first), func(t *testing.T) {
				devices := [2]*Device{newDevice(t), newDevice(t)}
				if !first {
					devices[0], devices[1] = devices[1], devices[0]
				}
				a, b := newProgram(t, devices[0]), newProgram(t, devices[1])
				qa, qb := a.qp(nil), b.qp(nil)
				denied := func(in []byte) { in[88] = tt.access }
				err := errors.Join(qa.Join(b.gid, qb.Num), qb.Modify(guest.Init, a.gid, qa.Num, denied),
					qb.Modify(guest.RTR, a.gid, qa.Num, nil), qb.Modify(guest.RTS, a.gid, qa.Num, nil))
				if err != nil {
					t.Fatal(err)
				}
				send := guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}
				qb.PostRecv(2, b.mr.Part(0, 8))
				if err := qa.Post(send); err != nil {
					t.Fatal(err)
				}
				a.want("a Send, which needs no right", 1, uverbs.Success)
				w := guest.WR{ID: 3, Op: tt.op, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}
				if err := qa.Post(w); err != nil {
					t.Fatal(err)
				}
				a.want("what needs one", 3, uverbs.RemoteAccessErr)
			})
		}
	}
}

// A program may set a queue pair to ERR and to RESET, and join it again.
func TestFlushAndRejoin(t *testing.T) {
	a, b, qa, qb := pair(t)
	for i := range 5 {
		qa.PostRecv(uint64(i), a.mr.Part(0, 8))
	}
	if err := qa.Modify(guest.Err, a.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	for i := range 5 {
		a.want("flush", uint64(i), uverbs.FlushErr)
	}
	if err := errors.Join(qa.Modify(guest.Reset, a.gid, 0, nil), qb.Modify(guest.Reset, a.gid, 0, nil)); err != nil {
		t.Fatal(err)
	}
	joinPair(t, a, b, qa, qb)
	qb.PostRecv(1, b.mr.Part(0, 8))
	if err := qa.Post(guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	a.want("after joining again", 1, uverbs.Success)
	b.want("after joining again", 1, uverbs.Success)
}

// When a program ends, its peer's work requests fail, as they do when a NIC does not answer.
func TestPeerGone(t *testing.T) {
	a, b, qa, _ := pair(t)
	if err := qa.Post(guest.WR{ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	a.want("before", 1, uverbs.Success)
	b.ctx.Close()
	for i := uint64(2); ; i++ {
		if err := qa.Post(guest.WR{ID: i, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		if w := a.poll(1)[0]; w.Status == uint32(uverbs.RetryExceeded) {
			break
		}
		t.Fatal("a Send to a program that has ended did not fail so")
	}
}

func TestSharedReceiveQueue(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	srq, err := b.SRQ(b.pd, 16, 99)
	if err != nil {
		t.Fatal(err)
	}
	var from, to [3]*guest.QP
	for i := range from {
		from[i], to[i] = a.qp(nil), b.qp(func(c *guest.QPConfig) { c.SRQ = srq })
		joinPair(t, a, b, from[i], to[i])
	}
	if err := b.Limit(srq, 3); err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		srq.PostRecv(uint64(i), b.mr.Part(100*i, 100))
	}
	for i := range 6 {
		if err := from[i%3].Post(guest.WR{ID: uint64(i), Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 100)}}); err != nil {
			t.Fatal(err)
		}
		w := b.want("receive", uint64(i), uverbs.Success)
		if w.QPN != to[i%3].Num {
			t.Errorf("receive %d is of queue pair %d, want %d", i, w.QPN, to[i%3].Num)
		}
		a.want("Send", uint64(i), uverbs.Success)
	}
	e := b.channels[0].next(t)
	if h, _ := uverbs.ParseEvent(e); h != 99 || uverbs.EventType(binary.LittleEndian.Uint32(e[8:])) != uverbs.EventLimit {
		t.Errorf("event %x, want the limit", e)
	}

	// Receives stay when the queue becomes longer, and it takes more of them.
	srq.PostRecv(20, b.mr.Part(0, 100))
	mapping := pages(t, 16)
	resize := func(n uint32) error {
		return b.Resize(srq, n, mapping, uint64(uintptr(unsafe.Pointer(&mapping[0]))))
	}
	if err := resize(100); err != nil {
		t.Fatal(err)
	}
	for i := range 90 {
		if !srq.PostRecv(uint64(21+i), b.mr.Part(0, 100)) {
			t.Fatalf("no room for receive %d", i)
		}
	}
	for _, n := range []uint32{0, 90, 1 << 30} {
		if err := resize(n); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("resizing a queue of 91 to %d: %v", n, err)
		}
	}
	if err := b.Resize(srq, 200, mapping, 8); !errors.Is(err, syscall.EFAULT) {
		t.Errorf("an answer to no memory: %v", err)
	}
	for i := range 91 {
		if err := from[i%3].Post(guest.WR{ID: 7, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 100)}}); err != nil {
			t.Fatal(err)
		}
		b.want("receive after resizing", uint64(20+i), uverbs.Success)
		a.want("Send after resizing", 7, uverbs.Success)
	}
	if _, err := b.Destroy(35, srq.Handle); !errors.Is(err, syscall.EBUSY) {
		t.Errorf("destroying an SRQ in use: %v", err)
	}
}

func TestEvents(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	fd, err := b.Channel()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := b.CQ(10, fd, 42)
	if err != nil {
		t.Fatal(err)
	}
	qa, qb := a.qp(nil), b.qp(func(c *guest.QPConfig) { c.Recv = cq })
	joinPair(t, a, b, qa, qb)
	send := func(id uint64, flags uint32) {
		t.Helper()
		qb.PostRecv(id, b.mr.Part(0, 8))
		if err := qa.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled | flags, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		a.want("Send", id, uverbs.Success)
		b.pollCQ(cq, 1)
	}
	ch := b.channels[fd]
	unread := func() int { ch.mu.Lock(); defer ch.mu.Unlock(); return len(ch.events) }
	if err := b.Arm(cq, 1); err != nil {
		t.Fatal(err)
	}
	send(1, 0)
	if unread() != 0 {
		t.Error("an event for a Send that does not solicit one")
	}
	send(2, guest.Solicited)
	if h, _ := uverbs.ParseEvent(ch.next(t)); h != 42 {
		t.Errorf("event of CQ %d", h)
	}
	send(3, guest.Solicited)
	if unread() != 0 {
		t.Error("an event that nobody asked for")
	}
	if err := b.Arm(cq, 0); err != nil {
		t.Fatal(err)
	}
	send(4, 0)
	// The event is not read, so the program can't acknowledge it.
	if _, err := b.Destroy(27, qb.Handle); err != nil {
		t.Fatal(err)
	}
	if n, err := b.Destroy(20, cq.Handle); n != 1 || err != nil {
		t.Errorf("destroying the CQ: %d events to acknowledge, %v; want 1", n, err)
	}
}

// TestLostEvents: a program that has not read its events for a long time loses some, and need not
// acknowledge the lost ones.
func TestLostEvents(t *testing.T) {
	p := newProgram(t, newDevice(t))
	fd, err := p.Channel()
	if err != nil {
		t.Fatal(err)
	}
	cq, err := p.CQ(1, fd, 42)
	if err != nil {
		t.Fatal(err)
	}
	srq, err := p.SRQ(p.pd, 16, 43)
	if err != nil {
		t.Fatal(err)
	}
	ud := func(c *guest.QPConfig) { c.Recv, c.Type = cq, uint8(uverbs.UD) }
	own, shares := p.qp(ud), p.qp(func(c *guest.QPConfig) { ud(c); c.SRQ = srq })
	for _, c := range p.channels {
		c.full = true
	}
	const key = 0x11111111
	if err := errors.Join(own.Enable(key), shares.Enable(key), p.Arm(cq, 0), p.Limit(srq, 1)); err != nil {
		t.Fatal(err)
	}
	srq.PostRecv(1, p.mr.Part(0, 64))
	if err := own.Post(guest.WR{ID: 2, Op: guest.OpSend, To: &guest.To{QPN: shares.Num, QKey: key, GID: p.gid}, List: []guest.SGE{p.mr.Part(64, 8)}}); err != nil {
		t.Fatal(err)
	}
	p.pollCQ(cq, 1) // an event of cq, and the limit of srq
	for id := range uint64(2 * leastCQE) {
		own.PostRecv(id, p.mr.Part(0, 64))
	}
	for _, q := range []*guest.QP{own, shares} { // cq is too short, and shares has an event too
		if err := q.Modify(guest.Err, p.gid, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	for _, x := range []struct {
		desc   string
		cmd    uverbs.Command
		handle uint32
	}{{"the QP", uverbs.DestroyQP, shares.Handle}, {"the other QP", uverbs.DestroyQP, own.Handle}, {"the SRQ", uverbs.DestroySRQ, srq.Handle}} {
		if n, err := p.Destroy(uint32(x.cmd), x.handle); n != 0 || err != nil {
			t.Errorf("%s: %d events to acknowledge, %v", x.desc, n, err)
		}
	}
	out, _, err := p.Do(uint32(uverbs.DestroyCQ), append(make([]byte, 8), words(cq.Handle, 0)...), nil, 8, 0)
	if err != nil || !bytes.Equal(out, make([]byte, 8)) {
		t.Errorf("the CQ: events to acknowledge %x, %v", out, err)
	}
}

// words returns numbers as the input of a command.
func words(all ...uint32) (b []byte) {
	for _, n := range all {
		b = binary.LittleEndian.AppendUint32(b, n)
	}
	return b
}

// TestLeastCQ: a CQ for one completion holds several.
func TestLeastCQ(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	cq, err := b.CQ(1, -1, 42)
	if err != nil {
		t.Fatal(err)
	}
	qa, qb := a.qp(nil), b.qp(func(c *guest.QPConfig) { c.Recv = cq })
	joinPair(t, a, b, qa, qb)
	for id := range uint64(leastCQE) {
		qb.PostRecv(id, b.mr.Part(0, 8))
		if err := qa.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		a.want("Send", id, uverbs.Success) // which is acknowledged after the receive
	}
	for id, w := range b.pollCQ(cq, leastCQE) {
		if w.ID != uint64(id) {
			t.Errorf("completion %d, want %d", w.ID, id)
		}
	}
}

// Two programs answer each Send with a Send, and wait for both completions, as programs that
// measure latency do.
func TestPingPong(t *testing.T) {
	a, b, qa, qb := pair(t)
	for _, n := range sizes {
		for i := range 20 {
			id := uint64(i)
			for _, s := range []struct {
				p *program
				q *guest.QP
			}{{a, qa}, {b, qb}} {
				s.q.PostRecv(id, s.p.mr.Part(0, n))
			}
			for _, s := range []struct {
				from, to *program
				q        *guest.QP
			}{{a, b, qa}, {b, a, qb}} {
				if err := s.q.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{s.from.mr.Part(0, n)}}); err != nil {
					t.Fatal(err)
				}
				if w := s.to.want("receive", id, uverbs.Success); w.Len != uint32(n) {
					t.Fatalf("%d bytes of %d", w.Len, n)
				}
				s.from.want("Send", id, uverbs.Success)
			}
		}
	}
}

// The acknowledgement of a message goes out in front of the program's answer, and without an answer
// after a while.
func TestAnswers(t *testing.T) {
	a, b, qa, qb := pair(t)
	post := func(p *program, q *guest.QP, id uint64) {
		t.Helper()
		if err := q.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, 64)}}); err != nil {
			t.Fatal(err)
		}
	}
	for range 3 {
		for range 3 * enoughFirst {
			qa.PostRecv(1, a.mr.Part(0, 64))
			qb.PostRecv(2, b.mr.Part(0, 64))
			post(a, qa, 3)
			b.want("the message", 2, uverbs.Success)
			post(b, qb, 4)
			if w := a.poll(2); w[0].ID+w[1].ID != 1+3 {
				t.Fatalf("completions %+v", w)
			}
			b.want("Send of the answer", 4, uverbs.Success)
		}
		qb.PostRecv(2, b.mr.Part(0, 64))
		post(a, qa, 3)
		a.want("a message without an answer", 3, uverbs.Success)
		b.want("that message", 2, uverbs.Success)
	}
}

// By the key of a window, a peer can access the part of memory that the window is bound to, until
// the key is invalidated, by this end or by a Send.
func TestMemoryWindow(t *testing.T) {
	for _, kind := range []uint32{1, 2} {
		for _, how := range []string{"dealloc", "local", "remote"} {
			t.Run(fmt.Sprint("type ", kind, " ", how), func(t *testing.T) {
				a, b, qa, qb := pair(t)
				handle, key, err := b.MW(b.pd, kind)
				if err != nil {
					t.Fatal(err)
				}
				bind := guest.WR{ID: 1, Op: guest.OpBindMW, Flags: guest.Signaled, Bind: guest.Bind{
					MR: b.mr, Off: 64, Len: 64, Old: key, Key: key + 1, Access: guest.RemoteWrite,
				}}
				if err := qb.Post(bind); err != nil {
					t.Fatal(err)
				}
				b.want("bind", 1, uverbs.Success)
				want := a.fill(0, 64, 3)
				write := guest.WR{ID: 2, Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr + 64, Key: key + 1, List: []guest.SGE{a.mr.Part(0, 64)}}
				if err := qa.Post(write); err != nil {
					t.Fatal(err)
				}
				a.want("Write by the window", 2, uverbs.Success)
				if !bytes.Equal(b.read(64, 64), want) {
					t.Error("wrong data")
				}
				if err := b.Free(uint32(uverbs.DeregMR), b.mr.Handle); err != syscall.EINVAL {
					t.Errorf("an MR with a window is deregistered: %v, want %v", err, syscall.EINVAL)
				}
				switch {
				case how == "dealloc" || kind == 1: // a window of type 1 cannot be invalidated
					if err := b.Free(16, handle); err != nil {
						t.Fatal(err)
					}
				case how == "local":
					if err := qb.Post(guest.WR{ID: 3, Op: guest.OpLocalInv, Flags: guest.Signaled, Key: key + 1}); err != nil {
						t.Fatal(err)
					}
					b.want("invalidate", 3, uverbs.Success)
				case how == "remote":
					qb.PostRecv(3, b.mr.Part(0, 8))
					if err := qa.Post(guest.WR{ID: 3, Op: guest.OpSendInv, Flags: guest.Signaled, Key: key + 1}); err != nil {
						t.Fatal(err)
					}
					if w := b.want("invalidate", 3, uverbs.Success); w.Flags != uint32(uverbs.WCHasInval) {
						t.Errorf("completion %+v", w)
					}
					a.want("Send with Invalidate", 3, uverbs.Success)
				}
				write.ID = 4
				if err := qa.Post(write); err != nil {
					t.Fatal(err)
				}
				a.want("Write by a key that is gone", 4, uverbs.RemoteAccessErr)
				if err := b.Free(uint32(uverbs.DeregMR), b.mr.Handle); err != nil {
					t.Errorf("an MR without a window is deregistered: %v", err)
				}
			})
		}
	}
}

func TestMemoryWindowRefused(t *testing.T) {
	tests := []struct {
		desc   string
		change func(b *program, x *guest.Bind)
	}{
		{"a window that there is not", func(b *program, x *guest.Bind) { x.Old += 1 << 8; x.Key += 1 << 8 }},
		{"another window's key", func(b *program, x *guest.Bind) { x.Key += 1 << 8 }},
		{"beyond the end of the memory", func(b *program, x *guest.Bind) { x.Len = memoryLen + 1 }},
		{"memory that there is not", func(b *program, x *guest.Bind) { x.MR.Key++ }},
		{"memory that no window may be bound to", func(b *program, x *guest.Bind) {
			m, err := b.Register(b.pd, b.mr.B[:4096], guest.All)
			if err != nil {
				b.t.Fatal(err)
			}
			x.MR = m
		}},
		{"nothing", func(b *program, x *guest.Bind) { x.Len = 0 }},
	}
	for _, tt := range tests {
		t.Run(tt.desc, func(t *testing.T) {
			_, b, _, qb := pair(t)
			_, key, err := b.MW(b.pd, 2)
			if err != nil {
				t.Fatal(err)
			}
			x := guest.Bind{MR: b.mr, Len: 64, Old: key, Key: key + 1, Access: guest.RemoteRead}
			tt.change(b, &x)
			if err := qb.Post(guest.WR{ID: 1, Op: guest.OpBindMW, Flags: guest.Signaled, Bind: x}); err != nil {
				t.Fatal(err)
			}
			b.want("bind", 1, uverbs.MWBindErr)
		})
	}
}

// TestResizeAfterPost: a completion queue cannot become smaller than the work requests that were
// posted before need, even if the device has not looked at them or is just looking.
func TestResizeAfterPost(t *testing.T) {
	a := newProgram(t, newDevice(t))
	a.slowBell = true
	q := a.qp(func(c *guest.QPConfig) { c.Type = uint8(uverbs.UD) })
	if err := q.Enable(1); err != nil {
		t.Fatal(err)
	}
	resize := binary.LittleEndian.AppendUint32(binary.LittleEndian.AppendUint32(nil, a.cq.Handle), 1)
	for range 300 {
		for range 2 {
			w := guest.WR{Op: guest.OpSend, Flags: guest.Signaled, To: &guest.To{QPN: q.Num, QKey: 1, GID: a.gid}, List: []guest.SGE{a.mr.Part(0, 8)}}
			if err := q.Post(w); err != nil {
				t.Fatal(err)
			}
		}
		if _, _, err := a.Do(uint32(uverbs.ResizeCQ), append(make([]byte, 8), resize...), nil, 8, 0); !errors.Is(err, syscall.EINVAL) {
			t.Fatalf("fewer entries than two Sends need: %v, want EINVAL", err)
		}
		a.poll(2)
	}
}

// TestDatagrams: datagrams arrive, with a header in front that says where they come from, unless
// they have another key or no receive is posted.
func TestDatagrams(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	ud := func(c *guest.QPConfig) { c.Type = uint8(uverbs.UD) }
	qa, qb := a.qp(ud), b.qp(ud)
	const key = 0x11111111
	if err := errors.Join(qa.Enable(key), qb.Enable(key)); err != nil {
		t.Fatal(err)
	}
	ah, err := a.AH(a.pd, b.gid)
	if err != nil {
		t.Fatal(err)
	}
	const n = 3000
	want := a.fill(0, n, 1)
	for i, to := range []guest.To{
		{QPN: qb.Num, QKey: key, AH: ah},
		{QPN: qb.Num, QKey: key, GID: b.gid},
		{QPN: qb.Num, QKey: 1 << 31, GID: b.gid}, // the sender's own key
	} {
		id := uint64(i)
		qb.PostRecv(id, b.mr.Part(0, 40), b.mr.Part(1000, n))
		// A datagram with another key, and one to a queue pair that does not exist, are lost.
		for _, lost := range []guest.To{{QPN: qb.Num, QKey: key + 1, GID: b.gid}, {QPN: qb.Num + 1, QKey: key, GID: b.gid}} {
			if err := qa.Post(guest.WR{ID: 77, Op: guest.OpSend, Flags: guest.Signaled, To: &lost, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
				t.Fatal(err)
			}
			a.want("a datagram that is lost", 77, uverbs.Success)
		}
		if err := qa.Post(guest.WR{ID: id, Op: guest.OpSendImm, Flags: guest.Signaled, Imm: 5, To: &to, List: []guest.SGE{a.mr.Part(0, n)}}); err != nil {
			t.Fatal(err)
		}
		a.want("Send", id, uverbs.Success)
		w := b.want("receive", id, uverbs.Success)
		if w.Len != 40+n || w.Source != qa.Num || w.Imm != 5 || w.Flags != uint32(uverbs.WCHasGRH|uverbs.WCHasImm) || w.SL != uint8(uverbs.PacketIPv4) {
			t.Errorf("completion %+v", w)
		}
		if !bytes.Equal(b.read(1000, n), want) {
			t.Error("wrong data")
		}
		if h := b.read(20, 20); h[0] != 0x45 || !bytes.Equal(h[12:], []byte{127, 0, 0, 1, 127, 0, 0, 1}) {
			t.Errorf("the header is %x", h)
		}
	}
	if err := qa.Post(guest.WR{ID: 9, Op: guest.OpSend, To: &guest.To{QPN: qb.Num, QKey: key, GID: b.gid}, List: []guest.SGE{a.mr.Part(0, 4097)}}); err != nil {
		t.Fatal(err)
	}
	a.want("longer than the MTU", 9, uverbs.LocalLengthErr)
}

// A slowMemory is memory that announces each Write before it happens, and waits.
type slowMemory struct {
	Process
	write chan func()
}

func (m slowMemory) Write(b []byte, addr uint64) error {
	(<-m.write)()
	return m.Process.Write(b, addr)
}

// When a queue pair has been reset, or destroyed, no datagram is on its way to the program's
// memory.
func TestResetDuringDatagram(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	ud := func(c *guest.QPConfig) { c.Type = uint8(uverbs.UD) }
	qa, qb := a.qp(ud), b.qp(ud)
	const key = 0x11111111
	if err := errors.Join(qa.Enable(key), qb.Enable(key)); err != nil {
		t.Fatal(err)
	}
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	slow := slowMemory{m, make(chan func(), 2)}
	b.memory = slow
	mr, err := b.Register(b.pd, pages(t, 4096), guest.All)
	if err != nil {
		t.Fatal(err)
	}
	var reset atomic.Bool
	over, looked := make(chan error, 1), make(chan struct{})
	slow.write <- func() {
		defer close(looked)
		go func() {
			err := qb.Modify(uint8(uverbs.Reset), b.gid, 0, nil)
			reset.Store(true)
			over <- err
		}()
		for range 10_000 {
			runtime.Gosched()
		}
		if reset.Load() {
			t.Error("reset before the datagram was in the program's memory")
		}
	}
	slow.write <- func() {}
	qb.PostRecv(1, mr.Part(0, 1000))
	if err := qa.Post(guest.WR{ID: 2, Op: guest.OpSend, To: &guest.To{QPN: qb.Num, QKey: key, GID: b.gid}, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	<-looked
	if err := <-over; err != nil {
		t.Error(err)
	}
}
