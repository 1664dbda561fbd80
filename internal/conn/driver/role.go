package driver

import (
	"runtime"
	"sync/atomic"
	"time"

	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/states"
	"github.com/rddp/rddp/rdmap"
	"github.com/rddp/rddp/toe"
)

// A role is the right to receive on a connection: one goroutine at a time has it. Mostly that is
// the connection's home goroutine, in Receive. But a Read that waits may take the role while it
// waits. It then reads from the stream itself, and a message reaches it without a hand-over between
// goroutines, which costs more than everything else in a short message.
//
//	home ──has served a Read──▶ vacant ──a Read waits──▶ reader
//	  ▲                          │ ▲                       │
//	  └───── watch, sentinel ────┘ └────── is served ──────┘
//
// While the role is vacant, nobody receives, and the program may turn to anything else. Yet no
// operation of the peer may wait for the program. So the goroutine that leaves the role vacant arms
// the stream's watch (toe.Stream.Watch), which calls the home goroutine as soon as something
// arrives, and the Read that takes the role disarms it.
//
// These are two system calls for each wait of a Read, and too much for a program that does nothing
// but answer short messages. So a Read is trusted once Reads have come back quickly very many
// times: then a timer, the sentinel, calls the home goroutine if the role stays vacant. If bytes
// have waited for the sentinel, trust was wrong, and the next trust takes many more quick waits. So
// bytes wait for it only a few times in the life of a connection. Reads that were filled and Reads
// that were not have a trust each. A stream without a watch leaves the role to the home goroutine
// until a Read is trusted.
//
// The sentinel is slow on purpose: a timer that is due soon makes every wait of the process's
// threads more expensive.
//
// The holder of the role calls missed, calm, leave, leaveRead and yield, and the Read that waits
// calls beginWait and endWait. Any goroutine may call the other methods.
type role struct {
	// lends says that a Read may take the role. A deadline can end a read of this stream, so the
	// Read can be interrupted.
	lends  bool
	holder states.Atomic[holder]

	stream  toe.Stream
	owner   *ending     // counts panics of the stream
	watches bool        // the stream can be watched
	armed   atomic.Bool // the stream may be watched
	gate    *toe.Gate   // the home goroutine stands by behind it
	leaving atomic.Bool // the holder has armed the watch and is about to leave

	patience *patience // of the way in, see isSparse

	offer chan struct{} // capacity 1: the waiting Read looks

	waiting atomic.Int32 // Reads that wait: more than one if the first has not left the role yet
	writing atomic.Bool  // a Write needs the peer to go on: the role must not stay vacant

	left  atomic.Int64 // when the last wait of a Read ended, as sinceStart in ns
	waits atomic.Int64 // the number of waits that have ended
	bulk  atomic.Bool  // the last read of the stream has brought bulk data: such a wait counts more
	trust [2]trust     // of Reads that were filled, and of Reads that were not
	short atomic.Int32 // 1 if the last Read was not filled, else 0: an index of trust

	guarded  atomic.Bool // the sentinel is set
	sentinel *time.Timer
	late     atomic.Bool  // the sentinel has called the home goroutine
	waited   atomic.Int64 // how long the last wait of a Read was, in ns
}

// A trust is what the last Reads have shown of the next one. Reads that return less than was asked
// for and Reads that are filled have one each: a program that reads a long message in pieces is
// back at once after each piece, and long after the last one.
type trust struct {
	// streak is how many waits began quickly, at most about streakCap times after. A quick wait
	// counts in the streaks of both kinds. A wait that begins late undoes lateWaits quick ones of
	// its kind, and at most half of the streak, because on a busy machine the scheduler makes quick
	// Reads late, several in a row. A one-sided operation that no Read receives sets both to 0.
	streak atomic.Int32
	after  atomic.Int32 // with so many quick waits a Read is trusted
}

// grow counts a quick wait.
func (t *trust) grow(step int32) {
	if streak := t.streak.Load(); streak < streakCap*t.after.Load() {
		t.streak.CompareAndSwap(streak, streak+step)
	}
}

// shrink counts a late wait.
func (t *trust) shrink(step int32) {
	streak := t.streak.Load()
	t.streak.CompareAndSwap(streak, max(streak/2, streak-lateWaits*step))
}

// A holder is what has the role.
type holder uint8

const (
	roleVacant holder = iota // nothing
	roleHome                 // the connection's home goroutine
	roleReader               // a Read
)

var holderNames = [...]string{"vacant", "home", "reader"}

func (h holder) String() string { return holderNames[h] }

var holderNext = states.Table[holder]{
	roleVacant: states.To(roleHome, roleReader),
	roleHome:   states.To(roleVacant),
	roleReader: states.To(roleVacant),
}

