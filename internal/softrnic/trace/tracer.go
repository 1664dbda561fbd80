package trace

import (
	"io"
	"time"
)

// A Format puts events into words. It is a value without goroutine, lock or clock.
type Format interface {
	// Begin appends the beginning of a file.
	Begin(b []byte) []byte
	// Append appends an event.
	Append(b []byte, e *Event) []byte
}

// A Tracer writes events to a file. Any goroutine may use it. A nil Tracer does nothing.
type Tracer struct {
	sink   *Sink[Event]
	format Format
	began  time.Time
	told   uint64 // how many events the file says are lost
}

// queued is how many events wait for the file at most.
const queued = 1 << 16

// New returns a Tracer that writes to out.
func New(out io.Writer, f Format) *Tracer {
	t := &Tracer{format: f, began: time.Now()}
	t.sink = newSink(out, queued, nil, t.append)
	return t
}

// append appends an event, and says what has been lost in front of it. Without an event, it appends
// the beginning of the file.
func (t *Tracer) append(b []byte, e *Event) []byte {
	if e == nil {
		return t.format.Begin(b)
	}
	if lost := t.sink.Lost(); lost > t.told {
		b = t.format.Append(b, &Event{Kind: Lost, At: e.At, N: uint32(lost - t.told)})
		t.told = lost
	}
	return t.format.Append(b, e)
}

// Now returns the time, which goes on evenly even if somebody sets the clock meanwhile.
func (t *Tracer) Now() (now time.Time) {
	if t != nil {
		now = t.began.Add(time.Since(t.began))
	}
	return now
}

// Put writes an event, sooner or later.
func (t *Tracer) Put(e Event) {
	if t == nil {
		return
	}
	if e.At.IsZero() {
		e.At = t.Now()
	}
	t.sink.Put(e)
}

// Close writes what has not been written, and ends the Tracer. It returns how many events are lost,
// and the error of the file.
func (t *Tracer) Close() (lost uint64, err error) { return t.sink.Close() }
