package ddp

// Store copies p into the Region at offset off, in bytes from the start of the Region. Meanwhile
// nothing else is copied into or out of the Region through its STag. So a peer's access of one
// segment sees all of p or none of it, and the race detector does not complain. An access of
// several segments may see p in its later segments only. The same holds for an access through
// another STag, that is, the STag of a window, or of another Region over the same memory.
//
// Store waits for copies in progress, never for TCP. p still belongs to the caller. The error is an
// [*AccessError]. Store does not look at rights and stream.
func (r *Region) Store(off int, p []byte) error {
	to, n := r.base+uint64(off), uint64(len(p))
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.judgeLocked(to, n, 0, nil); err != nil {
		return err
	}
	if r.memory != nil && n > 0 {
		return r.store(p, to, 0)
	}
	if r.mem != nil {
		copy(r.mem[to-r.base:], p)
	}
	return nil
}
