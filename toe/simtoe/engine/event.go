package engine

import "container/heap"

// An event is something that happens in a lane at a point in time.
type event struct {
	at   Time
	rank int // of events at the same time, the one with the lowest rank is first
	seq  uint64
	kind eventKind
	lane *lane
	p    *packet
	s    Stage
}

type eventKind uint8

const (
	doorbell eventKind = iota // the engine sees one more descriptor
	arrival                   // a fragment of p has arrived at stage s
	passed                    // a fragment of p has passed stage s
	landed                    // all of p is in the receiver's host memory
	notified                  // the receiving program knows of p's message
)

// events is a heap of events, and the clock. Events at the same time follow the bytes: those of an
// earlier stage come first, so that a fragment that arrives in the last moment is there in time.
type events struct {
	now  Time
	list []event
	seq  uint64
}

func (e *events) Len() int { return len(e.list) }
func (e *events) Less(i, j int) bool {
	a, b := &e.list[i], &e.list[j]
	if a.at != b.at {
		return a.at < b.at
	}
	if a.rank != b.rank {
		return a.rank < b.rank
	}
	return a.seq < b.seq
}
func (e *events) Swap(i, j int) { e.list[i], e.list[j] = e.list[j], e.list[i] }
func (e *events) Push(x any)    { e.list = append(e.list, x.(event)) }
func (e *events) Pop() any {
	last := len(e.list) - 1
	v := e.list[last]
	e.list[last] = event{}
	e.list = e.list[:last]
	return v
}

// after schedules v at the time d from now.
func (e *events) after(d Time, v event) {
	v.at, v.seq = e.now+d, e.seq
	e.seq++
	v.rank = 2 * int(v.s)
	if v.kind == passed {
		v.rank++
	}
	heap.Push(e, v)
}

// next removes the earliest event and sets the clock to its time.
func (e *events) next() event {
	v := heap.Pop(e).(event)
	e.now = v.at
	return v
}
