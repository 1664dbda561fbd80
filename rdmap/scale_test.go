package rdmap

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/rddp/rddp/internal/testkit/testmode"
)

// This file measures how the cost of an operation grows with the number of requests and Completions
// that exist already. The benchmarks report the time of one operation. The tests count allocations,
// bytes, and entries that a loop looks at.

// counts are the numbers of requests or Completions of the benchmarks.
var counts = []int{1, 10, 100, 1000, 10_000, 100_000}

// newCrowd returns a pair whose queues have room for n+1 requests.
func newCrowd(t testing.TB, n int) *pair {
	return newPair(t, params{depth: n + 1, cqDepth: n + 1})
}

// postWrites posts n Writes of 8 bytes.
func postWrites(t testing.TB, q *QP, n int) {
	wr := WorkRequest{Op: WorkWrite, Data: make([]byte, 8), Remote: Handle{STag: 1}}
	for range n {
		if err := q.PostSend(&wr); err != nil {
			t.Fatal(err)
		}
	}
}

// postReads posts n Reads of 8 bytes.
func postReads(t testing.TB, q *QP, n int) {
	wr := WorkRequest{Op: WorkRead, Data: make([]byte, 8), Remote: Handle{STag: 1}}
	for range n {
		if err := q.PostSend(&wr); err != nil {
			t.Fatal(err)
		}
	}
}

// sendOne takes the oldest request from the queue, and its Completion.
func sendOne(t testing.TB, s *side) {
	var one [1]Completion
	if !s.qp.NextMessage() {
		t.Fatal("no message")
	}
	s.qp.Sent(1)
	if s.sendCQ.Poll(one[:]) != 1 {
		t.Fatal("no Completion")
	}
}

// BenchmarkPostAmongPosted posts one more Write, and completes the oldest one, while n-1 others
// wait.
func BenchmarkPostAmongPosted(b *testing.B) {
	for _, n := range counts {
		b.Run(fmt.Sprintf("posted=%d", n), func(b *testing.B) {
			x := newCrowd(b, n)
			postWrites(b, x.a.qp, n-1)
			wr := WorkRequest{Op: WorkWrite, Data: make([]byte, 8), Remote: Handle{STag: 1}}
			b.ReportAllocs()
			for b.Loop() {
				if err := x.a.qp.PostSend(&wr); err != nil {
					b.Fatal(err)
				}
				sendOne(b, x.a)
			}
		})
	}
}

// BenchmarkCancelAmongPosted cancels the newest of n posted Writes. Cancel looks at the requests
// one after another.
func BenchmarkCancelAmongPosted(b *testing.B) {
	for _, n := range counts {
		b.Run(fmt.Sprintf("posted=%d", n), func(b *testing.B) {
			x := newCrowd(b, n)
			postWrites(b, x.a.qp, n-1)
			wr := WorkRequest{ID: 7, Op: WorkWrite, Data: make([]byte, 8), Remote: Handle{STag: 1}}
			var one [1]Completion
			for b.Loop() {
				if err := x.a.qp.PostSend(&wr); err != nil { // canceled requests keep their places in the ring
					b.StopTimer()
					x = newCrowd(b, n)
					postWrites(b, x.a.qp, n-1)
					b.StartTimer()
					continue
				}
				if !x.a.qp.Cancel(x.a.sendCQ, 7) || x.a.sendCQ.Poll(one[:]) != 1 {
					b.Fatal("not canceled")
				}
			}
		})
	}
}

// BenchmarkReceiveAmongPosted posts one more receive buffer, and a message fills the oldest one,
// while n-1 others wait.
func BenchmarkReceiveAmongPosted(b *testing.B) {
	for _, n := range counts {
		b.Run(fmt.Sprintf("posted=%d", n), func(b *testing.B) {
			l := &loop{pair: newCrowd(b, n)}
			buf, data := make([]byte, 8), make([]byte, 8)
			recv := func() {
				if err := l.b.qp.PostRecv(RecvRequest{Buf: buf}); err != nil {
					b.Fatal(err)
				}
			}
			for range n - 1 {
				recv()
			}
			wr := WorkRequest{Op: WorkSend, Data: data}
			var one [1]Completion
			b.ReportAllocs()
			for b.Loop() {
				recv()
				if err := l.a.qp.PostSend(&wr); err != nil {
					b.Fatal(err)
				}
				l.carry()
				if l.a.sendCQ.Poll(one[:]) != 1 || l.b.recvCQ.Poll(one[:]) != 1 {
					b.Fatal("no Completion")
				}
			}
		})
	}
}

