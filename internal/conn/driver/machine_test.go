package driver

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bufpool"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// This file has a connection of two ends that one goroutine drives: no other goroutine runs, no
// time passes, and everything that happens is an event that the test has chosen. The ends are real
// Drivers. In place of the code that waits (Receive, Read, Write, Do, Close, and the goroutine that
// writes the rest), a machine takes the steps of that code, and continues a call that waits when,
// and only when, the real call would be woken. So a lost wake-up shows as a call that never
// returns.

// A machineStream is one end of a TCP connection. The test decides when bytes arrive and how many
// TCP takes.
type machineStream struct {
	toe.NoWatch
	net.Conn // nil, because nothing calls its methods
	peer     *machineStream

	in     []byte // on their way to this end, or arrived
	off    uint64 // offset of in
	room   int    // how many bytes TCP takes from this end
	fin    bool   // the peer's FIN comes behind in
	shut   bool   // CloseWrite or Close was called
	closed bool   // Close was called
	reset  bool   // the connection was reset
	emss   int
}

func (s *machineStream) TryWriteBatch(bufs [][]byte) (n int, err error) {
	switch {
	case s.closed:
		return 0, net.ErrClosed
	case s.reset:
		return 0, syscall.ECONNRESET
	case s.shut:
		return 0, syscall.EPIPE
	}
	for _, b := range bufs {
		k := min(len(b), s.room)
		s.room -= k
		n += k
		if !s.peer.closed {
			s.peer.in = append(s.peer.in, b[:k]...)
		} else if k > 0 {
			s.reset = true // the answer of a closed peer
		}
	}
	return n, nil
}

func (s *machineStream) CloseWrite() error {
	s.shut, s.peer.fin = true, true
	return nil
}

func (s *machineStream) Close() error {
	if s.closed {
		return net.ErrClosed
	}
	if len(s.in) > 0 { // as TCP does when unread bytes are discarded
		s.peer.reset = true
	}
	s.shut, s.closed, s.peer.fin = true, true, true
	return nil
}

func (s *machineStream) Abort() error {
	if !s.closed {
		s.peer.reset, s.shut, s.closed = true, true, true
	}
	return nil
}

func (s *machineStream) ReadSegment(toe.Lender, time.Duration) (int, uint64, error) {
	panic("BUG: the test reads by itself")
}
func (s *machineStream) WaitWritable() error             { panic("BUG: the test writes the rest by itself") }
func (s *machineStream) Pending() (int, error)           { return len(s.in), nil }
func (s *machineStream) Flush(time.Duration) error       { return nil }
func (s *machineStream) EMSS() int                       { return s.emss }
func (s *machineStream) SetReadDeadline(time.Time) error { return nil }
func (s *machineStream) RemoteAddr() net.Addr            { return nil }
func (s *machineStream) Capabilities() toe.Capabilities {
	return toe.Capabilities{Deadlines: true, HalfClose: true, Reset: true, Pending: true}
}

// A closeStage is how far the call of Close at an end of a machine has come.
type closeStage uint8

const (
	closeNot       closeStage = iota
	closePosting              // it waits until everything is posted
	closeFinishing            // it waits until the way out has ended
	closeOver
)

// A machineEnd is one end of a machine, with the calls of its program that are under way.
type machineEnd struct {
	name   string
	d      *Driver
	s      *machineStream
	closed *wait.Latch
	domain *ddp.Domain
	memory []byte
	region *ddp.Region
	cq     *rdmap.CompletionQueue // of posted Work Requests

	rest    restState
	deaf    bool // deafen was called
	lingers bool // endIn was called, and deafen not yet

	into    []byte // memory for Reads, made when the first one begins
	read    []byte // memory of the Read that waits; nil if none does
	self    bool   // that Read has the receive role
	readErr error  // of the last Read
	got     []byte // what Reads have returned

	write  []byte // of the Write that waits; nil if none does
	n      int    // how many bytes of it are copied
	long   bool
	waited bool
	wrote  []byte // the bytes that Writes have taken, and all bytes of the Write under way

	do     *rdmap.WorkRequest // a blocking call that waits; nil if none does
	posted map[uint64]int     // Work Requests with an ID, and how many Completions they have had
	lastID uint64

	close closeStage
}

