package rdmap

// fetchAdd adds add to orig field by field and returns the result. The bits set in mask are the top
// bits of the fields. With mask 0 the whole word is one field. "causing any carry out of that bit
// position to be discarded" (RFC 7306 §5.1.1)
func fetchAdd(orig, add, mask uint64) uint64 {
	// Both terms of the plain addition have zeros in the top bits. So its carries stay inside their
	// fields: a carry goes at most into the top bit of its own field. The exclusive or then adds
	// the top bits of orig and add themselves, and discards the carry out of each field.
	return orig&^mask + add&^mask ^ (orig^add)&mask
}

// cmpSwap compares orig with compare in the bits of cmask. If they are equal, cmpSwap returns orig
// with the bits of smask replaced by those of swap, else orig itself (RFC 7306 §5.1.2).
func cmpSwap(orig, compare, cmask, swap, smask uint64) uint64 {
	if (compare^orig)&cmask != 0 {
		return orig
	}
	return orig&^smask | swap&smask
}

// apply returns the result of the atomic request for a word whose value is orig.
func (a *response) apply(orig uint64) uint64 {
	r := &a.atomic
	if r.Op == AtomicFetchAdd {
		return fetchAdd(orig, r.Data, r.Mask)
	}
	return cmpSwap(orig, r.Compare, r.CompareMask, r.Data, r.Mask)
}

const allBits = ^uint64(0)

// atomicRequest returns the header of the Atomic Request for wr.
func atomicRequest(wr *WorkRequest) AtomicRequest {
	r := AtomicRequest{STag: wr.Remote.STag, TO: wr.Remote.TO, Data: wr.Operand, Mask: wr.Mask, CompareMask: allBits}
	switch wr.Op {
	case WorkFetchAdd:
		return r // Compare is zero, CompareMask all ones: RFC 7306 §5.2.1
	case WorkCmpSwap:
		r.Compare = wr.Compare
		if wr.CompareMask != 0 {
			r.CompareMask = wr.CompareMask
		}
	case WorkSwap:
		r.CompareMask = 0
	}
	r.Op = AtomicCmpSwap
	if r.Mask == 0 {
		r.Mask = allBits
	}
	return r
}
