package pipeline

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

// before reports whether v comes before w.
func (v *event) before(w *event) bool {
	if v.at != w.at {
		return v.at < w.at
	}
	if v.rank != w.rank {
		return v.rank < w.rank
	}
	return v.seq < w.seq
}

// events is a heap of events, and the clock. Events at the same time follow the bytes: those of an
// earlier stage come first, so that a fragment that arrives in the last moment is there in time.
//
// It is not a heap of package container/heap, because that would allocate memory for each event.
type events struct {
	now  Time
	list []event // no event comes before its parent, which for number i is number (i-1)/2
	seq  uint64
}

// after schedules v at the time d from now.
func (e *events) after(d Time, v event) {
	v.at, v.seq = e.now+d, e.seq
	e.seq++
	v.rank = 2 * int(v.s)
	if v.kind == passed {
		v.rank++
	}
	e.list = append(e.list, v)
	for i := len(e.list) - 1; i > 0 && e.list[i].before(&e.list[(i-1)/2]); i = (i - 1) / 2 {
		e.list[i], e.list[(i-1)/2] = e.list[(i-1)/2], e.list[i]
	}
}

// next removes the earliest event and sets the clock to its time.
func (e *events) next() event {
	v, last := e.list[0], len(e.list)-1
	e.list[0], e.list[last] = e.list[last], event{}
	e.list = e.list[:last]
	for i := 0; ; {
		child := 2*i + 1
		if child+1 < last && e.list[child+1].before(&e.list[child]) {
			child++
		}
		if child >= last || !e.list[child].before(&e.list[i]) {
			break
		}
		e.list[i], e.list[child] = e.list[child], e.list[i]
		i = child
	}
	e.now = v.at
	return v
}
