package verbs

import (
	"fmt"

	"github.com/rddp/rddp/internal/ring"
)

// receiveBit marks the numbers of receives in the device's queues. The rest is a count.
const receiveBit = 1 << 63

// A work is a work request that is under way.
type work struct {
	id  uint64 // the program's
	op  Op
	len int // bytes
}

// A line is the kind of work requests that a device completes in their order. Most devices have one
// line for each queue. siw has two for the send queue, of which reads are one.
type line uint8

const (
	all line = iota
	reads
	lines
)

// An account is what is under way in a send or a receive queue. A completion must be that of the
// oldest work request of its line.
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

// len returns how many are under way.
func (a *account) len() int { return a.lines[all].Len() + a.lines[reads].Len() }

// full reports whether there is no room for another one.
func (a *account) full() bool { return a.len() >= a.depth }

// empty reports whether nothing is under way.
func (a *account) empty() bool { return a.len() == 0 }

// add adds w, whose completion has to have the number tail. There must be room.
func (a *account) add(w work) {
	*a.line(w.op).Push() = numbered{a.tail, w}
	a.tail++
}

// take takes the one with the number n, which must be the oldest of its line.
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
