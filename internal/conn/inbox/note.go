package inbox

import (
	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/rdmap"
)

// A note has the fields of the Completion of a message in the inbox. A connection keeps memory for
// one, so it is short.
type note struct {
	qpNum     uint64
	immediate uint64
	n         uint32
	stag      ddp.STag
	flags     uint8
}

// The flags of a note.
const (
	noteSolicited = 1 << iota
	noteInvalidated
	noteImmediate
)

// AddNote notes the Completion of the message that arrives, in message mode: nothing was posted,
// and nothing has failed.
func (b *Inbox[M]) AddNote(c *rdmap.Completion) {
	n := note{qpNum: c.QPNum, immediate: c.Immediate, n: c.Len, stag: c.Invalidated}
	if c.Solicited {
		n.flags |= noteSolicited
	}
	if c.HasInvalidated {
		n.flags |= noteInvalidated
	}
	if c.HasImmediate {
		n.flags |= noteImmediate
	}
	*b.notes.Push() = n
}

// EndNote takes the note of the message that a Read begins. If to is not nil, *to becomes the
// Completion of that message. EndNote must be called before another Read can begin the next
// message.
func (b *Inbox[M]) EndNote(to *rdmap.Completion) {
	if to != nil {
		*to = b.notes.First().completion()
	}
	b.notes.Pop()
}

// completion returns the Completion from which the note was made.
func (n *note) completion() rdmap.Completion {
	return rdmap.Completion{
		QPNum: n.qpNum, Op: rdmap.WorkRecv, Len: n.n, Solicited: n.flags&noteSolicited != 0,
		HasInvalidated: n.flags&noteInvalidated != 0, Invalidated: n.stag,
		HasImmediate: n.flags&noteImmediate != 0, Immediate: n.immediate,
	}
}
