package pipeline

import "fmt"

// A Level is one of the two queues of a Queue.
type Level uint8

const (
	// HostLevel is the large queue in the memory of the host.
	HostLevel Level = iota
	// EngineLevel is the small queue in the memory of the engine.
	EngineLevel
)

func (l Level) String() string {
	if l == HostLevel {
		return "host"
	}
	return "engine"
}

// A Queue is a two-level queue of descriptors: a large queue in the host, and a small one in the
// engine. A descriptor goes to the engine's queue if there is room, and otherwise to the host's. A
// completion makes room in the engine's queue, and the oldest descriptor of the host's queue moves
// there. So the engine's own pace decides how often the host writes to the engine.
//
// After each call:
//
//   - the engine queue holds 0 to EngineDepth descriptors, the host queue 0 to HostDepth;
//   - if the host queue holds any, the engine queue is full;
//   - every descriptor that was posted has been completed or drained, or is in one of the queues,
//     once;
//   - descriptors are taken, and completed, in the order in which they were posted.
//
// A Queue has no lock: only one goroutine at a time may use it.
type Queue[T any] struct {
	hostDepth, engineDepth int

	waiting []T // posted and not completed; the first ones are in the engine queue
	engine  int // number of descriptors in the engine queue
	taken   int // number of these that the engine has begun
}

// NewQueue returns an empty Queue. hostDepth is the maximum number of descriptors in the host
// queue, at least 0. engineDepth is that of the engine queue, at least 1.
func NewQueue[T any](hostDepth, engineDepth int) *Queue[T] {
	if hostDepth < 0 || engineDepth < 1 {
		panic(fmt.Sprintf("pipeline: NewQueue(%d, %d)", hostDepth, engineDepth))
	}
	return &Queue[T]{hostDepth: hostDepth, engineDepth: engineDepth}
}

// Post appends a descriptor and returns in which queue it is. If both queues are full, the error is
// a *QueueFullError and nothing has changed.
func (q *Queue[T]) Post(d T) (Level, error) {
	host := len(q.waiting) - q.engine
	if q.engine < q.engineDepth {
		q.waiting = append(q.waiting, d)
		q.engine++
		return EngineLevel, nil
	}
	if host >= q.hostDepth {
		return HostLevel, &QueueFullError{Host: host, Engine: q.engine}
	}
	q.waiting = append(q.waiting, d)
	return HostLevel, nil
}

// Take returns the oldest descriptor in the engine queue that the engine has not begun. The
// descriptor stays in the engine queue until Complete. ok is false if there is none.
func (q *Queue[T]) Take() (d T, ok bool) {
	if q.taken == q.engine {
		return d, false
	}
	d = q.waiting[q.taken]
	q.taken++
	return d, true
}

// Complete removes the oldest descriptor that was taken and returns it. refilled reports whether
// the oldest descriptor of the host queue has moved to the engine queue in exchange. It panics if
// no descriptor is taken.
func (q *Queue[T]) Complete() (d T, refilled bool) {
	if q.taken == 0 {
		panic("BUG: Complete without a descriptor that was taken")
	}
	d = q.waiting[0]
	var none T
	q.waiting[0] = none
	q.waiting = q.waiting[1:]
	q.taken--
	q.engine--
	if len(q.waiting) > q.engine {
		q.engine++
		refilled = true
	}
	return d, refilled
}

// Len returns the number of descriptors in each queue.
func (q *Queue[T]) Len() (host, engine int) { return len(q.waiting) - q.engine, q.engine }

// Room returns how many descriptors Post would take now.
func (q *Queue[T]) Room() int { return q.hostDepth + q.engineDepth - len(q.waiting) }
