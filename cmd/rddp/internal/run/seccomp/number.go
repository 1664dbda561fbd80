package seccomp

// A Class is one of the two kinds of descriptors that the supervisor makes in the program and that
// the filter knows by their numbers. Every fourth number from 32 on is of a Class. Descriptors of
// the program's own may have such numbers too: they work as all others, but some calls for them
// take longer.
type Class int

// The classes. A number is of a class if this is the number modulo 4.
const (
	Devices  Class = 1 // fstat and its like are seen
	Channels Class = 3 // writes that may be commands of rdma_cm too
)

const (
	leastNumber = 32
	classMask   = 3
)

// Has reports whether a number is of the class.
func (c Class) Has(number int) bool { return number >= leastNumber && number&classMask == int(c) }

// The lengths of the writes that may be commands of rdma_cm: multiples of 8, as of all of them but
// the shortest. There is room for longer ones than there are today.
const (
	shortestCommand = 12
	longestCommand  = 400
	commandUnit     = 8
)

// A Dup is a call by which a thread puts a descriptor where the program wants it, and not at the
// lowest free number.
type Dup struct {
	Number int
	Exact  bool // at Number, and otherwise at the lowest free number from Number on
}

// margin is how many numbers are to be free below one that Pick returns. The kernel gives a program
// the lowest free number, so that many descriptors can be made before the number is another one's.
const margin = 64

// Preferred is the number below which Pick looks first: select(2) knows no higher ones.
const Preferred = 1024

// Pick returns a number of the class for a process that has the descriptors open, so that no thread
// of the process is about to have one there. limit is the one of the process, and under way are the
// calls by which other threads may be doing that. If the process is near its limit, there may be
// fewer than margin free numbers below. ok is false if all numbers are taken.
func Pick(c Class, open map[int]bool, limit int, underWay []Dup) (number int, ok bool) {
	for _, least := range []int{margin, margin / 8, 0} {
		if n, ok := pick(c, open, limit, underWay, least); ok {
			return n, true
		}
	}
	return -1, false
}

// pick is Pick with the least number of free numbers below.
func pick(c Class, open map[int]bool, limit int, underWay []Dup, least int) (number int, ok bool) {
	// starts are where the kernel may begin to look for a free number, with how many are free from
	// there
	starts := map[int]int{0: 0}
	exact := make(map[int]bool)
	for _, d := range underWay {
		if d.Exact {
			exact[d.Number] = true
		} else {
			starts[d.Number] = 0
		}
	}
	number = -1
	for n := 0; n < limit && (n < Preferred || number < 0); n++ {
		good := c.Has(n) && !open[n] && !exact[n]
		for start, free := range starts {
			if start > n {
				continue
			}
			good = good && free >= least
			if !open[n] {
				starts[start] = free + 1
			}
		}
		if good { // the highest of the preferred ones, or else the lowest
			number = n
		}
	}
	return number, number >= 0
}
