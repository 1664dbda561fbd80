package inbox

import (
	"fmt"
	"slices"
	"testing"

	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
)

// A model is an inbox in the plainest form: strings in a list.
type model struct {
	stream            bool
	messages          []modelMessage
	behind, ended     bool
	discards, lost    bool
	memories          int // memories that were given to messages
	notesOf, notesEnd int // messages whose note was added, and taken
}

type modelMessage struct {
	data   string
	room   int // bytes behind data in its memory
	begun  bool
	number int
}

// A trial is an inbox and its model.
type trial struct {
	b     Inbox[int]
	m     model
	freed []int // memories that the inbox has freed
	sent  byte  // the next byte of the peer
}

func newTrial(stream bool) *trial {
	x := &trial{m: model{stream: stream}}
	x.b.Stream = stream
	return x
}

// arrives adds a message of n bytes, in memory with room for room more.
func (x *trial) arrives(n, room int) {
	data := make([]byte, n, n+room)
	for i := range data {
		data[i] = 'a' + x.sent%26
		x.sent++
	}
	if x.b.Discards() != x.m.discards {
		return // check reports that
	}
	if x.m.discards {
		x.b.Lose()
		x.m.lost = true
		return
	}
	if last := len(x.m.messages) - 1; x.m.stream && last >= 0 && x.m.messages[last].room >= n && n < bytestream.Combine {
		x.m.messages[last].room -= n
		x.m.messages[last].data += string(data)
		if !x.b.Join(data) {
			x.b.Add(-1, data) // so that check reports it
		}
		return
	}
	if !x.m.stream {
		x.m.notesOf++
		x.b.AddNote(&rdmap.Completion{Len: uint32(n), Immediate: uint64(x.m.notesOf), HasImmediate: true})
	} else if x.b.Join(data) {
		x.b.Add(-1, nil)
		return
	}
	x.m.memories++
	x.b.Add(x.m.memories, data)
	x.m.messages = append(x.m.messages, modelMessage{data: string(data), room: room, number: x.m.memories})
}

// reads makes a Read of n bytes take what is there, and returns an error if that differs from the
// model.
func (x *trial) reads(n int) error {
	want, note, free := "", 0, []int{}
	for len(x.m.messages) > 0 {
		first := &x.m.messages[0]
		if !first.begun && !x.m.stream {
			x.m.notesEnd++
			first.begun, note = true, x.m.notesEnd
		}
		k := min(n-len(want), len(first.data))
		want += first.data[:k]
		if first.data = first.data[k:]; first.data != "" {
			break
		}
		free = append(free, first.number)
		x.m.messages = x.m.messages[1:]
		if !x.m.stream {
			break
		}
	}
	before := len(x.freed)
	p := make([]byte, n)
	var c rdmap.Completion
	got := x.b.Take(p, &c, x.free)
	if string(p[:got]) != want || int(c.Immediate) != note || !slices.Equal(x.freed[before:], free) {
		return fmt.Errorf("Take(%d) = %q with note %d, and frees %d, want %q, %d and %d", n, p[:got], c.Immediate, x.freed[before:], want, note, free)
	}
	return nil
}

func (x *trial) free(memory int) { x.freed = append(x.freed, memory) }

// closes closes the way in, as the program does, and returns an error if the result differs from
// the model.
func (x *trial) closes() error {
	x.m.discards = true
	x.m.lost = x.m.lost || len(x.m.messages) > 0
	want := []int{}
	for _, m := range x.m.messages {
		want = append(want, m.number)
	}
	x.m.messages = nil
	before := len(x.freed)
	if lost := x.b.Close(x.free); lost != x.m.lost || !slices.Equal(x.freed[before:], want) {
		return fmt.Errorf("Close = %t, and frees %d, want %t and %d", lost, x.freed[before:], x.m.lost, want)
	}
	return nil
}

// check returns an error if the inbox shows something else than the model.
func (x *trial) check() error {
	b, m := &x.b, &x.m
	over := m.ended || m.discards
	if b.Len() != len(m.messages) || b.HasEnded() != m.ended || b.Discards() != m.discards || b.HasLost() != m.lost || b.IsOver() != over {
		return fmt.Errorf("the inbox has %d messages (ended %t, discards %t, lost %t), want %d (%t, %t, %t)",
			b.Len(), b.HasEnded(), b.Discards(), b.HasLost(), len(m.messages), m.ended, m.discards, m.lost)
	}
	at := 0
	b.All(func(memory, unread int) {
		if memory != m.messages[at].number || unread != len(m.messages[at].data) {
			at = -1 << 20
		}
		at++
	})
	if at != len(m.messages) {
		return fmt.Errorf("All shows other messages than %v", m.messages)
	}
	for _, n := range []int{0, 1, 5, 4000} {
		want, whole := "", 0
		for _, message := range m.messages {
			k := min(n-len(want), len(message.data))
			want += message.data[:k]
			if k < len(message.data) {
				break
			}
			if whole++; !m.stream {
				break
			}
		}
		p := make([]byte, n)
		got, all, ended := b.Show(p)
		wantAll := whole == len(m.messages)
		if string(p[:got]) != want || all != wantAll || ended != (wantAll && over) {
			return fmt.Errorf("Show(%d) = %q, %t, %t, want %q, %t, %t", n, p[:got], all, ended, want, wantAll, wantAll && over)
		}
	}
	return nil
}

