package check

import (
	"fmt"
	"slices"
)

// A CQ is what is known of a completion queue. Its methods get the number of completions that are
// in the queue.
type CQ struct {
	Name    string
	Entries int // as the program has asked for them
	// Held is how many completions have come that the device holds back. They stay in their order.
	Held int

	put int // completions
	// by QPN, the number of completions up to the first one with an error
	failed map[uint32]int
	events events
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

// Puts is the event that a completion of a queue pair comes. solicits says that an event for
// solicited messages tells of it.
func (q *CQ) Puts(qpn uint32, failed, solicits bool, n int) (all []Finding) {
	q.put++
	q.events.solicited = q.events.solicited || solicits || failed
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

// Unacknowledged is the event that a queue is destroyed with so many events that the program has
// got and not acknowledged.
func Unacknowledged(object, by string, n int) Finding {
	return Finding{Events, object, fmt.Sprintf("%s is missing for %d of its events: its destruction waits for that, for ever", by, n)}
}
