package check

import (
	"strings"
	"testing"
)

// kindsOf returns the kinds of findings.
func kindsOf(all []Finding) (k []Kind) {
	for _, f := range all {
		k = append(k, f.Kind)
	}
	return k
}

// wants checks that all are of one kind, or that there are none.
func wants(t *testing.T, desc string, all []Finding, want ...Kind) {
	t.Helper()
	got := kindsOf(all)
	if len(got) != len(want) || len(got) > 0 && got[0] != want[0] {
		t.Errorf("%s: findings of kinds %v, want %v: %v", desc, got, want, all)
	}
}

// TestSendQueue: a queue without a signaled work request stays full, and one with more outstanding
// than it has places for is too full. Only a completion that is polled frees places.
func TestSendQueue(t *testing.T) {
	p := Pair{Name: "QP 1", MaxSend: 2}
	wants(t, "the first unsignaled one", p.Posts(0, false, 0, 0))
	wants(t, "the second", p.Posts(0, false, 0, 0))
	wants(t, "the third", p.Posts(0, false, 0, 0), SendQueue)
	p.Resets()
	for i := range 10 { // every second one is signaled, and its completion is polled before the next
		signaled := i%2 == 1
		wants(t, "a queue that is kept free", p.Posts(0, signaled, 0, i/2))
		if signaled {
			p.Completes(i/2 + 1)
		}
	}
	p.Resets()
	wants(t, "a signaled one", p.Posts(0, true, 0, 0))
	wants(t, "another one", p.Posts(0, true, 0, 0))
	p.Completes(1)
	wants(t, "one too many, because nothing is polled", p.Posts(0, true, 0, 0))
	wants(t, "the end of that", p.HasRoom(), SendQueue)
	p.Resets()
	wants(t, "three that are posted at once", p.Posts(0, true, 2, 0))
	p.Completes(1)
	wants(t, "one after a completion", p.Posts(0, true, 0, 1), SendQueue)
	p.Resets()
	wants(t, "one", p.Posts(0, true, 1, 0))
	wants(t, "a flush", p.Flushes(1, false, 0))
	wants(t, "the flush has given back the places", p.Posts(0, true, 1, 0))
}

// TestDestroyedPair: a queue pair that is destroyed has no signaled work request under way, and one
// that has had several has had a completion.
func TestDestroyedPair(t *testing.T) {
	p := Pair{Name: "QP 1", MaxSend: 4}
	wants(t, "an unused one", p.Ends(nil))
	wants(t, "one that waits", p.Ends([]bool{true}), Unfinished)
	p.Posts(1, false, 0, 0)
	wants(t, "a single unsignaled one", p.Ends(nil))
	p.Posts(2, false, 0, 0)
	p.Lends()
	wants(t, "two unsignaled ones, one with inline data", p.Ends(nil))
	p.Lends()
	wants(t, "two unsignaled ones", p.Ends(nil), Reuse)
	full := p
	full.MaxSend = 2
	if all := full.Ends(nil); len(all) != 1 || all[0].Kind != Reuse || !strings.Contains(all[0].Text, "full for ever") {
		t.Errorf("two unsignaled ones, and no room for a third: %v", all)
	}
	wants(t, "and a signaled one that waits", p.Ends([]bool{false, true}), Unfinished)
	p.Posts(3, true, 0, 0)
	wants(t, "a signaled one under way", p.Ends(nil), Unfinished)
	p.Completes(1)
	wants(t, "one that is carried out", p.Ends(nil))
	p.Posts(4, true, 0, 1)
	p.Flushes(1, false, 0)
	wants(t, "one that is flushed", p.Ends(nil))
	p.Denies()
	wants(t, "no room once", p.Ends(nil))
	p.Denies()
	wants(t, "no room, and the program does not mind", p.Ends(nil), SendQueue)
	p.GoesOn()
	wants(t, "no room, and the program goes on", p.Ends(nil))
}