// A machine is a connection whose events a test chooses.
type machine struct {
	ends   [2]*machineEnd
	framed bool
	before [2]int64 // what the budget had lent and reserved
	log    []string
}

const (
	machineDepth  = 6
	machineSize   = 512
	machineRegion = 256
	machineOffer  = bytestream.MinGrant // bytes of a Write that is offered
)

func newMachine(framed bool) *machine {
	m := &machine{framed: framed, before: [2]int64{MemoryInUse(), MemoryReserved()}}
	emss := 1448
	if !framed {
		emss = machineSize / 3 // long messages have several segments
	}
	sa, sb := &machineStream{room: math.MaxInt, emss: emss}, &machineStream{room: math.MaxInt, emss: emss}
	sa.peer, sb.peer = sb, sa
	for i, s := range []*machineStream{sa, sb} {
		e := &machineEnd{name: string(rune('A' + i)), s: s, domain: new(ddp.Domain), memory: make([]byte, machineRegion), posted: make(map[uint64]int)}
		var err error
		if e.region, err = e.domain.Register(e.memory, ddp.RemoteRead|ddp.RemoteWrite|ddp.RemoteAtomic, 1); err != nil {
			panic(err)
		}
		e.cq = rdmap.NewCompletionQueue(64)
		e.closed = new(wait.Latch)
		qp := rdmap.NewQP(rdmap.Config{Domain: e.domain, QPNum: 1, IRD: 2, ORD: 2, SendDepth: 8})
		receive := &ReceiveConfig{Depth: machineDepth, Size: machineSize}
		if framed {
			receive.Stream = &StreamConfig{
				Window: OpenWindow(machineDepth, machineSize), Credits: machineDepth, MaxMessage: machineSize,
				Register: func(p []byte) (*ddp.Region, error) { return e.domain.Register(p, ddp.RemoteWrite, 1) },
			}
		}
		e.d = New(Config{
			Stream: s, QP: qp, Start: rdmap.StartParams{Initiator: i == 0, IRD: 2, ORD: 2, Extensions: true}, Agreement: mpa.Agreement{CRC: true, IRD: 2, ORD: 2}, Closed: e.closed, Fenced: i == 1,
			CloseTimeout: time.Hour, Receive: receive,
		})
		e.d.tx.goOn = func() { e.rest = restHanded }
		m.ends[i] = e
	}
	for _, e := range m.ends {
		e.d.Start(nil)
	}
	// The Initiator's first FPDU, which opens the Responder's fence, is a Write of no bytes.
	m.ends[0].post(rdmap.WorkRequest{Op: rdmap.WorkWrite, Remote: rdmap.Handle{STag: 1}})
	return m
}

func (m *machine) peer(e *machineEnd) *machineEnd {
	if e == m.ends[0] {
		return m.ends[1]
	}
	return m.ends[0]
}

// A machineEvent is something that can happen at an end. An event that cannot happen in the present
// state does nothing.
type machineEvent struct {
	name string
	do   func(m *machine, e *machineEnd)
}

