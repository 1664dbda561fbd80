package rdmap

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/testkit/prototest"
)

// A side is one end of a stream under test: a QP and the state of its driver.
type side struct {
	t      testing.TB
	qp     *QP
	domain *ddp.Domain
	tx     ddp.Sender
	rx     *ddp.Receiver
	sendCQ *CompletionQueue
	recvCQ *CompletionQueue
	mulpdu int

	wire  [][]byte // segments sent that the peer has not received
	out   []string // every message sent: its name, one per message
	first [][]byte // the first segment of every message sent
	unset int      // messages sent and not reported with Sent
	slow  bool     // Sent is not called by transmit
	off   uint64   // stream offset of the next segment in
	peer  *side
}

// A pair is two sides that are connected by nothing but their wire slices.
type pair struct {
	a, b *side
}

// params configures a pair. The zero value is good for most tests.
type params struct {
	depth, cqDepth int // zero: 64, 256
	ird, ord       int // of both sides; zero: 16; negative: 0
	noExtensions   bool
	mulpdu         int // zero: 1000
	domain         *ddp.Domain
	startA         StartParams // besides IRD, ORD and Extensions
	startB         StartParams
	srq            *SharedReceiveQueue // of b
	srqCQ          *CompletionQueue    // b's RecvCQ; nil: one of its own
}

// qpNums numbers the queue pairs that share a completion queue. It begins above the numbers of all
// others.
var qpNums atomic.Uint64

func init() { qpNums.Store(1000) }

func newPair(t testing.TB, p params) *pair {
	or := func(n, d int) int {
		if n == 0 {
			return d
		}
		return max(n, 0)
	}
	newSide := func(qpNum uint64, start StartParams, srq *SharedReceiveQueue, recvCQ *CompletionQueue) *side {
		s := &side{
			t: t, domain: p.domain, mulpdu: or(p.mulpdu, 1000),
			sendCQ: NewCompletionQueue(or(p.cqDepth, 256)), recvCQ: NewCompletionQueue(or(p.cqDepth, 256)),
		}
		if s.domain == nil {
			s.domain = new(ddp.Domain)
		}
		if recvCQ != nil {
			s.recvCQ = recvCQ
		}
		s.qp = NewQP(Config{
			SendDepth: or(p.depth, 64), RecvDepth: or(p.depth, 64),
			SendCQ: s.sendCQ, RecvCQ: s.recvCQ, Domain: s.domain, QPNum: qpNum, SRQ: srq,
		})
		start.IRD, start.ORD, start.Extensions = or(p.ird, 16), or(p.ord, 16), !p.noExtensions
		s.rx = ddp.NewReceiver(s.qp.Start(start))
		return s
	}
	numB := uint64(2)
	if p.srqCQ != nil {
		numB = qpNums.Add(1)
	}
	x := &pair{newSide(1, p.startA, nil, nil), newSide(numB, p.startB, p.srq, p.srqCQ)}
	x.a.peer, x.b.peer = x.b, x.a
	return x
}

// transmitOne sends the next message, if there is one, to its last segment.
func (s *side) transmitOne() bool {
	if !s.qp.NextMessage() {
		return false
	}
	m := s.qp.Message()
	op, _ := ParseControl(m.RsvdULP)
	s.tx.Start(m)
	n := 0
	for s.tx.Next(s.mulpdu) {
		s.put(&n)
	}
	s.out = append(s.out, op.String())
	if err := s.tx.Err(); err != nil {
		s.qp.Fail(err)
		return true
	}
	s.unset++
	if !s.slow {
		s.sent()
	}
	return true
}

// put copies the segment that tx has cut to the wire.
func (s *side) put(n *int) {
	g := s.tx.Segment()
	b := append([]byte(nil), g.Header...)
	for _, p := range g.Payload {
		b = append(b, p...)
	}
	s.tx.Release()
	if *n == 0 {
		s.first = append(s.first, b)
	}
	*n++
	s.wire = append(s.wire, b)
}

// sent reports all that was transmitted.
func (s *side) sent() {
	n := s.unset
	s.unset = 0
	s.qp.Sent(n)
}

