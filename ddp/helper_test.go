package ddp

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A pair is a Sender, and the Receiver that gets its segments, in one goroutine. Control octets are
// free: the Receiver admits all, and tagged segments need RemoteWrite.
type pair struct {
	testing.TB
	s      Sender
	r      *Receiver
	domain *Domain
	queues [NumQueues]*Queue
	off    uint64 // where the next segment begins

	scratch []byte // of place
}

// stream is the number of the stream that a pair's Receiver receives.
const stream = 5

func newPair(t testing.TB) *pair { return newPairWith(t, func(*ReceiverConfig) {}) }

func newPairWith(t testing.TB, change func(*ReceiverConfig)) *pair {
	p := &pair{TB: t, domain: new(Domain)}
	for qn := range p.queues {
		p.queues[qn] = NewQueue(64, 0)
	}
	c := ReceiverConfig{Stream: NewStream(p.domain, stream), Queues: p.queues}
	change(&c)
	p.r = NewReceiver(c)
	return p
}

func (p *pair) register(b []byte, a Access) *Region { return register(p, p.domain, b, a, stream) }

func register(t testing.TB, d *Domain, b []byte, a Access, stream uint64) *Region {
	t.Helper()
	r, err := d.Register(b, a, stream)
	if err != nil {
		t.Fatalf("Register: %v", err)
	}
	return r
}

// move gives a Region an STag and a TO of the test's choice.
//
// +checklocksignore: the test looks inside while no other goroutine is at work
func (p *pair) move(r *Region, s STag, to uint64) {
	delete(p.domain.regions, r.stag)
	r.stag, r.base = s, to
	p.domain.regions[s] = r
}

// post posts a buffer of n octets with guard octets around it.
func (p *pair) post(qn QN, n int, id uint64) guarded {
	p.Helper()
	g := newGuarded(n)
	if err := post(p.queues[qn], nil, g.mem, id); err != nil {
		p.Fatalf("Post: %v", err)
	}
	return g
}

// cut returns m's segments as they are on the wire.
func cut(s *Sender, m *Message, mulpdu int) (ulpdus [][]byte) {
	s.Start(m)
	for s.Next(mulpdu) {
		ulpdus = append(ulpdus, wire(s))
		s.Release()
	}
	return ulpdus
}

// wire returns a copy of the Sender's Segment.
func wire(s *Sender) []byte {
	seg := s.Segment()
	b := bytes.Clone(seg.Header)
	for _, piece := range seg.Payload {
		b = append(b, piece...)
	}
	return b
}

// place gives the Receiver a segment at the next offset, in a buffer that is reused afterwards.
func (p *pair) place(ulpdu []byte) {
	p.scratch = append(p.scratch[:0], ulpdu...)
	p.r.Place(p.off, p.scratch)
	p.off += fpduLen(ulpdu)
	for i := range p.scratch {
		p.scratch[i] = 0xEE
	}
}

// fpduLen is how much of the stream a segment takes.
func fpduLen(ulpdu []byte) uint64 { return uint64(len(ulpdu)+2+4+3) &^ 3 }

// send transfers m in segments of mulpdu octets.
func (p *pair) send(m Message, mulpdu int) {
	p.s.Start(&m)
	for p.s.Next(mulpdu) {
		ulpdu := wire(&p.s)
		p.s.Release()
		p.place(ulpdu)
	}
}

func write(r *Region, off uint64, b []byte) Message {
	return Message{Tagged: true, RsvdULP: 0x40, STag: r.STag(), TO: r.TO() + off, Payload: [][]byte{b}, Len: uint32(len(b))}
}

func send(b []byte) Message {
	return Message{RsvdULP: 0x43, Payload: [][]byte{b}, Len: uint32(len(b))}
}

// wantMessage returns the next message that is delivered.
func (p *pair) wantMessage(desc string) *Message {
	p.Helper()
	if !p.r.Deliver(p.off) {
		p.Fatalf("%s: nothing delivered; error: %v", desc, p.r.Err())
	}
	return p.r.Message()
}

// wantIdle checks that nothing is delivered and no error reported.
func (p *pair) wantIdle(desc string) {
	p.Helper()
	if p.r.Deliver(p.off) {
		p.Errorf("%s: message delivered: %+v", desc, p.r.Message())
	}
	if err := p.r.Err(); err != nil {
		p.Errorf("%s: error %v", desc, err)
	}
}

