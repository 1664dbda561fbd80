//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"fmt"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A refusal is a work request that the peer refuses.
type refusal struct {
	desc string
	wr   guest.WR
	bad  uint32 // added to the key
	n    int    // bytes
	want uverbs.WCStatus
}

var refusals = []refusal{
	{"a Write", guest.WR{Op: guest.OpWrite}, 1, 8, uverbs.RemoteAccessErr},
	{"a Write with immediate data", guest.WR{Op: guest.OpWriteImm}, 1, 8, uverbs.RemoteAccessErr},
	{"a Read", guest.WR{Op: guest.OpRead}, 1, 8, uverbs.RemoteAccessErr},
	{"an atomic", guest.WR{Op: guest.OpFetchAdd}, 1, 8, uverbs.RemoteAccessErr},
	{"a Send that is too long", guest.WR{Op: guest.OpSend}, 0, 1 << 18, uverbs.RemoteInvalidErr},
	{"a Send that invalidates a wrong key", guest.WR{Op: guest.OpSendInv}, 1, 8, uverbs.RemoteAccessErr},
}

// TestAheadOfRefused: work requests in front of one that the peer refuses complete with success if
// the peer has carried them out, the refused one has the error, and those behind it are flushed.
func TestAheadOfRefused(t *testing.T) {
	for _, before := range []struct {
		desc string
		op   uint32
		n    int
	}{
		{"a Send", guest.OpSend, 8},
		{"a Write", guest.OpWrite, 8},
		{"a Write with immediate data", guest.OpWriteImm, 8},
		{"an atomic", guest.OpFetchAdd, 8},
		{"a Read", guest.OpRead, 8},
		{"a long Read", guest.OpRead, 700_000},
	} {
		for _, r := range refusals {
			t.Run(fmt.Sprint(r.desc, " behind ", before.desc), func(t *testing.T) {
				a, b, qa, qb := pair(t)
				for i := range 3 {
					qb.PostRecv(uint64(50+i), b.mr.Part(0, 8))
				}
				want := b.fill(4096, before.n, 3)
				first := guest.WR{ID: 1, Op: before.op, Flags: guest.Signaled, Remote: b.mr.Addr + 4096, Key: b.mr.Key, Operand: 1, List: []guest.SGE{a.mr.Part(1<<20, before.n)}}
				second := first
				second.ID = 2
				wrong := r.wr
				wrong.ID, wrong.Flags, wrong.Remote, wrong.Key = 3, guest.Signaled, b.mr.Addr, b.mr.Key+r.bad
				wrong.List = []guest.SGE{a.mr.Part(0, r.n)}
				if err := qa.Post(first, second, wrong, guest.WR{ID: 4, Op: guest.OpSend, Flags: guest.Signaled, List: wrong.List}); err != nil {
					t.Fatal(err)
				}
				a.want("what comes first", 1, uverbs.Success)
				a.want("what comes second", 2, uverbs.Success)
				a.want("what is refused", 3, r.want)
				a.want("what comes behind it", 4, uverbs.FlushErr)
				if before.op == guest.OpRead && !bytes.Equal(a.read(1<<20, before.n), want) {
					t.Error("the Read has got something else")
				}
				if before.op == guest.OpSend || before.op == guest.OpWriteImm {
					b.want("the peer's first receive", 50, uverbs.Success)
					b.want("the peer's second receive", 51, uverbs.Success)
				}
			})
		}
	}
}

// TestAheadOfRefusedLate: immediate data in front of a refused Write waits for a receive, and the
// refusal waits for that data.
func TestAheadOfRefusedLate(t *testing.T) {
	a, b, qa, qb := pair(t)
	lb := b.linkOf(t, qb)
	data := []guest.SGE{a.mr.Part(0, 8)}
	if err := qa.Post(
		guest.WR{ID: 1, Op: guest.OpWriteImm, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: data},
		guest.WR{ID: 2, Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key + 1, List: data}); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the refusal", func() bool {
		lb.q.recvMu.Lock()
		defer lb.q.recvMu.Unlock()
		return lb.receiver.idle != nil || lb.ctx.Err() != nil // +checklocksignore: the link's queue pair is locked
	})
	if w, ok := a.cq.Poll(); ok {
		t.Fatalf("completion %+v before there is a receive", w)
	}
	qb.PostRecv(50, b.mr.Part(0, 8))
	a.want("the Write with immediate data", 1, uverbs.Success)
	a.want("the refused Write", 2, uverbs.RemoteAccessErr)
	b.want("the peer's receive", 50, uverbs.Success)
}

