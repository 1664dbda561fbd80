package softrnic

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// linkKinds are the kinds of link that the tests try.
var linkKinds = [...]linkKind{linkByAttributes, linkSelf, linkManaged, linkPlain}

// newEnds returns two queue pairs that are joined, or twice the same one, joined with itself.
func newEnds(k linkKind) [2]*testEnd {
	ends := [2]*testEnd{{name: "a"}, {name: "b"}}
	for _, e := range ends {
		e.v.kind = uverbs.RC
		e.v.attrs.Timeout = 14
		e.done, e.answered = make(map[uint64]bool), make(map[uint64]bool)
	}
	if k == linkSelf {
		ends[1] = ends[0]
	}
	joinEnds(ends, k)
	return ends
}

// joinEnds joins two queue pairs in RESET.
func joinEnds(ends [2]*testEnd, k linkKind) {
	var halves [2]*half
	for i, e := range ends {
		if i == 1 && k == linkSelf {
			halves[1] = halves[0]
			break
		}
		halves[i] = &half{e: e, kind: k, out: outgoing{kind: k, serves: 4}}
		e.h, e.last = halves[i], halves[i]
		if k.isManaged() {
			e.v.manages(&uverbs.Attributes{Timeout: 14}, k == linkPlain)
			continue
		}
		for _, s := range []uverbs.State{uverbs.Init, uverbs.RTR, uverbs.RTS} {
			e.v.setState(s)
		}
		e.v.joins(i == 0)
		e.v.links()
	}
	halves[0].peer, halves[1].peer = halves[1], halves[0]
}

// An endEvent is something that happens to one end. do returns false if it cannot happen now.
type endEvent struct {
	name string
	do   func(e *testEnd) bool
}

func posts(w wish) func(e *testEnd) bool {
	return func(e *testEnd) bool {
		if e.command || e.v.attrs.State < uverbs.RTS || len(e.posted) > 200 {
			return false
		}
		e.recvsEver++ // one number for all
		w.id = e.recvsEver + 1<<20
		e.sq, e.posted = append(e.sq, w), append(e.posted, w)
		return true
	}
}

func runs(i int) func(e *testEnd) bool {
	return func(e *testEnd) bool {
		if i >= len(e.tasks) {
			return false
		}
		t := e.tasks[i]
		if !t.next() {
			return false
		}
		if len(t.steps) == 0 {
			e.tasks = slices.Delete(e.tasks, i, i+1)
		}
		return true
	}
}

func modifiesTo(s uverbs.State) func(e *testEnd) bool {
	return func(e *testEnd) bool {
		from := e.v.attrs.State
		may := !e.command && from >= uverbs.RTS && from <= uverbs.SQD && from != s
		if may {
			e.v.setState(s)
		}
		return may
	}
}

func postReceive(e *testEnd) bool {
	if e.command || len(e.recvs) > 40 {
		return false
	}
	e.recvs = append(e.recvs, e.recvsOver+uint64(len(e.recvs))+1+e.filling())
	return true
}

