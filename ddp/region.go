package ddp

import (
	"math/bits"
	"strings"

	"github.com/rddp/rddp/internal/locks"
)

// Access is what may be done to a Region through its STag: a set of rights.
type Access uint8

// The rights.
const (
	RemoteRead   Access = 1 << iota // source of an RDMA Read
	RemoteWrite                     // target of an RDMA Write
	RemoteAtomic                    // target of an Atomic Operation
	ReadSink                        // target of RDMA Read Responses; no right of the peer's own
)

// String returns the rights, separated by "|".
func (a Access) String() string {
	names := [...]string{"remote read", "remote write", "remote atomic", "read sink"}
	var set []string
	for i, name := range names {
		if a&(1<<i) != 0 {
			set = append(set, name)
		}
	}
	if len(set) == 0 {
		return "none"
	}
	return strings.Join(set, "|")
}

// A Region is a Tagged Buffer: memory that a peer names by STag and TO. It is made by
// [Domain.Register]. Its methods may be called from any goroutine.
//
// The memory belongs to the application, which may read and write it at any time; so may peers, as
// far as access goes, until Deregister has returned. Nothing orders them, or two peers, but the
// delivery of a later message: what overlaps before that is a race, which the race detector reports.
type Region struct {
	domain *Domain
	stag   STag
	base   uint64 // TO of the first octet; base + size < 2^63
	size   int
	access Access
	stream uint64 // 0: every stream of the domain

	// mu is held for reading while octets are copied into or out of mem, so that Deregister and
	// Redirect, which take it for writing, wait for them.
	mu sharedRWMutex
	// nil: octets that come are thrown away
	mem  []byte // +checklocks:mu
	gone bool   // +checklocks:mu

	of      *Region // the Region that this one is a window of; nil: of none
	offset  uint64  // octets from the start of that one to this one's
	windows windows
}

// STag returns the name of the Region on the wire.
func (r *Region) STag() STag { return r.stag }

// TO returns the Tagged Offset of the Region's first octet.
func (r *Region) TO() uint64 { return r.base }

// Len returns the length of the Region in octets: 1 to 2^32-1.
func (r *Region) Len() int { return r.size }

// Deregister ends all access through the STag. When it returns no copy into or out of the memory is
// under way, and not one octet is changed by a peer ever after. The windows of the Region end with it.
// It may be called more than once.
//
// "An RNIC MUST ensure that network packets using the STag for a previously Advertised Buffer can no
// longer modify the buffer after the ULP revokes remote access rights for the specific STag."
// (RFC 5042 §6.2.2)
func (r *Region) Deregister() {
	r.domain.remove(r.stag, r)
	r.mu.Lock()
	r.gone = true
	r.mu.Unlock()
	r.windows.deregister()
	if r.of != nil {
		r.of.windows.remove(r)
	}
}

// Redirect moves r to other memory, and the windows of r with it. Memory to must be as long as r; the bytes
// that have come are copied to it, and everything that still comes is placed there. If to is nil,
// everything that still comes is thrown away. When Redirect returns, no copy into the old memory is under
// way and none begins, so the old memory belongs to its owner alone again. Nothing may be read from r
// through its STag, because r has no memory, or other memory, then.
//
// Redirect is a function because it is for the layers above. Programs have Regions too, and a Region that
// moves is not for them.
func Redirect(r *Region, to []byte) {
	if to != nil && len(to) != r.size {
		panic("BUG: Region redirected to memory of another length")
	}
	// With all these locks nothing is placed in the memory by any of its names, and no name is added.
	r.windows.mu.Lock()
	defer r.windows.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lockWindows()
	copy(to, r.mem)
	r.moveTree(to)
	r.unlockWindows()
}

// lockWindows locks the windows of r, theirs, and so on. The caller has locked r, and whoever locks two
// windows comes from the Region that both are windows of: so nobody locks them in another order.
//
// +checklocksignore: it leaves them locked
func (r *Region) lockWindows() {
	for w := range r.windows.all {
		locks.LockNested(&w.windows.mu)
		locks.LockNested(&w.mu)
		w.lockWindows()
	}
}

