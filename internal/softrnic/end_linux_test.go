//go:build amd64 || arm64

package softrnic

import (
	"encoding/binary"
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
	"github.com/rddp/rddp/internal/testkit/guest"
	"github.com/rddp/rddp/internal/testkit/prototest"
	"github.com/rddp/rddp/internal/testkit/rawpeer"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// TestErrTwice: a queue pair that is set to ERR twice fails once.
func TestErrTwice(t *testing.T) {
	p := newProgram(t, newDevice(t))
	srq, err := p.SRQ(p.pd, 16, 99)
	if err != nil {
		t.Fatal(err)
	}
	q := p.qp(func(c *guest.QPConfig) { c.SRQ = srq })
	if err := q.Modify(guest.Err, p.gid, 0, nil); err != syscall.EINVAL {
		t.Errorf("from RESET to ERR: %v, want %v", err, syscall.EINVAL) // as from rxe
	}
	if err := q.Modify(uint8(uverbs.Init), p.gid, 0, nil); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if err := q.Modify(guest.Err, p.gid, 0, nil); err != nil {
			t.Fatal(err)
		}
	}
	var got []uverbs.EventType
	c := p.channels[0]
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.events {
		got = append(got, uverbs.EventType(binary.LittleEndian.Uint32(e[8:])))
	}
	if len(got) != 1 || got[0] != uverbs.EventLastWQE {
		t.Errorf("events %v, want one of type %d", got, uverbs.EventLastWQE)
	}
}

// TestReceivesOfEndedConnection: the receives of a queue pair that a connection manager has
// connected are flushed at the end of its connection, however it ends: the last one after the
// program has learned of the end, the others before.
func TestReceivesOfEndedConnection(t *testing.T) {
	for desc, end := range map[string]func(c *net.TCPConn, next []byte) error{
		"FIN": func(c *net.TCPConn, _ []byte) error { return c.Close() },
		"FIN in an FPDU": func(c *net.TCPConn, next []byte) error {
			_, err := c.Write(next[:10])
			return errors.Join(err, c.Close())
		},
		"RST": func(c *net.TCPConn, _ []byte) error { return errors.Join(c.SetLinger(0), c.Close()) },
		"a Terminate of it": func(c *net.TCPConn, next []byte) error {
			next[3] ^= 1
			_, err := c.Write(next)
			return errors.Join(err, c.CloseWrite())
		},
	} {
		t.Run(desc, func(t *testing.T) {
			p := newProgram(t, newDevice(t))
			q := p.qp(nil)
			for id := range uint64(3) {
				q.PostRecv(id, p.mr.Part(0, 8))
			}
			var c net.Conn
			ended := make(chan uint8, 1)
			var before []uint64 // flushed before the program learns of the end
			p.acceptPlain(t, q, func() {
				for w, ok := p.cq.Poll(); ok; w, ok = p.cq.Poll() {
					before = append(before, w.ID)
				}
				s, _ := q.State()
				ended <- s
			}, func(address string) (err error) {
				if c, err = net.Dial("tcp", address); err == nil {
					_, err = rawpeer.Start(c, mpa.Frame{Revision: 1, CRC: true})
				}
				return err
			})
			defer c.Close()
			tx := mpa.NewSender(mpa.Agreement{CRC: true})
			send := func(msn uint32) []byte {
				return rawpeer.FPDUs(tx, prototest.Untagged(prototest.ControlUntagged|uint16(rdmap.OpSend), ddp.QNSend, msn, 0, make([]byte, 8)))
			}
			if _, err := c.Write(send(1)); err != nil {
				t.Fatal(err)
			}
			p.want("the receive", 0, uverbs.Success)
			if way := p.linkOf(t, q).way(); way != "plain iWARP" {
				t.Errorf("the connection goes over %s, for people", way)
			}
			if err := end(c.(*net.TCPConn), send(2)); err != nil {
				t.Fatal(err)
			}
			if s := <-ended; s != guest.Err {
				t.Fatalf("the state is %d when the program hears of the end, want ERR", s)
			}
			if len(before) != 1 || before[0] != 1 {
				t.Fatalf("flushed before the program hears of the end: %d, want 1 and not yet 2", before)
			}
			p.want("the last receive", 2, uverbs.FlushErr)
		})
	}
}

// TestDeregisterWaits: when the deregistration of an MR is over, no data for a receive is on its
// way to the memory.
func TestDeregisterWaits(t *testing.T) {
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
	var gone atomic.Bool
	over, looked := make(chan error, 1), make(chan struct{})
	slow.write <- func() {
		defer close(looked)
		go func() {
			err := b.Free(uint32(uverbs.DeregMR), mr.Handle)
			gone.Store(true)
			over <- err
		}()
		for range 10_000 {
			runtime.Gosched()
		}
		if gone.Load() {
			t.Error("deregistered before the message was in the program's memory")
		}
	}
	qb.PostRecv(1, mr.Part(0, 8))
	post := qa.Post(guest.WR{ID: 2, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}})
	<-looked
	if err := errors.Join(post, <-over); err != nil {
		t.Error(err)
	}
	b.want("the receive", 1, uverbs.Success)
}