var endEvents = []endEvent{
	{"post a Send", posts(wish{op: uverbs.OpSend, n: 8})},
	{"post a long Send", posts(wish{op: uverbs.OpSendInval, n: 3 * maxPiece})},
	{"post a Write", posts(wish{op: uverbs.OpWrite, n: 8})},
	{"post a long Write", posts(wish{op: uverbs.OpWrite, n: 4*chunkLen + 1})},
	{"post a Write with immediate data", posts(wish{op: uverbs.OpWriteImm, n: 8})},
	{"post a Read", posts(wish{op: uverbs.OpRead, n: 8})},
	{"post a long Read", posts(wish{op: uverbs.OpRead, n: 2 * chunkLen})},
	{"post an atomic", posts(wish{op: uverbs.OpFetchAdd, n: 8})},
	{"bind a window", posts(wish{op: uverbs.OpBindMW})},
	{"post what nobody knows", posts(wish{op: uverbs.OpSend, local: wishUnknown})},
	{"post what is wrong here", posts(wish{op: uverbs.OpSend, n: 8, local: wishMemory})},
	{"post a Send that is too long", posts(wish{op: uverbs.OpSend, n: 2 * maxPiece, remote: true})},
	{"post a Write to the wrong place", posts(wish{op: uverbs.OpWrite, n: 8, remote: true})},
	{"post a Read of the wrong place", posts(wish{op: uverbs.OpRead, n: 8, remote: true})},
	{"post a receive", postReceive},
	{"send", (*testEnd).look},
	{"TCP has taken a piece", func(e *testEnd) bool { return e.last.takes() }},
	{"a packet comes", func(e *testEnd) bool { return e.last.deliver() }},
	{"look for receives", func(e *testEnd) bool {
		if e.h == nil {
			late := e.v.attrs.State == uverbs.Err && len(e.recvs) > 0 && e.flushing == e.v.number
			if late {
				e.flushRecvs(e.v.number, 0)
			}
			return late
		}
		acted, _ := e.h.in.looks(e.h)
		return acted
	}},
	{"the RNR timer", func(e *testEnd) bool {
		h := e.last
		if len(h.rnr) == 0 {
			return false
		}
		n := h.rnr[0] // it may have been stopped too late
		if h.rnr = h.rnr[1:]; !h.out.waited(n) {
			return true
		}
		if p := h.peer; int32(p.in.consumed-n) >= 0 && !p.shut && !h.ended && !p.tells(n) {
			e.blame("frame %d is received, and fails", n)
		}
		h.refuses(n, uverbs.RNRRetryExceeded)
		return true
	}},
	{"the timer of acknowledgements", func(e *testEnd) bool {
		h := e.last
		if !h.late {
			return false
		}
		e.now = e.now.Add(answerTime)
		h.late = h.in.looksLate(e.now, h)
		return true
	}},
	{"the answers in front of a refusal have left", func(e *testEnd) bool {
		f := e.last.refusing
		if e.last.refusing = nil; f != nil {
			f()
		}
		return f != nil
	}},
	{"a goroutine", runs(0)},
	{"another goroutine", runs(1)},
	{"the peer was missed", func(e *testEnd) bool {
		x := e.missed
		if e.missed = nil; x != nil {
			e.goes(*x)
		}
		return x != nil
	}},
	{"work in front of something wrong has waited", func(e *testEnd) bool {
		for _, x := range e.tasks {
			if x.steps[0] == stepSettleDebts && x.h.out.indebted && !x.h.out.isIdle() && !x.h.patient {
				x.h.patient = true
				return true
			}
		}
		return false
	}},
	{"SQD", modifiesTo(uverbs.SQD)},
	{"RTS", modifiesTo(uverbs.RTS)},
	{"ERR", func(e *testEnd) bool {
		if e.command || e.v.attrs.State == uverbs.Reset {
			return false
		}
		e.toErr()
		return true
	}},
	{"RESET", func(e *testEnd) bool {
		if e.command || e.v.attrs.State == uverbs.Reset {
			return false
		}
		e.resets()
		return true
	}},
	{"the connection is closed", func(e *testEnd) bool {
		if e.h != nil || e.last.shut {
			return false
		}
		e.last.shuts(endOrderly, nil)
		return true
	}},
	{"the connection breaks", func(e *testEnd) bool {
		if e.last.ended {
			return false
		}
		e.last.peer.wire = nil
		e.last.peer.shut = true
		e.last.ends(endBroken, nil)
		return true
	}},
	{"they are joined again", func(e *testEnd) bool {
		peer := e.last.peer.e
		for _, x := range []*testEnd{e, peer} {
			if x.command || x.v.join != unjoined || len(x.tasks) > 0 {
				return false
			}
		}
		for _, x := range []*testEnd{e, peer} {
			x.received, x.done, x.answered = nil, make(map[uint64]bool), make(map[uint64]bool)
		}
		joinEnds([2]*testEnd{e, peer}, e.last.kind)
		return true
	}},
}

// filling is 1 while a receive is being filled.
func (e *testEnd) filling() uint64 {
	if e.last.in.message != nil {
		return 1
	}
	return 0
}

// tells reports whether an acknowledgement of frame n is on its way.
func (h *half) tells(n uint32) bool {
	return slices.ContainsFunc(h.wire, func(p packet) bool {
		return p.kind == packetFrame && p.frame.kind == frameAck && int32(p.frame.number-n) >= 0
	})
}

