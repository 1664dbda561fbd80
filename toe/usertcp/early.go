package usertcp

import (
	"sync"
	"time"

	"gvisor.dev/gvisor/pkg/tcpip/header"
)

const (
	// minRun is the length in bytes of the shortest run that is worth showing: an FPDU with one
	// byte of payload in a Tagged Buffer has 24.
	minRun = 24

	// maxRuns and maxRunBytes bound the runs that wait for ReadSegment. The reader takes the runs
	// as they come, so a longer queue would help only a reader that is too slow anyway.
	maxRuns     = 256
	maxRunBytes = 512 << 10
)

// EarlyStats counts what the tap did with segments that arrived behind a gap.
type EarlyStats struct {
	// Runs and Bytes count what ReadSegment has shown early.
	Runs, Bytes uint64

	// The other fields count segments that it has not shown, or not whole, by reason. TCP still
	// gets them, except those with a bad ACK or timestamp, and those that would leave too many
	// gaps.

	Short     uint64 // too short for an FPDU
	Again     uint64 // all its bytes had been seen behind the gap before
	Window    uint64 // not all of it is in the window
	ACK       uint64 // its ACK is not acceptable (RFC 5961 §5)
	Timestamp uint64 // its timestamp is missing or older than the last one (RFC 7323 §5)
	Checksum  uint64 // its checksum is wrong
	Full      uint64 // too much waits for ReadSegment, or the gaps are too many

	// Stale counts runs whose gap had closed before ReadSegment showed them, and runs that were
	// shown without their end, because the memory was too short. The latter are also counted in
	// Runs.
	Stale uint64
}

// add adds the counts of s.
func (t *EarlyStats) add(s *EarlyStats) {
	t.Runs += s.Runs
	t.Bytes += s.Bytes
	t.Short += s.Short
	t.Again += s.Again
	t.Window += s.Window
	t.ACK += s.ACK
	t.Timestamp += s.Timestamp
	t.Checksum += s.Checksum
	t.Full += s.Full
	t.Stale += s.Stale
}

// runs is the queue of runs that ReadSegment may show early.
type runs struct {
	on    bool   // ReadSegment has been called
	off   bool   // the program wants none, or the Stream is closed
	base  uint64 // position of stream offset 0
	list  []run
	bytes int
	last  run // shown last; its payload is nil if there is none, or if its bytes are no longer early
	stats EarlyStats
}

// A run is the payload of one segment. Its position is the number of the peer's bytes before it,
// from the first one: sequence numbers repeat after 4 GiB, and a reader that always finds bytes in
// order may not look at the runs for longer than that.
type run struct {
	position uint64
	payload  *packet
}

// runPool holds payloads whose memory can be reused.
var runPool = sync.Pool{New: func() any { return new(packet) }}

// inbound looks at a segment that arrives, other than a SYN, before TCP gets it. It returns false
// if TCP must not get the segment: because a blind attacker may have sent it, or because of the
// gaps that it would leave. gVisor accepts the data of any segment in the window, whatever its ACK
// and its timestamp are. It also keeps segments without regard to the number of gaps, and a segment
// of one byte takes hundreds of bytes of memory. A TCP may drop segments behind a gap, because the
// peer sends them again.
//
// A segment with an ACK that is not acceptable "MUST be discarded" (RFC 5961 §5.2). "If a non-RST
// segment is received without an expected TSopt, a TCP SHOULD silently drop the segment." (RFC 7323
// §3.2) A segment with an old timestamp is "not acceptable" (RFC 7323 §5.3).
func (f *flow) inbound(s *segment) (accepted bool) {
	kept, accepted := f.examine(s)
	if kept {
		f.stream.earlyArrived()
	}
	return accepted
}

