package check

import (
	"fmt"
	"slices"
)

// A Pair is what is known of the send queue of a queue pair.
type Pair struct {
	Name    string
	MaxSend int // the size of the send queue

	posted int    // work requests since the last reset
	freed  int    // of these, how many have given back their places
	marks  []mark // the signaled ones whose completions the program has not polled
	silent int    // unsignaled ones in a row
	lent   int    // those that have memory until their completion, and not inline data
	looked bool   // the attributes have been looked at
	// the entries of lists and the bytes of inline data that it has been created with, until it is
	// used
	sges, inline uint32
	// what is posted in ERR
	sends, receives inErr
	// how many work requests have been outstanding since there was room, if more than MaxSend
	most int
	// when there was, or may have been, no room for another work request, as far as the device has
	// not taken the next one
	fulls []full
	// The program has posted more after there was no room: it knows what ENOMEM means
	goesOn bool
	// how often in a row there was no room for a work request
	denied int
	// what is posted at once: its first and its last work request, their number, and whether it is
	// over
	head, tail Work
	listed     int
	over       bool
	// the messages that have come, and the numbers of the completions of the last ones, in order
	came    uint64
	arrived []int
}

// A full is the number of the last work request when the queue was full, or may have been.
type full struct {
	at      int
	certain bool
}

// A Work identifies a work request by its contents.
type Work uint64

// A inErr counts what is posted in ERR, after the program has polled a completion with an error.
type inErr struct {
	flushed bool // what was posted before has been
	polled  int  // completions when the first one came behind that poll; -1 before
	after   int
}

// flushes is the event that n are flushed. failed says that the program has polled a completion
// with an error of the queue pair, and polled is how many completions it has polled. A program that
// polls several at once answers the good ones in front of an error, too: at most so many as
// answers. So what it posts before a later poll counts only as far as it is more. flushes returns
// true if there are too many.
func (l *inErr) flushes(n, answers int, failed bool, polled int) bool {
	if !l.flushed || !failed {
		l.flushed, l.polled = true, -1
		return false
	}
	if l.polled < 0 {
		l.polled = polled
	}
	if l.polled == polled {
		n = max(n-answers, 0)
	}
	l.after += n
	return l.after > 1 // one may be there to learn that the queue is drained
}

// A mark is a signaled work request.
type mark struct {
	posted int // the number of work requests up to it
	at     int // the number of its completion in the completion queue; 0 if it has not come
}

// Posts is the event that the device takes a work request from the queue, in which others wait. The
// program has polled so many completions of the completion queue.
func (p *Pair) Posts(w Work, signaled bool, waiting, polled int) (all []Finding) {
	for len(p.marks) > 0 && p.marks[0].at > 0 && p.marks[0].at <= polled {
		p.freed, p.marks = p.marks[0].posted, p.marks[1:]
	}
	p.posted++
	p.silent++
	wasFull := false
	for len(p.fulls) > 0 && p.fulls[0].at < p.posted {
		f := p.fulls[0]
		wasFull, p.fulls, p.goesOn = f.certain && f.at == p.posted-1, p.fulls[1:], true
	}
	if signaled {
		p.silent = 0
		p.marks = append(p.marks, mark{posted: p.posted})
	}
	taken := p.posted - p.freed + waiting
	all = p.lists(w, waiting == 0, wasFull)
	switch {
	case p.silent > p.MaxSend:
		all = append(all, p.silence(p.silent))
	case len(p.marks) > 0 && taken > p.MaxSend:
		p.most = max(p.most, taken)
	default:
		all = append(all, p.HasRoom()...)
	}
	return all
}

// Lends is the event that the next work request has memory of the program until its completion.
func (p *Pair) Lends() { p.lent++ }

// Waits is the event that work requests wait in the queue, of which these are signaled.
func (p *Pair) Waits(signaled []bool) (all []Finding) {
	silent, most := p.silent, 0
	for _, s := range signaled {
		if silent++; s {
			silent = 0
		}
		most = max(most, silent)
	}
	if most > p.MaxSend {
		all = append(all, p.silence(most))
	}
	return all
}

