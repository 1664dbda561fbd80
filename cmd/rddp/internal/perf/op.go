package perf

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/rddp/rddp/cmd/rddp/internal/cliparse"
)

// A transport is the kind of connection that an operation needs.
type transport string

const (
	overTCP    transport = "tcp"    // plain TCP
	overStream transport = "stream" // the byte stream in DDP mode
	overVerbs  transport = "verbs"  // DDP mode with messages and Work Requests
)

// A kind says what the two ends of a connection do during a run.
type kind uint8

const (
	kindBulk   kind = iota + 1 // the active end calls Write, the passive end reads
	kindEcho                   // the passive end sends each message back
	kindWrite                  // RDMA Writes
	kindRead                   // RDMA Reads
	kindSend                   // Sends, which the passive end reads
	kindAtomic                 // FetchAdds of one word
	kindEnd                    // the first kind that does not exist
)

// posts reports whether the operations of this kind are Work Requests.
func (k kind) posts() bool { return k >= kindWrite && k < kindEnd }

// answered reports whether each operation of this kind ends with an answer of the peer. The time of
// one operation is then a latency.
func (k kind) answered() bool { return k == kindEcho || k == kindRead || k == kindAtomic }

// An operation is one entry of the option Ops.
type operation struct {
	name string
	kind kind
	over transport
}

const (
	opTCP     = "tcp"
	opTCPEcho = "tcp-echo"
)

var operations = []operation{
	{"write", kindWrite, overVerbs},   // RDMA Write
	{"read", kindRead, overVerbs},     // RDMA Read
	{"send", kindSend, overVerbs},     // Send, one way
	{"message", kindEcho, overVerbs},  // echo of a message: a Send in each direction
	{"stream", kindBulk, overStream},  // byte stream in DDP mode, one way
	{"echo", kindEcho, overStream},    // echo over the byte stream in DDP mode
	{"atomic", kindAtomic, overVerbs}, // FetchAdd of 8 bytes
	{opTCP, kindBulk, overTCP},        // plain TCP, one way
	{opTCPEcho, kindEcho, overTCP},    // echo over plain TCP
}

// Ops returns the names of all operations.
func Ops() (names []string) {
	for _, op := range operations {
		names = append(names, op.name)
	}
	return names
}

func operationOf(name string) (operation, bool) {
	i := slices.IndexFunc(operations, func(op operation) bool { return op.name == name })
	if i < 0 {
		return operation{}, false
	}
	return operations[i], true
}

// A job is one operation with all its parameters. Each round runs each job once.
type job struct {
	operation
	crc   bool          // no meaning for plain TCP
	size  int           // bytes of one operation
	depth int           // maximum outstanding Work Requests on each connection; 1 for other operations
	batch bool          // PostBatch instead of Post
	pause time.Duration // before each operation
}

// reference returns the plain TCP job that a program without RDMA would use instead of j. It
// transfers the same bytes in Writes of the same size, or in requests and answers of that size.
func (j job) reference() job {
	name := opTCP
	if j.isLatency() || j.kind == kindAtomic {
		name = opTCPEcho
	}
	op, _ := operationOf(name)
	return job{operation: op, size: j.size, depth: 1, pause: j.pause}
}

// isLatency reports whether the latency of each operation of the job is recorded.
func (j job) isLatency() bool { return j.kind.answered() && j.depth == 1 }

func (j job) String() string {
	text := j.name + " of " + strconv.Itoa(j.size) + " bytes"
	if j.kind.posts() {
		text += ", " + strconv.Itoa(j.depth) + " " + j.post()
	}
	if j.over != overTCP {
		text += ", CRC " + onOff(j.crc)
	}
	if j.pause > 0 {
		text += ", after " + j.pause.String()
	}
	return text
}

const (
	// PostOne and PostBatch are the ways of posting Work Requests.
	PostOne   = "one"
	PostBatch = "batch"
)

func (j job) post() string {
	switch {
	case !j.kind.posts():
		return ""
	case j.batch:
		return PostBatch
	}
	return PostOne
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}

// jobs returns the jobs for one size in the options, without references.
func (o *Options) jobs(size int) (jobs []job) {
	for _, pause := range o.Pauses {
		for _, j := range o.unpaused(size) {
			if j.pause = pause; pause == 0 || j.isLatency() {
				jobs = append(jobs, j)
			}
		}
	}
	return jobs
}

// unpaused returns the jobs for one size without their pauses.
func (o *Options) unpaused(size int) (jobs []job) {
	for _, w := range o.Rows {
		if w.Size == size {
			jobs = append(jobs, w.job())
		}
	}
	if o.Rows != nil {
		return jobs
	}
	for _, name := range o.Ops {
		op, _ := operationOf(name)
		measured := slices.Contains(o.Sizes, size)
		if op.kind == kindAtomic {
			measured = size == atomicSize
		}
		if op.over == overTCP || !measured {
			continue
		}
		for _, crc := range o.CRC {
			jobs = append(jobs, o.variants(job{operation: op, crc: crc, size: size, depth: 1})...)
		}
	}
	return jobs
}

// variants returns j with each depth and each way of posting.
func (o *Options) variants(j job) (jobs []job) {
	if !j.kind.posts() {
		return []job{j}
	}
	for _, j.depth = range o.Depths {
		if j.depth == 1 { // a batch of one is the same
			j.batch = false
			jobs = append(jobs, j)
			continue
		}
		for _, post := range o.Posts {
			j.batch = post == PostBatch
			jobs = append(jobs, j)
		}
	}
	return jobs
}

// references returns the plain TCP jobs for one size: those named in the options, and the
// references of jobs.
func (o *Options) references(size int, jobs []job) (refs []job) {
	for _, name := range []string{opTCP, opTCPEcho} {
		op, _ := operationOf(name)
		for _, pause := range o.Pauses {
			ref := job{operation: op, size: size, depth: 1, pause: pause}
			named := slices.Contains(o.Ops, name) && slices.Contains(o.Sizes, size) && (pause == 0 || ref.isLatency())
			if named || slices.ContainsFunc(jobs, func(j job) bool { return j.reference() == ref }) {
				refs = append(refs, ref)
			}
		}
	}
	return refs
}

// atomicSize is the length in bytes of the word that an atomic changes.
const atomicSize = 8

// groups returns the sizes to measure, including the size of atomics.
func (o *Options) groups() []int {
	sizes := slices.Clone(o.Sizes)
	if slices.Contains(o.Ops, "atomic") && !slices.Contains(sizes, atomicSize) {
		sizes = append(sizes, atomicSize)
	}
	slices.Sort(sizes)
	return slices.Compact(sizes)
}

// ParseSizes parses a list of sizes, such as "64,4k,1m".
func ParseSizes(list string) (sizes []int, err error) {
	for _, text := range strings.Split(list, ",") {
		n, err := cliparse.ParseSize(strings.TrimSpace(text))
		if err != nil || n < 1 || n > MaxSize {
			return nil, wrongOption("size", "%q is not a size between 1 and %v bytes", text, cliparse.Size(MaxSize))
		}
		sizes = append(sizes, int(n))
	}
	return sizes, nil
}
