package hostile

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/mpa"
	"github.com/rddp/rddp/rdmap"
)

// A session is a whole life of a connection, the same each time. Both ends check every octet.
type session struct {
	name string
	cfg  extsock.Config
	// Each end of it. The error is the first one that a call gave.
	initiator, responder func(e *end) error
}

// sessions are the canonical ones: between them they have startup, every operation and an orderly
// close.
var sessions = []session{
	{"byte stream", extsock.Config{Crossover: 512}, streamInitiator, streamResponder},
	{"byte stream with markers", extsock.Config{Crossover: 512, Markers: true}, streamInitiator, streamResponder},
	{"messages", extsock.Config{Messages: true}, messagesInitiator, messagesResponder},
	{"verbs", extsock.Config{Messages: true}, verbsInitiator, verbsResponder},
}

// The patterns: which octets belong where. None of them has an octet 0.
const (
	inHello = iota * 40
	inLong
	inBack
	inMemory
	inServed
)

// pattern is n octets, different for each kind of place.
func pattern(kind, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(1 + (kind+7*i+i/255)%255)
	}
	return b
}

// A wrongOctets is the one failure that nothing excuses: octets were delivered that nobody sent.
type wrongOctets struct {
	where     string
	got, want []byte
}

func (e *wrongOctets) Error() string {
	return fmt.Sprintf("%s: got % x, want % x", e.where, e.got, e.want)
}

// same wants got to be the first octets of the pattern.
func same(where string, got []byte, kind int) error {
	if want := pattern(kind, len(got)); string(got) != string(want) {
		return &wrongOctets{where, got, want}
	}
	return nil
}

// untouchedOr wants each octet of memory to be 0, as it was, or the pattern's.
func untouchedOr(where string, memory []byte, kind int) error {
	want := pattern(kind, len(memory))
	for i, o := range memory {
		if o != 0 && o != want[i] {
			return &wrongOctets{where, memory, want}
		}
	}
	return nil
}

// An end is one end of a session while it runs.
type end struct {
	c        *extsock.Conn
	ctx      context.Context
	memory   []byte // written by the peer
	sink     []byte // of an RDMA Read
	accepted int    // Work Requests in the send queue
	done     int    // their Completions
	recvs    int    // receives posted, less their Completions
	bufs     [8][]byte
}

// sessionLimit bounds each call of a session. It is not reached where something tells of a cut.
const sessionLimit = 20 * time.Second

// run runs one end of s to its end, Close and all, and returns the first error.
func (s *session) run(c net.Conn, initiator bool) error {
	cfg := s.cfg
	return s.runOn(extsock.NewConn(c, initiator, &cfg), initiator)
}

// runOn is run on an extended socket that has not been used yet.
func (s *session) runOn(x *extsock.Conn, initiator bool) error {
	ctx, cancel := context.WithTimeout(context.Background(), sessionLimit)
	defer cancel()
	x.SetDeadline(time.Now().Add(sessionLimit))
	e := &end{c: x, ctx: ctx, memory: make([]byte, 120), sink: make([]byte, 60)}
	act := s.responder
	if initiator {
		act = s.initiator
	}
	err := act(e)
	closed := x.Close()
	if err == nil {
		err = closed
	}
	if flushed := e.flushed(); flushed != nil {
		return flushed
	}
	for _, wrong := range []error{
		untouchedOr("registered memory", e.memory[8:108], inMemory), untouchedOr("a Read's sink", e.sink, inServed),
	} {
		if wrong != nil {
			return wrong
		}
	}
	return err
}

// errLost means that a Work Request has no Completion, or two.
var errLost = errors.New("not exactly one Completion for each Work Request")

