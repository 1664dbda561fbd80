package scenario

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/extsock"
	"github.com/rddp/rddp/rdmap"
)

// A Session is the whole life of a connection, the same each time. Both ends check every octet.
type Session struct {
	Name   string
	Config extsock.Config
	// The two ends. Each returns the first error of a call.
	initiator, responder func(e *end) error
}

// Patient returns a copy of s with LossyTimeout for each call, for networks that lose the same
// packet several times in a row.
func (s *Session) Patient() *Session {
	p := *s
	p.Config.HandshakeTimeout, p.Config.CloseTimeout = LossyTimeout, LossyTimeout
	return &p
}

// Sessions are the standard ones. Together they cover startup, every operation and an orderly
// close.
var Sessions = []Session{
	{"byte stream", extsock.Config{Crossover: 512}, streamInitiator, streamResponder},
	{"byte stream with markers", extsock.Config{Crossover: 512, Markers: true}, streamInitiator, streamResponder},
	{"messages", extsock.Config{Messages: true}, messagesInitiator, messagesResponder},
	{"verbs", extsock.Config{Messages: true}, verbsInitiator, verbsResponder},
}

// Solicited has a Send of each kind.
var Solicited = Session{"Solicited", extsock.Config{Messages: true}, solicitedInitiator, solicitedResponder}

// The kinds of Pattern, one for each place. No pattern contains the octet 0.
const (
	InHello = iota * 40
	InLong
	InBack
	InMemory
	InServed
)

// Pattern returns n octets, different for each kind.
func Pattern(kind, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(1 + (kind+7*i+i/255)%255)
	}
	return b
}

// A WrongOctets is the one failure that is never acceptable: octets were delivered that nobody
// sent.
type WrongOctets struct {
	Where     string
	got, want []byte
}

func (e *WrongOctets) Error() string {
	return fmt.Sprintf("%s: got % x, want % x", e.Where, e.got, e.want)
}

// Same returns a WrongOctets unless got is the beginning of the pattern.
func Same(where string, got []byte, kind int) error {
	if want := Pattern(kind, len(got)); string(got) != string(want) {
		return &WrongOctets{where, got, want}
	}
	return nil
}

// untouchedOr returns a WrongOctets unless each octet of memory is still 0 or is the pattern's.
func untouchedOr(where string, memory []byte, kind int) error {
	want := Pattern(kind, len(memory))
	for i, o := range memory {
		if o != 0 && o != want[i] {
			return &WrongOctets{where, memory, want}
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

// SessionLimit limits a session whose Config has no HandshakeTimeout, which is the limit otherwise.
// A session does not reach it if it finds out that the connection was cut.
const SessionLimit = 20 * time.Second

// Run runs one end of s, including Close, and returns the first error.
func (s *Session) Run(c net.Conn, initiator bool) error {
	cfg := s.Config
	return s.RunOn(extsock.NewConn(c, initiator, &cfg), initiator)
}

// RunOn is Run on an unused extended socket.
func (s *Session) RunOn(x *extsock.Conn, initiator bool) error {
	limit := cmp.Or(s.Config.HandshakeTimeout, SessionLimit)
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	x.SetDeadline(time.Now().Add(limit))
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
		untouchedOr("registered memory", e.memory[8:108], InMemory), untouchedOr("a Read's sink", e.sink, InServed),
	} {
		if wrong != nil {
			return wrong
		}
	}
	return err
}

// ErrLost means that a Work Request has no Completion, or two.
var ErrLost = errors.New("not exactly one Completion for each Work Request")

// flushed checks, after Close, that there is a Completion for everything that was accepted, and no
// other.
func (e *end) flushed() error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for ; e.done < e.accepted; e.done++ {
		if _, err := e.c.SendCQ().Wait(ctx); err != nil {
			return fmt.Errorf("%w: %d of %d", ErrLost, e.done, e.accepted)
		}
	}
	for ; e.recvs > 0; e.recvs-- {
		if _, err := e.c.RecvCQ().Wait(ctx); err != nil {
			return fmt.Errorf("%w: %d receives have none", ErrLost, e.recvs)
		}
	}
	var one [1]rdmap.Completion
	if e.accepted > 0 && e.c.SendCQ().Poll(one[:])+e.c.RecvCQ().Poll(one[:]) > 0 {
		return fmt.Errorf("%w: more than requests", ErrLost)
	}
	return nil
}

func (e *end) read(where string, n, kind int) error {
	b := make([]byte, n)
	n, err := io.ReadFull(e.c, b)
	return errors.Join(Same(where, b[:n], kind), err)
}

// lend registers this end's memory, 120 octets that the peer writes and 60 that it reads, and sends
// the handles.
func (e *end) lend() error {
	served := make([]byte, 60)
	copy(served, Pattern(InServed, 60))
	r, err := e.c.Register(e.memory, ddp.RemoteWrite|ddp.RemoteAtomic)
	if err != nil {
		return err
	}
	s, err := e.c.Register(served, ddp.RemoteRead)
	if err != nil {
		return err
	}
	_, err = e.c.Write(s.Handle().AppendTo(r.Handle().AppendTo(nil)))
	return err
}

// oneSided reads the handles of the peer's memory, and then uses that memory as the Initiator.
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
	if _, err := m.WriteAt(Pattern(InMemory, 100), 8); err != nil {
		return err
	}
	if _, err := e.c.Remote(served).ReadAt(e.sink, 0); err != nil {
		return err
	}
	if err := Same("ReadAt", e.sink, InServed); err != nil {
		return err
	}
	for i, do := range []func() (uint64, error){
		func() (uint64, error) { return m.FetchAdd(context.Background(), 0, 5) },
		func() (uint64, error) { return m.CompareAndSwap(context.Background(), 0, 5, 9) },
		func() (uint64, error) {
			if err := e.post(rdmap.WorkRequest{Op: rdmap.WorkSwap, Operand: 1, Remote: h}); err != nil {
				return 0, err
			}
			d, err := e.sent()
			return d.Original, err
		},
	} {
		got, err := do()
		if err != nil {
			return err
		}
		if want := []uint64{0, 5, 9}[i]; got != want {
			return &WrongOctets{Where: fmt.Sprintf("atomic %d: %d, want %d", i, got, want)}
		}
	}
	return nil
}
