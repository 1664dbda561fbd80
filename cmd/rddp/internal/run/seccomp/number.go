package seccomp

// A Class is one of the kinds of descriptors that the supervisor creates in the program and that
// the filter recognizes by their numbers, from 32 on. The program's own descriptors may have such
// numbers too. They work like all others, but some calls on them take longer.
type Class int

// The classes. A number belongs to the class that equals the number modulo 4, except that the
// numbers of Sockets are the multiples of 16 below Preferred: a program needs few of them, and
// sends on its own sockets are frequent.
const (
	Sockets  Class = 0 // the filter intercepts bind, and calls that have an address or may have one
	Devices  Class = 1 // the filter intercepts fstat and similar calls
	Folders  Class = 2 // the filter intercepts listings, and calls with a path relative to it
	Channels Class = 3 // as for Devices, and also writes that may be rdma_cm commands
)

const (
	LeastNumber = 32 // the least number of a Class
	classMask   = 3
	socketMask  = 15
)

// Has reports whether a number belongs to the class.
func (c Class) Has(number int) bool {
	if c == Sockets {
		return number >= LeastNumber && number < Preferred && number&socketMask == 0
	}
	return number >= LeastNumber && number&classMask == int(c)
}

// The lengths in bytes of writes that may be rdma_cm commands. All but the shortest are multiples
// of 8. longestCommand is longer than today's commands.
const (
	shortestCommand = 12
	longestCommand  = 400
	commandUnit     = 8
)

// A Dup is a call by which a thread creates a descriptor at a number of the program's choice,
// instead of the lowest free number.
type Dup struct {
	Number int
	Exact  bool // exactly at Number; otherwise at the lowest free number from Number on
}

// margin is the number of free numbers that Pick leaves below the one it returns. The kernel
// assigns the lowest free number, so the program must create that many descriptors before it
// reaches Pick's number.
const margin = 64

// Preferred is the limit below which Pick looks first, because select(2) cannot handle higher
// numbers.
const Preferred = 1024

// Pick returns a free number of the class, at which no thread of the process is about to create a
// descriptor. open are the numbers in use, limit is the process's descriptor limit, and underWay
// are the calls that other threads may be executing. If the process is near its limit, there may be
// fewer than margin free numbers below the result. ok is false if no number is available.
func Pick(c Class, open map[int]bool, limit int, underWay []Dup) (number int, ok bool) {
	for _, least := range []int{margin, margin / 8, 0} {
		if n, ok := pick(c, open, limit, underWay, least); ok {
			return n, true
		}
	}
	return -1, false
}

// pick is Pick with at least the given number of free numbers below the result.
func pick(c Class, open map[int]bool, limit int, underWay []Dup, least int) (number int, ok bool) {
	// starts are the numbers from which the kernel may search for a free one, with the count of
	// free numbers since
	starts := map[int]int{0: 0}
	exact := make(map[int]bool)
	for _, d := range underWay {
		if d.Exact {
			exact[d.Number] = true
		} else {
			starts[d.Number] = 0
		}
	}
	if c == Sockets { // there are none above, and a process may have a limit of 2^30
		limit = min(limit, Preferred)
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
		if good { // the highest below Preferred, or else the lowest
			number = n
		}
	}
	return number, number >= 0
}
