// Package trace writes what a device and its programs do, as a timeline (the JSON that Perfetto and
// Chrome read) or as text, one line for each event.
//
// A device passes an [Event] to a [Tracer] and goes on: a goroutine of the Tracer puts it into
// words and writes it. Between the two is a queue. If it is full, because a disk is slow or nobody
// reads a pipe, events are lost, and the file and the log say how many. So a file can neither stop
// a device nor lose an event without a word. A [Sink] is that queue, for captures too.
//
// The formats are values without goroutine, lock or clock: see [Text] and [Timeline].
package trace
