package ddp

import "sync/atomic"

// A Stream is an inbound stream as the Regions of its Domain know it. A Receiver places what
// arrives on it, and a Sender reads Regions for its peer. Any goroutine may call the methods.
//
// Until Discard is called, a Stream has only its number. Two Streams with the same number reach the
// same Regions, but Discard of one does not affect the other.
type Stream struct {
	domain   *Domain
	number   uint64
	discards atomic.Bool
}

// NewStream returns the stream of d with the given number.
func NewStream(d *Domain, number uint64) *Stream {
	s := new(Stream)
	s.Init(d, number)
	return s
}

// Init makes s the stream of d with the given number. It is for an owner that has the Stream in its
// own memory, and must be called before the other methods.
func (s *Stream) Init(d *Domain, number uint64) { s.domain, s.number = d, number }

// Domain returns the Domain of s.
func (s *Stream) Domain() *Domain { return s.domain }

// Discard makes the Regions ignore what the peer of s writes from now on, and keeps a Sender from
// reading them for that peer. Segments are checked as before, but change nothing. When Discard
// returns, no copy into or out of a Region is in progress for the peer. So the owner can be done
// with a stream before the peer learns of it, and the stream still carries what the owner has sent.
// The layer above handles the peer's requests: see Discards.
//
// Discard waits for copies, never for TCP. It locks each Region of the Domain. Nothing undoes it.
func (s *Stream) Discard() {
	s.discards.Store(true)
	for _, r := range s.domain.all() {
		r.awaitCopies() // later copies find out in hold
	}
}

// Discards reports whether Discard has been called.
func (s *Stream) Discards() bool { return s.discards.Load() }

// needs returns the right that an access for the peer of s needs. Without a stream it is the owner
// of the memory who accesses it, and needs none.
func (s *Stream) needs(a Access) Access {
	if s == nil {
		return 0
	}
	return a
}

// Update64 is [Region.Update64] for an atomic that the peer of s has asked for. After Discard the
// error is an [*AccessError].
func (s *Stream) Update64(r *Region, off int, f func(uint64) uint64) (old uint64, err error) {
	return r.update64(off, f, s)
}

// hold finds the Region named stag and calls its hold.
//
// +checklocksignore: the analyzer has no form for a lock that is held only if the error is nil
func (s *Stream) hold(stag STag, to, n uint64, need Access) (*Region, []byte, error) {
	r := s.domain.lookup(stag)
	if r == nil {
		return nil, nil, &AccessError{Code: CodeInvalidSTag, STag: stag, TO: to, N: n, Need: need, Stream: s.number}
	}
	mem, err := r.hold(to, n, need, s)
	return r, mem, err
}