// checkEnds returns an error if something that must hold after each event does not.
func checkEnds(ends [2]*testEnd) error {
	for _, e := range ends {
		h := e.last
		peer := h.peer
		counted := uint32(0)
		for _, p := range h.wire {
			if p.kind == packetFrame && p.frame.kind <= frameProbe {
				counted++
			}
		}
		working := len(e.sq) + len(h.out.flights) + len(e.results)
		switch {
		case e.wrong != nil:
			return e.wrong
		case (e.h != nil) != e.v.isLinked():
			return fmt.Errorf("%s is %v", e.name, e.v.join)
		case h.out.sent-h.out.acked > window:
			return fmt.Errorf("%s: %d frames are not acknowledged", e.name, h.out.sent-h.out.acked)
		case int32(h.out.notReady-h.out.acked) < 0:
			return fmt.Errorf("%s: frame %d waits for a receive, and %d is acknowledged", e.name, h.out.notReady, h.out.acked)
		case int32(peer.in.consumed-h.out.acked) < 0:
			return fmt.Errorf("%s: frame %d is acknowledged, and %d was consumed", e.name, h.out.acked, peer.in.consumed)
		case !h.shut && peer.in.state == inOpen && !peer.ended && !h.deaf && h.out.sent != peer.in.consumed+uint32(len(peer.in.held))+counted:
			return fmt.Errorf("%s: %d frames sent, %d on their way, %d held, %d consumed", e.name, h.out.sent, counted, len(peer.in.held), peer.in.consumed)
		case !e.command && e.v.attrs.State != uverbs.Reset && working != len(e.posted):
			return fmt.Errorf("%s: %d work requests, and %d are known", e.name, len(e.posted), working)
		case e.v.waits && e.v.isLinked():
			return fmt.Errorf("%s waits for a link", e.name)
		}
	}
	return nil
}

// finish lets everything end that can, and returns an error if something has not.
func finish(ends [2]*testEnd) error {
	again := map[string]bool{
		"send": true, "TCP has taken a piece": true, "a packet comes": true, "look for receives": true, "RTS": true, "a goroutine": true, "another goroutine": true,
		"the timer of acknowledgements": true, "the answers in front of a refusal have left": true, "the peer was missed": true,
		"the connection is closed": true, "work in front of something wrong has waited": true,
	}
	for n := 0; ; {
		happened := false
		for _, e := range ends {
			for e.last.in.state == inOpen && e.last.waitsForReceive() && len(e.recvs) == 0 && postReceive(e) {
				happened = true
			}
			for _, x := range endEvents {
				for again[x.name] && x.do(e) {
					if n++; n > 10_000 {
						return fmt.Errorf("%s: %s, again and again", e.name, x.name)
					}
					happened = true
					if err := checkEnds(ends); err != nil {
						return fmt.Errorf("at the end: %s: %w", x.name, err)
					}
				}
			}
		}
		if !happened {
			break
		}
	}
	for _, e := range ends {
		if e.v.attrs.State != uverbs.Reset && len(e.results) != len(e.posted) {
			return fmt.Errorf("%s is %v, %v: %d of %d work requests have completed", e.name, e.v.attrs.State, e.v.join, len(e.results), len(e.posted))
		}
		if e.v.attrs.State == uverbs.Err && len(e.recvs) > 0 {
			return fmt.Errorf("%s: receives wait in ERR", e.name)
		}
		if h := e.last; h.ended && h.kind.isManaged() && !h.told {
			return fmt.Errorf("%s: the connection has ended, and the manager does not know", e.name)
		}
		if len(e.tasks) > 0 {
			return fmt.Errorf("%s: a goroutine waits", e.name)
		}
	}
	return nil
}

// waitsForReceive reports whether a frame or a message of the peer waits for a receive.
func (h *half) waitsForReceive() bool {
	return len(h.in.held) > 0 || len(h.peer.wire) > 0 && h.peer.wire[0].kind == packetMessage
}

// A happening is an event at one of the two ends.
type happening int

func (x happening) apply(ends [2]*testEnd) bool { return endEvents[int(x)/2].do(ends[int(x)%2]) }
func (x happening) String() string {
	return fmt.Sprintf("%c: %s", 'a'+rune(x%2), endEvents[int(x)/2].name)
}

// play makes events happen to two new ends, and lets everything end. It returns the events that
// could happen.
func play(k linkKind, schedule []happening) (happened []happening, ends [2]*testEnd, err error) {
	ends = newEnds(k)
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("%v", r)
		}
	}()
	for _, x := range schedule {
		if x.apply(ends) {
			happened = append(happened, x)
		}
		if err := checkEnds(ends); err != nil {
			return happened, ends, fmt.Errorf("%v: %w", x, err)
		}
	}
	return happened, ends, finish(ends)
}

var schedules = flag.Int("schedules", 20_000, "how many random schedules of two queue pairs TestSchedules plays")

