package verbs

import "fmt"

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
	work      []work
	tail      uint64 // the number of the next
	overtakes bool
	oldest    [lines]uint64 // the numbers of the oldest of each line that is under way, or tail
}

func (a *account) line(o Op) line {
	if a.overtakes && o == OpRead {
		return reads
	}
	return all
}

// skip moves the oldest of a line over those of the other one.
func (a *account) skip(l line) uint64 {
	for a.oldest[l] < a.tail && a.line(a.at(a.oldest[l]).op) != l {
		a.oldest[l]++
	}
	return a.oldest[l]
}

func (a *account) at(n uint64) *work { return &a.work[n%uint64(len(a.work))] }

// full reports whether there is no room for another one.
func (a *account) full() bool {
	return a.tail-a.first() >= uint64(len(a.work))
}

// empty reports whether nothing is under way.
func (a *account) empty() bool { return a.first() == a.tail }

// first returns the number of the oldest that is under way, or tail.
func (a *account) first() uint64 { return min(a.skip(all), a.skip(reads)) }

// add adds w, whose completion has to have the number tail. There must be room.
func (a *account) add(w work) {
	*a.at(a.tail) = w
	a.tail++
}

// take takes the one with the number n, which must be the oldest of its line.
func (a *account) take(n uint64) (work, error) {
	if first := a.first(); n < first || n >= a.tail {
		return work{}, fmt.Errorf("number %d, with %d to %d under way", n, first, a.tail)
	}
	w := *a.at(n)
	l := a.line(w.op)
	if oldest := a.skip(l); n != oldest {
		return work{}, fmt.Errorf("number %d, and %d is the oldest", n, oldest)
	}
	a.oldest[l]++
	return w, nil
}
