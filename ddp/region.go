package ddp

import (
	"io"
	"math/bits"
	"strings"
	"sync/atomic"

	"github.com/rddp/rddp/ddp/internal/place"
	"github.com/rddp/rddp/internal/locks"
)

// Access is a set of rights: what a stream may do to a Region through its STag.
type Access uint8

// The rights.
const (
	RemoteRead   Access = 1 << iota // source of an RDMA Read
	RemoteWrite                     // target of an RDMA Write
	RemoteAtomic                    // target of an Atomic Operation
	ReadSink                        // target of RDMA Read Responses; not a right of the peer
)

// everyRight is the set of all rights. A Region grants no other bits of an Access. So a layer above
// can ask for another bit, and the access is refused whatever the Region grants.
const everyRight = RemoteRead | RemoteWrite | RemoteAtomic | ReadSink

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

// A Region is a Tagged Buffer: memory that a peer names by STag and TO. [Domain.Register] makes
// Regions. Any goroutine may call the methods.
//
// The memory belongs to the application, which may read and write it at any time. So may peers, as
// far as the Region's access allows, until Deregister has returned. The only order between the
// application and a peer, or between two peers, comes from the delivery of a later message.
// Accesses that overlap before that are a race, which the race detector reports.
type Region struct {
	domain *Domain
	stag   STag
	base   uint64 // TO of the first byte; base + size < 2^63
	size   int
	access Access
	stream uint64 // 0 means every stream of the domain

	// A goroutine holds mu for reading while it copies bytes into or out of mem. Deregister and
	// Redirect take mu for writing, so they wait for these copies.
	mu sharedRWMutex
	// nil means that the Region discards bytes that arrive, or that the field memory has its memory
	mem []byte // +checklocks:mu
	// Deregister has begun: no copy begins
	gone atomic.Bool

	// nil if the memory is mem; it is also an io.ReaderAt, except that of RegisterSink
	memory io.WriterAt

	of      *Region // the Region that this Region is a window of; nil if it is not a window
	offset  uint64  // from the start of that Region to the start of this one, in bytes
	windows windows
}

// STag returns the name of the Region on the wire.
func (r *Region) STag() STag { return r.stag }

// TO returns the Tagged Offset of the first byte of the Region.
func (r *Region) TO() uint64 { return r.base }

// Len returns the length of the Region in bytes: 1 to 2^32-1.
func (r *Region) Len() int { return r.size }

// Deregister ends all access through the STag. When Deregister returns, no copy into or out of the
// memory is in progress, and peers can no longer change bytes through the STag. The windows of the
// Region end, too. A program may call Deregister more than once. On the zero Region it does
// nothing.
//
// "An RNIC MUST ensure that network packets using the STag for a previously Advertised Buffer can
// no longer modify the buffer after the ULP revokes remote access rights for the specific STag."
// (RFC 5042 §6.2.2)
func (r *Region) Deregister() {
	if r.domain == nil {
		return
	}
	r.gone.Store(true)
	r.awaitCopies()
	r.domain.remove(r.stag, r) // only now, because Discard of a stream waits for these copies, too
	r.windows.deregister()
	if r.of != nil {
		r.of.windows.remove(r)
	}
}

// awaitCopies waits until the copies into and out of r that are in progress are over.
func (r *Region) awaitCopies() {
	r.mu.Lock()
	defer r.mu.Unlock()
}

// Redirect moves r and the windows of r to other memory. to must be as long as r. Redirect copies
// the bytes that have arrived to it, and everything that arrives later is placed there. If to is
// nil, r discards everything that arrives later. When Redirect returns, no copy into the old memory
// is in progress and none will begin, so the old memory belongs to its owner alone again.
// Afterwards nothing may be read from r through its STag, because r has no memory, or other memory.
//
// Redirect is a function, not a method, because it is for the layers above. Programs also have
// Regions, and must not move them.
func Redirect(r *Region, to []byte) {
	if to != nil && len(to) != r.size {
		panic("BUG: Region redirected to memory of another length")
	}
	if r.memory != nil && to != nil {
		panic("BUG: Region of RegisterMemory redirected")
	}
	// With all these locks held, nothing is placed in the memory under any of its STags, and no
	// STag is added.
	r.windows.mu.Lock()
	defer r.windows.mu.Unlock()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lockWindows()
	copy(to, r.mem)
	r.memory = nil
	r.moveTree(to)
	r.unlockWindows()
}

// lockWindows locks the windows of r, the windows of these, and so on. The caller has locked r. A
// goroutine that locks two windows has first locked the Region that both are windows of, so no two
// goroutines lock them in different orders.
//
// +checklocksignore: it leaves them locked
func (r *Region) lockWindows() {
	for w := range r.windows.all {
		locks.LockNested(&w.windows.mu)
		locks.LockNested(&w.mu)
		w.lockWindows()
	}
}

// moveTree gives r the memory to, and each window of r its part of that memory. If to is nil, r and
// its windows have no memory afterwards.
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

