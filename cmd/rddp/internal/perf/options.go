package perf

import (
	"crypto/tls"
	"slices"
	"strings"
	"time"
)

// Options say what to measure. Complete fills in the defaults.
type Options struct {
	Addresses []string    // the servers; connections are spread over them
	TLS       *tls.Config // for all connections, including plain TCP; nil means no TLS

	Ops    []string // operations, by name; see Ops
	Sizes  []int    // bytes of one operation, at most MaxSize
	Depths []int    // maximum outstanding Work Requests on each connection, at most MaxDepth
	Posts  []string // PostOne, PostBatch
	CRC    []bool   // true: CRC32C in each FPDU
	Rows   []Row    // if not nil, measure exactly these, and ignore the five fields above

	Conns  []int           // numbers of connections, in total over all servers; everything runs with each of them
	Load   string          // one of Loads
	Pauses []time.Duration // before each operation; those with a pause are the ones whose latency is measured; at most MaxPause
	Rounds int             // how often each job runs; the results are medians over the rounds
	Time   time.Duration   // time of one run; the number of operations is chosen to fit it

	ReadData bool          // the receiving end reads the data of each operation as soon as it arrives
	PollTime time.Duration // as in extsock.Config

	Ring       int           // bytes of memory that the data of all connections walks through, at each end
	Congestion string        // TCP's congestion control for all connections; "" means the system's
	Buffer     int           // SO_SNDBUF and SO_RCVBUF of all connections; 0 means automatic
	OneCPU     bool          // pin each process to one CPU
	CPU        int           // the number of the CPU; negative means the highest that the process may use
	Timeout    time.Duration // bounds each step: a run, an answer of the server, opening connections

	HugePages bool // move the heaps of all processes into huge pages before they measure: extsock.CollapseHeap
	Cold      bool // also measure the price of a page after a pause: Report.Cold
	NoGate    bool // keep rounds in which the CPUs of this end were far apart; see Report.Repeated
	Scale     bool // one kind of connection at a time, opened again in each round; see Idle

	// Progress is called before each run with the number of runs done and the number of all runs.
	// It may be nil.
	Progress func(done, total int, what string)
}

// The limits of the options. A server refuses requests beyond them.
const (
	MaxSize   = 64 << 20
	MaxDepth  = 100_000
	MaxConns  = 16384
	MaxRounds = 1000
	MaxTime   = time.Minute
	MaxRing   = 1 << 30

	MaxPollTime = time.Millisecond
	MaxPause    = time.Second
)

// The loads. They differ in the end that is active and in the operations that make sense.
const (
	LoadMultiStream = "multi-stream" // this end sends to one server, over one or many connections
	LoadFanOut      = "fan-out"      // this end sends to several servers: one node streams data to many
	LoadFanIn       = "fan-in"       // the servers send to this end: many nodes stream data to one
	LoadHotSpot     = "hot-spot"     // the servers send messages to this end, which echoes them: many clients of one server
)

// Loads returns the names of the loads.
func Loads() []string { return []string{LoadMultiStream, LoadFanOut, LoadFanIn, LoadHotSpot} }

// reverse reports whether the servers are the active ends of the load.
func (o *Options) reverse() bool { return o.Load == LoadFanIn || o.Load == LoadHotSpot }

func setDefault[T any](list *[]T, values ...T) {
	if len(*list) == 0 {
		*list = values
	}
}

// Complete replaces zero values by their defaults and checks the rest. The error is an
// *OptionError.
func (o *Options) Complete() error {
	if o.Load == "" {
		o.Load = LoadMultiStream
	}
	if o.Scale {
		o.completeScale()
	}
	if o.Rows != nil {
		o.completeRows()
	}
	if o.Load == LoadHotSpot {
		setDefault(&o.Ops, "message", "echo", opTCPEcho)
	}
	setDefault(&o.Ops, "write", "read", "send", "stream", "message", "echo", "atomic", opTCP)
	setDefault(&o.Sizes, 64, 4<<10, 64<<10, 1<<20)
	setDefault(&o.Depths, 1, 16)
	setDefault(&o.Posts, PostOne, PostBatch)
	setDefault(&o.CRC, true)
	if slices.ContainsFunc(o.Pauses, func(p time.Duration) bool { return p > 0 }) {
		defaults(&o.Time, time.Second) // so that some operations fit into a run
	}
	setDefault(&o.Pauses, 0)
	setDefault(&o.Conns, max(1, len(o.Addresses)))
	defaults(&o.Rounds, 5)
	defaults(&o.Time, 100*time.Millisecond)
	defaults(&o.Ring, 16<<20)
	defaults(&o.Timeout, 30*time.Second)
	o.Ops, o.Posts, o.CRC = distinct(o.Ops), distinct(o.Posts), distinct(o.CRC)
	o.Pauses = slices.Compact(slices.Sorted(slices.Values(o.Pauses)))
	for _, list := range []*[]int{&o.Sizes, &o.Depths, &o.Conns} {
		*list = slices.Compact(slices.Sorted(slices.Values(*list)))
	}
	return o.check()
}