// machineEvents is everything that can happen.
var machineEvents = []machineEvent{
	{"all arrives", func(_ *machine, e *machineEnd) { e.arrive(math.MaxInt) }},
	{"one byte arrives", func(_ *machine, e *machineEnd) { e.arrive(1) }},
	{"half arrives", func(_ *machine, e *machineEnd) { e.arrive(max(len(e.s.in)/2, 1)) }},
	{"the connection is reset", func(_ *machine, e *machineEnd) { e.s.reset = true; e.arrive(math.MaxInt) }},
	{"TCP takes nothing", func(_ *machine, e *machineEnd) { e.s.room = 0 }},
	{"TCP takes 100 bytes", func(_ *machine, e *machineEnd) { e.takes(100) }},
	{"TCP takes all", func(_ *machine, e *machineEnd) { e.takes(math.MaxInt) }},
	{"a short Read", func(_ *machine, e *machineEnd) { e.beginRead(10, false) }},
	{"a long Read", func(_ *machine, e *machineEnd) { e.beginRead(2*machineOffer, false) }},
	{"a short Read that receives", func(_ *machine, e *machineEnd) { e.beginRead(10, true) }},
	{"a long Read that receives", func(_ *machine, e *machineEnd) { e.beginRead(2*machineOffer, true) }},
	{"the Read's deadline", func(_ *machine, e *machineEnd) { e.endRead(os.ErrDeadlineExceeded) }},
	{"a short Write", func(_ *machine, e *machineEnd) { e.beginWrite(40, 0) }},
	{"a Write of many messages", func(_ *machine, e *machineEnd) { e.beginWrite(20*machineSize, 0) }},
	{"a Write that is offered", func(_ *machine, e *machineEnd) { e.beginWrite(machineOffer, 1) }},
	{"the Write's deadline", func(_ *machine, e *machineEnd) { e.abandonWrite() }},
	{"an RDMA Write", func(m *machine, e *machineEnd) { e.op(m, rdmap.WorkWrite) }},
	{"an RDMA Read", func(m *machine, e *machineEnd) { e.op(m, rdmap.WorkRead) }},
	{"an atomic", func(m *machine, e *machineEnd) { e.op(m, rdmap.WorkFetchAdd) }},
	{"a blocking RDMA Write", func(m *machine, e *machineEnd) { e.beginDo(m) }},
	{"the deadline of the blocking RDMA Write", func(_ *machine, e *machineEnd) { e.abandonDo() }},
	{"the Region is deregistered", func(_ *machine, e *machineEnd) { e.region.Deregister() }},
	{"Close", func(_ *machine, e *machineEnd) { e.beginClose() }},
	{"CloseRead", func(_ *machine, e *machineEnd) { e.d.CloseRead() }},
	{"CloseWrite", func(_ *machine, e *machineEnd) { e.closeWrite() }},
	{"the close timeout", func(_ *machine, e *machineEnd) { e.closeTimeout() }},
	{"a kill", func(_ *machine, e *machineEnd) { e.d.Kill(ErrIdleTimeout) }},
	{"Close with SetLinger(0)", func(_ *machine, e *machineEnd) { e.abort() }},
}

// apply makes an event happen at an end, continues everything that it wakes, and checks the
// invariants.
func (m *machine) apply(end int, ev machineEvent) error {
	m.log = append(m.log, m.ends[end].name+": "+ev.name)
	ev.do(m, m.ends[end])
	return m.goOn()
}

// goOn continues everything that is woken, and checks the invariants.
func (m *machine) goOn() error {
	for _, e := range m.ends {
		for rounds := 0; e.poke(); rounds++ {
			if rounds > 10_000 {
				return fmt.Errorf("%s goes on forever", e.name)
			}
		}
	}
	return m.check()
}

// check returns an error if an invariant does not hold.
func (m *machine) check() error {
	for _, e := range m.ends {
		if err := e.check(); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		if p := m.peer(e); !bytes.HasPrefix(p.wrote, e.got) && m.framed {
			return fmt.Errorf("%s has read %d bytes that are not the beginning of what %s has written", e.name, len(e.got), p.name)
		}
	}
	if n, want := MemoryReserved()-m.before[1], m.ends[0].reserved()+m.ends[1].reserved(); n != want {
		return fmt.Errorf("the budget has reserved %d bytes for the two ends, and they account for %d", n, want)
	}
	return nil
}

//
// Bytes that arrive, and bytes that TCP takes.
//

// arrive delivers up to n bytes, and the end of the stream behind them.
func (e *machineEnd) arrive(n int) {
	d := e.d
	switch {
	case d.rx.intake == intakeOver:
		if e.lingers { // it reads and drops
			e.s.in = nil
		}
		return
	case e.s.closed:
		e.endIn(net.ErrClosed)
		return
	case e.s.reset && len(e.s.in) == 0, e.s.reset && n == math.MaxInt:
		e.endIn(syscall.ECONNRESET)
		return
	case d.rx.intake == intakeStalled:
		return // only memory helps
	}
	if d.rx.intake.isHeld() && !e.step() {
		return
	}
	for n > 0 && len(e.s.in) > 0 && d.rx.intake == intakeOpen {
		k := copy(d.rx.Lend(), e.s.in[:min(n, len(e.s.in))])
		off := e.s.off
		e.s.in, e.s.off, n = e.s.in[k:], off+uint64(k), n-k
		d.rx.filled(off, k)
		if !e.step() {
			return
		}
		d.rx.giveBack()
		d.rx.park()
	}
	if len(e.s.in) == 0 && e.s.fin && d.rx.intake == intakeOpen {
		e.endIn(io.EOF)
	}
}

