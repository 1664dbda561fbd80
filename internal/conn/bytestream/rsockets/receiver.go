package rsockets

// A Receiver is the state of the way in. The receive buffer is a ring of two halves, and its
// offsets only grow:
//
//	  read          arrived            granted
//	───┼───────────────┼──────────────────┼──▶
//	   └─ waits for Read └─ may be written ─┘
type Receiver struct {
	half    int
	credits uint16

	read    uint64 // bytes that Reads have taken
	arrived uint64 // bytes that words have announced
	granted uint64 // bytes that the peer has space for; whole halves

	messages uint16 // data messages that have been taken; it wraps
	limit    uint16 // the limit that the peer knows; it wraps
}

// NewReceiver returns the Receiver of a stream whose buffer has two halves of half bytes each. The
// Header lends the first one to the peer. credits is Header.Credits.
func NewReceiver(half int, credits uint16) *Receiver {
	return &Receiver{half: half, granted: uint64(half), credits: credits, limit: credits}
}

// Arrived notes an OpData word of n bytes. filled says that they fill the half whose number is
// half: the peer must not write to it any more. The error is an ErrStream.
func (r *Receiver) Arrived(n uint32) (filled bool, half int, err error) {
	left := uint64(r.half) - r.arrived%uint64(r.half)
	switch {
	case r.messages == r.limit:
		return false, 0, streamError("data without a credit")
	case n == 0 || uint64(n) > min(left, r.granted-r.arrived):
		return false, 0, streamError("%d bytes in a half with room for %d", n, min(left, r.granted-r.arrived))
	}
	half = r.halfAt(r.arrived)
	r.arrived += uint64(n)
	r.messages++
	return uint64(n) == left, half, nil
}

func (r *Receiver) halfAt(off uint64) int { return int(off / uint64(r.half) % 2) }

// Unread returns where in the buffer the bytes begin that wait for Read, and how many of them lie
// there in one piece.
func (r *Receiver) Unread() (off, n int) {
	off = int(r.read % uint64(2*r.half))
	return off, int(min(r.arrived-r.read, uint64(2*r.half-off)))
}

// Take notes that n bytes have been read, at most what Unread has returned.
func (r *Receiver) Take(n int) { r.read += uint64(n) }

// grantDue reports whether a half is free that has not been lent to the peer.
func (r *Receiver) grantDue() bool { return r.granted-r.read <= uint64(r.half) }

// Due reports whether Update has something for the peer: a half, or a new limit.
func (r *Receiver) Due() bool {
	return r.grantDue() || r.messages+r.credits-r.limit >= r.credits/2
}

// Update returns what the peer must learn: the limit and, if grants is set, the descriptor of the
// half with this number.
func (r *Receiver) Update() (limit uint16, grants bool, half int) {
	if grants = r.grantDue(); grants {
		half = r.halfAt(r.granted)
		r.granted += uint64(r.half)
	}
	r.limit = r.messages + r.credits
	return r.limit, grants, half
}
