package check

import "fmt"

// A Use is what a work request does with memory of a program.
type Use struct {
	Memory any // whose it is
	Span   Span
	Writes bool
	Atomic bool
	Fenced bool // it begins after the Reads in front of it
	Pair   any  // whose work request it is
	Remote bool // it is the memory of the peer
	Work   string
}

// Conflicts reports whether two uses, of which y was posted while x was under way, have bytes in
// common that one of them writes, and no order. Within a queue pair, only a Read, which a later
// Write may overtake, has none; what it does with its own memory are other kinds of findings.
func (x *Use) Conflicts(y *Use) bool {
	switch {
	case x.Memory != y.Memory || !x.Writes && !y.Writes || x.Atomic && y.Atomic || !x.Span.Overlaps(y.Span):
		return false
	case x.Pair == y.Pair:
		return x.Remote && y.Remote && !x.Writes && !y.Fenced
	case !x.Remote && !y.Remote:
		return x.Span != y.Span // or nobody looks at what arrives
	}
	return true
}

// UsesReceive is the event that a message comes to a receive whose memory a peer has used since it
// was posted.
func UsesReceive(queue string, id uint64, work string) Finding {
	return Finding{Conflict, queue, fmt.Sprintf("%s uses memory of the receive %#x, which is posted, and nothing orders it and the message that fills the receive", work, id)}
}

// Collides is the event that two uses conflict.
func Collides(pair string, x, y *Use) Finding {
	from := max(x.Span.Addr, y.Span.Addr)
	to := min(x.Span.Addr+x.Span.Len, y.Span.Addr+y.Span.Len)
	return Finding{Conflict, pair, fmt.Sprintf("%s and %s use the same %d bytes at %#x, and nothing orders them", y.Work, x.Work, to-from, from)}
}
