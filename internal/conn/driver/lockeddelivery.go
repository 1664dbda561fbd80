package driver

import (
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/rddp/rddp/ddp"
	"github.com/rddp/rddp/internal/conn/bytestream"
	"github.com/rddp/rddp/internal/conn/wait"
	"github.com/rddp/rddp/internal/locks"
	"github.com/rddp/rddp/rdmap"
)

// A lockedDelivery is where messages wait for Read. No buffer is posted in advance: the driver asks
// for a buffer when a message begins, so an idle connection holds none. If the message fits in the
// memory of the waiting Read, that memory is the buffer, and no goroutine copies the message again.
// Otherwise the buffer is memory of the pool.
//
// The depth bounds the number of messages. The peer of a byte stream knows the depth as its
// credits. TCP holds back the messages of every other peer.
//
// It guards a delivery, which has the rules, and wakes the goroutines that wait. Its methods in
// this file are for the goroutine with the receive role, with these exceptions: the program's calls
// use close, closeRead and has, and the goroutine that ends the connection uses end. The methods of
// a Read are in reader.go.
type lockedDelivery struct {
	queued atomic.Bool // more than one Read has waited at a time
	held   bool        // a Read with the receive role holds mu; the receive role guards it
	words  bool        // ReceiveConfig.Words

	look   atomic.Uint32 // what other goroutines look at without the lock; see unlock
	window atomic.Int64  // a copy of memory.window.Now: the credits of a byte stream's peer

	mu locks.Mutex[locks.Inbox]
	// Only the goroutine with the receive role changes its placing and rest, so that goroutine may
	// look at them without mu.
	delivery delivery // +checklocks:mu
	// a Read waits until nothing is placed in its memory
	leaving bool      // +checklocks:mu
	placed  sync.Cond // of mu: that is so

	// ready makes the waiting Read look again: there may be something for the Read, the role may be
	// offered to it, its deadline may have passed, or the connection ends.
	ready wait.Cell
	turn  wait.Cell // a Read has returned, so the next Read may begin
}

// deliveryOf returns the lockedDelivery of a connection, which is empty.
//
// +checklocksignore: no other goroutine has it yet
func deliveryOf(cfg *ReceiveConfig) *lockedDelivery {
	in := newDelivery(cfg.Depth, cfg.Size)
	in.delivery.longest, in.words = cfg.Longest, cfg.Words
	if cfg.Stream != nil {
		in.setWindow(cfg.Stream.Window)
	}
	return in
}

// newDelivery returns a lockedDelivery with room for depth messages of size bytes.
func newDelivery(depth, size int) *lockedDelivery {
	in := &lockedDelivery{delivery: delivery{depth: depth, size: size, memory: allowance{account: new(account)}}}
	in.placed.L = &in.mu
	return in
}

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
// also ends the wait of the Read, as leave does.
//
// +checklocksignore: hold has locked mu
func (in *lockedDelivery) release() (result readResult) {
	if !in.held {
		return readResult{}
	}
	in.held = false
	if in.delivery.has() {
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

// The methods from here to end are the delivery's, with mu held.

func (in *lockedDelivery) bind(payload []byte, last bool) (head, body []byte, answer binding) {
	in.enter()
	defer in.exit()
	return in.delivery.bind(payload, last, in.held)
}

// received needs no lock.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) received(c rdmap.Completion) (head, body []byte) {
	return in.delivery.received(c)
}

// acceptMessage is accept in message mode. c is the Completion of the message.
func (in *lockedDelivery) acceptMessage(n int, c rdmap.Completion) {
	in.enter()
	defer in.exit()
	if in.delivery.placing.state == placingDirect || !in.delivery.unread.Discards() { // then a Read begins it
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

// dropControl frees the buffer of a message that is not data. It returns for how many buffers the
// peer gets its credits back.
func (in *lockedDelivery) dropControl(b bytestream.Buffer) (back int) {
	in.enter()
	defer in.exit()
	in.delivery.drop()
	back = in.delivery.handBack(1, b)
	in.noteWindow()
	return back
}

// unbind returns the reader's memory when the message meant for it, of a single segment, has
// arrived but was not accepted because the stream had ended.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) unbind() {
	if in.delivery.placing.holdsReader() {
		in.drop()
	}
}

func (in *lockedDelivery) drop() {
	in.enter()
	defer in.exit()
	in.delivery.drop()
}

func (in *lockedDelivery) makeGrant(n int, register func(p []byte) (*ddp.Region, error)) (rdmap.Handle, error) {
	in.enter()
	defer in.exit()
	return in.delivery.makeGrant(n, register)
}

func (in *lockedDelivery) useGrant(n int) {
	in.enter()
	defer in.exit()
	in.delivery.useGrant(n)
}

func (in *lockedDelivery) endGrant() {
	in.enter()
	defer in.exit()
	in.delivery.endGrant()
}

func (in *lockedDelivery) streamEnds() {
	in.enter()
	defer in.exit()
	in.delivery.streamEnds()
}

func (in *lockedDelivery) takeRest() (over, freed bool, back int) {
	in.enter()
	defer in.exit()
	over, freed, back = in.delivery.takeRest(in.held)
	in.noteWindow()
	return over, freed, back
}

// hasRest reports whether the message that has just come stays in the receive buffer.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) hasRest() bool { return len(in.delivery.rest) > 0 }

// isPlacing reports whether a message is being placed.
//
// +checklocksignore: see delivery
func (in *lockedDelivery) isPlacing() bool { return in.delivery.placing.state != placingNone }

// isShort reports whether the next message waits for memory.
func (in *lockedDelivery) isShort() bool {
	in.enter()
	defer in.exit()
	return in.delivery.delay == delayShort
}

// closeRead discards all data that arrives from now on.
func (in *lockedDelivery) closeRead() {
	in.mu.Lock()
	in.delivery.unread.Discard()
	in.unlock()
	in.notify()
}

func (in *lockedDelivery) close() (lost bool) {
	in.mu.Lock()
	defer in.unlock()
	in.ready.Wake()
	return in.delivery.close()
}

// end is end of the delivery. If the program drops the connection without Close, the garbage
// collector frees the unread messages, and then the budget gets their memory back too.
func (in *lockedDelivery) end() {
	in.mu.Lock()
	defer in.unlock()
	in.delivery.end()
	if a := in.delivery.memory.account; *a != (account{}) {
		runtime.AddCleanup(in, (*account).clear, a)
	}
}

// setWindow makes the delivery that of a byte stream with window w.
func (in *lockedDelivery) setWindow(w Window) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.delivery.setWindow(w)
	in.noteWindow()
}

// noteWindow copies the window for goroutines that look without the lock.
//
// +checklocks:in.mu
func (in *lockedDelivery) noteWindow() {
	if w := &in.delivery.memory.window; w.IsOpen() {
		in.window.Store(int64(w.Now))
	}
}

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