// flushed wants, after Close, a Completion for everything that was accepted, and no other.
func (e *end) flushed() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ; e.done < e.accepted; e.done++ {
		if _, err := e.c.SendCQ().Wait(ctx); err != nil {
			return fmt.Errorf("%w: %d of %d", errLost, e.done, e.accepted)
		}
	}
	for ; e.recvs > 0; e.recvs-- {
		if _, err := e.c.RecvCQ().Wait(ctx); err != nil {
			return fmt.Errorf("%w: %d receives have none", errLost, e.recvs)
		}
	}
	if e.accepted > 0 && e.c.SendCQ().Len()+e.c.RecvCQ().Len() > 0 {
		return fmt.Errorf("%w: more than requests", errLost)
	}
	return nil
}

func (e *end) read(where string, n, kind int) error {
	b := make([]byte, n)
	n, err := io.ReadFull(e.c, b)
	return errors.Join(same(where, b[:n], kind), err)
}

// lend registers this end's memory: 120 octets, of which the last 60 are what the peer reads.
func (e *end) lend() (rdmap.Handle, error) {
	served := make([]byte, 60)
	copy(served, pattern(inServed, 60))
	r, err := e.c.Register(e.memory, ddp.RemoteWrite|ddp.RemoteAtomic)
	if err != nil {
		return rdmap.Handle{}, err
	}
	s, err := e.c.Register(served, ddp.RemoteRead)
	if err != nil {
		return rdmap.Handle{}, err
	}
	_, err = e.c.Write(s.Handle().AppendTo(r.Handle().AppendTo(nil)))
	return r.Handle(), err
}

// oneSided is what the Initiator does with the peer's memory, whose handles it reads first.
func (e *end) oneSided() error {
	b := make([]byte, 2*rdmap.HandleLen)
	if _, err := io.ReadFull(e.c, b); err != nil {
		return err
	}
	h, rest, err := rdmap.ParseHandle(b)
	if err != nil {
		return err
	}
	served, _, err := rdmap.ParseHandle(rest)
	if err != nil {
		return err
	}
	m := e.c.Remote(h)
	if _, err := m.WriteAt(pattern(inMemory, 100), 8); err != nil {
		return err
	}
	if _, err := e.c.Remote(served).ReadAt(e.sink, 0); err != nil {
		return err
	}
	if err := same("ReadAt", e.sink, inServed); err != nil {
		return err
	}
	for i, do := range []func() (uint64, error){
		func() (uint64, error) { return m.FetchAdd(context.Background(), 0, 5) },
		func() (uint64, error) { return m.CompareAndSwap(context.Background(), 0, 5, 9) },
		func() (uint64, error) { return m.Swap(context.Background(), 0, 1) },
	} {
		got, err := do()
		if err != nil {
			return err
		}
		if want := []uint64{0, 5, 9}[i]; got != want {
			return &wrongOctets{where: fmt.Sprintf("atomic %d: %d, want %d", i, got, want)}
		}
	}
	return nil
}

func streamInitiator(e *end) error {
	if err := e.c.EnableDDP(e.ctx, []byte("private data")); err != nil {
		return err
	}
	if _, err := e.c.Write(pattern(inHello, 30)); err != nil {
		return err
	}
	if err := e.oneSided(); err != nil {
		return err
	}
	if _, err := e.c.Write(pattern(inLong, 700)); err != nil {
		return err
	}
	if err := e.c.CloseWrite(); err != nil {
		return err
	}
	return e.toTheEnd(300)
}

// toTheEnd reads n octets and the end of the stream.
func (e *end) toTheEnd(n int) error {
	b, err := io.ReadAll(e.c)
	if wrong := same("the last octets", b, inBack); wrong != nil || err != nil {
		return errors.Join(wrong, err)
	}
	if len(b) < n {
		return errEarly
	}
	if len(b) > n {
		return &wrongOctets{where: fmt.Sprintf("an end behind %d octets, not %d", len(b), n)}
	}
	return nil
}

// errEarly means that the other end has closed the connection in order, and too early: after an
// error of its own.
var errEarly = errors.New("closed by the other end before it had sent everything")