func (p *Pair) silence(n int) Finding {
	return Finding{SendQueue, p.Name, fmt.Sprintf(
		"%d work requests in a row are unsignaled, and max_send_wr is %d: on a card the queue is full for ever, because only a completion frees its places", n, p.MaxSend)}
}

// Fills is the event that the queue has no room for another work request behind those that wait, or
// may have had none. It has had one place more than the program has asked for.
func (p *Pair) Fills(waiting int, certain bool) {
	p.fulls = append(p.fulls, full{p.posted + waiting, certain})
}

// Denies is the event that ibv_post_send finds no room for a work request. GoesOn is the event that
// ibv_post_send accepts one.
func (p *Pair) Denies() { p.denied++ }

// GoesOn is described at Denies.
func (p *Pair) GoesOn() { p.denied = 0 }

// IsOver reports whether more work requests are outstanding than there is room for on a card.
func (p *Pair) IsOver() bool { return p.most > 0 }

// HasRoom is the event that there is room in the queue again, as it is on a card, or that the queue
// pair ends. The device frees places a little earlier than a card: once a completion is in its
// queue. So a program that takes ENOMEM for an answer may have more outstanding than it knows.
func (p *Pair) HasRoom() (all []Finding) {
	if p.most > 0 && !p.goesOn {
		all = append(all, Finding{SendQueue, p.Name, fmt.Sprintf(
			"%d work requests are outstanding, and max_send_wr is %d: on a card ibv_post_send returns ENOMEM, because only a completion that is polled frees places", p.most, p.MaxSend)})
	}
	p.most = 0
	return all
}

// lists is the event that a work request is posted. last says that none was posted with it behind
// it, and wasFull that there was, or may have been, no room behind the one in front of it.
func (p *Pair) lists(w Work, last, wasFull bool) (all []Finding) {
	if p.over || p.listed == 0 {
		if wasFull && p.listed > 1 && w == p.head && w != p.tail {
			all = append(all, Finding{Again, p.Name, fmt.Sprintf(
				"a list is posted again from its head, after there was no room for all of it: its first %d work requests are carried out twice; go on with bad_wr", p.listed)})
		}
		p.head, p.listed = w, 0
	}
	p.tail, p.over = w, last
	p.listed++
	return all
}

// Number returns the number of the last work request.
func (p *Pair) Number() int { return p.posted }

// Freed returns how many work requests have given back their places and their memory: those up to
// the last one whose completion the program has polled.
func (p *Pair) Freed(polled int) int {
	n := p.freed
	for _, m := range p.marks {
		if m.at == 0 || m.at > polled {
			break
		}
		n = m.posted
	}
	return n
}

// Completes is the event that the oldest signaled work request without a completion gets one, which
// has the given number in its queue.
func (p *Pair) Completes(at int) {
	for i := range p.marks {
		if p.marks[i].at == 0 {
			p.marks[i].at = at
			return
		}
	}
}

// Ends is the event that the program destroys the queue pair in RTS, while work requests wait in
// the queue, of which these are signaled.
func (p *Pair) Ends(waiting []bool) (all []Finding) {
	n := 0
	for _, m := range p.marks {
		if m.at == 0 {
			n++
		}
	}
	for _, signaled := range waiting {
		if signaled {
			n++
		}
	}
	if n > 0 {
		all = append(all, Finding{Unfinished, p.Name, fmt.Sprintf(
			"the program has destroyed it while signaled work requests were under way (%d), and nothing tells whether these are carried out: poll their completions first", n)})
	}
	if p.denied > 1 { // the first time may have told the program to do something else
		all = append(all, Finding{SendQueue, p.Name, fmt.Sprintf(
			"ibv_post_send has found no room %d times in a row, and the program has posted nothing since: these work requests are lost", p.denied)})
	}
	if len(waiting) == 0 && p.lent > 1 && p.silent == p.posted {
		full := "" // no mistake of a program that never posts more
		if p.posted == p.MaxSend {
			full = ", and on a card the queue is full for ever"
		}
		all = append(all, Finding{Reuse, p.Name, fmt.Sprintf(
			"none of its %d work requests is signaled, so nothing has told the program when the memory of %d is free%s", p.posted, p.lent, full)})
	}
	return all
}