// TestFullQueue: a program that finds no room, and then goes on, knows what ENOMEM means. One that
// begins its list again posts the first ones twice.
func TestFullQueue(t *testing.T) {
	for _, tt := range []struct {
		desc    string
		certain bool
		next    Work
		want    []Kind
	}{
		{"it goes on", true, 4, nil},
		{"it begins again", true, 1, []Kind{Again}},
		{"there may have been room, and it posts the same list once more", false, 1, nil},
	} {
		p := Pair{Name: "QP 1", MaxSend: 2}
		p.Fills(3, tt.certain)
		for i := range 3 {
			wants(t, tt.desc, p.Posts(Work(i+1), true, 2-i, 0))
		}
		for i := range 3 {
			p.Completes(i + 1)
		}
		p.Fills(3, tt.certain) // before the device takes what is posted next
		wants(t, tt.desc, p.Posts(tt.next, true, 2, 3), tt.want...)
		wants(t, "the end", p.HasRoom())
	}
	p := Pair{Name: "QP 1", MaxSend: 2}
	p.Fills(3, true)
	p.Posts(1, true, 2, 0)
	wants(t, "a program that stops when there is no room", p.HasRoom(), SendQueue)
	p = Pair{Name: "QP 1", MaxSend: 2}
	wants(t, "unsignaled ones that wait", p.Waits(make([]bool, 3)), SendQueue)
	p = Pair{Name: "QP 1", MaxSend: 2}
	p.Posts(1, false, 0, 0)
	wants(t, "unsignaled ones behind a signaled one", p.Waits([]bool{true, false, false}))
}

// TestFence: a payload that a Read under way brings needs a fence, and the memory of another queue
// pair's Read is not helped by one.
func TestFence(t *testing.T) {
	var s Sinks
	s.Reads("QP 1", 1, []Span{{100, 10}})
	for _, tt := range []struct {
		pair    string
		own     Span
		fenced  bool
		want    []Kind
		reading bool
	}{
		{"QP 1", Span{105, 10}, false, []Kind{Sink}, true}, {"QP 1", Span{105, 10}, true, nil, true}, {"QP 1", Span{200, 10}, false, nil, false},
		{"QP 2", Span{105, 10}, true, []Kind{Sink}, true},
	} {
		all, reading := s.Sends(tt.pair, "0x1", []Span{tt.own}, tt.fenced)
		if wants(t, "a Send", all, tt.want...); reading != tt.reading {
			t.Errorf("a Send of %v, fenced: %v: reading %v, want %v", tt.own, tt.fenced, reading, tt.reading)
		}
	}
	p := Pair{Name: "QP 1"}
	wants(t, "as many as the peer takes", p.Reading(s.Reading("QP 1"), 16, 1))
	wants(t, "one more", p.Reading(2, 16, 1), Depth)
	wants(t, "one more, of which this end lets one wait", p.Reading(2, 1, 1))
}

// TestReceivesAfterError: one receive in ERR may be there to drain the queue.
func TestReceivesAfterError(t *testing.T) {
	p := Pair{Name: "QP 1"}
	wants(t, "the flush of what was posted before", p.FlushesReceives(9, 9, true, 1))
	wants(t, "answers to what was polled with the error", p.FlushesReceives(9, 9, true, 1))
	wants(t, "one after a later poll", p.FlushesReceives(1, 9, true, 2))
	wants(t, "a second one", p.FlushesReceives(1, 9, true, 2), State)

	p = Pair{Name: "QP 1"}
	wants(t, "the flush of what was posted before", p.FlushesReceives(9, 2, true, 1))
	wants(t, "answers, and one to drain the queue", p.FlushesReceives(3, 2, true, 1))
	wants(t, "more than messages have come", p.FlushesReceives(3, 2, true, 1), State)
}

// TestMessages: a program has a message once it has polled its completion, and those behind what is
// remembered.
func TestMessages(t *testing.T) {
	var p Pair
	for n := range maxMessages + 10 {
		p.Comes(2*n + 1)
	}
	for _, tt := range []struct {
		polled int
		want   uint64
	}{{0, 10}, {2*9 + 1, 10}, {2*10 + 1, 11}, {2*10 + 2, 11}, {2 * (maxMessages + 10), maxMessages + 10}} {
		if got := p.HasMessages(tt.polled); got != tt.want {
			t.Errorf("with %d completions polled: %d messages, want %d", tt.polled, got, tt.want)
		}
	}
}

