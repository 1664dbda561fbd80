//go:build amd64 || arm64

package softrnic

import (
	"bytes"
	"encoding/binary"
	"errors"
	"net"
	"syscall"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/internal/conn"
	"github.com/rddp/rddp/internal/conn/counters"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/rdmap"
)

// faultyPair is pair with injected faults in the two devices.
func faultyPair(t *testing.T, specA, specB string) (a, b *program, qa, qb *guest.QP) {
	t.Helper()
	a, b = newProgram(t, newFaultyDevice(t, specA)), newProgram(t, newFaultyDevice(t, specB))
	qa, qb = a.qp(nil), b.qp(nil)
	joinPair(t, a, b, qa, qb)
	return a, b, qa, qb
}

const noFault = "seed=1"

// TestFaultOfACompletion checks that a work request that fails by an injected fault ends its queue
// pair, like one that fails for another reason.
func TestFaultOfACompletion(t *testing.T) {
	for _, tt := range []struct {
		desc, specA, specB string
		status, theirs     uverbs.WCStatus // of the second Send and its receive
	}{
		{"Send", "send=RETRY_EXC_ERR@2", noFault, uverbs.RetryExceeded, uverbs.Success},
		{"receive", noFault, "receive=LOC_PROT_ERR@2", uverbs.RemoteOpErr, uverbs.LocalProtErr},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			a, b, qa, qb := faultyPair(t, tt.specA, tt.specB)
			for id := range uint64(3) {
				qb.PostRecv(id, b.mr.Part(0, 8))
			}
			for id, status := range []uverbs.WCStatus{uverbs.Success, tt.status, uverbs.FlushErr} {
				if err := qa.Post(guest.WR{ID: uint64(id), Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
					t.Fatal(err)
				}
				a.want("Send", uint64(id), status)
			}
			b.want("receive", 0, uverbs.Success)
			b.want("receive", 1, tt.theirs)
			if s, err := qa.State(); s != guest.Err || err != nil {
				t.Errorf("the state is %d, %v", s, err)
			}
		})
	}
}