// step does what process does, without its waits. It stands for the Read that waits and receives,
// or, when that has returned, for the home goroutine.
func (e *machineEnd) step() (sound bool) {
	d, self := e.d, e.self && e.read != nil
	sound = d.rx.step(self)
	if r := d.rx.result; self && r.over {
		d.rx.result = readResult{}
		e.readOver(r, nil)
	}
	if !sound {
		d.endUnsound()
		e.endIn(nil)
		return false
	}
	d.placed()
	return true
}

// endIn is the end of Receive.
func (e *machineEnd) endIn(err error) {
	d := e.d
	d.rx.retreat() // the Read that receives returns first
	d.rx.err = err
	d.rx.setIntake(intakeOver)
	if e.lingers = d.endIn(); e.lingers {
		d.transmit()
		return
	}
	e.deafen()
}

func (e *machineEnd) deafen() {
	e.lingers, e.deaf = false, true
	e.d.deafen()
}

// takes lets TCP take n more bytes.
func (e *machineEnd) takes(n int) { e.s.room = n }

//
// The program's calls.
//

func (e *machineEnd) beginRead(n int, self bool) {
	if e.read != nil {
		return
	}
	if e.into == nil {
		e.into = make([]byte, 2*machineOffer)
	}
	p := e.into[:n]
	found, t, err := e.d.beginRead(p, nil)
	if found == waits {
		e.read, e.self = p, self && e.d.rx.intake != intakeOver
		return
	}
	e.returns(p[:t.n], err)
}

// endRead ends the Read that waits; err is the error of its deadline.
func (e *machineEnd) endRead(err error) {
	if e.read != nil {
		e.d.rx.retreat()
		e.readOver(e.d.in.leave(), err)
	}
}

// readOver is the end of await, and of Read.
func (e *machineEnd) readOver(r readResult, err error) {
	p := e.read
	e.read = nil
	if r.ok {
		err = nil
	}
	e.returns(p[:r.n], err)
}

func (e *machineEnd) returns(p []byte, err error) {
	e.got = append(e.got, p...)
	if err != nil {
		e.readErr = err
	}
}

// pattern returns the n bytes that follow e's last Write.
func (e *machineEnd) pattern(n int) []byte {
	p := make([]byte, n)
	for i := range p {
		at := len(e.wrote) + i
		p[i] = byte(at) ^ byte(at>>8)*31 ^ e.name[0]
	}
	return p
}

// beginWrite begins a Write of n bytes. In message mode it is one message, of up to machineSize
// bytes, and no call waits for its Completion.
func (e *machineEnd) beginWrite(n, crossover int) {
	if e.write != nil || e.do != nil {
		return
	}
	p := e.pattern(n)
	if e.d.bytes == nil {
		e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: p[:min(n, machineSize)]})
		return
	}
	w := &e.d.writer
	e.write, e.n, e.long, e.waited = p, 0, n > machineSize, false
	e.wrote = append(e.wrote, p...)
	if !e.long {
		k, busy, err := w.append(p, math.MaxInt64, false)
		if busy {
			panic("BUG: a Write was under way")
		}
		e.n = k
		if k == len(p) || err != nil {
			e.writeOver(k)
		}
		return
	}
	e.setWriting(true)
	if err := w.beginLong(p, crossover); err != nil {
		e.writeOver(0)
		return
	}
	e.lookWrite()
}

// lookWrite is a round of writeLong.
func (e *machineEnd) lookWrite() {
	e.d.transmit()
	ended, _, _, n, err := e.d.writer.look(e.waited)
	e.waited = true
	if ended {
		if err != nil {
			e.d.transmit()
		}
		e.writeOver(n)
	}
}

// setWriting is begin and finish of the streamWriter.
func (e *machineEnd) setWriting(is bool) {
	s := e.d.bytes
	s.mu.Lock()
	s.writing, s.appending = is, false
	s.mu.Unlock()
}

// writeOver ends the Write under way, of which n bytes have been taken.
func (e *machineEnd) writeOver(n int) {
	e.wrote = e.wrote[:len(e.wrote)-len(e.write)+n]
	e.write = nil
	e.setWriting(false)
}

