package inbox

import "github.com/rddp/rddp/internal/states"

// A tail says what comes behind the unread messages.
//
//	open ──▶ behind ──▶ ended ──▶ cut
//	  ├─────────────────▲         ▲
//	  └───────────────────────────┘
type tail uint8

const (
	tailOpen   tail = iota // more may come
	tailBehind             // the end has come, and what is in front of it is not in the inbox yet
	tailEnded              // nothing comes behind what is unread
	tailCut                // what was in front of the end has been discarded: Reads see no end
)

var tailNames = [...]string{"open", "behind", "ended", "cut"}

func (s tail) String() string { return tailNames[s] }

var tailNext = states.Table[tail]{
	tailOpen:   states.To(tailBehind, tailEnded, tailCut),
	tailBehind: states.To(tailEnded),
	tailEnded:  states.To(tailCut),
	tailCut:    0,
}

// A sink says what becomes of messages that arrive.
//
//	taking ──CloseRead, Close──▶ discarding ──something is thrown away──▶ losing
type sink uint8

const (
	sinkTaking     sink = iota // Reads get them
	sinkDiscarding             // the program has closed the way in: they are discarded
	sinkLosing                 // the same, and data of the peer has been lost by that
)

var sinkNames = [...]string{"taking", "discarding", "losing"}

func (s sink) String() string { return sinkNames[s] }

var sinkNext = states.Table[sink]{
	sinkTaking:     states.To(sinkDiscarding),
	sinkDiscarding: states.To(sinkLosing),
	sinkLosing:     0,
}

// setTail and setSink change these states. Nothing else does.
func (b *Inbox[M]) setTail(next tail) { tailNext.Become(&b.tail, next) }
func (b *Inbox[M]) setSink(next sink) { sinkNext.Become(&b.sink, next) }

// End notes that nothing comes behind what is unread. A stream that was cut has no end.
func (b *Inbox[M]) End() {
	if b.tail < tailEnded {
		b.setTail(tailEnded)
	}
}

// EndBehind notes the same, but something that has arrived is still to be added in front of the
// end: see EndIfBehind.
func (b *Inbox[M]) EndBehind() {
	if b.tail == tailOpen {
		b.setTail(tailBehind)
	}
}

// EndIfBehind notes that all that has arrived has been added.
func (b *Inbox[M]) EndIfBehind() {
	if b.tail == tailBehind {
		b.setTail(tailEnded)
	}
}

// Cut notes that Reads see no end, because something in front of it is discarded.
func (b *Inbox[M]) Cut() {
	if b.tail == tailOpen || b.tail == tailEnded {
		b.setTail(tailCut)
	}
}

// HasEnded reports whether nothing comes behind what is unread, because the peer has said so.
func (b *Inbox[M]) HasEnded() bool { return b.tail == tailEnded }

// Discards reports whether what arrives is discarded, and HasLost whether data of the peer has been
// lost by that.
func (b *Inbox[M]) Discards() bool { return b.sink != sinkTaking }
func (b *Inbox[M]) HasLost() bool  { return b.sink == sinkLosing }

// IsOver reports whether Reads get nothing behind what is unread, for either reason.
func (b *Inbox[M]) IsOver() bool { return b.HasEnded() || b.Discards() }

// Discard makes the inbox's owner discard everything that arrives from now on.
func (b *Inbox[M]) Discard() {
	if b.sink == sinkTaking {
		b.setSink(sinkDiscarding)
	}
}

// Lose notes that data of the peer has been discarded.
func (b *Inbox[M]) Lose() {
	if b.sink == sinkDiscarding {
		b.setSink(sinkLosing)
	}
}