// examine learns from a segment, and keeps its payload for ReadSegment to show early if
// appropriate. It reports whether it has kept the payload, and whether TCP may have the segment.
func (f *flow) examine(s *segment) (kept, accepted bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !s.isACK() || s.flags&header.TCPFlagRst != 0 || !f.sent.known && !f.isBegunBy(s) {
		return false, true
	}
	acknowledges, timely := f.acknowledgesLocked(s), f.isTimelyLocked(s)
	if accepted = acknowledges && timely; accepted {
		f.learnLocked(s)
	}
	kept, fits := f.keepLocked(s, acknowledges, timely)
	return kept, accepted && fits
}

// keepLocked keeps the payload of a segment for ReadSegment to show early if appropriate, and
// reports whether it has. acknowledges and timely say whether the ACK and the timestamp of the
// segment are acceptable. fits is false if the segment would leave too many gaps.
//
// +checklocks:f.mu
func (f *flow) keepLocked(s *segment, acknowledges, timely bool) (kept, fits bool) {
	if len(s.payload) == 0 {
		return false, true
	}
	r := seqRange{s.seq, s.seq + uint32(len(s.payload))}
	if !before(f.seen.next, r.start) {
		if acknowledges && timely && !before(f.sent.right, r.end) {
			f.seen.arrived(r.end)
		}
		return false, true
	}
	refused, fits := f.judgeLocked(s, r, acknowledges, timely)
	if !f.runs.on || f.runs.off {
		return false, fits
	}
	if refused != nil {
		*refused++
		return false, fits
	}
	f.runs.push(f.sent.received+uint64(s.seq-f.sent.ack), s.payload)
	return true, true
}

// acknowledgesLocked reports whether the ACK of a segment is acceptable. "The ACK value is
// considered acceptable only if it is in the range of ((SND.UNA - MAX.SND.WND) <= SEG.ACK <=
// SND.NXT)." (RFC 5961 §5.2) The range begins no earlier than the connection, so for an end that
// has sent little, an acceptable ACK is hard to guess.
//
// +checklocks:f.mu
func (f *flow) acknowledgesLocked(s *segment) bool {
	return !before(s.ack, f.sent.oldest) && !before(f.sent.next, s.ack)
}

// learnLocked learns the ACK and the window of a segment that is in our window, if the checksum is
// right. It ignores other segments: otherwise an attacker could make MAX.SND.WND so large that
// nearly every ACK is acceptable. We never have more than maxBuffer bytes in flight.
//
// +checklocks:f.mu
func (f *flow) learnLocked(s *segment) {
	t := &f.sent
	if end := s.seq + uint32(len(s.payload)); before(end, t.ack) || before(t.right, end) {
		return
	}
	_, peers := f.scales()
	window := min(uint32(s.window)<<peers, maxBuffer)
	if (before(t.una, s.ack) || t.maxWindow < window) && s.sumIsValid() {
		t.una, t.maxWindow = later(t.una, s.ack), max(t.maxWindow, window)
		t.oldest = later(t.oldest, t.una-t.maxWindow)
	}
}

// judgeLocked checks a segment behind a gap as TCP would, and records its bytes. refused is nil, or
// the counter of the reason why the segment is not shown early. fits is false if the segment would
// leave too many gaps. The checksum comes last of the checks, because it costs the most.
//
// +checklocks:f.mu
func (f *flow) judgeLocked(s *segment, r seqRange, acknowledges, timely bool) (refused *uint64, fits bool) {
	stats := &f.runs.stats
	switch {
	case before(f.sent.right, r.end):
		return &stats.Window, true
	case !acknowledges:
		return &stats.ACK, true
	case f.seen.has(r):
		return &stats.Again, true
	case !timely:
		return &stats.Timestamp, true
	case !s.sumIsValid():
		return &stats.Checksum, true
	case !f.seen.add(r):
		return &stats.Full, false
	case len(s.payload) < minRun:
		return &stats.Short, true
	case f.runs.isFull(len(s.payload)):
		return &stats.Full, true
	}
	return nil, true
}