// abandonWrite lets the Write's deadline pass. Then the memory of the Write is the program's again,
// so the test writes to it.
func (e *machineEnd) abandonWrite() {
	if e.write == nil {
		return
	}
	p, n := e.write, e.n
	if e.long {
		n = e.d.writer.takeBack()
		e.d.transmit()
	}
	e.writeOver(n)
	clear(p)
}

func (e *machineEnd) closeWrite() {
	if e.d.bytes != nil {
		e.d.CloseWrite(errors.New("CloseWrite was called"))
	}
}

// post posts a Work Request. No call waits for its Completion.
func (e *machineEnd) post(wr rdmap.WorkRequest) {
	e.lastID++
	wr.ID, wr.CQ = e.lastID, e.cq
	if err := e.d.qp.PostSend(&wr); err != nil {
		return
	}
	e.posted[wr.ID] = 0
	e.d.posts(&wr)
	e.d.transmit()
}

// op posts an operation on the peer's Region.
func (e *machineEnd) op(m *machine, op rdmap.WorkOp) {
	r := m.peer(e).region
	wr := rdmap.WorkRequest{Op: op, Data: make([]byte, machineRegion), Remote: rdmap.Handle{STag: r.STag(), TO: r.TO(), Len: machineRegion}}
	if op == rdmap.WorkFetchAdd {
		wr.Data, wr.Remote.Len = make([]byte, 8), 8
	}
	e.post(wr)
}

// beginDo begins a blocking call.
func (e *machineEnd) beginDo(m *machine) {
	if e.do != nil || e.write != nil {
		return
	}
	r := m.peer(e).region
	wr := &rdmap.WorkRequest{Op: rdmap.WorkWrite, Data: make([]byte, machineRegion), Remote: rdmap.Handle{STag: r.STag(), TO: r.TO(), Len: machineRegion}}
	e.d.blocking.begin(wr)
	wr.ID = math.MaxUint64
	if err := e.d.qp.PostSend(wr); err != nil {
		return
	}
	e.do = wr
	e.d.posts(wr)
	e.d.transmit()
}

// abandonDo lets the deadline of the blocking call pass.
func (e *machineEnd) abandonDo() {
	if e.do == nil {
		return
	}
	wr := e.do
	if !e.d.qp.Cancel(wr.CQ, wr.ID) && e.d.detach(wr.Data, wr.ID) && wr.CQ.Len() == 0 {
		e.do = nil // the operation goes on without the call
		clear(wr.Data)
	}
	e.d.canceled()
}

func (e *machineEnd) beginClose() {
	if e.close != closeNot {
		return
	}
	e.closed.Set()
	e.close = closePosting
	if e.d.beginClose() {
		e.close = closeOver
	}
}

func (e *machineEnd) abort() {
	if e.close == closeNot {
		e.closed.Set()
		e.close = closeOver
		_ = e.s.Abort()
		e.d.Reset(net.ErrClosed)
	}
}

func (e *machineEnd) closeTimeout() {
	if e.close == closePosting || e.close == closeFinishing {
		e.d.end.setReason(net.ErrClosed)
		e.d.Kill(errCloseTimeout)
		e.close = closeOver
	}
	if e.lingers {
		e.d.Kill(e.d.end.life.why())
	}
}

//
// What goes on without a call of the program.
//

// A restState is the state of the goroutine that writes the rest.
type restState uint8

const (
	restNone   restState = iota // there is none
	restHanded                  // the token was handed to it
	restWaits                   // it waits for TCP, and has set the token down
)

// writeRest does what sendRest does until it waits.
func (e *machineEnd) writeRest() {
	for !e.d.drain(false) {
		if e.s.room == 0 {
			e.d.tx.token.setDown()
			e.rest = restWaits
			return
		}
	}
	e.rest = restNone
	e.d.letGo()
}

