//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"errors"
	"math"
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
