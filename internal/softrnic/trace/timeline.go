package trace

import (
	"cmp"
	"fmt"
	"strconv"
	"time"
)

// A Timeline writes events in the Trace Event Format of Chrome, which Perfetto reads too: an array
// with an object on each line. The array is never closed, which readers allow. So the file of a
// program that was killed is no worse than others, and the lines of two files, behind the first
// bracket, make one file.
type Timeline struct {
	// Base is the number of the first process and track. The numbers of two files that are read
	// together must differ.
	Base uint32

	next      uint32
	processes map[int]uint32
	tracks    map[trackKey]*track
	pairs     map[uint32]*pair
	began     time.Time // the beginning of the month of the first event
}

// A trackKey names a track of a process.
type trackKey struct {
	kind   trackKind
	pid    int
	number uint32 // of the thread, queue pair or queue
	lane   int
}

// A trackKind says what a track shows. Tracks are drawn in this order.
type trackKind uint8

const (
	trackNotes    trackKind = iota // all else
	trackThread                    // the commands of a thread
	trackOut                       // messages to the peer of a queue pair
	trackIn                        // messages from its peer
	trackReceives                  // receives that are filled
	trackRequests                  // work requests, from post to completion, each in the first free lane
	trackQueue                     // a completion queue
)

// A track is a row of the picture.
type track struct {
	pid, tid uint32
	last     time.Time // when the last message on it ends
}

// A pair is a queue pair.
type pair struct {
	pid    int
	index  int // in the order in which they were first seen
	posts  posts
	open   []span // work requests under way, in order
	lanes  []lane
	filled bool // a receive is being filled
}

// A span is a work request under way.
type span struct {
	number uint64
	lane   int
}

// A lane is a row of work requests that do not overlap.
type lane struct {
	busy bool
	free time.Time // when the last one ended
}

// drawn is the least length of a message in the picture.
const drawn = 100 * time.Nanosecond

// Begin appends the beginning of the array.
func (t *Timeline) Begin(b []byte) []byte {
	t.processes, t.tracks, t.pairs = make(map[int]uint32), make(map[trackKey]*track), make(map[uint32]*pair)
	t.next = t.Base
	return append(b, "[\n"...)
}

// Append appends the lines of an event.
func (t *Timeline) Append(b []byte, e *Event) []byte {
	if t.began.IsZero() {
		y, m, _ := e.At.UTC().Date()
		t.began = time.Date(y, m, 1, 0, 0, 0, 0, time.UTC)
	}
	var p *pair
	if e.QP != 0 {
		p = t.pair(e)
	}
	switch e.Kind {
	case Command:
		b, o := t.begin(b, "X", cmp.Or(e.Op, "command"), trackKey{trackThread, e.PID, uint32(e.TID), 0}, e.At)
		o.duration(e.Dur).text("arguments", e.Text).text("result", e.Status)
		return o.end(b)
	case Process:
		t.processName(&b, e.PID, e.Text)
		return b
	case Rang:
		p.posts.rang(e)
		return b
	case Post:
		return t.post(b, p, e)
	case Done:
		return t.done(b, p, e)
	case Forgotten:
		for len(p.open) > 0 {
			b = t.closes(b, p, e.QP, e.At, e.Text)
		}
		p.posts = nil
		return b
	case Take:
		b = t.filled(b, p, e, "no more")
		b, o := t.begin(b, "B", "receive", trackKey{trackReceives, p.pid, e.QP, 0}, e.At)
		p.filled = true
		return o.hex("wr_id", e.ID).end(b)
	case Filled:
		return t.filled(b, p, e, e.Status)
	case Completion:
		name := e.Op
		if e.Status != success {
			name += ": " + e.Status
		}
		b, o := t.begin(b, "i", name, trackKey{trackQueue, e.PID, e.Queue, 0}, e.At)
		return o.number("qp_num", uint64(e.QP)).hex("wr_id", e.ID).number("bytes", uint64(e.N)).text("status", e.Status).end(b)
	case Out:
		return t.message(b, p, e, trackOut, "s")
	case In:
		return t.message(b, p, e, trackIn, "f")
	case Lost:
		b, o := t.begin(b, "i", fmt.Sprintf("%d events are missing", e.N), trackKey{kind: trackNotes}, e.At)
		return o.end(b)
	}
	pid := e.PID
	if p != nil {
		pid = p.pid
	}
	b, o := t.begin(b, "i", e.Op, trackKey{trackNotes, pid, 0, 0}, e.At)
	if p != nil {
		o.number("qp_num", uint64(e.QP))
	}
	return o.text("what", e.Text).end(b)
}

const success = "success"

