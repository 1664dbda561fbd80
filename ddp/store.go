package ddp

// Store copies p into the Region at offset off, in octets from its start, while nothing else is copied into
// or out of it through its STag. So a peer's access to what fits into one segment sees all of p or none of
// it, and the race detector is content. An access of several segments may have one before and one after, as
// may one through another STag: a window of the Region, or a Region over the same memory.
//
// Store waits for copies under way, never for TCP. p stays the caller's. The error is an [*AccessError]; rights
// and stream are not looked at.
func (r *Region) Store(off int, p []byte) error {
	to, n := r.base+uint64(off), uint64(len(p))
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.judgeLocked(to, n, 0, r.stream); err != nil {
		return err
	}
	if r.mem != nil {
		copy(r.mem[to-r.base:], p)
	}
	return nil
}