// poke continues what is woken, and reports whether anything was.
func (e *machineEnd) poke() (went bool) {
	d := e.d
	switch {
	case e.rest == restHanded:
		d.tx.token.takeOver()
		e.writeRest()
		went = true
	case e.rest == restWaits && (e.s.room > 0 || e.s.closed || e.s.reset || e.s.shut):
		d.tx.token.pickUp()
		e.writeRest()
		went = true
	}
	if e.read != nil && e.woken() {
		d.rx.retreat()
		e.readOver(d.in.leave(), nil)
		went = true
	}
	if e.write != nil && e.isWriteWoken() {
		if e.long {
			e.lookWrite()
		} else {
			k, _, err := d.writer.append(e.write[e.n:], 0, true)
			if e.n += k; e.n == len(e.write) || err != nil {
				e.writeOver(e.n)
			}
		}
		went = true
	}
	var done [4]rdmap.Completion
	if e.do != nil && e.do.CQ.Poll(done[:1]) == 1 {
		e.do = nil
		went = true
	}
	for n := e.cq.Poll(done[:]); n > 0; n = e.cq.Poll(done[:]) {
		for _, c := range done[:n] {
			e.posted[c.ID]++
		}
		went = true
	}
	if e.close == closePosting && d.writer.isPosted() {
		e.close = closeFinishing
		d.closeQueues()
		went = true
	}
	if e.close == closeFinishing && d.end.life.isFinished() {
		e.close = closeOver
		went = true
	}
	if d.rx.intake == intakeStalled && has(d.recheck.C()) {
		if !d.end.life.maySend() || d.end.closing() {
			d.endUnsound()
			e.endIn(nil)
		} else {
			e.step()
		}
		went = true
	}
	if e.s.closed && d.rx.intake != intakeOver && d.rx.intake != intakeStalled {
		e.endIn(net.ErrClosed) // what a read of a closed stream returns
		went = true
	}
	if e.lingers && d.end.life.isFinished() && (d.rx.err != nil || e.s.closed || e.s.reset || e.s.fin && len(e.s.in) == 0) {
		e.deafen()
		went = true
	}
	return went
}

// woken reports whether the Read that waits would look again: the condition that sleep waits for.
func (e *machineEnd) woken() bool {
	return has(e.d.in.ready.C()) && (e.d.in.has() || e.d.end.endsReads())
}

// isWriteWoken reports whether the Write that waits would look again: the condition that await of
// the streamWriter waits for.
func (e *machineEnd) isWriteWoken() bool {
	s := e.d.bytes
	s.mu.Lock()
	_, owns := s.tx.Write()
	s.mu.Unlock()
	switch {
	case has(s.room.C()):
	case s.cq.Len() > 0 || s.first.Len() > 0:
		s.reap()
	case !owns && e.d.end.life.ending.IsSet():
	default:
		return false
	}
	return true
}

// has receives from a channel of capacity 1, and reports whether it held a value.
func has(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

//
// What must hold.
//

// check returns an error if an invariant does not hold at an end.
func (e *machineEnd) check() error {
	d := e.d
	if d.tx.wanted() && e.rest == restNone {
		return fmt.Errorf("there is output, and no goroutine transmits it (life %v, error of the queue pair %v)", d.end.life.state(), d.qp.Err())
	}
	for id, n := range e.posted {
		if n > 1 {
			return fmt.Errorf("Work Request %d has %d Completions", id, n)
		}
	}
	if s := d.end.life.state(); s == lifeClosed && (!e.deaf || e.lingers) {
		return fmt.Errorf("the connection is %v, but the way in has not ended", s)
	}
	if r := &d.rx; e.deaf && (r.free != nil || r.parked != nil || r.mpa.Destination != nil || r.loan.paid != 0) {
		return fmt.Errorf("the way in has ended, and holds memory: %d bytes are lent", r.loan.paid)
	}
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	if b := &d.in.delivery; d.end.life.state() == lifeClosed && (b.placing.state != placingNone || b.grant != nil || b.memory.window.IsOpen()) {
		return fmt.Errorf("the connection has ended, and holds memory that no Read gets (a message %v, %d bytes granted)", b.placing.state, b.memory.grants)
	}
	return d.in.delivery.check()
}

// reserved returns how many bytes the budget must have reserved for an end.
func (e *machineEnd) reserved() int64 {
	d := e.d
	d.in.mu.Lock()
	defer d.in.mu.Unlock()
	m := &d.in.delivery.memory
	n := m.taken + m.grants + d.rx.loan.paid + d.tx.loan.paid
	if m.window.IsOpen() {
		n += m.window.Reserved() - m.taken
	}
	if s := d.bytes; s != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.paid {
			n += aheadCost
		}
	}
	return n
}

