package pipeline

import (
	"fmt"

	"github.com/rddp/rddp/internal/states"
)

// A State is the state of the thread of a stage. conformance/models/pipeline.pml has the same
// states, and a test there compares them. A transition that is not drawn is a bug.
//
//	        all of the packet has arrived
//	  Idle ───────────────────────────────► CoarseGrained ──► Idle
//	   │ the threshold has arrived
//	   ▼
//	FineGrained ──► FineGrainedDone ──► LastFragment ──► Idle
//	   │ ▲                │    all of the packet has arrived
//	   │ └────────────────┘
//	   │   another fragment has arrived, but not all
//	   └──► Idle, on a Gapless link, which sends a packet in one transfer
type State uint8

const (
	// Idle: the thread has begun no packet.
	Idle State = iota
	// CoarseGrained: a packet that has wholly arrived passes in one transfer.
	CoarseGrained
	// FineGrained: the bytes that have arrived pass, while the rest of the packet arrives.
	FineGrained
	// FineGrainedDone: these bytes have passed, and the thread waits for more.
	FineGrainedDone
	// LastFragment: the rest of the packet has arrived, and passes.
	LastFragment
)

func (s State) String() string {
	if s > LastFragment {
		return fmt.Sprintf("State(%d)", uint8(s))
	}
	return [...]string{"Idle", "CoarseGrained", "FineGrained", "FineGrainedDone", "LastFragment"}[s]
}

var stateNext = states.Table[State]{
	Idle:            states.To(CoarseGrained, FineGrained),
	CoarseGrained:   states.To(Idle),
	FineGrained:     states.To(FineGrainedDone, Idle),
	FineGrainedDone: states.To(FineGrained, LastFragment),
	LastFragment:    states.To(Idle),
}

// A packet is on its way through the stages. It may be in several of them at once.
type packet struct {
	message *message
	last    bool // of its message
	n       int  // bytes of payload

	count, size, end int         // fragments; bytes of all but the last one, and of the last one
	arrived          [stages]int // fragments that have arrived at each stage
	passed           [stages]int // fragments that have passed it
}

// bytes returns how many bytes fragment number i has.
func (p *packet) bytes(i int) int {
	if i == p.count-1 {
		return p.end
	}
	return p.size
}

// A thread is the activity of one stage of a lane.
type thread struct {
	stage Stage
	cost  Cost
	dma   *dma // nil if the stage needs no host DMA
	state State
	queue []*packet // packets of which bytes have arrived, in order
	left  int       // fragments of the transfer under way that have not passed
	stats StageStats
}

// setState is the only place where the state changes.
func (t *thread) setState(s State) { stateNext.Become(&t.state, s) }

// next returns the state of the transfer that may begin now, and its fragments. ok is false if the
// thread must wait. threshold is that of a packet's beginning.
func (t *thread) next(threshold int, gapless bool) (s State, fragments int, ok bool) {
	if t.left > 0 || len(t.queue) == 0 {
		return t.state, 0, false
	}
	p := t.queue[0]
	arrived, passed := p.arrived[t.stage], p.passed[t.stage]
	switch {
	case t.state == Idle && arrived == p.count:
		return CoarseGrained, p.count, true
	case t.state == Idle && arrived >= threshold && gapless:
		return FineGrained, p.count, true
	case t.state == Idle && arrived >= threshold:
		return FineGrained, arrived, true
	case t.state == FineGrainedDone && arrived == p.count:
		return LastFragment, arrived - passed, true
	case t.state == FineGrainedDone && arrived > passed:
		return FineGrained, arrived - passed, true
	}
	return t.state, 0, false
}

// A dma is the host DMA of one end. If it is shared, one thread at a time may use it. Two threads
// do: SDMA of the lane from that end, and RDMA of the lane toward it.
type dma struct {
	shared  bool
	busy    bool
	waiting *lane // the lane whose thread waits; the other thread is the user
	stage   Stage // of that thread
}

// acquire reports whether the thread of that stage may use the dma now. If not, the dma remembers
// the thread, and release returns it.
func (d *dma) acquire(l *lane, stage Stage) bool {
	if d == nil || !d.shared {
		return true
	}
	if d.busy {
		d.waiting, d.stage = l, stage
		return false
	}
	d.busy = true
	return true
}

// release ends the use. It returns the lane whose thread waits, or nil.
func (d *dma) release() (next *lane, stage Stage) {
	if d == nil {
		return nil, 0
	}
	d.busy = false
	next, d.waiting = d.waiting, nil
	return next, d.stage
}

// StageStats contains the statistics of a stage.
type StageStats struct {
	Busy     Time // time in which a packet occupied the stage
	Coarse   int  // transfers of whole packets
	Fine     int  // transfers of parts of packets, the last ones included
	Packets  int  // packets that have passed
	Bytes    int  // bytes of payload that have passed
	MaxQueue int  // maximum number of packets in the stage, or waiting for it
}
