package rsockets

import "github.com/rddp/rddp/rdmap"

const (
	// MinCredits is the smallest number of data messages that an end has room for.
	MinCredits = 4
	// spare is how many credits a Sender leaves: the peer has as many receive buffers as credits,
	// and words that are not OpData take some of them. The peer states a new limit when half of its
	// credits are used, so a Sender leaves half of them at most.
	spare = 8
	// MaxMessage is the maximum number of bytes of one data message.
	MaxMessage = 64 << 10
	// Slots is the number of slots of this end. The peer has at most that many descriptors.
	Slots = 2
)

// A Sender is the state of the way out: the space in the peer's buffer, and the credits.
type Sender struct {
	credits uint16 // the peer's Header.Credits
	spare   uint16
	sent    uint16 // data messages so far; it wraps
	limit   uint16 // up to how many may be sent; it wraps

	space [Slots]rdmap.Handle // what the peer has lent and is not used, the oldest first
	lent  int                 // of space

	slots rdmap.Handle // the peer's; Len is their number
	next  uint32       // the slot that this end writes next
}

// NewSender returns the Sender of a stream whose peer has sent h.
func NewSender(h Header) *Sender {
	s := &Sender{credits: h.Credits, limit: h.Credits, spare: min(spare, h.Credits/2), slots: h.Slots}
	s.next = 1 % h.Slots.Len // the Header has filled the first one
	s.lend(h.Buffer)
	return s
}

// Room returns how many of n bytes the next data message may have. It is 0 if the peer must lend
// space or state another limit before.
func (s *Sender) Room(n int) int {
	if s.lent == 0 || s.limit-s.sent <= s.spare {
		return 0
	}
	return int(min(int64(n), int64(s.space[0].Len), MaxMessage))
}

// Data begins a data message of n bytes, at most Room. It returns where they are written, and the
// word that follows them.
func (s *Sender) Data(n int) (to rdmap.Handle, w Word) {
	d := &s.space[0]
	to = rdmap.Handle{STag: d.STag, TO: d.TO, Len: uint32(n)}
	d.TO += uint64(n)
	if d.Len -= uint32(n); d.Len == 0 {
		s.lent--
		s.space[0] = s.space[1]
	}
	s.sent++
	return to, NewWord(OpData, uint32(n))
}

// Slot returns the peer's next slot, for a descriptor of this end.
func (s *Sender) Slot() rdmap.Handle {
	h := rdmap.Handle{STag: s.slots.STag, TO: s.slots.TO + SlotLen*uint64(s.next), Len: SlotLen}
	s.next = (s.next + 1) % s.slots.Len
	return h
}

// Limited notes the limit that the peer has stated. The error, an ErrStream, means that the limit
// gives back credits of messages that were not sent.
func (s *Sender) Limited(limit uint16) error {
	if outstanding := s.sent + s.credits - s.limit; limit-s.limit > outstanding {
		return streamError("a limit of %d messages, with %d of %d sent", limit, s.sent, s.limit)
	}
	s.limit = limit
	return nil
}

// Lent notes a descriptor of the peer. The error, an ErrStream, means that there are more
// descriptors than slots.
func (s *Sender) Lent(h rdmap.Handle) error {
	if s.lent == Slots {
		return streamError("a descriptor more than slots")
	}
	s.lend(h)
	return nil
}

func (s *Sender) lend(h rdmap.Handle) {
	if h.Len > 0 {
		s.space[s.lent] = h
		s.lent++
	}
}