const (
	quick      = 100 * time.Microsecond // a Read that comes back within this time is quick
	trustFirst = 64                     // trust.after at the beginning
	trustMore  = 16                     // it is multiplied by this when trust was wrong
	trustMost  = 1 << 24                // and never more than this
	streakCap  = 4
	lateWaits  = 16 // so many quick waits a late one undoes
	// A wait for bulk data counts as so many waits. While the home goroutine receives such data,
	// each byte is copied twice, so Reads must be trusted soon.
	bulkStep   = trustFirst / 4
	sentinelIn = 5 * time.Millisecond
	slowWait   = sentinelIn / 4
	sparseWait = 4 * quick
)

// init gives the role to the home goroutine. p is the patience of the way in.
func (r *role) init(s toe.Stream, owner *ending, p *patience) {
	r.owner, r.patience = owner, p
	can := s.Capabilities()
	r.stream, r.lends, r.watches = s, can.Deadlines, can.Watch != toe.WatchNone
	r.gate = toe.NewGate(can.Watch)
	r.holder.Init(roleHome)
	r.offer = make(chan struct{}, 1)
	for i := range r.trust {
		r.trust[i].after.Store(trustFirst)
	}
	r.left.Store(int64(sinceStart()))
}

// isVacant reports whether no goroutine has the role, and isReaders whether a Read has it.
func (r *role) isVacant() bool  { return r.holder.Load() == roleVacant }
func (r *role) isReaders() bool { return r.holder.Load() == roleReader }

// isTrusted reports whether the Read will probably be back soon, and nobody needs to receive
// meanwhile.
func (r *role) isTrusted() bool {
	t := r.lastRead()
	return t.streak.Load() >= t.after.Load()
}

// isSparse reports whether the watch is cheaper than the sentinel although the Read is trusted:
// messages come seldom, so the sentinel would be set, and wake a thread for that, almost each time.
// Beside other connections, whose messages keep the threads awake, the sentinel is cheaper. The
// holder of the role calls isSparse.
func (r *role) isSparse() bool {
	return r.watches && r.lastWait() > sparseWait && r.patience != nil && r.patience.isAlone()
}

// lastRead returns the trust in Reads like the last one.
func (r *role) lastRead() *trust { return &r.trust[r.short.Load()] }

// beginWait begins the wait of a Read, and returns when that was.
func (r *role) beginWait() (began time.Duration) {
	r.waiting.Add(1)
	began = sinceStart()
	step := int32(1)
	if r.bulk.Load() {
		step = bulkStep
	}
	if began-time.Duration(r.left.Load()) >= quick {
		r.lastRead().shrink(step)
		return began
	}
	for i := range r.trust {
		r.trust[i].grow(step)
	}
	return began
}

// endWait ends the wait of a Read that began then.
func (r *role) endWait(began time.Duration) {
	now := sinceStart()
	r.waited.Store(int64(now - began))
	r.left.Store(int64(now))
	r.waits.Add(1)
	r.waiting.Add(-1)
}

// noteRead notes whether a Read that asked for so many bytes was filled.
func (r *role) noteRead(result readResult, want int) {
	if result.over && result.n < want {
		r.short.Store(1)
	} else {
		r.short.Store(0)
	}
}

// oneSided notes that an operation has come, or will come, that the program takes no part in. A
// Read that has the role at this moment receives it like a message, so it says nothing about the
// times when no Read has the role. Otherwise no Read is trusted, and the home goroutine gets the
// role.
func (r *role) oneSided() {
	if r.isReaders() {
		return
	}
	r.distrust()
	r.callHome()
}

// awaitAnswer calls the home goroutine if op has an answer that somebody must receive.
func (r *role) awaitAnswer(op rdmap.WorkOp) {
	switch op {
	case rdmap.WorkRead, rdmap.WorkFetchAdd, rdmap.WorkCmpSwap, rdmap.WorkSwap:
		r.oneSided()
	}
}

// distrust forgets all quick Reads.
func (r *role) distrust() {
	for i := range r.trust {
		r.trust[i].streak.Store(0)
	}
}

// callHome gives the role to the home goroutine if it is vacant.
func (r *role) callHome() {
	if r.isVacant() {
		r.gate.Open()
	}
}

// setWriting notes whether a Write waits that needs the peer to go on, for credits or for the
// answer to an offer. One Write waits at a time.
func (r *role) setWriting(waits bool) {
	r.writing.Store(waits)
	if waits {
		r.callHome()
	}
}

// yields reports whether the home goroutine gives the role up: what it has received since waits was
// the number of waits has served a Read, or will serve one from the inbox, and nothing will be
// missed while the role is vacant.
func (r *role) yields(waits int64, in *lockedDelivery) bool {
	if !r.lends || !r.watches && !r.isTrusted() {
		return false
	}
	return r.waits.Load() != waits || r.waiting.Load() > 0 && in.has()
}

// makeSentinel makes the sentinel, which is not set.
func (r *role) makeSentinel() {
	r.sentinel = time.AfterFunc(time.Hour, r.look)
	r.sentinel.Stop()
}

