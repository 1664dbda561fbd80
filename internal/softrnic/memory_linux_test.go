//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"errors"
	"math"
	"sync"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

const onDemandAll = guest.All | guest.OnDemand

// TestOnDemand writes to and from memory that was registered before it existed.
func TestOnDemand(t *testing.T) {
	const n = 3 * 4096
	for _, desc := range []string{"all memory", "a range"} {
		t.Run(desc, func(t *testing.T) {
			a, b, qa, _ := pair(t)
			hole := pages(t, n)
			addr := guest.Address(hole)
			if err := unix.Mprotect(hole, unix.PROT_NONE); err != nil {
				t.Fatal(err)
			}
			start, length := addr, uint64(n)
			if desc == "all memory" {
				start, length = 0, math.MaxUint64
			}
			if _, err := b.RegisterRange(b.pd, addr, n, guest.All); !errors.Is(err, syscall.EFAULT) {
				t.Errorf("memory that is not there, not on demand: %v, want EFAULT", err)
			}
			theirs, err := b.RegisterRange(b.pd, start, length, onDemandAll)
			if err != nil {
				t.Fatal(err)
			}
			ours, err := a.RegisterRange(a.pd, start, length, guest.OnDemand)
			if err != nil {
				t.Fatal(err)
			}
			if err := unix.Mprotect(hole, unix.PROT_READ|unix.PROT_WRITE); err != nil {
				t.Fatal(err)
			}
			want := bytes.Repeat([]byte("on demand"), n/2/9)
			copy(hole, want)
			w := guest.WR{
				ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, Remote: addr + n/2, Key: theirs.Key,
				List: []guest.SGE{{Addr: addr, Len: uint32(len(want)), Key: ours.Key}},
			}
			if err := qa.Post(w); err != nil {
				t.Fatal(err)
			}
			a.want("the Write", 1, uverbs.Success)
			if got := hole[n/2:][:len(want)]; !bytes.Equal(got, want) {
				t.Error("wrong data")
			}
			if err := unix.Mprotect(hole, unix.PROT_NONE); err != nil {
				t.Fatal(err)
			}
			w.ID, w.List = 2, []guest.SGE{a.mr.Part(0, 8)}
			if err := qa.Post(w); err != nil {
				t.Fatal(err)
			}
			a.want("a Write to what is not there any more", 2, uverbs.RemoteAccessErr)
		})
	}
}

// TestAllMemoryHasNoHighAddresses: a peer names an address that no program has, and an end beyond
// all addresses.
func TestAllMemoryHasNoHighAddresses(t *testing.T) {
	for _, addr := range []uint64{math.MaxInt64 - 4, math.MaxInt64 - 8, math.MaxUint64 - 7, 1 << 63} {
		a, b, qa, _ := pair(t)
		theirs, err := b.RegisterRange(b.pd, 0, math.MaxUint64, onDemandAll)
		if err != nil {
			t.Fatal(err)
		}
		if err := qa.Post(guest.WR{
			ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, Remote: addr, Key: theirs.Key, List: []guest.SGE{a.mr.Part(0, 8)},
		}); err != nil {
			t.Fatal(err)
		}
		a.want("the Write", 1, uverbs.RemoteAccessErr)
	}
}

func TestOnDemandRefused(t *testing.T) {
	p := newProgram(t, newDevice(t))
	for _, r := range [][2]uint64{
		{4096, 0}, {4096, math.MaxUint64}, {math.MaxInt64, 1}, {math.MaxUint64, 1}, {math.MaxUint64 - 4095, 4096}, {1 << 62, 1 << 63},
	} {
		if _, err := p.RegisterRange(p.pd, r[0], r[1], onDemandAll); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("%d bytes at %#x: %v, want EINVAL", r[1], r[0], err)
		}
	}
	// With another address for the peers, too, nothing begins again at 0.
	const zeroBased = uint32(uverbs.ZeroBased)
	if _, err := p.RegisterRange(p.pd, math.MaxUint64-4095, 1<<20, onDemandAll|zeroBased); !errors.Is(err, syscall.EINVAL) {
		t.Errorf("memory beyond the last address: %v, want EINVAL", err)
	}
}