// transmit sends everything that may go out.
func (s *side) transmit() {
	for s.transmitOne() {
	}
}

// inject lets a segment arrive.
func (s *side) inject(ulpdu []byte) {
	if h, _, err := ddp.ParseUntagged(ulpdu); err == nil && h.QN == ddp.QNSend && h.MO == 0 {
		s.qp.TakeShared()
	}
	s.rx.Place(s.off, ulpdu)
	s.off += uint64(len(ulpdu)) + 6
	for s.rx.Deliver(s.off) {
		s.qp.Handle(s.rx.Message())
	}
	if err := s.rx.Err(); err != nil {
		s.qp.Fail(err)
	}
}

// injectHex lets a segment arrive that is given in hex, spaces ignored.
func (s *side) injectHex(text string) {
	s.t.Helper()
	s.inject(unhex(text))
}

// receive reads everything that the peer has sent.
func (s *side) receive() {
	for len(s.peer.wire) > 0 {
		u := s.peer.wire[0]
		s.peer.wire = s.peer.wire[1:]
		s.inject(u)
	}
}

// run carries messages until both sides are idle.
func (x *pair) run() {
	for {
		x.a.transmit()
		x.b.receive()
		x.b.transmit()
		x.a.receive()
		if !x.a.qp.HasOutput() && !x.b.qp.HasOutput() && len(x.a.wire)+len(x.b.wire) == 0 {
			return
		}
	}
}

// register registers n octets, aligned to 8, filled with a pattern.
func (s *side) register(n int, access ddp.Access) (*ddp.Region, []byte) {
	s.t.Helper()
	b := aligned(n)
	for i := range b {
		b[i] = byte(i*7 + 1)
	}
	r, err := s.domain.Register(b, access, s.stream())
	if err != nil {
		s.t.Fatalf("Register(%d octets): %v", n, err)
	}
	return r, b
}

func (s *side) stream() uint64 { return s.qp.cfg.QPNum }

const allAccess = ddp.RemoteRead | ddp.RemoteWrite | ddp.RemoteAtomic

// handle returns the handle of a region.
func handle(r *ddp.Region) Handle { return Handle{STag: r.STag(), TO: r.TO(), Len: uint32(r.Len())} }

// aligned returns n octets whose address is a multiple of 8.
func aligned(n int) []byte {
	b := make([]byte, n+16)
	for i := range 8 {
		if r, err := new(ddp.Domain).Register(b[i:], 0, 0); err == nil && r.TO()%8 == 0 {
			return b[i : i+n : i+n]
		}
	}
	panic("no aligned offset")
}

// post posts a request that must be accepted.
func (s *side) post(wr WorkRequest) {
	s.t.Helper()
	if err := s.qp.PostSend(&wr); err != nil {
		s.t.Fatalf("PostSend(%v %d): %v", wr.Op, wr.ID, err)
	}
}

// recv posts a receive buffer of n octets and returns it.
func (s *side) recv(id uint64, n int) []byte {
	s.t.Helper()
	b := make([]byte, n)
	if err := s.qp.PostRecv(RecvRequest{ID: id, Buf: b}); err != nil {
		s.t.Fatalf("PostRecv(%d): %v", id, err)
	}
	return b
}

// done takes all completions of a queue.
func done(c *CompletionQueue) []Completion {
	var all []Completion
	var one [1]Completion
	for c.Poll(one[:]) == 1 {
		all = append(all, one[0])
	}
	return all
}

// brief formats completions as "id status", joined by commas.
func brief(all []Completion) string {
	var words []string
	for _, c := range all {
		words = append(words, fmt.Sprintf("%d %v", c.ID, c.Status))
	}
	return strings.Join(words, ", ")
}

// wantDone takes all completions of a queue and compares them with "id status, id status".
func wantDone(t testing.TB, what string, c *CompletionQueue, want string) []Completion {
	t.Helper()
	all := done(c)
	if got := brief(all); got != want {
		t.Errorf("%s: completions %q, want %q", what, got, want)
	}
	for _, c := range all {
		if (c.Status == StatusOK) != (c.Err == nil) {
			t.Errorf("%s: completion %v has status %v and error %v", what, c.ID, c.Status, c.Err)
		}
	}
	return all
}