// completeScale sets the defaults that differ with Scale. All connections take part in each run, so
// runs are longer.
func (o *Options) completeScale() {
	setDefault(&o.Ops, "echo")
	setDefault(&o.Sizes, 1<<10)
	setDefault(&o.Conns, 1, 16, 64, 256, 1000, 4000, 10_000)
	defaults(&o.Rounds, 3)
	defaults(&o.Time, 2*time.Second)
	defaults(&o.Timeout, 2*time.Minute)
}

// distinct returns list without repetitions.
func distinct[T comparable](list []T) (out []T) {
	for _, v := range list {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func defaults[T ~int | ~int64](value *T, otherwise T) {
	if *value == 0 {
		*value = otherwise
	}
}

func (o *Options) check() error {
	for _, name := range o.Ops {
		op, ok := operationOf(name)
		switch {
		case !ok:
			return wrongOption("op", "%q is not one of %s", name, strings.Join(Ops(), ", "))
		case o.Load == LoadHotSpot && op.kind != kindEcho:
			return wrongOption("op", "the load %s echoes: %s is not an echo", o.Load, name)
		}
	}
	for _, size := range o.Sizes {
		if size < 1 || size > MaxSize {
			return wrongOption("size", "%d is not between 1 and %d bytes", size, MaxSize)
		}
	}
	for _, check := range []func() error{o.checkPosting, o.checkLimits, o.checkConns} {
		if err := check(); err != nil {
			return err
		}
	}
	return nil
}

func (o *Options) checkPosting() error {
	for _, depth := range o.Depths {
		if depth < 1 || depth > MaxDepth {
			return wrongOption("depth", "%d is not between 1 and %d", depth, MaxDepth)
		}
	}
	for _, post := range o.Posts {
		if post != PostOne && post != PostBatch {
			return wrongOption("post", "%q is neither %s nor %s", post, PostOne, PostBatch)
		}
	}
	return nil
}

func (o *Options) checkConns() error {
	for _, n := range o.Conns {
		switch {
		case n < 1 || n > MaxConns:
			return wrongOption("conns", "%d is not between 1 and %d", n, MaxConns)
		case n < len(o.Addresses):
			return wrongOption("conns", "%d connections cannot reach %d servers", n, len(o.Addresses))
		case int64(n)*int64(o.ringOf(n)) > MaxRing:
			return wrongOption("conns", "%d connections with sizes up to %d bytes need more than %d bytes of memory", n, o.largest(), MaxRing)
		}
	}
	return nil
}

func (o *Options) checkLimits() error {
	switch {
	case !slices.Contains(Loads(), o.Load):
		return wrongOption("load", "%q is not one of %s", o.Load, strings.Join(Loads(), ", "))
	case o.Scale && o.reverse():
		return wrongOption("scale", "the load %s is not measured with it", o.Load)
	case o.Rounds < 1 || o.Rounds > MaxRounds:
		return wrongOption("rounds", "%d is not between 1 and %d", o.Rounds, MaxRounds)
	case o.Time < time.Millisecond || o.Time > MaxTime:
		return wrongOption("time", "%v is not between 1ms and %v", o.Time, MaxTime)
	case o.Ring < 1 || o.Ring > MaxRing:
		return wrongOption("ring", "%d is not between 1 and %d bytes", o.Ring, MaxRing)
	case slices.Min(o.Pauses) < 0 || slices.Max(o.Pauses) > MaxPause:
		return wrongOption("pause", "%v: not between 0s and %v", o.Pauses, MaxPause)
	case o.PollTime > MaxPollTime:
		return wrongOption("poll", "%v is more than %v", o.PollTime, MaxPollTime)
	case o.Buffer < 0 || o.Buffer > MaxRing:
		return wrongOption("buffer", "%d is not between 0 and %d bytes", o.Buffer, MaxRing)
	case o.Timeout <= o.Time:
		return wrongOption("timeout", "%v is not longer than a run of %v", o.Timeout, o.Time)
	case o.Timeout > maxTimeout:
		return wrongOption("timeout", "%v is longer than %v", o.Timeout, maxTimeout)
	}
	return nil
}

// maxTimeout is the longest time that a server waits for a client.
const maxTimeout = 10 * time.Minute

func (o *Options) largest() int { return max(slices.Max(o.Sizes), atomicSize) }

func (o *Options) deepest() int { return slices.Max(o.Depths) }

// ringOf returns the length of the ring of each of n connections.
func (o *Options) ringOf(n int) int { return max(o.Ring/n&^7, (o.largest()+7)&^7) }
