package trace

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/rddp/rddp/internal/testkit/timeline"
)

var noon = time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)

// at returns a time some microseconds after noon.
func at(micros int) time.Time { return noon.Add(time.Duration(micros) * time.Microsecond) }

// story are the events of a program that posts three work requests at once.
var story = []Event{
	{At: at(0), Kind: Process, PID: 7, Text: `a "program" (PID 7)`},
	{At: at(1), Dur: 250 * time.Microsecond, Kind: Command, PID: 7, TID: 8, Op: "ibv_alloc_pd", Status: "PD 2"},
	{At: at(300), Kind: Rang, PID: 7, QP: 17, N: 3},
	{At: at(310), Kind: Post, PID: 7, QP: 17, ID: 0x1, N: 64, Op: "Send", Text: "signaled"},
	{At: at(312), Kind: Out, PID: 7, QP: 17, N: 64, Op: "Send", Flow: 5},
	{At: at(312), Kind: Out, PID: 7, QP: 17, Op: "acknowledgement", Text: "of frame 1", Flow: 7},
	{At: at(315), Kind: Post, PID: 7, QP: 17, Seq: 1, ID: 0x2, N: 4096, Op: "Write", Seen: true, Addr: 0x7f00, Key: 0xab},
	{At: at(316), Kind: In, Dur: 3 * time.Microsecond, PID: 7, QP: 17, N: 8, Op: "Send", Flow: 6},
	{At: at(317), Kind: Take, PID: 7, QP: 17, ID: 0x9},
	{At: at(320), Kind: Filled, PID: 7, QP: 17, ID: 0x9, N: 8, Status: "success"},
	{At: at(321), Kind: Completion, PID: 7, Queue: 3, QP: 17, ID: 0x9, N: 8, Op: "RECV", Status: "success"},
	{At: at(330), Kind: Done, PID: 7, QP: 17, Status: "success", Seen: true},
	{At: at(331), Kind: Completion, PID: 7, Queue: 3, QP: 17, ID: 0x1, N: 64, Op: "SEND", Status: "success"},
	{At: at(340), Kind: Done, PID: 7, QP: 17, Seq: 1, Status: "success"},
	{At: at(5300), Kind: Post, PID: 7, QP: 17, Seq: 2, ID: 0x3, Op: "Write"},
	{At: at(5400), Kind: Rang, PID: 7, QP: 17, N: 2, Seq: 1}, // late: the work requests have been taken
	{At: at(5500), Kind: Post, PID: 7, QP: 17, Seq: 3, ID: 0x4, Op: "Write"},
	{At: at(5600), Kind: Lost, N: 12},
	{At: at(5700), Kind: Note, QP: 17, Op: "queue pair has ended", Text: "why=x"},
	{At: at(5800), Kind: Forgotten, PID: 7, QP: 17, Text: "the queue pair is destroyed"},
}

func write(f Format) string { return writes(f, story) }

func writes(f Format, events []Event) string {
	b := f.Begin(nil)
	for i := range events {
		b = f.Append(b, &events[i])
	}
	return string(b)
}

