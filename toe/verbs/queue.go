package verbs

import (
	"fmt"

	"github.com/rddp/rddp/internal/ring"
)

// receiveBit marks the numbers of receives in the device's queues. The rest is a count.
const receiveBit = 1 << 63

// A work is an outstanding work request.
type work struct {
	id  uint64 // the program's
	op  Op
	len int // bytes
}

// A line is a kind of work requests that a device completes in order. Most devices have one line
// per queue. siw has two for the send queue; Reads are one of them.
type line uint8

const (
	all line = iota
	reads
	lines
)

// An account holds the outstanding work requests of a send or receive queue. A completion must
// belong to the oldest work request of its line.
type account struct {
	depth     int // of the queue
	overtakes bool
	tail      uint64 // the number of the next
	lines     [lines]ring.Ring[numbered]
}

// A numbered is a work with its number.
type numbered struct {
	number uint64
	work
}

func (a *account) line(o Op) *ring.Ring[numbered] {
	if a.overtakes && o == OpRead {
		return &a.lines[reads]
	}
	return &a.lines[all]
}

// len returns the number of outstanding work requests.
func (a *account) len() int { return a.lines[all].Len() + a.lines[reads].Len() }

// full reports whether there is no room for another work request.
func (a *account) full() bool { return a.len() >= a.depth }

// empty reports whether no work request is outstanding.
func (a *account) empty() bool { return a.len() == 0 }

// add adds w, whose completion must have the number tail. There must be room.
func (a *account) add(w work) {
	*a.line(w.op).Push() = numbered{a.tail, w}
	a.tail++
}

// take takes the work with the number n, which must be the oldest of its line.
func (a *account) take(n uint64) (work, error) {
	for i := range a.lines {
		if l := &a.lines[i]; l.Len() > 0 && l.First().number == n {
			w := l.First().work
			l.Pop()
			return w, nil
		}
	}
	return work{}, fmt.Errorf("number %d of %d, which is not the oldest under way", n, a.tail)
}
