package driver

import (
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/rdmap"
)

// This file has the methods of lockedDelivery that every message calls. They are for the goroutine
// with the receive role, as those in lockeddelivery.go are.

// hold locks mu for all messages that one read of the stream has brought. It is for a Read that
// holds the receive role, because then other goroutines seldom need mu. If the home goroutine has
// the role, each method locks mu itself, so a Read can take messages meanwhile.
//
// +checklocksignore: release unlocks
func (in *lockedDelivery) hold() {
	in.mu.Lock()
	in.held = true
}

// release ends hold, if hold has locked mu. If the inbox now has something for the Read, release
// also ends the wait of the Read, as leave does. A long message must retreat first.
//
// +checklocksignore: hold has locked mu
func (in *lockedDelivery) release() (result readResult) {
	if !in.held {
		return readResult{}
	}
	in.held = false
	if in.delivery.has() && in.delivery.placing.state != placingLong {
		result = in.delivery.leave()
	}
	in.unlock()
	return result
}

// enter locks mu unless hold has locked it.
//
// +checklocksacquire:in.mu
// +checklocksignore: where it does not lock, hold has
func (in *lockedDelivery) enter() {
	if !in.held {
		in.mu.Lock()
	}
}

// exit ends enter.
//
// +checklocksrelease:in.mu
// +checklocksignore: where it does not unlock, release will
func (in *lockedDelivery) exit() {
	if !in.held {
		in.unlock()
	}
}

// The methods from here to unbind are the delivery's, with mu held.

func (in *lockedDelivery) bind(payload []byte, last bool) (head, body []byte, answer binding) {
	in.enter()
	defer in.exit()
	return in.delivery.bind(payload, last, in.held)
}

// received needs no lock.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) received(n int) (head, body []byte) {
	return in.delivery.received(n)
}

// acceptMessage is accept in message mode. c is the Completion of the message.
func (in *lockedDelivery) acceptMessage(n int, c rdmap.Completion) {
	in.enter()
	defer in.exit()
	if in.delivery.placing.holdsReader() || !in.delivery.unread.Discards() { // then a Read begins it
		in.delivery.unread.AddNote(&c)
	}
	in.delivery.accept(n, bytestream.DataBuffer)
	in.noteWindow()
}

func (in *lockedDelivery) accept(n int, b bytestream.Buffer) (freed bool, back int) {
	in.enter()
	defer in.exit()
	freed, back = in.delivery.accept(n, b)
	in.noteWindow()
	return freed, back
}

// unbind returns the reader's memory when nothing more is placed there, because the message meant
// for it has arrived but was not accepted, or the stream has ended. If the stream goes on, so does
// a long message.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) unbind(goesOn bool) {
	if p := &in.delivery.placing; p.holdsReader() && !(goesOn && p.state == placingLong) {
		in.drop()
	}
}

// hasRest reports whether the message that has just come stays in the receive buffer.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) hasRest() bool { return len(in.delivery.rest) > 0 }

// isPaused reports whether the message that comes next waits for the next Read.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) isPaused() bool { return in.delivery.delay == delayPaused }

// isPlacing reports whether a message is being placed.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) isPlacing() bool { return in.delivery.placing.state != placingNone }

// Other goroutines look at these bits of lockedDelivery.look without the lock.
const (
	lookHas     = 1 << iota // a Read has something to come back for
	lookWaiting             // a Read waits
)

// unlock updates what other goroutines look at without the lock, and releases mu.
//
// +checklocksrelease:in.mu
func (in *lockedDelivery) unlock() {
	b := &in.delivery
	look := uint32(0)
	if b.has() {
		look |= lookHas
	}
	if b.reader.isThere() {
		look |= lookWaiting
	}
	in.look.Store(look)
	if in.leaving && !b.placing.holdsReader() {
		in.leaving = false
		in.placed.Broadcast()
	}
	in.mu.Unlock()
}

// has reports whether a Read has something to come back for.
func (in *lockedDelivery) has() bool { return in.look.Load()&lookHas != 0 }

// notify wakes the waiting Read if the inbox has something for the Read. A Read looks at the inbox
// after it has noted that it waits, and the inbox looks for a Read after a message has arrived. So
// one of the two sees the other.
func (in *lockedDelivery) notify() {
	if in.look.Load()&(lookHas|lookWaiting) == lookHas|lookWaiting {
		in.ready.Wake()
	}
}