// TestText: each event has its line; a work request that has waited in its queue says so.
func TestText(t *testing.T) {
	const want = `[pid 7] 12:00:00.000000 the process is a "program" (PID 7)
[pid 7] 12:00:00.000001 ibv_alloc_pd() = PD 2 <0.000250>
[pid 7] 12:00:00.000310 QP 17: post Send #0 wr_id 0x1, 64 bytes, signaled
[pid 7] 12:00:00.000312 QP 17: -> Send, 64 bytes
[pid 7] 12:00:00.000312 QP 17: -> acknowledgement, 0 bytes, of frame 1
[pid 7] 12:00:00.000315 QP 17: post Write #1 wr_id 0x2, 4096 bytes, remote_addr 0x7f00, rkey 0xab
[pid 7] 12:00:00.000316 QP 17: <- Send, 8 bytes
[pid 7] 12:00:00.000317 QP 17: receive wr_id 0x9
[pid 7] 12:00:00.000320 QP 17: received wr_id 0x9, 8 bytes: success
[pid 7] 12:00:00.000321 QP 17: CQ 3: completion of RECV wr_id 0x9, 8 bytes: success
[pid 7] 12:00:00.000331 QP 17: CQ 3: completion of SEND wr_id 0x1, 64 bytes: success
[pid 7] 12:00:00.000340 QP 17: done #1 without a completion: success
[pid 7] 12:00:00.005300 QP 17: post Write #2 wr_id 0x3, 0 bytes, posted 5ms ago
[pid 7] 12:00:00.005500 QP 17: post Write #3 wr_id 0x4, 0 bytes
rddp: 12 events are missing here, because they came faster than they could be written
12:00:00.005700 QP 17: queue pair has ended: why=x
[pid 7] 12:00:00.005800 QP 17: what has not completed never will: the queue pair is destroyed
`
	if got := write(new(Text)); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

// TestTimeline: a reader finds the spans of the work requests, from when they were posted, in lanes
// where none overlap; the messages, with arrows; and names for everything. Two files make one.
func TestTimeline(t *testing.T) {
	one, other := write(&Timeline{Base: 100}), write(&Timeline{Base: 1000})
	for desc, file := range map[string]string{"one": one, "both": one + strings.TrimPrefix(other, "[\n")} {
		all, err := timeline.Check([]byte(file))
		if err != nil {
			t.Fatalf("%s: %v\n%s", desc, err, file)
		}
		n := 1
		if desc == "both" {
			n = 2
		}
		for _, x := range []struct {
			phase, name string
			n           int
		}{{"B", "", 5}, {"E", "", 5}, {"B", "Write", 3}, {"X", "ibv_alloc_pd", 1}, {"s", "message", 2}, {"f", "message", 1}, {"i", "12 events are missing", 1}} {
			if got := timeline.Count(all, x.phase, x.name); got != n*x.n {
				t.Errorf("%s: %d events %q %q, want %d", desc, got, x.phase, x.name, n*x.n)
			}
		}
		const posted = 29*24*3600e6 + 12*3600e6 + 300 // since the beginning of the month
		for _, e := range all {
			if id := e.Args["wr_id"]; e.Phase == "B" && (id == "0x1" || id == "0x2" || id == "0x3") && (e.TS != posted || !strings.HasPrefix(e.Track, "QP 17: ")) {
				t.Errorf("%s: %+v, want it at %f", desc, e, float64(posted))
			}
		}
	}
}

// A slow is a file that takes nothing until it is released.
type slow struct {
	mu    sync.Mutex
	b     bytes.Buffer // +checklocks:mu
	after chan struct{}
}

func (s *slow) Write(p []byte) (int, error) {
	<-s.after
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

// TestLost: a file that takes nothing delays nobody. What has no room is counted, in the file at
// its place, and at the end.
func TestLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{after: make(chan struct{})}
		tracer := New(f, new(Text))
		tracer.Put(Event{Kind: Note, Op: "first"})
		synctest.Wait()
		time.Sleep(time.Second)
		synctest.Wait() // the goroutine is in Write
		for range queued + 10 {
			tracer.Put(Event{Kind: Note, Op: "more"})
		}
		close(f.after)
		for tracer.sink.written.Load() < queued+1 {
			time.Sleep(time.Second)
		}
		tracer.Put(Event{Kind: Note, Op: "last"})
		lost, err := tracer.Close()
		if lost != 10 || err != nil {
			t.Errorf("%d are lost, %v; want 10", lost, err)
		}
		lines := strings.Split(strings.TrimSpace(f.b.String()), "\n")                                                                                                                            // +checklocksignore: the goroutine has ended
		if n := strings.Count(f.b.String(), " more\n"); n != queued || !strings.Contains(f.b.String(), "rddp: 10 events are missing here") || !strings.HasSuffix(lines[len(lines)-1], " last") { // +checklocksignore
			t.Errorf("%d of %d events are in the file, which ends %q", n, queued, lines[max(0, len(lines)-3):])
		}
		tracer.Put(Event{Kind: Note}) // is dropped: nothing counts it any more
	})
}

// TestStuckAtEnd: Close does not wait for ever for such a file, and says that its events are lost.
func TestStuckAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{after: make(chan struct{})}
		tracer := New(f, new(Text))
		for range 5 {
			tracer.Put(Event{Kind: Note})
		}
		began := time.Now()
		if lost, err := tracer.Close(); lost != 5 || err == nil || time.Since(began) != lastWrite {
			t.Errorf("%d are lost after %v: %v", lost, time.Since(began), err)
		}
		close(f.after)
	})
}

type broken struct{}

var errFull = errors.New("full")

func (broken) Write([]byte) (int, error) { return 0, errFull }

