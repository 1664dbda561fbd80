package ddp

import (
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
)

// Discard makes the Regions of d ignore what the peer writes to them on the given stream from now
// on, and keeps a Sender from reading them for that peer. Segments are checked as before, but
// change nothing. When Discard returns, no copy into or out of a Region is in progress for the
// peer. So the owner can be done with a stream before the peer learns of it, and the stream still
// carries what the owner has sent. The layer above handles the peer's requests: see Discards.
//
// The caller must call forget once, when the stream has ended. Discard waits for copies, never for
// TCP. It locks each Region of d.
func (d *Domain) Discard(stream uint64) (forget func()) {
	d.discarded.add(stream)
	d.mu.RLock()
	all := make([]*Region, 0, len(d.regions))
	for _, r := range d.regions {
		all = append(all, r)
	}
	d.mu.RUnlock()
	for _, r := range all {
		r.awaitCopies() // later copies see the stream in discarded
	}
	return func() { d.discarded.remove(stream) }
}

// Discards reports whether Discard has been called for the stream. Inside a function that
// [Region.Update64] calls, the answer holds until the word has been replaced: if it is false,
// Discard returns later.
func (d *Domain) Discards(stream uint64) bool { return d.discarded.has(stream) }

// awaitCopies waits until the copies into and out of r that are in progress are over.
func (r *Region) awaitCopies() {
	r.mu.Lock()
	defer r.mu.Unlock()
}

// A streamSet is a set of streams. The zero value is empty.
type streamSet struct {
	n  atomic.Int32              // members
	mu locks.RWMutex[locks.Leaf] // no other lock is taken while it is held
	// made by the first add
	all map[uint64]struct{} // +checklocks:mu
}

func (s *streamSet) add(stream uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all == nil {
		s.all = make(map[uint64]struct{})
	}
	s.all[stream] = struct{}{}
	s.n.Store(int32(len(s.all)))
}

func (s *streamSet) remove(stream uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.all, stream)
	s.n.Store(int32(len(s.all)))
}

// has takes no lock as long as the set is empty, which it nearly always is.
func (s *streamSet) has(stream uint64) bool {
	if s.n.Load() == 0 {
		return false
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	_, is := s.all[stream]
	return is
}
