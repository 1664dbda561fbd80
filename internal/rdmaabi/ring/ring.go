// Package ring implements the queues that a program and the supervisor share: rings of entries of
// the same length in memory that both have mapped, with the layout of rxe.
//
//	  0  log2 of the length of an entry      written once, for the program
//	  4  mask of the indices                 written once, for the program
//	128  producer index
//	256  consumer index
//	384  entries
//
// The program may write anything anywhere, at any time. So a Ring keeps the length and the mask in
// memory that the program cannot reach, masks each index that it reads, and copies an entry before
// anybody uses it. A program that scribbles in its rings gets wrong entries, and nothing worse.
package ring

import (
	"fmt"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

const (
	producerAt = 128
	consumerAt = 256
	entriesAt  = 384
	pageSize   = 4096
)

// A Ring is a queue with one producer and one consumer, one of which is the program. Only one
// goroutine of the supervisor at a time may use a Ring.
type Ring struct {
	b     []byte
	shift uint32 // log2 of the length of an entry
	mask  uint32
	// withheld is how many places the producer does not get, though there is room
	withheld uint32
	// Of a ring with a limit, the consumer index, and that of the oldest entry whose place is still
	// in use to the producer, which sees no other.
	limited    bool
	own, freed atomic.Uint32
}

// Size returns the size in bytes of a ring for n entries of the given length: whole pages. ok is
// false if that is more than 2^31-1.
func Size(n, entryLen uint32) (size uint32, ok bool) {
	shift, count, ok := shape(n, entryLen)
	if !ok {
		return 0, false
	}
	total := (entriesAt + uint64(count)<<shift + pageSize - 1) &^ (pageSize - 1)
	return uint32(total), total < 1<<31
}

// shape returns the shape of a ring that holds n entries. One place always remains empty, to
// distinguish a full ring from an empty one.
func shape(n, entryLen uint32) (shift, count uint32, ok bool) {
	if n == 0 || n > 1<<24 || entryLen == 0 || entryLen > 1<<16 {
		return 0, 0, false
	}
	return uint32(bits.Len32(entryLen - 1)), 1 << bits.Len32(n), true
}

// New makes an empty ring for n entries in b, whose length must be the result of Size.
func New(b []byte, n, entryLen uint32) *Ring {
	shift, count, ok := shape(n, entryLen)
	if size, _ := Size(n, entryLen); !ok || uint32(len(b)) != size {
		panic("BUG: ring of another size")
	}
	r := &Ring{b: b, shift: shift, mask: count - 1}
	atomic.StoreUint32(r.word(0), shift)
	atomic.StoreUint32(r.word(4), r.mask)
	atomic.StoreUint32(r.word(producerAt), 0)
	atomic.StoreUint32(r.word(consumerAt), 0)
	return r
}

func (r *Ring) word(at uint32) *uint32 { return (*uint32)(unsafe.Pointer(&r.b[at])) }

// EntryLen returns the length of an entry in bytes.
func (r *Ring) EntryLen() int { return 1 << r.shift }

// Cap returns the maximum number of entries in the ring.
func (r *Ring) Cap() uint32 { return r.mask }

func (r *Ring) producer() uint32 { return atomic.LoadUint32(r.word(producerAt)) & r.mask }
func (r *Ring) consumer() uint32 {
	if r.limited {
		return r.own.Load()
	}
	return atomic.LoadUint32(r.word(consumerAt)) & r.mask
}

// Limit lets the program, the producer of a ring that is new, have n entries in it at most, which
// may be none. To the program those that it does not get look as if they were in use.
func (r *Ring) Limit(n uint32) {
	r.limited, r.withheld = true, r.mask-min(n, r.mask)
	r.frees(0)
}

// frees shows the program that the entries before at have left their places.
func (r *Ring) frees(at uint32) {
	r.freed.Store(at)
	atomic.StoreUint32(r.word(consumerAt), (at-r.withheld)&r.mask)
}

// Used returns how many places are in use to the producer, of those that it gets.
func (r *Ring) Used() uint32 {
	if r.limited {
		return (r.producer() - r.freed.Load()) & r.mask
	}
	return r.Len()
}

// Len returns the number of entries in the ring.
func (r *Ring) Len() uint32 { return (r.producer() - r.consumer()) & r.mask }

// Span returns the slots that have entries: from is that of the oldest, and to is the one behind
// the newest. They are numbers below Cap plus 1, and to may be the lower one.
func (r *Ring) Span() (from, to uint32) {
	from = r.consumer()
	return from, r.producer()
}

// Take copies the oldest entry to dst, which has EntryLen bytes, and frees its place. It returns
// false if the ring is empty.
func (r *Ring) Take(dst []byte) bool {
	at := r.consumer()
	if at == r.producer() {
		return false
	}
	copy(dst[:r.EntryLen()], r.entry(at))
	at = (at + 1) & r.mask
	if r.limited {
		r.own.Store(at)
		r.frees(at)
	} else {
		atomic.StoreUint32(r.word(consumerAt), at)
	}
	return true
}

// Keep is Take of a ring with a limit that leaves the place in use to the program until Free.
func (r *Ring) Keep(dst []byte) bool {
	at := r.own.Load()
	if at == r.producer() {
		return false
	}
	copy(dst[:r.EntryLen()], r.entry(at))
	r.own.Store((at + 1) & r.mask)
	return true
}

// Free frees the places of the n oldest entries that Keep has left in use, or of all if they are
// fewer. It may be called while another goroutine calls Keep.
func (r *Ring) Free(n uint32) {
	from := r.freed.Load()
	r.frees((from + min(n, (r.own.Load()-from)&r.mask)) & r.mask)
}

// Peek copies entry i, counted from the oldest, which is 0, to dst, which has EntryLen bytes. It
// returns false if there is none.
func (r *Ring) Peek(i uint32, dst []byte) bool {
	if i >= r.Len() {
		return false
	}
	copy(dst[:r.EntryLen()], r.entry((r.consumer()+i)&r.mask))
	return true
}

// Each calls do with a copy of each entry, the oldest first. do must not keep it.
func (r *Ring) Each(do func(entry []byte)) {
	b := make([]byte, r.EntryLen())
	for at, end := r.consumer(), r.producer(); at != end; at = (at + 1) & r.mask {
		copy(b, r.entry(at))
		do(b)
	}
}

// Put adds an entry, which fill writes. It returns false if the ring is full. The program sees the
// entry when fill has returned.
func (r *Ring) Put(fill func(entry []byte)) bool {
	at := r.producer()
	next := (at + 1) & r.mask
	if next == r.consumer() {
		return false
	}
	fill(r.entry(at))
	atomic.StoreUint32(r.word(producerAt), next)
	return true
}

func (r *Ring) entry(at uint32) []byte {
	return r.b[entriesAt+at<<r.shift:][:1<<r.shift]
}

// Open returns the ring that the other side has made in b, for at least n entries of at least the
// given length. It does not trust the length and the mask in b, and refuses values for which b has
// no room.
func Open(b []byte, n, entryLen uint32) (*Ring, error) {
	if len(b) < entriesAt {
		return nil, fmt.Errorf("ring: %d bytes of memory", len(b))
	}
	r := &Ring{b: b}
	r.shift, r.mask = atomic.LoadUint32(r.word(0)), atomic.LoadUint32(r.word(4))
	count := uint64(r.mask) + 1
	if r.shift > 16 || r.EntryLen() < int(entryLen) || r.mask < n || count&(count-1) != 0 || entriesAt+count<<r.shift > uint64(len(b)) {
		return nil, fmt.Errorf("ring: mask %#x and entries of 2^%d bytes in %d bytes of memory, for %d entries of %d", r.mask, r.shift, len(b), n, entryLen)
	}
	return r, nil
}