// Resets is the event that the queue pair goes to RESET, where its queues are empty.
func (p *Pair) Resets() {
	*p = Pair{Name: p.Name, MaxSend: p.MaxSend, looked: p.looked, goesOn: p.goesOn}
}

// Takes is the event that the device takes a receive from the queue, in which others are left.
// The queue has a name of its own, because it may be shared. A program may post one buffer again
// and again, and each message waits for this, so there is at most one finding of a kind.
func (p *Pair) Takes(queue string, own []Span, others [][]Span) (all []Finding) {
	same, shares := false, false
	for _, s := range others {
		if same && slices.Equal(own, s) {
			continue
		}
		for _, f := range overlaps(queue, "two receives that are posted", own, s) {
			found := &shares
			if f.Kind == SameBuffer {
				found = &same
			}
			if !*found {
				all = append(all, f)
			}
			*found = true
		}
	}
	return all
}

// overlaps finds memory that two lists share. Two that are equal may be meant: nobody looks at what
// arrives.
func overlaps(object, what string, a, b []Span) (all []Finding) {
	for _, x := range a {
		for _, y := range b {
			switch {
			case x == y:
				return []Finding{{SameBuffer, object, fmt.Sprintf("%s have the same %d bytes at %#x", what, x.Len, x.Addr)}}
			case x.Overlaps(y):
				return []Finding{{Overlap, object, fmt.Sprintf("%s overlap: %d bytes at %#x, and %d bytes at %#x", what, x.Len, x.Addr, y.Len, y.Addr)}}
			}
		}
	}
	return nil
}

// PostsIn is the event that the program posts a send work request in a state before RTS.
func (p *Pair) PostsIn(state string) Finding {
	return Finding{State, p.Name, "a send work request is posted in " + state + ": on a card ibv_post_send fails, or the work request is lost"}
}

// Comes is the event that a message comes, whose completion will have the given number in its
// queue.
func (p *Pair) Comes(at int) {
	p.came++
	p.arrived = append(p.arrived[max(len(p.arrived)-maxMessages+1, 0):], at)
}

// Came returns how many messages have come.
func (p *Pair) Came() uint64 { return p.came }

// HasMessages returns how many of them the program has, because it has polled so many completions
// of their queue.
func (p *Pair) HasMessages(polled int) uint64 {
	for len(p.arrived) > 0 && p.arrived[0] <= polled {
		p.arrived = p.arrived[1:]
	}
	return p.came - uint64(len(p.arrived))
}

// Flushes is the event that n work requests are flushed in ERR. failed says that the program has
// polled a completion with an error of the queue pair, and polled is how many completions it has
// polled.
func (p *Pair) Flushes(n int, failed bool, polled int) (all []Finding) {
	p.freed, p.marks, p.silent = p.posted, nil, 0
	if p.sends.flushes(n, n, failed, polled) {
		all = append(all, Finding{State, p.Name, fmt.Sprintf(
			"%d send work requests were posted in ERR, after the program had polled a completion with an error: they are only flushed", p.sends.after)})
	}
	return all
}

// FlushesReceives is the same event of receives. So many messages have come.
func (p *Pair) FlushesReceives(n, came int, failed bool, polled int) (all []Finding) {
	if p.receives.flushes(n, came, failed, polled) {
		all = append(all, Finding{State, p.Name, fmt.Sprintf(
			"%d receives were posted in ERR, after the program had polled a completion with an error: they are only flushed", p.receives.after)})
	}
	return all
}

// RefusesPost is the event that libibverbs refuses a work request, and there is room for it.
func (p *Pair) RefusesPost() Finding {
	return Finding{Refused, p.Name, "ibv_post_send has refused a work request, and its queue is not full: its list is longer than max_send_sge, its inline data longer than max_inline_data, or the word of an atomic is not aligned"}
}

// Reading is the event that a Read or an atomic is posted, and so many are under way. The queue
// pair may have own, and the peer's takes serves.
func (p *Pair) Reading(reads, own, serves int) (all []Finding) {
	if serves > 0 && own > serves && reads > serves {
		all = append(all, Finding{Depth, p.Name, fmt.Sprintf(
			"%d Reads or atomics are under way, and max_dest_rd_atomic of the peer's queue pair is %d: a card refuses those, because max_rd_atomic is %d", reads, serves, own)})
	}
	return all
}