// TestSchedules: both ends of a connection in one goroutine, with random schedules of all events.
func TestSchedules(t *testing.T) {
	n := *schedules
	if testing.Short() {
		n = min(n, 4000)
	}
	steps := 0
	for seed := range uint64(n) {
		r := rand.New(rand.NewPCG(seed, 0))
		schedule := make([]happening, 20+r.IntN(150))
		for i := range schedule {
			schedule[i] = randomHappening(r)
		}
		k := linkKinds[seed%uint64(len(linkKinds))]
		happened, _, err := play(k, schedule)
		steps += len(happened)
		if err != nil {
			t.Fatalf("seed %d: %v\n%v", seed, err, shrink(k, happened))
		}
	}
	t.Logf("%d schedules with %d events", n, steps)
	for s, times := range carried {
		if times == 0 {
			t.Errorf("no schedule comes to the step %q", step(s))
		}
	}
	for k, times := range left {
		if times == 0 && pieceKind(k) != pieceNone {
			t.Errorf("in no schedule goes out a piece of kind %d", k)
		}
	}
}

// randomHappening returns an event. Events that carry work on are more probable than events that
// end everything.
func randomHappening(r *rand.Rand) happening {
	if often := slices.IndexFunc(endEvents, func(e endEvent) bool { return e.name == "SQD" }); r.IntN(12) > 0 {
		return happening(r.IntN(2 * often))
	}
	return happening(r.IntN(2 * len(endEvents)))
}

// shrink returns a short part of a schedule that still fails.
func shrink(k linkKind, s []happening) []happening {
	for size := len(s) / 2; size > 0; size /= 2 {
		for i := 0; i+size <= len(s); {
			less := slices.Delete(slices.Clone(s), i, i+size)
			if _, _, err := play(k, less); err != nil {
				s = less
			} else {
				i++
			}
		}
	}
	return s
}

// An endKey has the parts of an end's state that decide what may happen next.
type endKey struct {
	kind                                      linkKind
	join                                      joinState
	state                                     uverbs.State
	out                                       outgoingState
	in                                        incomingState
	linked, settling, command, flies, active  bool
	waits, holds, fills, late, refuses, wire  bool
	shut, ended, missed, works, queued, ready bool
}

func (e *testEnd) key() endKey {
	h := e.last
	return endKey{
		h.kind, e.v.join, e.v.attrs.State, h.out.state, h.in.state,
		e.h != nil, e.settling, e.command, len(h.out.flights) > 0, h.s.active,
		h.out.isWaiting(), len(h.in.held) > 0, h.in.message != nil, h.late, h.refusing != nil, len(h.wire) > 0,
		h.shut, h.ended, e.missed != nil, len(e.tasks) > 0, len(e.sq) > 0, len(e.recvs) > 0,
	}
}

// TestPairsOfEvents: from many states of two ends, all pairs of events in both orders.
func TestPairsOfEvents(t *testing.T) {
	most := 60
	if testing.Short() {
		most = 10
	}
	seen := make(map[[2]endKey]bool)
	var events, pairs int
	for seed := uint64(0); len(seen) < most; seed++ {
		r := rand.New(rand.NewPCG(seed, 1))
		schedule := make([]happening, r.IntN(40))
		for i := range schedule {
			schedule[i] = randomHappening(r)
		}
		k := linkKinds[seed%uint64(len(linkKinds))]
		prefix, ends := begin(k, schedule)
		key := [2]endKey{ends[0].key(), ends[1].key()}
		if seen[key] {
			continue
		}
		seen[key] = true
		for x := range happening(2 * len(endEvents)) {
			_, ends := begin(k, prefix)
			if !x.apply(ends) {
				continue
			}
			events++
			for y := range happening(2 * len(endEvents)) {
				happened, _, err := play(k, append(slices.Clip(prefix), x, y))
				if err != nil {
					t.Fatalf("%v\n%v", err, shrink(k, happened))
				}
				if len(happened) == len(prefix)+2 {
					pairs++
				}
			}
		}
	}
	t.Logf("%d states, %d events, %d pairs", len(seen), events, pairs)
}

// begin makes events happen to two new ends, and returns the events that could happen.
func begin(k linkKind, schedule []happening) (happened []happening, ends [2]*testEnd) {
	ends = newEnds(k)
	for _, x := range schedule {
		if x.apply(ends) {
			happened = append(happened, x)
		}
	}
	return happened, ends
}