// end stops the sentinel when the connection has ended.
func (r *role) end() {
	if r.sentinel != nil {
		r.sentinel.Stop()
	}
}

// take gives the role to h if it is vacant.
func (r *role) take(h holder) bool {
	if !r.holder.Move(roleVacant, h, holderNext) {
		return false
	}
	if r.armed.Load() {
		r.armed.Store(false)
		r.disarm()
	}
	return true
}

// lastWait returns how long the last wait of a Read was.
func (r *role) lastWait() time.Duration { return time.Duration(r.waited.Load()) }

// calm stops the sentinel for a Read that has the role and will probably wait for long. Otherwise
// the sentinel would go off meanwhile, find nothing to do, and be set again when the Read leaves.
// For a quick Read it is cheaper to leave it set.
func (r *role) calm() {
	if r.lastWait() > slowWait && r.guarded.Load() && r.sentinel.Stop() {
		r.guarded.Store(false)
	}
}

// leave makes the role vacant. If hurry is set, or a Write waits, the home goroutine takes the role
// now. The watch is armed while this goroutine still has the role, so the home goroutine may be
// called a moment before the role is vacant: see isVacantSoon.
func (r *role) leave(hurry bool) {
	call, guard, watch := false, false, false
	switch {
	case hurry || r.writing.Load():
		call = true
	case r.isTrusted() && !r.isSparse():
		guard = true
	default:
		watch, call = r.watches, !r.watches
	}
	if watch {
		r.leaving.Store(true)
		if r.arm() {
			r.armed.Store(true)
		} else { // what is refused once is refused for good
			r.watches, call = false, true
		}
	}
	r.holder.Become(roleVacant, holderNext)
	if watch {
		r.leaving.Store(false)
	}
	if guard {
		r.guard()
	}
	if call {
		r.gate.Open()
	}
}

// arm arms the watch of the stream, and disarm ends it. The role must not stay with a goroutine in
// which the program's Stream panics; the watch is then refused.
func (r *role) arm() (armed bool) {
	defer r.recovered(&armed)
	return r.stream.Watch(r.gate)
}

func (r *role) disarm() {
	var armed bool
	defer r.recovered(&armed)
	r.stream.Unwatch()
}

func (r *role) recovered(armed *bool) {
	if value := recover(); value != nil {
		*armed = false
		_ = r.owner.panicked(value) // the connection goes on without the watch
	}
}

// guard sets the sentinel, unless it is set, because the role is vacant.
func (r *role) guard() {
	if r.guarded.CompareAndSwap(false, true) {
		r.sentinel.Reset(sentinelIn)
	}
}

// unguard notes that the sentinel is not set any more, because a Read has the role. If the Read has
// left meanwhile, it may have found the sentinel set, so unguard sets it again: leave makes the
// role vacant before it looks at guarded, and unguard changes guarded before it looks at the role.
func (r *role) unguard() {
	r.guarded.Store(false)
	if r.isVacant() {
		r.guard()
	}
}

// look is called by the sentinel. If the role is vacant, look calls the home goroutine. If a Read
// has the role, the sentinel is set again when that Read leaves. If a Read has left a moment ago,
// the sentinel was set for an earlier vacancy. Then look sets it for the present one.
func (r *role) look() {
	if !r.isVacant() {
		r.unguard()
		return
	}
	if age := sinceStart() - time.Duration(r.left.Load()); age < slowWait {
		r.sentinel.Reset(sentinelIn - age)
		return
	}
	r.guarded.Store(false)
	r.late.Store(true)
	r.gate.Open()
}

// missed notes that bytes have waited for the sentinel.
func (r *role) missed() {
	after := &r.lastRead().after
	after.Store(min(trustMore*after.Load(), trustMost))
}

// standBy waits until the home goroutine is called and has the role again.
func (r *role) standBy() {
	for {
		r.gate.Wait()
		if !r.isVacantSoon() {
			continue // a Read was faster, and arms the watch again when it leaves
		}
		if r.take(roleHome) {
			return
		}
	}
}

// isVacantSoon reports whether the role is vacant, or is about to be.
func (r *role) isVacantSoon() bool {
	for !r.isVacant() {
		if !r.leaving.Load() {
			return r.isVacant() // it may have become so between the two looks
		}
		runtime.Gosched()
	}
	return true
}

// leaveRead is leave for a Read. The inbox lets the next Read wait before this one leaves the role.
// That one has found the role taken, and looks again.
func (r *role) leaveRead(hurry bool) {
	r.leave(hurry)
	if r.waiting.Load() > 1 {
		wait.Wake(r.offer)
	}
}

// yield is leave for the home goroutine: the role is for the Read, which may already wait again.
// Before the first yield no sentinel is needed.
func (r *role) yield() {
	if r.sentinel == nil {
		r.makeSentinel()
	}
	r.leave(false)
	wait.Wake(r.offer)
}