// wantFailure checks that the stream has ended with the given error number, for the segment bad,
// and that nothing more is delivered.
func (p *pair) wantFailure(bad []byte, code Code) {
	p.Helper()
	if p.r.Deliver(p.off) {
		p.Errorf("message delivered: %+v", p.r.Message())
	}
	e := wantError(p, p.r.Err(), code)
	want := bad[:min(len(bad), headerLen(bad))]
	if code == CodeLocalCatastrophic {
		want = nil
	}
	if !bytes.Equal(e.Header, want) || e.SegmentLen != len(bad) {
		p.Errorf("error names segment %x of %d octets, want %x of %d", e.Header, e.SegmentLen, want, len(bad))
	}
}

func wantError(t testing.TB, err error, code Code) *Error {
	t.Helper()
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("error = %v, want *Error with %v", err, code)
	}
	if e.Code != code {
		t.Errorf("error = %#x (%v), want %#x", uint16(e.Code), e, uint16(code))
	}
	return e
}

// A guarded buffer has octets around it, and in it at first, that must not change.
type guarded struct{ mem, all []byte }

const guard = 0xA5

func newGuarded(n int) guarded {
	all := bytes.Repeat([]byte{guard}, n+128)
	return guarded{mem: all[64 : 64+n : 64+n], all: all}
}

// intact reports whether the guard octets around the buffer are as they were.
func (g guarded) intact() bool {
	return untouched(g.all[:64]) && untouched(g.all[64+len(g.mem):])
}

// untouched reports whether b still holds nothing but guard octets.
func untouched(b []byte) bool {
	for _, o := range b {
		if o != guard {
			return false
		}
	}
	return true
}

var seeded = prototest.Seeded

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, 0, n+8)
	for len(b) < n {
		b = binary.LittleEndian.AppendUint64(b, r.Uint64())
	}
	return b[:n]
}

// An accessCheck is a check that an access to a Region can fail, in the order in which they are
// made.
type accessCheck uint8

const (
	checkInvalidSTag accessCheck = iota
	checkNotAssociated
	checkAccess
	checkWrap
	checkBounds
)

// checkOf returns the check that failed.
func checkOf(e *AccessError) accessCheck {
	if e.Denied && e.Code == CodeInvalidSTag {
		return checkAccess
	}
	return map[Code]accessCheck{
		CodeInvalidSTag: checkInvalidSTag, CodeNotAssociated: checkNotAssociated, CodeTOWrap: checkWrap, CodeBounds: checkBounds,
	}[e.Code]
}

// Errors that isError compares by Code and Denied.
var (
	errInvalid     error = &AccessError{Code: CodeInvalidSTag}
	errOtherStream error = &AccessError{Code: CodeNotAssociated}
	errDenied      error = &AccessError{Code: CodeInvalidSTag, Denied: true}
	errOutside     error = &AccessError{Code: CodeBounds}
)

// isError reports whether err is want, or an access error of the same kind.
func isError(err, want error) bool {
	w, ok := want.(*AccessError)
	if !ok {
		return errors.Is(err, want)
	}
	var e *AccessError
	return errors.As(err, &e) && e.Code == w.Code && e.Denied == w.Denied
}

// Access returns the rights that the Region grants.
func (r *Region) Access() Access { return r.access }

// Bytes returns the memory of the Region, not a copy of it.
func (r *Region) Bytes() []byte {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return r.mem
}

// Load64 reads a word by Update64.
func (r *Region) Load64(off int) (uint64, error) {
	return r.Update64(off, func(v uint64) uint64 { return v })
}

// Store64 writes a word by Update64.
func (r *Region) Store64(off int, v uint64) error {
	_, err := r.Update64(off, func(uint64) uint64 { return v })
	return err
}

// Errors that post returns when a Queue does not take a buffer.
var (
	errQueueFull    = errors.New("the Queue is full")
	errQueueClosed  = errors.New("the Queue has been flushed")
	errBufferLength = errors.New("the buffer is too long")
)

// post is q.Post with an error instead of a panic.
func post(q *Queue, head, b []byte, id uint64) (err error) {
	defer func() {
		v := recover()
		s, _ := v.(string)
		switch {
		case v == nil:
		case strings.HasPrefix(s, "BUG: more than"):
			err = errQueueFull
		case strings.HasPrefix(s, "BUG: Untagged Buffer of"):
			err = errBufferLength
		default:
			panic(v)
		}
	}()
	if !q.Post(head, b, id) {
		return errQueueClosed
	}
	return nil
}