// wantOut compares the names of the messages sent so far, and forgets them.
func (s *side) wantOut(want ...string) {
	s.t.Helper()
	if got, want := strings.Join(s.out, ", "), strings.Join(want, ", "); got != want {
		s.t.Errorf("messages sent: %q, want %q", got, want)
	}
	s.out = nil
}

// wantTerminate sends what is due and checks that the last message is a Terminate whose header, in
// hex, begins with want; nothing may follow it. It returns the whole header.
func (s *side) wantTerminate(want string) []byte {
	s.t.Helper()
	s.transmit()
	if len(s.wire) == 0 {
		s.t.Fatalf("no message, want a Terminate %s", want)
	}
	u := s.wire[len(s.wire)-1]
	h, header, err := ddp.ParseUntagged(u)
	if err != nil || !h.Last || h.RsvdULP != 0x47 || h.RsvdULP32 != 0 || h.QN != 2 || h.MSN != 1 || h.MO != 0 {
		s.t.Fatalf("last segment %x is no Terminate (%v)", u, err)
	}
	if w := unhex(want); !bytes.HasPrefix(header, w) {
		s.t.Errorf("Terminate Header %x, want %x…", header, w)
	}
	if s.qp.NextMessage() {
		s.t.Errorf("another message after the Terminate: %+v", s.qp.Message())
	}
	return header
}

// wantNothing checks that nothing goes out.
func (s *side) wantNothing() {
	s.t.Helper()
	if s.qp.HasOutput() || s.qp.NextMessage() {
		s.t.Errorf("a message goes out: %+v", s.qp.Message())
	}
}

func wantState(t testing.TB, q *QP, want state) {
	t.Helper()
	if got := q.now(); got != want {
		t.Errorf("state %v, want %v", got, want)
	}
}

var unhex = prototest.Unhex

// untagged returns an untagged segment that is its whole message.
func untagged(op Opcode, qn ddp.QN, msn uint32, payload []byte) []byte {
	return prototest.Untagged(prototest.ControlUntagged|uint16(op), qn, msn, 0, payload)
}

// tagged returns a tagged segment that is its whole message.
func tagged(op Opcode, s ddp.STag, to uint64, payload []byte) []byte {
	return prototest.Tagged(prototest.ControlTagged|uint16(op), s, to, payload)
}

// fixedKeys is a random source that makes a Domain draw this STag first.
func fixedKeys(stag uint32) io.Reader {
	first := []byte{byte(stag >> 24), byte(stag >> 16), byte(stag >> 8), byte(stag)}
	return io.MultiReader(bytes.NewReader(first), rand.NewChaCha8([32]byte{1}))
}

var pattern = prototest.Pattern[int]

// codedError is an error of another layer.
type codedError struct{ layer, etype, code uint8 }

func (e codedError) Error() string { return fmt.Sprintf("coded error %v", [3]uint8(e.array())) }

func (e codedError) array() []uint8 { return []uint8{e.layer, e.etype, e.code} }

func (e codedError) TerminateCode() (layer, etype, code uint8) { return e.layer, e.etype, e.code }

var errTest = errors.New("test error")

// A kind is an operation with or without a Solicited Event.
type kind struct {
	WorkOp
	solicited bool
}

// String returns the RFC's name of the operation.
func (k kind) String() string {
	if op, _ := k.opcode(); k.solicited {
		return op.String()
	}
	return k.WorkOp.String()
}

func (k kind) opcode() (Opcode, bool) {
	return (&WorkRequest{Op: k.WorkOp, Solicited: k.solicited}).opcode()
}

// kinds returns everything that can be posted.
func kinds() (all []kind) {
	for op := range WorkRecv {
		for _, solicited := range []bool{false, true} {
			if _, ok := (kind{op, solicited}).opcode(); ok {
				all = append(all, kind{op, solicited})
			}
		}
	}
	return all
}

// allSends are the four Send operations.
var allSends = []kind{{WorkSend, false}, {WorkSend, true}, {WorkSendInvalidate, false}, {WorkSendInvalidate, true}}
