package rdmap

import (
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
)

// A countedMemory is a ddp.Memory that counts how often it is read, and calls before first.
type countedMemory struct {
	b      []byte
	n      atomic.Int32
	before func()
}

func (m *countedMemory) ReadAt(p []byte, off int64) (int, error) {
	m.n.Add(1)
	if m.before != nil {
		m.before()
	}
	return copy(p, m.b[off:]), nil
}

func (m *countedMemory) WriteAt(p []byte, off int64) (int, error) { return copy(m.b[off:], p), nil }

// A discarding is a pair with memory at b that both may read and change.
type discarding struct {
	*pair
	domain *ddp.Domain
	memory *countedMemory
	region *ddp.Region
}

func newDiscarding(t *testing.T, p params) *discarding {
	t.Helper()
	x := &discarding{domain: new(ddp.Domain), memory: &countedMemory{b: make([]byte, 10_000)}}
	p.domain = x.domain
	x.pair = newPair(t, p)
	var err error
	if x.region, err = x.domain.RegisterMemory(x.memory, 0, 1<<20, 10_000, allAccess, 0); err != nil {
		t.Fatal(err)
	}
	return x
}

// read and add return requests of x.a that need an answer.
func (x *discarding) read(id uint64, n int) WorkRequest {
	return WorkRequest{ID: id, Op: WorkRead, Data: make([]byte, n), Remote: handle(x.region)}
}

func (x *discarding) add(id uint64) WorkRequest {
	return WorkRequest{ID: id, Op: WorkFetchAdd, Operand: 1, Remote: handle(x.region)}
}

// TestDiscardedStream: after [ddp.Domain.Discard] a Read or an atomic of the peer gets no answer
// and does not touch the memory, whether it has arrived before or comes later. That is not an
// error, and messages of this end arrive. Other streams continue.
func TestDiscardedStream(t *testing.T) {
	x := newDiscarding(t, params{ird: 4, ord: 4})
	x.a.post(x.add(1))
	x.a.post(x.read(2, 100))
	x.run()
	wantDone(t, "before", x.a.sendCQ, "1 success, 2 success")
	x.a.post(x.add(3))
	x.a.post(x.read(4, 100))
	x.a.transmit()
	x.b.receive()
	forget := x.domain.Discard(x.b.stream())
	before := x.memory.n.Load()
	x.run()
	x.a.post(x.add(5))
	x.a.post(x.read(6, 100)) // as many as the IRD
	x.a.recv(7, 10)
	x.b.post(WorkRequest{ID: 8, Op: WorkSend, Data: []byte("bye")})
	x.run()
	wantDone(t, "without an answer", x.a.sendCQ, "")
	wantDone(t, "the Send", x.a.recvCQ, "7 success")
	if n := x.memory.n.Load() - before; n > 0 || x.memory.b[0] != 1 && x.memory.b[7] != 1 {
		t.Errorf("the memory was read %d times, and is % x", n, x.memory.b[:8])
	}
	x.b.post(x.read(9, 10))
	x.run()
	wantDone(t, "of another stream of the Domain", x.b.sendCQ, "8 success, 9 success")
	x.b.qp.Close()
	wantState(t, x.b.qp, stateClosed)
	x.a.qp.PeerClosed(nil)
	wantDone(t, "at the end", x.a.sendCQ, "3 flushed, 4 flushed, 5 flushed, 6 flushed")
	forget()
}

// TestDiscardWhileClosing: answers that wait when the owner of the memory discards them do not
// delay the end.
func TestDiscardWhileClosing(t *testing.T) {
	x := newDiscarding(t, params{})
	x.a.post(x.read(1, 100))
	x.a.post(x.read(2, 100))
	x.a.transmit()
	x.b.receive()
	x.b.qp.Close()
	wantState(t, x.b.qp, stateClosing)
	x.domain.Discard(x.b.stream())
	x.run()
	wantState(t, x.b.qp, stateClosed)
	x.b.wantOut()
}

// TestDiscardDuringAtomic: an atomic that is discarded while it reads its word gets no answer, and
// changes nothing.
func TestDiscardDuringAtomic(t *testing.T) {
	x := newDiscarding(t, params{})
	x.a.post(x.add(1))
	x.a.post(x.add(2))
	x.a.transmit()
	x.b.receive()
	var over sync.WaitGroup
	x.memory.before = func() {
		x.memory.before = nil
		over.Go(func() { x.domain.Discard(x.b.stream()) }) // returns when the atomic is over
		for !x.domain.Discards(x.b.stream()) {
			runtime.Gosched()
		}
	}
	x.run()
	over.Wait()
	x.b.wantOut()
	wantDone(t, "without an answer", x.a.sendCQ, "")
	if x.memory.b[0]+x.memory.b[7] != 0 {
		t.Errorf("the word is % x", x.memory.b[:8])
	}
	x.b.qp.Close()
	wantState(t, x.b.qp, stateClosed)
}

// TestDiscardDuringReadResponse: a Read Response that has begun cannot go on, so the stream ends.
func TestDiscardDuringReadResponse(t *testing.T) {
	x := newDiscarding(t, params{})
	x.a.post(x.read(1, 5000))
	x.a.transmit()
	x.b.receive()
	var over sync.WaitGroup
	x.memory.before = func() {
		if x.memory.n.Load() == 4 { // the second segment: the first took two reads
			x.memory.before = nil
			over.Go(func() { x.domain.Discard(x.b.stream()) })
			for !x.domain.Discards(x.b.stream()) {
				runtime.Gosched()
			}
		}
	}
	x.b.wantTerminate("0100")
	over.Wait()
	x.a.receive()
	wantDone(t, "the Read", x.a.sendCQ, "1 remote access error")
}
