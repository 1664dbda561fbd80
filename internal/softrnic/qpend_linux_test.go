//go:build amd64 || arm64

package softrnic

import (
	"context"
	"errors"
	"log/slog"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// calls reports whether a goroutine has called a function of this package.
func calls(function string) bool { return stackOf(function) != "" }

// waitsIn reports whether a goroutine that has called a function of this package waits for a mutex.
func waitsIn(function string) bool {
	header, _, _ := strings.Cut(stackOf(function), "\n")
	return strings.Contains(header, "Mutex.")
}

// stackOf returns the stack of a goroutine that has called a function of this package; "" if there
// is none.
func stackOf(function string) string {
	b := make([]byte, 4<<20)
	for stack := range strings.SplitSeq(string(b[:runtime.Stack(b, true)]), "\n\n") {
		if strings.Contains(stack, "/softrnic."+function+"(") {
			return stack
		}
	}
	return ""
}

// isDone reports whether a channel is closed.
func isDone(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// hold locks mu, and returns the function that unlocks it. A goroutine of its own holds mu, so the
// test may lock mutexes that come before mu in the order. If the test fails before, its cleanup
// unlocks mu. Otherwise the end of a program would wait for mu forever, and hide why the test has
// failed.
func hold(t *testing.T, mu sync.Locker) (release func()) {
	held, over, done := make(chan struct{}), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		mu.Lock()
		defer mu.Unlock()
		close(held)
		<-over
	}()
	<-held
	release = sync.OnceFunc(func() {
		close(over)
		<-done
	})
	t.Cleanup(release)
	return release
}

// TestFlushBeforeReset: a receive that is being flushed when the program resets the queue pair
// completes before the reset is over, and a receive that is posted later stays.
func TestFlushBeforeReset(t *testing.T) {
	p := newProgram(t, newDevice(t))
	fd, err := p.Channel()
	if err != nil {
		t.Fatal(err)
	}
	if p.cq, err = p.CQ(10, fd, 1); err != nil {
		t.Fatal(err)
	}
	if err := p.Arm(p.cq, 0); err != nil {
		t.Fatal(err)
	}
	qp := p.qp(nil)
	q := p.dev.find(qp.Num)
	init := func() {
		t.Helper()
		if err := qp.Modify(uint8(uverbs.Init), p.gid, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	init()
	qp.PostRecv(1, p.mr.Part(0, 8))
	qp.PostRecv(2, p.mr.Part(0, 8))
	release := hold(t, &p.channels[fd].mu) // the first completion waits for its event to be sent
	var ends sync.WaitGroup
	ends.Go(func() { q.fail(nil, uverbs.FlushErr, "test") })
	prototest.Wait(t, "the flush begins", func() bool { return q.recv.takenNow() == 1 })
	reset := make(chan struct{})
	go func() {
		q.reset()
		close(reset)
	}()
	prototest.Wait(t, "the reset", func() bool { return isDone(reset) || waitsIn("(*queuePair).reset") })
	if isDone(reset) {
		t.Error("it is reset, and a receive has not completed")
	}
	release()
	<-reset
	init()
	qp.PostRecv(3, p.mr.Part(0, 8))
	ends.Wait()
	p.want("what was being flushed", 1, uverbs.FlushErr)
	p.want("what was behind it", 2, uverbs.FlushErr)
	if n := q.recv.waiting(); n != 1 {
		t.Errorf("%d receives wait after the reset, want 1", n)
	}
}

// TestFlushAfterDatagram: a datagram that comes to the program's memory when the queue pair ends
// completes its receive before the receives behind it are flushed.
func TestFlushAfterDatagram(t *testing.T) {
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
	over := make(chan struct{})
	slow.write <- func() {
		go func() {
			defer close(over)
			if err := qb.Modify(guest.Err, b.gid, 0, nil); err != nil {
				t.Error(err)
			}
		}()
		prototest.Wait(t, "the flush", func() bool { return isDone(over) || waitsIn("(*queuePair).flushReceives") })
	}
	slow.write <- func() {}
	qb.PostRecv(1, mr.Part(0, 1000))
	qb.PostRecv(2, mr.Part(0, 1000))
	if err := qa.Post(guest.WR{ID: 3, Op: guest.OpSend, To: &guest.To{QPN: qb.Num, QKey: key, GID: b.gid}, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
		t.Fatal(err)
	}
	b.want("the receive of the datagram", 1, uverbs.Success)
	b.want("the one behind it", 2, uverbs.FlushErr)
	<-over
}

// TestErrBeforeCompletion: when a program sees that a work request has failed, the queue pair is in
// ERR, and the work requests behind it are flushed. Nothing happens later: the program may use the
// queue pair again.
func TestErrBeforeCompletion(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1)) // so that nothing runs before the program waits
	const key = 0x11111111
	for _, tt := range []struct {
		desc    string
		kind    uverbs.QPType
		prepare func(q *queuePair)
		enable  func(p *program, q *guest.QP) error
		want    uverbs.WCStatus
	}{
		{"a datagram", uverbs.UD, func(*queuePair) {}, func(_ *program, q *guest.QP) error { return q.Enable(key) }, uverbs.LocalLengthErr},
		{"a peer that is gone", uverbs.RC, func(q *queuePair) {
			q.mu.Lock()
			defer q.mu.Unlock()
			joinNext.Become(&q.life.join, lost)
		}, func(p *program, q *guest.QP) error { return q.Join(p.gid, 1<<8) }, uverbs.RetryExceeded}, // its QPN is lower, so it dials
	} {
		t.Run(tt.desc, func(t *testing.T) {
			p := newProgram(t, newDevice(t))
			qp := p.qp(func(c *guest.QPConfig) { c.Type = uint8(tt.kind) })
			q := p.dev.find(qp.Num)
			if err := tt.enable(p, qp); err != nil {
				t.Fatal(err)
			}
			tt.prepare(q)
			w := guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{p.mr.Part(0, maxDatagram+1)}}
			if tt.kind == uverbs.UD {
				w.To = &guest.To{QPN: qp.Num, QKey: key, GID: p.gid}
			}
			behind := w
			behind.ID, behind.List = 2, []guest.SGE{p.mr.Part(0, 8)}
			for _, w := range []guest.WR{w, behind} { // each with a doorbell
				if err := qp.Post(w); err != nil {
					t.Fatal(err)
				}
			}
			err := errors.Join(qp.Modify(guest.Reset, p.gid, 0, nil), tt.enable(p, qp))
			if err != nil {
				t.Fatal(err)
			}
			p.want("what has failed", 1, tt.want)
			p.want("what is behind it", 2, uverbs.FlushErr)
			prototest.Wait(t, "the end", func() bool { return !calls("(*queuePair).fail") && !calls("(*queuePair).flushReceives") })
			if s, err := qp.State(); s != guest.RTS || err != nil {
				t.Errorf("the queue pair that is used again is in state %d, %v", s, err)
			}
		})
	}
}

// A gatedMemory is memory in which each Read calls a function first.
type gatedMemory struct {
	Process
	read func()
}

func (m gatedMemory) Read(b []byte, addr uint64) error {
	m.read()
	return m.Process.Read(b, addr)
}

// TestNoReadAfterCompletion: a work request that is being sent when the queue pair ends completes
// once its memory is not read any more.
func TestNoReadAfterCompletion(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	m, err := self()
	if err != nil {
		t.Fatal(err)
	}
	var qa *guest.QP
	var read, late int // only the goroutine that sends touches them until it has ended
	over := make(chan struct{})
	a.memory = gatedMemory{m, func() {
		if read++; read == 1 {
			go func() {
				defer close(over)
				if err := qa.Modify(guest.Err, a.gid, 0, nil); err != nil {
					t.Error(err)
				}
			}()
			prototest.Wait(t, "the end", func() bool { return isDone(over) || waitsIn("(*link).settle") })
		}
		if isDone(over) {
			late++
		}
	}}
	mr, err := a.Register(a.pd, pages(t, 4*maxPiece), guest.All)
	if err != nil {
		t.Fatal(err)
	}
	qa = a.qp(nil)
	qb := b.qp(nil)
	joinPair(t, a, b, qa, qb)
	a.linkOf(t, qa)
	if err := qa.Post(guest.WR{ID: 1, Op: guest.OpSend, List: []guest.SGE{mr.Part(0, 4*maxPiece)}}); err != nil {
		t.Fatal(err)
	}
	<-over
	a.want("the Send", 1, uverbs.FlushErr)
	q := a.dev.find(qa.Num)
	q.sendMu.Lock()
	defer q.sendMu.Unlock()
	if late > 0 {
		t.Errorf("%d of %d Reads after the completion", late, read)
	}
}

// TestEndBeforeTooLong: the link of a Send that is too long may end before its receive fails.
func TestEndBeforeTooLong(t *testing.T) {
	a, _, qa, _ := pair(t)
	qa.PostRecv(1, a.mr.Part(0, 8))
	r := &a.linkOf(t, qa).receiver
	if !r.awaitReceive() {
		t.Fatal("no receive")
	}
	r.close(true)
	r.fail(uverbs.LocalLengthErr)
	a.want("the receive", 1, uverbs.FlushErr)
	if w, ok := a.cq.Poll(); ok {
		t.Errorf("it completes again, with %v", uverbs.WCStatus(w.Status))
	}
}

// TestErrWhileItFails: when the program has set a queue pair to ERR, the peer cannot access its
// memory any more, even if another goroutine has begun to fail the queue pair before.
func TestErrWhileItFails(t *testing.T) {
	a, _, qa, _ := pair(t)
	l := a.linkOf(t, qa)
	e := end{q: l.q, status: uverbs.RetryExceeded}
	if e.fail(l); e.l != l {
		t.Fatal("it has no link")
	}
	set := make(chan struct{})
	go func() {
		defer close(set)
		if err := qa.Modify(guest.Err, a.gid, 0, nil); err != nil {
			t.Error(err)
		}
	}()
	prototest.Wait(t, "ERR", func() bool { return isDone(set) || strings.Contains(stackOf("(*queuePair).modify"), "[chan receive") })
	if isDone(set) {
		t.Error("it is in ERR, and the peer reaches its memory")
	}
	e.run()
	<-set
}

// TestManagedOnce: a program of a connection manager may take its queue pair from ERR to SQD, but
// not once it has reset the queue pair and joined it itself.
func TestManagedOnce(t *testing.T) {
	p := newProgram(t, newDevice(t))
	qp := p.qp(nil)
	toErr := func() error {
		return errors.Join(qp.Join(p.gid, 1<<8), qp.Modify(guest.Err, p.gid, 0, nil)) // its QPN is lower, so it dials
	}
	toSQD := func() error { // as librdmacm does
		return qp.Modify(guest.SQD, p.gid, 0, func(in []byte) { in[68], in[69], in[70] = 1, 0, 0 })
	}
	if err := toErr(); err != nil {
		t.Fatal(err)
	}
	q := p.dev.find(qp.Num)
	q.mu.Lock()
	q.life.managed = true
	q.mu.Unlock()
	if err := errors.Join(toSQD(), qp.Modify(guest.Reset, p.gid, 0, nil), toErr()); err != nil {
		t.Fatal(err)
	}
	if err := toSQD(); err != syscall.EINVAL {
		t.Errorf("from ERR to SQD: %v, want %v", err, syscall.EINVAL)
	}
}

// A gate is a slog.Handler that holds up the goroutine that logs a message.
type gate struct {
	slog.Handler
	message string
	came    chan struct{} // closed when the message is there
	open    chan struct{} // closed when it may go on
}

func (g *gate) Handle(ctx context.Context, r slog.Record) error {
	if r.Message == g.message {
		close(g.came)
		<-g.open
	}
	return nil
}

func (g *gate) Enabled(context.Context, slog.Level) bool { return true }

// TestNoEventAfterDestroy: a queue pair that is destroyed while it fails raises no event later.
func TestNoEventAfterDestroy(t *testing.T) {
	for _, tt := range []struct {
		desc string
		fail func(t *testing.T, a, b *program, qa, qb *guest.QP) // of b
	}{
		{"an injected fault", func(t *testing.T, _, b *program, _, qb *guest.QP) { go b.dev.find(qb.Num).breakDown() }},
		{"the peer's access", func(t *testing.T, a, b *program, qa, _ *guest.QP) {
			w := guest.WR{ID: 1, Op: guest.OpWrite, Remote: b.mr.Addr, Key: b.mr.Key + 1, List: []guest.SGE{a.mr.Part(0, 8)}}
			if err := qa.Post(w); err != nil {
				t.Fatal(err)
			}
		}},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			g := &gate{slog.DiscardHandler, "queue pair in error", make(chan struct{}), make(chan struct{})}
			dev, err := New(Config{Addresses: []netip.Addr{localhost}, Log: slog.New(g), OnlyTCP: overTCP})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(dev.Close)
			a, b := newProgram(t, newDevice(t)), newProgram(t, dev)
			qa, qb := a.qp(nil), b.qp(nil)
			joinPair(t, a, b, qa, qb)
			b.linkOf(t, qb)
			tt.fail(t, a, b, qa, qb)
			<-g.came
			if n, err := b.Destroy(uint32(uverbs.DestroyQP), qb.Handle); n != 0 || err != nil {
				t.Fatal(n, err)
			}
			close(g.open)
			prototest.Wait(t, "the end", func() bool { return !calls("(*queuePair).breakDown") && !calls("(*link).receive") })
			c := b.channels[0]
			c.mu.Lock()
			defer c.mu.Unlock()
			if n := len(c.events); n > 0 {
				t.Errorf("%d events of a queue pair that has been destroyed", n)
			}
		})
	}
}

// TestOneFlush: a queue pair that goes to ERR again and again waits once for receives to flush, and
// in RESET not at all.
func TestOneFlush(t *testing.T) {
	p := newProgram(t, newDevice(t))
	qp := p.qp(nil)
	late := &p.dev.find(qp.Num).ctx.late
	waits := func() int {
		late.mu.Lock()
		defer late.mu.Unlock()
		return len(late.waits)
	}
	for range 3 {
		for _, x := range []struct {
			state uverbs.State
			want  int
		}{{uverbs.Init, 0}, {uverbs.Err, 1}, {uverbs.Reset, 0}} {
			if err := qp.Modify(uint8(x.state), p.gid, 0, nil); err != nil {
				t.Fatal(err)
			}
			if n := waits(); n != x.want {
				t.Errorf("%d waits in %v, want %d", n, x.state, x.want)
			}
		}
	}
}
