package check

import (
	"fmt"
	"slices"
	"time"
)

// A CQ is what is known of a completion queue. Its methods get the number of completions that are
// in the queue.
type CQ struct {
	Name    string
	Entries int // as the program has asked for them
	// LostAfter is how long the completions of a queue that is armed may lie there before it counts
	// as a mistake: the program may be about to poll, or to end.
	LostAfter time.Duration
	// Held is how many completions have come that the device holds back. They stay in their order.
	Held int

	put int // completions
	// by QPN, the number of completions up to the first one with an error
	failed map[uint32]int
	// The program has asked for an event while there were completions, and had polled so many, less
	// 1, before. It is 0 if that is not so.
	armed int
	// the last completion that was there then
	armedLast int
	// The program has asked for an event for solicited messages only.
	solicited bool
	since     time.Time
	// the messages whose completions the program has not polled, of the last few
	messages []message
}

// A message is the memory of a message, and the number of its completion.
type message struct {
	qpn  uint32
	at   int
	id   uint64
	into []Span
}

// maxMessages bounds the messages that are remembered.
const maxMessages = 128

// LostAfter is the value of CQ.LostAfter outside of tests.
const LostAfter = time.Second

// Puts is the event that a completion of a queue pair comes.
func (q *CQ) Puts(qpn uint32, failed bool, n int, now time.Time) (all []Finding) {
	q.put++
	if failed {
		if q.failed == nil {
			q.failed = make(map[uint32]int)
		}
		if _, ok := q.failed[qpn]; !ok {
			q.failed[qpn] = q.put
		}
	}
	if n > q.Entries {
		all = append(all, Finding{CompletionQueue, q.Name, fmt.Sprintf("it has room for %d completions, and %d are in it: on a card it overruns", q.Entries, n)})
	}
	if q.armed == q.put-n+1 && now.Sub(q.since) >= q.LostAfter {
		all = append(all, q.lost(n-1))
	}
	return all
}

// Next returns the number of the next completion, and Polled how many the program has polled.
func (q *CQ) Next() int        { return q.put + q.Held + 1 }
func (q *CQ) Polled(n int) int { return q.put - n }

// Places is the event that a message is in the memory of a receive of a queue pair, and is about to
// complete. The queue of receives has a name of its own.
func (q *CQ) Places(queue string, qpn uint32, id uint64, into []Span, n int) (all []Finding) {
	polled := q.Polled(n)
	for len(q.messages) > 0 && (q.messages[0].at <= polled || len(q.messages) == maxMessages) {
		q.messages = q.messages[1:]
	}
	for _, m := range q.messages {
		for _, x := range m.into {
			if len(all) == 0 && slices.ContainsFunc(into, x.Overlaps) {
				all = append(all, Finding{Overwritten, queue, fmt.Sprintf(
					"the message of the receive %#x lies over that of the receive %#x, whose completion the program has not polled", id, m.id)})
			}
		}
	}
	q.messages = append(q.messages, message{qpn, q.Next(), id, into})
	return all
}

// HasPolledError reports whether the program has polled a completion with an error of a queue pair.
func (q *CQ) HasPolledError(qpn uint32, n int) bool {
	at, ok := q.failed[qpn]
	return ok && q.put-n >= at
}

// Forgets is the event that a queue pair is reset or destroyed: nobody waits for its messages.
func (q *CQ) Forgets(qpn uint32) {
	delete(q.failed, qpn)
	q.messages = slices.DeleteFunc(q.messages, func(m message) bool { return m.qpn == qpn })
}

// MayCome is the event that so many completions may come besides those that are there.
func (q *CQ) MayCome(signaled, receives, n int) (all []Finding) {
	if signaled+receives+n > q.Entries {
		all = append(all, Finding{CompletionQueue, q.Name, fmt.Sprintf(
			"it has room for %d completions, and more may come: %d of signaled work requests and %d of receives that are posted, besides %d that are in it",
			q.Entries, signaled, receives, n)})
	}
	return all
}

// Arms is the event that the program asks for an event for the next completion.
func (q *CQ) Arms(n int, now time.Time) {
	if q.armed, q.solicited, q.since = 0, false, now; n > 0 {
		q.armed, q.armedLast = q.put-n+1, q.put
	}
}

// ArmsSolicited is the event that it asks for one for the next solicited message.
func (q *CQ) ArmsSolicited(now time.Time) { q.solicited, q.since = true, now }

// Fires is the event that the program gets the event that it has asked for.
func (q *CQ) Fires() { q.armed, q.solicited = 0, false }

// Ends is the event that the queue is destroyed, or its program ends.
func (q *CQ) Ends(n int, now time.Time) (all []Finding) {
	const sooner = 10 // nothing comes any more
	switch first := q.put - n + 1; {
	case n == 0 || now.Sub(q.since) < q.LostAfter/sooner:
	case q.armed > 0 && first <= q.armedLast:
		all = append(all, q.lost(n))
	case q.armed == 0 && q.solicited:
		all = append(all, Finding{Armed, q.Name, fmt.Sprintf(
			"the program has asked for an event for solicited messages, and %d completions are there that are not: their senders have not set IBV_SEND_SOLICITED", n)})
	}
	return all
}

func (q *CQ) lost(n int) Finding {
	return Finding{Armed, q.Name, fmt.Sprintf(
		"the program has asked for an event while %d completions were there, and has not polled since: no event tells of them, so poll once more after ibv_req_notify_cq", n)}
}

// Unacknowledged is the event that a queue is destroyed with so many events that the program has
// got and not acknowledged.
func Unacknowledged(object, by string, n int) Finding {
	return Finding{Events, object, fmt.Sprintf("%d events are not acknowledged by %s: its destruction waits for that, for ever", n, by)}
}
