//go:build amd64 || arm64

package softrnic

import (
	"encoding/binary"
	"errors"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/panics"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// An unreadableMemory is memory of a program that the device must not copy from.
type unreadableMemory struct{ Process }

func (m *unreadableMemory) Read([]byte, uint64) error { panic("a bug of the test") }

// An uncheckedMemory is memory that cannot be registered.
type uncheckedMemory struct{ Process }

func (m *uncheckedMemory) Check(uint64, uint64, bool) error { panic("a bug of the test") }

// TestPanicOfContext: a panic in what a program posts or commands breaks its device, and nothing
// else: the program gets an event, and an error from each further command. Another program on the
// same device goes on.
func TestPanicOfContext(t *testing.T) {
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		desc    string
		memory  Process
		provoke func(b *program, qb *guest.QP) error
	}{
		{"a work request", &unreadableMemory{m}, func(b *program, qb *guest.QP) error {
			mr, err := b.Register(b.pd, pages(t, 4096), guest.All)
			if err != nil {
				return err
			}
			return qb.Post(guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{mr.Part(0, 8)}})
		}},
		{"a command", &uncheckedMemory{m}, func(b *program, _ *guest.QP) error {
			if _, err := b.Register(b.pd, pages(t, 4096), guest.All); !errors.Is(err, syscall.EIO) {
				t.Errorf("the command returns %v, want EIO", err)
			}
			return nil
		}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			panics.Forget()
			dev := newDevice(t)
			a, b, other := newProgram(t, newDevice(t)), newProgram(t, dev), newProgram(t, dev)
			qa, qb, oa, oo := a.qp(nil), b.qp(nil), a.qp(nil), other.qp(nil)
			joinPair(t, a, b, qa, qb)
			joinPair(t, a, other, oa, oo)
			b.memory = tt.memory
			if err := tt.provoke(b, qb); err != nil {
				t.Fatal(err)
			}
			if event := uverbs.EventType(binary.LittleEndian.Uint32(b.channels[0].next(t)[8:])); event != uverbs.EventDeviceFatal {
				t.Errorf("event %d, want %d", event, uverbs.EventDeviceFatal)
			}
			if n := panics.Count(); n != 0 {
				t.Errorf("%d panics are unclaimed", n)
			}
			if _, err := b.PD(); !errors.Is(err, syscall.EIO) {
				t.Errorf("a command afterwards: %v, want EIO", err)
			}
			if n := len(b.ctx.Objects(77)); n != 1 {
				t.Errorf("%d objects are shown, want only the context", n)
			}
			prototest.Wait(t, "the end of its queue pair", func() bool { return dev.find(qb.Num) == nil })
			prototest.Wait(t, "the end of its connection", func() bool {
				q := a.dev.find(qa.Num)
				q.mu.Lock()
				defer q.mu.Unlock()
				return q.link == nil
			})
			oo.PostRecv(4, other.mr.Part(0, 8))
			if err := oa.Post(guest.WR{ID: 5, Op: guest.OpSend, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
				t.Fatal(err)
			}
			other.want("a receive of another program", 4, uverbs.Success)
		})
	}
}
