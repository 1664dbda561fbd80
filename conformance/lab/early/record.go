package main

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/mpa"
)

// A written is an FPDU of an RDMA Write.
type written struct {
	span          // in the stream
	at     int    // of its payload's last bytes, in the Region
	tail   []byte // these bytes
	placed time.Duration
	done   bool // the payload is in place, since the time placed
}

// A record contains the FPDUs that the sender has passed to TCP, in stream order. The Streams of
// both ends share it.
type record struct {
	begin  time.Time
	memory []byte        // the Region; only the goroutine that places may read it until done is closed
	done   chan struct{} // closed when all payload is in place

	mu sync.Mutex
	// +checklocks:mu
	base uint64 // TO of the Region
	// +checklocks:mu
	fpdus []written
	// +checklocks:mu
	left int // FPDUs that are not in place
	// +checklocks:mu
	ended bool // there will be no more
}

func newRecord(begin time.Time) *record {
	return &record{begin: begin, memory: make([]byte, slots*writeSize), done: make(chan struct{})}
}

// start sets the TO of the Region. It is called before the first Write.
func (r *record) start(base uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.base = base
}

// add adds an FPDU that is about to be sent, if it has payload for the Region.
func (r *record) add(u *mpa.ULPDU) {
	if !ddp.IsTagged(u.Data) {
		return
	}
	h, payload, err := ddp.ParseTagged(u.Data)
	if err != nil || len(payload) == 0 {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	tail := payload[max(0, len(payload)-8):]
	at := int(h.TO-r.base) + len(payload) - len(tail)
	r.fpdus = append(r.fpdus, written{span: span{u.Off, u.Off + uint64(u.Size)}, at: at, tail: bytes.Clone(tail)})
	r.left++
}

// end declares that there will be no more FPDUs.
func (r *record) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.checkEndLocked()
}

// checkEndLocked closes done when all payload is in place.
//
// +checklocks:r.mu
func (r *record) checkEndLocked() {
	if r.ended && r.left == 0 {
		r.ended = false
		close(r.done)
	}
}

// look checks which FPDUs are in place now, among those that end in a run that the connection has
// processed. The goroutine that places calls it.
func (r *record) look(run span) {
	now := time.Since(r.begin)
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := behind(r.fpdus, run.from); i < len(r.fpdus) && r.fpdus[i].to <= run.to; i++ {
		f := &r.fpdus[i]
		if !f.done && bytes.Equal(r.memory[f.at:][:len(f.tail)], f.tail) {
			f.placed, f.done = now, true
			r.left--
		}
	}
	r.checkEndLocked()
}

// follow follows the connection with the arrivals in list.
func (r *record) follow(list []arrival, w window) *timeline {
	r.mu.Lock()
	defer r.mu.Unlock()
	return follow(list, r.fpdus, w)
}

// check compares the Region with the last Writes. writes is the number of all Writes.
func (r *record) check(writes int) error {
	want := make([]byte, writeSize)
	for k := max(0, writes-slots); k < writes; k++ {
		fill(want, k)
		if !bytes.Equal(r.memory[k%slots*writeSize:][:writeSize], want) {
			return fmt.Errorf("the Region does not have the bytes of Write %d", k)
		}
	}
	return nil
}

// behind returns the index of the first FPDU that ends after stream offset off.
func behind(fpdus []written, off uint64) int {
	i, _ := slices.BinarySearchFunc(fpdus, off, func(f written, off uint64) int {
		if f.to <= off {
			return -1
		}
		return 1
	})
	return i
}

// fill fills p with bytes that distinguish Write number k from earlier Writes to the same slot.
func fill(p []byte, k int) {
	h := uint32(k+1) * 2654435761 // a prime, so that the high bits depend on k
	h ^= h >> 15
	for i := 0; i+4 <= len(p); i += 4 {
		binary.LittleEndian.PutUint32(p[i:], h+uint32(i)*0x01010101)
	}
}
