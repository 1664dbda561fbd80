package check

import "fmt"

// This file finds programs that wait for an event which does not come. An event tells of the first
// completion that comes after the program has asked for one, and of no other.

// A Waiting is how the threads of a process wait for the events of a completion channel, as
// somebody has seen it.
type Waiting struct {
	// Thread is one that goes on only when an event comes, or when it has waited long enough, or 0.
	Thread int
	// Alone says that it waits for nothing else.
	Alone bool
	// Others says that the process has other threads, and Busy that one of these is at work.
	Others, Busy bool
}

// How often in a row a program must be seen to wait before it counts as a mistake. Another thread
// may be about to poll.
const (
	looks       = 5
	looksOthers = 50
)

// An asked is what the program has asked to be told of by an event.
type asked uint8

const (
	nothing asked = iota
	solicitedMessage
	anyCompletion
)

// events are what is known of the events of a completion queue.
type events struct {
	asked asked
	by    int // the thread that has asked last; 0 if none has
	// Completions were there when the program asked for any: their numbers, or 0.
	late, lateLast int
	solicited      bool // an event for solicited messages has told of a completion, or would have

	front int     // the first completion that is there, at the last look
	vain  inVain  // how a thread was waiting for an event then
	seen  int     // how often in a row
	told  bool    // that counts as a mistake
	lacks Finding // what counts at the end, if nothing solicited comes until then
}

// An inVain says why the event that a thread waits for does not tell of the completions that are
// there.
type inVain uint8

const (
	notInVain inVain = iota
	askedLate
	notAsked
	askedForSolicited
)

// Arms is the event that a thread of the program asks for an event for the next completion.
func (q *CQ) Arms(thread, n int) {
	e := &q.events
	if e.asked, e.by, e.late = anyCompletion, thread, 0; n > 0 {
		e.late, e.lateLast = q.put-n+1, q.put
	}
}

// ArmsSolicited is the event that it asks for one for the next solicited message.
func (q *CQ) ArmsSolicited(thread int) {
	q.events.asked, q.events.by = max(q.events.asked, solicitedMessage), thread
}

// Fires is the event that the program gets the event that it has asked for.
func (q *CQ) Fires() { q.events.asked, q.events.late = nothing, 0 }

// MayTell reports whether the program has asked for an event.
func (q *CQ) MayTell() bool { return q.events.asked != nothing }

// IsStuck is the event that somebody looks at the queue. It reports whether completions are there,
// and the program has polled none since the last look.
func (q *CQ) IsStuck(n int) bool {
	e, before := &q.events, q.events.front
	if e.front = q.put - n + 1; n > 0 && e.front == before {
		return true
	}
	e.vain, e.seen, e.told = notInVain, 0, false
	return false
}

// Waits is the event that somebody has seen how the program waits for events, while the queue is
// stuck. others says that an event of another queue may come.
func (q *CQ) Waits(w Waiting, n int, others bool) (all []Finding) {
	e := &q.events
	v := q.inVain(w, others)
	if v != e.vain {
		e.vain, e.seen, e.told = v, 0, false
	}
	if v == notInVain || w.Busy || e.told {
		return nil
	}
	most := looks
	if w.Others {
		most = looksOthers
	}
	if e.seen++; e.seen < most {
		return nil
	}
	e.told = true
	text := ""
	switch v {
	case askedLate:
		text = "the program waits for an event that it has asked for while completions were there (%d), and has not polled since: no event tells of them, so poll once more after ibv_req_notify_cq"
	case notAsked:
		text = "the program waits for an event while completions are there (%d), and has not asked for one since the last: each ibv_req_notify_cq gives one event"
		if e.by == 0 {
			text = "the program waits for an event while completions are there (%d), and has never asked for one by ibv_req_notify_cq"
		}
	case askedForSolicited:
		text = "the program has waited for an event for solicited messages while completions were there (%d), and none that came was one: their senders have not set IBV_SEND_SOLICITED"
	}
	f := Finding{Armed, q.Name, fmt.Sprintf(text, n)}
	if v == askedForSolicited { // a message that comes later may be one
		e.lacks = f
		return nil
	}
	return []Finding{f}
}

// inVain returns how a thread waits for an event, while completions are there.
func (q *CQ) inVain(w Waiting, others bool) inVain {
	switch e := &q.events; {
	case w.Thread == 0:
	case e.asked == anyCompletion && e.late > 0 && e.front <= e.lateLast:
		return askedLate
	case e.asked == solicitedMessage && !e.solicited:
		return askedForSolicited
	case e.asked == nothing && w.Alone && !others && (!w.Others || w.Thread == e.by):
		// With other threads it must be the one that asks for events: one may take events, and
		// leave the completions to another.
		return notAsked
	}
	return notInVain
}

// HangsForEvents is the event that the destruction of an rdma_cm id waits, after the program has
// got so many events about it.
func HangsForEvents(id string, got uint32) Finding {
	return Finding{Events, id, fmt.Sprintf("of the %d events that the program has got, not all are acknowledged by rdma_ack_cm_event: rdma_destroy_id waits for that, for ever", got)}
}

// Ends is the event that the queue is destroyed, or its program ends.
func (q *CQ) Ends() (all []Finding) {
	if e := &q.events; e.lacks.Object != "" && !e.solicited {
		all = append(all, e.lacks)
		e.lacks = Finding{}
	}
	return all
}