// Attributes are those of an RC queue pair in RTS.
type Attributes struct {
	Timeout, Retry, RNRRetry, MinRNRTimer, MaxRead, MaxDestRead uint8
}

// What common cards have at most: Reads and atomics under way, entries of a list, and bytes of
// inline data. A program that is checked is told the first two.
const (
	MostReads  = 16
	MostSGEs   = 30
	MostInline = 960
)

// Looks is the event that the queue pair begins to work with these attributes, which the program
// has set itself. Only the first such event counts.
func (p *Pair) Looks(a *Attributes) (all []Finding) {
	if p.looked {
		return nil
	}
	p.looked = true
	find := func(k Kind, format string, args ...any) {
		all = append(all, Finding{k, p.Name, fmt.Sprintf(format, args...)})
	}
	switch { // one finding of a kind
	case a.Timeout == 0:
		find(Wait, "timeout is 0: if a packet is lost, or the peer, it waits for ever")
	case a.MinRNRTimer == 0:
		find(Wait, "min_rnr_timer is 0, which means 655.36 ms: so long a peer waits before it repeats a message that found no receive")
	}
	if a.Retry == 0 {
		find(Retry, "retry_cnt is 0: the first packet that is lost ends the connection")
	}
	if n := max(a.MaxRead, a.MaxDestRead); n > MostReads {
		find(Depth, "max_rd_atomic or max_dest_rd_atomic is %d: common cards have at most %d", n, MostReads)
	}
	return all
}

// Asks is the event that the program creates the queue pair with lists of so many entries, and so
// many bytes of inline data. That alone is no mistake: nothing else tells a program how much inline
// data a device has, so some create one queue pair after the other until the device refuses.
func (p *Pair) Asks(sges, inline uint32) { p.sges, p.inline = sges, inline }

// Begins is the event that the program takes the queue pair out of RESET.
func (p *Pair) Begins() (all []Finding) {
	if p.inline > MostInline {
		all = append(all, Finding{Depth, p.Name, fmt.Sprintf("max_inline_data is %d: common cards have at most %d", p.inline, MostInline)})
	}
	if p.sges > MostSGEs {
		all = append(all, Finding{Depth, p.Name, fmt.Sprintf("max_send_sge or max_recv_sge is %d: common cards have at most %d", p.sges, MostSGEs)})
	}
	p.Asks(0, 0)
	return all
}

// WaitsForReceive is the event that the queue pair ends, or its program, while a message waits for
// a receive of the peer.
func (p *Pair) WaitsForReceive(rnrRetry uint8) (all []Finding) {
	const forever = 7
	if rnrRetry >= forever {
		all = append(all, Finding{Wait, p.Name, "a message has waited for a receive of the peer until the end, because rnr_retry 7 means for ever"})
	}
	return all
}

// FindsNoReceive is the event that a message fails because the peer has posted no receive.
func (p *Pair) FindsNoReceive() Finding {
	return Finding{Receives, p.Name, "a message fails, because the peer has posted no receive: post receives before the peer may send"}
}

// LacksReceive is the event that a message has come and there has been no receive for some time.
func (p *Pair) LacksReceive() Finding {
	return Finding{Receives, p.Name, "a message of the peer waits, because no receive is posted: post receives before the peer may send"}
}

// Loses is the event that a datagram has come, or a message over UC, and there is no receive.
func (p *Pair) Loses() Finding {
	return Finding{Lost, p.Name, "a datagram, or a message over UC, is lost, because no receive is posted"}
}

// RefusesDatagram is the event that a datagram has come with a Q_Key that the queue pair does not
// have.
func (p *Pair) RefusesDatagram(key uint32) Finding {
	return Finding{QKey, p.Name, fmt.Sprintf("a datagram is lost, because its remote_qkey is %#x, which is not the Q_Key of the queue pair", key)}
}

// ReadsWithout is the event that a Read or an atomic fails because of a depth of 0.
func (p *Pair) ReadsWithout(why string) Finding { return Finding{Depth, p.Name, why} }