// pair returns the queue pair of an event. The process is that of the last event that has one: log
// records have none, and a queue pair of another process may have the number of one that is gone.
func (t *Timeline) pair(e *Event) *pair {
	p := t.pairs[e.QP]
	switch {
	case p == nil:
		p = &pair{pid: e.PID, index: len(t.pairs)}
	case e.PID == 0 || e.PID == p.pid:
		return p
	case p.pid == 0:
		p.pid = e.PID
	default:
		p = &pair{pid: e.PID, index: p.index}
	}
	t.pairs[e.QP] = p
	return p
}

// post begins the span of a work request, in the first lane that has been free since it was posted.
func (t *Timeline) post(b []byte, p *pair, e *Event) []byte {
	at := p.posts.took(e)
	n := 0
	for n < len(p.lanes) && (p.lanes[n].busy || p.lanes[n].free.After(at)) {
		n++
	}
	if n == len(p.lanes) {
		p.lanes = append(p.lanes, lane{})
	}
	p.lanes[n].busy = true
	p.open = append(p.open, span{e.Seq, n})
	b, o := t.begin(b, "B", e.Op, trackKey{trackRequests, p.pid, e.QP, n}, at)
	o.number("number", e.Seq).hex("wr_id", e.ID).number("bytes", uint64(e.N))
	if e.Seen {
		o.hex("remote_addr", e.Addr).hex("rkey", uint64(e.Key))
	}
	if wait := e.At.Sub(at); wait > 0 {
		o.text("taken by the device after", wait.String())
	}
	return o.text("flags", e.Text).end(b)
}

// done ends the span of a work request, and those in front of it, whose ends have been lost.
func (t *Timeline) done(b []byte, p *pair, e *Event) []byte {
	for len(p.open) > 0 && p.open[0].number < e.Seq {
		b = t.closes(b, p, e.QP, e.At, "")
	}
	if len(p.open) > 0 && p.open[0].number == e.Seq {
		b = t.closes(b, p, e.QP, e.At, e.Status)
	}
	return b
}

// closes ends the oldest span.
func (t *Timeline) closes(b []byte, p *pair, qp uint32, at time.Time, status string) []byte {
	s := p.open[0]
	p.open = p.open[1:]
	p.lanes[s.lane] = lane{free: at}
	b, o := t.begin(b, "E", "", trackKey{trackRequests, p.pid, qp, s.lane}, at)
	return o.text("status", status).end(b)
}

// filled ends the span of a receive, if one is open.
func (t *Timeline) filled(b []byte, p *pair, e *Event, status string) []byte {
	if !p.filled {
		return b
	}
	p.filled = false
	b, o := t.begin(b, "E", "", trackKey{trackReceives, p.pid, e.QP, 0}, e.At)
	return o.number("bytes", uint64(e.N)).text("status", status).end(b)
}

// message draws a message, and an arrow to the other end, whose half has the same number. A message
// of one segment has no length. It is drawn with one, behind the message in front of it.
func (t *Timeline) message(b []byte, p *pair, e *Event, kind trackKind, arrow string) []byte {
	key := trackKey{kind, p.pid, e.QP, 0}
	at := e.At.Add(-e.Dur)
	row := t.track(&b, key)
	if at.Before(row.last) {
		at = row.last
	}
	length := max(e.At.Sub(at), drawn)
	row.last = at.Add(length)
	b, o := t.begin(b, "X", e.Op, key, at)
	o.duration(length).number("bytes", uint64(e.N))
	if e.Seen {
		o.hex("remote_addr", e.Addr).hex("rkey", uint64(e.Key))
	}
	b = o.text("what", e.Text).end(b)
	if e.Flow == 0 {
		return b
	}
	b, o = t.begin(b, arrow, "message", key, at.Add(length/2)) // readers round, and look for the slice at this time
	o.b = append(o.b, `,"cat":"message","id":"0x`...)
	o.b = append(strconv.AppendUint(o.b, e.Flow, 16), '"')
	if arrow == "f" {
		o.b = append(o.b, `,"bp":"e"`...)
	}
	return o.end(b)
}

// track returns the row of a key. A new one gets its name.
func (t *Timeline) track(b *[]byte, k trackKey) *track {
	if x := t.tracks[k]; x != nil {
		return x
	}
	pid := t.process(b, k.pid)
	t.next++
	x := &track{pid: pid, tid: t.next}
	t.tracks[k] = x
	var name string
	switch k.kind {
	case trackNotes:
		name = "rddp run"
	case trackThread:
		name = fmt.Sprintf("thread %d: commands", k.number)
	case trackRequests:
		name = fmt.Sprintf("QP %d: work requests", k.number)
		if k.lane > 0 {
			name = fmt.Sprintf("QP %d: and %d more", k.number, k.lane)
		}
	case trackOut:
		name = fmt.Sprintf("QP %d: to the peer", k.number)
	case trackIn:
		name = fmt.Sprintf("QP %d: from the peer", k.number)
	case trackReceives:
		name = fmt.Sprintf("QP %d: receives", k.number)
	case trackQueue:
		name = fmt.Sprintf("CQ %d: completions", k.number)
	}
	*b = x.named(*b, "thread_name", name)
	*b = append(fmt.Appendf(*b, `{"ph":"M","name":"thread_sort_index","pid":%d,"tid":%d,"args":{"sort_index":%d}},`, x.pid, x.tid, t.place(k)), '\n')
	return x
}