func streamResponder(e *end) error {
	if err := e.c.EnableDDP(e.ctx, []byte("private")); err != nil {
		return err
	}
	if err := e.read("the first Write", 30, inHello); err != nil {
		return err
	}
	if _, err := e.lend(); err != nil {
		return err
	}
	if err := e.read("the long Write", 700, inLong); err != nil {
		return err
	}
	if err := same("registered memory", e.memory[8:108], inMemory); err != nil {
		return err
	}
	switch n, err := e.c.Read(make([]byte, 1)); {
	case n != 0 || err == nil:
		return &wrongOctets{where: "an octet behind the end"}
	case err != io.EOF:
		return err
	}
	_, err := e.c.Write(pattern(inBack, 300))
	return err
}

func messagesInitiator(e *end) error {
	if err := e.c.EnableDDP(e.ctx, nil); err != nil {
		return err
	}
	if _, err := e.c.Write(pattern(inHello, 30)); err != nil {
		return err
	}
	if err := e.oneSided(); err != nil {
		return err
	}
	if _, err := e.c.Write(pattern(inLong, 300)); err != nil {
		return err
	}
	return e.toTheEnd(200)
}

func messagesResponder(e *end) error {
	if err := e.c.EnableDDP(e.ctx, nil); err != nil {
		return err
	}
	if err := e.read("the first message", 30, inHello); err != nil {
		return err
	}
	if _, err := e.lend(); err != nil {
		return err
	}
	if err := e.read("the second message", 300, inLong); err != nil {
		return err
	}
	if err := same("registered memory", e.memory[8:108], inMemory); err != nil {
		return err
	}
	_, err := e.c.Write(pattern(inBack, 200))
	return err
}

// prepare posts the receives of a session of verbs and switches.
func (e *end) prepare() error {
	for id := range e.bufs {
		e.bufs[id] = make([]byte, 64)
		if err := e.c.PostRecv(rdmap.RecvRequest{ID: uint64(id), Buf: e.bufs[id]}); err != nil {
			return err
		}
		e.recvs++
	}
	return e.c.EnableDDP(e.ctx, nil)
}

func (e *end) post(wr rdmap.WorkRequest) error {
	err := e.c.Post(&wr)
	if err == nil {
		e.accepted++
	}
	return err
}

// sent waits for the next Completion of the send queue.
func (e *end) sent() (rdmap.Completion, error) {
	d, err := e.c.SendCQ().Wait(e.ctx)
	if err == nil {
		e.done++
		err = d.Err
	}
	return d, err
}

// received waits for the next message and wants it to have n octets of the pattern.
func (e *end) received(n, kind int) (rdmap.Completion, error) {
	d, err := e.c.RecvCQ().Wait(e.ctx)
	if err != nil {
		return d, err
	}
	e.recvs--
	if d.Err != nil {
		return d, d.Err
	}
	if int(d.Len) != n {
		return d, &wrongOctets{where: fmt.Sprintf("a message of %d octets, not %d", d.Len, n)}
	}
	return d, same("a message", e.bufs[d.ID][:n], kind)
}