// TestFaultOfAPlainReceive: without frames, the receive fails and the connection ends.
func TestFaultOfAPlainReceive(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newFaultyDevice(t, "receive=LOC_PROT_ERR@2"))
	qa, qb := a.qp(nil), b.qp(nil)
	pa := a.pairOf(t, qa)
	c := b.connectPlain(t, qb, pa.Config(Plain, 1, 1))
	if err := pa.Start(c, Plain, true, 0, nil, func() {}); err != nil {
		t.Fatal(err)
	}
	for id, status := range []uverbs.WCStatus{uverbs.Success, uverbs.LocalProtErr} {
		qb.PostRecv(uint64(id), b.mr.Part(0, 8))
		if err := qa.Post(guest.WR{ID: uint64(id), Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		a.want("Send", uint64(id), uverbs.Success) // TCP has taken it
		b.want("receive", uint64(id), status)
	}
	prototest.Wait(t, "the queue pair is in error", func() bool {
		s, err := qb.State()
		if err != nil {
			t.Fatal(err)
		}
		return s == guest.Err
	})
}

// TestPlainLateReceive: without frames, a Send waits for a receive that is posted late: soon, so
// that an alarm finds it, or after a while, so that the lookout does.
func TestPlainLateReceive(t *testing.T) {
	a, b := newProgram(t, newDevice(t)), newProgram(t, newDevice(t))
	qa, qb := a.qp(nil), b.qp(nil)
	pa := a.pairOf(t, qa)
	c := b.connectPlain(t, qb, pa.Config(Plain, 1, 1))
	if err := pa.Start(c, Plain, true, 0, nil, func() {}); err != nil {
		t.Fatal(err)
	}
	l := b.linkOf(t, qb)
	for id, slowly := range []bool{false, true} {
		if err := qa.Post(guest.WR{ID: uint64(id), Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}); err != nil {
			t.Fatal(err)
		}
		a.want("the Send", uint64(id), uverbs.Success) // TCP has taken it
		prototest.Wait(t, "the Send waits", func() bool {
			l.q.recvMu.Lock()
			defer l.q.recvMu.Unlock()
			return l.receiver.met != nil && (l.receiver.late != nil || !slowly) // +checklocksignore: the link's queue pair is locked
		})
		qb.PostRecv(uint64(id), b.mr.Part(0, 8))
		b.want("the receive", uint64(id), uverbs.Success)
	}
}

// pairOf returns the Pair of a new queue pair of p.
func (p *program) pairOf(t *testing.T, q *guest.QP) *Pair {
	if err := q.Modify(guest.Init, p.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	pair, ok := p.dev.Pair(q.Num)
	if !ok {
		t.Fatal("no pair")
	}
	return pair
}

// connectPlain connects to q of p without frames, as a device does.
func (p *program) connectPlain(t *testing.T, q *guest.QP, cfg *conn.Config) (c *conn.Conn) {
	p.acceptPlain(t, q, func() {}, func(address string) (err error) {
		c, err = p.dev.Dial(prototest.TimeLimit(t), net.Dialer{}, address, cfg, nil, new(Contact))
		return err
	})
	return c
}

// dialPlain connects to q of p without frames, as a peer that is not a device does.
func (p *program) dialPlain(t *testing.T, q *guest.QP, cfg *extsock.Config) *extsock.Conn {
	var c *extsock.Conn
	p.acceptPlain(t, q, func() {}, func(address string) (err error) {
		d := extsock.Dialer{Config: cfg}
		c, err = d.DialDDP(prototest.TimeLimit(t), "tcp", address)
		return err
	})
	return c
}

// acceptPlain makes the connection that dial makes the connection of q, without frames. ended is
// called at its end.
func (p *program) acceptPlain(t *testing.T, q *guest.QP, ended func(), dial func(address string) error) {
	t.Helper()
	pair := p.pairOf(t, q)
	below, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer below.Close()
	l := conn.NewListener(below, pair.Config(Plain, 1, 1))
	started := make(chan error, 1)
	go func() {
		c, err := l.Accept()
		var r *conn.Request
		if err == nil {
			r, err = c.ReceiveRequest(prototest.TimeLimit(t))
		}
		if err == nil {
			err = pair.Accept(prototest.TimeLimit(t), r, c, pair.Config(Plain, 1, 1), nil)
		}
		if err == nil {
			err = pair.Start(c, Plain, false, 0, nil, ended)
		}
		started <- err
	}()
	if err := errors.Join(dial(l.Addr().String()), <-started); err != nil {
		t.Fatal(err)
	}
}

// TestNudge: an initiator nudges a peer that has sent little, and leaves a peer that talks alone.
func TestNudge(t *testing.T) {
	b := newProgram(t, newDevice(t))
	qb := b.qp(nil)
	c := b.connectPlain(t, qb, &conn.Config{
		Domain: new(ddp.Domain), NoCapabilities: true, SendDepth: 8, RecvDepth: 8, RecvSize: 8, StartupTimeout: requestTime, CloseTimeout: Linger,
	})
	defer c.Close()
	sums := func() counters.Sums { return c.Counts().Sums() }
	hear := func(n int) {
		t.Helper()
		for range n {
			if err := qb.Post(guest.WR{Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{b.mr.Part(0, 8)}}); err != nil {
				t.Fatal(err)
			}
			b.want("a Send", 0, uverbs.Success)
			if _, err := c.Read(make([]byte, 8)); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, tt := range []struct {
		hears int
		want  uint64
	}{{0, 1}, {talks, 2}, {1, 2}} {
		hear(tt.hears)
		nudgeNow(c)
		prototest.Wait(t, "the nudges", func() bool { return sums()[counters.Sent+counters.Writes] >= tt.want })
		if n := sums()[counters.Sent+counters.Writes]; n != tt.want {
			t.Errorf("%d nudges after %d FPDUs, want %d", n, sums()[counters.Received+counters.FPDUs], tt.want)
		}
	}
}

// TestPlainSendTooLong: without frames, a Send that is longer than its receive fails the receive,
// and DDP's Terminate says why. The receives have different lengths, so that the length of another
// one would be noticed.
func TestPlainSendTooLong(t *testing.T) {
	for _, n := range []int{9, 100_001} {
		b := newProgram(t, newDevice(t))
		qb := b.qp(nil)
		for id, room := range []int{4, 200_000, n - 1, 200_000} {
			qb.PostRecv(uint64(id), b.mr.Part(0, room))
		}
		c := b.dialPlain(t, qb, &extsock.Config{Messages: true, NoCapabilities: true})
		defer c.Close()
		for _, k := range []int{4, 150_000, n} {
			if _, err := c.Write(make([]byte, k)); err != nil && k != n {
				t.Fatal(err)
			}
		}
		var fault *rdmap.TerminateError
		if _, err := c.Read(make([]byte, 1)); !errors.As(err, &fault) || fault.Terminate.Code != 0x1205 {
			t.Errorf("a Send of %d bytes: %v, want DDP's Terminate for a message that is too long", n, err)
		}
		for id, status := range []uverbs.WCStatus{uverbs.Success, uverbs.Success, uverbs.LocalLengthErr, uverbs.FlushErr} {
			b.want("receive", uint64(id), status)
		}
	}
}

func TestFaultOfARegistration(t *testing.T) {
	a := newProgram(t, newFaultyDevice(t, "register=ENOMEM@2")) // the first one registers its memory
	if _, err := a.Register(a.pd, a.mr.B[:4096], guest.All); !errors.Is(err, syscall.ENOMEM) {
		t.Errorf("the second registration: %v, want ENOMEM", err)
	}
	if _, err := a.Register(a.pd, a.mr.B[:4096], guest.All); err != nil {
		t.Errorf("the third registration: %v", err)
	}
}

// TestFaultsWithTime checks that an event comes when it should, and that a queue pair goes to ERR
// after it has reached RTS. Each has a timer of its own, so either may be first.
func TestFaultsWithTime(t *testing.T) {
	a, _, qa, _ := faultyPair(t, "event=PORT_ERR@0s,qp-error@1ms", noFault)
	qa.PostRecv(1, a.mr.Part(0, 8))
	a.want("a receive of a queue pair that breaks down", 1, uverbs.FlushErr)
	got := map[uverbs.EventType]bool{}
	for range 2 {
		e := a.channels[0].next(t)
		h, err := uverbs.ParseEvent(e)
		if err != nil {
			t.Fatal(err)
		}
		event := uverbs.EventType(binary.LittleEndian.Uint32(e[8:]))
		if event == uverbs.EventPortErr && h != onlyPort {
			t.Errorf("event %d of %d, want port %d", event, h, onlyPort)
		}
		got[event] = true
	}
	if !got[uverbs.EventPortErr] || !got[uverbs.EventQPFatal] {
		t.Errorf("events %v, want %d and %d", got, uverbs.EventPortErr, uverbs.EventQPFatal)
	}
}

// TestBadNetwork checks that everything arrives over a link that loses packets, whichever end
// dials, and that a connection that is cut fails the work request that is under way.
func TestBadNetwork(t *testing.T) {
	for _, specs := range [][2]string{{"loss=10%,jitter=100us", noFault}, {noFault, "loss=10%,seed=3"}} {
		a, b, qa, qb := faultyPair(t, specs[0], specs[1])
		const n = 100_000
		want := a.fill(0, n, 1)
		for id := range uint64(5) {
			qb.PostRecv(id, b.mr.Part(0, n))
			if err := qa.Post(guest.WR{ID: id, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, n)}}); err != nil {
				t.Fatal(err)
			}
			a.want("Send", id, uverbs.Success)
			b.want("receive", id, uverbs.Success)
			if !bytes.Equal(b.read(0, n), want) {
				t.Fatal("wrong data")
			}
		}
	}
	a, b, qa, _ := faultyPair(t, "cut@100KiB", noFault)
	if err := qa.Post(guest.WR{ID: 1, Op: guest.OpWrite, Flags: guest.Signaled, Remote: b.mr.Addr, Key: b.mr.Key, List: []guest.SGE{a.mr.Part(0, 1<<20)}}); err != nil {
		t.Fatal(err)
	}
	a.want("a Write that is cut", 1, uverbs.RetryExceeded)
}

// TestLostDatagrams checks that a bad link loses datagrams, and that the sender does not notice.
func TestLostDatagrams(t *testing.T) {
	a, b := newProgram(t, newFaultyDevice(t, "loss=50%")), newProgram(t, newDevice(t))
	ud := func(c *guest.QPConfig) { c.Type = uint8(uverbs.UD) }
	qa, qb := a.qp(ud), b.qp(ud)
	const key = 0x11111111
	if err := errors.Join(qa.Enable(key), qb.Enable(key)); err != nil {
		t.Fatal(err)
	}
	// Receives have the numbers in their order, and the datagrams theirs as immediate data.
	const n = 60
	for id := range uint64(n) {
		qb.PostRecv(id, b.mr.Part(0, 100))
		w := guest.WR{
			ID: id, Op: guest.OpSendImm, Flags: guest.Signaled, Imm: uint32(id), To: &guest.To{QPN: qb.Num, QKey: key, GID: b.gid},
			List: []guest.SGE{a.mr.Part(0, 8)},
		}
		if err := qa.Post(w); err != nil {
			t.Fatal(err)
		}
		a.want("Send", id, uverbs.Success)
	}
	// The seed is fixed: one of the last two arrives.
	arrived := 0
	for last := uint32(0); last < n-2; arrived++ {
		last = b.poll(1)[0].Imm
	}
	if arrived < n/4 || arrived > n*3/4 {
		t.Errorf("%d of %d datagrams arrive, want about half", arrived, n)
	}
}

// TestFaultOfAManagedQueuePair: a queue pair that a connection manager takes to RTS, as with
// --iwarp, breaks down like one that the program takes there.
func TestFaultOfAManagedQueuePair(t *testing.T) {
	a, b := newProgram(t, newFaultyDevice(t, "qp-error@1ms")), newProgram(t, newDevice(t))
	qa, qb := a.qp(nil), b.qp(nil)
	pa := a.pairOf(t, qa)
	c := b.connectPlain(t, qb, pa.Config(Plain, 1, 1))
	if err := pa.Start(c, Plain, true, 0, nil, func() {}); err != nil {
		t.Fatal(err)
	}
	q := a.dev.find(qa.Num)
	q.mu.Lock()
	begun := q.stopFaults != nil
	q.mu.Unlock()
	if !begun {
		t.Fatal("the fault has not begun, and would never come")
	}
	qa.PostRecv(1, a.mr.Part(0, 8))
	a.want("a receive of a queue pair that breaks down", 1, uverbs.FlushErr)
	if event := uverbs.EventType(binary.LittleEndian.Uint32(a.channels[0].next(t)[8:])); event != uverbs.EventQPFatal {
		t.Errorf("event %d, want %d", event, uverbs.EventQPFatal)
	}
}
