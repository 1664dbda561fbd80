package fault

import (
	"log/slog"
	"math/rand/v2"
	"syscall"
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/rdmaabi/uverbs"
)

// An Injector injects the faults of a Plan. Any goroutine may call its methods. A nil Injector
// injects none.
type Injector struct {
	plan  Plan
	log   *slog.Logger
	taken taken

	mu locks.Mutex[locks.Leaf]
	// the number of operations so far, by place
	counts [Register + 1]uint64 // +checklocks:mu
	// the number of connections so far
	connections uint64 // +checklocks:mu
}

// New returns an Injector for a Plan, or nil if the Plan has no fault. Each fault at the verbs and
// each cut is logged to log.
func New(p Plan, log *slog.Logger) *Injector {
	if len(p.Rules)+len(p.Timed) == 0 && !p.hasNetwork() && p.Liberties == 0 {
		return nil
	}
	return &Injector{plan: p, log: log}
}

// Send returns the status for the next work request of a send queue that would succeed.
func (i *Injector) Send() uverbs.WCStatus {
	if r := i.next(Send); r != nil {
		return r.Status
	}
	return uverbs.Success
}

// Receive returns the status for the next receive that would succeed.
func (i *Injector) Receive() uverbs.WCStatus {
	if r := i.next(Receive); r != nil {
		return r.Status
	}
	return uverbs.Success
}

// Register returns the error for the next registration of memory, or 0.
func (i *Injector) Register() syscall.Errno {
	if r := i.next(Register); r != nil {
		return r.Errno
	}
	return 0
}

// next counts an operation, and returns the first Rule that applies to it, or nil.
func (i *Injector) next(at Place) *Rule {
	if i == nil {
		return nil
	}
	i.mu.Lock()
	i.counts[at]++
	k := i.counts[at]
	i.mu.Unlock()
	for n := range i.plan.Rules {
		r := &i.plan.Rules[n]
		if r.Place == at && (r.Number == k || r.Number == 0 && i.draw(n, k) < r.Share) {
			i.log.Info("fault", "place", at.String(), "number", k)
			return r
		}
	}
	return nil
}

// draw returns the random number in [0, 1) of Rule n for operation k.
func (i *Injector) draw(n int, k uint64) float64 {
	return rand.New(rand.NewPCG(i.plan.Seed+uint64(n)<<32, k)).Float64()
}

// String returns the name of the place in a Plan.
func (p Place) String() string { return [...]string{"send", "receive", "register"}[p] }

// Start schedules a call of event for each asynchronous event of the Plan. stop cancels the
// remaining calls.
func (i *Injector) Start(event func(uverbs.EventType)) (stop func()) {
	return i.schedule(false, func(t Timed) {
		i.log.Info("fault", "event", uint32(t.Event))
		event(t.Event)
	})
}

// StartQP schedules calls of fail for a queue pair that has just reached RTS. stop cancels the
// remaining calls.
func (i *Injector) StartQP(fail func()) (stop func()) {
	return i.schedule(true, func(Timed) {
		i.log.Info("fault", "place", "qp-error")
		fail()
	})
}

func (i *Injector) schedule(qp bool, do func(Timed)) (stop func()) {
	if i == nil {
		return func() {}
	}
	var timers []*time.Timer
	for _, t := range i.plan.Timed {
		if t.QP == qp {
			timers = append(timers, time.AfterFunc(t.After, func() { do(t) }))
		}
	}
	return func() {
		for _, t := range timers {
			t.Stop()
		}
	}
}