// check returns an error if a delivery's counts of its memory are wrong.
func (b *delivery) check() error {
	var held, used, granted int
	b.unread.All(func(m memory, _ int) {
		if m.unbuffered {
			granted += m.chunk.Size()
			return
		}
		held, used = held+m.chunk.Size(), used+1
	})
	if b.grant != nil {
		granted += b.grant.size()
	}
	if b.placing.chunk != nil {
		held += b.placing.chunk.Size()
	}
	if b.placing.state == placingLong {
		held += bufpool.ChunkSize(len(b.placing.body))
	}
	if b.placing.state != placingNone || len(b.rest) > 0 {
		used++
	}
	switch {
	case int64(held) != b.memory.held:
		return fmt.Errorf("the books say that messages hold %d bytes of memory, and they hold %d", b.memory.held, held)
	case used != b.used:
		return fmt.Errorf("the books say %d messages, and there are %d", b.used, used)
	case (b.placing.chunk != nil) != (b.placing.state == placingPooled):
		return fmt.Errorf("a message is placed in memory of the pool: %t, and the state is %v", b.placing.chunk != nil, b.placing.state)
	case b.placing.state == placingLong && !b.reader.isThere():
		return errors.New("a message is being placed in memory that is the program's again")
	case b.placing.state == placingStays:
		return errors.New("a message is being placed between two steps")
	case b.grant != nil && b.grant.chunk == nil && !b.reader.isThere():
		return errors.New("the peer may write to memory that is the program's again")
	case int64(granted) != b.memory.grants:
		return fmt.Errorf("%d bytes are reserved for grants that have %d", b.memory.grants, granted)
	case b.memory.beyond() > max(b.memory.taken, b.memory.window.Reserved())+int64(bufpool.ChunkSize(b.size)):
		return fmt.Errorf("%d bytes are unread, and %d of them count", b.memory.held, b.memory.taken)
	}
	return nil
}

// end lets everything arrive, and lets the programs read and then close. It checks that every call
// that waits returns, and that nothing is left.
func (m *machine) end() error {
	m.log = append(m.log, "the end")
	for range 400 { // more rounds than any exchange needs
		for _, e := range m.ends {
			e.takes(math.MaxInt)
			if e.read == nil {
				e.beginRead(8*machineSize, false)
			}
			if err := m.goOn(); err != nil {
				return err
			}
			e.arrive(math.MaxInt)
			if err := m.goOn(); err != nil {
				return err
			}
		}
		if m.isIdle() {
			break
		}
	}
	for _, e := range m.ends {
		if e.write != nil || e.do != nil {
			return fmt.Errorf("%s: a call waits, and nothing is under way (Write %t, Do %t, life %v)", e.name, e.write != nil, e.do != nil, e.d.end.life.state())
		}
	}
	for _, e := range m.ends {
		e.beginClose()
		if err := m.goOn(); err != nil {
			return err
		}
	}
	for range 8 {
		for _, e := range m.ends {
			e.arrive(math.MaxInt)
			if err := m.goOn(); err != nil {
				return err
			}
		}
	}
	for _, e := range m.ends {
		switch {
		case e.close != closeOver:
			return fmt.Errorf("%s: Close has not returned (life %v, error of the queue pair %v)", e.name, e.d.end.life.state(), e.d.qp.Err())
		case e.d.end.life.state() != lifeClosed:
			return fmt.Errorf("%s: the connection is %v (deaf %t, lingers %t)", e.name, e.d.end.life.state(), e.deaf, e.lingers)
		case e.read != nil:
			return fmt.Errorf("%s: a Read has not returned", e.name)
		case e.rest != restNone:
			return fmt.Errorf("%s: the goroutine that writes the rest has not ended", e.name)
		}
		for id, n := range e.posted {
			if n != 1 {
				return fmt.Errorf("%s: Work Request %d has %d Completions", e.name, id, n)
			}
		}
	}
	if after := [2]int64{MemoryInUse(), MemoryReserved()}; after != m.before {
		return fmt.Errorf("the budget had %v lent and reserved, and has %v now", m.before, after)
	}
	return nil
}

// isIdle reports whether nothing is under way any more.
func (m *machine) isIdle() bool {
	for _, e := range m.ends {
		if len(e.s.in) > 0 || e.s.fin && e.d.rx.intake == intakeOpen || e.rest != restNone || e.write != nil || e.do != nil {
			return false
		}
	}
	return true
}