// maxIdle is the time after which TS.Recent is too old to judge a timestamp: the timestamp clock of
// the peer may have wrapped. "If the connection has been idle more than 24 days" (RFC 7323 §5.5)
const maxIdle = 24 * 24 * time.Hour

// isTimelyLocked checks the timestamp of a segment, if our TCP sends timestamps.
// "If there is a Timestamps option in the arriving segment, SEG.TSval < TS.Recent, [...] then treat
// the arriving segment as not acceptable" (RFC 7323 §5.3)
//
// +checklocks:f.mu
func (f *flow) isTimelyLocked(s *segment) bool {
	if f.sent.stamped.IsZero() {
		return true
	}
	value, _, ok := timestamps(s.options)
	return ok && (!before(value, f.sent.timestamp) || time.Since(f.sent.stamped) > maxIdle)
}

// isFull reports whether there is no room for n more bytes.
func (q *runs) isFull(n int) bool { return len(q.list) >= maxRuns || q.bytes+n > maxRunBytes }

// push appends a copy of a segment's payload.
func (q *runs) push(position uint64, payload []byte) {
	c := runPool.Get().(*packet)
	c.b = append(c.b[:0], payload...)
	q.list = append(q.list, run{position, c})
	q.bytes += len(c.b)
}

// pop removes the first run and returns it. The caller puts its payload into the pool.
func (q *runs) pop() run {
	r := q.list[0]
	q.bytes -= len(r.payload.b)
	q.list[0].payload = nil
	q.list = q.list[1:]
	if len(q.list) == 0 {
		q.list = nil
	}
	return r
}

// setLast makes r the run that was shown last.
func (q *runs) setLast(r run) {
	if q.last.payload != nil {
		runPool.Put(q.last.payload)
	}
	q.last = r
}

// end returns the position after the run.
func (r run) end() uint64 { return r.position + uint64(len(r.payload.b)) }

// hasRun reports whether there is a run to show early to a reader that has read the bytes below
// stream offset off. It drops the runs that are no longer early.
func (f *flow) hasRun(off uint64) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs.dropStale(f.runs.base + off)
}

// dropStale drops the runs at the front that are no longer early, because everything below position
// has arrived in order. It reports whether a run is left.
func (q *runs) dropStale(position uint64) bool {
	if q.last.payload != nil && position >= q.last.position {
		q.setLast(run{})
	}
	for len(q.list) > 0 {
		if position < q.list[0].position {
			return true
		}
		runPool.Put(q.pop().payload)
		q.stats.Stale++
	}
	return false
}

// takeRun copies the first run to p, as far as it fits, and returns its length and stream offset. n
// is 0 if there is no run. If the run continues the one that was shown last, takeRun puts that one
// in front of it again: if the peer's segments do not end where its FPDUs do, an FPDU may lie in
// both.
func (f *flow) takeRun(p []byte, off uint64) (n int, at uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	q := &f.runs
	if !q.dropStale(q.base + off) {
		return 0, 0
	}
	r := q.pop()
	at = r.position
	if last := q.last; last.payload != nil && last.end() == at && len(last.payload.b)+len(r.payload.b) <= len(p) {
		at = last.position
		n = copy(p, last.payload.b)
	}
	fits := copy(p[n:], r.payload.b)
	n += fits
	q.stats.Runs++
	q.stats.Bytes += uint64(fits)
	if fits < len(r.payload.b) {
		q.stats.Stale++
	}
	q.setLast(r)
	return n, at - q.base
}

// stop drops all runs and shows no more, because the Stream is closed.
func (f *flow) stop() {
	f.show(false)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen.ranges = nil
}

// show switches the tap on or off for this connection.
func (f *flow) show(on bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.runs.off = !on
	if on {
		return
	}
	f.runs.setLast(run{})
	for len(f.runs.list) > 0 {
		runPool.Put(f.runs.pop().payload)
	}
}

// earlyStats returns the counts.
func (f *flow) earlyStats() EarlyStats {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.runs.stats
}