// BenchmarkCompletionAmongOthers adds one Completion to a queue and takes the oldest one, while n-1
// others wait.
func BenchmarkCompletionAmongOthers(b *testing.B) {
	for _, n := range counts {
		b.Run(fmt.Sprintf("waiting=%d", n), func(b *testing.B) {
			c := NewCompletionQueue(n + 1)
			for range n - 1 {
				c.reserve()
				c.complete(Completion{})
			}
			var one [1]Completion
			b.ReportAllocs()
			for b.Loop() {
				c.reserve()
				c.complete(Completion{})
				if c.Poll(one[:]) != 1 {
					b.Fatal("no Completion")
				}
			}
		})
	}
}

// BenchmarkAbortWithPosted ends a stream while n Reads are posted, each with its own sink.
func BenchmarkAbortWithPosted(b *testing.B) {
	for _, n := range counts {
		b.Run(fmt.Sprintf("posted=%d", n), func(b *testing.B) {
			done := make([]Completion, n)
			for b.Loop() {
				b.StopTimer()
				x := newCrowd(b, n)
				postReads(b, x.a.qp, n)
				b.StartTimer()
				x.a.qp.Abort(nil)
				if x.a.sendCQ.Poll(done) != n {
					b.Fatal("Completions are missing")
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*n), "ns/request")
		})
	}
}

// heapOf returns the number of allocations and of bytes that f allocates, for each of n operations.
func heapOf(n int, f func()) (objects, octets float64) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return float64(after.Mallocs-before.Mallocs) / float64(n), float64(after.TotalAlloc-before.TotalAlloc) / float64(n)
}

// Posting one more request allocates nothing, although n requests wait. Each waiting request costs
// a fixed number of allocations and bytes, whatever n is, because the rings grow by doubling.
func TestHeapOfPostedRequests(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	for _, n := range []int{100, 1000, 100_000} {
		x := newCrowd(t, n)
		objects, octets := heapOf(n, func() { postWrites(t, x.a.qp, n-1) })
		if objects > 1.5 || octets > maxOctets {
			t.Errorf("%d requests: %.2f allocations and %.0f bytes each", n, objects, octets)
		}
		wr := WorkRequest{Op: WorkWrite, Data: make([]byte, 8), Remote: Handle{STag: 1}}
		if a := testing.AllocsPerRun(100, func() {
			if err := x.a.qp.PostSend(&wr); err != nil {
				t.Error(err)
			}
			sendOne(t, x.a)
		}); a != 0 {
			t.Errorf("one request more than %d: %v allocations, want 0", n, a)
		}
	}
}

// maxOctets is the maximum number of bytes that a posted request, a posted buffer or a Completion
// may need, with its share of the ring's growth.
const maxOctets = 512

func TestHeapOfPostedBuffers(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	for _, n := range []int{100, 1000, 100_000} {
		x := newCrowd(t, n)
		buf := make([]byte, 8)
		objects, octets := heapOf(n, func() {
			for range n {
				if err := x.b.qp.PostRecv(RecvRequest{Buf: buf}); err != nil {
					t.Fatal(err)
				}
			}
		})
		if objects > 0.5 || octets > maxOctets {
			t.Errorf("%d buffers: %.2f allocations and %.0f bytes each", n, objects, octets)
		}
	}
}

func TestHeapOfCompletions(t *testing.T) {
	if testmode.Race {
		t.Skip("the race detector allocates")
	}
	for _, n := range []int{100, 1000, 100_000} {
		c := NewCompletionQueue(n)
		fill := func() {
			for range n {
				c.reserve()
				c.complete(Completion{})
			}
		}
		objects, octets := heapOf(n, fill)
		if objects > 0.5 || octets > maxOctets {
			t.Errorf("%d Completions: %.2f allocations and %.0f bytes each", n, objects, octets)
		}
		done := make([]Completion, n)
		if got := c.Poll(done); got != n {
			t.Fatalf("%d Completions, want %d", got, n)
		}
		if objects, _ := heapOf(1, func() { fill(); c.Poll(done) }); objects > 2 {
			t.Errorf("%d Completions in a queue that had as many: %v allocations", n, objects)
		}
	}
}

// When a stream ends, the sinks of the posted Reads are taken back in one sweep. A search does not
// start again at the oldest request; otherwise the end of a stream with 100,000 Reads would take
// minutes.
func TestFlushedSinksInOneSweep(t *testing.T) {
	const n = 8
	x := newCrowd(t, n)
	q := x.a.qp
	postReads(t, q, n)
	q.mu.Lock()
	defer q.unlock()
	q.sq.flush(ErrClosed, everyRequest)
	for from := range uint64(n) {
		if e, pos := q.sq.flushedSink(from); pos != from || e != q.sq.at(from) {
			t.Errorf("the search from %d has found %d", from, pos)
		}
	}
	q.sq.at(3).sink = nil
	if e, pos := q.sq.flushedSink(3); pos != 4 || e != q.sq.at(4) {
		t.Errorf("the search from 3, which has no sink, has found %d", pos)
	}
	if e, pos := q.sq.flushedSink(n); e != nil || pos != n {
		t.Errorf("a search behind the last request has found %d", pos)
	}
}