// unlockWindows unlocks what lockWindows has locked.
//
// +checklocksignore: it finds them locked
func (r *Region) unlockWindows() {
	for w := range r.windows.all {
		w.unlockWindows()
		locks.UnlockNested(&w.mu)
		locks.UnlockNested(&w.windows.mu)
	}
}

// part returns the n bytes of b from off on, without capacity beyond them.
func part(b []byte, off, n int) []byte { return b[off : off+n : off+n] }

// Update64 replaces the 64-bit word at offset off, in bytes from the start of the Region, by the
// result of calling f with it. It returns the word from before. This is atomic with regard to every
// other Update64, to the peers' Atomic Operations and to sync/atomic. An f that returns its
// argument only reads the word. The word is in the byte order of this machine. Update64 may call f
// several times, and f must not use the Region.
//
// The error is an [*AccessError] or, if the word's address in memory is not a multiple of 8,
// [ErrMisaligned]. Update64 does not look at rights and stream: see [Domain.Check].
func (r *Region) Update64(off int, f func(uint64) uint64) (old uint64, err error) {
	return r.update64(off, f, nil)
}

func (r *Region) update64(off int, f func(uint64) uint64, s *Stream) (old uint64, err error) {
	mem, err := r.hold(r.base+uint64(off), 8, 0, s)
	if err != nil {
		return 0, err
	}
	defer r.mu.RUnlock() // +checklocksforce: hold has locked it
	if r.memory != nil {
		return r.update(r.base+uint64(off), f, s.needs(RemoteAtomic))
	}
	return updateWord(mem, f)
}

// hold returns the n bytes at TO to and keeps them registered. If the error is nil, r.mu is held
// for reading and the caller must unlock it. If the Region discards what arrives, or if it is over
// far memory, hold returns nil bytes. Only hold and judgeLocked decide whether memory may be
// accessed. s is nil if the owner of the Region accesses it. An error is an *AccessError.
//
// The order of the checks is: valid, associated with the stream, right granted, no wrap, inside the
// bounds, not discarded.
//
// +checklocksignore: the analyzer has no form for a lock that is held only if the error is nil
func (r *Region) hold(to, n uint64, need Access, s *Stream) ([]byte, error) {
	r.mu.RLock()
	mem, err := r.heldLocked(to, n, need, s)
	if err != nil {
		r.mu.RUnlock()
	}
	return mem, err
}

// heldLocked is hold for a caller that holds r.mu for reading, and goes on to do so.
//
// +checklocksread:r.mu
func (r *Region) heldLocked(to, n uint64, need Access, s *Stream) ([]byte, error) {
	if err := r.judgeLocked(to, n, need, s); err != nil {
		return nil, err
	}
	if r.mem == nil {
		return nil, nil
	}
	start := to - r.base
	return r.mem[start : start+n : start+n], nil
}

// put copies payload to mem, which hold has returned for as many bytes: nil if r discards them.
func (r *Region) put(mem, payload []byte) {
	if mem != nil {
		place.Copy(mem, payload)
	}
}

// judgeLocked returns the error of an access that is not allowed, and nil for an access that is.
//
// +checklocksread:r.mu
func (r *Region) judgeLocked(to, n uint64, need Access, s *Stream) *AccessError {
	// "The STag is valid for this stream." (RFC 5041 §7.1)
	if r.gone.Load() {
		return r.refuse(CodeInvalidSTag, to, n, need, s)
	}
	if s != nil && r.stream != 0 && r.stream != s.number {
		return r.refuse(CodeNotAssociated, to, n, need, s)
	}
	// "The STag has an associated buffer that allows Placement of the payload." (RFC 5041 §7.1)
	if r.access&need != need {
		err := r.refuse(CodeInvalidSTag, to, n, need, s)
		err.Denied = true
		return err
	}
	// "A 64-bit unsigned sum of the DDP Segment payload length and the TO does not wrap." (RFC 5041
	// §7.1) A sum of exactly 2^64 wraps. This check comes before the bounds, because a sum that
	// wraps is always out of bounds, too.
	end, carry := bits.Add64(to, n, 0)
	if carry != 0 {
		return r.refuse(CodeTOWrap, to, n, need, s)
	}
	// "The TO falls in the range of legal offsets registered for the STag." and "The sum of the DDP
	// Segment payload length and the TO falls in the range of legal offsets registered for the
	// STag." (RFC 5041 §7.1) The sum of base and length can't wrap.
	if to < r.base || end > r.base+uint64(r.size) {
		return r.refuse(CodeBounds, to, n, need, s)
	}
	// This check is the last one, so the peer's errors are found as before.
	if s != nil && s.Discards() {
		err := r.refuse(CodeInvalidSTag, to, n, need, s)
		err.Discarded = true
		return err
	}
	return nil
}

// refuse returns an error about an access to r.
func (r *Region) refuse(c Code, to, n uint64, need Access, s *Stream) *AccessError {
	stream := r.stream
	if s != nil {
		stream = s.number
	}
	return &AccessError{Code: c, STag: r.stag, TO: to, N: n, Need: need, Stream: stream}
}
