package rdmap

import (
	"bytes"
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

// TestDiscardedStream: after [QP.Discard] a Read or an atomic of the peer gets no answer
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
	x.b.qp.Discard()
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
	// The answer of the other stream arrives, but its bytes do not get to the sink.
	wantDone(t, "a Read of this end", x.b.sendCQ, "8 success, 9 flushed")
	if n := x.memory.n.Load() - before; n != 1 {
		t.Errorf("another stream of the Domain has read the memory %d times", n)
	}
	x.b.qp.Close()
	wantState(t, x.b.qp, stateClosed)
	x.a.qp.PeerClosed(nil)
	wantDone(t, "at the end", x.a.sendCQ, "3 flushed, 4 flushed, 5 flushed, 6 flushed")
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
	x.b.qp.Discard()
	x.run()
	wantState(t, x.b.qp, stateClosed)
	x.b.wantOut()
}

// discardDuring makes the next read of the memory last until another goroutine has called Discard
// of x.b. The channel gets a copy of the first word when Discard returns.
func (x *discarding) discardDuring() <-chan []byte {
	word := make(chan []byte, 1)
	x.memory.before = func() {
		x.memory.before = nil
		go func() {
			x.b.qp.Discard()
			word <- bytes.Clone(x.memory.b[:8])
		}()
		for !x.b.qp.stream.Discards() {
			runtime.Gosched()
		}
	}
	return word
}

// TestDiscardDuringAtomic: Discard waits for an atomic that has begun. It gets its answer, and the
// one behind it neither an answer nor the word.
func TestDiscardDuringAtomic(t *testing.T) {
	x := newDiscarding(t, params{})
	x.a.post(x.add(1))
	x.a.post(x.add(2))
	x.a.transmit()
	x.b.receive()
	word := x.discardDuring()
	x.run()
	if w := <-word; w[0]+w[7] != 1 || !bytes.Equal(w, x.memory.b[:8]) {
		t.Errorf("the word is % x, and was % x when Discard returned", x.memory.b[:8], w)
	}
	wantDone(t, "what has begun", x.a.sendCQ, "1 success")
	x.b.qp.Close()
	wantState(t, x.b.qp, stateClosed)
}

// TestDiscardBeforeAtomic: an atomic whose answer is to be the next message gets none, and changes
// nothing, if Discard comes before it begins. The stream goes on.
func TestDiscardBeforeAtomic(t *testing.T) {
	x := newDiscarding(t, params{})
	x.a.post(x.add(1))
	x.a.post(x.add(2))
	x.a.transmit()
	x.b.receive()
	q := x.b.qp
	q.mu.Lock() // NextMessage as far as its answer
	a := q.responder.give()
	q.output.note(answer)
	q.unlock()
	q.Discard()
	before := x.memory.n.Load()
	q.unanswered(a.message(&q.msg, &q.stream))
	x.a.recv(3, 10)
	x.b.post(WorkRequest{ID: 4, Op: WorkSend, Data: []byte("bye")})
	x.run()
	wantDone(t, "without an answer", x.a.sendCQ, "")
	wantDone(t, "the Send", x.a.recvCQ, "3 success")
	if x.memory.n.Load() != before || x.memory.b[0]+x.memory.b[7] != 0 {
		t.Errorf("the memory was read, or the word is % x", x.memory.b[:8])
	}
	q.Close()
	wantState(t, q, stateClosed)
}

// TestDiscardDuringRequest: a request that is being checked when Discard comes is no error.
func TestDiscardDuringRequest(t *testing.T) {
	x := newDiscarding(t, params{})
	x.a.post(x.add(1))
	x.a.transmit()
	word := x.discardDuring()
	x.b.receive()
	<-word
	x.a.post(x.add(2)) // finds out when its word is checked
	x.a.recv(3, 10)
	x.b.post(WorkRequest{ID: 4, Op: WorkSend, Data: []byte("bye")})
	x.run()
	wantDone(t, "without an answer", x.a.sendCQ, "")
	wantDone(t, "the Send", x.a.recvCQ, "3 success")
	if x.memory.b[0]+x.memory.b[7] != 0 {
		t.Errorf("the word is % x", x.memory.b[:8])
	}
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
			over.Go(x.b.qp.Discard)
			for !x.b.qp.stream.Discards() {
				runtime.Gosched()
			}
		}
	}
	x.b.wantTerminate("0100")
	over.Wait()
	x.a.receive()
	wantDone(t, "the Read", x.a.sendCQ, "1 remote access error")
}