// TestBroken: what a file refuses is lost, and so is all behind it.
func TestBroken(t *testing.T) {
	s := NewSpool(broken{})
	for range 7 {
		_, _ = s.Write([]byte("packet"))
	}
	if lost, err := s.Close(); lost != 7 || !errors.Is(err, errFull) {
		t.Errorf("%d are lost: %v", lost, err)
	}
	if n := s.held.Load(); n != 0 {
		t.Errorf("%d bytes are held", n)
	}
}

// TestSpoolBound: the packets in the queue have a bounded length, and each is in the file as a
// whole, in order, or not at all.
func TestSpoolBound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &slow{after: make(chan struct{})}
		s := NewSpool(f)
		packet := bytes.Repeat([]byte{'x'}, 1<<20)
		const sent = 80
		for i := range sent {
			copy(packet, fmt.Sprintf("%08d", i))
			_, _ = s.Write(packet)
			synctest.Wait()
		}
		close(f.after)
		lost, err := s.Close()
		if err != nil || lost < sent-mostHeld>>20-2 || lost >= sent-1 {
			t.Errorf("%d are lost: %v", lost, err)
		}
		b := f.b.Bytes() // +checklocksignore: the goroutine has ended
		if len(b) != (sent-int(lost))<<20 {
			t.Errorf("%d bytes, and %d packets are lost", len(b), lost)
		}
		for last := ""; len(b) > 0; b = b[1<<20:] {
			if n := string(b[:8]); n <= last || b[8] != 'x' {
				t.Fatalf("packet %q behind %q", n, last)
			} else {
				last = n
			}
		}
	})
}

// again are three queue pairs with the same number, two of them of one process. The first event of
// the first two is a log record, which has no PID. Work requests of the first two stay in
// their queues.
var again = []Event{
	{At: at(0), Kind: Note, QP: 17, Op: "joined"},
	{At: at(10), Kind: Rang, PID: 7, QP: 17, N: 1000},
	{At: at(20), Kind: Post, PID: 7, QP: 17, ID: 0x1, Op: "Send"},
	{At: at(30), Kind: Forgotten, PID: 7, QP: 17, Text: "it is destroyed"},
	{At: at(60000000), Kind: Note, QP: 17, Op: "joined"},
	{At: at(60000010), Kind: Rang, PID: 8, QP: 17, N: 1},
	{At: at(60000020), Kind: Post, PID: 8, QP: 17, ID: 0x2, Op: "Send"},
	{At: at(60000030), Kind: Done, PID: 8, QP: 17, Status: "success", Seen: true},
	{At: at(60000040), Kind: Rang, PID: 8, QP: 17, N: 1000, Seq: 1},
	{At: at(60000050), Kind: Forgotten, PID: 8, QP: 17, Text: "it is destroyed"},
	{At: at(90000010), Kind: Rang, PID: 8, QP: 17, N: 1},
	{At: at(90000020), Kind: Post, PID: 8, QP: 17, ID: 0x3, Op: "Send"},
	{At: at(90000030), Kind: Done, PID: 8, QP: 17, Status: "success", Seen: true},
}

// TestSameNumber: the work requests of a queue pair are not taken for those of an earlier one with
// its number, and they belong to its process even if a log record without PID comes first.
func TestSameNumber(t *testing.T) {
	if text := writes(new(Text), again); !strings.Contains(text, "[pid 8] 12:01:00.000020 QP 17: post Send #0 wr_id 0x2, 0 bytes\n") {
		t.Errorf("the second queue pair has posted long ago:\n%s", text)
	}
	file := writes(&Timeline{Base: 100}, again)
	all, err := timeline.Check([]byte(file))
	if err != nil {
		t.Fatalf("%v\n%s", err, file)
	}
	const noon = 29*24*3600e6 + 12*3600e6 // since the beginning of the month
	n := 0
	for _, e := range all {
		want := map[any]struct {
			process string
			ts      float64
		}{"0x1": {"PID 7", noon + 10}, "0x2": {"PID 8", noon + 60000010}, "0x3": {"PID 8", noon + 90000010}}[e.Args["wr_id"]]
		if e.Phase != "B" {
			continue
		}
		if n++; e.Process != want.process || e.TS != want.ts || e.Track != "QP 17: work requests" {
			t.Errorf("%+v, want it in %s at %f", e, want.process, want.ts)
		}
	}
	if n != 3 {
		t.Errorf("%d work requests, want 3", n)
	}
}
