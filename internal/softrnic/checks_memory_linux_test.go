//go:build amd64 || arm64

package softrnic

import (
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
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