// TestLocalRights: what a program may do with its own memory.
func TestLocalRights(t *testing.T) {
	a, b, qa, qb := pair(t)
	for _, access := range []uint32{guest.RemoteWrite, guest.RemoteAtomic} {
		if _, err := b.Register(b.pd, b.mr.B[:4096], access); !errors.Is(err, syscall.EINVAL) {
			t.Errorf("rights %#x without the right to write: %v, want EINVAL", access, err)
		}
	}
	constant, err := b.Register(b.pd, b.mr.B[:4096], 0)
	if err != nil {
		t.Fatal(err)
	}
	qb.PostRecv(1, constant.Part(0, 8))
	if err := qa.Post(guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	b.want("a receive in memory that is constant", 1, uverbs.LocalProtErr)
	a.want("its Send", 2, uverbs.RemoteOpErr)

	a, b, qa, _ = pair(t)
	page, err := a.Register(a.pd, a.mr.B[:4096], 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := qa.Post(guest.WR{
		ID: 3, Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{page.Part(4092, 8)},
	}); err != nil {
		t.Fatal(err)
	}
	a.want("memory of the program beyond what is registered", 3, uverbs.LocalProtErr)
}

// TestBindAfterDeregister: a window that is being bound to an MR while the MR is deregistered is
// not bound.
func TestBindAfterDeregister(t *testing.T) {
	p := newProgram(t, newDevice(t))
	p.ctx.mu.Lock()
	pd := p.ctx.pds[p.pd]
	p.ctx.mu.Unlock()
	w := &memoryWindow{pd: pd, kind: 1}
	pd.addWindow(w)
	release := hold(t, &w.mu)
	bind := uverbs.Bind{Addr: p.mr.Addr, Len: 8, LKey: p.mr.Key, OldKey: w.key, NewKey: w.key + 1, Access: uverbs.RemoteWrite}
	bound := make(chan error, 1)
	go func() { bound <- pd.bind(&bind, 1) }()
	prototest.Wait(t, "the bind", func() bool { return waitsIn("(*protectionDomain).bind") })
	if err := p.Free(uint32(uverbs.DeregMR), p.mr.Handle); err != nil {
		t.Fatal(err)
	}
	release()
	if err := <-bound; err != errBind {
		t.Errorf("%v, want %v", err, errBind)
	}
}

// A notingMemory notes where the bytes are that it reads to, and writes from.
type notingMemory struct {
	Process
	mu      sync.Mutex
	read    map[*byte]bool
	written map[*byte]bool
}

func (m *notingMemory) Read(b []byte, addr uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read[&b[0]] = true
	return m.Process.Read(b, addr)
}

func (m *notingMemory) Write(b []byte, addr uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.written[&b[0]] = true
	return m.Process.Write(b, addr)
}

// TestCopiedTwice: what goes from one program to another of the same process is copied out of the
// one and into the other.
func TestCopiedTwice(t *testing.T) {
	for _, op := range []uint32{guest.OpRead, guest.OpWrite} {
		a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
		m, err := self()
		if err != nil {
			t.Fatal(err)
		}
		noting := &notingMemory{Process: m, read: map[*byte]bool{}, written: map[*byte]bool{}}
		a.memory, b.memory = noting, noting
		const n = 8 * chunkLen
		from, errFrom := b.Register(b.pd, pages(t, n), guest.All)
		to, errTo := a.Register(a.pd, pages(t, n), guest.All)
		if err := errors.Join(errFrom, errTo); err != nil {
			t.Fatal(err)
		}
		qa, qb := a.qp(nil), b.qp(nil)
		joinPair(t, a, b, qa, qb)
		if err := qa.Post(guest.WR{ID: 1, Op: op, Flags: guest.Signaled, Remote: from.Addr, Key: from.Key, List: []guest.SGE{to.Part(0, n)}}); err != nil {
			t.Fatal(err)
		}
		a.want("it", 1, uverbs.Success)
		noting.mu.Lock()
		for p := range noting.written {
			if !noting.read[p] {
				t.Errorf("operation %d: bytes were copied between the two programs", op)
			}
		}
		if len(noting.written) == 0 {
			t.Errorf("operation %d: nothing was written", op)
		}
		noting.mu.Unlock()
	}
}

// TestSinkProtected: a Read fails whose answer cannot be copied to the program, and the Reads in
// front of it do not.
func TestSinkProtected(t *testing.T) {
	for _, n := range []int{8, 3 * chunkLen} {
		a, b, qa, _ := pair(t)
		memory := pages(t, 4*chunkLen)
		mr, err := a.Register(a.pd, memory, guest.All)
		if err != nil {
			t.Fatal(err)
		}
		read := guest.WR{ID: 1, Op: guest.OpRead, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, n)}}
		if err := qa.Post(read); err != nil {
			t.Fatal(err)
		}
		if err := unix.Mprotect(memory, unix.PROT_READ); err != nil {
			t.Fatal(err)
		}
		read.ID, read.List = 2, []guest.SGE{mr.Part(0, n)}
		if err := qa.Post(read); err != nil {
			t.Fatal(err)
		}
		a.want("the first Read", 1, uverbs.Success)
		a.want("the second", 2, uverbs.LocalProtErr)
	}
}
