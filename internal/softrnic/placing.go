package softrnic

import (
	"time"

	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/internal/softrnic/check"
	"github.com/rddp/rddp/internal/softrnic/fault"
)

// A placing places bytes in the memory of a protection domain in any order, if the device takes
// that liberty: see fault.Bytes.
//
// A part of what a peer writes waits, at most for placeWithin. It is in place before anything that
// tells the program, this device or a peer that it is: a message of a peer, or a question whether
// its Writes are done; an access by a work request of the program or of a peer; the end of a queue
// pair, of a memory region or of a window. Bytes that overlap keep their order.
//
// What a completion of this device tells the program is placed before the completion, in any order.
type placing struct {
	mu    locks.Mutex[locks.RNICPlacing]
	dice  *fault.Dice // +checklocks:mu
	waits []lateBytes // +checklocks:mu
	n     int         // +checklocks:mu
	timer *time.Timer // +checklocks:mu
}

// A lateBytes are bytes that are not in place yet.
type lateBytes struct {
	to Process
	check.Span
	b []byte
}

const (
	placeWithin = time.Millisecond
	// maxLateBytes is how many bytes may wait.
	maxLateBytes = 1 << 20
)

// newPlacing returns the placing of a protection domain, or nil if the device places bytes in their
// order.
func (d *Device) newPlacing() *placing {
	if dice := d.faults.Dice(fault.Bytes); dice != nil {
		return &placing{dice: dice}
	}
	return nil
}

// write places what a peer writes.
func (x *placing) write(to Process, b []byte, addr uint64) error {
	if to.Check(addr, uint64(len(b)), true) != nil {
		return to.Write(b, addr) // it fails, and nothing else would tell the peer
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, w := range x.waits {
		if w.Overlaps(check.Span{Addr: addr, Len: uint64(len(b))}) {
			x.nowLocked()
			break
		}
	}
	now, later := x.dice.Split(len(b))
	for _, p := range later {
		part := append([]byte(nil), b[p.From:p.To]...)
		x.waits = append(x.waits, lateBytes{to, check.Span{Addr: addr + uint64(p.From), Len: uint64(len(part))}, part})
		x.n += len(part)
	}
	if x.n > maxLateBytes {
		x.nowLocked()
	}
	if len(x.waits) > 0 && x.timer == nil {
		x.timer = time.AfterFunc(placeWithin, x.now)
	}
	if now.From == now.To {
		return nil
	}
	return to.Write(b[now.From:now.To], addr+uint64(now.From))
}

// scatter places bytes in any order, all of them.
func (x *placing) scatter(to Process, b []byte, addr uint64) error {
	x.mu.Lock()
	now, later := x.dice.Split(len(b))
	x.mu.Unlock()
	for _, p := range append([]fault.Part{now}, later...) {
		if p.From == p.To {
			continue
		}
		if err := to.Write(b[p.From:p.To], addr+uint64(p.From)); err != nil {
			return err
		}
	}
	return nil
}

// now places what waits. x may be nil.
func (x *placing) now() {
	if x == nil {
		return
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.nowLocked()
}

// +checklocks:x.mu
func (x *placing) nowLocked() {
	waits := x.waits
	x.dice.Shuffle(len(waits), func(i, j int) { waits[i], waits[j] = waits[j], waits[i] })
	for _, w := range waits {
		_ = w.to.Write(w.b, w.Addr) // it fails if the program has ended, or given up the memory
	}
	clear(x.waits)
	x.waits, x.n = x.waits[:0], 0
	if x.timer != nil {
		x.timer.Stop()
		x.timer = nil
	}
}