// events is everything that can happen to an inbox.
var events = []struct {
	name string
	do   func(x *trial) error
}{
	{"a short message", func(x *trial) error { x.arrives(3, 0); return nil }},
	{"a short message with room behind it", func(x *trial) error { x.arrives(3, 5); return nil }},
	{"a long message", func(x *trial) error { x.arrives(bytestream.Combine, 0); return nil }},
	{"a message of no bytes", func(x *trial) error {
		if !x.m.stream { // a message of no bytes holds no data of a byte stream
			x.arrives(0, 0)
		}
		return nil
	}},
	{"a Read of no bytes", func(x *trial) error { return x.reads(0) }},
	{"a Read of two bytes", func(x *trial) error { return x.reads(2) }},
	{"a long Read", func(x *trial) error { return x.reads(4000) }},
	{"the end", func(x *trial) error {
		x.b.End()
		x.m.ended, x.m.behind = x.m.ended || x.b.tail != tailCut, false
		return nil
	}},
	{"the end behind a rest", func(x *trial) error {
		x.b.EndBehind()
		x.m.behind = x.m.behind || !x.m.ended && x.b.tail != tailCut
		return nil
	}},
	{"the rest is there", func(x *trial) error {
		x.b.EndIfBehind()
		x.m.ended = x.m.ended || x.m.behind
		x.m.behind = false
		return nil
	}},
	{"the end is cut off", func(x *trial) error {
		x.b.Cut()
		x.m.ended = x.m.ended && x.b.tail != tailCut
		return nil
	}},
	{"CloseRead", func(x *trial) error { x.b.Discard(); x.m.discards = true; return nil }},
	{"Close", func(x *trial) error { return x.closes() }},
}

// TestEveryEvent: every row of four events, of a byte stream and of messages, has the same effect
// on an inbox as on a list of strings. So every event comes in every state, and every two events
// come in both orders.
func TestEveryEvent(t *testing.T) {
	rows := 0
	for _, stream := range []bool{true, false} {
		for row := range len(events) * len(events) * len(events) * len(events) {
			x, names := newTrial(stream), ""
			for range 4 {
				e := events[row%len(events)]
				row /= len(events)
				names += e.name + "; "
				err := e.do(x)
				if err == nil {
					err = x.check()
				}
				if err != nil {
					t.Fatalf("stream %t: %s%v", stream, names, err)
				}
			}
			rows++
		}
	}
	t.Logf("%d rows of 4 of %d events", rows, len(events))
}

// TestNotes: a Completion comes out of an inbox unchanged.
func TestNotes(t *testing.T) {
	var b Inbox[int]
	all := []rdmap.Completion{
		{Op: rdmap.WorkRecv, QPNum: 1, Len: 2, Solicited: true},
		{Op: rdmap.WorkRecv, Len: 3, HasInvalidated: true, Invalidated: 4},
		{Op: rdmap.WorkRecv, HasImmediate: true, Immediate: 1 << 63},
	}
	for i := range all {
		b.AddNote(&all[i])
	}
	b.EndNote(nil) // a Read that does not want it
	for i := range all[1:] {
		var c rdmap.Completion
		b.EndNote(&c)
		if c != all[1+i] {
			t.Errorf("%+v came in, and %+v comes out", all[1+i], c)
		}
	}
}

// TestTakeDoesNotAllocate: a short message passes through an inbox without an allocation.
func TestTakeDoesNotAllocate(t *testing.T) {
	for _, stream := range []bool{true, false} {
		b := Inbox[int]{Stream: stream}
		data, p, freed := make([]byte, 8), make([]byte, 8), 0
		c := rdmap.Completion{Len: 8}
		if n := testing.AllocsPerRun(100, func() {
			if !stream {
				b.AddNote(&c)
			}
			b.Add(1, data)
			b.Take(p, &c, func(int) { freed++ })
		}); n != 0 {
			t.Errorf("stream %t: %v allocations", stream, n)
		}
	}
}