// moveTree makes to, or nothing where to is nil, the memory of r, and parts of it that of its windows.
//
// +checklocksignore: Redirect has locked them all
func (r *Region) moveTree(to []byte) {
	r.mem = to
	for w := range r.windows.all {
		if to == nil {
			w.moveTree(nil)
		} else {
			w.moveTree(part(to, int(w.offset), w.size))
		}
	}
}

// unlockWindows undoes lockWindows.
//
// +checklocksignore: it finds them locked
func (r *Region) unlockWindows() {
	for w := range r.windows.all {
		w.unlockWindows()
		locks.UnlockNested(&w.mu)
		locks.UnlockNested(&w.windows.mu)
	}
}

// part returns the n octets of b from off on, without capacity beyond them.
func part(b []byte, off, n int) []byte { return b[off : off+n : off+n] }

// Update64 replaces the 64-bit word at offset off, in bytes from the start of the Region, by f of it, and
// returns what the word was before. This is atomic with regard to every other Update64, to the peers' Atomic
// Operations and to sync/atomic. An f that returns its argument only reads the word. The word is in the byte
// order of this machine. f may be called several times and must not use the Region.
//
// The error is an [*AccessError] or, if the word's address in memory is not a multiple of 8, [ErrMisaligned].
// Update64 does not look at rights and stream: see [Domain.Check].
func (r *Region) Update64(off int, f func(uint64) uint64) (old uint64, err error) {
	mem, err := r.hold(r.base+uint64(off), 8, 0, r.stream)
	if err != nil {
		return 0, err
	}
	defer r.mu.RUnlock() // +checklocksforce: hold has locked it
	return updateWord(mem, f)
}

// hold returns the n octets at TO to and keeps them registered: when the error is nil r.mu is held
// for reading, and the caller unlocks it. Of a Region that discards it returns nil. This is the one
// place that decides whether memory may be
// touched; an error is an *AccessError.
//
// The order is: valid, associated with the stream, right granted, no wrap, inside the bounds.
//
// +checklocksignore: the analyzer has no form for a lock that is held only if the error is nil
func (r *Region) hold(to, n uint64, need Access, stream uint64) ([]byte, error) {
	r.mu.RLock()
	if err := r.judgeLocked(to, n, need, stream); err != nil {
		r.mu.RUnlock()
		return nil, err
	}
	if r.mem == nil {
		return nil, nil
	}
	start := to - r.base
	return r.mem[start : start+n : start+n], nil
}

// judgeLocked returns the error of an access that is not allowed, or nil.
//
// +checklocksread:r.mu
func (r *Region) judgeLocked(to, n uint64, need Access, stream uint64) *AccessError {
	// "The STag is valid for this stream." (RFC 5041 §7.1)
	if r.gone {
		return r.refuse(CodeInvalidSTag, to, n, need, stream)
	}
	if r.stream != 0 && r.stream != stream {
		return r.refuse(CodeNotAssociated, to, n, need, stream)
	}
	// "The STag has an associated buffer that allows Placement of the payload." (RFC 5041 §7.1)
	if r.access&need != need {
		err := r.refuse(CodeInvalidSTag, to, n, need, stream)
		err.Denied = true
		return err
	}
	// "A 64-bit unsigned sum of the DDP Segment payload length and the TO does not wrap."
	// (RFC 5041 §7.1) A sum of exactly 2^64 does. Before the bounds, which every wrap breaks too.
	end, carry := bits.Add64(to, n, 0)
	if carry != 0 {
		return r.refuse(CodeTOWrap, to, n, need, stream)
	}
	// "The TO falls in the range of legal offsets registered for the STag." and "The sum of the DDP
	// Segment payload length and the TO falls in the range of legal offsets registered for the STag."
	// (RFC 5041 §7.1) The sum of base and length can't wrap.
	if to < r.base || end > r.base+uint64(r.size) {
		return r.refuse(CodeBounds, to, n, need, stream)
	}
	return nil
}

// refuse returns the error of an access to r.
func (r *Region) refuse(c Code, to, n uint64, need Access, stream uint64) *AccessError {
	return &AccessError{Code: c, STag: r.stag, TO: to, N: n, Need: need, Stream: stream}
}