// TestEndWhileRefusalWaits: if a peer ends while its refused Write waits behind immediate data that
// has no receive, the connection ends.
func TestEndWhileRefusalWaits(t *testing.T) {
	a, b, qa, qb := pair(t)
	lb := b.linkOf(t, qb)
	data := []guest.SGE{a.mr.Part(0, 8)}
	if err := qa.Post(
		guest.WR{ID: 1, Op: guest.OpWriteImm, Remote: b.mr.Addr, Key: b.mr.Key, List: data},
		guest.WR{ID: 2, Op: guest.OpWrite, Remote: b.mr.Addr, Key: b.mr.Key + 1, List: data}); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the refusal", func() bool {
		lb.q.recvMu.Lock()
		defer lb.q.recvMu.Unlock()
		return lb.receiver.idle != nil // +checklocksignore: the link's queue pair is locked
	})
	if err := qa.Modify(uint8(uverbs.Reset), b.gid, qb.Num, nil); err != nil {
		t.Fatal(err)
	}
	prototest.Wait(t, "the end of the peer's connection", func() bool { return lb.ctx.Err() != nil })
}

// TestBlame: the peer's Terminate about a Write blames no Read of the same memory in front of it.
func TestBlame(t *testing.T) {
	a, b, qa, _ := pair(t)
	const remoteWrite = 2
	mr, err := b.Register(b.pd, pages(t, 4096), guest.All&^remoteWrite)
	if err != nil {
		t.Fatal(err)
	}
	data := []guest.SGE{a.mr.Part(0, 8)}
	if err := qa.Post(
		guest.WR{ID: 1, Op: guest.OpRead, Flags: guest.Signaled, Remote: mr.Addr, Key: mr.Key, List: data},
		guest.WR{ID: 2, Op: guest.OpWrite, Flags: guest.Signaled, Remote: mr.Addr, Key: mr.Key, List: data}); err != nil {
		t.Fatal(err)
	}
	a.want("the Read", 1, uverbs.Success)
	a.want("the Write", 2, uverbs.RemoteAccessErr)
}

// TestOwnWorkBesideRefusal: a program's own work request completes although the peer's refused
// Write waits for a receive of that program. The program may post a receive only once its work
// request has completed.
func TestOwnWorkBesideRefusal(t *testing.T) {
	for _, when := range []string{"before", "after"} {
		t.Run(when, func(t *testing.T) {
			a, b, qa, qb := pair(t)
			lb := b.linkOf(t, qb)
			data := []guest.SGE{a.mr.Part(0, 8)}
			send := func() {
				if err := qb.Post(guest.WR{ID: 7, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{b.mr.Part(0, 8)}}); err != nil {
					t.Fatal(err)
				}
				prototest.Wait(t, "the program's Send", func() bool { return !lb.isIdle() || lb.ctx.Err() != nil })
			}
			if when == "before" {
				send()
			}
			if err := qa.Post(
				guest.WR{ID: 1, Op: guest.OpWriteImm, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: data},
				guest.WR{ID: 2, Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key + 1, List: data}); err != nil {
				t.Fatal(err)
			}
			if when == "after" {
				prototest.Wait(t, "the refusal", func() bool {
					lb.q.recvMu.Lock()
					defer lb.q.recvMu.Unlock()
					return lb.receiver.idle != nil // +checklocksignore: the link's queue pair is locked
				})
				send()
			}
			b.want("the program's Send", 7, uverbs.FlushErr)
			a.want("the Write with immediate data, which has not been carried out", 1, uverbs.FlushErr)
			a.want("the refused Write", 2, uverbs.RemoteAccessErr)
		})
	}
}
