//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/nldev"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// TestObjectsDuringCommands: a program withholds a page while the device copies to it, so its
// command waits. Its objects are shown all the same, without the one that is being destroyed.
func TestObjectsDuringCommands(t *testing.T) {
	for _, tt := range []struct {
		desc     string
		mrs, qps int
		command  func(b *program, mr guest.MR, q *guest.QP) error
	}{
		{"deregistration", 1, 1, func(b *program, mr guest.MR, _ *guest.QP) error { return b.Free(uint32(uverbs.DeregMR), mr.Handle) }},
		{"the reset of a queue pair", 2, 1, func(b *program, _ guest.MR, q *guest.QP) error {
			return q.Modify(uint8(uverbs.Reset), b.gid, 0, nil)
		}},
		{"the end of a queue pair", 2, 0, func(b *program, _ guest.MR, q *guest.QP) error {
			_, err := b.Destroy(27, q.Handle)
			return err
		}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			a, b, qa, qb := pair(t)
			m, err := self()
			if err != nil {
				t.Fatal(err)
			}
			slow := slowMemory{m, make(chan func(), 1)}
			b.memory = slow
			mr, err := b.Register(b.pd, pages(t, 4096), guest.All)
			if err != nil {
				t.Fatal(err)
			}
			over, looked := make(chan error, 1), make(chan struct{})
			slow.write <- func() {
				defer close(looked)
				go func() { over <- tt.command(b, mr, qb) }()
				prototest.Wait(t, "the command", func() bool {
					free := b.ctx.mu.TryLock()
					if free {
						b.ctx.mu.Unlock() // +checklocksforce: TryLock has locked it
					}
					return !free
				})
				shown := make(chan []nldev.Object, 1)
				go func() { shown <- b.ctx.Objects(77) }()
				var all []nldev.Object
				prototest.Wait(t, "the objects", func() bool {
					select {
					case all = <-shown:
						return true
					default:
						return false
					}
				})
				var mrs, qps int
				for _, o := range all {
					switch o.(type) {
					case nldev.MR:
						mrs++
					case nldev.QP:
						qps++
					}
				}
				if mrs > tt.mrs+1 || mrs < tt.mrs || qps > tt.qps+1 || qps < tt.qps { // the command may be about to begin
					t.Errorf("%d memory regions and %d queue pairs, want %d and %d", mrs, qps, tt.mrs, tt.qps)
				}
			}
			qb.PostRecv(1, mr.Part(0, 8))
			post := qa.Post(guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}})
			<-looked
			if err := errors.Join(post, <-over); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestShownObjects: the objects are shown as long as they exist.
func TestShownObjects(t *testing.T) {
	p := newProgram(t, newDevice(t))
	count := func() (n map[string]int) {
		n = make(map[string]int)
		for _, o := range p.ctx.Objects(77) {
			switch o := o.(type) {
			case nldev.Context:
				n["context"]++
			case nldev.PD:
				n["pd"]++
				n["users of pd"] += o.Users
			case nldev.CQ:
				n["cq"]++
				n["users of cq"] += o.Users
			case nldev.MR:
				n["mr"]++
			case nldev.QP:
				n["qp"]++
			case nldev.SRQ:
				n["srq"]++
				n["users of srq"] += len(o.QPs)
			}
		}
		return n
	}
	want := func(desc string, objects map[string]int) {
		t.Helper()
		got := count()
		for _, k := range []string{"context", "pd", "users of pd", "cq", "users of cq", "mr", "qp", "srq", "users of srq"} {
			if got[k] != objects[k] {
				t.Errorf("%s: %d of %s, want %d", desc, got[k], k, objects[k])
			}
		}
	}
	want("at first", map[string]int{"context": 1, "pd": 1, "users of pd": 1, "cq": 1, "mr": 1})
	srq, err := p.Context.SRQ(p.pd, 4, 1)
	if err != nil {
		t.Fatal(err)
	}
	q := p.qp(func(c *guest.QPConfig) { c.SRQ = srq })
	want("with a queue pair", map[string]int{
		"context": 1, "pd": 1, "users of pd": 3, "cq": 1, "users of cq": 2, "mr": 1, "qp": 1, "srq": 1, "users of srq": 1,
	})
	if _, err := p.Destroy(27, q.Handle); err != nil {
		t.Fatal(err)
	}
	if err := p.Free(uint32(uverbs.DeregMR), p.mr.Handle); err != nil {
		t.Fatal(err)
	}
	want("without queue pair and memory", map[string]int{"context": 1, "pd": 1, "users of pd": 1, "cq": 1, "srq": 1})
}

// TestAnswerToSlowMemory: while the answer to a Read waits for a page of the program, the queue
// pair is shown, and a connection manager may look for it, because that keeps all programs waiting.
// The Read completes only when its bytes are there, although the queue pair turns to ERR meanwhile.
//
// A long answer is copied as it comes, and a short one by the goroutine that completes the Read. So
// a long one may be complete before the Read is flushed.
func TestAnswerToSlowMemory(t *testing.T) {
	for _, n := range []int{8, 4096} {
		t.Run(fmt.Sprint(n, " bytes"), func(t *testing.T) {
			a, b, qa, _ := pair(t)
			answerToSlowMemory(t, a, b, qa, n)
		})
		t.Run(fmt.Sprint(n, " bytes of its own"), func(t *testing.T) {
			a, qa := alone(t, uverbs.RC)
			answerToSlowMemory(t, a, a, qa, n)
		})
	}
}

func answerToSlowMemory(t *testing.T, a, b *program, qa *guest.QP, n int) {
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	slow := slowMemory{m, make(chan func(), 1)}
	a.memory = slow
	mr, err := a.Register(a.pd, pages(t, 4096), guest.All)
	if err != nil {
		t.Fatal(err)
	}
	a.ctx.mu.Lock()
	pair := a.ctx.qps[qa.Handle]
	a.ctx.mu.Unlock()
	reached, resume, shown, over := make(chan struct{}), make(chan struct{}), make(chan struct{}), make(chan error, 1)
	slow.write <- func() {
		close(reached)
		<-resume
	}
	release := sync.OnceFunc(func() { close(resume) })
	defer release()
	answer := b.fill(0, n, 1)
	post := qa.Post(guest.WR{ID: 2, Op: guest.OpRead, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{mr.Part(0, n)}})
	<-reached
	go func() {
		defer close(shown)
		a.ctx.Objects(77)
		a.dev.Pair(qa.Num)
	}()
	prototest.Wait(t, "the objects and the queue pair", func() bool {
		select {
		case <-shown:
			return true
		default:
			return false
		}
	})
	l := a.linkOf(t, qa)
	go func() { over <- qa.Modify(guest.Err, a.gid, 0, nil) }()
	prototest.Wait(t, "ERR", func() bool {
		pair.mu.Lock()
		defer pair.mu.Unlock()
		return l.out.state == outOver || waitsIn("(*link).discard") // +checklocksignore: pair is the link's queue pair
	})
	for range 10_000 {
		runtime.Gosched()
	}
	if len(over) > 0 {
		t.Error("ERR before the answer was in the program's memory")
	}
	release()
	if err := errors.Join(post, <-over); err != nil {
		t.Error(err)
	}
	got := make([]byte, n)
	if w := a.poll(1)[0]; w.ID != 2 || w.Status != uint32(uverbs.FlushErr) && (n == 8 || w.Status != uint32(uverbs.Success)) {
		t.Errorf("the Read: completion %d with %v", w.ID, uverbs.WCStatus(w.Status))
	} else if err := m.Read(got, mr.Addr); err != nil || !bytes.Equal(got, answer) {
		t.Errorf("the Read has completed, and its bytes are not there: %v", err)
	}
}