// TestPostsAfterError: one work request that is posted after an error is there to drain the queue.
// Those that were posted before the program could know of the error are no mistake.
func TestPostsAfterError(t *testing.T) {
	p := Pair{Name: "QP 1", MaxSend: 16}
	wants(t, "the flush of what was posted before", p.Flushes(9, true, 1))
	wants(t, "an error that is not polled", p.Flushes(9, false, 1))
	wants(t, "answers to what was polled with the error", p.Flushes(9, true, 2))
	wants(t, "another one", p.Flushes(1, true, 2))
	wants(t, "one after another poll", p.Flushes(1, true, 3))
	wants(t, "a second one", p.Flushes(1, true, 3), State)
	p.Resets()
	wants(t, "a new life", p.Flushes(9, true, 3))
	wants(t, "one in it", p.Flushes(9, true, 4))
}

// TestAttributes: codes of time that mean for ever or 655 ms, and depths that cards do not have.
func TestAttributes(t *testing.T) {
	good := Attributes{Timeout: 14, Retry: 7, RNRRetry: 7, MinRNRTimer: 12, MaxRead: 16, MaxDestRead: 0}
	for _, tt := range []struct {
		desc   string
		change func(*Attributes)
		want   []Kind
	}{
		{"good ones", func(*Attributes) {}, nil},
		{"timeout 0", func(a *Attributes) { a.Timeout = 0 }, []Kind{Wait}},
		{"min_rnr_timer 0", func(a *Attributes) { a.MinRNRTimer = 0 }, []Kind{Wait}},
		{"retry_cnt 0", func(a *Attributes) { a.Retry = 0 }, []Kind{Retry}},
		{"max_rd_atomic 17", func(a *Attributes) { a.MaxRead = 17 }, []Kind{Depth}},
		{"max_dest_rd_atomic 17", func(a *Attributes) { a.MaxDestRead = 17 }, []Kind{Depth}},
	} {
		a, p := good, Pair{Name: "QP 1"}
		tt.change(&a)
		wants(t, tt.desc, p.Looks(&a), tt.want...)
		wants(t, tt.desc+" again", p.Looks(&a))
	}
	p := Pair{Name: "QP 1"}
	for _, tt := range []struct {
		desc         string
		sges, inline uint32
		want         []Kind
	}{
		{"lists that cards have", MostSGEs, MostInline, nil},
		{"lists that cards do not have", MostSGEs + 1, 0, []Kind{Depth}},
		{"inline data that cards do not have", 1, MostInline + 1, []Kind{Depth}},
	} {
		p.Asks(tt.sges, tt.inline)
		wants(t, tt.desc, p.Begins(), tt.want...)
		wants(t, tt.desc+" again", p.Begins())
	}
	wants(t, "a wait with an end", p.WaitsForReceive(6))
	wants(t, "a wait without an end", p.WaitsForReceive(7), Wait)
}

// TestCompletionQueue: more completions than the program has asked for, or that may come.
func TestCompletionQueue(t *testing.T) {
	q := CQ{Name: "CQ 1", Entries: 2}
	wants(t, "the first", q.Puts(7, false, false, 1))
	wants(t, "the second", q.Puts(7, false, false, 2))
	wants(t, "the third", q.Puts(7, false, false, 3), CompletionQueue)
	wants(t, "as many as there is room for", q.MayCome(1, 1, 0))
	wants(t, "one more", q.MayCome(1, 1, 1), CompletionQueue)
}

// TestPolledError: the program has polled an error once it has polled so many completions.
func TestPolledError(t *testing.T) {
	q := CQ{Name: "CQ 1", Entries: 9}
	q.Puts(7, false, false, 1)
	q.Puts(7, true, false, 2)
	q.Puts(8, false, false, 3)
	for n, want := range []bool{true, true, false, false} {
		if got := q.HasPolledError(7, n); got != want {
			t.Errorf("with %d completions left: %t, want %t", n, got, want)
		}
	}
	if q.HasPolledError(8, 0) {
		t.Error("a queue pair without an error has one")
	}
	if q.Forgets(7); q.HasPolledError(7, 0) {
		t.Error("a queue pair that was reset has an error")
	}
}

