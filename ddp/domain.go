package ddp

import (
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync/atomic"

	"github.com/rddp/rddp/internal/locks"
)

// A Domain is a Protection Domain: the table of the Regions that its streams may name. An STag of
// another Domain does not exist in this one. The zero value is an empty Domain. Any goroutine may
// call the methods. A Domain must not be copied after its first use.
type Domain struct {
	// Random is the source of STags and TOs, which must be unpredictable. Nil means crypto/rand.
	// Random must not be changed after the first Register.
	Random io.Reader

	keys keySource
	mu   locks.RWMutex[locks.Domain]
	// made by the first Register
	regions map[STag]*Region // +checklocks:mu
	// RegisterMemory has been called
	hasMemory atomic.Bool
}

// Register makes b a Region that grants access on the given stream. Stream 0 means every stream of
// the Domain. Bits of access that are not rights have no effect. The Region uses b until
// Deregister. b must have 1 to 2^32-1 bytes. Other errors come from the random source.
//
// The STag is 32 random bits, never 0 and unique in the Domain. The TO of the first byte is random
// too, so neither reveals an address to the peer, with one exception: the TO and the address have
// the same remainder modulo 8. So a word that is aligned for the peer is also aligned here, as
// Atomic Operations require (RFC 7306 §5).
func (d *Domain) Register(b []byte, access Access, stream uint64) (*Region, error) {
	if len(b) == 0 || uint64(len(b)) > maxMessageLen {
		return nil, errRegionLength
	}
	return d.enter(&Region{mem: b, access: access & everyRight, stream: stream})
}

// enter makes r a Region of d. The caller has set memory, rights and stream of r. enter gives r an
// STag and a TO, and adds r to the table.
func (d *Domain) enter(r *Region) (*Region, error) {
	mem := r.mem // +checklocksignore: nobody else has r yet
	r.size = len(mem)
	return d.draw(r, func(base uint64) { r.base = base | misalignment(mem) })
}

// draw gives r an STag and adds r to the table. place gets a random base TO for r.
func (d *Domain) draw(r *Region, place func(base uint64)) (*Region, error) {
	// A random source that repeats itself must not make this loop endless. With a good source and a
	// million Regions, one try in 4000 draws an STag in use.
	for range 100 {
		stag, base, err := d.keys.draw(d.Random)
		if err != nil {
			return nil, fmt.Errorf("ddp: drawing an STag: %w", err)
		}
		r.domain, r.stag = d, stag
		place(base)
		if stag != 0 && d.add(r) {
			return r, nil
		}
	}
	return nil, errNoSTag
}

var errNoSTag = errors.New("ddp: no unused STag found: the random source repeats itself")

// Check reports whether the n bytes at TO to of the Region named s may be accessed on the stream
// with the rights in need, and returns the Region. The error is an [*AccessError].
//
// The answer may be out of date as soon as Check returns. Code that then reads or writes the Region
// checks again under the Region's lock.
func (d *Domain) Check(s STag, to, n uint64, need Access, stream uint64) (*Region, error) {
	by := Stream{domain: d, number: stream}
	r, _, err := by.hold(s, to, n, need)
	if err != nil {
		return nil, err
	}
	r.mu.RUnlock() // +checklocksforce: hold has locked it
	return r, nil
}

// Invalidate does what Deregister does, at the request of the peer on the given stream. It
// invalidates a Region only if the Region is registered for exactly that stream and is not the sink
// of our own RDMA Read. If there is no Region named s, or the Region belongs to another stream, the
// error is an [*AccessError].
//
// A peer must not be able to invalidate an STag that is shared on multiple streams (RFC 5040
// §8.1.1, requirement 7).
func (d *Domain) Invalidate(s STag, stream uint64) error {
	r := d.lookup(s)
	switch {
	case r == nil:
		return &AccessError{Code: CodeInvalidSTag, STag: s, Stream: stream}
	case r.stream == 0:
		return errNotInvalidatable
	case r.stream != stream:
		return &AccessError{Code: CodeNotAssociated, STag: s, Stream: stream}
	case r.access&ReadSink != 0:
		return errNotInvalidatable
	}
	r.Deregister()
	return nil
}

// lookup returns the Region named s, or nil. A Region whose Deregister waits has no name.
func (d *Domain) lookup(s STag) *Region {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if r := d.regions[s]; r != nil && !r.gone.Load() {
		return r
	}
	return nil
}

// all returns the Regions of d, including those whose Deregister waits.
func (d *Domain) all() []*Region {
	d.mu.RLock()
	defer d.mu.RUnlock()
	return slices.Collect(maps.Values(d.regions))
}

// add adds r to the table and reports whether it did. It does not if the STag is in use.
func (d *Domain) add(r *Region) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.regions[r.stag] != nil {
		return false
	}
	if d.regions == nil {
		d.regions = make(map[STag]*Region)
	}
	d.regions[r.stag] = r
	return true
}

// remove removes r from the table. The STag may have been drawn again for another Region since.
func (d *Domain) remove(s STag, r *Region) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.regions[s] == r {
		delete(d.regions, s)
	}
}

const (
	keyLen   = 12 // random bytes that one Region needs: 4 for the STag and 8 for the TO
	poolKeys = 32 // Regions whose random bytes are read together
)

// A keySource draws STags and TOs. It reads random bytes for several Regions at a time, because one
// read costs more than everything else in Register.
type keySource struct {
	mu   locks.Mutex[locks.Keys]
	pool []byte // +checklocks:mu
	// bytes at the end of pool that have not been used
	left int // +checklocks:mu
}

// draw reads random, or crypto/rand if random is nil. It returns an STag, which may be 0 or in use,
// and a base TO, which is a multiple of 8 from 2^62 to 2^63-1. In that range not even the longest
// Region wraps around. On the systems that Go supports, no user address is in that range, so a base
// can't be mistaken for an address.
func (k *keySource) draw(random io.Reader) (s STag, base uint64, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.left == 0 {
		if random == nil {
			random = rand.Reader
		}
		if k.pool == nil { // most connections register nothing
			k.pool = make([]byte, poolKeys*keyLen)
		}
		if _, err := io.ReadFull(random, k.pool); err != nil {
			return 0, 0, err
		}
		k.left = len(k.pool)
	}
	key := k.pool[len(k.pool)-k.left:][:keyLen]
	k.left -= keyLen
	s = STag(binary.BigEndian.Uint32(key))
	base = binary.BigEndian.Uint64(key[4:])>>2 | 1<<62
	clear(key) // the Region has the key now; nothing else needs it
	return s, base &^ (wordLen - 1), nil
}