// place returns the place of a track among those of its process. Queue pairs are in the order in
// which they were first seen.
func (t *Timeline) place(k trackKey) int {
	const most, pairs, queues = 1 << 10, 1 << 10, 1 << 28
	switch k.kind {
	case trackNotes, trackThread:
		return int(k.kind)
	case trackQueue:
		return queues
	}
	return pairs + t.pairs[k.number].index*most + int(k.kind) + min(k.lane, most-int(trackQueue)-1)
}

// process returns the number of a process in the file.
func (t *Timeline) process(b *[]byte, pid int) uint32 {
	if _, ok := t.processes[pid]; !ok {
		name := "rddp run"
		if pid != 0 {
			name = fmt.Sprintf("PID %d", pid)
		}
		t.processName(b, pid, name)
	}
	return t.processes[pid]
}

// processName gives a process a name, and a number if it has none.
func (t *Timeline) processName(b *[]byte, pid int, name string) {
	n, ok := t.processes[pid]
	if !ok {
		t.next++
		n = t.next
		t.processes[pid] = n
	}
	x := track{pid: n, tid: n}
	*b = x.named(*b, "process_name", name)
}

// named appends the name of a process or track.
func (x *track) named(b []byte, what, name string) []byte {
	b = fmt.Appendf(b, `{"ph":"M","name":"%s","pid":%d,"tid":%d,"args":{"name":`, what, x.pid, x.tid)
	return append(appendString(b, name), "}},\n"...)
}

// An object is an event of the file that is being written.
type object struct {
	b    []byte
	args bool
}

// begin begins an object. It returns b, which may have got the name of a new track.
func (t *Timeline) begin(b []byte, phase, name string, k trackKey, at time.Time) ([]byte, *object) {
	x := t.track(&b, k)
	o := &object{b: append(make([]byte, 0, 256), `{"ph":"`...)}
	o.b = append(append(o.b, phase...), '"')
	if name != "" {
		o.b = appendString(append(o.b, `,"name":`...), name)
	}
	if phase == "i" {
		o.b = append(o.b, `,"s":"t"`...)
	}
	o.b = strconv.AppendUint(append(o.b, `,"pid":`...), uint64(x.pid), 10)
	o.b = strconv.AppendUint(append(o.b, `,"tid":`...), uint64(x.tid), 10)
	o.b = appendMicros(append(o.b, `,"ts":`...), at.Sub(t.began))
	return b, o
}

// appendMicros appends a duration in microseconds.
func appendMicros(b []byte, d time.Duration) []byte {
	b = append(strconv.AppendInt(b, int64(d/time.Microsecond), 10), '.')
	n := int(d % time.Microsecond)
	return append(b, byte('0'+n/100), byte('0'+n/10%10), byte('0'+n%10))
}

func (o *object) duration(d time.Duration) *object {
	o.b = appendMicros(append(o.b, `,"dur":`...), max(d, 0))
	return o
}

// arg begins an argument.
func (o *object) arg(name string) {
	if !o.args {
		o.b = append(o.b, `,"args":{`...)
		o.args = true
	} else {
		o.b = append(o.b, ',')
	}
	o.b = append(appendString(o.b, name), ':')
}

func (o *object) number(name string, n uint64) *object {
	o.arg(name)
	o.b = strconv.AppendUint(o.b, n, 10)
	return o
}

func (o *object) hex(name string, n uint64) *object {
	o.arg(name)
	o.b = append(appendHex(append(o.b, '"'), n), '"')
	return o
}

// text adds an argument, unless it is empty.
func (o *object) text(name, s string) *object {
	if s != "" {
		o.arg(name)
		o.b = appendString(o.b, s)
	}
	return o
}

// end appends the object to b.
func (o *object) end(b []byte) []byte {
	if o.args {
		o.b = append(o.b, '}')
	}
	return append(append(b, o.b...), "},\n"...)
}

// appendString appends a string in the notation of JSON.
func appendString(b []byte, s string) []byte {
	b = append(b, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r < ' ' || r == 0x7f:
			b = fmt.Appendf(b, `\u%04x`, r)
		default:
			b = append(b, string(r)...)
		}
	}
	return append(b, '"')
}