// TestSharedMemory: two lists with equal memory are a note, and others that overlap a mistake.
func TestSharedMemory(t *testing.T) {
	p := Pair{Name: "QP 1"}
	wants(t, "apart", p.Takes("SRQ 1", []Span{{0, 10}}, [][]Span{{{10, 10}}, {{20, 10}}}))
	wants(t, "equal", p.Takes("SRQ 1", []Span{{0, 10}}, [][]Span{{{0, 10}}}), SameBuffer)
	wants(t, "in part", p.Takes("SRQ 1", []Span{{0, 10}}, [][]Span{{{20, 5}, {9, 10}}}), Overlap)
}

// TestSinks: so are two Reads. Where another answer may come first, the memory is shared.
func TestSinks(t *testing.T) {
	var s Sinks
	shared := func(desc string, want ...bool) {
		t.Helper()
		for i, w := range want {
			if got := s.IsShared(i + 1); got != w {
				t.Errorf("%s: Read %d: %t, want %t", desc, i+1, got, w)
			}
		}
	}
	wants(t, "the first Read", s.Reads("QP 1", 1, []Span{{0, 10}}))
	wants(t, "one beside it", s.Reads("QP 1", 2, []Span{{10, 10}}))
	shared("two apart", false, false)
	wants(t, "one over the first", s.Reads("QP 1", 3, []Span{{5, 5}}), Overlap)
	shared("two of a queue pair", false, false, true)
	wants(t, "one of another queue pair", s.Reads("QP 2", 4, []Span{{10, 10}}), SameBuffer)
	shared("two of two queue pairs", false, true, true, true)
	s.HasRead(4)
	shared("one of them is over", false, true, true, false)
	s.Forgets("QP 1")
	wants(t, "a Read behind them", s.Reads("QP 2", 5, []Span{{0, 30}}))
}

// TestOverwritten: a message may lie over another one once the program has polled that one.
func TestOverwritten(t *testing.T) {
	q := CQ{Name: "CQ 1", Entries: 9}
	comes := func(id uint64, n int) []Finding {
		all := q.Places("QP 1", 7, id, []Span{{0, 10}}, n)
		q.Puts(7, false, false, n+1)
		return all
	}
	wants(t, "the first", comes(1, 0))
	wants(t, "the second, and the first is polled", comes(2, 0))
	wants(t, "the third, and the second is not polled", comes(3, 1), Overwritten)
	for id := range uint64(10 * maxMessages) {
		comes(id, 1)
	}
	if len(q.messages) > maxMessages {
		t.Errorf("%d messages are remembered", len(q.messages))
	}
	q.Forgets(8)
	wants(t, "another queue pair is destroyed", comes(1, 1), Overwritten)
	q.Forgets(7)
	wants(t, "the first of a queue pair that has taken the place of another one", comes(1, 1))
}

// TestFreed: the completion of a signaled work request that is polled frees those up to it.
func TestFreed(t *testing.T) {
	p := Pair{Name: "QP 1", MaxSend: 9}
	for i := range 4 {
		p.Posts(0, i%2 == 1, 0, 0)
	}
	p.Completes(7)
	for polled, want := range map[int]int{6: 0, 7: 2, 99: 2} {
		if got := p.Freed(polled); got != want {
			t.Errorf("with %d completions polled, %d work requests are over, want %d", polled, got, want)
		}
	}
}

// TestTakes: receives with the same memory are found once, and one that overlaps behind
// them as well.
func TestTakes(t *testing.T) {
	t.Parallel()
	p := Pair{Name: "queue pair 1"}
	own, overlapping := []Span{{Addr: 64, Len: 64}}, []Span{{Addr: 96, Len: 64}}
	wants(t, "receives with the same memory", p.Takes("queue pair 1", own, [][]Span{own, {{Addr: 128, Len: 64}}, own, overlapping, own, overlapping}), SameBuffer, Overlap)
}
