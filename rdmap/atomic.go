package rdmap

import "github.com/rddp/rddp/internal/rdmaphdr"

// fetchAdd returns orig plus add, done field by field: each bit that is set in mask is the top bit of a
// field. With mask 0 the one field is the whole word.
// "causing any carry out of that bit position to be discarded" (RFC 7306 §5.1.1)
func fetchAdd(orig, add, mask uint64) uint64 {
	// Below the top bits a plain addition carries within the fields only, and into each top bit, which
	// is zero in both terms. What the top bits themselves add up to is a sum without its carry.
	return orig&^mask + add&^mask ^ (orig^add)&mask
}

// cmpSwap returns orig with the bits of smask replaced by those of swap, if orig equals compare in the
// bits of cmask; else orig (RFC 7306 §5.1.2).
func cmpSwap(orig, compare, cmask, swap, smask uint64) uint64 {
	if (compare^orig)&cmask != 0 {
		return orig
	}
	return orig&^smask | swap&smask
}

// apply returns the word that an atomic request leaves where orig was.
func (a *response) apply(orig uint64) uint64 {
	r := &a.atomic
	if r.Op == rdmaphdr.AtomicFetchAdd {
		return fetchAdd(orig, r.Data, r.Mask)
	}
	return cmpSwap(orig, r.Compare, r.CompareMask, r.Data, r.Mask)
}

const allBits = ^uint64(0)

// atomicRequest returns the header that asks the peer for wr.
func atomicRequest(wr *WorkRequest) rdmaphdr.AtomicRequest {
	r := rdmaphdr.AtomicRequest{STag: wr.Remote.STag, TO: wr.Remote.TO, Data: wr.Operand, Mask: wr.Mask, CompareMask: allBits}
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
	r.Op = rdmaphdr.AtomicCmpSwap
	if r.Mask == 0 {
		r.Mask = allBits
	}
	return r
}