// TestWindowsThatWereBound: an MR keeps no windows that are not bound to it any more.
func TestWindowsThatWereBound(t *testing.T) {
	p := newProgram(t, newDevice(t))
	p.ctx.mu.Lock()
	defer p.ctx.mu.Unlock()
	pd := p.ctx.pds[p.pd]
	w := &memoryWindow{pd: pd, kind: 1}
	pd.addWindow(w)
	bind := uverbs.Bind{Addr: p.mr.Addr, Len: 8, LKey: p.mr.Key, OldKey: w.key, Access: uverbs.RemoteRead}
	for i := range uint32(100) {
		bind.NewKey = bind.OldKey&^keyMask | i&keyMask
		if err := pd.bind(&bind, 1); err != nil {
			t.Fatal(err)
		}
		bind.OldKey = bind.NewKey
	}
	pd.mu.RLock()
	m := pd.regions[p.mr.Key]
	pd.mu.RUnlock()
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.windows); n != 1 {
		t.Errorf("the MR has %d windows, want 1", n)
	}
}

// TestAttributes: the device refuses the values of attributes that rxe refuses, and accepts those
// that rxe accepts.
func TestAttributes(t *testing.T) {
	const pkey = 92
	const mtu, maxRead, maxDestRead, minRNRTimer, port, timeout, retry, rnrRetry, altPort, altTimeout = 98, 101, 102, 103, 104, 105, 106, 107, 108, 109
	for _, tt := range []struct {
		state uint8
		field int
		value byte
		ok    bool
	}{
		{guest.Init, pkey, 1, false}, {guest.Init, pkey, 0, true},
		{guest.Init, port, 0, false}, {guest.Init, port, 2, false}, {guest.Init, port, 1, true},
		{guest.RTR, mtu, 6, false}, {guest.RTR, mtu, 5, true}, {guest.RTR, mtu, 1, true},
		{guest.RTR, maxDestRead, 255, true}, {guest.RTR, minRNRTimer, 255, true},
		{guest.RTR, altPort, 2, false}, {guest.RTR, altPort, 1, true}, {guest.RTR, altTimeout, 32, false}, {guest.RTR, altTimeout, 31, true},
		{guest.RTS, maxRead, 129, false}, {guest.RTS, maxRead, 128, true}, {guest.RTS, maxRead, 0, true},
		{guest.RTS, timeout, 32, false}, {guest.RTS, timeout, 31, true}, {guest.RTS, timeout, 0, true},
		{guest.RTS, retry, 255, true}, {guest.RTS, rnrRetry, 255, true},
	} {
		p := newProgram(t, newDevice(t))
		q := p.qp(nil)
		for _, s := range []uint8{guest.Init, guest.RTR, guest.RTS} {
			err := q.Modify(s, p.gid, q.Num, func(in []byte) {
				if s != tt.state {
					return
				}
				if tt.field >= altPort { // an alternate path is the only attribute here that need not be there
					mask := binary.LittleEndian.Uint32(in[68:])
					binary.LittleEndian.PutUint32(in[68:], mask|uint32(uverbs.MaskAltPath))
					in[altPort] = 1
				}
				in[tt.field] = tt.value
			})
			if s == tt.state {
				if ok := err == nil; ok != tt.ok || !ok && err != syscall.EINVAL {
					t.Errorf("to state %d with %d in field %d: %v", s, tt.value, tt.field, err)
				}
				break
			}
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestEndInOrder: work requests behind those of a link that fails complete after them, even if the
// queue pair is looked at, or ends, meanwhile.
func TestEndInOrder(t *testing.T) {
	fails := func(e *end) { e.fail(e.l) }
	for _, tt := range []struct {
		desc      string
		begin     func(*end)
		meanwhile func(*queuePair)
		waits     bool            // whether meanwhile waits for the end
		want      uverbs.WCStatus // of the work request behind; Success means none
	}{
		{"fails, and work comes", fails, (*queuePair).look, false, uverbs.FlushErr},
		{"is lost, and work comes", (*end).lose, (*queuePair).look, false, uverbs.RetryExceeded},
		{"is lost, and the program ends it", (*end).lose, func(q *queuePair) { q.fail(nil, uverbs.FlushErr, "test") }, true, uverbs.FlushErr},
		{"fails, and the program resets it", fails, (*queuePair).reset, true, uverbs.Success},
	} {
		t.Run(tt.desc, func(t *testing.T) {
			a, _, qa, _ := pair(t)
			send := guest.WR{ID: 1, Op: guest.OpSend, Flags: guest.Signaled, List: []guest.SGE{a.mr.Part(0, 8)}}
			if err := qa.Post(send); err != nil { // it waits for a receive
				t.Fatal(err)
			}
			l, q := a.linkOf(t, qa), a.dev.find(qa.Num)
			prototest.Wait(t, "the Send is under way", func() bool { return !l.isIdle() })
			e := end{q: q, l: l, err: io.EOF, status: uverbs.RetryExceeded}
			q.sendMu.Lock() // after a goroutine that still sends on the link
			tt.begin(&e)
			q.sendMu.Unlock()
			send.ID = 2
			if err := qa.Post(send); err != nil {
				t.Fatal(err)
			}
			returned := make(chan struct{})
			go func() {
				tt.meanwhile(q)
				close(returned)
			}()
			prototest.Wait(t, "what comes meanwhile", func() bool {
				return isDone(returned) || strings.Contains(stackOf("(*queuePair).awaitEnding"), "[chan receive")
			})
			if isDone(returned) == tt.waits {
				t.Errorf("it waits: %v", !tt.waits)
			}
			if w, ok := a.cq.Poll(); ok {
				t.Errorf("completion %d before the end", w.ID)
			}
			e.run()
			<-returned
			if a.want("what was under way", 1, uverbs.RetryExceeded); tt.want != uverbs.Success {
				a.want("what is behind it", 2, tt.want)
			} else if w, ok := a.cq.Poll(); ok {
				t.Errorf("completion %d after the reset", w.ID)
			}
		})
	}
}
