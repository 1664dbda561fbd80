//go:build amd64 || arm64

package softrnic

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
)

// A brokenMemory is memory of a program that the device must not copy to.
type brokenMemory struct{ Process }

func (m *brokenMemory) Write([]byte, uint64) error { panic("a bug of the test") }

// TestPanic: a panic in what a peer's bytes lead to ends its queue pair, and nothing else. The
// program learns of it by an event and by its completions, and can use the queue pair again.
func TestPanic(t *testing.T) {
	const key = 0x11111111
	for _, test := range []struct {
		desc  string
		ud    bool
		early bool // the Send comes before the receive
		reads bool // the program reads from the peer instead
	}{
		{desc: "a Send"},
		{desc: "a Send that waits for its receive", early: true},
		{desc: "an RDMA Read", reads: true},
		{desc: "a datagram", ud: true},
	} {
		t.Run(test.desc, func(t *testing.T) {
			panics.Forget()
			a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
			m, err := self()
			if err != nil {
				t.Fatal(err)
			}
			b.memory = &brokenMemory{m}
			mr, err := b.Register(b.pd, pages(t, 4096), guest.All)
			if err != nil {
				t.Fatal(err)
			}
			oa, ob := a.qp(nil), b.qp(nil) // another pair on the same devices
			joinPair(t, a, b, oa, ob)
			kind := func(c *guest.QPConfig) {
				if test.ud {
					c.Type = uint8(uverbs.UD)
				}
			}
			qa, qb := a.qp(kind), b.qp(kind)
			if test.ud {
				err = errors.Join(qa.Enable(key), qb.Enable(key))
			} else {
				joinPair(t, a, b, qa, qb)
			}
			if err != nil {
				t.Fatal(err)
			}
			post := func() {
				q, w := qa, guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}
				if test.reads {
					q, w = qb, guest.WR{ID: 2, Op: guest.OpRead, Flags: guest.Signaled, Remote: a.mr.Addr, Key: a.mr.Key, List: []guest.SGE{mr.Part(0, 8)}}
				}
				if test.ud {
					w.To = &guest.To{GID: b.gid, QPN: qb.Num, QKey: key}
				}
				if err := q.Post(w); err != nil {
					t.Fatal(err)
				}
			}
			if test.early {
				post()
			}
			qb.PostRecv(3, mr.Part(0, 4096))
			if !test.early {
				post()
			}
			if event := uverbs.EventType(binary.LittleEndian.Uint32(b.channels[0].next(t)[8:])); event != uverbs.EventQPFatal {
				t.Errorf("event %d, want %d", event, uverbs.EventQPFatal)
			}
			if n := panics.Count(); n != 0 {
				t.Errorf("%d panics are unclaimed", n)
			}
			ob.PostRecv(4, b.mr.Part(0, 8))
			if err := oa.Post(guest.WR{ID: 5, Op: guest.OpSend, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
				t.Fatal(err)
			}
			for w := b.poll(1)[0]; w.ID != 4 || w.Status != uint32(uverbs.Success); w = b.poll(1)[0] {
				if w.Status == uint32(uverbs.Success) {
					t.Errorf("completion %d succeeds", w.ID)
				}
			}
			if err := qb.Modify(guest.Reset, b.gid, 0, nil); err != nil {
				t.Error(err)
			}
		})
	}
}
