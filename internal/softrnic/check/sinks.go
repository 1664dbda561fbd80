package check

import "slices"

// Sinks has the memory that Reads and atomics under way fill, of all queue pairs of a protection
// domain.
type Sinks struct{ all map[any]*sink } // by what names the Read

type sink struct {
	pair   string
	spans  []Span
	shared bool
}

// Reads is the event that the program posts a Read or an atomic to a queue pair, which is named by
// read, with this memory for the answer. If another one under way has some of that memory, the
// answer of that one may lie there before that of read. The answers of one queue pair come in
// order.
func (s *Sinks) Reads(pair string, read any, own []Span) (all []Finding) {
	x := &sink{pair: pair, spans: own}
	for _, y := range s.all {
		if f := overlaps(pair, "two Reads or atomics under way", own, y.spans); len(f) > 0 {
			all, x.shared, y.shared = append(all, f...), true, y.shared || y.pair != pair
		}
	}
	if s.all == nil {
		s.all = make(map[any]*sink)
	}
	s.all[read] = x
	return all
}

// Sends is the event that the program posts a work request to a queue pair with this memory as its
// payload. It returns reading if the payload may be what Reads under way bring: a fence makes it
// wait for those of the queue pair.
func (s *Sinks) Sends(pair, work string, own []Span, fenced bool) (all []Finding, reading bool) {
	for _, y := range s.all {
		if y.pair == pair && fenced {
			reading = true
			continue
		}
		for _, x := range own {
			if len(all) == 0 && slices.ContainsFunc(y.spans, x.Overlaps) {
				all, reading = append(all, SendsSink(pair, work)), true
			}
		}
	}
	return all, reading
}

// SendsSink is the event that the program posts a work request with memory as its payload that a
// Read fills, whose completion it has not polled.
func SendsSink(pair, work string) Finding {
	return Finding{Sink, pair, "the work request " + work + " sends memory that a Read or an atomic under way fills: without IBV_SEND_FENCE it may send what was there before"}
}

// Reading returns how many Reads and atomics of a queue pair are under way.
func (s *Sinks) Reading(pair string) (n int) {
	for _, y := range s.all {
		if y.pair == pair {
			n++
		}
	}
	return n
}

// IsShared reports whether the answer of another Read or atomic may lie in the memory for that of
// read.
func (s *Sinks) IsShared(read any) bool { x := s.all[read]; return x != nil && x.shared }

// HasRead is the event that a Read or an atomic is over.
func (s *Sinks) HasRead(read any) { delete(s.all, read) }

// Forgets is the event that the Reads of a queue pair are over.
func (s *Sinks) Forgets(pair string) {
	for read, x := range s.all {
		if x.pair == pair {
			delete(s.all, read)
		}
	}
}