func verbsInitiator(e *end) error {
	if err := e.prepare(); err != nil {
		return err
	}
	d, err := e.c.RecvCQ().Wait(e.ctx)
	if err != nil {
		return err
	}
	e.recvs--
	if d.Err != nil {
		return d.Err
	}
	h, rest, _ := rdmap.ParseHandle(e.bufs[d.ID])
	served, rest, _ := rdmap.ParseHandle(rest)
	window, _, _ := rdmap.ParseHandle(rest)
	at := h
	at.TO += 8
	wrs := []rdmap.WorkRequest{
		{Op: rdmap.WorkWrite, Data: pattern(inMemory, 100), Remote: at},
		{Op: rdmap.WorkSend, Data: pattern(inHello, 50)},
		{Op: rdmap.WorkRead, Data: e.sink, Remote: served},
		{Op: rdmap.WorkFetchAdd, Operand: 5, Remote: h},
		{Op: rdmap.WorkCmpSwap, Compare: 5, Operand: 9, Remote: h},
		{Op: rdmap.WorkSwap, Operand: 1, Remote: h, Fence: true},
		{Op: rdmap.WorkSendInvalidate, Gather: [][]byte{pattern(inLong, 20), {}}, Invalidate: window.STag},
		{Op: rdmap.WorkImmediate, Immediate: 0x1122334455667788},
		{Op: rdmap.WorkSend, Solicited: true},
	}
	for _, wr := range wrs {
		if err := e.post(wr); err != nil {
			return err
		}
	}
	for _, wr := range wrs {
		d, err := e.sent()
		if err != nil {
			return err
		}
		if want := map[rdmap.WorkOp]uint64{rdmap.WorkCmpSwap: 5, rdmap.WorkSwap: 9}[wr.Op]; d.Op != wr.Op || d.Original != want {
			return &wrongOctets{where: fmt.Sprintf("Completion %v with %d, want %v with %d", d, d.Original, wr.Op, want)}
		}
	}
	if err := same("the Read", e.sink, inServed); err != nil {
		return err
	}
	_, err = e.received(40, inBack)
	return err
}

func verbsResponder(e *end) error {
	served := pattern(inServed, 60)
	r, err := e.c.Register(e.memory, ddp.RemoteWrite|ddp.RemoteAtomic)
	if err != nil {
		return err
	}
	w, err := r.Window(112, 8, ddp.RemoteWrite)
	if err != nil {
		return err
	}
	s, err := e.c.Register(served, ddp.RemoteRead)
	if err != nil {
		return err
	}
	if err := e.prepare(); err != nil {
		return err
	}
	handles := w.Handle().AppendTo(s.Handle().AppendTo(r.Handle().AppendTo(nil)))
	if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: handles}); err != nil {
		return err
	}
	if _, err := e.received(50, inHello); err != nil {
		return err
	}
	if err := same("registered memory", e.memory[8:108], inMemory); err != nil {
		return err
	}
	d, err := e.received(20, inLong)
	if err != nil {
		return err
	}
	if !d.HasInvalidated || d.Invalidated != w.Handle().STag {
		return &wrongOctets{where: fmt.Sprintf("%v does not invalidate %#x", d, w.Handle().STag)}
	}
	if d, err = e.received(0, 0); err != nil {
		return err
	}
	if !d.HasImmediate || d.Immediate != 0x1122334455667788 {
		return &wrongOctets{where: fmt.Sprintf("%v: Immediate Data %#x", d, d.Immediate)}
	}
	if d, err = e.received(0, 0); err != nil {
		return err
	}
	if !d.Solicited {
		return &wrongOctets{where: "no Solicited Event"}
	}
	if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSend, Data: pattern(inBack, 40)}); err != nil {
		return err
	}
	if _, err := e.sent(); err != nil { // the handles
		return err
	}
	_, err = e.sent()
	return err
}

// isTyped reports whether a program can tell from err what has happened.
func isTyped(err error) bool {
	for _, known := range []error{
		io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, os.ErrDeadlineExceeded, context.DeadlineExceeded,
		syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED,
		extsock.ErrNoReply, extsock.ErrNotMPA, extsock.ErrStream, extsock.ErrMode, errEarly,
		errInjected, rdmap.ErrNoExtensions, rdmap.ErrNoORD,
		rdmap.ErrClosed, rdmap.ErrPeerClosed,
	} {
		if errors.Is(err, known) {
			return true
		}
	}
	var (
		m *mpa.Error
		d *ddp.Error
		r *rdmap.Error
		t *rdmap.TerminateError
		j *mpa.RejectError
	)
	return errors.As(err, &m) || errors.As(err, &d) && d.Code != ddp.CodeULP || errors.As(err, &r) || errors.As(err, &t) || errors.As(err, &j)
}

// isNever reports whether err is one that nothing excuses.
func isNever(err error) bool {
	return errors.As(err, new(*wrongOctets)) || errors.Is(err, errLost)
}
